"""Steps of clocks: clocks that were set, as their offsets from the clocks of other files show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.merging.merged_traces import MergedTraces

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

_JUMPS: Final = ("step", "reset", "suspend", "possible_step")


class ClockStep(NamedTuple):
    """The clock of a file jumped against those of others.

    Two files alone cannot tell which of both jumped: it is said of the later one.

    Attributes:
        file: the number of its file, from 0.
        against: the files that show it.
        least_ns: how far it jumped, at least; null: unknown.
        most_ns: how far it jumped, at most; null: unknown.
        at_file: the number of the file whose trace clock tells when.
        from_ns: it happened after this reading of that clock.
        to_ns: it happened before this reading of that clock.
    """

    file: Count
    against: tuple[Count, ...]
    least_ns: int | None
    most_ns: int | None
    at_file: Count
    from_ns: int
    to_ns: int


class _Side(NamedTuple):
    """A jump between two files, as one of the files sees it."""

    row: int
    file: int
    against: int
    size_ns: tuple[int, int] | None
    at_file: int
    found: PairDiscontinuity


def clock_steps(traces: MergedTraces, found: Iterable[PairDiscontinuity]) -> list[ClockStep]:
    """The steps that explain the discontinuities between the trace clocks of files.

    The file that the most others show to have jumped by one size is it; what that explains is set
    aside, and so on.
    """
    homes = {traces.home(file.number): file.number for file in reversed(traces.files)}
    jumps = [one for one in found if one.kind in _JUMPS and {one.src, one.dst} <= homes.keys()]
    left = [side for row, jump in enumerate(jumps) for side in _sides(row, jump, homes)]
    steps = []
    while left:
        together = max(
            (_agreeing(left, side) for side in left), key=lambda rows: (len(rows), rows[0].file)
        )
        taken = {side.row for side in together}
        left = [side for side in left if side.row not in taken]
        steps.append(_step(together))
    return sorted(steps, key=lambda step: (step.file, step.at_file, step.from_ns))


def _sides(row: int, jump: PairDiscontinuity, homes: dict[ClockId, int]) -> tuple[_Side, _Side]:
    src, dst, size = homes[jump.src], homes[jump.dst], jump.size_ns
    back = None if size is None else (-size[1], -size[0])
    return _Side(row, dst, src, size, src, jump), _Side(row, src, dst, back, src, jump)


def _agreeing(sides: list[_Side], one: _Side) -> list[_Side]:
    """The jumps of a file that may be one step: at most one against each other file."""
    if one.size_ns is None:
        return [one]
    found = {one.against: one}
    for side in sides:
        size = side.size_ns
        if side.file == one.file and size is not None and size[0] <= one.size_ns[0] <= size[1]:
            found.setdefault(side.against, side)
    return list(found.values())


def _step(sides: list[_Side]) -> ClockStep:
    """The step of jumps that agree, timed by the file's own clock if that is in one of them."""
    best = min(
        sides, key=lambda side: (side.at_file != side.file, side.found.a_to - side.found.a_from)
    )
    sizes = [side.size_ns for side in sides if side.size_ns is not None]
    return ClockStep(
        best.file,
        tuple(sorted(side.against for side in sides)),
        max((low for low, _ in sizes), default=None),
        min((high for _, high in sizes), default=None),
        best.at_file,
        best.found.a_from,
        best.found.a_to,
    )
