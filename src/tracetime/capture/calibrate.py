"""`calibrate`: the clocks of this machine, each measured against a reference."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np

from tracetime._kernels.capture import read_column
from tracetime.capture.sample import Finding
from tracetime.capture.sampling import TRIES, Sampler
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.json_facts import Document, as_json
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.clocks.snapshot import single
from tracetime.errors import SourceError, UsageError
from tracetime.graph.values import Values
from tracetime.sources.device import CalibratedDevice, TimeDomain
from tracetime.sources.posix import read_adjtimex
from tracetime.sources.source import ClockSource, Unavailable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, NotEmpty, NotNegative


SNAPSHOTS: Final = 1_000
"""Enough for a 99th percentile: ten half-widths are above it."""

MOST_SNAPSHOTS: Final = 1_000_000
"""Rows of Python objects are kept until the end: some 200 bytes a clock and snapshot."""

SECONDS: Final = 1.0
_READS: Final = 200
"""To average what one reading costs."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Quantiles of some half-widths, ns.

    Attributes:
        min: the smallest.
        median: the median.
        p99: the 99th percentile.
        max: the largest.
    """

    min: Count
    median: Count
    p99: Count
    max: Count


@as_json("name _id _tick_ns read_ns offset_ns _drift_ppm _half_width_ns note? time_domains?")
@dataclass(frozen=True, slots=True)
class ClockCalibration(Document):
    """One clock against the reference.

    Attributes:
        name: the name of the clock.
        short_name: what a caller may call it: `TSC`, `vulkan:0`; else the name.
        id: its number, as in traces.
        tick_ns: what it steps by, ns, as measured.
        read_ns: how long one reading takes, ns.
        offset_ns: by how much it is ahead of the reference, ns: the median over the snapshots.
        drift_ppm: by how much it runs faster than the reference, ppm; null where the time was too
            short to measure it.
        half_width_ns: how far the offset can be off, ns; all 0 of the reference.
        note: what a user should know about it; absent for nothing.
        time_domains: what the device can be calibrated with; absent of other clocks.
    """

    name: str
    short_name: str
    id: ClockId
    tick_ns: float
    read_ns: Count
    offset_ns: int
    drift_ppm: float | None
    half_width_ns: Spread | None
    note: str | None
    time_domains: tuple[TimeDomain, ...] = ()

    @property
    def _id(self) -> Count:
        """The number of the clock, as in traces."""
        return self.id.clock

    @property
    def _tick_ns(self) -> NotNegative:
        """The resolution of the clock, ns, as measured."""
        return round(self.tick_ns, 3)

    @property
    def _drift_ppm(self) -> float | None:
        """The drift against the reference, ppm; null where the time was too short to measure it."""
        return None if self.drift_ppm is None else round(self.drift_ppm, 4)

    @property
    def _half_width_ns(self) -> Spread:
        """The error of the offset at most, ns; all 0 of the reference."""
        return self.half_width_ns or Spread(0, 0, 0, 0)


@as_json("reference clocks unavailable findings?")
@dataclass(frozen=True, slots=True)
class Calibration(Document):
    """The clocks of a machine, as they were found.

    Attributes:
        reference: the name of the clock that the others are compared with.
        clocks: the reference, and the others.
        unavailable: the clocks that are not available here.
        findings: faults of the clocks, each kind once; absent without any.
        adjtimex: what steers the clocks; None if the system does not say.
    """

    reference: str
    clocks: Annotated[tuple[ClockCalibration, ...], NotEmpty]
    unavailable: tuple[Unavailable, ...]
    findings: tuple[Finding, ...]
    adjtimex: KernelClock | None


def calibrate(
    clocks: ClockLike | Iterable[ClockLike] | None = None,
    n: int = SNAPSHOTS,
    *,
    reference: ClockLike | None = None,
    tries: int = TRIES,
    seconds: float = SECONDS,
    sources: Sequence[ClockSource] | None = None,
) -> Calibration:
    """Sample clocks `n` times over some seconds, and describe them.

    Args:
        clocks, reference, tries, sources: as `Sampler`.
        n: snapshots, 1 to 1,000,000.
        seconds: the time to spread them over, so that drift can show, 0 to 3600.

    Raises:
        UsageError: an argument out of range, or a name that is no clock.
        SourceError: a requested clock is not available, or vanished.
    """
    if (
        not isinstance(n, Integral)
        or not isinstance(seconds, Real)
        or not 1 <= n <= MOST_SNAPSHOTS
        or not 0 <= seconds <= 3600
    ):
        raise UsageError(f"n {n!r}, seconds {seconds!r}: use 1 to {MOST_SNAPSHOTS}, 0 to 3600")
    with Sampler(clocks, reference=reference, tries=tries, sources=sources) as sampler:
        taken: dict[ClockId, list[tuple[int, int, int]]] = {one: [] for one in sampler.domains}
        failed: dict[ClockId, str] = {}
        findings: dict[tuple[str, str], Finding] = {}
        first = sampler.reference
        start = time.perf_counter()
        for k in range(n):
            # Fake clocks do not advance while this waits: use 0 seconds with them.
            wait = start + seconds * k / max(1, n - 1) - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            sample = sampler.sample()
            failed |= sample.failed
            for finding in sample.findings:
                findings.setdefault((finding.code, finding.clock), finding)
            snapshot = sample.snapshot
            base = single(snapshot.readings[first].value)
            for clock, reading in snapshot.readings.items():
                centre = 0 if clock == first else int(snapshot.centre_ns[clock][0])
                half = 0 if clock == first else int(snapshot.half_width_ns[clock][0])
                taken[clock].append((base + centre, single(reading.value) - base - centre, half))
        lost = [
            Unavailable(sampler.names[clock], failed.get(clock, "it was never read"))
            for clock, rows in taken.items()
            if not rows
        ]
        return Calibration(
            sampler.names[first],
            tuple(_describe(sampler, clock, rows) for clock, rows in taken.items() if rows),
            (*sampler.unavailable, *lost),
            tuple(findings.values()),
            read_adjtimex(),
        )


def _describe(
    sampler: Sampler, clock: ClockId, rows: list[tuple[int, int, int]]
) -> ClockCalibration:
    at, offsets, halves = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    domain = sampler.domains[clock]
    source = sampler.source(clock)
    spread = None
    if clock != sampler.reference:
        ordered = np.sort(halves)
        spread = Spread(
            int(ordered[0]),
            int(ordered[(len(ordered) - 1) // 2]),
            int(ordered[-(-99 * len(ordered) // 100) - 1]),
            int(ordered[-1]),
        )
    return ClockCalibration(
        sampler.names[clock],
        sampler.short_names[clock],
        clock,
        float(domain.tick_ns or 0),
        _read_ns(source, clock),
        int(np.sort(offsets)[(len(offsets) - 1) // 2]),
        None if spread is None else _drift_ppm(at, offsets, spread, domain.drift_ppm),
        spread,
        sampler.notes.get(clock),
        source.time_domains if isinstance(source, CalibratedDevice) else (),
    )


def _drift_ppm(at: Values, offsets: Values, spread: Spread, limit_ppm: float) -> float | None:
    """The slope of the offset by least squares; None if half-widths hide the allowed drift."""
    span_ns = int(at[-1] - at[0])
    if span_ns <= 0 or 2 * spread.median / span_ns > limit_ppm * 1e-6:
        return None
    # Floats hold only differences from the first snapshot.
    x = (at - at[0]).astype(np.float64)
    y = (offsets - offsets[0]).astype(np.float64)
    x -= x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum()) * 1e6


def _read_ns(source: ClockSource, clock: ClockId) -> int:
    """The duration of one reading, ns."""
    code = source.native_code(clock)
    partners = source.partners(clock)
    try:
        if code is not None:
            return _native_read_ns(code)
        start_ns = time.perf_counter_ns()
        for _ in range(_READS):
            if partners:
                source.read_together(clock, partners[0])
            else:
                source.read(clock)
    except SourceError:
        return 0
    return (time.perf_counter_ns() - start_ns) // _READS


def _native_read_ns(code: int) -> int:
    column = np.empty(2_000, dtype=np.int64)
    start_ns = time.perf_counter_ns()
    read_column(code, column, False)
    return round((time.perf_counter_ns() - start_ns) / len(column))
