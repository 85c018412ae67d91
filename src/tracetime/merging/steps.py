"""Steps of clocks between files, suspends of their machines, and the drift that these leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import ConversionError
from tracetime.graph.tube.results import Bounds, PairDiscontinuity
from tracetime.graph.values import Values
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


class Drift(NamedTuple):
    """How much faster one clock runs than another.

    ppm: None where nothing says. half_ppm: half its bar; None: open, or unknown.
    """

    ppm: float | None
    half_ppm: float | None


class _FileJump(NamedTuple):
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


def _sides(
    row: int, jump: PairDiscontinuity, homes: dict[ClockId, int]
) -> tuple[_FileJump, _FileJump]:
    src, dst, size = homes[jump.src], homes[jump.dst], jump.size_ns
    back = None if size is None else (-size[1], -size[0])
    return _FileJump(row, dst, src, size, src, jump), _FileJump(row, src, dst, back, src, jump)


def _agreeing(sides: list[_FileJump], one: _FileJump) -> list[_FileJump]:
    """The jumps of a file that may be one step: at most one against each other file."""
    if one.size_ns is None:
        return [one]
    found = {one.against: one}
    for side in sides:
        size = side.size_ns
        if side.file == one.file and size is not None and size[0] <= one.size_ns[0] <= size[1]:
            found.setdefault(side.against, side)
    return list(found.values())


def _step(sides: list[_FileJump]) -> ClockStep:
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


# Suspends of the machines that were recorded: bars to other machines are not carried over one.


class Suspend(NamedTuple):
    """A suspend of the machine of a file, as its own BOOTTIME and MONOTONIC show.

    Attributes:
        file: the number of the first file of that machine, from 0.
        from_ns: it was after this reading of the file's trace clock.
        to_ns: it was before this reading of that clock.
    """

    file: Count
    from_ns: int
    to_ns: int


def suspends(traces: MergedTraces) -> Iterator[Suspend]:
    """The suspends of each machine that a file was recorded on, where there are other machines."""
    clocks = {info.clock for info in traces.graph.clocks()}
    if len({clock.machine for clock in clocks}) < 2:
        return
    seen = set()
    graph = traces.graph
    for file in traces.files:
        home = traces.home(file.number)
        if home in clocks and home.machine not in seen:
            seen.add(home.machine)
            with graph.lock:
                zones = graph.tubes.pairs.suspends(home)
            yield from (Suspend(file.number, *zone) for zone in zones)


# The drift of one clock against another over a file, without the times when either was set.


class ClockJumps:
    """The times when clocks of files were set or their machines slept: drift leaves these out."""

    def __init__(
        self, traces: MergedTraces, steps: Iterable[ClockStep], suspends: Iterable[Suspend]
    ) -> None:
        self._traces = traces
        self._steps, self._suspends = tuple(steps), tuple(suspends)

    def drift(
        self, times: Values, bounds: Bounds[Values, Values], clock: ClockId, files: tuple[int, int]
    ) -> Drift:
        """Return the drift of a clock against that of a file, where neither jumped.

        Args:
            times: of the file's clock, ascending.
            bounds: what the other clock read then.
            clock: the other one.
            files: the numbers of the files that the two are of.
        """
        there = bounds.estimate
        lasts, grows = np.diff(times), np.diff(there - times)
        kept = lasts > 0
        zones = sorted(self._zones(clock, files))
        if zones:
            low, high = np.array(zones).T
            begins, ends = np.sort([there[:-1], there[1:]], axis=0)
            last = np.searchsorted(low, ends, "right") - 1
            kept &= (last < 0) | (np.maximum.accumulate(high)[last] < begins)
        if not kept.any():
            return Drift(None, None) if zones else Drift(0.0, None)
        lasting_ns = int(lasts[kept].sum())
        return Drift(
            float(grows[kept].sum()) / lasting_ns * 1e6, _half_ppm(bounds, kept, lasting_ns)
        )

    def _zones(self, clock: ClockId, files: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """The readings of a clock between which a clock of one of two files jumped, a pair each."""
        machines = {self._traces.home(number).machine for number in files}
        found = [(one.at_file, one.from_ns, one.to_ns) for one in self._steps if one.file in files]
        found += (
            (one.file, one.from_ns, one.to_ns)
            for one in self._suspends
            if self._traces.home(one.file).machine in machines
        )
        for number, *ends in found:
            try:
                bounds = self._traces.clocks.convert(
                    ends,
                    self._traces.home(number),
                    clock,
                    policy="tube",
                    bounds=True,
                    errors="mask",
                )
            except ConversionError:
                continue
            first, last = bounds.earliest[0].as_py(), bounds.latest[1].as_py()
            if first is not None and last is not None:
                yield first, last


def _half_ppm(
    bounds: Bounds[Values, Values], kept: npt.NDArray[np.bool_], lasting_ns: int
) -> float | None:
    """Half the bar of a rate, from the bars at the ends of each stretch; None: one is open."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], kept.astype(np.int8), [0]])))
    begin, end = edges[::2], edges[1::2]
    if (bounds.earliest[edges] == INT64_MIN).any() or (bounds.latest[edges] == INT64_MAX).any():
        return None
    below, above = bounds.estimate - bounds.earliest, bounds.latest - bounds.estimate
    faster = int((above[end] + below[begin]).sum())
    slower = int((below[end] + above[begin]).sum())
    return max(faster, slower) / lasting_ns * 1e6
