"""Events that traces of one session have in common: those of snapshots that overlap."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracetime.text import count
from tracetime.trace.notes import Note

Values = npt.NDArray[np.int64]

_FEW: Final = 3
_HALF: Final = 0.5
"""So many events at the same ns are no chance, if they are half of those that could be."""


def identity_of(facts: Mapping[str, Any]) -> str:
    """What is the same of all traces of one session, by what the worker says of one; "" if little.

    LTTng names there the host, the tracer, the domain, and when the session was created.
    """
    clock, environment = facts["clock"], facts["environment"]
    if clock is None or not environment:
        return ""
    return json.dumps([environment, clock["uuid"]], sort_keys=True, default=str)


class Copies:
    """Events of traces of one session, while they are read.

    identities: of the traces, by number; "" of those that say too little.
    """

    def __init__(self, identities: Sequence[str]) -> None:
        numbers: dict[str, list[int]] = {}
        for number, identity in enumerate(identities):
            numbers.setdefault(identity, []).append(number)
        self._alike = [some for one, some in numbers.items() if one and len(some) > 1]
        self._times: dict[int, list[Values]] = {one: [] for some in self._alike for one in some}
        self._first: dict[int, int] = {}

    @property
    def are_possible(self) -> bool:
        """Whether two traces are of one session."""
        return bool(self._alike)

    def add(self, traces: npt.NDArray[np.uint32], ns: Values, first: int) -> None:
        """Take the events that follow: their traces, their times, and the number of the first."""
        for number, times in self._times.items():
            rows = np.flatnonzero(traces == number)
            if len(rows):
                self._first.setdefault(number, first + int(rows[0]))
                times.append(ns[rows])

    def told(self) -> Iterator[Note]:
        """Yield what is told of the events that are there twice."""
        twice, at = 0, []
        for some in self._alike:
            known = np.empty(0, np.int64)
            for number in some:
                ns = np.concatenate([known[:0], *self._times[number]])
                again = _again(ns, known)
                if again:
                    twice += again
                    at.append(self._first[number])
                known = np.union1d(known, ns)
        if not twice:
            return
        text = (
            f"{count(twice, 'event')} twice: snapshots of one session overlap; read each alone (it "
            "has a directory of its own)"
        )
        yield Note("parts-passed-over", values={"what": text, "first": min(at)})


def _again(ns: Values, known: Values) -> int:
    """How many times of a trace others have, too; 0 where that may be by chance."""
    if not len(known):
        return 0
    within = ns[(ns >= known[0]) & (ns <= known[-1])]
    again = int(np.isin(within, known).sum())
    return again if again >= max(_FEW, _HALF * len(within)) else 0
