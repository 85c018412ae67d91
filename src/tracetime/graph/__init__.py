"""The clock graph (floor 2): snapshots in, conversions out. No file, no device, no thread."""
