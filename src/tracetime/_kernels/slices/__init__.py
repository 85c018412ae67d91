"""Kernels for slices of any format: names, threads and processes, tracks, nesting."""
