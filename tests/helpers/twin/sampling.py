"""A plain twin of the sampling kernel: sweeps, best brackets, half-widths; and the group."""

from __future__ import annotations

import math


def snapshot(taken, m, tries, drift, extra):
    """(readings, centres, half-widths) of m clocks out of `tries` sweeps A, B1, A, B2, A, ..."""
    size = 2 * m - 1
    sweeps = [taken[k * size : (k + 1) * size] for k in range(tries)]
    forward = [sweep for sweep in sweeps if sweep[-1] >= sweep[0]]
    reference = min(forward or sweeps[:1], key=lambda sweep: sweep[-1] - sweep[0])[0]
    readings, centres, halves = [reference], [0], [0]
    for i in range(1, m):
        found = []
        for sweep in sweeps:
            a0, b, a1 = sweep[2 * i - 2 : 2 * i + 1]
            width, centre = a1 - a0, a0 + (a1 - a0) // 2 - reference
            if width >= 0:
                half = -(-width // 2) + math.ceil(width * (drift[i] / 2))
                unsure = half + math.ceil(abs(centre) * drift[i])
                found.append((unsure, abs(centre), b, centre, half + extra[i]))
        best = min(found, key=lambda one: one[:2]) if found else (0, 0, 0, 0, -1)
        for column, value in zip((readings, centres, halves), best[2:], strict=True):
            column.append(value)
    return readings, centres, halves


def group(taken, m, tries):
    """(readings, deviation) of m clocks read together, A, B1, B2, ..., A; -1: A went back."""
    turns = [taken[k * (m + 1) : (k + 1) * (m + 1)] for k in range(tries)]
    turns = [turn for turn in turns if turn[-1] >= turn[0]]
    if not turns:
        return None, -1
    best = min(turns, key=lambda turn: turn[-1] - turn[0])
    return best[:-1], best[-1] - best[0]
