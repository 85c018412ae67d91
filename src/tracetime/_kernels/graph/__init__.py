"""Kernels of the clock graph: its engine, and Perfetto's rule for arrays."""
