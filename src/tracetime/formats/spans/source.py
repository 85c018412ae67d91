"""What the reader of spans is told of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from tracetime.formats.spans.batch import SpanLists
from tracetime.formats.spans.resources import Resources


class Wanted(IntEnum):
    """What is taken of the texts of spans."""

    NOTHING = 0
    NAMES = 1
    NAMES_AND_ARGS = 2
    EVENTS = 3
    """Also what the events within spans are."""


Decode: TypeAlias = Callable[[bytes, int, Resources, SpanLists, Wanted], Iterator[None]]
"""Adds the spans of a JSON object to lists: of its text and its first byte in the file; what it
finds of resources goes to these; the last says what to take of texts.

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

    @property
    def adds_up(self) -> bool:
        """Whether an end is the sum of what the file has, a begin and a duration."""
        return self.tick_ns > self.unit_ns

    @property
    def begin_cut_ns(self) -> int:
        """How much later in ns, at most, a span began, or an event was, than the file says."""
        return self.unit_ns - 1

    @property
    def end_cut_ns(self) -> int:
        """How much later a span ended: a tick has as many units as what is added up to an end."""
        return self.tick_ns // self.unit_ns * self.begin_cut_ns
