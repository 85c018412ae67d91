"""Steps that times stand on: bars hold the truth, whatever step it was cut off or rounded to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime._kernels.common.columns import StepCounts, margins_of
from tracetime.columns.resolutions import LEAST_TIMES, TimeResolutions

WALL = 1_763_900_000 * 10**9
STEPS = [
    factor * 10**power // 10 for power in range(1, 11) for factor in (10, 20, 25, 50) if power > 1
] + [15_625_000, 128, 256]


def truths(seed, first_ns=0, count=300):
    """Times to the ns, ascending."""
    return first_ns + np.sort(np.random.default_rng(seed).integers(0, 10**13, count))


def judged(values, **options):
    """The steps that times stand on."""
    counts = StepCounts()
    counts.add(np.asarray(values, np.int64))
    return TimeResolutions.of(counts, **options)


def assert_held(truth, read, **options):
    """Check that the margins around what was read hold what is true."""
    before, after = judged(read, **options).margins(read)
    assert np.all(read - before <= truth)
    assert np.all(truth <= read + after)


def digits_kept(ns, digits):
    """As `%.Ng` keeps them."""
    step = 10 ** max(len(str(ns)) - digits, 0)
    return (ns + step // 2) // step * step


@given(
    seed=st.integers(0, 99),
    step=st.sampled_from(STEPS),
    first_ns=st.sampled_from([0, WALL, -WALL]),
    rounds=st.booleans(),
)
@settings(max_examples=100)
def test_margins_hold_what_was_cut_off_or_rounded(seed, step, first_ns, rounds):
    truth = truths(seed, first_ns)
    assert_held(truth, (truth + (step // 2 if rounds else 0)) // step * step)


@given(
    seed=st.integers(0, 99),
    factor=st.sampled_from([1, 1_000, 10**6, 10**9]),
)
@settings(max_examples=30)
def test_margins_hold_what_doubles_of_wall_time_cost(seed, factor):
    """As CPython computes them: whole ns to a double of s, and that times a factor."""
    truth = truths(seed, WALL)
    unit = 10**9 // factor
    seconds = (float(ns) / 1e9 * factor for ns in truth.tolist())
    read = np.array([int(one) * unit + round((one - int(one)) * unit) for one in seconds])
    assert_held(truth, read)


@pytest.mark.parametrize("digits", [6, 9, 12])
def test_margins_hold_what_lost_digits_cost(digits):
    truth = truths(1, count=2000)
    read = np.array([digits_kept(ns, digits) for ns in truth.tolist()])
    assert_held(truth, read)
    few = np.append([12_345_678_901, 987_654_321_987], truth)
    assert_held(few, np.array([digits_kept(ns, digits) for ns in few.tolist()]))


@pytest.mark.parametrize("first_ns", [0, WALL])
def test_times_to_the_ns_are_exact(first_ns):
    for seed in range(20):
        truth = truths(seed, first_ns, 20_000)
        _, after = judged(truth).margins(truth)
        assert after.max() == 0


def test_a_minority_of_coarse_times_is_found():
    truth = truths(1, count=10_000)
    read = truth.copy()
    read[::20] = read[::20] // 10**6 * 10**6
    assert_held(truth, read)
    _, after = judged(read).margins(read)
    assert np.count_nonzero(after == 0) > 9_000


def test_one_exact_time_is_exact_among_coarse_ones():
    read = truths(1) // 1000 * 1000
    read[7] += 1
    before, after = judged(read).margins(read)
    assert (before[7], after[7]) == (0, 0)
    assert set(np.delete(after, 7).tolist()) == {999}


def test_a_few_round_times_say_nothing():
    times = np.arange(1, LEAST_TIMES) * 10**6
    assert judged(times).is_exact
    assert judged(np.repeat(times, 100)).is_exact
    assert not judged(np.append(times, 10**8)).is_exact


@given(
    seed=st.integers(0, 99),
    n=st.integers(1, 30),
    first_ns=st.sampled_from([WALL, 12 * 10**16, -WALL]),
    rounds=st.booleans(),
)
def test_margins_hold_what_a_spreadsheet_drops_of_a_few_times(seed, n, first_ns, rounds):
    """It keeps 15 digits, and puts zeros behind them."""
    truth = truths(seed, first_ns, n)
    zeros = len(str(abs(int(truth[0])))) - 15
    read = (truth + (10**zeros // 2 if rounds else 0)) // 10**zeros * 10**zeros
    if n * zeros >= 4 and (read % 10 ** (zeros + 1)).any():
        assert_held(truth, read)
        assert judged(read).longest_ns >= 10**zeros


@pytest.mark.parametrize("n", [1, 5, 300])
def test_margins_hold_what_six_digits_of_wall_times_leave(n):
    """All are one or two times: `%g` near today has steps of hours."""
    truth = truths(0, WALL, n)
    read = np.array([int(float(f"{time / 1e3:g}")) * 1000 for time in truth.tolist()])
    assert len(set(read.tolist())) <= 2
    assert_held(truth, read)
    assert judged(np.append(read, read[0] + 10**12)).is_exact


def test_what_a_spreadsheet_would_not_have_left_is_no_sign_of_one():
    typed = truths(1, WALL, 5) // 10_000 * 10_000
    assert not judged(typed).is_exact
    # One time has more digits; all have fewer than are kept; they stand on a longer unit anyway.
    assert judged(np.append(typed, typed[-1] + 1)).is_exact
    assert judged(typed // 10**6 * 10**6).is_exact
    assert judged(typed, unit_ns=10_000).is_exact
    assert judged(typed - typed[0] + 10_000).is_exact
    assert judged(np.array([10**15 + 10, 10**15 + 20])).is_exact


def test_the_unit_of_a_file_goes_without_saying():
    times = truths(1) // 1000 * 1000
    assert judged(times, unit_ns=1000).is_exact
    assert judged(times, unit_ns=1000, of_unit=True).margins(times)[1].tolist() == [999] * 300
    assert judged(times[:3], unit_ns=1000, of_unit=True).margins(times)[0].tolist() == [500] * 300


def test_zero_and_what_is_below_may_have_been_cut_off_towards_zero():
    steps = judged(truths(1) // 1000 * 1000)
    before, after = steps.margins(np.array([-(10**6), 0, 10**6]))
    assert before.tolist() == [999, 999, 500]
    assert after.tolist() == [999] * 3


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_times_are_counted_by_what_divides_them(values):
    counts = StepCounts()
    counts.add(np.array(values, np.int64))
    cells = np.zeros((20, 16, 16), np.int64)
    for last, ns in zip([0, *values], values, strict=False):
        if ns not in (0, last):
            twos = next((n for n in range(15) if ns % 2 ** (n + 1)), 15)
            fives = next((n for n in range(15) if ns % 5 ** (n + 1)), 15)
            cells[len(str(abs(ns))), twos, fives] += 1
    assert np.array_equal(counts.cells(), cells)


def test_missing_times_are_not_counted():
    counts = StepCounts()
    counts.add(np.array([5, 7, 9]), np.array([0, 1, 0], np.uint8))
    assert counts.cells().sum() == 2
    with pytest.raises(ValueError, match="as many flags"):
        counts.add(np.array([5, 7]), np.zeros(1, np.uint8))


def test_tables_of_another_length_are_refused():
    cells, slack = np.zeros(20 * 16 * 16, np.int64), np.zeros(65, np.int64)
    for tables in ((cells[1:], cells, slack), (cells, cells[1:], slack), (cells, cells, slack[1:])):
        with pytest.raises(ValueError, match="another length"):
            margins_of(np.array([1]), *tables, False, False)
