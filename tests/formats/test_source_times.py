"""Steps of times by source: each is judged by itself, in its own unit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracetime.formats import source_times
from tracetime.formats.source_times import SourceResolutions

WALL = 1_763_900_000 * 10**9


def truths(seed, count=400):
    return WALL + np.sort(np.random.default_rng(seed).integers(0, 10**13, count))


def test_a_coarse_source_says_nothing_of_an_exact_one():
    coarse, exact = truths(1) // 1000 * 1000, truths(2)
    sources, times = np.repeat([7, 3], 400), np.concatenate([coarse, exact])
    units = np.ones(800, np.int64)
    steps = SourceResolutions(doubles=False)
    steps.add(sources, units, times)
    before, after = steps.margins(sources, units, times)
    assert set(before[:400].tolist()) == {500}
    assert set(after[:400].tolist()) == {999}
    assert not before[400:].any() and not after[400:].any()
    assert (steps.longest_ns, steps.is_exact) == (1000, False)


def test_what_a_source_cannot_tell_apart_is_no_step():
    times = truths(1) // 1000 * 1000
    sources, units = np.zeros(400, np.int64), np.full(400, 1000)
    steps = SourceResolutions(doubles=False)
    steps.add(sources, units, times)
    assert (steps.longest_ns, steps.is_exact) == (0, True)
    assert not np.any(steps.margins(sources, units, times))


def test_unknown_sources_and_none_have_no_margins():
    steps = SourceResolutions(doubles=False)
    nothing = np.zeros(0, np.int64)
    steps.add(nothing, nothing, nothing)
    assert (steps.longest_ns, steps.is_exact) == (0, True)
    assert [len(side) for side in steps.margins(nothing, nothing, nothing)] == [0, 0]
    assert steps.margins(np.array([5]), np.array([1]), np.array([0]))[1].tolist() == [0]


@given(seed=st.integers(0, 50), most=st.sampled_from([1, 2, 256]), n=st.integers(1, 5))
def test_however_many_sources_bars_hold_the_truth(seed, most, n):
    random = np.random.default_rng(seed)
    truth = truths(seed, 400 * n)
    sources = random.integers(0, n, len(truth))
    lengths = np.array([1, 1000, 100, 10**6, 15_625_000])
    step = lengths[sources]
    read = truth // step * step
    units = np.array([1, 1, 100, 1000, 1000])[sources]
    before_limit, source_times._MOST_APART = source_times._MOST_APART, most
    try:
        steps = SourceResolutions(doubles=False)
        for part in np.array_split(np.arange(len(truth)), 3):
            steps.add(sources[part], units[part], read[part])
        before, after = steps.margins(sources, units, read)
    finally:
        source_times._MOST_APART = before_limit
    assert np.all(read - before <= truth)
    assert np.all(truth <= read + after + units - 1)
