"""The cost and accuracy of sampling: python -m benchmarks.sampling

Each figure is compared, in one run, with single brackets of three back-to-back reads, and with bare
reads of the same clocks. Other work on the machine changes both.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from pathlib import Path
from time import perf_counter_ns

import numpy as np
import numpy.typing as npt

import tracetime as tt
from tracetime._kernels.capture import Brackets, read_column
from tracetime.graph.tube.limits import Limits
from tracetime.sources.local import LocalClocks
from tracetime.sources.posix import CODES, PosixSource, read_adjtimex

Values = npt.NDArray[np.int64]

ROWS = 2_000
ROUNDS = 20
BAR_NS = 6_000


def kernel_of(names: list[str], source: PosixSource, tries: int) -> Brackets:
    """The kernel as `Sampler` sets it up, the first name the reference."""
    domains = [source.domain(source.clocks[name]) for name in names]
    base = domains[0]
    return Brackets(
        [CODES[name] for name in names],
        [Limits.of(base.drift_ppm, one.drift_ppm).drift for one in domains],
        [math.ceil((base.tick_ns or 0) + (one.tick_ns or 0)) + 1 for one in domains],
        tries,
    )


def filled(kernel: Brackets, clocks: int, rows: int) -> tuple[Values, float]:
    """Half-widths, and ns a snapshot."""
    readings, centre, half = (np.empty((rows, clocks), dtype=np.int64) for _ in range(3))
    start = perf_counter_ns()
    assert kernel.fill(readings, centre, half) < 0
    return half, (perf_counter_ns() - start) / rows


def singly(kernel: Brackets, clocks: int, times: int) -> float:
    """Median ns of a call that fills one row: the cost of a snapshot, with the call."""
    arrays = [np.empty((1, clocks), dtype=np.int64) for _ in range(3)]
    taken = []
    for _ in range(times):
        start = perf_counter_ns()
        kernel.fill(*arrays)
        taken.append(perf_counter_ns() - start)
    return float(np.median(taken))


def read_ns(code: int) -> float:
    """ns of one bare read, in a series of reads."""
    column = np.empty(ROWS, dtype=np.int64)
    start = perf_counter_ns()
    read_column(code, column, False)
    return (perf_counter_ns() - start) / ROWS


def half_widths(source: PosixSource) -> dict[str, dict[str, float]]:
    """Half-widths of three clocks against MONOTONIC_RAW: best of 10, and the bar, interleaved."""
    names = ["MONOTONIC_RAW", "MONOTONIC", "BOOTTIME", "REALTIME"]
    best = kernel_of(names, source, 10)
    rows: dict[str, dict[str, float]] = {}
    halves = []
    widths: dict[str, list[Values]] = {name: [] for name in names[1:]}
    single = {
        name: Brackets([CODES[names[0]], CODES[name]], [0, 0], [0, 0], 1) for name in names[1:]
    }
    for _ in range(ROUNDS):
        halves.append(filled(best, 4, ROWS // ROUNDS)[0])
        for name in names[1:]:
            # With nothing added, half of the bracket rounded up.
            widths[name].append(filled(single[name], 2, ROWS // ROUNDS)[0][:, 1])
    all_halves = np.concatenate(halves)
    base = source.domain(source.clocks[names[0]])
    for column, name in enumerate(names[1:], 1):
        one = source.domain(source.clocks[name])
        drift = Limits.of(base.drift_ppm, one.drift_ppm).drift
        ticks = (base.tick_ns or 0) + (one.tick_ns or 0)
        alone = float(np.median(np.concatenate(widths[name])))
        rows[name] = {
            "median_ns": float(np.median(all_halves[:, column])),
            "p99_ns": float(np.percentile(all_halves[:, column], 99)),
            "max_ns": float(all_halves[:, column].max()),
            "single_half_ns": alone,
            "bar_ns": math.ceil(alone * (1 + drift)) + math.ceil(ticks) + 1,
            "ticks_ns": ticks,
        }
    return rows


def costs(source: PosixSource) -> dict[str, float]:
    """The cost of a snapshot of all seven clocks, best of 10."""
    names = list(CODES)
    kernel = kernel_of(names, source, 10)
    calls, reads = [], []
    for _ in range(ROUNDS):
        calls.append(singly(kernel, 7, 200))
        each = [read_ns(CODES[name]) for name in names]
        # As many reads as in the kernel: the reference, then each other clock and the reference.
        reads.append(10 * (each[0] + sum(one + each[0] for one in each[1:])))
    cost, bare = float(np.median(calls)), float(np.median(reads))
    return {"snapshot_ns": cost, "reads_ns": bare, "ratio": cost / bare, "reads": kernel.reads}


def objects() -> dict[str, float]:
    """The further cost in Python: snapshots as objects, adjtimex, a device."""

    def timed(work: object, times: int = 300) -> float:
        assert callable(work)
        taken = []
        for _ in range(times):
            start = perf_counter_ns()
            work()
            taken.append(perf_counter_ns() - start)
        return float(np.median(taken)) / 1_000

    figures = {"adjtimex_us": timed(read_adjtimex)}
    with tt.Sampler(list(CODES)) as sampler:
        figures["sample_of_7_us"] = timed(sampler.sample)
    local = LocalClocks()
    try:
        found = local.find("vulkan:0")[0]
    except tt.SourceError:
        return figures
    partner = found.source.partners(found.clock)[0]
    figures["vulkan_call_us"] = timed(lambda: found.source.read_together(found.clock, partner))
    local.close()
    with tt.Sampler(["vulkan:0"]) as sampler:
        halves = [int(sampler.sample().snapshot.half_width_ns[found.clock][0]) for _ in range(300)]
        figures["vulkan_sample_us"] = timed(sampler.sample)
        figures["vulkan_half_width_median_ns"] = float(np.median(halves))
        figures["vulkan_half_width_max_ns"] = float(max(halves))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args()
    source = PosixSource()
    widths, cost, more = half_widths(source), costs(source), objects()
    print(f"{platform.machine()}, {platform.system()} {platform.release()}\n")
    print("| half-width, best of 10, ns | median | p99 | max | single bracket / 2 | bar | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, row in widths.items():
        print(
            f"| {name} | {row['median_ns']:.0f} | {row['p99_ns']:.0f} | {row['max_ns']:.0f} | "
            f"{row['single_half_ns']:.0f} | {row['bar_ns']:.0f} | "
            f"{row['median_ns'] / row['bar_ns']:.2f} |"
        )
    print(
        f"\nsnapshot of 7 clocks, best of 10, {cost['reads']:.0f} reads: "
        f"{cost['snapshot_ns'] / 1000:.2f} us (bar 6), {cost['ratio']:.2f}x its bare reads, "
        f"{cost['reads_ns'] / 1000:.2f} us (bar 1.5x)"
    )
    for name, value in more.items():
        print(f"{name.replace('_', ' ')}: {value:.1f}")
    if options.json:
        options.json.write_text(
            json.dumps({"widths": widths, "cost": cost, "more": more}, indent=1)
        )
    wide = any(row["median_ns"] > row["bar_ns"] for row in widths.values())
    return 1 if wide or (cost["snapshot_ns"] > 6000 and cost["ratio"] > 1.5) else 0


if __name__ == "__main__":
    sys.exit(main())
