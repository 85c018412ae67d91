"""Measured, never tested: each figure stands beside the alternative of the same run."""
