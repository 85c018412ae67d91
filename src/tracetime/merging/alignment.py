"""The alignment of two files: which collectives of both are the same, by their order.

All ranks leave a collective together. So where the alignment is right, the ends of both files lie
on a line, but for the time a message takes and for steps of a clock; where it is wrong, the time
that the work between collectives took stands between them, which is never twice the same. An
alignment that is not clearly better than every other is none.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.merging import may_fit, spreads
from tracetime.graph.values import Floats, Values

LEAST: Final = 12
"""So many collectives must agree at least."""

_CLEARLY: Final = 4.0
"""So many times as far off as the best alignment is the second best."""

MOST: Final = 49_152
"""So many collectives of two files are searched at most."""

_MOST_DRIFT: Final = 1e-3
_ANY_RATE: Final = 1.0
_MOST_PIECES: Final = 4
"""So often is what is left on both sides of an alignment aligned again."""

_FINEST_NS: Final = 1_000.0
"""Ends that agree within this agree."""

_LEAST_OF_ITSELF: Final = 6
"""So many collectives must repeat at least for a file to tell how alike its steps are."""

_MOST_OF_ITSELF: Final = 64
"""With so many later steps of its own a file is compared."""

_SEEN: Final = 256
"""Of a longer overlap so many collectives show which shifts are worth a whole look."""

_BLOCK: Final = 32
"""So many of these follow each other."""

_LOOKED_AT: Final = 64
"""So many shifts get that whole look."""

_ALL_LOOKED_AT: Final = 4 * _SEEN
"""Of a shorter file, all shifts together are looked at whether any may be right."""

_MOST_OFF: Final = 1 / 3
"""So many of the neighbours of a match may be off the line."""


class Meetings:
    """The collectives of one file, in order: when they ended, ns, and of which kind they are."""

    def __init__(self, ends: Values, kinds: Values) -> None:
        self.ends, self.kinds = ends, kinds

    def part(self, first: int, end: int) -> Meetings:
        """The collectives from number `first` to before `end`."""
        return Meetings(self.ends[first:end], self.kinds[first:end])

    @cached_property
    def self_distance(self) -> float:
        """The least spread of the file against itself, shifted: a wrong alignment has it too.

        Steps of a few iterations may differ by more than clocks drift: then by any rate.
        """
        n, known = len(self.ends), np.empty(0)
        columns = (self.ends, self.kinds) * 2
        for rate in (_MOST_DRIFT, _ANY_RATE):
            for first in range(1, n - _LEAST_OF_ITSELF + 1, _MOST_OF_ITSELF):
                shifts = np.arange(first, min(first + _MOST_OF_ITSELF, n - _LEAST_OF_ITSELF + 1))
                found = spreads(*columns, shifts, (n, 1), (_LEAST_OF_ITSELF, rate))
                known = np.append(known, found[np.isfinite(found)])[:_MOST_OF_ITSELF]
                if len(known) == _MOST_OF_ITSELF:
                    break
            if len(known):
                break
        return float(known.min(initial=np.inf))


class Alignment(NamedTuple):
    """The numbers of the same collectives in one file and in the other, ascending."""

    ours: Values
    theirs: Values


_NOTHING: Final = Alignment(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def align(one: Meetings, other: Meetings, pieces: int = _MOST_PIECES) -> Alignment:
    """Find which collectives are the same; none where that is not clear.

    A file may begin earlier than the other, and lack some collectives, so that what follows is
    shifted by another number: what the best shift leaves is aligned anew.
    """
    found = _by_shift(one, other)
    if not len(found.ours) or not pieces:
        return found
    # The parts that the best shift leaves open: before it, after it, and in its gaps.
    ours = np.concatenate([[-1], found.ours, [len(one.ends)]])
    theirs = np.concatenate([[-1], found.theirs, [len(other.ends)]])
    parts = [found]
    for k in np.flatnonzero(np.minimum(np.diff(ours), np.diff(theirs)) > LEAST).tolist():
        rest = align(
            one.part(ours[k] + 1, ours[k + 1]), other.part(theirs[k] + 1, theirs[k + 1]), pieces - 1
        )
        parts.append(Alignment(rest.ours + ours[k] + 1, rest.theirs + theirs[k] + 1))
    all_ours, all_theirs = (np.sort(np.concatenate(side)) for side in zip(*parts, strict=True))
    return Alignment(all_ours, all_theirs)


def _by_shift(one: Meetings, other: Meetings) -> Alignment:
    """The matches of the one shift that is clearly best."""
    n, m = len(one.ends), len(other.ends)
    if min(n, m) < LEAST or n + m > MOST:
        return _NOTHING
    shifts = np.arange(LEAST - n, m - LEAST + 1)
    columns = (one.ends, one.kinds, other.ends, other.kinds)
    limits = (LEAST, _MOST_DRIFT)
    # Of jobs of many ranks, most pairs of files are of two jobs.
    nearest = min(one.self_distance, other.self_distance) / _CLEARLY
    if nearest < _FINEST_NS or (
        min(n, m) <= _ALL_LOOKED_AT and not may_fit(*columns, shifts, nearest, _MOST_DRIFT)
    ):
        return _NOTHING
    scores = spreads(*columns, shifts, (_SEEN, _BLOCK), limits)
    shifts = shifts[np.argsort(scores, kind="stable")[: np.isfinite(scores).sum()]]
    shifts = shifts[: _LOOKED_AT if min(n, m) > _SEEN else 2]
    scores = spreads(*columns, shifts, (n + m, 1), limits)
    order = np.lexsort([shifts, scores])
    # Without a rival nothing tells by how much a wrong alignment would be off.
    rival = min([one.self_distance, other.self_distance, *scores[order[1:2]].tolist()])
    fit = _fit(one, other, shift := int(shifts[order[0]])) if len(order) else None
    if fit is None or np.isinf(rival):
        return _NOTHING
    best = max(fit.spread, _FINEST_NS)
    if rival < _CLEARLY * best:
        return _NOTHING
    kept = fit.matches[_on_the_line(fit.rest, _CLEARLY * best)]
    return Alignment(kept, kept + shift) if len(kept) >= LEAST else _NOTHING


class _Fit(NamedTuple):
    """The agreement of two files at one shift.

    Attributes:
        spread: how far apart neighbours are off the line, in the middle.
        matches: numbers in the first file of those whose kinds agree.
        rest: how far the ends of each are off the line.
    """

    spread: float
    matches: Values
    rest: Floats


def _fit(one: Meetings, other: Meetings, shift: int, least: int = LEAST) -> _Fit | None:
    """The fit of two files at a shift; None where no clocks could give it, or few kinds agree."""
    first, end = max(0, -shift), min(len(one.ends), len(other.ends) - shift)
    here, there = one.part(first, end), other.part(first + shift, end + shift)
    same = np.flatnonzero(here.kinds == there.kinds)
    if len(same) < max(least, (end - first) / 4):
        return None
    x = (here.ends[same] - here.ends[same[0]]).astype(np.float64)
    offsets = there.ends[same] - here.ends[same]
    y = (offsets - offsets[0]).astype(np.float64)
    slope = _slope(x, y)
    if abs(slope) > _MOST_DRIFT:
        return None
    rest = y - slope * x
    # One clock may be set while it runs: changes between neighbours, not distances to the line.
    return _Fit(float(np.median(np.abs(np.diff(rest)))), same + first, rest)


def _slope(x: Floats, y: Floats) -> float:
    """The median slope between neighbours that lie apart: a few steps do not move it."""
    far = max(len(x) // 16, 3)
    return float(np.median((y[far:] - y[:-far]) / np.maximum(x[far:] - x[:-far], 1.0)))


def _on_the_line(rest: Floats, most: float) -> npt.NDArray[np.bool_]:
    """A mask of the matches that agree with those before or after them, and stand among such.

    Where a file lacks a collective, all that follows is wrong at this shift.
    """
    half = LEAST // 2
    off = (np.abs(np.diff(rest)) > most).astype(np.float64)
    ones = np.ones(LEAST)
    share = np.convolve(off, ones) / np.convolve(np.ones(len(off)), ones)
    # Entry k of a full convolution has the 12 differences up to k: of match k those 6 each side.
    around = share[half - 1 : half - 1 + len(rest)]
    padded = np.concatenate([np.full(half, np.nan), rest, np.full(half, np.nan)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, half + 1)
    levels = np.nanmedian(windows, axis=1)
    # At the ends a match would be compared with itself alone.
    levels[np.isfinite(windows).sum(axis=1) <= half // 2] = np.inf
    near = np.minimum(np.abs(rest - levels[: len(rest)]), np.abs(rest - levels[half:]))
    agrees: npt.NDArray[np.bool_] = (around <= _MOST_OFF) & (near <= most)
    return agrees
