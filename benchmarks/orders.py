"""Orders: bars and estimates from messages alone, beside what else could be drawn through them.

    python -m benchmarks.orders [--quick] [--seeds 50] [ROW ...]

ROW: the beginning of the name of a part (estimate, wander, knees, faults, sound, mesh, machines,
recorded, speed); all without one. Exits with 1 where a row misses its bar. Design figures are those
of a slow plain implementation on the same worlds (orders_yardstick.csv).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import order_set_backs, order_soundness
from benchmarks.hulls import Points, bisected, strips
from benchmarks.order_cases import faults, knees, machines, mesh, speed
from benchmarks.order_worlds import (
    A,
    Answers,
    B,
    Clocks,
    Floats,
    Model,
    S,
    World,
    answers,
    both_ways,
    graph_of,
    inner,
    readings,
)
from benchmarks.table import Table

YARDSTICK: Final = Path(__file__).parent / "orders_yardstick.csv"

QUEUES: Final = {
    "10/s, lognormal, load 10 %": Model(10, **both_ways("lognormal", 0.1)),
    "10/s, lognormal, load 90 %": Model(10, **both_ways("lognormal", 0.9)),
    "10/s, Pareto, load 90 %": Model(10, **both_ways("pareto", 0.9)),
    "100/s, lognormal, load 10 %": Model(100, **both_ways("lognormal", 0.1)),
    "100/s, lognormal, load 90 %": Model(100, **both_ways("lognormal", 0.9)),
    "100/s, Pareto, load 50 %": Model(100, **both_ways("pareto", 0.5)),
}
WANDERS: Final = {
    f"wander {walk} at {rate}/s": Model(rate, clocks=Clocks(walk=walk * 1e-6))
    for rate in (10, 100)
    for walk in (0.1, 0.3)
}

THIN: Final = {
    f"wander {walk:g}, 20/s there, {back} in all back": Model(
        40, clocks=Clocks(walk=walk * 1e-6), share_back=back / 12_000
    )
    for walk in (0.01, 0.1, 1.0)
    for back in (5, 20, 100)
}


class Yardstick:
    """By model and seed: rms of the estimate, and the median half-width of its bar, ns."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], tuple[float, float]] = {}
        with YARDSTICK.open(newline="") as file:
            for row in csv.DictReader(file):
                values = float(row["rms_ns"]), float(row["half_width_ns"])
                self._rows[row["model"], int(row["seed"])] = values

    def seeds(self, model: str, n: int) -> list[int]:
        return [seed for seed in range(1, n + 1) if (model, seed) in self._rows]

    def rms(self, model: str, seed: int) -> float:
        return self._rows[model, seed][0]

    def half(self, model: str, seed: int) -> float:
        return self._rows[model, seed][1]


def asked(world: World, q: Floats) -> tuple[Answers, Answers]:
    """The estimated bar and the guaranteed one of B, at instants of A."""
    a, b = readings(world, q)
    graph = graph_of(world)
    return answers(graph, A, B, a, b), answers(graph, A, B, a, b, "guaranteed")


def lines(world: World, q: Floats) -> dict[str, float]:
    """rms of the lines between hulls, against the truth: by what they are."""
    bounds = world.bounds()
    points = Points(bounds.a.astype(np.float64), bounds.bound.astype(np.float64), bounds.above)
    truth = world.offset(q)
    every = q[-1] + 5 * S
    found = {
        "bisector of all": bisected(points, every, q),
        "bisector 60 s": bisected(points, 60 * S, q),
        "bisector 10 s": bisected(points, 10 * S, q),
        "strip 10 s": strips(points, 10 * S, q),
        "strip 2 s": strips(points, 2 * S, q),
    }
    # No line passes between the hulls of a window: it has no answer at all.
    return {
        name: float(np.sqrt(np.nanmean((v - truth) ** 2))) if np.isfinite(v).any() else np.nan
        for name, v in found.items()
    }


def estimate(table: Table, n_seeds: int) -> None:
    """Estimates of queueing messages, against the yardstick and against lines between hulls."""
    yardstick, q = Yardstick(), inner(600)
    for name, model in QUEUES.items():
        rms, ratios, out = [], [], [0, 0]
        rivals: defaultdict[str, list[float]] = defaultdict(list)
        seeds = yardstick.seeds(name, n_seeds)
        for seed in seeds:
            world = model.world(seed)
            got, sure = asked(world, q)
            rms.append(got.rms)
            ratios.append(got.rms / yardstick.rms(name, seed))
            out[0] += int((got.outside > 0).sum())
            out[1] += int((sure.outside > 0).sum())
            for line, value in lines(world, q).items():
                rivals[line].append(value)
        best = float(np.median([yardstick.rms(name, seed) for seed in seeds]))
        ours = float(np.median(rms))
        table.row(
            f"{name}, {len(seeds)} seeds: rms",
            f"median <= {best:.0f} ns, each <= 1.3x",
            f"{ours:.0f} ns, {max(ratios):.2f}x at worst (seed {seeds[int(np.argmax(ratios))]})",
            ours <= best and max(ratios) <= 1.3,
        )
        table.row("the same", "0 outside", f"{out[0]} estimated, {out[1]} guaranteed", not any(out))
        gain = float(np.median(np.array(rivals["bisector 60 s"]) / rms))
        table.row("the same", "bisector of 60 s 10x to 400x", f"{gain:.0f}x", gain >= 10)
        told = "; ".join(
            f"{line} {np.median(v):,.0f}"
            if np.isfinite(v).all()
            else f"{line} no answer in {int(np.isnan(v).sum())}"
            for line, v in rivals.items()
        )
        table.note("the same, rms of lines between hulls, ns", told)


def wander(table: Table, n_seeds: int) -> None:
    """Clocks that wander more than undeclared limits say."""
    yardstick, q = Yardstick(), inner(600)
    for name, model in WANDERS.items():
        ratios, outside = [], {}
        seeds = yardstick.seeds(name, n_seeds)
        if not seeds:
            continue
        for seed in seeds:
            got, sure = asked(model.world(seed), q)
            ratios.append(got.median_half / yardstick.half(name, seed))
            bad = int((got.outside > 0).sum()) + int((sure.outside > 0).sum())
            if bad:
                outside[seed] = f"{bad} (by {got.outside.max():,.0f})"
        ratio = float(np.median(ratios))
        table.row(f"{name}, {len(seeds)} seeds", "0 outside", str(outside or 0), not outside)
        table.row(
            "the same, median half-width",
            "<= 1.10x the yardstick",
            f"{ratio:.3f}x, worst {max(ratios):.2f}x",
            ratio <= 1.10,
        )
    _thin(table, n_seeds, q)


def _thin(table: Table, n_seeds: int, q: Floats) -> None:
    """Too few messages one way to say how much the clocks wander."""
    for name, model in THIN.items():
        outside, half, rms = 0, [], []
        for seed in range(1, n_seeds + 1):
            got, sure = asked(model.world(seed), q)
            outside += int((got.outside > 0).sum()) + int((sure.outside > 0).sum())
            half.append(got.median_half / sure.median_half)
            rms.append(got.rms)
        table.row(f"{name}, {n_seeds} seeds", "0 outside", str(outside), not outside)
        table.note(
            "the same",
            f"half-width {np.median(half):.2f}x the guaranteed; rms {np.median(rms) / 1e3:,.1f} us",
        )


PARTS: Final = {
    "sound": order_soundness.rows,
    "set-back": order_set_backs.rows,
    "estimate": estimate,
    "wander": wander,
    "knees": knees,
    "faults": faults,
    "mesh": mesh,
    "machines": machines,
    "speed": speed,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("parts", nargs="*", metavar="ROW")
    options = parser.parse_args()
    n_seeds = 3 if options.quick else options.seeds
    table = Table()
    for name, part in PARTS.items():
        if not options.parts or any(name.startswith(wanted) for wanted in options.parts):
            part(table, n_seeds)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
