"""Findings about clocks that jumped; their checks: `jumps.py`."""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Row

_WHERE_USED: Final = "error where events use it"
_LOST: Final = {
    "lost": (
        " One reading of it can then mean two instants, so Perfetto stops converting from it, for "
        "all of the file; converting to it still works."
    )
}

_BY: Final = {"up_to": "up to ", "by": ", by {up_to}{size}"}

ROWS: Final = (
    Row(
        "clock-id-collision",
        "warning",
        "The readings of one clock jump to and fro between two lines.",
        otherwise="error where events are lost",
        title="{clock} is written by two clocks, {size} apart",
        why=(
            "Its readings jump to and fro between two lines: two clocks write under one number."
            "{lost}"
        ),
        fix=(
            "Give each clock a name of its own, and use the hash of it (tracetime.clock_id) as its "
            "number."
        ),
        parts=_LOST,
    ),
    Row(
        "clock-ran-backwards",
        "info",
        "A clock's readings fall from one snapshot to the next.",
        otherwise=_WHERE_USED,
        title="{clock} ran backwards {often}{by}",
        why=(
            "Its readings fall from one snapshot to the next: it was set, it wrapped, or the trace "
            "joins several recordings.{lost}"
        ),
        fix=(
            "Time events with a clock that only goes forward, and keep each recording in a trace "
            "of its own. `--policy tube` gives a bar that holds both instants a reading can mean."
        ),
        parts=_LOST | _BY,
    ),
    Row(
        "clock-reset",
        "info",
        "A counter began again near zero.",
        otherwise=_WHERE_USED,
        title="{clock} was reset {often}",
        why=(
            "The counter began again near zero: its device or driver was restarted, or it has few "
            "bits and wrapped.{lost}"
        ),
        fix=(
            "Give the clock a new number after a restart. `--policy tube` gives a bar that holds "
            "both instants a reading can mean. Of a short counter say the bits: `--valid-bits "
            "{clock}=32`."
        ),
        parts=_LOST,
    ),
    Row(
        "clock-stepped",
        "info",
        "A clock jumped forward, by more than any drift explains.",
        otherwise="warning where events lie in the gap",
        title="{clock} was stepped {often}{by}",
        why=(
            "The clock was set, or the trace's clocks were read at different times: no drift "
            "explains it.{two}"
        ),
        fix=(
            "Take a snapshot right after a clock is set. `--policy tube` shows between which two "
            "it happened, and bars that hold both sides."
        ),
        parts=_BY
        | {
            "two": (
                " With two snapshots alone, a clock that counts something other than ns looks the "
                "same: say what it counts with --clock-rate, and see whether this goes."
            )
        },
    ),
    Row(
        "counter-wraps",
        "error",
        "A counter of fewer than 64 bits began again at 0.",
        otherwise=(
            "info where no event uses it, or where its bits were declared (`--valid-bits`) and its "
            "snapshots say how often it wrapped"
        ),
        title="{clock} wraps{fell}{open}",
        why="{fell_why}{open_why}{lost}",
        fix="{fell_fix}{open_fix}",
        parts={
            "fell": ": it fell back {often}",
            "fell_why": (
                "The counter has {bits} bits and began again at 0: each fall is by 2^{bits} ticks."
            ),
            "fell_fix": (
                "Unfold the counter before writing it, or convert with `--policy tube --valid-bits "
                "{clock}={bits}`."
            ),
            "open": ", and how often it did between two snapshots is open",
            "open_why": "{error}.",
            "open_fix": "Take snapshots more often, or unfold the counter before writing it.",
            **_LOST,
        },
    ),
    Row(
        "realtime-set-back",
        "info",
        "The wall clock was set back.",
        otherwise=_WHERE_USED,
        title="{clock} was set back {often}{by}",
        why="The wall clock was set back, by hand or by NTP.{lost}",
        fix=(
            "Time events with BOOTTIME or MONOTONIC; keep REALTIME in the snapshots to convert to. "
            "`--policy tube` gives a bar that holds both instants a reading can mean."
        ),
        parts=_LOST | _BY,
    ),
    Row(
        "snapshot-outlier",
        "info",
        "One snapshot contradicts those before and after it, which agree.",
        otherwise="warning above the tolerance; error where events are lost or misplaced",
        title="{clock}: {snapshots} off{by}, against all about it",
        why=(
            "A reading contradicts those before and after it, which agree with each other: the "
            "snapshot was torn (its clocks not read together), or is corrupt.{lost}"
        ),
        fix=(
            "Read the clocks of a snapshot without interruption, best of several tries; `--policy "
            "tube` leaves the outlier out."
        ),
        parts=_LOST | {"up_to": "up to ", "by": " by {up_to}{size}"},
    ),
    Row(
        "suspend",
        "info",
        "The machine slept.",
        otherwise="warning where events lie in the gap",
        title="{which} slept {often}{by}",
        why=(
            "The machine slept: BOOTTIME went on, clocks such as MONOTONIC stood still. This is "
            "normal."
        ),
        fix="Nothing, while a snapshot follows each resume. {boottime}{other}",
        parts={
            "up_to": "up to ",
            "by": ", for {up_to}{size}",
            "boottime": "Events read in BOOTTIME need none.",
            "other": "Recording with BOOTTIME as trace clock avoids the question.",
        },
    ),
)
