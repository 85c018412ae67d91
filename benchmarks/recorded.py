"""Rows of the accuracy table that rest on recorded clocks: $TRACETIME_DATA, else ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.clocks import Values
from benchmarks.rivals import linear, rms
from benchmarks.table import Table
from tracetime.graph.ticks import learn_rate, nominal_ns
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

DATA = Path(
    os.environ.get("TRACETIME_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
_N_SLEWED = 1800  # the readings of slew_drift.csv that its schedule of slews covers


def rows(table: Table, shared: Limits) -> None:
    """All rows; shared: limits of two clocks of one oscillator."""
    if not DATA.is_dir():
        table.note("recorded clocks", f"not measured: no data at {DATA}")
        return
    real(table, shared)
    slewed(table, shared)
    hosts(table)


def _columns(name: str) -> dict[str, Values]:
    columns = np.genfromtxt(DATA / "clocks" / name, delimiter=",", names=True, dtype=np.int64)
    return {key: np.ascontiguousarray(columns[key]) for key in columns.dtype.names}


def _half(deviation_ns: Values, shared: Limits) -> Values:
    half: Values = np.ceil(deviation_ns * (1 + shared.drift)).astype(np.int64) + 2
    return half


def _outside(tube: Tube, a: Values, b: Values, h: Values) -> int:
    """How many readings are outside their bars, widened by their own half-widths."""
    got = tube.convert(a)
    return int(np.sum((b < got.earliest - h) | (b > got.latest + h)))


def real(table: Table, shared: Limits) -> None:
    """A raw TSC of unknown rate to MONOTONIC_RAW, decimated to a snapshot every 10 s."""
    data = _columns("real_drift.csv")
    ticks, b, h = data["tsc_ticks"], data["monotonic_raw_ns"], _half(data["deviation_ns"], shared)
    errors, out, straight = [], 0, []
    for phase in range(10):
        pick = np.arange(phase * 10, len(b), 100)
        a = nominal_ns(ticks, learn_rate(ticks[pick], b[pick]))
        tube = Tube(Evidence.of(a[pick], (b - a)[pick], h[pick]), shared)
        span = (a >= a[pick[0]]) & (a <= a[pick[-1]])
        errors.append(tube.convert(a[span]).estimate - b[span])
        straight.append(linear(a[pick], (b - a)[pick], a[span]) - b[span])
        out += _outside(tube, a[span], b[span], h[span])
    error = np.concatenate(errors)
    table.row(
        "real_drift.csv, TSC of unknown rate, 10 s, ten phases",
        "max <= 40, rms <= 6 ns, inside",
        f"max {np.abs(error).max()}, rms {rms(error):.1f} ns (linear "
        f"{rms(np.concatenate(straight)):.1f}), {out} outside",
        bool(np.abs(error).max() <= 40 and rms(error) <= 6 and not out),
    )


def slewed(table: Table, shared: Limits) -> None:
    """MONOTONIC_RAW to BOOTTIME while the kernel slews, decimated to 10, 5 and 1 s."""
    data = {key: column[:_N_SLEWED] for key, column in _columns("slew_drift.csv").items()}
    a, b, h = data["monotonic_raw_ns"], data["boottime_ns"], _half(data["deviation_ns"], shared)
    for step, bar in ((100, 60), (50, 60), (10, 15)):
        errors, straight, medians, out = [], [], [], 0
        for phase in range(10):
            pick = np.arange(phase * step // 10, len(a), step)
            tube = Tube(Evidence.of(a[pick], (b - a)[pick], h[pick]), shared)
            span = (a >= a[pick[0]]) & (a <= a[pick[-1]])
            errors.append(tube.convert(a[span]).estimate - b[span])
            medians.append(float(np.median(np.abs(errors[-1]))))
            straight.append(linear(a[pick], (b - a)[pick], a[span]) - b[span])
            out += _outside(tube, a[span], b[span], h[span])
        ratio = rms(np.concatenate(straight)) / rms(np.concatenate(errors))
        table.row(
            f"slew_drift.csv, every {step // 10} s, ten phases",
            f"rms <= linear/{bar}, median <= 10 ns, inside",
            f"linear/{ratio:.0f} ({rms(np.concatenate(errors)):.0f} ns), median "
            f"{np.median(medians):.1f} ns, {out} outside",
            ratio >= bar and np.median(medians) <= 10 and not out,
        )


def hosts(table: Table) -> None:
    """Offsets between hosts in XDF files, by the clock of the collector."""
    try:
        from benchmarks.xdf import beside_pyxdf, left_out, resets_of, streams
    except ImportError:
        table.note("XDF files", "not measured: pyxdf is not installed (it is in the extra 'test')")
        return
    found = streams(DATA / "other" / "xdf")
    right = sum(resets_of(stream) == stream.resets for stream in found)
    table.row(
        "XDF files, offsets by the collector's clock",
        "resets where pyxdf finds them",
        f"{right} of {len(found)} streams, {sum(len(s.resets) for s in found)} resets",
        right == len(found),
    )
    several = [stream for stream in found if len(stream.collector_ns) > 1]
    n = sum(len(stream.collector_ns) for stream in several)
    out = sum(left_out(stream) for stream in several)
    table.row(
        "the same, each of them left out in turn",
        "inside the bar widened by h",
        f"{out} of {n} outside",
        not out,
    )
    anew = sum(left_out(stream, assume_anew=True) for stream in several)
    table.note("the same, h assumed from the others alone", f"{anew} of {n} outside")
    for one in beside_pyxdf(DATA / "other" / "xdf" / "clock_resets.xdf"):
        table.note(
            f"clock_resets.xdf as pyxdf synchronises it, {one.stream}, {one.clock}",
            f"{one.outside:,} of {one.samples:,} outside the bar, by {one.beyond_us:.0f} us at "
            f"most; off by {one.off_us[0]:.0f} to {one.off_us[1]:.0f} us",
        )
