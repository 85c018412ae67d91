"""Findings about events that have no trace time, or a wrong one.

The checks are in `lost_events.py`, `placement.py`, `far_events.py` and `other_clock.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import Row
from tracetime.doctor.finding import Severity
from tracetime.errors import ADVICE, READ_LATER

_BY_RATE: Final[Mapping[Severity, str]] = {
    "warning": "",
    "error": "where the clock's measured rate misplaces events by more than the tolerance",
}
_OFF: Final = {
    "by_rate": "at the rate it had, these events are off by {least} to {worst}.",
    "by_limits": "these events can be off by {worst}.",
}

FAR_CAUSES: Final[Mapping[str, tuple[str, str, str]]] = {
    "absolute": (
        "they are absolute values, taken for deltas",
        "The snapshots say that the clock is incremental (is_incremental), so each timestamp is "
        "added to the one before. As absolute values, the timestamps match the clock's readings.",
        "Remove is_incremental from the clock's snapshots, or write deltas.",
    ),
    "clock": (
        "they were read in {others}",
        "The events are written {stated}, but their timestamps match the readings of {others}.",
        "Set timestamp_clock_id of these packets (or of their sequence's defaults) to {others}.",
    ),
    "deltas": (
        "they are deltas, taken for absolute values",
        "The timestamps are small, and their sum is within the trace. The clock's snapshots do not "
        "say that it is incremental (is_incremental), so each timestamp counts as an absolute "
        "value.",
        "Set is_incremental in every snapshot of the clock (64 to 127 only), or write absolute "
        "timestamps.",
    ),
    "factor": (
        "they are {factor:,} times too {size}",
        "{turned} by {factor:,}, the timestamps match the clock's snapshots: events and snapshots "
        "are written in different units.",
        "Write events and snapshots in one unit, the one that unit_multiplier_ns gives.",
    ),
    "none": (
        "",
        "No snapshot of the clock is near these events, no other event is between them and the "
        "trace, and no factor explains the distance. Either the timestamps are wrong, or the "
        "recorder took no snapshots for that long.",
        'Check the raw timestamps (`tracetime sql TRACE "select * from events"`) and the program '
        "that wrote them. If the events really are that far away, take a snapshot near them.",
    ),
    "ticks": (
        "they count {factor} times as slowly as its snapshots",
        "Everywhere in the file the timestamps are 1/{factor} of what snapshots say of the clock "
        "there: they are ticks of {mhz} MHz, if the snapshots are in ns.",
        "Multiply these timestamps in the program that writes them; or let its snapshots hold "
        "ticks, too, and give the rate (--clock-rate).",
    ),
    "unit": (
        "they are in {written}, its snapshots in {unit}",
        "{turned} by {factor:,}, the timestamps match the clock's snapshots: events and snapshots "
        "are written in different units.",
        "Write events and snapshots in one unit: {unit}, or the one that unit_multiplier_ns gives.",
    ),
}
"""Why events are far from the trace: what follows the title's colon, why, and what to do."""

_IN_ORDER: Final = "A recorder writes a snapshot after the events that it had before. "
_BY_ORDERS: Final = " Messages tie it (orders): `--policy tube` places its events, with error bars."

ROWS: Final = (
    Row(
        "clock-not-tied",
        {"error": ""},
        "Snapshots hold the clock, but no path leads from it to the trace clock.",
        title="{clocks}: no snapshots lead from it to {trace_clock}",
        why=(
            f"{ADVICE['no_path'].why} A conversion goes from snapshot to snapshot, through clocks "
            "that they share.{by_orders}"
        ),
        fix=ADVICE["no_path"].fix,
        parts={"by_orders": _BY_ORDERS},
    ),
    Row(
        "clock-without-snapshot",
        {"error": ""},
        "Events are timed by a clock that no snapshot holds, or none that comes before them.",
        title="{clocks}: used by {events}, but in no snapshot{before}",
        why="{never}{later}{by_orders}",
        fix=f"{ADVICE['unknown_source_clock'].fix}{{write_before}}",
        parts={
            "by_orders": _BY_ORDERS,
            "before": " before them",
            "never": (
                f"{ADVICE['unknown_source_clock'].why} Nothing relates it to the trace clock, "
                "{trace_clock}, so Perfetto drops these events (clock_sync_failure)."
            ),
            "later": f"{READ_LATER.why} It drops them (clock_sync_failure).",
            "write_before": f" {READ_LATER.fix}",
        },
    ),
    Row(
        "events-far-from-trace",
        {
            "warning": "",
            "error": "where the timestamps show the cause, or the last snapshot is long before",
        },
        "Events are far from every snapshot of their clock and from the rest of the trace.",
        title="{which}: {events} {worst} {side} the rest of the trace{because}",
        why="{cause_why}",
        fix="{cause_fix}",
        parts={"because": ": {cause}"},
    ),
    Row(
        "events-of-another-clock",
        {
            "warning": "where the file's order proves it",
            "info": "where the events may have been written late, or work may have waited so long",
        },
        "The events of a sequence are as much ahead of where they stand in the file, or behind it, "
        "everywhere: they were read in another clock than they say.",
        title="{events} of {which} are {size} {side} {place}{matches}{known_as}",
        why="{ahead}{late}{as_read}{not_as_read}{lagging}",
        fix="{set_clock}{find_clock}",
        parts={
            "matches": ": they match {others}",
            "known_as": " ({known})",
            "ahead": (
                f"{_IN_ORDER}These stand before snapshots that were read earlier than the events "
                "claim to be, while those of others are where they should be. "
            ),
            "late": (
                f"{_IN_ORDER}These stand after snapshots that were read later than the events "
                "claim to be, by about the same everywhere. Events may be written late; such an "
                "offset says more. "
            ),
            "lagging": (
                "Two writers have as many events, which begin and end as far apart as {others} and "
                "{home} are: one reads the other clock, or each event waits for so long."
            ),
            "as_read": "As readings of {others} they are where they stand.",
            "not_as_read": "No other clock of the snapshots explains it.",
            "set_clock": (
                "Set timestamp_clock_id of these packets (or of their sequence's defaults) to "
                "{others}; for ftrace, ftrace_clock of its bundles."
            ),
            "find_clock": (
                "Look at what the program reads for these timestamps, and add a snapshot of that "
                "clock, or convert it there to {clock}."
            ),
        },
    ),
    Row(
        "lost-incremental-state",
        {"error": ""},
        "Packets were skipped because they need state that was lost.",
        title="{events} skipped: {need} state that was lost",
        why=(
            f"{ADVICE['skipped_incremental_state'].why} Such packets build on earlier ones of "
            "their sequence: interned names, defaults, the last timestamp."
        ),
        fix=(
            f"{ADVICE['skipped_incremental_state'].fix} After a gap, a producer has to set "
            "SEQ_INCREMENTAL_STATE_CLEARED and write its names and defaults again."
        ),
    ),
    Row(
        "negative-trace-time",
        {"error": ""},
        "Events get a time before the zero of the trace clock.",
        title="{events} before the zero of {trace_clock}, by up to {worst}",
        why=(
            "Trace time cannot be negative: Perfetto drops these events. {of_snapshots}{as_written}"
        ),
        fix="{earlier_clock}{offset}",
        parts={
            "of_snapshots": (
                "Their clock was read before the trace clock started, or an offset in a snapshot "
                "is wrong."
            ),
            "as_written": "The file has them before the zero of its own times.",
            "earlier_clock": (
                "Use a trace clock that started earlier ({begun}), and check the first snapshot of "
                "the events' clock."
            ),
            "offset": (
                "Add one offset to all times of the file, so that the first is not below 0. Until "
                "then take `timestamp`: it is as the file has it, and slices lack these events."
            ),
        },
    ),
    Row(
        "sequence-clock-of-another-sequence",
        {"error": ""},
        "A clock from 64 to 127 is used on one packet sequence, but its snapshots are on another.",
        title="{clocks}: snapshots have clock {number} on other sequences only ({others})",
        why=(
            "Clocks 64 to 127 are private to a packet sequence: the same number on two sequences "
            "is two clocks, and a snapshot on one sequence does not apply to the other."
        ),
        fix=(
            f"{ADVICE['unknown_source_clock'].fix} Or use a clock of 128 or above, which all "
            "sequences share."
        ),
    ),
    Row(
        "snapshots-late",
        {"error": ""},
        "Snapshots come in the file after events that are later than they are, and those events "
        "are misplaced.",
        title="snapshots come up to {late} too late: {clocks_late} off by up to {worst}",
        why=(
            "Perfetto reads the file in order, and converts an event with the snapshots read so "
            "far. It does not use a nearer snapshot that comes later in the file."
        ),
        fix=(
            "Write each snapshot before the events that follow it in time (ring buffers and merged "
            "files may change this order), or convert with `--policy tube`, which uses all "
            "snapshots of the file."
        ),
    ),
    Row(
        "threads-off-cpu",
        {"warning": "", "info": "where the scheduler's events end before the recording begins"},
        "Threads wrote events of their own track while the scheduler's events have them off the "
        "CPU.",
        title="{ran}{ended}",
        why="A thread writes events of its track while it runs. {ran_why}{ended_why}",
        fix=(
            "Let ftrace stamp by the clock that its bundles name: record without "
            "preserve_ftrace_buffer, or set trace_clock to boot before, or write ftrace_clock into "
            "each bundle. If it does, look at what the program reads for these timestamps."
        ),
        parts={
            "apart": ": {size} apart",
            "matches": ", as {others} and the trace clock are",
            "shifted": " With the scheduler's events {size} {side} nearly all of them ran.",
            "ran": (
                "{off} of {events} on sequence {sequence} are of threads that were off the CPU then"
                "{apart}{matches}"
            ),
            "ran_why": (
                "By the scheduler's events it ran at {running} of these, about as many as chance "
                "makes: the two were read in different clocks.{shifted}"
            ),
            "ended": (
                "the scheduler's events end {gap} before the {events} of its threads on sequence "
                "{sequence}, and before the first snapshot{apart}"
            ),
            "ended_why": (
                "None of the scheduler's events is of the time that was recorded: it stopped "
                "before, or ftrace stamps by another clock than its bundles name, such as one that "
                "stands still while the machine sleeps.{shifted}"
            ),
        },
    ),
    Row(
        "sequence-reused",
        {"warning": ""},
        "Several writers begin one packet sequence: their states and clocks are mixed up.",
        title="{writers} begin sequence {sequence}: their packets are read as those of one",
        why=(
            "A sequence (trusted_packet_sequence_id) is of one writer, and its first packet says "
            "so (first_packet_on_sequence). Defaults, interned names, clocks 64 to 127 and deltas "
            "of one writer count for the packets of the other, so events get wrong clocks and "
            "names."
        ),
        fix="Give each writer a sequence of its own.",
    ),
    Row(
        "timestamp-overflow",
        {"error": ""},
        "Timestamps do not fit in int64 nanoseconds on the trace clock.",
        title="{events} at times that do not fit in int64 ns",
        why=(
            f"{ADVICE['overflow'].why} Such a time is more than 292 years from the zero of the "
            "trace clock."
        ),
        fix=(
            f"{ADVICE['overflow'].fix} `tracetime convert` writes these events with the status "
            "overflow."
        ),
    ),
    Row(
        "trace-clock-without-snapshot",
        {"error": ""},
        "No snapshot holds the trace clock.",
        title="{clock} is the trace clock, but no snapshot holds it",
        why=(
            f"{ADVICE['unknown_target_clock'].why} Every event is converted to the trace clock, "
            "and the snapshots only relate other clocks to each other."
        ),
        fix=ADVICE["unknown_target_clock"].fix,
    ),
    Row(
        "used-after-last-snapshot",
        _BY_RATE,
        "Events are long after the last snapshot of their clock.",
        title="{clock}: {events} up to {away} after its last snapshot",
        why=(
            "After the last snapshot of a clock, Perfetto keeps using its offset, however far the "
            "clock drifts: {by_rate}{by_limits}"
        ),
        fix="Take snapshots during the recording, and one at its end.",
        parts=_OFF,
    ),
    Row(
        "used-before-first-snapshot",
        _BY_RATE,
        "Events are long before the first snapshot of their clock.",
        title="{clock}: {events} up to {away} before its first snapshot",
        why=(
            "Before the first snapshot of a clock, Perfetto uses its offset, however far the clock "
            "had drifted: {by_rate}{by_limits}"
        ),
        fix="Take a snapshot before the first event.",
        parts=_OFF,
    ),
)
