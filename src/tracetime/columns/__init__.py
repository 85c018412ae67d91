"""Columns of NumPy and Arrow: numbers, texts, times, and messages matched by keys."""
