"""The accuracy of the tube, and the bars it must meet.

    python -m benchmarks.accuracy [--quick]

Simulated clocks (clocks.py, machine.py), and recorded ones ($TRACETIME_DATA, else ../shared/data).
Exits with 1 where a row misses its bar.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from benchmarks import recorded
from benchmarks.clocks import (
    START_NS,
    Pair,
    Values,
    brackets,
    knees,
    nanoseconds,
    oscillator,
    pings,
    snapshots,
)
from benchmarks.faults import Tally
from benchmarks.machine import Machine
from benchmarks.rivals import (
    floor,
    linear,
    local_regression,
    one_line,
    outside,
    outside_both,
    queries,
    rms,
)
from benchmarks.steering import recorded_changes
from benchmarks.table import Table
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.results import Bars
from tracetime.graph.tube.tube import Tube

D = 100e-6
CRYSTALS = Limits(2 * D, 1e-6)
SHARED = Limits(500e-6, 1e-9)


def local_brackets(table: Table, n_seeds: int) -> None:
    """Local brackets every 10 s."""
    worst_floor, worst_linear, out, findings = 0.0, 0.0, 0, 0
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        pair = oscillator(rng)
        a = nanoseconds(np.arange(0, 3590, 10.0))
        r, h = snapshots(pair, a, *brackets(rng, len(a)))
        tube = Tube(Evidence.of(a, r, h), CRYSTALS)
        q = queries(rng, 0, 3580, 20_000)
        truth = pair.at(q)
        error = tube.convert(q).estimate - truth
        ratio = np.abs(error).max() / np.abs(floor(a, r, q) - truth).max()
        worst_floor = max(worst_floor, ratio)
        worst_linear = max(worst_linear, rms(error) / rms(linear(a, r, q) - truth))
        out += outside_both(tube, q, truth)
        findings += len(tube.discontinuities)
    table.row(
        f"simulated hour, brackets every 10 s, {n_seeds} seeds",
        "max <= floor/700",
        f"floor/{1 / worst_floor:.0f}",
        worst_floor <= 1 / 700,
    )
    table.row(
        "the same", "rms <= 0.7x linear", f"{worst_linear:.2f}x at worst", worst_linear <= 0.7
    )
    table.row(
        "the same",
        "truth inside 100 %, nothing invented",
        f"{out} outside, {findings} findings",
        not out and not findings,
    )


def pinged(table: Table, n_seeds: int) -> None:
    """Pings with heavy tails."""
    ratios, by_linear, out, lines, hubers = [], [], 0, [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng(100 + seed)
        pair = oscillator(rng)
        a = nanoseconds(np.arange(0, 3590, 10.0))
        r, h = snapshots(pair, a, *pings(rng, len(a)))
        tube = Tube(Evidence.of(a, r, h), CRYSTALS)
        q = queries(rng, 0, 3580, 5_000)
        truth = pair.at(q)
        error = rms(tube.convert(q).estimate - truth)
        linear_rms = rms(linear(a, r, q) - truth)
        ratios.append(error / min(linear_rms, local_regression(a, r, h, q, truth)[1]))
        by_linear.append(linear_rms / error)
        lines.append(one_line(a, r, q, truth, False) / error)
        hubers.append(one_line(a, r, q, truth, True) / error)
        out += outside_both(tube, q, truth)
    table.row(
        f"pings, {n_seeds} seeds",
        "rms <= better of linear, local regression",
        f"{max(ratios):.2f}x at worst, {np.median(ratios):.2f}x median",
        max(ratios) <= 1,
    )
    table.row(
        "the same",
        "median rms <= linear/15",
        f"linear/{np.median(by_linear):.0f}",
        bool(np.median(by_linear) >= 15),
    )
    table.note(
        "the same, one line; Huber",
        f"{np.median(lines):.0f}x; {np.median(hubers):.0f}x the tube's rms",
    )
    table.row("the same", "truth inside 100 %", f"{out} outside", not out)


def faults(table: Table, n_seeds: int, noise: str, records: bool = False) -> None:
    """Slewing, suspends, steps, resets and outliers of one machine, through its clock graph."""
    tally = Tally()
    for seed in range(n_seeds):
        rng = np.random.default_rng(200 + seed)
        tally.add(Machine(rng, noise, records), queries(rng, 0, 3580, 2_000))
    read = "local brackets" if noise == "local" else "the counter by pings"
    read += ", frequency recorded" if records else ""
    table.row(
        f"hour of faults, {read}, {n_seeds} seeds",
        "each found by its kind, in its zone, with its size; none invented",
        str(tally),
        not tally.lost and not tally.invented,
    )
    for lost in tally.lost[:5]:
        table.note("not found", str(lost))
    table.row(
        "the same, every clock to every other",
        "truth inside 100 %",
        f"{tally.outside} of {tally.converted} outside; {tally.ambiguous} had no estimate, "
        "being two instants",
        not tally.outside,
    )


def few(table: Table, n: int) -> None:
    """1, 2 and 5 snapshots, and beyond the ends, at a constant rate."""
    for count in (1, 2, 5):
        out = 0
        for seed in range(n):
            rng = np.random.default_rng(1_000 * count + seed)
            pair = knees(rng, 4000, np.array([rng.uniform(-D, D)]), np.array([]))
            a = nanoseconds(1000 + np.arange(count) * 10.0)
            r, h = snapshots(pair, a, *brackets(rng, count))
            tube = Tube(Evidence.of(a, r, h), CRYSTALS)
            ends = np.array([-60.0, -10.0, 10.0, 60.0])
            q = nanoseconds(
                np.concatenate(
                    [
                        1000 + ends + (ends > 0) * (count - 1) * 10.0,
                        1000 + rng.uniform(0, 10.0 * count, 50),
                    ]
                )
            )
            out += outside_both(tube, q, pair.at(q))
        table.row(
            f"{count} snapshots, and 10 s and 60 s beyond, {n} cases",
            "inside 100 %",
            f"{out} outside",
            not out,
        )


def bending(rng: np.random.Generator, most: int) -> tuple[Pair, Limits, float]:
    """A rate that changes up to `most` times by 0.1 to 500 ppm, its limits, and its length in s."""
    count = 1 if most == 1 else int(rng.integers(2, most + 1))
    times = np.cumsum(rng.uniform(40, 120, count)) + 60
    steps = 10 ** rng.uniform(-1, np.log10(500), count) * rng.choice([-1, 1], count)
    rates = rng.uniform(-D, D) + np.concatenate([[0], np.cumsum(steps)]) * 1e-6
    seconds = float(times[-1] + 100)
    limits = Limits(max(2e-3, float(np.abs(rates).max())), 1e-9)
    return knees(rng, seconds, rates, times), limits, seconds


def knees_of(table: Table, n: int) -> None:
    """Knees: a rate that changes, once and repeatedly."""
    for what, most in (("single", 1), ("series of", 8)):
        out = guaranteed_out = 0
        for seed in range(n):
            rng = np.random.default_rng(50_000 + seed)
            pair, limits, seconds = bending(rng, most)
            a = nanoseconds(np.arange(0, seconds, 10.0))
            r, h = snapshots(pair, a, *brackets(rng, len(a)))
            tube = Tube(Evidence.of(a, r, h), limits)
            q = queries(rng, 0, (a[-1] - START_NS) * 1e-9, 3_000)
            truth = pair.at(q)
            out += outside(tube, q, truth) > 0
            guaranteed_out += outside(tube, q, truth, "guaranteed") > 0
        table.row(
            f"{n} {what} knees",
            "estimated and guaranteed inside 100 %",
            f"{out} and {guaranteed_out} cases with a truth outside",
            not out and not guaranteed_out,
        )


def all_pairs(a: Values, r: Values, h: Values, q: Values, slope: float, width: float) -> float:
    """The median width of the intersection of every snapshot's cone."""
    x, at = (a - a[0]).astype(np.float64), (q - a[0]).astype(np.float64)
    reach = width * np.abs(at[:, None] - x)
    middle = (r - r[0]) + slope * (at[:, None] - x)
    return float(np.median((middle + h + reach).min(1) - (middle - h - reach).max(1)))


def widths(table: Table) -> None:
    """The bars against all pairs of cones, and for a shared oscillator."""
    rng = np.random.default_rng(7)
    pair = oscillator(rng)
    a = nanoseconds(np.arange(0, 3590, 10.0))
    r, h = snapshots(pair, a, *brackets(rng, len(a)))
    q = queries(rng, 0, 3580, 2_000)
    tube = Tube(Evidence.of(a, r, h), CRYSTALS)
    run = tube.runs.slope[0] / 2**52, tube.runs.width[0] / 2**52
    cones: tuple[tuple[Bars, tuple[float, float]], ...] = (
        ("guaranteed", (0.0, 2 * D)),
        ("estimated", run),
    )
    for bars, (slope, width) in cones:
        got = tube.convert(q, bars=bars)
        brute = all_pairs(a, r, h, q, slope, width)
        ratio = float(np.median(got.latest - got.earliest)) / brute
        table.row(
            f"width, {bars}", "median <= 1.1x all pairs of cones", f"{ratio:.3f}x", ratio <= 1.1
        )
    rng = np.random.default_rng(8)
    straight = knees(rng, 4000, np.array([0.0]), np.array([]))
    r, h = snapshots(straight, a, np.full(len(a), 49.0), rng.uniform(-49, 49, len(a)))
    got = Tube(Evidence.of(a, r, h), SHARED).convert(q)
    half = float(np.median(got.latest - got.earliest) / 2)
    table.row(
        "width, shared oscillator, 10 s, h 50 ns",
        "median <= +-50 ns",
        f"+-{half:.1f} ns",
        half <= 50,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few seeds")
    quick = parser.parse_args().quick
    table = Table()
    local_brackets(table, 3 if quick else 20)
    pinged(table, 4 if quick else 20)
    faults(table, 4 if quick else 20, "local")
    faults(table, 4 if quick else 20, "pings")
    faults(table, 4 if quick else 20, "local", records=True)
    few(table, 30 if quick else 300)
    knees_of(table, 30 if quick else 300)
    recorded_changes(table, 60 if quick else 400)
    widths(table)
    recorded.rows(table, SHARED)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
