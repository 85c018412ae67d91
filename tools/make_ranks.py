"""Files of the ranks of one job, made from one Kineto trace of PyTorch, with a truth that is known.

    python -m tools.make_ranks KINETO.json.gz -o DIR [--ranks 8] [--seed 1] [--seconds 60]
        [--resets 1] [--least-us 500]

The steps of the file are repeated. Each rank begins its recording within two seconds, arrives at
each collective late by a lognormal jitter (median 300 us), and leaves it together with the others,
within 5 us. Then each rank gets a clock of its own: up to 50 ms off, up to 30 ppm fast or slow, and
set once by 3 ms to 1 s in --resets of them. DIR gets rank0.json and so on, and truth.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Event = dict[str, Any]

START_NS: Final = 1_700_000_000_000_000_000
"""The true time at which the job begins."""

JITTER_NS: Final = 300_000
LEAVES_WITHIN_NS: Final = 5_000
STARTS_WITHIN_NS: Final = 2_000_000_000
OFFSET_NS: Final = 50_000_000
DRIFT_PPM: Final = 30.0
LEAST_RESET_NS: Final = 3_000_000
MOST_RESET_NS: Final = 1_000_000_000

WAITS: Final = ("allreduce", "allgather", "reduce_scatter", "alltoall", "barrier")


class RankClock(NamedTuple):
    """What the clock of a rank reads, as a function of true time (ns).

    Attributes:
        offset_ns: what it is ahead when the job begins.
        drift_ppm: how much it is fast.
        set_at_ns, set_by_ns: when it is set, in true time, and by how much; 0 if never.
    """

    offset_ns: int
    drift_ppm: float
    set_at_ns: int = 0
    set_by_ns: int = 0

    def read(self, true_ns: Values) -> Values:
        """The readings at true times, int64 ns."""
        drift = np.rint((true_ns - START_NS) * (self.drift_ppm * 1e-6)).astype(np.int64)
        moved = np.where(true_ns >= self.set_at_ns, self.set_by_ns, 0)
        return true_ns + self.offset_ns + drift + moved


class Rank(NamedTuple):
    """The file of a rank, its clock, and the true time of its first and last event."""

    path: Path
    clock: RankClock
    first_ns: int
    last_ns: int


class _Steps(NamedTuple):
    """What one copy of the steps holds: times in ns from its begin.

    Attributes:
        events: those that are kept, in order.
        begins: of each event.
        anchors: the begin of the copy, and the end of each collective.
        collectives: which event each collective is.
        length_ns: of the copy.
    """

    events: list[Event]
    begins: Values
    anchors: Values
    collectives: Values
    length_ns: int


def make_ranks(
    kineto: Path,
    folder: Path,
    *,
    ranks: int = 8,
    seed: int = 1,
    seconds: float = 60.0,
    resets: int = 1,
    least_us: float = 500.0,
) -> list[Rank]:
    """Write the files of the ranks, and truth.json beside them.

    Args:
        kineto: path of a trace with collectives, JSON, plain or gzip.
        folder: exists.
        resets: how many of the clocks are set once.
        least_us: shorter events than this are left out, but for collectives.

    Raises:
        ValueError: the trace has no collective that waits for all ranks.
    """
    rng = np.random.default_rng(seed)
    steps = _steps(_read(kineto), least_us)
    copies = max(1, round(seconds * 1e9 / steps.length_ns))
    arrivals, leaves = _meetings(rng, steps, copies, ranks)
    end = int(leaves[:, -1].max())
    reset = set(rng.permutation(ranks)[:resets].tolist())
    made = []
    for rank in range(ranks):
        clock = _clock(rng, end, is_set=rank in reset)
        first = int(rng.integers(0, STARTS_WITHIN_NS))
        begins, durations = _times(steps, arrivals[rank], leaves[rank], copies)
        kept = np.flatnonzero(begins >= first)
        kept = kept[np.argsort(begins[kept], kind="stable")]
        path = folder / f"rank{rank}.json"
        low, high = begins[kept] + START_NS, (begins + durations)[kept] + START_NS
        events = [steps.events[number % len(steps.events)] for number in kept.tolist()]
        _write(path, rank, ranks, events, clock.read(low), clock.read(high))
        made.append(Rank(path, clock, int(low[0]), int(high.max())))
    _write_truth(folder / "truth.json", made)
    return made


def _read(path: Path) -> list[Event]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    events: list[Event] = found["traceEvents"] if isinstance(found, dict) else found
    return [event for event in events if event.get("ph") == "X"]


def _is_collective(event: Event) -> bool:
    name = event.get("args", {}).get("Collective name", "").strip("_")
    return event.get("cat") == "kernel" and name.startswith(WAITS)


def _steps(events: list[Event], least_us: float) -> _Steps:
    """One copy of the steps: from the begin of the first ProfilerStep to the end of the last."""
    marks = [event for event in events if str(event.get("name")).startswith("ProfilerStep")]
    marks = marks or events
    begin = min(_ns(event["ts"]) for event in marks)
    end = max(_ns(event["ts"]) + _ns(event["dur"]) for event in marks)
    kept = [
        event
        for event in events
        if begin <= _ns(event["ts"])
        and _ns(event["ts"]) + _ns(event["dur"]) <= end
        and (event["dur"] >= least_us or "Collective name" in event.get("args", {}))
    ]
    kept.sort(key=lambda event: _ns(event["ts"]))
    begins = np.array([_ns(event["ts"]) - begin for event in kept], dtype=np.int64)
    which = np.array([k for k, event in enumerate(kept) if _is_collective(event)], dtype=np.int64)
    if not len(which):
        raise ValueError("no event is a collective that no rank leaves before all have entered")
    ends = begins[which] + [_ns(kept[k]["dur"]) for k in which.tolist()]
    return _Steps(kept, begins, np.concatenate([[0], ends]), which, end - begin)


def _ns(us: float) -> int:
    return round(us * 1000)


def _meetings(
    rng: np.random.Generator, steps: _Steps, copies: int, ranks: int
) -> tuple[Values, Values]:
    """When each rank enters and leaves each collective: (ranks, copies * collectives), from 0."""
    n = len(steps.collectives)
    begins = steps.begins[steps.collectives]
    takes = steps.anchors[1:] - begins
    work = begins - steps.anchors[:-1]
    rest = steps.length_ns - int(steps.anchors[-1])
    late = rng.lognormal(np.log(JITTER_NS), 1.0, (ranks, copies * n)).astype(np.int64)
    apart = rng.integers(-LEAVES_WITHIN_NS, LEAVES_WITHIN_NS + 1, (ranks, copies * n))
    arrivals = np.empty((ranks, copies * n), dtype=np.int64)
    leaves = np.empty_like(arrivals)
    free = np.zeros(ranks, dtype=np.int64)
    for k in range(copies * n):
        pause = rest if k and k % n == 0 else 0
        arrivals[:, k] = free + pause + work[k % n] + late[:, k]
        free = leaves[:, k] = arrivals[:, k].max() + takes[k % n] + apart[:, k]
    return arrivals, leaves


def _times(steps: _Steps, arrivals: Values, leaves: Values, copies: int) -> tuple[Values, Values]:
    """Begin and duration of all events of a rank, copy by copy."""
    n = len(steps.collectives)
    rest = steps.length_ns - int(steps.anchors[-1])
    before = np.searchsorted(steps.anchors, steps.begins, side="right") - 1
    since = steps.begins - steps.anchors[before]
    lasts = np.array([_ns(event["dur"]) for event in steps.events], dtype=np.int64)
    begins, durations = [], []
    for copy in range(copies):
        own = leaves[copy * n : (copy + 1) * n]
        begin = int(leaves[copy * n - 1]) + rest if copy else 0
        begun = np.concatenate([[begin], own])[before] + since
        lasted = lasts.copy()
        begun[steps.collectives] = arrivals[copy * n : (copy + 1) * n]
        lasted[steps.collectives] = own - begun[steps.collectives]
        begins.append(begun)
        durations.append(lasted)
    return np.concatenate(begins), np.concatenate(durations)


def _clock(rng: np.random.Generator, length_ns: int, *, is_set: bool) -> RankClock:
    offset = int(rng.integers(-OFFSET_NS, OFFSET_NS + 1))
    drift = float(rng.uniform(-DRIFT_PPM, DRIFT_PPM))
    at = START_NS + int(rng.uniform(0.2, 0.8) * length_ns)
    size = np.exp(rng.uniform(np.log(LEAST_RESET_NS), np.log(MOST_RESET_NS)))
    by = int(rng.choice([-1, 1]) * size)
    return RankClock(offset, drift, at, by) if is_set else RankClock(offset, drift)


def _write(
    path: Path, rank: int, ranks: int, events: list[Event], low: Values, high: Values
) -> None:
    """low, high: what the clock reads when each event begins and ends."""
    head = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": ranks}}
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        for number, (event, begin, end) in enumerate(
            zip(events, low.tolist(), high.tolist(), strict=True)
        ):
            rest = {key: value for key, value in event.items() if key not in ("ts", "dur")}
            text = json.dumps(rest)[:-1]
            file.write(",\n" * (number > 0))
            file.write(f'{text}, "ts": {_us(begin)}, "dur": {_us(max(0, end - begin))}}}')
        file.write("\n]}\n")


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _write_truth(path: Path, ranks: list[Rank]) -> None:
    rows = [
        {"file": one.path.name, "first_ns": one.first_ns, "last_ns": one.last_ns}
        | one.clock._asdict()
        for one in ranks
    ]
    path.write_text(json.dumps({"start_ns": START_NS, "ranks": rows}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kineto", type=Path, help="trace of one rank, with collectives")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--resets", type=int, default=1, help="how many clocks are set once")
    parser.add_argument("--least-us", type=float, default=500.0, help="leave out shorter events")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for rank in make_ranks(
        options.kineto,
        options.out,
        ranks=options.ranks,
        seed=options.seed,
        seconds=options.seconds,
        resets=options.resets,
        least_us=options.least_us,
    ):
        print(f"{rank.path}: {rank.clock}")


if __name__ == "__main__":
    main()
