"""Findings about clocks that jumped; the checks are in `jumps.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import Kind, Row
from tracetime.doctor.finding import Severity
from tracetime.errors import ADVICE

_NEAR: Final = "where events are next to a jump beyond the tolerance"
_NEAR_OR_LOST: Final[Mapping[Severity, str]] = {
    "info": "",
    "warning": _NEAR,
    "error": "where events of the clock are lost",
}
_LOST: Final = {
    "lost": (
        " One reading of it can then mean two instants, so Perfetto stops converting from it for "
        "the rest of the file; converting to it still works."
    )
}
_BY: Final = {"up_to": "up to ", "by": ", by {up_to}{size}"}
_BOTH_INSTANTS: Final = (
    "`--policy tube` gives an error bar that holds both instants a reading can mean."
)

ROWS: Final = (
    Row(
        "clock-id-collision",
        {"warning": "", "error": "where events are lost"},
        "The readings of one clock alternate between those of two clocks.",
        title="{clock} is written by two clocks, {size} apart",
        why=(
            "Its readings jump back and forth by the same amount: two clocks write under one "
            "number.{lost}"
        ),
        fix=(
            "Give each clock a name of its own, and use the hash of the name as its number "
            "(tracetime.clock_id)."
        ),
        parts=_LOST,
    ),
    Row(
        "clock-ran-backwards",
        _NEAR_OR_LOST,
        "A clock's readings go backwards from one snapshot to the next.",
        title="{clock} ran backwards {often}{by}{never}",
        why=(
            "Its readings go backwards from one snapshot to the next: it was set, it wrapped, or "
            "the trace joins several recordings.{never_why}{lost}"
        ),
        fix=f"{ADVICE['non_monotonic_source'].fix} {_BOTH_INSTANTS}",
        parts=_LOST
        | _BY
        | {
            "never": ", which no kernel's does",
            "never_why": (
                " The kernel's clock does neither, so on one side the snapshots have another "
                "clock in its place: BOOTTIME and MONOTONIC are apart by the time that the "
                "machine slept."
            ),
        },
    ),
    Row(
        "clock-reset",
        _NEAR_OR_LOST,
        "A counter restarted near zero.",
        title="{clock} was reset {often}",
        why=(
            "The counter restarted near zero: its device or driver was restarted, or it has few "
            "bits and wrapped.{lost}"
        ),
        fix=(
            f"Give the clock a new number after a restart. {_BOTH_INSTANTS} If the counter has few "
            "bits, declare them: `--valid-bits {clock}=32`."
        ),
        parts=_LOST,
    ),
    Row(
        "clock-stepped",
        {"info": "", "warning": _NEAR},
        "A clock jumped by more than drift explains.",
        title="{clock} was stepped {often}{by}{known_as}",
        why=(
            "The clock was set, or the clocks of a snapshot were read at different times: drift "
            "does not explain the jump.{two}"
        ),
        fix=(
            "Take a snapshot right after a clock is set. `--policy tube` reports the two snapshots "
            "between which it jumped, and gives error bars that hold both sides."
        ),
        parts=_BY
        | {
            "known_as": " ({known})",
            "two": (
                " With only two snapshots, a clock that counts something other than ns looks the "
                "same: declare what it counts with --clock-rate, and check whether this finding "
                "goes away."
            ),
        },
    ),
    Row(
        "counter-wraps",
        {
            "error": "",
            "warning": "where no event is lost, and events are next to a wrap",
            "info": (
                "where no event uses it, or where its bits were declared (`--valid-bits`) and the "
                "snapshots show how often it wrapped"
            ),
        },
        "A counter of fewer than 64 bits restarted at 0.",
        title="{clock} wraps{fell}{open}",
        why="{fell_why}{open_why}{lost}",
        fix="{fell_fix}{open_fix}{declared_fix}",
        parts={
            "fell": ": it restarted {often}",
            "fell_why": (
                "The counter has {bits} bits and restarts at 0: it goes back by 2^{bits} ticks "
                "each time."
            ),
            "fell_fix": (
                "Extend the counter to 64 bits before writing it, or convert with `--policy tube "
                "--valid-bits {clock}={bits}`."
            ),
            "declared_fix": (
                "Nothing: its bits are declared, and `--policy tube` knows which wrap a reading is "
                "of. Floor does not: extend the counter to 64 bits before writing it."
            ),
            "open": ", and it is unknown how often between two snapshots",
            "open_why": "{error}.",
            "open_fix": (
                "Take snapshots more often, or extend the counter to 64 bits before writing it."
            ),
            **_LOST,
        },
    ),
    Row(
        "offsets-shifted",
        {"info": "", "warning": "beyond the tolerance"},
        "The offsets that a recorder measured of a clock shift by more than it can drift.",
        title="{clock}: its offsets shift by up to {worst}",
        why=(
            "The clock is a steady one, which is not set, and its rate is nearly the same for "
            "minutes: more likely messages took longer one way for a while, all at once or more "
            "and more, which moves every offset by half of that. Which side of the shift is "
            "right is not known. Bars of the tube hold both; floor takes the offsets as they are."
        ),
        fix=(
            "Take bars for what they are here (`--policy tube`), and give the recorder a network "
            "of its own, by cable. If you know better: `--assume-half-width`."
        ),
        kinds={"": Kind(beyond="warning")},
    ),
    Row(
        "realtime-set-back",
        _NEAR_OR_LOST,
        "The wall clock was set back.",
        title="{clock} was set back {often}{by}{known_as}",
        why="The wall clock was set back, by hand or by NTP.{lost}",
        fix=(
            f"{ADVICE['ambiguous_source'].fix} Keep REALTIME in the snapshots, to convert to it. "
            f"{_BOTH_INSTANTS}"
        ),
        parts=_LOST | _BY | {"known_as": " ({known})"},
    ),
    Row(
        "snapshot-outlier",
        {
            "info": "",
            "warning": "beyond the tolerance",
            "error": "where events are lost or misplaced",
        },
        "One snapshot contradicts those around it, which agree with each other.",
        title="{clock}: {snapshots} off{by}, against the others",
        why=(
            "A reading contradicts those around it, which agree with each other: the clocks of "
            "this snapshot were not read together, or the reading is corrupt. At either end of a "
            "recording a clock that was set by a few ms looks the same.{lost}"
        ),
        fix=(
            "Read the clocks of a snapshot without interruption, and keep the best of several "
            "tries. `--policy tube` ignores the outlier; at an end its bars hold both."
        ),
        parts=_LOST | {"up_to": "up to ", "by": " by {up_to}{size}"},
    ),
    Row(
        "suspend",
        {"info": "", "warning": _NEAR},
        "The machine was suspended.",
        title="{which} slept {often}{by}",
        why=(
            "The machine was suspended: BOOTTIME advanced, while clocks such as MONOTONIC stood "
            "still. This is normal."
        ),
        fix="Nothing, as long as a snapshot follows each resume. {boottime}{other}",
        parts={
            "up_to": "up to ",
            "by": ", for {up_to}{size}",
            "boottime": "Events timed by BOOTTIME do not even need that.",
            "other": "With BOOTTIME as the trace clock, events timed by BOOTTIME are never off.",
        },
    ),
)
