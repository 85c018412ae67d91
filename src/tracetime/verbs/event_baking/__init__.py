"""Traces of any format as track events of Perfetto's: slices, instants, counters and flows."""
