"""The accuracy of the tube beside what it must show: python benchmarks/accuracy.py [--quick]

One pair of clocks at a time, simulated (clocks.py) and recorded ($TRACETIME_DATA, else
../shared/data). Not measured here: rows that need several clocks or XDF files.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from clocks import (
    START_NS,
    Floats,
    Values,
    brackets,
    knees,
    nanoseconds,
    oscillator,
    pings,
    snapshots,
)

from tracetime.graph.tube import Evidence, Limits, Tube
from tracetime.graph.tube.rate import learn_rate, nominal_ns

DATA = Path(
    os.environ.get("TRACETIME_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
D = 100e-6
CRYSTALS = Limits(2 * D, 1e-6)
SHARED = Limits(500e-6, 1e-9)


def row(what: str, bar: str, got: str, ok: bool) -> None:
    print(f"{'ok  ' if ok else 'MISS'} | {what} | {bar} | {got} |", flush=True)


def rms(error: Floats | Values) -> float:
    return float(np.sqrt(np.mean(np.square(error.astype(np.float64)))))


def floor(a: Values, r: Values, q: Values) -> Values:
    return q + r[np.maximum(np.searchsorted(a, q, side="right") - 1, 0)]


def linear(a: Values, r: Values, q: Values) -> Values:
    return q + r[0] + np.rint(np.interp(q - a[0], a - a[0], r - r[0])).astype(np.int64)


def local_regression(
    a: Values, r: Values, half: Values, q: Values, truth: Values
) -> tuple[float, float]:
    """The best bandwidth (s), and its rms, of local lines weighted by 1/h^2."""
    x, y, at = (a - a[0]) * 1e-9, (r - r[0]).astype(np.float64), (q - a[0]) * 1e-9
    best = (0.0, np.inf)
    for bandwidth in (15.0, 30.0, 60.0, 120.0, 240.0):
        weight = np.exp(-0.5 * ((at[:, None] - x) / bandwidth) ** 2) / half**2.0 + 1e-300
        total = weight.sum(1)
        mx, my = (weight * x).sum(1) / total, (weight * y).sum(1) / total
        dx = x - mx[:, None]
        spread = (weight * dx * dx).sum(1)
        slope = np.where(
            spread > 1e-9 * total,
            (weight * dx * (y - my[:, None])).sum(1) / np.maximum(spread, 1e-30),
            0.0,
        )
        error = rms(my + slope * (at - mx) - (truth - q - r[0]))
        best = min(best, (bandwidth, error), key=lambda pair: pair[1])
    return best


def one_line(a: Values, r: Values, q: Values, truth: Values, huber: bool) -> float:
    """rms of one line through all snapshots: least squares, or Huber's loss as pyxdf takes it."""
    x, y, at = (a - a[0]) * 1e-9, (r - r[0]).astype(np.float64), (q - a[0]) * 1e-9
    weight = np.ones(len(x))
    for _ in range(50 if huber else 1):
        slope, start = np.polyfit(x, y, 1, w=np.sqrt(weight))
        off = np.abs(y - start - slope * x)
        scale = max(1.345 * 1.4826 * float(np.median(off)), 1.0)
        weight = np.minimum(1.0, scale / np.maximum(off, 1e-9))
    return rms(start + slope * at - (truth - q - r[0]))


def inside(tube: Tube, q: Values, truth: Values, bars: str = "estimated", slack: int = 0) -> int:
    """How many truths lie outside their bars."""
    got = tube.convert(q, bars=bars)  # type: ignore[arg-type]
    return int(np.sum((truth < got.earliest - slack) | (truth > got.latest + slack)))


def queries(rng: np.random.Generator, first: float, last: float, n: int) -> Values:
    return np.sort(nanoseconds(rng.uniform(first, last, n)))


def hour(n_seeds: int) -> None:
    """Local brackets every 10 s."""
    worst_floor, worst_linear, out, ref = 0.0, 0.0, 0, 0
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        pair = oscillator(rng)
        a = nanoseconds(np.arange(0, 3590, 10.0))
        r, h = snapshots(pair, a, *brackets(rng, len(a)))
        tube = Tube.build(Evidence.of(a, r, h), CRYSTALS)
        q = queries(rng, 0, 3580, 20_000)
        truth = pair.at(q)
        error = tube.convert(q).estimate - truth
        ratio = np.abs(error).max() / np.abs(floor(a, r, q) - truth).max()
        worst_floor = max(worst_floor, ratio)
        worst_linear = max(worst_linear, rms(error) / rms(linear(a, r, q) - truth))
        out += inside(tube, q, truth) + inside(tube, q, truth, "guaranteed")
        ref += len(tube.discontinuities)
    row(f"simulated hour, brackets every 10 s, {n_seeds} seeds", "max <= floor/700",
        f"floor/{1 / worst_floor:.0f}", worst_floor <= 1 / 700)  # fmt: skip
    row("the same", "rms <= 0.7x linear", f"{worst_linear:.2f}x at worst", worst_linear <= 0.7)
    row("the same", "truth inside 100 %", f"{out} outside, {ref} findings", not out)


def pinged(n_seeds: int) -> None:
    """Pings with heavy tails."""
    ratios, by_linear, out, lines, hubers = [], [], 0, [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng(100 + seed)
        pair = oscillator(rng)
        a = nanoseconds(np.arange(0, 3590, 10.0))
        r, h = snapshots(pair, a, *pings(rng, len(a)))
        tube = Tube.build(Evidence.of(a, r, h), CRYSTALS)
        q = queries(rng, 0, 3580, 5_000)
        truth = pair.at(q)
        error = rms(tube.convert(q).estimate - truth)
        straight = rms(linear(a, r, q) - truth)
        ratios.append(error / min(straight, local_regression(a, r, h, q, truth)[1]))
        by_linear.append(straight / error)
        lines.append(one_line(a, r, q, truth, False) / error)
        hubers.append(one_line(a, r, q, truth, True) / error)
        out += inside(tube, q, truth) + inside(tube, q, truth, "guaranteed")
    row(
        f"pings, {n_seeds} seeds",
        "rms <= better of linear, local regression",
        f"{max(ratios):.2f}x at worst, {np.median(ratios):.2f}x median",
        max(ratios) <= 1,
    )
    row("the same", "median rms <= linear/15", f"linear/{np.median(by_linear):.0f}",
        bool(np.median(by_linear) >= 15))  # fmt: skip
    row("the same", "(for comparison) one line; Huber",
        f"{np.median(lines):.0f}x; {np.median(hubers):.0f}x the tube's rms", True)  # fmt: skip
    row("the same", "truth inside 100 %", f"{out} outside", not out)


def faults(n_seeds: int, noise: str) -> None:
    """Slewing, suspends, steps, resets and outliers, at least 40 s apart."""
    n_jumps = found_jumps = n_outliers = found_outliers = invented = out = slews = 0
    drift = 700e-6
    limits = Limits(drift, 1e-6)
    for seed in range(n_seeds):
        rng = np.random.default_rng(200 + seed)
        pair = oscillator(rng)
        a = nanoseconds(np.arange(0, 3590, 10.0))
        # 40 s grid of places, three snapshots clear of the ends.
        places = rng.permutation(np.arange(60.0, 3520.0, 80.0))[:14] + rng.uniform(0, 30, 14)
        slewed, jumping = places[:2], places[2:10]
        for k, when in enumerate(slewed):
            end = when + (40.0 if k else 0.0)
            pair.offset += 400e3 * np.clip(pair.t - when, 0, None) * (k == 0)
            pair.offset -= 400e3 * np.clip(pair.t - end, 0, None) * (k == 1)
        for when in jumping:
            size = rng.choice([-1, 1]) * rng.uniform(3, 300) * drift * 10e9
            pair.jumps.append((float(when), float(np.rint(size))))
        half, error = (brackets if noise == "local" else pings)(rng, len(a))
        which = np.unique(((places[10:]) / 10).astype(int))
        r, h = snapshots(pair, a, half, error)
        r[which] += np.rint(
            rng.choice([-1, 1], len(which)) * rng.uniform(3, 100, len(which)) * drift * 10e9
        ).astype(np.int64)
        tube = Tube.build(Evidence.of(a, r, h), limits)
        found = tube.discontinuities
        jumps = [d for d in found if d.kind in ("suspend", "step", "reset")]
        got_outliers = {d.snapshots[0] for d in found if d.kind == "outlier"}
        n_jumps += len(jumping)
        n_outliers += len(which)
        matched = set()
        for when in jumping:
            at = int(nanoseconds(np.array([when]))[0])
            holds = [k for k, d in enumerate(jumps) if d.a_from <= at <= d.a_to]
            found_jumps += bool(holds)
            matched.update(holds)
        found_outliers += len(got_outliers & set(which.tolist()))
        invented += len(jumps) - len(matched) + len(got_outliers - set(which.tolist()))
        invented += sum(d.kind == "possible_step" for d in found)
        slews += sum(d.kind == "rate_change" for d in found)
        q = queries(rng, 0, 3580, 10_000)
        truth = pair.at(q)
        out += inside(tube, q, truth) + inside(tube, q, truth, "guaranteed")
    row(f"faults, {noise}, {n_seeds} seeds", "every jump in its zone, none invented",
        f"{found_jumps}/{n_jumps} jumps, {found_outliers}/{n_outliers} outliers, "
        f"{invented} invented, {slews} changes of rate of {2 * n_seeds}",
        found_jumps == n_jumps and found_outliers == n_outliers and not invented)  # fmt: skip
    row("the same", "truth inside 100 %", f"{out} outside", not out)


def few(n: int) -> None:
    """1, 2 and 5 snapshots, and beyond the ends, at a constant rate."""
    for count in (1, 2, 5):
        out = 0
        for seed in range(n):
            rng = np.random.default_rng(1_000 * count + seed)
            pair = knees(rng, 4000, np.array([rng.uniform(-D, D)]), np.array([]))
            a = nanoseconds(1000 + np.arange(count) * 10.0)
            r, h = snapshots(pair, a, *brackets(rng, count))
            tube = Tube.build(Evidence.of(a, r, h), CRYSTALS)
            ends = np.array([-60.0, -10.0, 10.0, 60.0])
            q = nanoseconds(
                np.concatenate([1000 + ends + (ends > 0) * (count - 1) * 10.0,
                                1000 + rng.uniform(0, 10.0 * count, 50)])
            )  # fmt: skip
            truth = pair.at(q)
            out += inside(tube, q, truth) + inside(tube, q, truth, "guaranteed")
        row(f"{count} snapshots, and 10 s and 60 s beyond, {n} cases", "inside 100 %",
            f"{out} outside", not out)  # fmt: skip


def bent(n: int) -> None:
    """Knees: a rate that changes, once and repeatedly."""
    for what, most in (("single", 1), ("series of", 8)):
        out = sure = 0
        for seed in range(n):
            rng = np.random.default_rng(50_000 + seed)
            count = 1 if most == 1 else int(rng.integers(2, most + 1))
            times = np.cumsum(rng.uniform(40, 120, count)) + 60
            steps = 10 ** rng.uniform(-1, np.log10(500), count) * rng.choice([-1, 1], count)
            rates = rng.uniform(-D, D) + np.concatenate([[0], np.cumsum(steps)]) * 1e-6
            pair = knees(rng, float(times[-1] + 100), rates, times)
            a = nanoseconds(np.arange(0, times[-1] + 100, 10.0))
            r, h = snapshots(pair, a, *brackets(rng, len(a)))
            limits = Limits(max(2e-3, float(np.abs(rates).max())), 1e-9)
            tube = Tube.build(Evidence.of(a, r, h), limits)
            q = queries(rng, 0, (a[-1] - START_NS) * 1e-9, 3_000)
            truth = pair.at(q)
            out += inside(tube, q, truth) > 0
            sure += inside(tube, q, truth, "guaranteed") > 0
        row(f"{n} {what} knees", "estimated and guaranteed inside 100 %",
            f"{out} and {sure} cases with a truth outside", not out and not sure)  # fmt: skip


def widths() -> None:
    """The bars against all pairs of cones, and for a shared oscillator."""
    rng = np.random.default_rng(7)
    pair = oscillator(rng)
    a = nanoseconds(np.arange(0, 3590, 10.0))
    r, h = snapshots(pair, a, *brackets(rng, len(a)))
    q = queries(rng, 0, 3580, 2_000)
    for bars, width in (("guaranteed", 2 * D), ("estimated", None)):
        tube = Tube.build(Evidence.of(a, r, h), CRYSTALS)
        got = tube.convert(q, bars=bars)  # type: ignore[arg-type]
        slope = 0.0
        if width is None:
            runs = tube.runs
            slope, width = runs.slope[0] / 2**52, runs.width[0] / 2**52
        x, at = (a - a[0]).astype(np.float64), (q - a[0]).astype(np.float64)
        reach = width * np.abs(at[:, None] - x)
        middle = (r - r[0]) + slope * (at[:, None] - x)
        brute = (middle + h + reach).min(1) - (middle - h - reach).max(1)
        ratio = float(np.median(got.latest - got.earliest) / np.median(brute))
        row(f"width, {bars}", "median <= 1.1x all pairs of cones", f"{ratio:.3f}x", ratio <= 1.1)
    rng = np.random.default_rng(8)
    straight = knees(rng, 4000, np.array([0.0]), np.array([]))
    r, h = snapshots(straight, a, np.full(len(a), 49.0), rng.uniform(-49, 49, len(a)))
    tube = Tube.build(Evidence.of(a, r, h), SHARED)
    got = tube.convert(q)
    half = float(np.median(got.latest - got.earliest) / 2)
    row("width, shared oscillator, 10 s, h 50 ns", "median <= +-50 ns", f"+-{half:.1f} ns",
        half <= 50)  # fmt: skip


def recorded(name: str) -> dict[str, Values]:
    columns = np.genfromtxt(DATA / "clocks" / name, delimiter=",", names=True, dtype=np.int64)
    return {key: np.ascontiguousarray(columns[key]) for key in columns.dtype.names}


def real() -> None:
    """A raw TSC whose rate is unknown to MONOTONIC_RAW, thinned to 10 s."""
    data = recorded("real_drift.csv")
    ticks, b, deviation = data["tsc_ticks"], data["monotonic_raw_ns"], data["deviation_ns"]
    errors, out, straight = [], 0, []
    for phase in range(10):
        pick = np.arange(phase * 10, len(b), 100)
        rate = learn_rate(ticks[pick], b[pick])
        a = nominal_ns(ticks, rate)
        h = np.ceil(deviation * (1 + SHARED.drift)).astype(np.int64) + 2
        tube = Tube.build(Evidence.of(a[pick], (b - a)[pick], h[pick]), SHARED)
        span = (a >= a[pick[0]]) & (a <= a[pick[-1]])
        got = tube.convert(a[span])
        errors.append(got.estimate - b[span])
        straight.append(linear(a[pick], (b - a)[pick], a[span]) - b[span])
        out += int(np.sum((b[span] < got.earliest - h[span]) | (b[span] > got.latest + h[span])))
    error = np.concatenate(errors)
    row("real_drift.csv, TSC of unknown rate, 10 s, ten phases", "max <= 40, rms <= 6 ns, inside",
        f"max {np.abs(error).max()}, rms {rms(error):.1f} ns (linear "
        f"{rms(np.concatenate(straight)):.1f}), {out} outside",
        bool(np.abs(error).max() <= 40 and rms(error) <= 6 and not out))  # fmt: skip


def slewed() -> None:
    """MONOTONIC_RAW to BOOTTIME while the kernel slews, thinned to 10, 5 and 1 s."""
    data = {key: column[:1800] for key, column in recorded("slew_drift.csv").items()}
    a, b, deviation = data["monotonic_raw_ns"], data["boottime_ns"], data["deviation_ns"]
    h = np.ceil(deviation * (1 + SHARED.drift)).astype(np.int64) + 2
    for thin, bar in ((100, 60), (50, 60), (10, 15)):
        errors, straight, medians, out = [], [], [], 0
        for phase in range(10):
            pick = np.arange(phase * thin // 10, len(a), thin)
            tube = Tube.build(Evidence.of(a[pick], (b - a)[pick], h[pick]), SHARED)
            span = (a >= a[pick[0]]) & (a <= a[pick[-1]])
            got = tube.convert(a[span])
            errors.append(got.estimate - b[span])
            medians.append(float(np.median(np.abs(errors[-1]))))
            straight.append(linear(a[pick], (b - a)[pick], a[span]) - b[span])
            out += int(
                np.sum((b[span] < got.earliest - h[span]) | (b[span] > got.latest + h[span]))
            )
        ratio = rms(np.concatenate(straight)) / rms(np.concatenate(errors))
        row(f"slew_drift.csv, every {thin // 10} s, ten phases",
            f"rms <= linear/{bar}, median <= 10 ns, inside",
            f"linear/{ratio:.0f} ({rms(np.concatenate(errors)):.0f} ns), median "
            f"{np.median(medians):.1f} ns, {out} outside",
            ratio >= bar and np.median(medians) <= 10 and not out)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds")
    quick = parser.parse_args().quick
    print("     | what | bar | got |")
    hour(3 if quick else 20)
    pinged(4 if quick else 20)
    faults(4 if quick else 20, "local")
    faults(4 if quick else 20, "pings")
    few(30 if quick else 300)
    bent(30 if quick else 300)
    widths()
    if DATA.is_dir():
        real()
        slewed()
    else:
        print(f"     | recorded clocks | | not measured: no data at {DATA} |")


if __name__ == "__main__":
    main()
