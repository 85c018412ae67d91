"""Where the time of a stream runs backwards: of a capture's interface, of a source of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.snapshot import INT64_MIN
from tracetime.trace.notes import Note

Values = npt.NDArray[np.int64]

USUAL_NS: Final = 10**9
"""Queues of a network card write packets of one interface out of order, by ms."""

_NAMED: Final = 3
"""So many streams are named in a title."""


def backwards(events: int, packet: int | None, streams: Sequence[str]) -> Iterator[Note]:
    """Yield the note about streams whose time runs backwards, if there are such events.

    Args:
        events: how many events are earlier than what comes before them.
        packet: of the first of them.
        streams: those that they are of.
    """
    if events and packet is not None:
        more = f" and {len(streams) - _NAMED} more" if len(streams) > _NAMED else ""
        values = {"stream": ", ".join(streams[:_NAMED]) + more, "streams": streams}
        yield Note("stream-backwards", packets=(packet,), events=events, values=values)


class StepsBack:
    """Events that are earlier than the one before them in their stream, by more than is usual.

    Streams are apart: one may be written after another one, as `mergecap -a` does.

    Attributes:
        events: how many there are.
        first: the packet of the first of them.
        streams: those that they are of.
    """

    def __init__(self) -> None:
        self.events = 0
        self.first: int | None = None
        self.streams: set[int] = set()
        self._last: dict[int, int] = {}

    def add(self, stream: Values, ns: Values, packet: Values) -> None:
        """Look at the events that follow: of which stream each is, its time, and its packet."""
        rows = np.argsort(stream, kind="stable")
        ns, on = ns[rows], stream[rows]
        begins = np.flatnonzero(np.r_[True, on[1:] != on[:-1]][: len(on)])
        before = np.r_[INT64_MIN, ns[:-1]][: len(ns)]
        numbers = on[begins].tolist()
        before[begins] = [self._last.get(number, INT64_MIN) for number in numbers]
        ends = np.r_[begins[1:], len(on)][: len(begins)] - 1
        self._last.update(zip(numbers, ns[ends].tolist(), strict=True))
        found = rows[ns < np.maximum(before, INT64_MIN + USUAL_NS) - USUAL_NS]
        if len(found):
            self.events += len(found)
            self.streams.update(stream[found].tolist())
            if self.first is None:
                self.first = int(packet[found].min())
