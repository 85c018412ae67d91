"""Kernels that read Chrome's JSON and systrace's text."""
