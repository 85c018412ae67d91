"""Sampling live clocks: brackets, calibrations, and checks of the clocks' promises."""
