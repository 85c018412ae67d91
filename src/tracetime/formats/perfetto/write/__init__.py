"""Writing Perfetto traces: snapshots, tracks and events to bytes."""
