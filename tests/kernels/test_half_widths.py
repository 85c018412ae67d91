"""Half-widths of readings that declare none: those that are off are too wide to contradict others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime._kernels.evidence import half_widths

S = 1_000_000_000
FLOOR, DRIFT = 1_000, 1e-3


def widths(r, *, gap=10 * S, floor=FLOOR, level=False):
    """Of readings at even times."""
    r = np.asarray(r, dtype=np.int64)
    return half_widths(np.arange(len(r), dtype=np.int64) * gap, r, floor, DRIFT, level)


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 14, 15, 33, 100])
def test_readings_that_agree_have_the_least(n, level):
    half, held, *_ = widths((0 if level else 200_000) * np.arange(n), level=level)
    assert set(half.tolist()) == {FLOOR}
    assert held == FLOOR


@given(
    st.integers(3, 14),
    st.data(),
    st.integers(0, 5_000_000),
    st.booleans(),
)
def test_of_few_any_one_may_be_late_and_the_truth_stays_inside(n, data, late_ns, level):
    k = data.draw(st.integers(0, n - 1))
    ppm = 0 if level else data.draw(st.integers(-50, 50))
    late = np.where(np.arange(n) == k, late_ns, 0)
    half, *_ = widths(10_000 * ppm * np.arange(n) + late, level=level)
    assert (late <= half).all()


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize("n", [15, 40, 200])
@given(data=st.data(), late_ns=st.integers(5_000, 5_000_000))
def test_of_many_the_late_one_alone_is_wide(n, level, data, late_ns):
    k = data.draw(st.integers(0, n - 1))
    jitter = np.random.default_rng(late_ns).integers(20, 70, n)
    late = jitter + np.where(np.arange(n) == k, late_ns, 0)
    half, *_ = widths(late + (0 if level else 200_000 * np.arange(n)), level=level)
    assert late[k] <= half[k] <= 2 * late[k]
    assert set(np.delete(half, k).tolist()) == {FLOOR}


def test_what_no_drift_explains_stays_narrow_and_is_an_outlier():
    r = np.where(np.arange(40) == 20, 30_000_000, 0)
    assert set(widths(r)[0].tolist()) == {FLOOR}
    # A neighbour that is off as well may be what is right.
    r[22] = 70_000
    assert widths(r)[0][20] > 30_000_000


@pytest.mark.parametrize("size_ns", [50_000, 3_000_000, 200_000_000, -80_000_000_000])
@pytest.mark.parametrize("level", [False, True])
def test_a_step_widens_nothing(size_ns, level):
    for n, at in ((8, 4), (12, 6), (60, 20), (60, 57)):
        half, *_ = widths(np.where(np.arange(n) >= at, size_ns, 0), level=level)
        assert set(half.tolist()) == {FLOOR}


def test_two_readings_in_a_row_that_are_off_alike_are_a_step_that_will_show():
    r = np.zeros(60)
    r[40:42] = 400_000
    assert set(widths(r)[0].tolist()) == {FLOOR}
    r[41] = 700_000
    assert (widths(r)[0][40:42] > 400_000).all()


@pytest.mark.parametrize("level", [False, True])
def test_an_end_that_is_off_and_one_between_two_steps_are_doubtful(level):
    r = np.zeros(40)
    assert not widths(r, level=level)[3].any()
    r[17:] += 300_000
    assert not widths(r, level=level)[3].any()
    r[8] = 50_000
    assert not widths(r, level=level)[3].any()
    r[0], r[38:] = -4_000, (304_000, 309_000)
    assert np.flatnonzero(widths(r, level=level)[3]).tolist() == [0, 38, 39]
    r[17] = 100_000
    half, *_, doubtful = widths(r, level=level)
    assert np.flatnonzero(doubtful).tolist() == [0, 17, 38, 39]
    assert half[17] >= 200_000
    # Nobody reads so badly: where it is alone, it is what it says.
    r[17] = 300_000_000
    assert np.flatnonzero(widths(r, level=level)[3]).tolist() == [0, 38, 39]


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.normal(0, 1, n),
        lambda rng, n: rng.uniform(-1.7, 1.7, n),
        lambda rng, n: rng.exponential(1, n),
    ],
    ids=["Gaussian", "uniform", "one-sided"],
)
@pytest.mark.parametrize("gap", [S // 100, S // 30, S])
def test_dense_jitter_is_noise_that_every_half_width_holds(draw, gap):
    sigma = 1_000_000
    for seed in range(5):
        noise = sigma * draw(np.random.default_rng(seed), 400)
        half, _, sliver, _ = widths(noise + gap // 100_000 * np.arange(400), gap=gap)
        assert (np.abs(noise) <= half).all()
        assert np.median(half) <= 6 * sigma
        assert sliver == 0


def test_bars_hold_readings_where_the_clocks_stray():
    rate = np.random.default_rng(1).normal(0, 1e-5, 200)
    half, held, sliver, _ = widths(np.cumsum(rate * 10 * S))
    assert 10_000 < held <= np.median(half)
    assert held < sliver < 2 * held


def test_the_tick_of_a_coarse_clock_says_it_all():
    t = np.arange(60) * 10 * S + np.random.default_rng(1).integers(0, S, 60)
    cut_off = t // 4_000_000 * 4_000_000 - t
    half, held, sliver, _ = half_widths(t, cut_off, 4_000_000, DRIFT, False)
    assert set(half.tolist()) == {4_000_000}
    assert held == 4_000_000
    assert sliver < 4_000_000
    cut_off[30] += 20_000_000
    assert 20_000_000 <= half_widths(t, cut_off, 4_000_000, DRIFT, False)[0][30] <= 30_000_000


def test_readings_may_be_as_far_apart_as_int64_allows():
    low, high = -(1 << 63), (1 << 63) - 1
    a = np.array([low, low + 1, -1, 0, high - 1, high] + [high] * 5, dtype=np.int64)
    r = np.array([-(1 << 60), 1 << 60] * 5 + [0], dtype=np.int64)
    for n in range(len(a) + 1):
        half, held, *_ = half_widths(a[:n], r[:n], FLOOR, DRIFT, False)
        assert (half >= FLOOR).all()
        assert (half <= 1 << 58).all()
        assert held <= 1 << 58


def test_one_offset_for_each_reading():
    with pytest.raises(ValueError, match="3 readings and 2 offsets"):
        half_widths(np.arange(3), np.arange(2), FLOOR, DRIFT, False)


def test_two_late_ones_in_a_row_agree_only_where_drift_does_not_make_them() -> None:
    """50 us that one is less late than the one before are what the clocks drift in between."""
    k = np.arange(40)
    late = np.select(
        [k == 20, k == 21], [80_000, 30_000], np.random.default_rng(1).integers(-300, 300, 40)
    )
    half, *_ = widths(50_000 * k + late)
    assert (np.abs(late) <= half).all()
