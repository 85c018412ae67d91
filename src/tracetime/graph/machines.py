"""Which machines' clocks readings or messages tie together; Perfetto's rule alone ties none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracetime.clocks import ClockId

if TYPE_CHECKING:
    from tracetime.graph.graph import ClockGraph


def untied(graph: ClockGraph, target: ClockId, machines: set[int]) -> set[int]:
    """Those of some machines whose clocks nothing that was read ties to those of a target."""
    away = machines - {target.machine}
    if not away:
        return away
    linked: dict[int, set[int]] = defaultdict(set)
    for one, other in _links(graph):
        linked[one].add(other)
        linked[other].add(one)
    tied, ends = {target.machine}, [target.machine]
    while ends:
        further = linked[ends.pop()] - tied
        tied |= further
        ends += further
    return away - tied


def _links(graph: ClockGraph) -> Iterator[tuple[int, int]]:
    """Two machines each, of which clocks were read together, or are bound by messages."""
    for one, other in graph._between.pairs():
        yield one.machine, other.machine
    for clocks, _ in graph.series():
        firsts: dict[int, ClockId] = {}
        for clock in clocks:
            firsts.setdefault(clock.machine, clock)
        for other in list(firsts.values())[1:]:
            if len(graph._tubes().shared(clocks[0], other)[0]):
                yield clocks[0].machine, other.machine
