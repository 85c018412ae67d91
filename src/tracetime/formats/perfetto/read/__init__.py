"""Reading Perfetto traces: bytes to events, snapshots and a clock graph."""
