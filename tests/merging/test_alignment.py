"""Which collectives are the same: files that begin late, lack some, and clocks that are set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merge_worlds import kineto_of_one_rank
from seeds import seeds

import tracetime as tt
from benchmarks.small_folders import two_jobs
from tools.make_ranks import make_ranks
from tracetime._kernels.merging import may_fit, spreads
from tracetime.merging import alignment
from tracetime.merging.alignment import LEAST, Meetings, align
from tracetime.merging.merged_traces import MergedTraces

pytest_plugins = ["cli"]

US, MS, S = 1_000, 1_000_000, 1_000_000_000


def job(seed, n=200, kinds=3):
    """When the collectives of a job end, and their kinds: steps of about 50 ms."""
    random = np.random.default_rng(seed)
    ends = np.cumsum(50 * MS + random.integers(0, 3 * MS, n))
    return random, ends, np.arange(n) % kinds


def seen(random, ends, kinds, which, offset=0):
    """The collectives of some numbers, as a rank sees them: within 5 us."""
    noise = random.integers(-5 * US, 5 * US, len(which))
    return Meetings(ends[which] + noise + offset, kinds[which].astype(np.int64))


def pairs(one, other, ours, theirs):
    """The numbers in the job of what is aligned."""
    found = align(one, other)
    return ours[found.ours], theirs[found.theirs]


@pytest.mark.parametrize("seed", seeds(5))
def test_a_file_that_begins_later(seed):
    random, ends, kinds = job(seed)
    ours, theirs = np.arange(200), np.arange(30, 180)
    here, there = pairs(
        seen(random, ends, kinds, ours), seen(random, ends, kinds, theirs, -S), ours, theirs
    )
    assert here.tolist() == there.tolist() == theirs.tolist()


@pytest.mark.parametrize("seed", seeds(10))
def test_three_steps_of_five_collectives_are_aligned(seed):
    """One step differs from the next by more than clocks drift; a step is not taken for another."""
    random = np.random.default_rng(seed)
    within = np.array([0, 9, 15, 40, 80]) * MS
    ends = np.concatenate([k * 220 * MS + within + random.integers(0, MS, 5) for k in range(9)])
    ends += np.repeat(np.cumsum(random.integers(0, 3 * MS, 9)), 5)
    kinds, first = np.arange(45) % 5, np.arange(15)
    same = pairs(*(seen(random, ends, kinds, first, k * S) for k in (0, 3)), first, first)
    assert same[0].tolist() == same[1].tolist() == first.tolist()
    others = pairs(*(seen(random, ends, kinds, first + k) for k in (0, 15)), first, first + 15)
    assert not len(others[0])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lost", [20, 60, 150])
def test_what_follows_a_lost_collective_is_not_taken_for_a_step(seed, lost):
    random, ends, kinds = job(seed, kinds=1)
    ours, theirs = np.arange(200), np.delete(np.arange(200), lost)
    here, there = pairs(
        seen(random, ends, kinds, ours), seen(random, ends, kinds, theirs), ours, theirs
    )
    assert here.tolist() == there.tolist()
    assert len(here) > 170
    assert here[0] < 5 < 195 < here[-1]


@pytest.mark.parametrize("seed", seeds(5))
@pytest.mark.parametrize("by_ns", [-80 * MS, -400 * US, 400 * US, 3 * S])
def test_a_clock_that_is_set(seed, by_ns):
    random, ends, kinds = job(seed)
    ours = np.arange(200)
    moved = seen(random, ends, kinds, ours)
    moved.ends[90:] += by_ns
    here, there = pairs(seen(random, ends, kinds, ours), moved, ours, ours)
    assert here.tolist() == there.tolist()
    assert len(here) > 180


@pytest.mark.parametrize("n", [LEAST, 40])
@pytest.mark.parametrize("seed", seeds(20))
def test_files_of_different_times_are_not_aligned(n, seed):
    """Long steps of nearly one length: any of them look like any others, but for some ms."""
    random = np.random.default_rng(seed)
    one, other = (np.cumsum(2 * S + random.integers(0, MS, n)) for _ in range(2))
    kinds = np.zeros(n, dtype=np.int64)
    assert not len(align(Meetings(one, kinds), Meetings(other, kinds)).ours)


def test_steps_that_repeat_to_the_microsecond_are_not_aligned():
    ends = np.arange(100) * 50 * MS
    kinds = np.zeros(100, dtype=np.int64)
    assert not len(align(Meetings(ends, kinds), Meetings(ends[:80], kinds[:80])).ours)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 2)), min_size=LEAST, max_size=40),
    st.integers(0, 3),
    st.lists(st.integers(-3, 3), min_size=40, max_size=40),
)
def test_many_shifts_at_once_fit_as_each_alone(steps, shift, noise):
    """Unless an overlap is looked at in part."""
    gaps, kinds = np.array(steps).T
    one = Meetings(np.cumsum(gaps * MS), kinds)
    moved = one.part(shift, len(kinds)).ends + np.array(noise)[: len(kinds) - shift] * US
    other = Meetings(moved, kinds[shift:])
    shifts = np.arange(LEAST - len(kinds), len(moved) - LEAST + 1)
    fits = [alignment._fit(one, other, k) for k in shifts.tolist()]
    columns = (one.ends, one.kinds, other.ends, other.kinds)
    found = spreads(*columns, shifts, (256, 32), (LEAST, 1e-3))
    assert found.tolist() == [np.inf if fit is None else fit.spread for fit in fits]


@given(st.integers(0, 2**32), st.integers(12, 90), st.integers(12, 90), st.integers(1, 3))
def test_of_a_long_overlap_some_blocks_are_seen(seed, n, m, n_kinds):
    """Each shift fits as one file of these blocks fits another, event by event."""
    random = np.random.default_rng(seed)
    one, other = (
        Meetings(np.cumsum(random.integers(S, 2 * S, k)), random.integers(0, n_kinds, k))
        for k in (n, m)
    )
    shifts = np.arange(LEAST - n, m - LEAST + 1)
    columns = (one.ends, one.kinds, other.ends, other.kinds)
    found = spreads(*columns, shifts, (24, 6), (LEAST, 1e-3))
    for shift, spread in zip(shifts.tolist(), found.tolist(), strict=True):
        first = max(0, -shift)
        length = min(n, m - shift) - first
        k = np.arange(min(length, 24))
        at = first + k + k // 6 * (max(length - 24, 0) // 3)
        parts = (
            Meetings(ends[rows], kinds[rows])
            for (ends, kinds), rows in (
                ((one.ends, one.kinds), at),
                ((other.ends, other.kinds), at + shift),
            )
        )
        fit = alignment._fit(*parts, 0)
        assert spread == (np.inf if fit is None else fit.spread)


def test_columns_that_do_not_fit_together_are_refused():
    two, three = np.zeros(2, np.int64), np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="an end and a kind"):
        spreads(two, three, two, two, two, (256, 32), (LEAST, 1e-3))
    for sample, least in (((1, 1), LEAST), ((256, 0), LEAST), ((5, 2), LEAST), ((256, 32), 3)):
        with pytest.raises(ValueError, match="at least"):
            spreads(two, two, two, two, two, sample, (least, 1e-3))


@pytest.mark.parametrize("seed", seeds(5))
def test_files_of_many_collectives_are_aligned_by_a_whole_look_at_a_few_shifts(seed, monkeypatch):
    random, ends, kinds = job(seed, n=3_000)
    looks = []

    def counted(*columns):
        *_, shifts, (most_seen, _), _ = columns
        looks.append((most_seen, len(shifts)))
        return spreads(*columns)

    monkeypatch.setattr(alignment, "spreads", counted)
    ours, theirs = np.arange(2_500), np.arange(400, 3_000)
    here, there = pairs(
        seen(random, ends, kinds, ours), seen(random, ends, kinds, theirs, -S), ours, theirs
    )
    assert here.tolist() == there.tolist() == np.arange(400, 2_500).tolist()
    assert all(n_shifts <= 64 for most_seen, n_shifts in looks if most_seen > 256)


@pytest.mark.parametrize("seed", seeds(5))
def test_many_collectives_of_different_times_are_not_aligned(seed):
    random = np.random.default_rng(seed)
    one, other = (np.cumsum(2 * S + random.integers(0, MS, 600)) for _ in range(2))
    kinds = np.zeros(600, dtype=np.int64)
    assert not len(align(Meetings(one, kinds), Meetings(other, kinds)).ours)


def test_how_far_a_file_is_off_itself_is_computed_once(tmp_path, monkeypatch):
    of_itself = []

    def counted(ends, kinds, its_ends, *more):
        of_itself.extend([1] if ends is its_ends and more[1][0] == 1 else [])
        return spreads(ends, kinds, its_ends, *more)

    monkeypatch.setattr(alignment, "spreads", counted)
    with MergedTraces([rank.path for rank in ranks_of(tmp_path, 1, 0, ranks=6)]) as joined:
        assert len(joined.ties) == 15
    assert len(of_itself) == 6


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 2)), min_size=LEAST, max_size=40),
    st.integers(0, 3),
    st.lists(st.integers(-3_000, 3_000), min_size=40, max_size=40),
    st.sampled_from([1, 200, 2**40]),
    st.integers(-(2**60), 2**60),
)
def test_what_fits_is_never_said_not_to(steps, shift, noise, longer, offset):
    """Whatever its times and kinds, and to the nanosecond."""
    gaps, kinds = np.array(steps).T
    one = Meetings(np.cumsum(gaps * 1_000 * longer), kinds)
    moved = one.part(shift, len(kinds)).ends + np.array(noise)[: len(kinds) - shift] + offset
    other = Meetings(moved, kinds[shift:])
    columns = (one.ends, one.kinds, other.ends, other.kinds)
    shifts = np.arange(LEAST - len(kinds), len(moved) - LEAST + 1)
    for k, spread in enumerate(spreads(*columns, shifts, (256, 32), (LEAST, 1e-3)).tolist()):
        if np.isfinite(spread):
            assert may_fit(*columns, shifts[k : k + 1], spread, 1e-3)
            assert may_fit(*columns, shifts, spread, 1e-3)


def test_what_is_far_off_at_every_shift_does_not_fit():
    random, ends, kinds = job(1, kinds=1)
    one = seen(random, ends, kinds, np.arange(200))
    _, its_ends, _ = job(2, kinds=1)
    other = Meetings(its_ends, kinds)
    shifts = np.arange(LEAST - 200, 200 - LEAST + 1)
    columns = (one.ends, one.kinds, other.ends, other.kinds)
    assert not may_fit(*columns, shifts, one.self_distance / 4, 1e-3)
    assert not may_fit(*columns, shifts[:0], np.inf, 1e-3)
    with pytest.raises(ValueError, match="an end and a kind"):
        may_fit(one.ends, kinds[:5], *columns[2:], shifts, 1.0, 1e-3)


def test_files_of_two_jobs_are_told_apart_by_one_quick_look_at_each_pair(tmp_path, monkeypatch):
    """How far they are off is measured of none of these pairs."""
    measured = []

    def counted(ends, kinds, its_ends, *more):
        measured.extend([1] if ends is not its_ends else [])
        return spreads(ends, kinds, its_ends, *more)

    monkeypatch.setattr(alignment, "spreads", counted)
    paths = two_jobs(tmp_path, 1_200, ranks=6)
    report = tt.merge(paths, None, together=["name=meet"])
    assert [file.offset_ns is None for file in report.files] == [False] * 6 + [True] * 6
    within = 2 * (6 * 5 // 2)
    assert 0 < len(measured) <= 2 * within


@given(st.integers(0, 2**32), st.integers(20, 1_500), st.integers(1, 6))
def test_how_far_a_file_is_off_itself_is_told_by_all_of_it(seed, n, period):
    """Also of many collectives: a part of them would by chance be less far off."""
    random = np.random.default_rng(seed)
    gaps = np.resize(random.integers(MS, 5 * MS, period), n) + random.integers(0, MS, n)
    one = Meetings(np.cumsum(gaps), np.zeros(n, dtype=np.int64))
    fits = [alignment._fit(one, one, shift, 6) for shift in range(1, n - 5)]
    spreads = [fit.spread for fit in fits if fit is not None]
    # Without a shift that clocks could give, it is told by shifts of any rate.
    assert one.self_distance == min(spreads[:64]) if spreads else one.self_distance > 0


def ranks_of(folder, seed, resets, ranks=3):
    return make_ranks(
        kineto_of_one_rank(folder / "kineto.json"),
        folder,
        ranks=ranks,
        seed=seed,
        seconds=20,
        resets=resets,
    )


@pytest.mark.parametrize("resets", [0, 1])
@pytest.mark.parametrize("seed", seeds(6))
def test_the_truth_of_ranks_is_inside_also_beside_a_reset(tmp_path, seed, resets):
    ranks = ranks_of(tmp_path, seed, resets)
    with MergedTraces([rank.path for rank in ranks]) as joined:
        assert len(joined.ties) == 3
        for number, one in enumerate(ranks[1:], 1):
            t = np.linspace(one.first_ns, one.last_ns, 3_000).astype(np.int64)
            bars = joined.clocks.convert(
                one.clock.read(t),
                joined.home(number),
                joined.home(0),
                policy="tube",
                bounds=True,
                errors="mask",
            )
            truth = ranks[0].clock.read(t)
            assert (np.asarray(bars.earliest) <= truth).all()
            assert (truth <= np.asarray(bars.latest)).all()
            error = np.abs(np.asarray(bars.estimate.drop_null()) - truth[bars.estimate.is_valid()])
            assert np.median(error) <= 100 * US


@pytest.mark.parametrize("seed", seeds(6))
def test_a_reset_is_told_of_the_file_whose_clock_it_was(tmp_path, seed, tracetime):
    ranks = ranks_of(tmp_path, seed, 1)
    paths = [rank.path for rank in ranks]
    report = tt.merge(paths, None)
    (number,) = (k for k, rank in enumerate(ranks) if rank.clock.set_by_ns)
    (step,) = report.steps
    assert step.file == number
    assert len(step.against) == 2
    assert step.least_ns <= ranks[number].clock.set_by_ns <= step.most_ns
    set_at = ranks[number].clock.set_at_ns
    shown = ranks[step.at_file].clock.read(np.array([set_at - 1, set_at]))
    assert step.from_ns <= shown.max()
    assert shown.min() <= step.to_ns
    code, out, _ = tracetime("merge", *paths)
    assert code == 0
    assert f"step: the clock of {paths[number].name} jumps by" in " ".join(out.split())


def test_without_a_reset_no_step_is_told(tmp_path):
    assert not tt.merge([rank.path for rank in ranks_of(tmp_path, 1, 0)], None).steps
