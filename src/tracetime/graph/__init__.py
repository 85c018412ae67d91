"""The clock graph: snapshots in, conversions out. No file, no device, no thread."""
