"""Traces of any format as Perfetto's track events: slices, instants, counters and flows."""
