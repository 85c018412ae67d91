"""Findings about events that have no trace time, or a wrong one; checks: `lost_events.py`,
`placement.py`, `far_events.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import Row

_WHERE_OFF: Final = (
    "error where, at the rate that the clock had, events are misplaced by more than the tolerance"
)
_OFF: Final = {
    "by_rate": "at the rate it had it is off by {least} at least, and by up to ",
    "by_limits": "here it can be off by ",
}

FAR_CAUSES: Final[Mapping[str, tuple[str, str, str]]] = {
    "absolute": (
        "they are absolute values, taken for deltas",
        "The clock is incremental by its snapshots (is_incremental), so each timestamp is added to "
        "the one before; as they stand they are what the clock read.",
        "Leave is_incremental out of the clock's snapshots, or write deltas.",
    ),
    "clock": (
        "they were read in {others}",
        "They are written {stated}, and lie within what {others} reads in the trace.",
        "Set timestamp_clock_id of these packets (or the sequence's default) to {others}.",
    ),
    "deltas": (
        "they are deltas, taken for absolute values",
        "They are small, and added up they fit into the trace. The clock's snapshots do not say"
        " that it is incremental (is_incremental), so each is taken as it stands.",
        "Set is_incremental in every snapshot of the clock (64 to 127 only), or write absolute "
        "timestamps.",
    ),
    "factor": (
        "they are {factor:,} times too {size}",
        "{turned} by {factor:,} they lie where the clock's snapshots do: they were written in "
        "another unit than these.",
        "Write events and snapshots in one unit, or as unit_multiplier_ns says.",
    ),
    "none": (
        "",
        "No snapshot of the clock is near them, no event is in between, and no factor brings them "
        "there: their timestamps are wrong, or the recorder took no snapshots for so long.",
        'Look at the raw timestamps (`tracetime sql TRACE "select * from events"`) and at who '
        "wrote them; where the events are that far away, take a snapshot beside them.",
    ),
    "unit": (
        "they count {written}, its snapshots {unit}",
        "{turned} by {factor:,} they lie where the clock's snapshots do: they were written in "
        "another unit than these.",
        "Write events and snapshots in one unit, {unit} or as unit_multiplier_ns says.",
    ),
}
"""Why events are far from the trace: what follows the title's colon, why, and what to do."""

ROWS: Final = (
    Row(
        "clock-not-tied",
        "error",
        "Snapshots hold the clock, but lead nowhere.",
        title="{clocks}: snapshots have it, but none lead to {trace_clock}",
        why=(
            "A conversion goes from snapshot to snapshot, over clocks that they share, in at most "
            "4 hops. No such path leads from clock {number} to the trace clock."
        ),
        fix=(
            "Take a ClockSnapshot that holds both it and {trace_clock}, or a clock that each is "
            "tied to. `tracetime clocks` shows what is tied to what."
        ),
    ),
    Row(
        "clock-without-snapshot",
        "error",
        "Events are timed by a clock that no snapshot holds.",
        title="{clocks}: used by {events}, and in no snapshot",
        why=(
            "Only a snapshot says what a clock read when another one read something. Without one "
            "nothing is known of it, and Perfetto drops these events (clock_sync_failure)."
        ),
        fix="Let a ClockSnapshot hold {clocks} together with {trace_clock}{on_sequence}.",
        parts={"on_sequence": ", on the packet sequence of the events"},
    ),
    Row(
        "events-far-from-trace",
        "warning",
        "Events lie far from every snapshot of their clock and from the rest of the trace.",
        otherwise="error where numbers say why, or where snapshots had ended long before",
        title="{which}: {events} {worst} {side} everything else{because}",
        why="{cause_why}",
        fix="{cause_fix}",
        parts={"because": ": {cause}"},
    ),
    Row(
        "lost-incremental-state",
        "error",
        "Packets were skipped: they need state that was lost.",
        title="{events} skipped: {need} state that was lost",
        why=(
            "These packets build on earlier ones of their sequence (interned names, defaults, the "
            "last timestamp), and those were dropped, or never written since "
            "SEQ_INCREMENTAL_STATE_CLEARED."
        ),
        fix=(
            "Use a larger buffer, flush more often, or clear incremental state more often. After a "
            "gap a producer has to set the cleared flag and write its names and defaults again."
        ),
    ),
    Row(
        "negative-trace-time",
        "error",
        "Events come out before the zero of the trace clock.",
        title="{events} before the zero of {trace_clock}, by up to {worst}",
        why=(
            "Trace time is not negative: Perfetto drops these events. They come of a clock that "
            "was read before the trace clock began, or of an offset that is wrong."
        ),
        fix=(
            "Use a trace clock that had begun by then ({begun}), and check the first snapshot of "
            "the clock."
        ),
    ),
    Row(
        "sequence-clock-of-another-sequence",
        "error",
        "A clock from 64 to 127 is used on one sequence and has its snapshots on another.",
        title="{clocks}: snapshots have clock {number} on other sequences only ({others})",
        why=(
            "Clocks 64 to 127 are private to a packet sequence: the same number on two sequences "
            "is two clocks, and a snapshot on one says nothing of the other."
        ),
        fix=(
            "Emit the clock's snapshot on each sequence that uses it, before its first event, or "
            "use a clock of 128 or above for all."
        ),
    ),
    Row(
        "snapshots-late",
        "error",
        "Snapshots stand in the file behind events from after them, and those events are "
        "misplaced.",
        title=(
            "snapshots stand up to {late} behind events from after them: {clocks_late} off by up "
            "to {worst}"
        ),
        why=(
            "Perfetto reads the file in order, and converts an event by the snapshots it has read: "
            "a nearer one that comes later in the file comes too late."
        ),
        fix=(
            "Write a snapshot before the events that follow it, as a ring buffer or a merge of "
            "files may not; or convert with `--policy tube`, which takes all of them."
        ),
    ),
    Row(
        "timestamp-overflow",
        "error",
        "Timestamps do not fit in int64 nanoseconds on the trace clock.",
        title="{events} at times that do not fit in int64 ns",
        why=(
            "Brought to the trace clock, these timestamps leave the range of 292 years that int64 "
            "nanoseconds have: they are corrupt, or the unit of their clock is wrong."
        ),
        fix=(
            "Look at the raw timestamps (`tracetime convert`, status overflow) and at the clock's "
            "unit_multiplier_ns."
        ),
    ),
    Row(
        "trace-clock-without-snapshot",
        "error",
        "No snapshot holds the trace clock.",
        title="{clock} is the trace clock, and no snapshot has it",
        why=(
            "Every event is brought to the trace clock. Snapshots tie other clocks together, but "
            "none of them to that one."
        ),
        fix=(
            "Let the snapshots hold the trace clock, or name one they hold as their "
            "primary_trace_clock."
        ),
    ),
    Row(
        "used-after-last-snapshot",
        "warning",
        "Events long after the last snapshot of their clock.",
        otherwise=_WHERE_OFF,
        title="{clock}: {events} up to {away} after its last snapshot",
        why=(
            "After the last snapshot the offset of that one is used, however far the clock has "
            "drifted: {by_rate}{by_limits}{worst}."
        ),
        fix="Take a snapshot at the end of the recording, and in between.",
        parts=_OFF,
    ),
    Row(
        "used-before-first-snapshot",
        "warning",
        "Events long before the first snapshot of their clock.",
        otherwise=_WHERE_OFF,
        title="{clock}: {events} up to {away} before its first snapshot",
        why=(
            "Before the first snapshot the offset of that one is used, however far the clock has "
            "drifted: {by_rate}{by_limits}{worst}."
        ),
        fix="Take a snapshot before the first event.",
        parts=_OFF,
    ),
)
