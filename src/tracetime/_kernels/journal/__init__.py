"""Kernels of the systemd journal: entries of its export format."""
