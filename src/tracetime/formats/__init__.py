"""Files other than Perfetto traces: columns to bytes, and bytes to columns."""
