"""Kernels of packet captures: pcapng and pcap."""
