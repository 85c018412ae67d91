"""Sampling live clocks: brackets, calibrations, and what the clocks promise."""
