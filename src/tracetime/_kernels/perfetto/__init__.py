"""Kernels that read and write Perfetto traces."""
