"""Ranks of one job, merged: is the truth inside every bar, and how far off are the estimates?

    python -m benchmarks.merge_ranks [KINETO.json.gz] [--ranks 8] [--seconds 60] [--seeds 1,2,3]
        [--resets 0,1,8]

tools/make_ranks.py makes the ranks of a real trace ($TRACETIME_DATA, else ../shared/data), each on
a clock of its own. They are merged without options. 20,000 instants of each rank, the last ones
beside its reset, are put on the clock of the first. The two naive merges of the same files: the
least timestamp of each is 0; and all clocks are one. Exits with 1 where a row misses its bar.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.recorded import DATA
from benchmarks.table import Table
from tools.make_ranks import Rank, make_ranks
from tracetime.graph.tube.results import Bars
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.report import report_of

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KINETO: Final = DATA / "other" / "json" / "hta_nccl_data.json.gz"
INSTANTS: Final = 20_000
NEAR_NS: Final = 2_000_000_000
"""So far from a reset are the instants beside it."""
TIMES_BETTER: Final = 20


class _Errors(NamedTuple):
    """Of instants of all ranks but the first, in ns.

    Attributes:
        outside: how many truths are outside, by kind of bars.
        merged: of the estimates; NaN where there is none.
        by_minimum, by_clock: of the naive merges.
        halves: half the estimated bars.
    """

    outside: dict[Bars, int]
    merged: Floats
    by_minimum: Floats
    by_clock: Floats
    halves: Floats


def _instants(rng: np.random.Generator, one: Rank, first: Rank) -> Values:
    """True times of one rank; a tenth of them within 2 s of each reset of it or of the first."""
    t = rng.integers(one.first_ns, one.last_ns + 1, INSTANTS)
    each = INSTANTS // 10
    for k, rank in enumerate(rank for rank in (one, first) if rank.clock.set_by_ns):
        near = rank.clock.set_at_ns + rng.integers(-NEAR_NS, NEAR_NS, each)
        t[k * each : (k + 1) * each] = near
    return np.clip(t, one.first_ns, one.last_ns)


def _measure(joined: MergedTraces, ranks: list[Rank], seed: int) -> _Errors:
    rng = np.random.default_rng(seed)
    first = ranks[0]
    begins = [int(rank.clock.read(np.array([rank.first_ns]))[0]) for rank in ranks]
    outside: dict[Bars, int] = {"estimated": 0, "guaranteed": 0}
    columns: list[tuple[Floats, ...]] = []
    for number, one in enumerate(ranks[1:], 1):
        t = _instants(rng, one, first)
        reads, truth = one.clock.read(t), first.clock.read(t)
        sides = {}
        for bars in outside:
            got = joined.clocks.convert(
                reads,
                joined.home(number),
                joined.home(0),
                policy="tube",
                bars=bars,
                bounds=True,
                errors="mask",
            )
            sides[bars] = [_less(side, truth) for side in got]
            _, low, high = sides[bars]
            outside[bars] += int(((low > 0) | (high < 0)).sum())
        estimate, low, high = sides["estimated"]
        by_minimum = np.abs(reads - begins[number] + begins[0] - truth).astype(np.float64)
        by_clock = np.abs(reads - truth).astype(np.float64)
        columns.append((np.abs(estimate), by_minimum, by_clock, (high - low) / 2))
    return _Errors(outside, *(np.concatenate(column) for column in zip(*columns, strict=True)))


def _less(side: pa.Array, truth: Values) -> Floats:
    """How much more than the truth; NaN for null."""
    found: Floats = (
        pc.subtract(side, pa.array(truth)).cast(pa.float64()).to_numpy(zero_copy_only=False)
    )
    return found


def rows(table: Table, kineto: Path, seed: int, resets: int, options: argparse.Namespace) -> None:
    """The rows of one job."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = make_ranks(
            kineto,
            Path(folder),
            ranks=options.ranks,
            seed=seed,
            seconds=options.seconds,
            resets=resets,
        )
        size = sum(rank.path.stat().st_size for rank in ranks)
        start = perf_counter()
        with MergedTraces([rank.path for rank in ranks]) as joined:
            report = report_of(joined)
            took = perf_counter() - start
            got = _measure(joined, ranks, seed)
    untied = sum(file.offset_ns is None for file in report.files)
    what = f"{options.ranks} ranks, {resets} of them reset, seed {seed}"
    table.row(what, "tied without options", f"{untied} not tied", not untied)
    out = got.outside
    table.row(
        f"the same, {len(got.merged):,} instants",
        "truth inside every bar",
        f"outside {out['estimated']} estimated, {out['guaranteed']} guaranteed; bar "
        f"+- {np.nanmedian(got.halves) / 1e3:,.0f} us (median)",
        not any(out.values()),
    )
    known = got.merged[~np.isnan(got.merged)]
    error = float(np.median(known))
    by_minimum, by_clock = float(np.median(got.by_minimum)), float(np.median(got.by_clock))
    better = min(by_minimum, by_clock) / error
    table.row(
        "the same, error",
        f"median <= 1/{TIMES_BETTER} of both naive merges",
        f"median {error / 1e3:,.2f} us, worst {known.max() / 1e3:,.1f} us; by minimum "
        f"{by_minimum / 1e3:,.0f} us, by clocks {by_clock / 1e3:,.0f} us: 1/{better:,.0f}; "
        f"{len(got.merged) - len(known)} without an estimate",
        better >= TIMES_BETTER,
    )
    table.note("the same, merged in", f"{took:.1f} s, {size / 1e6:.0f} MB")


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kineto", nargs="?", type=Path, default=KINETO)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=_numbers, default=[1, 2, 3])
    parser.add_argument("--resets", type=_numbers, default=[0, 1, 8])
    options = parser.parse_args()
    table = Table()
    if not options.kineto.exists():
        table.note("ranks of a real trace", f"not measured: no file {options.kineto}")
        return 0
    for resets in options.resets:
        for seed in options.seeds:
            rows(table, options.kineto, seed, min(resets, options.ranks), options)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
