"""The least bounds between all nodes by Floyd-Warshall over fractions: a twin of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tracetime.graph.epochs.nodes import Nodes
from tracetime.graph.epochs.rows import OPEN, Clock


def wait(clock: Clock, rise: int) -> Fraction:
    """The most time in which a clock goes on by `rise`, which may be negative."""
    drift = Fraction(clock.drift)
    return rise / (1 - drift) if rise > 0 else rise / (1 + drift)


def least_bounds(nodes: Nodes) -> list[list[Fraction | None]]:
    """By two nodes, the most time from the one to the other; None where it is open."""
    n = len(nodes.readings)
    bound: list[list[Fraction | None]] = [[None] * n for _ in range(n)]

    def hold(i: int, j: int, most: Fraction) -> None:
        known = bound[i][j]
        bound[i][j] = most if known is None else min(known, most)

    for i in range(n):
        for j in range(n):
            if nodes.clock[i] == nodes.clock[j]:
                rise = int(nodes.readings[j] - nodes.readings[i])
                hold(i, j, wait(nodes.clocks[nodes.clock[i]], rise))
    for k, (i, j) in enumerate(zip(nodes.one.tolist(), nodes.other.tolist(), strict=True)):
        least, most = int(nodes.rows.least_ns[k]), int(nodes.rows.most_ns[k])
        if most != OPEN:
            hold(i, j, Fraction(most))
        if least != -OPEN:
            hold(j, i, Fraction(-least))
    for m in range(n):
        for i in range(n):
            first = bound[i][m]
            for j in range(n):
                second = bound[m][j]
                if first is not None and second is not None:
                    hold(i, j, first + second)
    return bound


def is_feasible(bound: Sequence[Sequence[Fraction | None]]) -> bool:
    """Whether no node is bounded to before itself."""
    return all(bound[i][i] is None or bound[i][i] >= 0 for i in range(len(bound)))  # type: ignore[operator]


def exact_bar(
    nodes: Nodes, bound: Sequence[Sequence[Fraction | None]], source: int, reading: int, target: int
) -> tuple[Fraction | None, Fraction | None]:
    """What the target read when the source began to read something, exactly, ns."""
    clock, read = nodes.clocks[target], reading - nodes.base[source]
    own = [i for i in range(len(bound)) if nodes.clock[i] == source]
    lows, highs = [], []
    for j in (j for j in range(len(bound)) if nodes.clock[j] == target):
        base = nodes.base[target] + int(nodes.readings[j])
        drift = Fraction(clock.drift)
        for i in own:
            rise = int(nodes.readings[i]) - read
            if bound[j][i] is not None:
                most = bound[j][i] + wait(nodes.clocks[source], -rise)  # type: ignore[operator]
                highs.append(base + most * (1 + drift if most > 0 else 1 - drift))
            if bound[i][j] is not None:
                least = -(bound[i][j] + wait(nodes.clocks[source], rise))  # type: ignore[operator]
                lows.append(base + least * (1 - drift if least > 0 else 1 + drift))
    return max(lows, default=None), min(highs, default=None)
