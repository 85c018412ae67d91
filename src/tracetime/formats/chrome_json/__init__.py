"""Trace files in JSON: those of Chrome and of PyTorch's profiler; and systrace's text."""
