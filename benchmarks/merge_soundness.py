"""Is the truth inside every bar of merged files? In random worlds, from a seed.

    python -m benchmarks.merge_soundness [--worlds 100] [--seed 1]

Each world has two or three files of Chrome JSON with clocks of their own: an offset, a drift, and
in some a clock that is set once. They exchange messages or meet in collectives, and something is
amiss in many: wrong keys, keys that occur twice, messages one way only, stragglers, lost
collectives, files of different times. A truth outside its bar is a miss where the report tells no
step, wrong order or contradiction; with one it is counted. Exits with 1 for a miss.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.table import Table
from tools.make_ranks import START_NS, RankClock
from tracetime.graph.tube.results import Bars
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.report import MergeReport, report_of

Values = npt.NDArray[np.int64]
Event = dict[str, Any]

US, MS, S = 1_000, 1_000_000, 1_000_000_000
SECONDS: Final = 20
INSTANTS: Final = 500
BOTH: Final[tuple[Bars, ...]] = ("estimated", "guaranteed")


class World(NamedTuple):
    """Events of each file by true time, its clock, and how files are merged.

    events: of each file (true begin, true end, name, arguments).
    """

    events: list[list[tuple[int, int, str, Event]]]
    clocks: list[RankClock]
    options: dict[str, list[str]]


def _clock(rng: np.random.Generator, *, is_set: bool = False) -> RankClock:
    at = START_NS + int(rng.uniform(0.2, 0.8) * SECONDS * S)
    by = int(rng.choice([-1, 1]) * 10 ** rng.uniform(6, 9))
    drift = float(rng.uniform(-100, 100))
    return RankClock(int(rng.integers(-S, S)), drift, *((at, by) if is_set else ()))


def _messages(
    rng: np.random.Generator,
    back: float = 0.5,
    wrong: int = 0,
    twice: int = 0,
    is_set: bool = False,
) -> World:
    """Messages of two files. back: share of those from the second one to the first."""
    n = int(10 ** rng.uniform(1.5, 3))
    sent = START_NS + np.sort(rng.integers(0, SECONDS * S, n))
    got = sent + (20 * US + rng.lognormal(np.log(50 * US), 1.5, n)).astype(np.int64)
    comes_back = rng.random(n) < back
    keys = np.arange(n)
    received = keys.copy()
    for number in rng.choice(n - 3, min(wrong, n // 20), replace=False).tolist():
        received[number], received[number + 2] = received[number + 2], received[number]
    keys[rng.choice(n, min(twice, n // 20), replace=False)] = 7
    events: list[list[tuple[int, int, str, Event]]] = [[], []]
    for k in range(n):
        one = int(comes_back[k])
        events[one].append((int(sent[k]), int(sent[k]) + US, "send", {"id": int(keys[k])}))
        there = int(keys[received[k]])
        events[1 - one].append((int(got[k]), int(got[k]) + US, "receive", {"id": there}))
    clocks = [_clock(rng), _clock(rng, is_set=is_set)]
    return World(events, clocks, {"match": ["send=send recv=receive key=id"]})


def _collectives(
    rng: np.random.Generator, lost: int = 0, apart: bool = False, is_set: bool = False
) -> World:
    """Two or three files that meet; stragglers leave up to ms late."""
    files, n = int(rng.integers(2, 4)), int(rng.integers(60, 300))
    work = SECONDS * S / n
    steps = work * (0.8 + rng.exponential(10 ** rng.uniform(-3, -1), n))
    late = rng.lognormal(np.log(work / 100), 1, (files, n))
    kinds = np.arange(n) % int(rng.integers(1, 4))
    events: list[list[tuple[int, int, str, Event]]] = [[] for _ in range(files)]
    met = START_NS + np.cumsum(steps + late.max(axis=0))
    leaves = met + rng.integers(1, 6, (files, n)) * US
    straggles = rng.random((files, n)) < rng.choice([0.0, 0.05, 0.2])
    leaves += straggles * rng.exponential(work / 20, (files, n))
    for file in range(files):
        first = int(rng.integers(0, n // 4))
        numbers = np.arange(first, n)
        if apart:
            numbers = numbers[: n // 2] if file % 2 else numbers[numbers >= n * 5 // 8]
        elif lost:
            numbers = np.delete(numbers, rng.integers(0, len(numbers), lost))
        for k in numbers.tolist():
            begin = int(met[k] - late[:, k].max() + late[file, k])
            events[file].append((begin, int(leaves[file, k]), "meet", {"kind": int(kinds[k])}))
    clocks = [_clock(rng, is_set=is_set and file == files - 1) for file in range(files)]
    return World(events, clocks, {"together": ["name=meet key=kind"]})


CLASSES: Final[dict[str, Callable[[np.random.Generator], World]]] = {
    "messages both ways": _messages,
    "messages one way": lambda rng: _messages(rng, back=0.0),
    "a few messages back": lambda rng: _messages(rng, back=0.03),
    "wrong keys": lambda rng: _messages(rng, wrong=int(rng.integers(1, 4))),
    "keys that occur twice": lambda rng: _messages(rng, twice=int(rng.integers(2, 9))),
    "messages, and a clock that is set": lambda rng: _messages(rng, is_set=True),
    "collectives with stragglers": _collectives,
    "collectives, some lost": lambda rng: _collectives(rng, lost=int(rng.integers(1, 4))),
    "collectives, and a clock that is set": lambda rng: _collectives(rng, is_set=True),
    "collectives of files of different times": lambda rng: _collectives(rng, apart=True),
}


def _write(world: World, folder: Path) -> list[Path]:
    paths = []
    for number, (events, clock) in enumerate(zip(world.events, world.clocks, strict=True)):
        begins, ends = (np.array([event[k] for event in events], dtype=np.int64) for k in (0, 1))
        rows = [
            {"ph": "X", "pid": 1, "tid": k % 64, "name": name, "args": args}
            | {"ts": begin / US, "dur": max(0, end - begin) / US}
            for k, (begin, end, (_, _, name, args)) in enumerate(
                zip(
                    (clock.read(begins) - START_NS).tolist(),
                    (clock.read(ends) - START_NS).tolist(),
                    events,
                    strict=True,
                )
            )
        ]
        path = folder / f"file{number}.json"
        path.write_text(json.dumps({"traceEvents": rows}))
        paths.append(path)
    return paths


def _outside(
    joined: MergedTraces, world: World, rng: np.random.Generator, number: int, bars: Bars
) -> tuple[int, bool]:
    """How many truths of a file are outside its bars, and whether it is tied."""
    events = world.events[number]
    t = rng.integers(events[0][0], events[-1][1], INSTANTS)
    reads = world.clocks[number].read(t) - START_NS
    truth = pa.array(world.clocks[0].read(t) - START_NS)
    src, dst = joined.home(number), joined.home(0)
    got = joined.clocks.convert(
        reads, src, dst, policy="tube", bars=bars, bounds=True, errors="mask"
    )
    low, high = (np.asarray(side.fill_null(end)) for side, end in zip(got[1:], _ENDS, strict=True))
    known = bool(got.earliest.null_count < INSTANTS or got.latest.null_count < INSTANTS)
    return int(((low > np.asarray(truth)) | (np.asarray(truth) > high)).sum()), known


_ENDS: Final = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


def _is_told(report: MergeReport) -> bool:
    return bool(report.steps or report.wrong_orders or report.contradictions)


def rows(table: Table, worlds: int, seed: int) -> None:
    """A row for each class."""
    for name, make in CLASSES.items():
        counts: Counter[str] = Counter()
        for number in range(worlds):
            rng = np.random.default_rng([seed, number])
            world = make(rng)
            with tempfile.TemporaryDirectory() as folder:
                paths = _write(world, Path(folder))
                with MergedTraces(paths, **world.options) as joined:
                    told = _is_told(report_of(joined))
                    for file in range(1, len(paths)):
                        for bars in BOTH:
                            out, tied = _outside(joined, world, rng, file, bars)
                            counts["files"] += tied
                            counts["told" if told else "missed"] += out > 0
                            if out and not told:
                                table.note("missed", f"{name}, world {number}: {out} {bars}")
        table.row(
            f"{worlds} worlds: {name}",
            "no truth outside without a word",
            f"{counts['missed']} missed; {counts['told']} outside and told, of "
            f"{counts['files']} files that were tied, by both bars",
            not counts["missed"],
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=100, help="of each class")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = Table()
    rows(table, options.worlds, options.seed)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
