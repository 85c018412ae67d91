"""Alternatives to the tube over messages: lines between the hulls of both directions.

A message from A to B is a point above the offset B - A, one back is a point below it. Lines that
pass between all of them are what trace viewers fit; here with the window that each needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Points(NamedTuple):
    """Readings of A (ns from the first), bounds of the offset, and which are from above."""

    a: Floats
    bound: Floats
    above: npt.NDArray[np.bool_]

    def between(self, first: float, last: float) -> Points:
        i, j = np.searchsorted(self.a, [first, last])
        return Points(self.a[i:j], self.bound[i:j], self.above[i:j])


class Hulls(NamedTuple):
    """The vertices of the least convex chain above, and of the greatest concave one below."""

    above: tuple[Floats, Floats]
    below: tuple[Floats, Floats]


def hulls(points: Points) -> Hulls:
    """The hulls of both directions; O(n) for points in order."""
    a, bound, above = points
    over = _chain(a[above], bound[above])
    x, y = _chain(a[~above], -bound[~above])
    return Hulls(over, (x, -y))


def _chain(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    kept: list[tuple[float, float]] = []
    for px, py in zip(x.tolist(), y.tolist(), strict=True):
        while len(kept) > 1:
            (ax, ay), (bx, by) = kept[-2:]
            if (bx - ax) * (py - ay) > (by - ay) * (px - ax):
                break
            kept.pop()
        kept.append((px, py))
    columns = np.array(kept).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def slopes(hull: Hulls) -> tuple[float, float]:
    """The least and the greatest slope of a line between the hulls; crossed where none is."""
    (ax, ay), (bx, by) = hull
    apart = ax[:, None] - bx[None]
    rise = ay[:, None] - by[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        steep = rise / apart
    return (
        float(np.where(apart < 0, steep, -np.inf).max(initial=-np.inf)),
        float(np.where(apart > 0, steep, np.inf).min(initial=np.inf)),
    )


def room(hull: Hulls, slope: float) -> tuple[float, float]:
    """The middle, at 0, of all lines of a slope between the hulls, and how far they are apart."""
    (ax, ay), (bx, by) = hull
    high, low = float((ay - slope * ax).min()), float((by - slope * bx).max())
    return (high + low) / 2, high - low


def bisector(points: Points) -> tuple[float, float] | None:
    """(slope, offset at 0) half-way between the steepest and the flattest line; None without."""
    if points.above.all() or not points.above.any():
        return None
    hull = hulls(points)
    least, most = slopes(hull)
    if not np.isfinite(least) or not np.isfinite(most) or least > most:
        return None
    lines = [(slope, room(hull, slope)[0]) for slope in (least, most)]
    return (least + most) / 2, (lines[0][1] + lines[1][1]) / 2


def widest(points: Points) -> tuple[float, float] | None:
    """(slope, offset at 0) of the line with the most room above and below; None without."""
    if points.above.all() or not points.above.any():
        return None
    hull = hulls(points)
    low, high = -1e-3, 1e-3
    # The room is concave in the slope.
    for _ in range(80):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        if room(hull, one)[1] < room(hull, other)[1]:
            low = one
        else:
            high = other
    return low, room(hull, low)[0]


def bisected(points: Points, window_ns: float, q: Floats) -> Floats:
    """At readings q the offset by the bisector of each window; NaN where there is none."""
    out = np.full(len(q), np.nan)
    for first, inside in _windows(q, window_ns):
        line = bisector(points.between(first, first + window_ns))
        if line is not None:
            out[inside] = line[1] + line[0] * q[inside]
    return out


def strips(points: Points, window_ns: float, q: Floats) -> Floats:
    """At readings q the offset by the widest strip of each window, linear between the centres."""
    x, y = [], []
    for first, _ in _windows(q, window_ns):
        line = widest(points.between(first, first + window_ns))
        if line is not None:
            x.append(first + window_ns / 2)
            y.append(line[1] + line[0] * x[-1])
    return np.interp(q, x, y)


def _windows(q: Floats, window_ns: float) -> list[tuple[float, npt.NDArray[np.intp]]]:
    """Where each window begins, and the q in it."""
    number = np.floor(q / window_ns).astype(np.int64)
    last = int(number.max())
    return [(k * window_ns, np.flatnonzero(number == k)) for k in range(last + 1)]
