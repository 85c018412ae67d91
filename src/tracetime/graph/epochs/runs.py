"""About when rows were of clocks several of which were set back in one gap of their pair.

Rows of two clocks that may be set back are taken in runs of one offset: within one, neither was. A
run was when one of its clocks read the same in other rows, before it was set back or after it. So
they are placed one after the other, in every way in which clocks jump seldom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.epochs.clashes import CLOSE_NS, MOST_PIECES, levels
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.values import Values

_MOST_WAYS: Final = 16
"""Ways in which runs may have been that are looked into while some are not placed yet."""

_MOST_RUNS: Final = 16
"""Of more runs not every order is looked into: that takes seconds."""

_SLACK: Final = 2
"""Ways in which clocks jump so much more often than in the best are looked into, until all runs are
placed."""

_MOST_GAPS: Final = 2
"""Gaps in which a run may have been of which no clock tells when it was."""


def instants_by_runs(clocks: Sequence[Clock], rows: Rows) -> list[Values]:
    """About when each row was, int64 ns, in each way in which clocks jump the least often.

    No way where no pair has several runs, or all have too many, nor where rows bound one side: what
    messages took hides which clock went on.
    """
    back = np.array([clock.back for clock in clocks], dtype=bool)
    set_back = back[rows.one] & back[rows.other]
    if ((rows.least_ns == -OPEN) | (rows.most_ns == OPEN))[set_back].any():
        return []
    runs = _runs(clocks, rows)
    if not len({run.clocks for run in runs}) < len(runs) <= _MOST_RUNS:
        return []
    ways = [_Way(clocks, np.zeros(len(rows.one), dtype=np.int64), (), {})]
    for seed, part in _connected(clocks, runs):
        ways = _kept(after for way in ways for after in _placed(way.begun(seed, part), part))
    return [way.at for way in ways if way.jumps == ways[0].jumps]


class _Run(NamedTuple):
    """Rows of two clocks.

    Attributes:
        which: their numbers.
        clocks: the two.
        readings: of each of them.
    """

    which: Values
    clocks: tuple[int, int]
    readings: tuple[Values, Values]

    def of(self, clock: int) -> Values:
        """What one of the two read."""
        return self.readings[self.clocks.index(clock)]


@dataclass(frozen=True, slots=True)
class _Map:
    """What a clock read when.

    Attributes:
        readings, at: int64, in pieces in which both ascend.
        first: where each piece begins, and the end of all.
        jumps: how often it jumped.
    """

    readings: Values
    at: Values
    first: Values
    jumps: int

    @classmethod
    def of(cls, readings: Values, at: Values, *, back: bool) -> _Map:
        by_time = np.lexsort((readings, at))
        readings, at = readings[by_time], at[by_time]
        rises, passed = np.diff(readings), np.diff(at)
        near = (np.abs(rises) + np.abs(passed)) // 1000 + CLOSE_NS
        jumps = int((np.abs(rises - passed) > near).sum())
        falls = np.flatnonzero(rises < -CLOSE_NS) + 1
        if not back or len(falls) >= MOST_PIECES:
            falls = falls[:0]
        first = np.concatenate([[0], falls, [len(at)]])
        order = np.lexsort((at, readings, np.repeat(np.arange(len(first) - 1), np.diff(first))))
        return cls(readings[order], at[order], first, jumps)

    def when(self, readings: Values) -> Iterator[tuple[Values, int]]:
        """When it may have read something, and how far the nearest known reading was, by piece."""
        for begin, end in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            known, at = self.readings[begin:end], self.at[begin:end]
            right = np.searchsorted(known, readings)
            left, right = np.maximum(right - 1, 0), np.minimum(right, len(known) - 1)
            after, before = readings - known[left], known[right] - readings
            found = np.where(np.abs(after) < np.abs(before), at[left] + after, at[right] - before)
            inside = (after >= 0) & (before >= 0)
            found = np.where(inside, np.clip(found, at[left], at[right]), found)
            away = int(np.median(np.minimum(np.abs(after), np.abs(before))))
            for when in _at_one_offset(readings, found):
                yield when, away


def _at_one_offset(readings: Values, found: Values) -> Iterator[Values]:
    """Some instants of readings; if the clock jumped among those known there, also without that."""
    yield found
    offset = found - readings
    near = int(np.ptp(readings)) // 1000 + CLOSE_NS
    if np.ptp(offset) <= near:
        return
    for end in (offset.min(), offset.max()):
        same = np.flatnonzero(np.abs(offset - end) <= near)
        same = same[np.argsort(readings[same], kind="stable")]
        k = np.clip(np.searchsorted(readings[same], readings), 0, len(same) - 1)
        yield readings + offset[same[k]]


@dataclass(frozen=True, slots=True)
class _Way:
    """About when rows were, of the runs placed so far.

    Attributes:
        clocks: all of them.
        at: int64, of each row.
        runs: those placed.
        maps: by clock of them what it read when.
        away: how far runs were from what their clocks are known to have read.
    """

    clocks: Sequence[Clock]
    at: Values
    runs: tuple[_Run, ...]
    maps: Mapping[int, _Map]
    away: int = 0

    @property
    def jumps(self) -> int:
        """How often clocks jumped; those that say that they do not count twice."""
        return sum(
            known.jumps * (1 if self.clocks[clock].jumps else 2)
            for clock, known in self.maps.items()
        )

    def begun(self, seed: int, runs: Sequence[_Run]) -> _Way:
        """With a clock whose own readings are about when it read them: if set back, in one run."""
        if self.clocks[seed].back:
            run = next(run for run in runs if seed in run.clocks)
            return self.with_run(run, run.of(seed))
        own = np.unique(np.concatenate([run.of(seed) for run in runs if seed in run.clocks]))
        known = _Map.of(own, own, back=False)
        return _Way(self.clocks, self.at, self.runs, {**self.maps, seed: known})

    def with_run(self, run: _Run, when: Values, away: int = 0) -> _Way:
        """With one more run."""
        at, runs, maps = self.at.copy(), (*self.runs, run), dict(self.maps)
        at[run.which] = when
        for clock in run.clocks:
            own = [one for one in runs if clock in one.clocks]
            maps[clock] = _Map.of(
                np.concatenate([one.of(clock) for one in own]),
                np.concatenate([at[one.which] for one in own]),
                back=self.clocks[clock].back,
            )
        return _Way(self.clocks, at, runs, maps, self.away + away)

    def options(self, run: _Run) -> list[_Way]:
        """Every way with one more run: when one of its clocks read that in a row placed."""
        known = [clock for clock in run.clocks if clock in self.maps]
        sure = [clock for clock in known if not self.clocks[clock].back]
        when = [at for clock in sure[:1] or known for at in self.maps[clock].when(run.of(clock))]
        return [self.with_run(run, *at) for at in when]

    def apart(self, run: _Run) -> list[_Way]:
        """Ways with one more run in which both of its clocks had jumped.

        Before all, after all, or in one of the longest gaps: both of its clocks jumped there.
        """
        known = [self.maps[clock].at for clock in run.clocks if clock in self.maps]
        if not known or not all(self.clocks[clock].back for clock in run.clocks):
            return []
        at = np.sort(np.concatenate(known))
        own = run.readings[0] - run.readings[0].min()
        lasts = int(own.max())
        when = [at[0] - lasts - CLOSE_NS, at[-1] + CLOSE_NS]
        gaps = np.diff(at)
        for k in np.argsort(-gaps, kind="stable")[:_MOST_GAPS].tolist():
            if gaps[k] > lasts:
                when.append(at[k] + (int(gaps[k]) - lasts) // 2)
        far = int(at[-1] - at[0]) + lasts
        return [self.with_run(run, first + own, far) for first in when]

    def is_as(self, other: _Way) -> bool:
        """Whether another way places the same runs at the same time, counted from the first."""
        mine, theirs = self._middles(), other._middles()
        if mine.keys() != theirs.keys():
            return False
        apart = [mine[first] - theirs[first] for first in mine]
        near = (max(mine.values()) - min(mine.values())) // 1000 + CLOSE_NS
        return max(apart) - min(apart) <= near

    def _middles(self) -> dict[int, int]:
        """By the first row of each run, when its middle row was."""
        return {
            int(run.which[0]): int(self.at[run.which[len(run.which) // 2]]) for run in self.runs
        }


def _placed(begun: _Way, runs: Sequence[_Run]) -> list[_Way]:
    """The ways in which some runs, that are connected, may be placed after some others."""
    ways = [begun]
    # A clock that may be set back begins with one of them.
    placed = len(begun.runs) + sum(not any(run is one for one in begun.runs) for run in runs)
    while len(ways[0].runs) < placed:
        ways = _kept(after for way in ways for after in _next(way, runs))
    return ways


def _next(way: _Way, runs: Sequence[_Run]) -> list[_Way]:
    """The ways with one more run."""
    placed, found = set(map(id, way.runs)), list[_Way]()
    left = [run for run in runs if id(run) not in placed]
    for run in left:
        options = way.options(run)
        if options and any(c in way.maps and not way.clocks[c].back for c in run.clocks):
            return options
        found += options
    if found and min(one.jumps for one in found) > way.jumps + 1:
        found += [after for run in left for after in way.apart(run)]
    return found or [way]


def _kept(ways: Iterable[_Way]) -> list[_Way]:
    """Those ways of some in which clocks jump seldom, `_MOST_WAYS` that are not alike."""
    ordered = sorted(ways, key=lambda way: (way.jumps, way.away))
    kept: list[_Way] = []
    for way in ordered:
        if len(kept) == _MOST_WAYS or way.jumps > ordered[0].jumps + _SLACK:
            break
        if not any(map(way.is_as, kept)):
            kept.append(way)
    return kept


def _connected(clocks: Sequence[Clock], runs: Sequence[_Run]) -> Iterator[tuple[int, list[_Run]]]:
    """Runs that share clocks, longest first, and the steadiest of these clocks."""
    left = sorted(runs, key=lambda run: -len(run.which))
    while left:
        within, part = set(left[0].clocks), list[_Run]()
        while more := [run for run in left if not within.isdisjoint(run.clocks)]:
            part += more
            left = [run for run in left if within.isdisjoint(run.clocks)]
            within.update(clock for run in more for clock in run.clocks)
        part.sort(key=lambda run: -len(run.which))
        longest = part[0].clocks
        yield (
            min(
                within,
                key=lambda c: (clocks[c].back, clocks[c].jumps, c not in longest, c),
            ),
            part,
        )


def _runs(clocks: Sequence[Clock], rows: Rows) -> list[_Run]:
    """The rows of each pair of clocks; of two that may be set back those of each offset apart."""
    n, runs = len(clocks), list[_Run]()
    key = rows.pairs(n)
    for pair in np.unique(key).tolist():
        which = np.flatnonzero(key == pair)
        ends = divmod(pair, n)
        flipped = rows.one[which] != ends[0]
        readings = (
            np.where(flipped, rows.other_ns[which], rows.one_ns[which]),
            np.where(flipped, rows.one_ns[which], rows.other_ns[which]),
        )
        level = np.zeros(len(which), dtype=np.int64)
        if all(clocks[end].back for end in ends):
            level = levels(*readings)
        if level.max() >= MOST_PIECES:
            level[:] = 0
        for k in range(int(level.max()) + 1):
            of = level == k
            runs.append(_Run(which[of], ends, (readings[0][of], readings[1][of])))
    return runs
