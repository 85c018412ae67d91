"""Times of a capture that cannot be meant as they stand: 0, of clocks far apart, of joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.formats.steps_back import USUAL_NS
from tracetime.graph.values import ascending, difference
from tracetime.text import count, duration
from tracetime.trace_facts import OddEvents

Values = npt.NDArray[np.int64]

_SINCE_1973_NS: Final = 10**17
"""Captures are younger; a clock that was never set begins in 1970."""
_YEAR_NS: Final = 31_557_600 * 10**9
_FEW: Final = 3
"""So many turns from one interface to another show that their clocks differ."""
_MOST: Final = 0.9
"""Part of the turns that go back, where the clocks differ; queues of cards reorder some."""
_TAI_NS: Final = (36_500_000_000, 37_500_000_000)
"""How far TAI is ahead of UTC since 2017."""


class _Times(NamedTuple):
    """Packets: how many there are, the first, and from when to when."""

    packets: int
    first: int
    least_ns: int
    most_ns: int

    def joined(self, other: _Times) -> _Times:
        """These and others."""
        return _Times(
            self.packets + other.packets,
            min(self.first, other.first),
            min(self.least_ns, other.least_ns),
            max(self.most_ns, other.most_ns),
        )


class _Turns:
    """Where a packet of one interface follows that of another: how many go back, and how far."""

    def __init__(self) -> None:
        self.turns = self.back = self.most_ns = self.first = 0


class CaptureTimes:
    """The times of a capture, by interface; packets at 0 are apart."""

    def __init__(self) -> None:
        self._zeros: list[_Times] = []
        self._times: dict[int, _Times] = {}
        self._turns: dict[tuple[int, int], _Turns] = {}
        self._last: tuple[int, int] | None = None

    def add(self, on: Values, ns: Values, number: Values) -> None:
        """Look at the packets that follow: the interface of each, its time, and its number."""
        at_zero = ns == 0
        if at_zero.any():
            self._zeros.append(_times_of(ns[at_zero], number[at_zero]))
            on, ns, number = (one[~at_zero] for one in (on, ns, number))
        if not len(ns):
            return
        self._add_turns(on, ns, number)
        for interface in ascending(on).tolist():
            rows = on == interface
            found = _times_of(ns[rows], number[rows])
            known = self._times.get(interface)
            self._times[interface] = found if known is None else known.joined(found)

    def _add_turns(self, on: Values, ns: Values, number: Values) -> None:
        if self._last is not None:
            on, ns = np.r_[self._last[0], on], np.r_[self._last[1], ns]
            number = np.r_[number[0], number]
        self._last = int(on[-1]), int(ns[-1])
        turns = np.flatnonzero(on[1:] != on[:-1]) + 1
        by_ns = difference(ns[turns - 1], ns[turns])
        pairs = np.stack([on[turns - 1], on[turns]], axis=1)
        for pair in np.unique(pairs, axis=0):
            rows = np.flatnonzero((pairs == pair).all(axis=1))
            back = rows[by_ns[rows] > USUAL_NS]
            seen = self._turns.setdefault((int(pair[0]), int(pair[1])), _Turns())
            if len(back) and not seen.back:
                seen.first = int(number[turns[back[0]]])
            seen.turns += len(rows)
            seen.back += len(back)
            seen.most_ns = max(seen.most_ns, int(by_ns[back].max(initial=0)))

    def odd(self, sections: Sequence[int], names: Sequence[str]) -> list[OddEvents]:
        """What cannot be meant.

        Args:
            sections: the first interface of each.
            names: of the interfaces.
        """
        return [*self._at_zero(), *self._apart(names), *self._overlapping(sections)]

    def _at_zero(self) -> Iterator[OddEvents]:
        since = min((one.least_ns for one in self._times.values()), default=0)
        if self._zeros and since >= _SINCE_1973_NS:
            packets = sum(one.packets for one in self._zeros)
            what = f"{count(packets, 'packet')} without a stamp: at 0, in 1970"
            yield OddEvents("zero", what, packets, self._zeros[0].first, 0, 0)

    def _apart(self, names: Sequence[str]) -> Iterator[OddEvents]:
        told = set()
        for (before, after), turns in sorted(self._turns.items()):
            if turns.back >= max(_FEW, _MOST * turns.turns):
                told |= {before, after}
                by_ns = turns.most_ns
                tai = ", as TAI and UTC are" if _TAI_NS[0] <= by_ns <= _TAI_NS[1] else ""
                yield self._differ(names[before], names[after], after, turns.first, by_ns, tai)
        rest = sorted((on for on in self._times if on not in told), key=self._begin)
        for before, after in pairwise(rest):
            by_ns = self._times[after].least_ns - self._times[before].most_ns
            if by_ns > _YEAR_NS:
                few = min(before, after, key=lambda on: self._times[on].packets)
                yield self._differ(
                    names[after], names[before], few, self._times[few].first, by_ns, ""
                )

    def _begin(self, on: int) -> int:
        return self._times[on].least_ns

    def _differ(
        self, ahead: str, behind: str, on: int, first: int, by_ns: int, tai: str
    ) -> OddEvents:
        what = f"{ahead} is {duration(by_ns)} ahead of {behind}{tai}"
        return OddEvents("apart", what, self._times[on].packets, first, 0, by_ns)

    def _overlapping(self, sections: Sequence[int]) -> Iterator[OddEvents]:
        """Sections that begin before those before them end; the capture of each is apart."""
        ends = [*sections[1:], max(self._times, default=0) + 1]
        latest_ns = None
        for begin, end in zip(sections, ends, strict=True):
            here = [one for on, one in self._times.items() if begin <= on < end]
            if not here:
                continue
            first_ns = min(one.least_ns for one in here)
            if latest_ns is not None and first_ns < latest_ns - USUAL_NS:
                by_ns = latest_ns - first_ns
                packets = sum(one.packets for one in here)
                what = f"captures are joined: one begins {duration(by_ns)} before another one ends"
                first = min(one.first for one in here)
                yield OddEvents("joined", what, packets, first, 0, by_ns)
            latest_ns = (
                max(one.most_ns for one in here)
                if latest_ns is None
                else max(latest_ns, *(one.most_ns for one in here))
            )


def _times_of(ns: Values, number: Values) -> _Times:
    return _Times(len(ns), int(number.min()), int(ns.min()), int(ns.max()))
