"""The drift of one clock against another over a file, without the times when either was set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import ConversionError
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.steps import ClockStep
from tracetime.merging.suspends import Suspend

Values = npt.NDArray[np.int64]


class Jumps:
    """The times when clocks of files were set or their machines slept: drift leaves these out."""

    def __init__(
        self, traces: MergedTraces, steps: Iterable[ClockStep], suspends: Iterable[Suspend]
    ) -> None:
        self._traces = traces
        self._steps, self._suspends = tuple(steps), tuple(suspends)

    def drift_ppm(
        self, times: Values, there: Values, clock: ClockId, files: tuple[int, int]
    ) -> float | None:
        """Return the drift of a clock against that of a file; None where nothing says.

        Args:
            times: of the file's clock, ascending.
            there: what the other clock read then.
            clock: the other one.
            files: the numbers of the files that the two are of.
        """
        lasts, grows = np.diff(times), np.diff(there - times)
        kept = lasts > 0
        zones = sorted(self._zones(clock, files))
        if zones:
            low, high = np.array(zones).T
            begins, ends = np.sort([there[:-1], there[1:]], axis=0)
            last = np.searchsorted(low, ends, "right") - 1
            kept &= (last < 0) | (np.maximum.accumulate(high)[last] < begins)
        if not kept.any():
            return None if zones else 0.0
        return float(grows[kept].sum()) / int(lasts[kept].sum()) * 1e6

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
