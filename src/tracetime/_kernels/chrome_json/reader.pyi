from typing import Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import StepCounts
from tracetime._kernels.perfetto.importer import Rows
from tracetime._kernels.perfetto.names import Batch

class EventObserver:
    """Receives each event and each line of systrace while a file is scanned."""

class Scanner:
    """Scans a file that is given in chunks.

    Args:
        observer: receives the events and lines.
        lines: the file is systrace's text, not JSON.

    Attributes:
        is_array: the file is an array of events, not an object with one.
        fault: what is wrong at the byte `fault_offset`: an index of FAULTS of
            formats/chrome_json/reader.py; 0 as long as nothing is.
        n_events: objects in traceEvents so far.
        n_lines: lines of systrace so far; n_strange_lines: others that are not empty nor comments,
            from the byte `strange_offset` on.
        n_lost: events that lines say were lost, the first before the line `first_lost_before`.
        n_kernel_events: those of an object systemTraceEvents, which are not read.
        values: (key, raw text, offset of the text) of each key beside the events, but of long ones.
    """

    is_array: bool
    fault: int
    fault_offset: int
    n_events: int
    n_lines: int
    n_strange_lines: int
    strange_offset: int
    n_lost: int
    first_lost_before: int
    n_kernel_events: int
    values: list[tuple[bytes, bytes, int]]
    def __new__(cls, observer: EventObserver, lines: bool = False) -> Self: ...
    def feed(self, chunk: bytes | npt.NDArray[np.uint8]) -> None:
        """Take the next bytes of the file, once `scan` has returned False."""

    def scan(self) -> bool:
        """Scan what there is; returns whether the observer is full, and this is to be repeated."""

    def finish(self) -> bool:
        """Scan the rest, after the last chunk; returns as `scan` does, and may set `fault`."""

class KnownNames(EventObserver):
    """Names of processes and threads of a whole file; the last one counts.

    Args:
        limit: bytes that names may come to; what comes later is not kept, but counted.

    Attributes:
        left_out: names for which there was no room.
        n_timed: events and lines with a time; n_untimed: events that lack one, and are no
            metadata; n_overflowing: those beyond int64 ns; overflowing: index and text of the time
            of the first of them that are events.
        n_rounded: events with a time that is no whole number of ns.
        n_off: events that trace_processor places elsewhere than their text says; most_off: by how
            much at most, ns.
        first_ns, last_ns: the earliest and latest time, ns; first above last without any.
        line_syncs: (exact ns, text) of lines of systrace that say what another clock reads.
        n_long_phases: events whose phase has several letters, of which the first counts.
        n_endless: complete events without a duration that can be read.
        n_negative: those with one below 0.
        n_halves: events that begin or end a slice.
        n_wide_owners: events whose pid or tid is no number of 32 bits without sign; n_wide_alone:
            those of them of which that is true of the pid alone, and it is the first such pid.
        n_wider: those with a pid, tid or id beyond int64, which is cut to its end.
        time_step_ns, duration_step_ns, line_step_ns: what all times of events, durations of
            complete events, and times of lines are multiples of: 1000, 100, 10 or 1 ns; 0 without
            any.
        times, durations: those of events and of complete events, counted.
        magnitudes: (how many, earliest, latest, index of the first) of the events whose times in ns
            take as many bits, those with the fewest bits first; none of times below 0.
        launches: of PyTorch's profiler, the work of GPUs, calls of the runtime that did not fail,
            what the driver says of waiting ones, and the first operators, a row each: which of
            these it is, what it does (launches.pxi), index, begin, end, pid, tid, and of the
            arguments correlation, device, stream, the stream that it waits for, the call that
            recorded the event it waits for, and External id, -1 where there is none;
            int64[n, 13]. launches_left_out: those there was no room for.
        flows: the first events of flows, but for those from calls to GPUs: a hash of the flow, 0
            where it begins, 1 where it passes, 2 where it ends, ns, and index; int64[n, 4].
    """

    left_out: int
    n_timed: int
    n_rounded: int
    n_off: int
    most_off: int
    n_overflowing: int
    n_untimed: int
    first_ns: int
    last_ns: int
    n_long_phases: int
    n_endless: int
    n_negative: int
    n_halves: int
    n_wide_owners: int
    n_wide_alone: int
    n_wider: int
    time_step_ns: int
    duration_step_ns: int
    line_step_ns: int
    line_syncs: list[tuple[int, bytes]]
    overflowing: list[tuple[int, bytes]]
    times: StepCounts
    durations: StepCounts
    launches_left_out: int
    @property
    def launches(self) -> npt.NDArray[np.int64]: ...
    @property
    def flows(self) -> npt.NDArray[np.int64]: ...
    @property
    def magnitudes(self) -> list[tuple[int, int, int, int]]: ...
    def __new__(cls, limit: int) -> Self: ...

class Details:
    """Names rows: one for each event and line, in a batch.

    known: of the same file, read before.
    """

    batch: Batch
    def __new__(cls, known: KnownNames) -> Self: ...

class EventRows(EventObserver):
    """Makes rows of events and lines.

    Args:
        clock, line_clock: the numbers of the clocks that events and lines have.
        devices: (pid, number of the clock) of those whose events a GPU's clock has stamped.
        snapshots: how many there are.
        batch_rows: of which number on a batch is full.
        details: names them; None: nobody does.

    Attributes:
        rows: those not taken.
    """

    rows: Rows
    def __new__(
        cls,
        clock: int,
        line_clock: int,
        devices: list[tuple[int, int]],
        snapshots: int,
        batch_rows: int,
        details: Details | None,
    ) -> Self: ...
