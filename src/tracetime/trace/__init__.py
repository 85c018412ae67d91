"""The class `Trace`, the tables of its events and slices, their places and error bars."""
