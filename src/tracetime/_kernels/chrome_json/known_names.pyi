from typing import Self

from tracetime._kernels.chrome_json.observer import EventObserver
from tracetime._kernels.common.time_steps import StepCounts

class KnownNames(EventObserver):
    """Names of processes and threads of a whole file; the last one counts.

    Args:
        limit: bytes that names may come to; what comes later is not kept, but counted.

    Attributes:
        left_out: names for which there was no room.
        n_timed: events and lines with a time; n_untimed: events that lack one, and are no
            metadata; n_overflowing: those beyond int64 ns.
        n_rounded: events with a time that is no whole number of ns.
        n_off: events that trace_processor places elsewhere than their text says; most_off: by how
            much at most, ns.
        first_ns, last_ns: the earliest and latest time, ns; first above last without any.
        line_syncs: (exact ns, text) of lines of systrace that say what another clock reads.
        n_long_phases: events whose phase has several letters, of which the first counts.
        n_endless: complete events without a duration that can be read.
        n_negative: those with one below 0.
        n_halves: events that begin or end a slice.
        n_wide_owners: events whose pid or tid is no number of 32 bits without sign.
        n_wider: those with a pid, tid or id beyond int64, which is cut to its end.
        time_step_ns, duration_step_ns, line_step_ns: what all times of events, durations of
            complete events, and times of lines are multiples of: 1000, 100, 10 or 1 ns; 0 without
            any.
        times, durations: those of events and of complete events, counted.
        magnitudes: (how many, earliest, latest, index of the first) of the events whose times in ns
            take as many bits, those with the fewest bits first; none of times below 0.
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
    n_wider: int
    time_step_ns: int
    duration_step_ns: int
    line_step_ns: int
    line_syncs: list[tuple[int, bytes]]
    times: StepCounts
    durations: StepCounts
    @property
    def magnitudes(self) -> list[tuple[int, int, int, int]]: ...
    def __new__(cls, limit: int) -> Self: ...
