"""Kernels that read live clocks."""
