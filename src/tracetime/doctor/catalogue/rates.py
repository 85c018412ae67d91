"""Findings about rates and drift; their checks: `drift.py`."""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Row

ROWS: Final = (
    Row(
        "clock-stands-still",
        "error",
        "A clock reads the same in every snapshot.",
        otherwise="info where no event uses it",
        title="{clock} stands still while {partner} runs",
        why=(
            "Its readings are the same in every snapshot: the producer writes a value that it does "
            "not read."
        ),
        fix="Read the clock anew for every snapshot.",
    ),
    Row(
        "drift-beyond-healthy",
        "warning",
        "A clock drifts more than a crystal (100 ppm) or NTP (500 ppm) explains.",
        otherwise="info where no event uses it",
        title="{clock} gains {ppm:+.0f} ppm on {others}: no healthy clock drifts so far",
        why=(
            "A crystal is good to some 100 ppm, and NTP slews by 500 ppm at most. What is beyond "
            "that has a wrong nominal rate, an unstable oscillator, or readings that were not "
            "taken together."
        ),
        fix=(
            "Check the nominal rate the producer assumes (a GPU's timestampPeriod, a counter's "
            "frequency); to go on, `--policy tube --max-drift-ppm {clock}={enough_ppm:.0f}`."
        ),
    ),
    Row(
        "events-reordered",
        "error",
        "Perfetto's rule puts events in another order than they certainly had.",
        title="Perfetto's rule puts {events} in another order than they certainly had",
        why=(
            "Each stands before another one although its earliest instant is after the latest that "
            "the other can have had: the two clocks had drifted apart since the snapshot."
        ),
        fix="Convert with `--policy tube`, or take snapshots more often.",
    ),
    Row(
        "rate-changed",
        "info",
        "One rate held before, and another after.",
        title="the rate of {dst} against {src} changed {times}, by up to {most_ppm:.3g} ppm",
        why=(
            "NTP slews the system clocks to keep them right, and oscillators follow the "
            "temperature. This is normal.{hidden_why}"
        ),
        fix=(
            "Nothing. `--policy tube` follows the change; with floor, take snapshots more often."
            "{hidden_fix}"
        ),
        parts={
            "hidden_why": (
                " Here changes of less than {hidden_ppm:.2g} ppm may be hidden by how well the "
                "clocks were read, and those that show are not much larger: estimated bars may "
                "miss by a few half-widths."
            ),
            "hidden_fix": " `--bars guaranteed` holds what is hidden, too.",
        },
    ),
    Row(
        "rate-not-nominal",
        "error",
        "A clock counts something else than it says.",
        otherwise=(
            "warning where it misplaces events by less than the tolerance, info where no event "
            "uses it"
        ),
        title="{clock} counts {rate:.6g} units a ns of {partner}, not 1",
        why=(
            "The snapshots show a rate that no drift explains: the clock counts ticks, or its "
            "unit_multiplier_ns is wrong."
        ),
        fix=(
            "Write nanoseconds, or the right unit_multiplier_ns; to go on, `--policy tube "
            "--clock-rate {clock}={rate:.6g}GHz`."
        ),
    ),
    Row(
        "snapshots-too-sparse",
        "error",
        "Between two snapshots a clock drifts by more than the tolerance.",
        title="{here} drifts {worst} against {there} between two snapshots",
        why=(
            "Perfetto adds the offset of the latest snapshot and ignores drift since. Here that "
            "is {ppm:.0f} ppm over {gap}."
        ),
        fix=(
            "Take a snapshot every {enough}, or convert with `--policy tube`, which corrects drift."
        ),
    ),
    Row(
        "tsc-without-rate",
        "info",
        "The time stamp counter is in the snapshots, in ticks, and its frequency is not.",
        otherwise="error where events use it",
        title="the TSC counts {rate:.3g} GHz ticks, and the trace does not say so",
        why=(
            "ClockSnapshot has no field for a fractional rate, so the TSC's ticks are taken for "
            "nanoseconds{used}{unused}"
        ),
        fix=(
            "Convert with `--policy tube`, which learns the rate from the snapshots, or say it: "
            "`--clock-rate TSC={rate:.6g}GHz`. In a recorder, write ns, not ticks."
        ),
        parts={
            "used": (", and its events are misplaced, further with every second since a snapshot."),
            "unused": ". No event is timed by it: nothing goes wrong.",
        },
    ),
)
