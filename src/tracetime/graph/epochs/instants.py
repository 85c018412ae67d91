"""About when each row was: what its two readings are on one clock, the steadiest of all.

Only the order of readings follows from it, of a clock that was set back, and which clocks stood
still at one time: bars never do. A clock is placed by its rows with clocks placed before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tracetime.graph.epochs.rows import Clock, Rows
from tracetime.graph.values import Values

_NEAREST: Final = 4
"""Readings on each side of one, among which the one at its time is sought: a clock that was set
back has few of the same value."""


def instants(clocks: Sequence[Clock], rows: Rows) -> Values:
    """About when each row was, int64 ns; comparable among clocks that rows connect."""
    ends = _ends(len(clocks), rows)
    restless = _restless(len(clocks), rows)
    order = sorted(
        range(len(clocks)), key=lambda c: (clocks[c].back, clocks[c].jumps, restless[c], c)
    )
    rank = {clock: k for k, clock in enumerate(order)}
    at = np.zeros(len(rows.one), dtype=np.int64)
    placed: dict[int, tuple[Values, Values]] = {}
    todo = set(order)
    while todo:
        near = [c for c in todo if any(other in placed for other in ends[c])]
        here = min(near or todo, key=rank.__getitem__)
        todo.discard(here)
        found = [part for other, part in ends[here].items() if other in placed]
        if not found:
            own = np.unique(_readings(rows, here, np.concatenate([*ends[here].values(), _NO])))
            placed[here] = own, own
            continue
        which = np.concatenate(found)
        mine = _readings(rows, here, which)
        guesses = np.concatenate(
            [
                _guesses(placed[other], _readings(rows, other, part))
                for other, part in ends[here].items()
                if other in placed
            ]
        )
        at[which] = _likely(guesses, mine)
        by_reading = np.argsort(mine, kind="stable")
        placed[here] = mine[by_reading], at[which][by_reading]
    return at


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


def _guesses(placed: tuple[Values, Values], readings: Values) -> Values:
    """When a placed clock may have read something: int64[readings, guesses]."""
    known, at = placed
    k = np.searchsorted(known, readings)
    which = np.clip(k[:, None] + np.arange(-_NEAREST, _NEAREST), 0, len(known) - 1)
    away = readings[:, None] - known[which]
    if (np.maximum.accumulate(at) - at).max() <= _spread(known):
        # It was not set back: the nearest reading is nearest in time.
        nearest = np.abs(away).argmin(axis=1)[:, None]
        which, away = (np.take_along_axis(values, nearest, axis=1) for values in (which, away))
        which, away = (np.repeat(values, 2 * _NEAREST, axis=1) for values in (which, away))
    guesses: Values = at[which] + away
    return guesses


def _spread(readings: Values) -> int:
    """How far from its offset a clock may seem to be that neither drifts much nor jumps."""
    return int(np.ptp(readings) // 1000) + 1_000_000


def _likely(guesses: Values, mine: Values) -> Values:
    """The guess of each row that fits the most of the others: the clock's offset is about one."""
    offsets = guesses - mine[:, None]
    spread = offsets.max(axis=1) - offsets.min(axis=1)
    if not spread.any():
        return guesses[:, 0]
    every = np.sort(offsets, axis=None)
    ends = np.searchsorted(every, every + _spread(mine), side="right")
    best = int(np.argmax(ends - np.arange(len(every))))
    middle = int(every[(best + int(ends[best])) // 2])
    k = np.abs(offsets - middle).argmin(axis=1)
    likely: Values = guesses[np.arange(len(k)), k]
    return likely
