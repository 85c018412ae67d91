"""Tables as traces: Parquet, Arrow (a file or a stream) and CSV, of events or of snapshots."""
