"""Findings about what snapshots hold, and how they are written; their checks: `structure.py`."""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Row

_WHERE_LOST: Final = "error where events are lost"

ROWS: Final = (
    Row(
        "ad-hoc-clock-id",
        "warning",
        "A global clock has a small number, such as 128.",
        title="{clocks}: a global clock by a number that anyone may choose",
        why=(
            "Clocks of 128 and above are seen by every sequence of the trace. Two producers that "
            "choose the same small number overwrite each other's clock, and nothing tells."
        ),
        fix="Use the hash of a name, which has the top bit set: tracetime.clock_id(NAME).",
    ),
    Row(
        "clock-properties-changed",
        "warning",
        "A clock's unit or incremental flag differs from its first snapshot.",
        otherwise=_WHERE_LOST,
        title="{which} changed its unit or its incremental flag between snapshots{by}: {lost}",
        why=(
            "A clock's unit_multiplier_ns and is_incremental are those of its first snapshot. A "
            "snapshot that says otherwise is not taken whole."
        ),
        fix=(
            "Give a clock the same properties in every snapshot, and another clock another number."
        ),
    ),
    Row(
        "clock-twice-in-snapshot",
        "warning",
        "A snapshot names one clock twice.",
        otherwise=_WHERE_LOST,
        title="{which} stands twice in a snapshot{by}: {lost}",
        why=(
            "A snapshot says once what each clock read. What contradicts itself is not taken whole."
        ),
        fix="Write each clock once; on a sequence, the same number twice is the same clock.",
    ),
    Row(
        "coarse-clock",
        "info",
        "Events are timed by a clock that ticks coarsely: a COARSE clock, or one whose readings "
        "show it.",
        title="{clocks}: events are good to {tick} only, {worst}",
        why="{kernel_why}{shown_why}",
        fix="Where order matters, time events with {kernel_fix}{shown_fix}",
        parts={
            "kernel_why": "The COARSE clocks say what time it was at the kernel's last tick.",
            "kernel_fix": "MONOTONIC or BOOTTIME: 20 ns more a reading.",
            "shown_why": (
                "Its readings are whole multiples of that: it is read, or written, no finer."
            ),
            "shown_fix": (
                "a clock that counts ns. `--policy tube` gives a bar that holds the tick."
            ),
        },
    ),
    Row(
        "incremental-clock-not-of-a-sequence",
        "warning",
        "A clock outside 64 to 127 is incremental.",
        otherwise=_WHERE_LOST,
        title="{which} is incremental, and belongs to no sequence{by}: {lost}",
        why="Deltas add up per packet sequence, so only clocks 64 to 127 can be incremental.",
        fix="Use a clock from 64 to 127 for deltas.",
    ),
    Row(
        "long-path",
        "info",
        "A clock reaches the trace clock in three hops or more.",
        title="{clock} reaches {trace_clock} in {hops} hops: {path}",
        why=(
            "Each hop adds the error of a snapshot and of the drift since it; beyond 4 hops "
            "Perfetto gives up."
        ),
        fix="Take snapshots that hold {clock} and {end} together.",
    ),
    Row(
        "no-realtime",
        "info",
        "No snapshot has REALTIME.",
        title="no snapshot has REALTIME: when this was, in days and hours, is unknown",
        why=(
            "The trace's events line up with each other, but not with logs or other traces by date "
            "and time."
        ),
        fix="Put REALTIME into the snapshots.",
    ),
    Row(
        "no-snapshots",
        "info",
        "The trace has no clock snapshots.",
        otherwise="error where events name a clock, and are lost",
        title="no clock snapshots: timestamps are taken as they stand",
        why=(
            "Nothing says what the clocks of this trace read together. Events {clock_named}"
            "{no_clock_named}"
        ),
        fix="To line the trace up with anything else, record ClockSnapshots.",
        parts={
            "clock_named": "that name a clock cannot be placed.",
            "no_clock_named": "name no clock: one is enough.",
        },
    ),
    Row(
        "paths-disagree",
        "info",
        "Two ways from one clock to another lead to different times.",
        otherwise="warning above the tolerance",
        title="{src} to {dst}: directly and over {over} differ by {worst} at least",
        why=(
            "Different snapshots tie these clocks together, and contradict each other beyond what "
            "drift within the limits and the width of the readings can explain."
        ),
        fix=(
            "Find the snapshot that is wrong (`tracetime report` draws them), or say that its "
            "readings are less exact: `--assume-half-width`."
        ),
    ),
    Row(
        "reading-overflow",
        "warning",
        "A reading times its unit does not fit in int64 nanoseconds.",
        otherwise=_WHERE_LOST,
        title="a reading of {which} does not fit in int64 nanoseconds{by}: {lost}",
        why="The reading times its unit leaves int64: it is corrupt, or the unit is wrong.",
        fix="Check the reading and unit_multiplier_ns of the clock.",
    ),
    Row(
        "realtime-unsynchronised",
        "info",
        "REALTIME was not synchronised when the trace was recorded.",
        title="REALTIME was not synchronised when this was recorded",
        why=(
            "The kernel said that nothing (NTP, PTP) keeps its time right. Events line up with each"
            " other all the same, but not with other machines by date and time."
        ),
        fix="Start chrony, ntpd or systemd-timesyncd before recording.",
    ),
    Row(
        "trace-clock-changed-late",
        "warning",
        "A snapshot names another `primary_trace_clock` after events had been converted.",
        title="{clock} is named as primary_trace_clock too late: it stays {trace_clock}",
        why=(
            "The trace clock is settled by the first conversion: events before that snapshot had "
            "been brought to another one already, and Perfetto does not go back."
        ),
        fix="Write the snapshot with primary_trace_clock before the first event of the trace.",
    ),
    Row(
        "trace-clock-ran-backwards",
        "warning",
        "The trace clock fell from one snapshot to the next.",
        otherwise="error where events stand between snapshots that were lost so",
        title="{which} is the trace clock, and went backwards{by}: {lost}",
        why=(
            "Trace time only goes forward: a snapshot in which it falls is not taken whole, and "
            "what comes after is placed by the one before the fall. The clock was set back, "
            "recordings were joined, or one reading was far too high."
        ),
        fix="{steady}{settable}",
        parts={
            "steady": (
                "The kernel never sets this clock back: look where the readings come from, write "
                "snapshots in the order in which they were taken, and keep recordings apart."
            ),
            "settable": (
                "Use BOOTTIME or MONOTONIC as primary_trace_clock, and keep recordings apart."
            ),
        },
    ),
    Row(
        "trace-clock-unit",
        "warning",
        "The trace clock does not count nanoseconds.",
        otherwise=_WHERE_LOST,
        title="{which} is the trace clock, and does not count nanoseconds{by}: {lost}",
        why=(
            "Trace time is in nanoseconds; snapshots in which it has another unit are not taken "
            "whole."
        ),
        fix=(
            "Leave out unit_multiplier_ns for the trace clock, or name another primary_trace_clock."
        ),
    ),
)
