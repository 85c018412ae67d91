"""Hostile bytes for the reader: `python -m fuzz --seconds 60`."""
