"""Are snapshots simultaneous? python -m benchmarks.simultaneous [--busy N] [--seconds S]

Other tools assume that the readings of a snapshot are simultaneous. This measures how far apart
they are, with the clocks of this machine, and whether its COARSE clocks are within their bars.
BOOTTIME and MONOTONIC differ by a constant, which readings of one between two of the other bound.
Other work on the machine changes the results: --busy adds processes that only count. Exits with 1
where a row misses its bar, except for the bars of an idle machine on a busy one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tracetime as tt
from benchmarks.table import Table
from tracetime import ClockId, open_trace
from tracetime._kernels.capture import Brackets, read_one
from tracetime.sources.posix import CODES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from recorded import extensions_of, packets_of

Values = npt.NDArray[np.int64]

SNAPSHOTS = 2_000
CALLS = 100_000
NEAR_NS, FAR_NS = 60, 400
OUTSIDE_NS = 100
READS = 500_000
MONOTONIC, BOOTTIME = ClockId(3), ClockId(6)
COARSE = {"MONOTONIC_COARSE": "MONOTONIC", "REALTIME_COARSE": "REALTIME"}
S = 10**9


def ahead_ns() -> tuple[int, int]:
    """How far BOOTTIME is ahead of MONOTONIC, at least and at most."""
    codes = [CODES["MONOTONIC"], CODES["BOOTTIME"]]
    readings, centre, half = (np.empty((READS, 2), dtype=np.int64) for _ in range(3))
    assert Brackets(codes, [0.0, 0.0], [0, 0], 1).fill(readings, centre, half) < 0
    ahead = readings[:, 1] - readings[:, 0] - centre[:, 1]
    return int((ahead - half[:, 1]).max()), int((ahead + half[:, 1]).min())


def columns(path: Path) -> dict[ClockId, tuple[Values, Values]]:
    """By clock, the readings in the snapshots of a file, and their half-widths."""
    data = path.read_bytes()
    taken = [p.clock_snapshot.clocks for p in packets_of(data) if p.HasField("clock_snapshot")]
    found: dict[ClockId, list[tuple[int, int]]] = {}
    for clocks, extension in zip(taken, extensions_of(data), strict=True):
        for clock, half_ns in zip(clocks, extension.half_width_ns, strict=True):
            found.setdefault(ClockId(clock.clock_id), []).append((clock.timestamp, half_ns))
    return {
        clock: (np.array([r for r, _ in read]), np.array([h for _, h in read]))
        for clock, read in found.items()
    }


def snapshots(table: Table, path: Path, truth: tuple[int, int], *, idle: bool) -> None:
    """Snapshots of all clocks of the host, back to back."""
    with tt.record(path, interval=None) as rec:
        while rec.snapshots < SNAPSHOTS:
            rec.snapshot()
    found = columns(path)
    fell = {str(clock): int((np.diff(read) < 0).sum()) for clock, (read, _) in found.items()}
    table.row(
        f"{len(fell)} clocks, {SNAPSHOTS:,} snapshots back to back",
        "0 backward steps",
        f"{sum(fell.values())}",
        not any(fell.values()),
    )
    (mono, mono_half), (boot, boot_half) = found[MONOTONIC], found[BOOTTIME]
    off = np.abs(boot - mono - sum(truth) // 2)
    near, far = int(np.percentile(off, 99)), int(off.max())
    what = f"BOOTTIME - MONOTONIC, less the truth (known to {(truth[1] - truth[0]) / 2:.0f} ns)"
    bar = f"p99 <= {NEAR_NS} ns, worst <= {FAR_NS} ns"
    got = f"p99 {near} ns, worst {far} ns"
    if idle:
        table.row(what, bar, got, near <= NEAR_NS and far <= FAR_NS)
    else:
        table.note(f"{what}; on an idle machine {bar}", got)
    missed = int((off > mono_half + boot_half + (truth[1] - truth[0]) // 2).sum())
    table.row(
        "the same, within both half-widths",
        "0 outside",
        f"{missed} outside, half-widths {int(np.median(mono_half))} + "
        f"{int(np.median(boot_half))} ns in the middle",
        not missed,
    )


def calls(table: Table, path: Path) -> None:
    """A MONOTONIC instant between a BOOTTIME begin and end, placed by floor."""
    mono, boot = CODES["MONOTONIC"], CODES["BOOTTIME"]
    with tt.record(path, interval=0.01) as rec:
        track = rec.track("calls")
        for _ in range(CALLS):
            begun, inside, ended = read_one(boot), read_one(mono), read_one(boot)
            rec.begin("call", timestamp=begun, clock="BOOTTIME", track=track)
            rec.instant("inside", timestamp=inside, clock="MONOTONIC", track=track)
            rec.end(timestamp=ended, clock="BOOTTIME", track=track)
    with open_trace(path) as trace:
        placed = np.asarray(trace.read_all()["trace_time"]).reshape(-1, 3)
    off = np.maximum(placed[:, 0] - placed[:, 1], placed[:, 1] - placed[:, 2])
    table.row(
        f"{CALLS:,} instants inside calls, by floor",
        f"0 outside by > {OUTSIDE_NS} ns",
        f"{int((off > OUTSIDE_NS).sum())}; {int((off > 0).sum())} at all, by up to "
        f"{max(0, int(off.max()))} ns",
        not (off > OUTSIDE_NS).any(),
    )


def lags(table: Table, path: Path, seconds: float) -> None:
    """Events in COARSE clocks, each with BOOTTIME read around it."""
    boot = CODES["BOOTTIME"]
    around = []
    with tt.record(path, [*COARSE, "BOOTTIME"], interval=1.0) as rec:
        track = rec.track("events")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name in COARSE:
                before, read, after = read_one(boot), read_one(CODES[name]), read_one(boot)
                rec.instant("e", timestamp=read, clock=name, track=track)
                around.append((before, after))
            time.sleep(0)
    with open_trace(path) as trace:
        found = trace.read_all("tube")
        half = max(int(one.half_width_ns.max()) for one in trace.clocks.readings())
    bounds = np.array(around)
    earliest, latest = (np.asarray(found[name]) for name in ("earliest", "latest"))
    off = np.maximum(earliest - bounds[:, 1], bounds[:, 0] - latest)
    table.row(
        f"{len(off):,} events in COARSE clocks, by the tube",
        "0 outside",
        f"{int((off > 0).sum())} outside, by up to {max(0, int(off.max())) / 1e6:.2f} ms; "
        f"half-width {half / 1e6:.2f} ms",
        not (off > 0).any(),
    )


def rate(table: Table, path: Path, *, idle: bool) -> None:
    """Snapshots of 10 ms, from start to start."""
    with tt.record(path, interval=0.01) as rec:
        time.sleep(5.0)
        taken = rec.snapshots
    if idle:
        table.row("snapshots of 10 ms, in 5 s", ">= 99 a second", f"{taken / 5:.1f}", taken >= 495)
    else:
        table.note("snapshots of 10 ms, in 5 s; on an idle machine >= 99 a second", f"{taken / 5}")


def count() -> None:
    """Keep a CPU busy."""
    while os.getppid() > 1:
        sum(range(100_000))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, default=0, help="processes that keep CPUs busy")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="how long COARSE clocks are read"
    )
    options = parser.parse_args()
    others = [multiprocessing.Process(target=count, daemon=True) for _ in range(options.busy)]
    for other in others:
        other.start()
    idle = not others and os.getloadavg()[0] < 0.5
    table = Table()
    table.note("load of the machine, 1 min", f"{os.getloadavg()[0]:.2f}")
    truth = ahead_ns()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.pftrace"
        snapshots(table, path, truth, idle=idle)
        calls(table, path)
        rate(table, path, idle=idle)
        lags(table, path, options.seconds)
    for other in others:
        other.terminate()
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
