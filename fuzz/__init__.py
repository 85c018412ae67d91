"""Hostile bytes at the reader: `python -m fuzz --seconds 60`."""
