"""The clock graph: snapshots in, conversions out; bars by `graph/tube/`. No device, no thread."""
