"""Findings about rates and drift; the checks are in `drift.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import Row
from tracetime.doctor.finding import Severity

_BY_TOLERANCE: Final[Mapping[Severity, str]] = {
    "error": "",
    "warning": "where it misplaces events by less than the tolerance",
    "info": "where no event uses it",
}

ROWS: Final = (
    Row(
        "clock-stands-still",
        _BY_TOLERANCE,
        "A clock has the same reading in every snapshot.",
        title="{clock} stands still while {reference} runs",
        why=(
            "Its readings are the same in every snapshot: the producer does not read the clock "
            "anew, or the device is off."
        ),
        fix="Read the clock anew for every snapshot.",
    ),
    Row(
        "drift-beyond-healthy",
        {"warning": "", "info": "where no event uses it"},
        "A clock drifts by more than a crystal (100 ppm) or NTP (500 ppm) explains.",
        title="{clock} gains {ppm:+.0f} ppm on {others}: more than a healthy clock drifts",
        why=(
            "A crystal is within some 100 ppm of its nominal rate, and NTP changes a rate by at "
            "most 500 ppm. More than that means a wrong nominal rate, a defective oscillator, or "
            "readings that were not taken together."
        ),
        fix=(
            "Check the nominal rate that the producer assumes (a GPU's timestampPeriod, a "
            "counter's frequency). For an existing trace: `--policy tube --max-drift-ppm "
            "{clock}={enough_ppm:.0f}`."
        ),
    ),
    Row(
        "events-reordered",
        {"error": ""},
        "Perfetto's rule puts events in an order that is wrong by their error bars.",
        title="Perfetto's rule puts {events} in an order that is wrong by their bars",
        why=(
            "Each of them is placed before another event that, by its bars, happened earlier: the "
            "two clocks drifted apart since the snapshot."
        ),
        fix="Convert with `--policy tube`, or take snapshots more often.",
    ),
    Row(
        "offsets-scatter",
        {"warning": "", "info": "where no event uses it"},
        "The offsets of a clock scatter by more than the tolerance, and do not drift so far.",
        title="{clock}: {snapshots} scatter, by up to {worst}: that is jitter, not drift",
        why=(
            "Each offset is off by half of how much longer a message took one way than the other, "
            "and the next one is off otherwise. From one to the next the clock drifts {drift} at "
            "most. floor places events by the latest offset alone; the bars of the tube hold the "
            "jitter."
        ),
        fix=(
            "Convert with `--policy tube`. For better offsets, connect the machines by cable, or "
            "keep the network quiet."
        ),
    ),
    Row(
        "rate-changed",
        {"info": ""},
        "The rate of a clock changed during the recording.",
        title="the rate of {dst} against {src} changed {times}, by up to {most_ppm:.3g} ppm",
        why=(
            "NTP adjusts the rate of the system clocks, and oscillators follow the temperature. "
            "This is normal.{hidden_why}"
        ),
        fix=(
            "Nothing. `--policy tube` follows the change; with floor, take snapshots more often."
            "{hidden_fix}"
        ),
        parts={
            "hidden_why": (
                " The readings are too inexact to show changes of less than {hidden_ppm:.2g} ppm, "
                "and those found are not much larger: estimated error bars may miss the true time."
            ),
            "hidden_fix": " `--bars guaranteed` includes changes that the readings do not show.",
        },
    ),
    Row(
        "rate-not-nominal",
        _BY_TOLERANCE,
        "A clock counts another unit than its snapshots say.",
        title="{clock} counts {rate:.6g} units a ns of {reference}, not {nominal:.6g}",
        why="{unit}{ticks}",
        fix=(
            "Write nanoseconds, or declare the unit that the clock counts. For an existing trace: "
            "`--policy tube --clock-rate {clock}={frequency}`."
        ),
        parts={
            "unit": (
                "The snapshots show a rate that drift does not explain: the clock counts ticks, or "
                "its unit_multiplier_ns is wrong."
            ),
            "ticks": (
                "The clock counts ticks, and the floor policy takes each for 1 ns. By the "
                "snapshots, they are of another length."
            ),
        },
    ),
    Row(
        "rate-unproven",
        {"info": ""},
        "Two snapshots alone show the rate of a clock, which proves none.",
        title=(
            "two snapshots alone show the {rate} of {clocks}: guaranteed bars hold any within "
            "{drift_ppm:,.0f} ppm"
        ),
        why=(
            "Between two snapshots a clock may have jumped, or changed its rate, and nothing shows "
            "that. Estimated error bars take the rate that the two show, so they may miss the true "
            "time."
        ),
        fix=(
            "Take three snapshots or more. For an existing trace: `--bars guaranteed`; with "
            "`--max-drift-ppm`, these hold less where a clock drifts less."
        ),
    ),
    Row(
        "snapshots-too-sparse",
        {"error": "", "info": "where no event is misplaced by it"},
        "Between two snapshots a clock drifts by more than the tolerance.",
        title="{here} drifts {worst} against {there} between two snapshots",
        why=(
            "Perfetto adds the offset of the latest snapshot and ignores the drift since. Here it "
            "is {ppm:.0f} ppm over {gap}."
        ),
        fix=(
            "Take a snapshot every {enough}, or convert with `--policy tube`, which corrects drift."
        ),
    ),
    Row(
        "ticks-apart",
        {"info": ""},
        "The offset of two clocks that tick alike changes all the time.",
        title=(
            "{clock} does not tick like {other}: their offset changes in {apart} of {gaps} between "
            "snapshots"
        ),
        why=(
            "Linux runs BOOTTIME, MONOTONIC and REALTIME at one rate, so that their offset is "
            "constant but for jumps. These are too many to be jumps: other systems slew REALTIME "
            "alone, or readings are less exact than their half-widths say. So error bars hold "
            "any drift within the limits of the two clocks."
        ),
        fix=(
            "Nothing, if the system slews its wall clock alone. Else read both clocks closer "
            "together, or record how exact that is."
        ),
    ),
    Row(
        "tsc-without-rate",
        {"info": "", "error": "where events use it"},
        "The snapshots hold the time stamp counter in ticks, but not its frequency.",
        title="the TSC counts {rate:.3g} GHz ticks, but the trace does not say so",
        why=(
            "ClockSnapshot has no field for a fractional rate, so the TSC's ticks are taken for "
            "nanoseconds{used}{unused}"
        ),
        fix=(
            "Convert with `--policy tube`, which measures the rate from the snapshots, or declare "
            "it: `--clock-rate TSC={frequency}`. In a recorder, write ns, not ticks."
        ),
        parts={
            "used": ", and the error of its events grows with every second since a snapshot.",
            "unused": ". No event uses it, so nothing is misplaced.",
        },
    ),
)
