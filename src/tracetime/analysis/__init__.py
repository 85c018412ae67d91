"""Measurements of a trace for the verbs, each in one pass."""
