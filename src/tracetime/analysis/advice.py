"""Advice on events that have no trace time: one piece for each status.

`tracetime convert`, the doctor's findings and the documentation all take it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Advice(NamedTuple):
    """The meaning of a status, and the advice on it."""

    why: str
    fix: str


ADVICE: Final[Mapping[str, Advice]] = {
    "unknown_source_clock": Advice(
        "No snapshot in the trace holds the clock these events were read in.",
        "Record ClockSnapshots that hold this clock and the trace clock; for clocks 64 to 127, on "
        "the packet sequence of the events.",
    ),
    "unknown_target_clock": Advice(
        "No snapshot in the trace holds the trace clock.",
        "Record ClockSnapshots that hold the trace clock and the clocks of the events, or set "
        "primary_trace_clock to a clock that they hold.",
    ),
    "no_path": Advice(
        "Snapshots hold this clock, but do not lead from it to the trace clock within 4 hops.",
        "Record a ClockSnapshot that holds both this clock and the trace clock "
        "(primary_trace_clock, else BOOTTIME); `tracetime clocks` shows which clocks snapshots "
        "connect.",
    ),
    "non_monotonic_source": Advice(
        "This clock ran backwards between two snapshots (it was set, its counter wrapped, or the "
        "trace joins several recordings), so one reading can mean two instants, and Perfetto stops "
        "converting from it.",
        "Time the events with a clock that only goes forward, and keep each recording in a trace "
        "of its own.",
    ),
    "ambiguous_source": Advice(
        "The clock was set back, so it read these values more than once.",
        "Time the events with a clock that only goes forward, such as BOOTTIME or MONOTONIC.",
    ),
    "overflow": Advice(
        "The result does not fit in int64 nanoseconds.",
        "Check the raw timestamps, the clock's unit_multiplier_ns and its readings in the "
        "snapshots: one of them is wrong.",
    ),
    "skipped_incremental_state": Advice(
        "These packets need state that was lost (packets were dropped, or the trace begins in "
        "mid-stream), and Perfetto skips them as well.",
        "Use a larger buffer, flush more often, or clear incremental state more often.",
    ),
    "one_sided": Advice(
        "What happened before what ties these clocks from one side only: the other end of the bar "
        "is open, and the time is the end that is known.",
        "One message back, or the longest that a message can take (`max_delay_ns`), closes the "
        "bar.",
    ),
}
"""For events that stayed unresolved, by status."""

READ_LATER: Final = Advice(
    "No snapshot before these events holds the clock they were read in: Perfetto reads the file in "
    "order, and does not place them by the snapshots that come later.",
    "Write a snapshot of this clock and the trace clock before the first of its events, or convert "
    "with `--policy tube`, which uses all snapshots of the file. Slices that these events begin or "
    "end are missing by either policy: only what `bake --policy tube` writes has them.",
)
"""For those with the status unknown_source_clock whose clock a later snapshot holds."""
