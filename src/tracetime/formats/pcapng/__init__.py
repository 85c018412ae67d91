"""Captures of packets: pcapng, and the older pcap."""
