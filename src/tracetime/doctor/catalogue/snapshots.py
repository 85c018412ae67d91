"""Findings about what snapshots hold, and how they are written.

The checks are in `structure.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import NOTED, Kind, Row
from tracetime.doctor.finding import Severity

_BY_LOSS: Final[Mapping[Severity, str]] = {"warning": "", "error": "where events are lost"}
_REJECTED: Final = "Perfetto rejects a snapshot"

ROWS: Final = (
    Row(
        "ad-hoc-clock-id",
        {"warning": ""},
        "A global clock has a small number, such as 128.",
        title="{clocks}: a global clock with a number that others may choose too",
        why=(
            "All sequences of a trace share the clocks of 128 and above. Two producers that choose "
            "the same small number overwrite each other's clock unnoticed."
        ),
        fix="Use the hash of a name, which has the top bit set: tracetime.clock_id(NAME).",
    ),
    Row(
        "clock-properties-changed",
        _BY_LOSS,
        "A clock's unit or incremental flag differs from its first snapshot.",
        title="{which} changed its unit or its incremental flag between snapshots{by}: {rejected}",
        why=(
            "The first snapshot of a clock decides its unit_multiplier_ns and is_incremental. "
            f"{_REJECTED} that differs."
        ),
        fix=(
            "Give a clock the same properties in every snapshot, and another clock another number."
        ),
    ),
    Row(
        "clock-twice-in-snapshot",
        _BY_LOSS,
        "A snapshot holds one clock twice.",
        title="{which} is in a snapshot twice{by}: {rejected}",
        why=(f"A snapshot can hold one reading of each clock. {_REJECTED} that repeats a clock."),
        fix="Write each clock once; on a sequence, the same number twice is the same clock.",
    ),
    Row(
        "coarse-clock",
        {"info": "", "warning": "where one writer rounds readings: error bars do not hold that"},
        "Events are timed by a clock with a coarse tick: a COARSE clock, one whose readings show a "
        "tick, or one whose readings a writer rounds.",
        title="{clocks}{on}: events are exact to {tick} only, {worst}",
        why="{kernel_why}{measured_why}{rounded_why}",
        fix="Where order matters, time events with {kernel_fix}{measured_fix}{rounded_fix}",
        parts={
            "on": " on sequence {sequence}",
            "rounded_why": (
                "All readings of this writer are multiples of that, while snapshots of the clock "
                "are not: a program rounds them, or keeps them as {tick}. Error bars do not hold "
                "this."
            ),
            "rounded_fix": "the clock's own reading: an int64 of ns from where it is read on.",
            "kernel_why": "The COARSE clocks give the time of the kernel's last tick.",
            "kernel_fix": "MONOTONIC or BOOTTIME: a reading takes 20 ns more.",
            "measured_why": (
                "Its readings are whole multiples of that: the clock has no finer resolution, or "
                "is written with none."
            ),
            "measured_fix": (
                "a clock that counts ns. `--policy tube` gives error bars that include the tick."
            ),
        },
    ),
    Row(
        "incremental-clock-not-of-a-sequence",
        _BY_LOSS,
        "A clock outside 64 to 127 is incremental.",
        title="{which} is incremental, but belongs to no sequence{by}: {rejected}",
        why=(
            "Deltas are added up per packet sequence, so only clocks 64 to 127 can be incremental. "
            f"{_REJECTED} with another incremental clock."
        ),
        fix="Use a clock from 64 to 127 for deltas.",
    ),
    Row(
        "long-path",
        {"info": ""},
        "The path from a clock to the trace clock has three hops or more.",
        title="{clock} reaches {trace_clock} in {hops} hops: {path}",
        why=(
            "Each hop adds the error of a snapshot and the drift since it. Perfetto does not "
            "follow paths of more than 4 hops."
        ),
        fix="Take snapshots that hold {clock} and {end} together.",
    ),
    Row(
        "no-realtime",
        {"info": ""},
        "No snapshot holds REALTIME.",
        title="no snapshot holds REALTIME: the date and time of this trace are unknown",
        why=(
            "The events of the trace can be compared with each other, but not with logs or other "
            "traces by date and time."
        ),
        fix="Put REALTIME into the snapshots.",
    ),
    Row(
        "no-snapshots",
        {"info": "", "error": "where events name a clock, and are lost"},
        "The trace has no clock snapshots.",
        title="no clock snapshots: timestamps are used unconverted",
        why=(
            "Nothing relates the clocks of this trace to each other. Events {clock_named}"
            "{no_clock_named}"
        ),
        fix="Record ClockSnapshots, to compare the trace with anything else.",
        parts={
            "clock_named": "that name a clock get no trace time.",
            "no_clock_named": "name no clock, so they share one and need no conversion.",
        },
    ),
    Row(
        "placed-before",
        {"info": ""},
        "The file has events that were placed before, and no clock snapshots.",
        title="the {policy} policy put the events on trace time before: they stay there",
        why=(
            "The file is a table with trace times, such as `tracetime convert` writes. It has no "
            "clock snapshots any more: by every policy, trace times and statuses are those of the "
            "table. {floor}{tube}"
        ),
        fix="Open the trace that the table was made of for another policy, or for its clocks.",
        parts={
            "floor": "By floor they have no error bars.",
            "tube": "By the tube they have the error bars of the table.",
        },
        kinds={policy: Kind(parts=(policy,)) for policy in ("floor", "tube")},
    ),
    Row(
        "paths-disagree",
        {"info": "", "warning": "beyond the tolerance"},
        "Two paths from one clock to another give different times.",
        title="{src} to {dst}: directly and through {over} differ by {worst} at least",
        why=(
            "Different {snapshots}{messages} relate these clocks, and contradict each other by "
            "more than drift within its limits and the half-widths of the readings explain."
        ),
        fix="{find_snapshot}{find_message}",
        parts={
            "snapshots": "snapshots",
            "messages": "messages",
            "find_snapshot": (
                "Find the wrong snapshot (`tracetime report` draws them), or declare that its "
                "readings are less exact: `--assume-half-width {src}={half}ns`."
            ),
            "find_message": (
                "Find the messages that were received before they were sent: a clock was set, or "
                "they are wrongly matched."
            ),
        },
    ),
    Row(
        "reading-overflow",
        _BY_LOSS,
        "A reading times its unit does not fit in int64 nanoseconds.",
        title="a reading of {which} does not fit in int64 nanoseconds{by}: {rejected}",
        why=(
            "The reading times its unit does not fit in int64: the reading is corrupt, or the unit "
            "is wrong."
        ),
        fix="Check the reading and the unit_multiplier_ns of the clock.",
    ),
    Row(
        "realtime-unsynchronised",
        {"info": ""},
        "REALTIME was not synchronised when the trace was recorded.",
        title="REALTIME was not synchronised when this trace was recorded",
        why=(
            "The kernel reported that nothing (NTP, PTP) synchronises it. The events can be "
            "compared with each other, but not with other machines by date and time."
        ),
        fix="Start chrony, ntpd or systemd-timesyncd before recording.",
        kinds=NOTED,
    ),
    Row(
        "time-service-contradicts",
        {"warning": ""},
        "What a time service said of REALTIME contradicts what it said before.",
        title="the time service of {clock} contradicts itself, by {worst}",
        why=(
            "The recorder keeps how far from UTC the time service says that REALTIME is. No course "
            "of the clock, steered by up to 1/8, fits all of that: at times it was farther off "
            "than was said. `merge` ties no wall clock by such bounds."
        ),
        fix=(
            "Look at what the time service follows (`chronyc sources`, `pmc`), and at what else "
            "sets the clock: two programs that steer it work against each other."
        ),
        kinds=NOTED,
    ),
    Row(
        "trace-clock-changed-late",
        {"warning": "where events are lost before it", "info": "where none is"},
        "A snapshot names another `primary_trace_clock` after events were converted.",
        title="{snapshots_last}{named_late}: it remains {trace_clock}",
        why=(
            "The first conversion settles the trace clock. Events before that snapshot were "
            "converted to {trace_clock}, and Perfetto does not convert them again."
        ),
        fix="Write the snapshot with primary_trace_clock before the first event of the trace.",
        parts={
            "snapshots_last": (
                "the snapshots stand after all events, and name {clock} as primary_trace_clock too "
                "late"
            ),
            "named_late": "a snapshot names {clock} as primary_trace_clock too late",
        },
    ),
    Row(
        "trace-clock-ran-backwards",
        {"warning": "", "error": "where events are between rejected snapshots"},
        "The trace clock went backwards from one snapshot to the next.",
        title="{which} is the trace clock, and went backwards{by}: {rejected}",
        why=(
            "Trace time only goes forward. Perfetto rejects a snapshot in which it goes backwards, "
            "and places later events by the snapshot before. The clock was set back, recordings "
            "were joined, or one reading was far too high."
        ),
        fix="{steady}{settable}",
        parts={
            "steady": (
                "The kernel never sets this clock back: check where the readings come from, write "
                "snapshots in the order in which they were taken, and keep recordings apart."
            ),
            "settable": (
                "Use BOOTTIME or MONOTONIC as primary_trace_clock, and keep recordings apart."
            ),
        },
    ),
    Row(
        "trace-clock-unit",
        _BY_LOSS,
        "The trace clock does not count nanoseconds.",
        title="{which} is the trace clock, but does not count nanoseconds{by}: {rejected}",
        why=(
            f"Trace time is in nanoseconds. {_REJECTED} in which the trace clock has another unit."
        ),
        fix=(
            "Leave out unit_multiplier_ns for the trace clock, or name another primary_trace_clock."
        ),
    ),
    Row(
        "wall-clock-unset",
        {"warning": ""},
        "A wall clock reads a date before the kernel was built, or before 2017.",
        title="{clock} was not set: it reads {reads}",
        why=(
            "No recorder of such traces is as old, nor is a kernel younger than its readings. A "
            "machine without a battery for its clock begins with a default in every boot, until "
            "its time service sets it: the date of the trace is unknown, and that of two machines "
            "or two boots agrees by chance."
        ),
        fix=(
            "Record after the time service has set the clock (chronyc waitsync, `systemctl start "
            "time-sync.target`). Tell `tracetime merge` by --sync or --at how this trace is to "
            "others, not by wall clocks."
        ),
    ),
)
