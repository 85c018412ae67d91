"""What the reader of spans is told of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from tracetime.formats.spans.batch import SpanLists
from tracetime.formats.spans.resources import Resources

Decode: TypeAlias = Callable[[bytes, int, Resources, SpanLists, bool], Iterator[None]]
"""Adds the spans of a JSON object to lists: of its text and its first byte in the file; what it
finds of resources goes to these; the last says whether to take names, too.

It yields where a batch may end. It raises ValueError, OverflowError or RecursionError for what is
not of the format.
"""


class SpanSource(NamedTuple):
    """A format of spans.

    Attributes:
        unit_ns: of the file's times.
        tick_ns: how far later a clock may have read than its times say, for they are cut off.
        decode: see `Decode`.
    """

    unit_ns: int
    tick_ns: int
    decode: Decode
