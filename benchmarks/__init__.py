"""Benchmarks: each figure is compared with an alternative of the same run."""
