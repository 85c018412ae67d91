"""The tube against its twin: the same segments, outliers, runs and bars, to the last ns."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from twin.tube import ONE, Snap, TwinTube

from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.tube.tube import Tube


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """A clock whose rate changes and whose offset jumps, read with errors, small numbers."""
    n = draw(st.integers(1, 14))
    gaps = draw(st.lists(st.integers(1, 2_000), min_size=n, max_size=n))
    a = [sum(gaps[: k + 1]) for k in range(n)]
    rate, offset = draw(st.integers(-40, 40)), 0
    r, h = [], []
    for k in range(n):
        what = draw(st.integers(0, 11))
        if what == 0:
            rate = draw(st.integers(-40, 40))
        if what == 1:
            offset += draw(st.integers(-500, 500))
        offset += gaps[k] * rate // 1000
        half = draw(st.integers(0, 12))
        stray = draw(st.integers(-300, 300)) if what == 2 else 0
        r.append(offset + draw(st.integers(-half, half)) + stray)
        h.append(half)
    return a, r, h


limits = st.builds(Limits, st.sampled_from([0.0, 0.02, 0.05]), st.sampled_from([0.0, 0.001, 0.004]))


def twin_of(a: list[int], r: list[int], h: list[int], held: Limits) -> TwinTube:
    return TwinTube(
        [Snap(t, o - w, o + w) for t, o, w in zip(a, r, h, strict=True)],
        Fraction(slope_up(held.drift), ONE),
        Fraction(slope_up(held.wander), ONE),
    )


@settings(max_examples=200)
@given(snapshots(), limits)
def test_twin(given_snapshots: tuple[list[int], list[int], list[int]], held: Limits) -> None:
    a, r, h = given_snapshots
    twin = twin_of(a, r, h, held)
    tube = Tube(Evidence.of(np.array(a), np.array(r), np.array(h)), held)
    kept = [snap.a for snap in twin.snaps]
    at = np.unique(
        [t + d for t in kept for d in (-1, 0, 1, 7)] + [kept[0] - 5_000, kept[-1] + 5_000]
    )
    bars = tube.convert(at, bars="guaranteed")
    low = [math.floor(twin.guaranteed(int(t))[0]) + int(t) for t in at]
    high = [math.ceil(twin.guaranteed(int(t))[1]) + int(t) for t in at]
    assert bars.earliest.tolist() == low
    assert bars.latest.tolist() == high
    outliers = [d.a_from for d in tube.discontinuities if d.kind == "outlier"]
    assert {a[k] for k in twin.outliers} <= set(outliers)
    if tube.runs.strays.any():
        return  # the twin keeps them
    assert len(outliers) == len(twin.outliers)
    assert tube.runs.first.tolist() == [run.first for run in twin.runs]
    assert tube.runs.last.tolist() == [run.last for run in twin.runs]
    assert tube.runs.slope.tolist() == [run.slope * ONE for run in twin.runs]
    assert tube.runs.width.tolist() == [run.width * ONE for run in twin.runs]
    bars = tube.convert(at)
    assert (bars.earliest <= bars.estimate).all()
    assert (bars.estimate <= bars.latest).all()
    for t, earliest, latest in zip(
        at.tolist(), bars.earliest.tolist(), bars.latest.tolist(), strict=True
    ):
        least, most, wider = twin.estimated(t)
        low_end, high_end = t + math.floor(least), t + math.ceil(most)
        least, most = twin.guaranteed(t)
        if wider:
            assert t + math.floor(least) <= earliest <= low_end
            assert high_end <= latest <= t + math.ceil(most)
        elif (earliest, latest) != (low_end, high_end):
            # Where a run and the limits contradict each other, the limits hold for the whole row.
            assert (earliest, latest) == (t + math.floor(least), t + math.ceil(most))
