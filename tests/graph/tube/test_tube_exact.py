"""Conversions both ways against slow exact ones, the inverse a search: the same, to the last ns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_tube_properties import BARS, INT64, any_a, any_limits, any_snapshots, tube_of
from twin.bars import TwinRows

from tracetime.errors import AMBIGUOUS_SOURCE, RESOLVED
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

MANY = 300
ENDS = (int(INT64.min), int(INT64.max))
"""They represent all values beyond, so that their bars may be wider."""


def twin_of(tube: Tube, bars: str) -> TwinRows:
    table = tube._table(bars)  # type: ignore[arg-type]
    return TwinRows(table.starts, table.bars, table.limits)


def stretch_of(tube: Tube, low: int, high: int) -> tuple[int, int] | None:
    """The ends, on clock a, of the one stretch between resets that readings [low, high] are of.

    None where they may be of any: their instants are all at which bars hold them.
    """
    held = tube._of_b.held
    which = -1 if held is None else int(held.which(np.array([low]), np.array([high]))[0])
    if held is None or which < 0:
        return None
    a = tube._segments.evidence.a
    first, last = int(held.first[which]), int(held.last[which])
    return ENDS[0] if first < 0 else int(a[first]), ENDS[1] if last < 0 else int(a[last])


def check_sources(tube: Tube, bars: str, asked: tuple[int, int], got: tuple[int, int]) -> None:
    """Bars of readings known to be in [low, high] against the twin.

    A counter that was reset has read those of one stretch then alone: they hold what that allows.
    """
    twin = twin_of(tube, bars)
    stretch = stretch_of(tube, *asked)
    if stretch is None:
        assert got == twin.sources(*asked)
        return
    for t in twin.sources(*asked, *stretch):
        k = int(np.searchsorted(twin.starts, t, side="right")) - 1
        if twin.low(k, t) <= asked[1] and asked[0] <= twin.high(k, t):
            assert got[0] <= t <= got[1]


def check(tube: Tube, values: list[int], picked: list[int]) -> None:
    """The bars of `picked` indices of values against the twin; and every value as it is alone."""
    array = np.array(values, dtype=np.int64)
    for bars in BARS:
        got = tube.convert(array, bars=bars, inverse=True)  # type: ignore[arg-type]
        twin = twin_of(tube, bars)
        for i in picked:
            if values[i] in ENDS:
                earliest, latest = twin.sources(values[i], values[i])
                assert got.earliest[i] <= earliest
                assert latest <= got.latest[i]
            else:
                asked = values[i], values[i]
                check_sources(tube, bars, asked, (int(got.earliest[i]), int(got.latest[i])))
            alone = tube.convert(array[i : i + 1], bars=bars, inverse=True)  # type: ignore[arg-type]
            assert [int(c[i]) for c in got] == [int(c[0]) for c in alone]
        within = np.sort(np.stack([array, array[::-1]]), axis=0)
        whole = tube.convert(
            array,
            bars=bars,
            inverse=True,
            within=(within[0], within[1]),  # type: ignore[arg-type]
        )
        for i in picked[:3]:
            low, high = within[:, i].tolist()
            if {*ENDS} & {low, high}:
                earliest, latest = twin.sources(low, high)
                assert whole.earliest[i] <= earliest
                assert latest <= whole.latest[i]
            else:
                there = int(whole.earliest[i]), int(whole.latest[i])
                check_sources(tube, bars, (low, high), there)
        # Where no jump is in the way, the estimate found goes back to the value, or next to it.
        sure = got.status == RESOLVED
        there = tube.convert(got.estimate[sure], bars=bars).estimate  # type: ignore[arg-type]
        inside = (got.earliest[sure] < got.estimate[sure]) & (got.estimate[sure] < got.latest[sure])
        before = tube.convert(got.estimate[sure][inside] - 1, bars=bars).estimate  # type: ignore[arg-type]
        hit = there[inside] == array[sure][inside]
        assert (
            hit | ((before < array[sure][inside]) & (there[inside] >= array[sure][inside]))
        ).all()


def both_in_int64(snapshots: list[tuple[int, int, int]]) -> bool:
    """Whether the other clock of each snapshot, too, has a reading that fits in int64."""
    return all(INT64.min <= a + r <= INT64.max for a, r, _ in snapshots)


@settings(max_examples=300)
@example([(0, 2, 0), (1, -1, 0)], Limits(0, 0, False), [0])
@given(any_snapshots.filter(both_in_int64), any_limits, st.lists(any_a, min_size=1, max_size=20))
def test_any_snapshots_up_to_the_ends_of_int64(
    snapshots: list[tuple[int, int, int]], limits: Limits, values: list[int]
) -> None:
    tube = tube_of(snapshots, limits)
    a, r = np.array([s[:2] for s in snapshots], dtype=object).T
    near = (a + r).tolist()
    check(tube, values + near, list(range(len(values + near))))


# Steep slopes, small and great steps back and forth, exact snapshots, and far ones.
steps = st.lists(
    st.tuples(
        st.integers(1, 3_000) | st.integers(1, 1 << 52),
        st.sampled_from([0, 0, 0, 1]),
        st.integers(-1_000, 1_000) | st.integers(-(1 << 50), 1 << 50),
        st.sampled_from([0, 0, 1, 60]) | st.integers(0, 1 << 40),
    ),
    min_size=1,
    max_size=12,
)


@st.composite
def walks(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    a, offset, out = (
        draw(st.integers(-(1 << 60), 1 << 60)),
        draw(st.integers(-(1 << 60), 1 << 60)),
        [],
    )
    rate = draw(st.integers(-99, 99))
    for gap, jumps, size, h in draw(steps):
        a += gap
        offset += gap * rate // 1_000 + (size if jumps else 0)
        out.append((a, offset, h))
    return out


@settings(max_examples=300)
@given(walks(), any_limits, st.data())
def test_long_sorted_runs_of_values(
    snapshots: list[tuple[int, int, int]], limits: Limits, data: st.DataObject
) -> None:
    tube = tube_of(snapshots, limits)
    a, r, _ = data.draw(st.sampled_from(snapshots))
    span = max(snapshots[-1][0] - snapshots[0][0], 10)
    step = data.draw(st.sampled_from([1, 3, span // MANY + 1]))
    start = a + r + data.draw(st.integers(-MANY * step, 10))
    values = [start + k * step for k in range(MANY)]
    check(tube, values, data.draw(st.lists(st.integers(0, MANY - 1), min_size=1, max_size=12)))


@settings(max_examples=200)
@given(walks(), any_limits, st.data())
def test_long_sorted_runs_the_other_way(
    snapshots: list[tuple[int, int, int]], limits: Limits, data: st.DataObject
) -> None:
    tube = tube_of(snapshots, limits)
    a = data.draw(st.sampled_from(snapshots))[0]
    step = data.draw(st.sampled_from([1, 3, (snapshots[-1][0] - snapshots[0][0]) // MANY + 1]))
    start = a + data.draw(st.integers(-MANY * step, 10))
    at = start + np.arange(MANY, dtype=np.int64) * step
    for bars in BARS:
        got = tube.convert(at, bars=bars)  # type: ignore[arg-type]
        twin = twin_of(tube, bars)
        for i in data.draw(st.lists(st.integers(0, MANY - 1), min_size=1, max_size=12)):
            k = int(np.searchsorted(twin.starts, at[i], side="right")) - 1
            t = int(at[i])
            assert (got.earliest[i], got.latest[i]) == (twin.low(k, t), twin.high(k, t))
            alone = tube.convert(at[i : i + 1], bars=bars)  # type: ignore[arg-type]
            assert [int(c[i]) for c in got] == [int(c[0]) for c in alone]


@pytest.mark.parametrize("rate", [0.0, 0.0999, -0.0999])
@pytest.mark.parametrize("half", [0, 1, 10_000])
@pytest.mark.parametrize("gap", [1_000, 10**10, 1 << 48, (1 << 49) + 5, 1 << 53])
def test_every_row_at_its_borders(rate: float, half: int, gap: int) -> None:
    a = np.arange(6, dtype=np.int64) * gap - 3 * gap
    r = (a * rate).astype(np.int64) + (1 << 60)
    tube = Tube(Evidence.of(a, r, half), Limits(0.1, 0.001))
    values = np.unique((a + r)[:, None] + np.arange(-60, 61) * max(1, half // 20)).tolist()
    check(tube, values, list(range(0, len(values), 5)))


def test_one_snapshot() -> None:
    for at in (0, int(INT64.min), int(INT64.max)):
        tube = tube_of([(at, 0, 0)], Limits(0.1, 0.001))
        values = [v for v in range(at - 40, at + 41) if INT64.min <= v <= INT64.max]
        check(tube, values, list(range(len(values))))


def test_what_a_counter_read_since_its_reset_alone_is_of_no_time_before() -> None:
    """It read 2, and 0 a tick later: 0 and 1 are of the second stretch, although 2 went before."""
    tube = tube_of([(0, 2, 0), (1, -1, 0)], Limits(0, 0, False))
    for bars in BARS:
        got = tube.convert(np.array([0, 1]), bars=bars, inverse=True)  # type: ignore[arg-type]
        assert got.status.tolist() == [RESOLVED] * 2
        assert got.estimate.tolist() == [1, 2]
        assert (got.earliest >= 0).all()


def test_a_clock_set_back_is_ambiguous_where_two_segments_overlap() -> None:
    a = np.arange(20, dtype=np.int64) * 1_000_000
    r = np.where(a < 10_000_000, 0, -3_500_000)
    tube = Tube(Evidence.of(a, r, 10), Limits(1e-4, 1e-6))
    values = list(range(4_000_000, 12_000_000, 9_973))
    check(tube, values, list(range(0, len(values), 7)))
    got = tube.convert(np.array(values), inverse=True)
    unsure = (got.status == AMBIGUOUS_SOURCE).tolist()
    assert all(unsure[values.index(v)] for v in values if 5_600_000 < v < 9_900_000)
    assert not any(unsure[values.index(v)] for v in values if v < 5_400_000 or v > 10_100_000)


@settings(max_examples=200)
@given(st.data())
def test_the_inverse_is_where_the_bars_hold_the_value(data: st.DataObject) -> None:
    small = st.tuples(st.integers(0, 300), st.integers(-60, 60), st.integers(0, 5))
    tube = tube_of(
        data.draw(st.lists(small, min_size=1, max_size=10)),
        Limits(data.draw(st.sampled_from([0.0, 0.01, 0.1])), 0.001),
    )
    every = np.arange(-900, 1_200)
    values = np.arange(-100, 400)
    for bars in BARS:
        there = tube.convert(every, bars=bars)  # type: ignore[arg-type]
        got = tube.convert(values, bars=bars, inverse=True)  # type: ignore[arg-type]
        for v, earliest, latest in zip(
            values.tolist(), got.earliest.tolist(), got.latest.tolist(), strict=True
        ):
            first = int(every[there.latest >= v][0])
            last = int(every[there.earliest <= v][-1])
            if (stretch := stretch_of(tube, v, v)) is None:
                assert (earliest, latest) == (min(first, last), max(first, last))
                continue
            here = (stretch[0] <= every) & (every <= stretch[1])
            of_it = every[here & (there.earliest <= v) & (v <= there.latest)]
            assert ((earliest <= of_it) & (of_it <= latest)).all()
