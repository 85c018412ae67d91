"""Trace formats (floor 3), a package for each: bytes to events, clocks and snapshots, and back."""
