"""Guaranteed bars of many readings: exact at some, between them by what the two clocks may drift.

Ticks of clocks are in the rows.

Where the target may have jumped between two readings that are exact, bars hold what it may have
read before that and after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.epochs import drifts
from tracetime.graph.epochs.bars import Bars, Paths, hull
from tracetime.graph.epochs.breaks import Findings
from tracetime.graph.epochs.nodes import System
from tracetime.graph.epochs.rows import OPEN, WIDEST
from tracetime.graph.values import Values

MOST_KNOTS: Final = 192
"""Exact readings of an epoch, about: each takes two searches for the shortest paths."""

FEWEST_KNOTS: Final = 16
"""As many even where searches are long."""

MOST_WORK: Final = 300_000
"""So many nodes in all searches for one epoch, about."""

BESIDE_BREAKS: Final = 3
"""Readings on each side of a break that are exact, besides those."""

_ROUNDED_NS: Final = 1


class _Part(NamedTuple):
    """Bars from one epoch of the source.

    Attributes:
        least, most: the readings that it may have, ns since the source's first.
        knots: those that are exact, int64, ascending.
        low, high: of each the least and the greatest that the target may have read, less the
            reading; -OPEN and OPEN where nothing bounds it.
        first, last: the first and the last epoch that the target may have been in.
    """

    least: int
    most: int
    knots: Values
    low: Values
    high: Values
    first: Values
    last: Values


class Table:
    """Bars from one clock to another.

    Args:
        findings: what is known.
        source, target: clocks, by number.
    """

    def __init__(self, findings: Findings, source: int, target: int) -> None:
        self._base = findings.nodes.base[source]
        self._drift = findings.nodes.clocks[source].drift_of(findings.nodes.clocks[target])
        systems = findings.systems() if findings.solved else []
        self._models = [list(_parts(system, source, target)) for system in systems]

    def bars(self, readings: Values) -> Bars:
        """The bars of some readings, int64 ns; open where the findings do not explain the rows."""
        if not self._models:
            nothing = np.full(len(readings), OPEN, dtype=np.int64)
            return Bars(-nothing, nothing)
        near = np.clip(readings, max(self._base - WIDEST, -OPEN), min(self._base + WIDEST, OPEN))
        own = near - self._base
        bars = hull([self._model(parts, own) for parts in self._models])
        far = near != readings
        return Bars(
            np.where(far | (bars.earliest <= -OPEN), -OPEN, bars.earliest + readings),
            np.where(far | (bars.latest >= OPEN), OPEN, bars.latest + readings),
        )

    def _model(self, parts: list[_Part], own: Values) -> Bars:
        """How far the target was from readings at least and at most, by one explanation."""
        low, high = np.full(len(own), OPEN), np.full(len(own), -OPEN)
        for part in parts:
            here = np.flatnonzero((part.least <= own) & (own <= part.most))
            bars = self._within(part, own[here])
            low[here] = np.minimum(low[here], bars.earliest)
            high[here] = np.maximum(high[here], bars.latest)
        # What no epoch reaches may be of any.
        lost = np.flatnonzero(low > high)
        if len(lost):
            found = hull([self._within(part, own[lost]) for part in parts])
            low[lost], high[lost] = found.earliest, found.latest
        return Bars(low, high)

    def _within(self, part: _Part, own: Values) -> Bars:
        """The same of readings of one epoch."""
        left = np.searchsorted(part.knots, own, side="right") - 1
        right = np.minimum(left + 1, len(part.knots) - 1)
        right = np.where((left >= 0) & (part.knots[left] == own), left, right)
        left = np.maximum(left, 0)
        sides = [self._cone(part, knot, own) for knot in (left, right)]
        first, last = (np.stack([ends[left], ends[right]]) for ends in (part.first, part.last))
        one = (first == last).all(axis=0) & (first[0] == first[1])
        lows, highs = (np.stack(ends) for ends in zip(*sides, strict=True))
        low = np.where(one, lows.max(axis=0), lows.min(axis=0))
        high = np.where(one, highs.min(axis=0), highs.max(axis=0))
        # Of a whole epoch between the two nothing is known here.
        between = first.max(axis=0) > last.min(axis=0) + 1
        return Bars(np.where(between, -OPEN, low), np.where(between, OPEN, high))

    def _cone(self, part: _Part, knot: Values, own: Values) -> tuple[Values, Values]:
        """What the bars of some knots leave open of readings near them."""
        away = np.abs(own - part.knots[knot])
        by = drifts(away, np.full(len(away), self._drift)) + _ROUNDED_NS * (away > 0)
        low, high = part.low[knot], part.high[knot]
        return np.where(low == -OPEN, low, low - by), np.where(high == OPEN, high, high + by)


def _parts(system: System, source: int, target: int) -> Iterator[_Part]:
    paths = Paths(system, source, target)
    shift = system.nodes.base[source]
    for spot, (least, most) in zip(paths.epochs, paths.reaches, strict=True):
        knots = _knots(system, spot)
        knots = np.unique(np.clip(knots, max(least, -WIDEST), min(most, WIDEST)))
        rows, known = [], []
        for reading in knots.tolist():
            found = paths.within(spot, reading)
            if not found:
                # The epoch had ended by then, or had not begun.
                continue
            known.append(reading)
            low, high = min(r.earliest for r in found), max(r.latest for r in found)
            epochs = [r.epoch for r in found]
            rows.append(
                (
                    -OPEN if low <= -OPEN else low - reading - shift,
                    OPEN if high >= OPEN else high - reading - shift,
                    min(epochs),
                    max(epochs),
                )
            )
        if known:
            ends = np.array(rows, dtype=np.int64).T
            yield _Part(least, most, np.array(known, dtype=np.int64), *ends)


def _knots(system: System, spot: tuple[int, int]) -> Values:
    """Readings of an epoch of a clock, some of which are at other clocks' breaks."""
    nodes = system.nodes
    own = system.node_at[spot[0] : spot[1] + 1]
    readings = nodes.readings[own]
    # About when something is known, as the epoch's clock read it.
    order = np.argsort(nodes.at[own], kind="stable")
    at, read = nodes.at[own][order], readings[order]
    most = max(FEWEST_KNOTS, min(MOST_WORK // len(nodes.readings), MOST_KNOTS)) // 2
    when = np.unique(np.concatenate([_some(np.sort(nodes.at), most), _beside_breaks(system)]))
    inside = np.clip(when, at[0], at[-1])
    k = np.clip(np.searchsorted(at, inside), 0, len(at) - 1)
    return np.concatenate([_some(readings, most), read[k] + (when - at[k]), read[[0, -1]]])


def _some(values: Values, most: int) -> Values:
    """Some of many values, evenly."""
    places = np.linspace(0, len(values) - 1, min(len(values), most)).astype(np.int64)
    return values[places]


def _beside_breaks(system: System) -> Values:
    """About when the readings next to each break were."""
    nodes, n = system.nodes, len(system.node_at)
    same = system.epoch_clock[1:] == system.epoch_clock[:-1]
    ends = system.epoch_first[1:-1][same]
    around = ends[:, None] + np.arange(-BESIDE_BREAKS, BESIDE_BREAKS)
    beside: Values = nodes.at[system.node_at[np.clip(around.ravel(), 0, n - 1)]]
    return beside
