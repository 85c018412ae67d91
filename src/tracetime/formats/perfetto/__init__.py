"""Perfetto traces (floor 3): bytes to columns and snapshots."""
