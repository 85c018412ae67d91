"""Times of a capture that cannot be right: none at all, of clocks far apart, of joins, of jumps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.known_offsets import UNIX_NS
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.clocks.wall_time import format_wall_time
from tracetime.formats.source_times import USUAL_NS
from tracetime.graph.values import Values, difference
from tracetime.text import count, duration
from tracetime.trace.notes import Note

_SINCE_1973_NS: Final = 10**17
"""Captures are younger; a clock that was never set begins in 1970."""
_COARSER: Final = {
    1000: "a unit 1,000 times as long",
    10**6: "a unit 10^6 times as long",
    10**9: "a unit 10^9 times as long",
}
_YEAR_NS: Final = 31_557_600 * 10**9
_FEW: Final = 3
"""So many turns from one interface to another show that their clocks differ."""
_MANY: Final = 10
"""So many packets do not come within one tick."""
_MOST: Final = 0.9
"""Part of the turns that go back, where the clocks differ; queues of cards reorder some."""
_TAI_NS: Final = (36_500_000_000, 37_500_000_000)
"""How far TAI is ahead of UTC since 2017."""


class _PacketTimes(NamedTuple):
    """Packets: how many there are, the first, and from when to when."""

    packets: int
    first: int
    least_ns: int
    most_ns: int

    def merge(self, other: _PacketTimes) -> _PacketTimes:
        """The sum of these and others."""
        return _PacketTimes(
            self.packets + other.packets,
            min(self.first, other.first),
            min(self.least_ns, other.least_ns),
            max(self.most_ns, other.most_ns),
        )


class _Turns:
    """The packets that follow one of another interface: how many go back, and how far."""

    __slots__ = ("back", "first", "most_ns", "turns")

    def __init__(self) -> None:
        self.turns = self.back = self.most_ns = self.first = 0


_MOST_JUMPS: Final = 100_000
"""Of so many jumps of an interface the sizes are kept."""
_ALIKE: Final = 0.1
"""Jumps to and fro between two clocks are as long as these are apart, but for the pauses."""
_FORWARD_NS: Final = 3600 * 10**9
_PAUSES: Final = 100
"""A jump is so many times as long as all the rest of the capture: no pause is."""


class _Jumps:
    """The jumps of time of one interface, of more than is usual, in order.

    Attributes:
        packets: how many there were.
        at: of each jump, how many packets came before it.
        by_ns: how far it went, forward or back.
        numbers: of the packets behind the jumps.
    """

    __slots__ = ("_last_ns", "at", "by_ns", "numbers", "packets")

    def __init__(self) -> None:
        self.packets = 0
        self.at: list[int] = []
        self.by_ns: list[int] = []
        self.numbers: list[int] = []
        self._last_ns: int | None = None

    def add(self, ns: Values, number: Values) -> None:
        """Look at the packets that follow."""
        before = np.r_[ns[0] if self._last_ns is None else self._last_ns, ns[:-1]]
        by_ns = difference(before, ns)
        found = np.flatnonzero((by_ns > USUAL_NS) | (by_ns < -USUAL_NS))
        found = found[: _MOST_JUMPS - len(self.at)]
        self.at += (found + self.packets).tolist()
        self.by_ns += (-by_ns[found]).tolist()
        self.numbers += number[found].tolist()
        self.packets += len(ns)
        self._last_ns = int(ns[-1])

    def two_clocks(self) -> tuple[int, int, int] | None:
        """How far one clock is ahead of the other, its packets, and the first of these; or None.

        Jumps go to and fro by one size, less a pause on the way back, and more on the way there.
        """
        by_ns = np.array(self.by_ns, np.int64)
        there, back = by_ns[by_ns > 0], -by_ns[by_ns < 0]
        if min(len(there), len(back)) < _FEW:
            return None
        size = float(np.median(np.r_[there, back]))
        turns = np.mean((by_ns[1:] > 0) != (by_ns[:-1] > 0))
        alike = np.mean(np.abs(np.abs(by_ns) - size) <= _ALIKE * size)
        if min(turns, alike) < _MOST:
            return None
        ends = [*self.at[1:], self.packets]
        ahead = sum(
            end - at for at, end, by in zip(self.at, ends, self.by_ns, strict=True) if by > 0
        )
        first = next(n for n, by in zip(self.numbers, self.by_ns, strict=True) if by > 0)
        return int(there.min()), ahead + (self.at[0] if by_ns[0] < 0 else 0), first


class CaptureTimes:
    """The times of a capture, by interface; packets at 0 are apart."""

    def __init__(self) -> None:
        self._jumps: dict[int, _Jumps] = {}
        self._zeros: list[_PacketTimes] = []
        self._beyond: list[_PacketTimes] = []
        self._times: dict[int, _PacketTimes] = {}
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
        rows, starts = _by(on)
        counts = np.diff(starts, append=len(on))
        firsts = np.minimum.reduceat(number[rows], starts)
        leasts, mosts = (of.reduceat(ns[rows], starts) for of in (np.minimum, np.maximum))
        groups = (on[rows[starts]], counts, firsts, leasts, mosts)
        for of_it in np.split(rows, starts[1:]):
            jumps = self._jumps.setdefault(int(on[of_it[0]]), _Jumps())
            jumps.add(ns[of_it], number[of_it])
        for interface, *times in zip(*(one.tolist() for one in groups), strict=True):
            found, known = _PacketTimes(*times), self._times.get(interface)
            self._times[interface] = found if known is None else known.merge(found)

    def add_beyond(self, ticks: Values, number: Values) -> None:
        """Look at packets whose time does not fit in int64 ns."""
        if len(ticks):
            self._beyond.append(_times_of(ticks, number))

    def _add_turns(self, on: Values, ns: Values, number: Values) -> None:
        if self._last is not None:
            on, ns = np.r_[self._last[0], on], np.r_[self._last[1], ns]
            number = np.r_[number[0], number]
        self._last = int(on[-1]), int(ns[-1])
        turns = np.flatnonzero(on[1:] != on[:-1]) + 1
        if not len(turns):
            return
        before, after, number = on[turns - 1], on[turns], number[turns]
        by_ns = difference(ns[turns - 1], ns[turns])
        is_back = by_ns > USUAL_NS
        rows, starts = _by(before, after)
        counts = np.diff(starts, append=len(turns))
        backs = np.add.reduceat(is_back[rows].astype(np.int64), starts)
        mosts = np.maximum.reduceat(np.where(is_back, by_ns, 0)[rows], starts)
        firsts = np.minimum.reduceat(np.where(is_back, number, INT64_MAX)[rows], starts)
        groups = (before[rows[starts]], after[rows[starts]], counts, backs, mosts, firsts)
        for one, other, n, back, most_ns, first in zip(
            *(group.tolist() for group in groups), strict=True
        ):
            seen = self._turns.setdefault((one, other), _Turns())
            if back and not seen.back:
                seen.first = first
            seen.turns += n
            seen.back += back
            seen.most_ns = max(seen.most_ns, int(most_ns))

    def odd(self, sections: Sequence[int], names: Sequence[str]) -> list[Note]:
        """The notes on times that cannot be right.

        Args:
            sections: the first interface of each.
            names: of the interfaces.
        """
        return [
            *self._at_zero(),
            *self._mixed(names),
            *self._apart(names),
            *self._overlapping(sections),
            *self._forward(names),
            *self._early(),
            *self._too_late(),
        ]

    def mixed(self) -> dict[int, tuple[int, int, int]]:
        """The interfaces with packets of two clocks: how far apart, of how many, and the first."""
        found = {on: jumps.two_clocks() for on, jumps in self._jumps.items()}
        return {on: one for on, one in found.items() if one is not None}

    def _mixed(self, names: Sequence[str]) -> Iterator[Note]:
        for on, (by_ns, packets, first) in sorted(self.mixed().items()):
            what = (
                f"{names[on]} has packets of two clocks: {packets:,} of "
                f"{self._jumps[on].packets:,} are {duration(by_ns)} ahead{_as_tai(by_ns)}"
            )
            yield _note("mixed", what, packets, first, by_ns)

    def _forward(self, names: Sequence[str]) -> Iterator[Note]:
        for on, jumps in sorted(self._jumps.items()):
            if len(jumps.by_ns) != 1 or min(jumps.at[0], jumps.packets - jumps.at[0]) < _FEW:
                continue
            (by_ns,), times = jumps.by_ns, self._times[on]
            rest_ns = times.most_ns - times.least_ns - by_ns
            if by_ns > max(_FORWARD_NS, _PAUSES * rest_ns):
                what = f"{names[on]} jumps forward by {duration(by_ns)}, between two packets"
                yield _note("forward", what, jumps.at[0], jumps.numbers[0], by_ns)

    def _at_zero(self) -> Iterator[Note]:
        since = min((one.least_ns for one in self._times.values()), default=0)
        packets = sum(one.packets for one in self._zeros)
        if packets and since >= _SINCE_1973_NS:
            what = f"{count(packets, 'packet')} without a stamp: at 0, in 1970"
            yield _note("zero", what, packets, self._zeros[0].first, None)
        together = [*self._zeros, *self._times.values()]
        packets = sum(one.packets for one in together)
        if packets >= _MANY and len({at for one in together for at in one[2:]}) == 1:
            what = f"no packet has a time of its own: all {packets:,} have the same"
            yield _note("equal", what, packets, together[0].first, None)

    def _too_late(self) -> Iterator[Note]:
        """The note about packets beyond int64 ns that are right where their ticks are ns."""
        packets = sum(one.packets for one in self._beyond)
        if packets and all(at in UNIX_NS for one in self._beyond for at in one[2:]):
            least_ns = min(one.least_ns for one in self._beyond)
            what = (
                f"{count(packets, 'packet')} beyond the year 2262: as ns they begin at "
                f"{format_wall_time(least_ns)} (tsresol)"
            )
            yield _note("late", what, packets, self._beyond[0].first, None)

    def _early(self) -> Iterator[Note]:
        """The note about a capture that lies in the first years after 1970."""
        every = self._times.values()
        least_ns, most_ns = (
            min((one.least_ns for one in every), default=0),
            max((one.most_ns for one in every), default=INT64_MAX),
        )
        packets = sum(one.packets for one in every)
        if not 0 < least_ns <= most_ns < _SINCE_1973_NS or packets < _MANY:
            return
        first = min(one.first for one in every)
        what = f"all {count(packets, 'packet')} are in 1970: {duration(least_ns)} after its begin"
        for factor, unit in _COARSER.items():
            if least_ns * factor in UNIX_NS and most_ns * factor in UNIX_NS:
                at = format_wall_time(least_ns * factor)
                what = (
                    f"all {count(packets, 'packet')} are in 1970: with times in {unit} they begin "
                    f"at {at} (tsresol)"
                )
        yield _note("early", what, packets, first, least_ns)

    def _apart(self, names: Sequence[str]) -> Iterator[Note]:
        noted = set()
        for (before, after), turns in sorted(self._turns.items()):
            if turns.back >= max(_FEW, _MOST * turns.turns):
                noted |= {before, after}
                by_ns = turns.most_ns
                yield self._differ(
                    names[before], names[after], after, turns.first, by_ns, _as_tai(by_ns)
                )
        rest = sorted((on for on in self._times if on not in noted), key=self._begin)
        for before, after in pairwise(rest):
            by_ns = self._times[after].least_ns - self._times[before].most_ns
            if by_ns > _YEAR_NS:
                few = min(before, after, key=lambda on: self._times[on].packets)
                yield self._differ(
                    names[after], names[before], few, self._times[few].first, by_ns, ""
                )

    def _begin(self, on: int) -> tuple[int, int]:
        return self._times[on].least_ns, on

    def _differ(self, ahead: str, behind: str, on: int, first: int, by_ns: int, tai: str) -> Note:
        what = f"{ahead} is {duration(by_ns)} ahead of {behind}{tai}"
        return _note("apart", what, self._times[on].packets, first, by_ns)

    def _overlapping(self, sections: Sequence[int]) -> Iterator[Note]:
        """Sections that begin before those before them end; the capture of each is apart."""
        latest_ns = None
        sectioned = groupby(sorted(self._times), lambda on: bisect_right(sections, on))
        for _, interfaces in sectioned:
            here = [self._times[on] for on in interfaces]
            first_ns = min(one.least_ns for one in here)
            if latest_ns is not None and first_ns < latest_ns - USUAL_NS:
                by_ns = latest_ns - first_ns
                packets = sum(one.packets for one in here)
                what = f"captures are joined: one begins {duration(by_ns)} before another one ends"
                first = min(one.first for one in here)
                yield _note("joined", what, packets, first, by_ns)
            latest_ns = (
                max(one.most_ns for one in here)
                if latest_ns is None
                else max(latest_ns, *(one.most_ns for one in here))
            )


def _as_tai(by_ns: int) -> str:
    return ", as TAI and UTC are" if _TAI_NS[0] <= by_ns <= _TAI_NS[1] else ""


def _by(*keys: Values) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows in the order of their keys, as they were within one; and where each key begins."""
    rows = np.lexsort(keys[::-1])
    starts = np.flatnonzero(np.any([np.diff(key[rows], prepend=-1) != 0 for key in keys], axis=0))
    return rows, starts


def _times_of(ns: Values, number: Values) -> _PacketTimes:
    return _PacketTimes(len(ns), int(number.min()), int(ns.min()), int(ns.max()))


def _note(kind: str, what: str, packets: int, first: int, by_ns: int | None) -> Note:
    return Note("odd-times", kind, (first,), 0, packets, by_ns, values={"what": what})
