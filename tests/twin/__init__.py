"""The twin: an independent, plain and slow reading of Perfetto's rules, to test the reader with."""

from .graph import Key, Reading, Result, Tracker, TwinGraph
from .reader import Row, TwinError, resolve

__all__ = [
    "Key",
    "Reading",
    "Result",
    "Row",
    "Tracker",
    "TwinError",
    "TwinGraph",
    "resolve",
]
