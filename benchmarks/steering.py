"""Changes of rate that adjtimex recorded: bars with that record, and without it."""

from __future__ import annotations

import numpy as np

from benchmarks.clocks import START_NS, Pair, Values, knees, nanoseconds, snapshots
from benchmarks.rivals import outside, queries
from benchmarks.table import Table
from tracetime.graph.tube.corrections import correction_of
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

SPACING_S = 10.0
LIMITS = Limits(600e-6, 1e-9)


def steered(rng: np.random.Generator) -> tuple[Pair, Values, Values]:
    """A slewed clock against the raw one, the raw readings, and their frequencies (2^-16 ppm).

    With changes of 0.0001 to 100 ppm, up to one in every gap.
    """
    n = int(rng.choice([30, 60, 120]))
    gaps = np.flatnonzero(rng.random(n - 1) < rng.choice([0.03, 0.2, 1.0]) * rng.random())
    times = gaps * SPACING_S + rng.uniform(0, SPACING_S, len(gaps))
    steps = 10 ** rng.uniform(-4, 2, len(gaps)) * rng.choice([-1, 1], len(gaps))
    ppm = np.concatenate([[0.0], np.clip(np.cumsum(steps), -450, 450)]) + rng.uniform(-40, 40)
    scaled_ppm = np.rint(ppm * 65_536).astype(np.int64)
    pair = knees(rng, n * SPACING_S, scaled_ppm / 65_536e6, times)
    a = nanoseconds(np.arange(n) * SPACING_S)
    return pair, a, scaled_ppm[np.searchsorted(times, (a - START_NS) * 1e-9, side="right")]


def recorded_changes(table: Table, n: int) -> None:
    """Bars over changes of rate that noise may hide."""
    out = {True: 0, False: 0}
    guaranteed_out = changes = 0
    for seed in range(n):
        rng = np.random.default_rng(70_000 + seed)
        pair, a, scaled_ppm = steered(rng)
        half = np.full(len(a), rng.choice([1.0, 100.0, 2_000.0, 20_000.0]))
        r, h = snapshots(pair, a, half, rng.uniform(-half, half))
        q = queries(rng, 0, (a[-1] - START_NS) * 1e-9, 3_000)
        truth = pair.at(q)
        changes += int(np.sum(np.diff(scaled_ppm) != 0))
        for recorded in out:
            correction = correction_of(np.zeros_like(a), scaled_ppm) if recorded else None
            tube = Tube(Evidence.of(a, r, h, correction=correction), LIMITS)
            out[recorded] += outside(tube, q, truth) > 0
            guaranteed_out += outside(tube, q, truth, "guaranteed") > 0
    table.row(
        f"{changes} changes of rate that snapshots record, {n} clocks",
        "estimated and guaranteed inside 100 %",
        f"{out[True]} and {guaranteed_out} clocks with a truth outside",
        not out[True] and not guaranteed_out,
    )
    table.note("the same, not recorded", f"{out[False]} clocks with a truth outside estimated bars")
