"""What every tube promises, whatever its snapshots: hypothesis looks for the worst of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tracetime.errors import AMBIGUOUS_SOURCE, OVERFLOW, REASONS, RESOLVED, ConversionError
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

INT64 = np.iinfo(np.int64)
BARS = ("estimated", "guaranteed")


def tube_of(snapshots: list[tuple[int, int, int]], limits: Limits) -> Tube:
    a, r, h = (np.array(column, dtype=np.int64) for column in zip(*snapshots, strict=True))
    return Tube(Evidence.of(a, r, h), limits)


class Clock:
    """An offset that is a chain of lines, each steeper or flatter by what the limits allow."""

    def __init__(self, start: int, spans: list[int], slopes: list[Fraction]) -> None:
        self.knots = [(start, Fraction(0))]
        for span, slope in zip(spans, slopes, strict=True):
            a, offset = self.knots[-1]
            self.knots.append((a + span, offset + span * slope))
        self.slopes = slopes

    def at(self, t: int) -> Fraction:
        for (a, offset), slope in reversed(list(zip(self.knots, self.slopes, strict=False))):
            if t >= a:
                return offset + (t - a) * slope
        return (t - self.knots[0][0]) * self.slopes[0]


@st.composite
def clocks(draw: st.DrawFn, most: Fraction, n: int) -> Clock:
    spans = draw(st.lists(st.integers(1, 10**10), min_size=n, max_size=n))
    # The worst that its limits allow is to run at one of them, then at the other.
    part = st.sampled_from([-1000, 1000]) | st.integers(-1000, 1000)
    parts = draw(st.lists(part, min_size=n, max_size=n))
    return Clock(draw(st.integers(-(10**18), 10**18)), spans, [most * p / 1000 for p in parts])


@st.composite
def readings(draw: st.DrawFn, clock: Clock, n: int) -> list[tuple[int, int, int]]:
    """Snapshots whose intervals hold the clock's offset, at their edge as often as not."""
    first, last = clock.knots[0][0], clock.knots[-1][0]
    out = []
    for _ in range(n):
        a = draw(st.integers(first, last))
        h = draw(st.integers(1, 500))
        error = draw(st.sampled_from([-1, 1]) | st.fractions(-1, 1)) * (h - 1)
        out.append((a, round(clock.at(a) + error), h))
    return out


def holds(tube: Tube, clock: Clock, at: list[int], bars: str) -> bool:
    got = tube.convert(np.array(at), bars=bars)  # type: ignore[arg-type]
    return all(
        earliest - t <= clock.at(t) <= latest - t and earliest <= estimate <= latest
        for t, estimate, earliest, latest in zip(
            at, *(column.tolist() for column in got[:3]), strict=True
        )
    )


def instants(data: st.DataObject, clock: Clock, before: int = 0, after: int = 0) -> list[int]:
    """Some instants of a clock, and those at which its rate changes, where it is farthest off."""
    first, last = clock.knots[0][0], clock.knots[-1][0]
    drawn = data.draw(st.lists(st.integers(first - before, last + after), min_size=1, max_size=20))
    return [*drawn, *(t for t, _ in clock.knots)]


@settings(max_examples=300)
@given(st.data())
def test_guaranteed_bars_hold_any_clock_within_its_limits(data: st.DataObject) -> None:
    clock = data.draw(clocks(Fraction(300, 10**6), data.draw(st.integers(1, 8))))
    tube = tube_of(data.draw(readings(clock, data.draw(st.integers(1, 12)))), Limits(300e-6, 1e-9))
    assert holds(tube, clock, instants(data, clock, before=10**9), "guaranteed")
    assert not {d.kind for d in tube.discontinuities} & {"step", "suspend", "reset"}


@settings(max_examples=300)
@given(st.data())
def test_a_smaller_drift_never_widens_a_guaranteed_bar(data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, 1000))
    clock = data.draw(clocks(Fraction(parts, 10**6), data.draw(st.integers(1, 4))))
    snapshots = data.draw(readings(clock, data.draw(st.integers(1, 12))))
    narrow, wide = (tube_of(snapshots, Limits(ppm * 1e-6, 0.5e-6)) for ppm in (parts, 1.5 * parts))
    at = np.array(instants(data, clock, 10**10, 10**10), dtype=np.int64)
    here, there = (tube.convert(at, bars="guaranteed") for tube in (narrow, wide))
    assert (there.earliest <= here.earliest).all()
    assert (here.latest <= there.latest).all()


@settings(max_examples=300)
@given(st.data())
def test_estimated_bars_hold_a_rate_that_wanders_within_its_limit(data: st.DataObject) -> None:
    mean, wander = Fraction(data.draw(st.integers(-299, 299)), 10**6), Fraction(1, 10**6)
    clock = data.draw(clocks(wander, data.draw(st.integers(1, 8))))
    clock = Clock(
        clock.knots[0][0],
        [b[0] - a[0] for a, b in zip(clock.knots, clock.knots[1:], strict=False)],
        [mean + slope for slope in clock.slopes],
    )
    tube = tube_of(data.draw(readings(clock, data.draw(st.integers(1, 12)))), Limits(300e-6, 1e-6))
    at = instants(data, clock)
    assert holds(tube, clock, at, "estimated")
    assert holds(tube, clock, at, "guaranteed")
    assert not tube.discontinuities


@settings(max_examples=200)
@given(st.data())
def test_more_snapshots_never_widen_a_guaranteed_bar(data: st.DataObject) -> None:
    clock = data.draw(clocks(Fraction(300, 10**6), 4))
    snapshots = data.draw(readings(clock, data.draw(st.integers(2, 12))))
    fewer = snapshots[: data.draw(st.integers(1, len(snapshots) - 1))]
    at = np.array([*instants(data, clock, 10**9, 10**9), *(a for a, _, _ in snapshots)])
    limits = Limits(300e-6, 1e-9)
    wide = tube_of(fewer, limits).convert(at, bars="guaranteed")
    narrow = tube_of(snapshots, limits).convert(at, bars="guaranteed")
    assert (narrow.earliest >= wide.earliest).all()
    assert (narrow.latest <= wide.latest).all()


# Close by and noisy: what knees, runs of one snapshot and strays are made of.
noisy_snapshots = st.lists(
    st.tuples(st.integers(1, 199), st.integers(-9, 9), st.integers(0, 8)), min_size=3, max_size=20
).map(lambda steps: [(sum(s[0] for s in steps[: k + 1]), *s[1:]) for k, s in enumerate(steps)])


@settings(max_examples=500)
@given(
    noisy_snapshots,
    st.sampled_from([1e-4, 0.01, 0.05, 0.1]),
    st.sampled_from([0, 1e-9, 1e-4, 1e-3, 0.01]),
)
@example([(8, 0, 7), (26, 0, 1), (49, 0, 2), (54, 13, 5), (150, 1, 2), (247, 2, 5)], 0.1, 0.0)
@example(
    [
        (100 * k, r, h)
        for k, (r, h) in enumerate([(0, 3), (-1, 2), (-2, 1), (0, 0), (-4, 2), (-5, 1), (0, 0)])
    ],
    0.05,
    0.0,
)
@example(
    [(100 * k, r, h) for k, (r, h) in enumerate([(0, 2), (0, 3), (0, 1), (6, 1), *[(0, 2)] * 7])],
    0.05,
    0.01,
)
@example(
    [
        (100 * k, r, h)
        for k, (r, h) in enumerate(
            [
                (0, 3),
                (-1, 3),
                (-2, 1),
                (-3, 1),
                (-4, 2),
                (-5, 1),
                (-6, 0),
                (-7, 2),
                (-8, 3),
                (-12, 1),
                (-10, 0),
                (-11, 1),
                (-12, 1),
                (-13, 2),
                (-15, 0),
                (-15, 1),
                (-16, 1),
                (-17, 0),
            ]
        )
    ],
    0.05,
    1e-4,
)
def test_estimated_bars_are_never_wider_than_guaranteed_ones(
    snapshots: list[tuple[int, int, int]], drift: float, wander: float
) -> None:
    tube = tube_of(snapshots, Limits(drift, wander))
    at = np.arange(snapshots[0][0] - 50, snapshots[-1][0] + 50)
    estimated, guaranteed = (tube.convert(at, bars=bars) for bars in BARS)  # type: ignore[arg-type]
    assert (estimated.earliest <= estimated.estimate).all()
    assert (estimated.estimate <= estimated.latest).all()
    # About a snapshot that estimated bars leave out as an outlier, the two may not even meet.
    if not tube.runs.strays.any():
        assert (estimated.earliest >= guaranteed.earliest).all()
        assert (estimated.latest <= guaranteed.latest).all()


anywhere = st.integers(int(INT64.min), int(INT64.max))
near_ends = st.integers(0, 10**6).map(lambda x: int(INT64.max) - x) | st.integers(0, 10**6).map(
    lambda x: int(INT64.min) + x
)
any_a = anywhere | near_ends | st.integers(-(10**6), 10**6)
# Far apart and close by: knees, jumps and outliers want snapshots of about one size.
any_snapshots = st.lists(
    st.tuples(
        any_a,
        st.integers(-1000, 1000) | st.integers(-(1 << 59), 1 << 59),
        st.integers(0, 1000) | st.integers(0, 1 << 59),
    ),
    min_size=1,
    max_size=12,
) | st.lists(
    st.tuples(st.integers(0, 3_000), st.integers(-300, 300), st.integers(0, 20)),
    min_size=1,
    max_size=14,
)
any_limits = st.builds(
    Limits,
    st.sampled_from([0.0, 1e-9, 1e-4, 0.1]),
    st.sampled_from([0.0, 1e-9, 1e-6, 0.01]),
    st.booleans(),
)


@settings(max_examples=500)
@given(any_snapshots, any_limits, st.lists(any_a, min_size=1, max_size=20))
def test_nothing_overflows_at_the_ends_of_int64(
    snapshots: list[tuple[int, int, int]], limits: Limits, values: list[int]
) -> None:
    tube = tube_of(snapshots, limits)
    at = np.array(values, dtype=np.int64)
    for bars in BARS:
        for inverse in (False, True):
            got = tube.convert(at, bars=bars, inverse=inverse)  # type: ignore[arg-type]
            assert (got.earliest <= got.latest).all()
            sure = got.status == RESOLVED
            assert (got.earliest[sure] <= got.estimate[sure]).all()
            assert (got.estimate[sure] <= got.latest[sure]).all()
            assert set(got.status.tolist()) <= {RESOLVED, AMBIGUOUS_SOURCE, OVERFLOW}
        back = tube.convert(at, bars=bars)  # type: ignore[arg-type]
        widest = max(abs(r) + h for _, r, h in snapshots) + int(2 * (limits.drift + 0.02) * 2.0**64)
        for t, earliest, latest in zip(
            values, back.earliest.tolist(), back.latest.tolist(), strict=True
        ):
            assert earliest == max(int(INT64.min), earliest) <= min(t + widest, int(INT64.max))
            assert latest >= max(t - widest, int(INT64.min))
    assert len(list(tube.discontinuities)) == len(tube.discontinuities)


@settings(max_examples=300)
@given(any_snapshots, any_limits, st.lists(any_a, min_size=1, max_size=20))
def test_an_array_converts_as_its_elements_do(
    snapshots: list[tuple[int, int, int]], limits: Limits, values: list[int]
) -> None:
    tube = tube_of(snapshots, limits)
    # Neighbours on both sides of every border between two rows.
    near = {a + d for a, _, _ in snapshots for d in (-1, 0, 1)}
    values = values + sorted(t for t in near if INT64.min <= t <= INT64.max)
    at = np.array(values, dtype=np.int64)
    low, high = at - np.minimum(at - INT64.min, 900).astype(np.int64), at
    for inverse in (False, True):
        wide = tube.convert(at, inverse=inverse, within=(low, high))
        for k in range(len(at)):
            one = slice(k, k + 1)
            alone = tube.convert(at[one], inverse=inverse, within=(low[one], high[one]))
            assert [int(c[k]) for c in wide] == [int(c[0]) for c in alone]
        whole = tube.convert(np.array(values, dtype=np.int64), inverse=inverse)
        ascending = tube.convert(np.sort(np.array(values, dtype=np.int64)), inverse=inverse)
        order = np.argsort(values, kind="stable")
        for k, value in enumerate(values):
            alone = tube.convert(np.array([value], dtype=np.int64), inverse=inverse)
            assert [int(c[k]) for c in whole] == [int(c[0]) for c in alone]
        assert [c[order].tolist() for c in whole] == [c.tolist() for c in ascending]


@settings(max_examples=300)
@given(st.data())
def test_one_hop_at_a_snapshot_of_half_width_0_is_the_floor_of_it(data: st.DataObject) -> None:
    """Readings are whole us, and rates whole ns per us: offsets are exact."""
    n = data.draw(st.integers(1, 6))
    spans = [1_000 * us for us in data.draw(st.lists(st.integers(1, 20), min_size=n, max_size=n))]
    rates = data.draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    clock = Clock(
        data.draw(st.integers(-1000, 1000)) * 1_000, spans, [Fraction(k, 1000) for k in rates]
    )
    start = clock.knots[0][0]
    at = sorted(data.draw(st.sets(st.integers(0, 40), min_size=1, max_size=20)))
    snapshots = []
    for a in (start + 1_000 * us for us in at):
        h = data.draw(st.sampled_from([0, 0, 1, 50]))
        snapshots.append((a, int(clock.at(a)) + data.draw(st.integers(-h, h)), h))
    tube = tube_of(snapshots, Limits(0.004, data.draw(st.sampled_from([1e-9, 1e-4]))))
    # Estimated bars may take a snapshot for an outlier.
    strays = set(tube.runs.evidence.a[tube.runs.strays > 0].tolist())
    for bars in BARS:
        exact = [
            (a, a + r)
            for a, r, h in snapshots
            if h == 0 and (bars == "guaranteed" or a not in strays)
        ]
        got = tube.convert(np.array([a for a, _ in exact], dtype=np.int64), bars=bars)  # type: ignore[arg-type]
        assert got.estimate.tolist() == [floor for _, floor in exact]
        if bars == "guaranteed":
            assert got.earliest.tolist() == got.latest.tolist() == got.estimate.tolist()


@settings(max_examples=200)
@given(any_snapshots, any_limits, st.randoms(use_true_random=False))
def test_the_order_of_adding_is_of_no_matter(
    snapshots: list[tuple[int, int, int]], limits: Limits, random: object
) -> None:
    shuffled = list(snapshots)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ends = sorted({a for a, _, _ in snapshots})
    at = np.array(ends + [a // 2 + b // 2 for a, b in pairwise(ends)], dtype=np.int64)
    one, two = tube_of(snapshots, limits), tube_of(shuffled, limits)
    for bars in BARS:
        for x, y in zip(
            one.convert(at, bars=bars),
            two.convert(at, bars=bars),
            strict=True,  # type: ignore[arg-type]
        ):
            assert x.tolist() == y.tolist()

    def results(tube: Tube, given_as: list[tuple[int, int, int]]) -> list[object]:
        return [
            (d.kind, d.a_from, d.a_to, d.size_ns, d.rate_ppm, [given_as[k] for k in d.snapshots])
            for d in tube.discontinuities
        ]

    for x, y in zip(results(one, snapshots), results(two, shuffled), strict=True):
        assert x[:5] == y[:5]
        assert sorted(x[5]) == sorted(y[5])


@settings(max_examples=300)
@given(any_snapshots, any_limits, st.lists(any_a, min_size=1, max_size=20))
def test_there_and_back_stays_within_the_bars(
    snapshots: list[tuple[int, int, int]], limits: Limits, values: list[int]
) -> None:
    tube = tube_of(snapshots, limits)
    at = np.array(values, dtype=np.int64)
    for bars in BARS:
        there = tube.convert(at, bars=bars)  # type: ignore[arg-type]
        fits = there.status == RESOLVED
        for b in (there.estimate, there.earliest, there.latest):
            fits &= (b > INT64.min) & (b < INT64.max)
        for b in (there.estimate, there.earliest, there.latest):
            back = tube.convert(b[fits], bars=bars, inverse=True)  # type: ignore[arg-type]
            assert (back.earliest <= at[fits]).all()
            assert (at[fits] <= back.latest).all()
        whole = tube.convert(
            there.estimate[fits],
            bars=bars,
            inverse=True,  # type: ignore[arg-type]
            within=(there.earliest[fits], there.latest[fits]),
        )
        assert (whole.earliest <= at[fits]).all()
        assert (at[fits] <= whole.latest).all()


@settings(max_examples=200)
@given(st.data())
def test_the_bars_of_an_interval_hold_those_of_all_in_it(data: st.DataObject) -> None:
    small = st.tuples(st.integers(0, 300), st.integers(-60, 60), st.integers(0, 5))
    tube = tube_of(
        data.draw(st.lists(small, min_size=1, max_size=10)),
        Limits(data.draw(st.sampled_from([0.0, 0.01, 0.1])), 0.001),
    )
    low = data.draw(st.integers(-50, 350))
    high = data.draw(st.integers(low, 400))
    every = np.arange(low, high + 1)
    for bars in BARS:
        each = tube.convert(every, bars=bars)  # type: ignore[arg-type]
        got = tube.convert(
            np.array([low]),
            bars=bars,
            within=(np.array([low]), np.array([high])),  # type: ignore[arg-type]
        )
        assert int(got.earliest[0]) == int(each.earliest.min())
        assert int(got.latest[0]) == int(each.latest.max())


def test_offsets_beyond_73_years_are_refused() -> None:
    with pytest.raises(ConversionError, match="units") as caught:
        Evidence.of(np.array([0]), np.array([1 << 62]), 0)
    assert caught.value.reason == REASONS[OVERFLOW]


@pytest.mark.parametrize("inverse", [False, True])
def test_long_sorted_arrays_convert_as_shuffled_ones(inverse: bool) -> None:
    rng = np.random.default_rng(5)
    a = np.cumsum(rng.integers(1, 4_000, 50))
    h = rng.integers(0, 60, 50)
    r = a // 100 + np.rint(rng.uniform(-h, h)).astype(np.int64)
    tube = Tube(Evidence.of(a, r, h), Limits(0.05, 0.001))
    every = np.arange(a[0] - 500, a[-1] + 500)
    order = rng.permutation(len(every))
    for bars in BARS:
        ascending = tube.convert(every, bars=bars, inverse=inverse)  # type: ignore[arg-type]
        shuffled = tube.convert(every[order], bars=bars, inverse=inverse)  # type: ignore[arg-type]
        for one, other in zip(ascending, shuffled, strict=True):
            assert (one[order] == other).all()
