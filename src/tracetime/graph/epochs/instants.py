"""About when each row was: what its two readings are on one clock, the steadiest of all.

Only the order of readings follows from it, of a clock that was set back, and which clocks stood
still at one time: bars never do. A clock is placed by its rows with steadier clocks; those that no
rows tie to a steadier one are timelines of their own, until a clock that has rows with several
tells how far these are apart. It may do so in several ways: each is an alternative. So is what rows
of two clocks that may be set back say alone: wherever one of the two was set, the other went on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

import numpy as np

from tracetime.graph.epochs.clashes import (
    CLOSE_NS,
    MOST_PIECES,
    along,
    in_turn,
    levels,
    neighbours_clash,
)
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.epochs.runs import instants_by_runs
from tracetime.graph.values import Mask, Values

MOST_WAYS: Final = 8
"""Ways in which timelines may lie to each other that are looked into."""

_NEAREST: Final = 4
"""Readings on each side of one, among which the one at its time is sought, of a clock that was set
back more often than `MOST_PIECES` times."""

_FEWER: Final = 8
"""A timeline may lie where so many times fewer rows fit: those of a pair are not read evenly."""

_MOST_ALONE: Final = 2
"""Places of what the rows of two clocks say alone on a timeline that are looked into."""

_FEW: Final = 4
"""Rows that clash although a way is right, about: clocks jumped there."""

_MOST_ROWS: Final = 1000
"""So many rows, evenly, say how far two timelines are apart."""


def instants(clocks: Sequence[Clock], rows: Rows) -> list[Values]:
    """About when each row was, int64 ns; comparable among clocks that rows connect.

    Each of them is another way in which it may have been, the likeliest first: that in which the
    fewest rows contradict the next one of their pair.
    """
    ends = _ends(len(clocks), rows)
    nowhere = np.full(len(rows.one), -1, dtype=np.int64)
    ways = [_Way(np.zeros(len(rows.one), dtype=np.int64), nowhere, {}, {})]
    for here in _by_steadiness(clocks, rows):
        ways = [after for way in ways for after in way.with_clock(clocks, rows, here, ends[here])]
        ways = _likeliest(ways, clocks, rows)
    found = [way.at for way in ways]
    for at in instants_by_runs(clocks, rows):
        if not any(_alike(at, other) for other in found):
            found.append(at)
    return found


@dataclass(frozen=True, slots=True)
class _Map:
    """What a clock read when.

    Attributes:
        readings, at: int64, in pieces in which both ascend.
        first: where each piece begins, and the end of all.
    """

    readings: Values
    at: Values
    first: Values

    @classmethod
    def of(cls, readings: Values, at: Values) -> _Map:
        by_time = np.lexsort((readings, at))
        readings, at = readings[by_time], at[by_time]
        falls = np.flatnonzero(np.diff(readings) < -CLOSE_NS) + 1
        if len(falls) >= MOST_PIECES:
            by_reading = np.lexsort((at, readings))
            return cls(readings[by_reading], at[by_reading], np.array([0, len(at)]))
        first = np.concatenate([[0], falls, [len(at)]])
        piece = np.repeat(np.arange(len(first) - 1), np.diff(first))
        order = np.lexsort((at, readings, piece))
        return cls(readings[order], at[order], first)

    def moved(self, by: int) -> _Map:
        """The same on another timeline."""
        return _Map(self.readings, self.at + by, self.first)

    def longest_gap(self) -> int:
        """How long at most it was not read within a piece."""
        gaps = np.diff(self.readings)
        gaps[self.first[1:-1] - 1] = 0
        return int(gaps.max(initial=0))

    def when(self, readings: Values) -> tuple[Values, Values]:
        """When it may have read something, and how far the nearest known reading is: [n, ways]."""
        columns = list(self._nearest(readings))
        at, away = (np.stack(sides, axis=1) for sides in zip(*columns, strict=True))
        return at + away, np.abs(away)

    def likely(self, readings: Values, about: Values) -> Values:
        """When it read something about some instants: what it read at one offset in one piece."""
        at, away = self.when(readings)
        off, far = np.abs(at - about[:, None]), np.greater(away, self.longest_gap())
        likely, level = about.copy(), levels(readings, about)
        for k in range(int(level.max()) + 1):
            run = np.flatnonzero(level == k)
            ways = np.lexsort((off[run].mean(axis=0), 2 * far[run].sum(axis=0) > len(run)))
            likely[run] = at[run, ways[0]]
        return likely

    def _nearest(self, readings: Values) -> Iterator[tuple[Values, Values]]:
        one_piece = len(self.first) == 2
        often = one_piece and (np.maximum.accumulate(self.at) - self.at).max() > CLOSE_NS
        for begin, end in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            known, at = self.readings[begin:end], self.at[begin:end]
            k = np.searchsorted(known, readings)
            if often:
                for step in range(-_NEAREST, _NEAREST):
                    which = np.clip(k + step, 0, len(known) - 1)
                    yield at[which], readings - known[which]
                continue
            left, right = np.maximum(k - 1, 0), np.minimum(k, len(known) - 1)
            nearer = np.abs(readings - known[left]) < np.abs(readings - known[right])
            which = np.where(nearer, left, right)
            yield at[which], readings - known[which]


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a clock with clocks of one timeline.

    Attributes:
        which: their numbers.
        mine: what the clock read.
        guesses: when that may have been, on the timeline: int64[rows, ways].
    """

    which: Values
    mine: Values
    guesses: Values

    @property
    def sure(self) -> Mask:
        """Which rows have one guess."""
        sure: Mask = np.ptp(self.guesses, axis=1) <= CLOSE_NS
        return sure

    def lasts_ns(self) -> int:
        """From the first row with one guess to the last."""
        sure = self.guesses[self.sure, 0]
        return int(np.ptp(sure)) if len(sure) else -1

    def likely(self) -> Values:
        """When each row was: a guess near what rows with one say, else at about one offset."""
        sure = self.sure
        if sure.all():
            return self.guesses[:, 0]
        if sure.any():
            known = _Map.of(self.mine[sure], self.guesses[sure, 0])
            return np.where(sure, self.guesses[:, 0], self.nearest(known.when(self.mine)[0]))
        offsets = self.guesses - self.mine[:, None]
        every = np.sort(offsets, axis=None)
        ends = np.searchsorted(every, every + _spread(self.guesses), side="right")
        best = int(np.argmax(ends - np.arange(len(every))))
        return self.nearest(self.mine + every[(best + int(ends[best])) // 2])

    def moved(self, by: int) -> _Part:
        """The same on another timeline."""
        return _Part(self.which, self.mine, self.guesses + by)

    @classmethod
    def all(cls, parts: Sequence[_Part]) -> _Part:
        """Some parts of one timeline as one; of less guesses one is repeated."""
        most = max(part.guesses.shape[1] for part in parts)
        guesses = [
            np.pad(part.guesses, ((0, 0), (0, most - part.guesses.shape[1])), mode="edge")
            for part in parts
        ]
        return cls(
            np.concatenate([part.which for part in parts]),
            np.concatenate([part.mine for part in parts]),
            np.concatenate(guesses),
        )

    def nearest(self, at: Values) -> Values:
        """The guess of each row that is nearest to some instant: int64[rows], or [rows, ways]."""
        wanted = at.reshape(len(at), 1, -1)
        k = np.abs(self.guesses[:, :, None] - wanted).min(axis=2).argmin(axis=1)
        nearest: Values = self.guesses[np.arange(len(k)), k]
        return nearest


@dataclass(frozen=True, slots=True)
class _Way:
    """About when rows were, of the clocks placed so far.

    Attributes:
        at: int64, of each row.
        lines: int64, of each row placed, the first clock of its timeline; else -1.
        maps: by clock placed, what it read when.
        timeline: by clock placed, the first clock of its timeline.
    """

    at: Values
    lines: Values
    maps: Mapping[int, _Map]
    timeline: Mapping[int, int]

    def clashes(self, clocks: Sequence[Clock], rows: Rows) -> int:
        """How many of some rows placed contradict the next one of their pair."""
        some = np.zeros(len(self.at), dtype=bool)
        some[:: len(self.at) // _MOST_ROWS + 1] = True
        return len(neighbours_clash(clocks, rows, self.at, some & (self.lines >= 0))[0])

    def is_as(self, other: _Way) -> bool:
        """Whether another way places the same rows at the same time, counted from the first."""
        placed = np.flatnonzero(self.lines >= 0)
        return _alike(self.at[placed], other.at[placed])

    def with_clock(
        self, clocks: Sequence[Clock], rows: Rows, here: int, ends: Mapping[int, Values]
    ) -> Iterator[_Way]:
        """The ways in which one more clock may be placed; ends: its rows, by the other clock."""
        known = [other for other in ends if other in self.maps]
        if not known:
            own = np.unique(_readings(rows, here, np.concatenate([*ends.values(), _NO])))
            maps = {**self.maps, here: _Map.of(own, own)}
            yield _Way(self.at, self.lines, maps, {**self.timeline, here: here})
            return
        options = [
            self._guesses(rows, (here, k), ends[k], alone=clocks[here].back and clocks[k].back)
            for k in known
        ]
        for parts in islice(product(*options), MOST_WAYS):
            by_line: dict[int, list[_Part]] = {}
            for other, part in zip(known, parts, strict=True):
                by_line.setdefault(self.timeline[other], []).append(part)
            yield from self._with(here, {line: _Part.all(own) for line, own in by_line.items()})

    def _with(self, here: int, parts: Mapping[int, _Part]) -> Iterator[_Way]:
        """The ways in which a clock may be placed that has some parts, by timeline."""
        lines = sorted(parts, key=lambda line: (-parts[line].lasts_ns(), line))
        for main in lines:
            ways = [self._placed(here, main, parts[main], parts[main].likely())]
            for line in lines:
                if line != main:
                    ways = [after for way in ways for after in way._joined(here, line, parts[line])]
            yield from ways

    def _guesses(
        self, rows: Rows, ends: tuple[int, int], which: Values, *, alone: bool
    ) -> list[_Part]:
        """When the rows of a clock with one placed may have been, the likeliest first.

        By what is known of that; and by themselves, if `alone`, where that differs.
        """
        here, other = ends
        mine, theirs = (_readings(rows, clock, which) for clock in (here, other))
        known = _Part(which, mine, self.maps[other].when(theirs)[0])
        two_sided = (rows.least_ns[which] != -OPEN) & (rows.most_ns[which] != OPEN)
        if not (alone and two_sided.all()):
            # What messages took hides which clock went on.
            return [known]
        at = in_turn(theirs, mine)
        shifts = _shifts(self.maps[other], _Part(which, theirs, at[:, None]))
        apart = [_Part(which, mine, (at + by)[:, None]) for by in shifts]
        likely = known.likely()
        apart = [p for p in apart if np.abs(p.guesses[:, 0] - likely).max() > _spread(at)]
        return [known, *apart[:_MOST_ALONE]]

    def _placed(self, here: int, line: int, part: _Part, when: Values) -> _Way:
        """With a clock on a timeline, whose rows of a part were at some instants."""
        at, lines = self.at.copy(), self.lines.copy()
        at[part.which], lines[part.which] = when, line
        own = _Map.of(part.mine, when)
        if here in self.maps:
            known = self.maps[here]
            readings = np.concatenate([known.readings, part.mine])
            own = _Map.of(readings, np.concatenate([known.at, when]))
        return _Way(at, lines, {**self.maps, here: own}, {**self.timeline, here: line})

    def _joined(self, here: int, line: int, part: _Part) -> Iterator[_Way]:
        """With one more timeline, on which a clock has a part, moved to the clock's own."""
        main = self.timeline[here]
        for by in _shifts(self.maps[here], part):
            guesses, _ = self.maps[here].when(part.mine)
            at = np.where(self.lines == line, self.at + by, self.at)
            lines = np.where(self.lines == line, main, self.lines)
            theirs = {clock for clock, own in self.timeline.items() if own == line}
            maps = {
                clock: known.moved(by) if clock in theirs else known
                for clock, known in self.maps.items()
            }
            timeline = {c: main if c in theirs else own for c, own in self.timeline.items()}
            moved = part.moved(by)
            way, when = _Way(at, lines, maps, timeline), moved.nearest(guesses)
            yield way._placed(here, main, moved, when)
            # Or as the clock's own readings say, where the other clock's were not known.
            own = self.maps[here].likely(part.mine, when)
            if np.abs(own - when).max() > _spread(when):
                yield way._placed(here, main, moved, own)


def _likeliest(ways: Sequence[_Way], clocks: Sequence[Clock], rows: Rows) -> list[_Way]:
    """Those ways of some in which few rows clash, `MOST_WAYS` that are not alike."""
    clashes = [way.clashes(clocks, rows) for way in ways]
    most = 2 * min(clashes) + _FEW
    kept: list[_Way] = []
    for k in np.argsort(clashes, kind="stable").tolist():
        if clashes[k] <= most and not any(ways[k].is_as(other) for other in kept):
            kept.append(ways[k])
    return kept[:MOST_WAYS]


def _shifts(known: _Map, part: _Part) -> list[int]:
    """By how much a timeline may lie before that of a clock's map, the likeliest first.

    Most rows of the clock with that timeline then are where the map has their readings.
    """
    some = np.linspace(0, len(part.mine) - 1, min(len(part.mine), _MOST_ROWS)).astype(np.int64)
    mine = part.mine[some]
    guesses, away = known.when(mine)
    # Far from what is known of an epoch it had not begun, or had ended.
    close = np.less_equal(away, known.longest_gap())
    close |= ~close.any(axis=1, keepdims=True) & (away == away.min(axis=1, keepdims=True))
    shifts = guesses[:, :, None] - part.guesses[some][:, None, :]
    by = shifts.reshape(len(mine), -1)
    near = np.repeat(close, part.guesses.shape[1], axis=1)
    spread = _spread(part.guesses)
    order = np.argsort(by, axis=1)
    by, near = np.take_along_axis(by, order, axis=1), np.take_along_axis(near, order, axis=1)
    # Several guesses of a row that are about one count once.
    near[:, 1:] &= ~(near[:, :-1] & (np.diff(by, axis=1) <= spread))
    every = np.sort(by[near])
    found = list[tuple[int, int]]()
    while len(every) and len(found) < MOST_WAYS:
        ends = np.searchsorted(every, every + spread, side="right")
        best = int(np.argmax(ends - np.arange(len(every))))
        count, middle = int(ends[best]) - best, int(every[(best + int(ends[best])) // 2])
        if found and _FEWER * count < found[0][0]:
            break
        found.append((count, middle))
        every = every[np.abs(every - middle) > spread]
    return [middle for _, middle in found]


def _alike(at: Values, other: Values) -> bool:
    """Whether some rows were at the same time, counted from the first."""
    apart = np.diff(at - other)
    return not len(apart) or int(np.abs(apart).max()) <= _spread(at)


_NO: Final = np.empty(0, dtype=np.int64)


def _ends(n_clocks: int, rows: Rows) -> list[dict[int, Values]]:
    """By clock, and by the other clock, the numbers of the rows of the two."""
    ends: list[dict[int, Values]] = [{} for _ in range(n_clocks)]
    key = rows.pairs(n_clocks)
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(key[order]) != 0)[: len(order)])
    for part in np.split(order, starts[1:]) if len(order) else ():
        one, other = divmod(int(key[part[0]]), n_clocks)
        ends[one][other] = ends[other][one] = part
    return ends


def _readings(rows: Rows, clock: int, which: Values) -> Values:
    """The readings of a clock in some rows, all of which have it."""
    mine: Values = np.where(rows.one[which] == clock, rows.one_ns[which], rows.other_ns[which])
    return mine


def _by_steadiness(clocks: Sequence[Clock], rows: Rows) -> list[int]:
    """The clocks, the steadiest first."""
    mixed, restless = _mixed(clocks, rows), _restless(len(clocks), rows)
    return sorted(
        range(len(clocks)),
        key=lambda c: (clocks[c].back, clocks[c].jumps, *mixed[c], restless[c], c),
    )


def _mixed(clocks: Sequence[Clock], rows: Rows) -> list[tuple[int, int]]:
    """By clock, of how many rows more the next contradicts them along it than along the others.

    Along a clock that was set back readings interleave, if they are of one range; else it went
    through half as much again as the other of some pairs at least: of how many.
    """
    n = len(clocks)
    pair = rows.pairs(n)
    lower, higher = (
        np.bincount(pair[neighbours_clash(clocks, rows, readings)[0]], minlength=n * n)
        for readings in along(rows)
    )
    mixed, wider = [0] * n, [0] * n
    for key in np.flatnonzero(np.minimum(lower, higher)).tolist():
        ends = divmod(key, n)
        spans = [int(np.ptp(readings[pair == key])) for readings in along(rows)]
        over = (int(lower[key] - higher[key]), int(higher[key] - lower[key]))
        for clock, more, own, others in zip(ends, over, spans, spans[::-1], strict=True):
            mixed[clock] += max(more, 0)
            wider[clock] += 2 * own > 3 * others
    return list(zip(mixed, wider, strict=True))


def _restless(n_clocks: int, rows: Rows) -> list[int]:
    """How much, by clock, others seem to jump in the order of its readings, ns.

    Along a clock that was set back the others fall wherever its readings interleave; against one
    that was set at all most of the others jump.
    """
    here, there = np.concatenate([rows.one, rows.other]), np.concatenate([rows.other, rows.one])
    mine = np.concatenate([rows.one_ns, rows.other_ns])
    theirs = np.concatenate([rows.other_ns, rows.one_ns])
    order = np.lexsort((theirs, mine, there, here))
    here, there, mine, theirs = (column[order] for column in (here, there, mine, theirs))
    same = (np.diff(here) == 0) & (np.diff(there) == 0)
    rises, own = (np.where(same, np.diff(r).astype(np.float64), 0) for r in (theirs, mine))
    falls = np.bincount(here[1:], np.maximum(-rises, 0), n_clocks)
    firsts = np.flatnonzero(np.append(True, ~same)[: len(order)])
    restless = falls.astype(np.int64).tolist()
    if len(firsts):
        jumps = np.maximum.reduceat(np.append(0, np.abs(rises - own)), firsts)
        for clock in range(n_clocks):
            of_each = np.sort(jumps[here[firsts] == clock])
            restless[clock] += int(of_each[(len(of_each) - 1) // 2]) if len(of_each) else 0
    return list(restless)


def _spread(at: Values) -> int:
    """By how much clocks may drift apart within some instants, and more."""
    return int(np.ptp(at) // 1000) + CLOSE_NS
