"""The twin: an independent, plain and slow reading of Perfetto's rules, to test the reader with."""

from .graph import Key, Reading, Result, Tracker, TwinGraph
from .reader import resolve
from .records import Row, TwinError

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
