"""Many jumps of a clock: what the doctor does with them all at once, held against one by one."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from fuzz import costly
from tracetime.clocks.ids import ClockId
from tracetime.doctor import incidents
from tracetime.doctor.jump_columns import JumpSnapshots, moved
from tracetime.doctor.jumps import _falls_after, _ticks_per_ns
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.tube.results import PairDiscontinuity

MANY = {
    "jumps": costly.jumps,
    "steps": costly.steps,
    "set back": costly.set_back,
    "resets": costly.resets,
    "suspends": costly.suspends,
    "suspends of 10 clocks": lambda n: costly.suspends(n, 10),
}


def calls_of(work):
    """How many calls it takes, of Python's functions and of others, generators' steps included."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("name", MANY)
def test_work_is_linear_in_jumps(tmp_path, name):
    calls = []
    # What is loaded and kept at first use is counted with the first.
    for n in (100, 200, 400, 800):
        path = tmp_path / f"{n}.pftrace"
        path.write_bytes(b"".join(MANY[name](n)))
        with tt.open_trace(path) as trace:
            assert trace.clocks.clocks()
            calls.append(calls_of(lambda trace=trace: tt.diagnose(trace)))
    _, few, more, most = calls
    # The work is done on columns: no object is made for each jump, nor any call but a few.
    jumps = 600 * (10 if "10" in name else 1)
    assert most - more < 2.2 * (more - few) + 1000
    assert (most - few) / jumps < 30


A, B, C = ClockId(6), ClockId(3), ClockId(128)


def jump(src, start, end, size=10**9, kind="step"):
    on = (start,) if kind == "outlier" else (start, end)
    return PairDiscontinuity(src, C, kind, start, end, (size, size), None, on)


def distinct_jumps(found):
    return list(incidents.distinct_jumps(PairDiscontinuities.of(found)))


def distinct_suspends(found):
    return list(incidents.distinct_suspends(PairDiscontinuities.of(found)))


found_jumps = st.lists(
    st.builds(
        lambda src, start, length, size, kind: jump(src, start, start + length, size, kind),
        st.sampled_from([A, B]),
        st.integers(0, 12),
        st.integers(1, 4),
        st.sampled_from([10**9, -(10**9), 5 * 10**8]),
        st.sampled_from(["step", "reset", "outlier"]),
    ),
    max_size=12,
)


def overlap(one, other):
    return one.snapshots[0] < other.snapshots[1] and other.snapshots[0] < one.snapshots[1]


@given(found_jumps)
def test_a_machine_sleeps_once_at_a_time(found):
    """The closest pair of snapshots counts; what overlaps it repeats the same."""
    found = [d._replace(kind="suspend") for d in found if d.kind != "outlier"]
    kept = []
    for d in sorted(found, key=lambda d: (d.snapshots[1] - d.snapshots[0], d.snapshots)):
        if not any(overlap(d, other) for other in kept):
            kept.append(d)
    assert distinct_suspends(found) == sorted(kept, key=lambda d: d.snapshots)


@given(found_jumps)
def test_what_one_clock_shows_is_reported(found):
    """Each jump that one clock shows is another one, except for the same wrong snapshot."""
    once = distinct_jumps([d for d in found if d.src == A])
    assert once == sorted(once, key=lambda d: d.snapshots)
    off = [d.snapshots for d in once if d.kind == "outlier"]
    assert len(off) == len(set(off))
    assert distinct_jumps(once) == once


# One witness tells of one thing at a time.
ends = st.lists(st.integers(0, 20), unique=True, max_size=8).map(sorted)


@given(ends, ends)
def test_what_several_clocks_show_is_reported_once(of_a, of_b):
    """The closest pair of snapshots counts; another clock's that overlaps repeats the same."""
    found = [
        jump(src, start, end)
        for src, listed in ((A, of_a), (B, of_b))
        for start, end in zip(listed[::2], listed[1::2], strict=False)
    ]
    kept = []
    for d in sorted(found, key=lambda d: (d.snapshots[1] - d.snapshots[0], d.snapshots)):
        if not any(overlap(d, other) and d.src != other.src for other in kept):
            kept.append(d)
    # Of two that are as close, either may tell.
    assert [d.snapshots for d in distinct_jumps(found)] == sorted(d.snapshots for d in kept)


@given(st.integers(0, 9), ends)
def test_what_is_off_to_one_clock_is_no_jump_to_another(off, of_b):
    found = [jump(A, off, off, kind="outlier"), jump(A, 30, 31)]
    listed = [jump(B, start, end) for start, end in zip(of_b[::2], of_b[1::2], strict=False)]
    once = distinct_jumps(found + listed)
    assert once == sorted(
        found + [d for d in listed if off not in d.snapshots], key=lambda d: d.snapshots
    )


readings = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 10**12)


@given(
    st.lists(st.tuples(st.booleans(), readings, readings), max_size=9),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6),
)
def test_how_far_clocks_jumped(rows, queried):
    """At many places at once what the readings say of each."""
    have = [(k, ours, theirs) for k, (taken, ours, theirs) in enumerate(rows) if taken]
    found = [jump(A, *on, kind="outlier" if on[0] >= on[1] else "step") for on in queried]
    columns = [np.array([row[c] for row in have], dtype=np.int64) for c in range(3)]
    got = moved(JumpSnapshots(PairDiscontinuities.of(found)), tuple(columns))
    place = {row[0]: i for i, row in enumerate(have)}

    def gained(i, j):
        (_, ours, theirs), (_, ours_j, theirs_j) = have[i], have[j]
        return float((theirs_j - theirs) - (ours_j - ours))

    for d, listed in zip(found, got.tolist(), strict=True):
        if any(number not in place for number in d.snapshots):
            assert np.isnan(listed)
            continue
        first, last = place[d.snapshots[0]], place[d.snapshots[-1]]
        if d.kind != "outlier":
            assert listed == pytest.approx(gained(first, last), rel=1e-12)
            continue
        about = [k for k in (first - 1, first + 1) if 0 <= k < len(have)]
        if not about:
            assert np.isnan(listed)
            continue
        at = [float(have[k][1] - have[first][1]) for k in about]
        if at != sorted(set(at)):
            # The clock fell there, or stood: no line goes through both.
            continue
        line = np.interp(0.0, at, [gained(first, k) for k in about])
        assert listed == pytest.approx(-line, rel=1e-9, abs=1e-9 * np.abs(at).max())


# Of three snapshots of random traces: the clock beside it was set back meanwhile, so that by its
# readings the last one is next to the first. The way between those two is no third step.
AS_SET_BACK = {
    "trace 1275": (
        [
            {5: 6000, 6: 27_040},
            {5: 7000, 6: 27_040, 200: 7000, 202: 115_060},
            {5: 4152, 6: 29_211, 200: 7152, 202: 115_060},
        ],
        "BOOTTIME was stepped 2 times, by up to 2.02 s",
    ),
    "trace 630": (
        [{3: 4804, 202: 19_894}, {3: 1904, 202: 31_005, 5: 7704}, {3: 6904, 202: 31_005, 5: 9904}],
        "202 was stepped 2 times, by up to 14 s",
    ),
}


@pytest.mark.parametrize("name", AS_SET_BACK)
def test_between_three_snapshots_no_clock_is_stepped_thrice(name, tmp_path):
    rows, title = AS_SET_BACK[name]
    path = tmp_path / "of_three.pftrace"
    path.write_bytes(
        b"".join(
            costly.snapshot([(clock, ms * 1_000_000) for clock, ms in row.items()]) for row in rows
        )
    )
    with tt.open_trace(path) as trace:
        titles = [f.title for f in tt.diagnose(trace) if f.code == "clock-stepped"]
    assert title in titles


def falls_one_by_one(snapshots, readings, theirs, rate):
    """Where a clock fell, in Python's numbers: snapshot, by how much, to what, and the outlier."""
    for k in range(len(readings) - 1):
        if readings[k + 1] >= readings[k]:
            continue

        def missing(i, j):
            return round((theirs[j] - theirs[i]) * rate) - (readings[j] - readings[i])

        size, off = missing(k, k + 1), None
        for one, i, j in ((k, k - 1, k + 1), (k + 1, k, k + 2)):
            if i >= 0 and j < len(readings) and abs(missing(i, j)) <= incidents.BACK * size:
                off = snapshots[one]
        by = readings[k] - readings[k + 1]
        yield (snapshots[k + 1], by, size - by, readings[k + 1], off)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(-40, 40), st.integers(-3, 40)),
        min_size=2,
        max_size=20,
    ),
    st.sampled_from([1, 10**6, 10**15]),
    st.integers(-(2**60), 2**60),
)
def test_falls_in_columns_are_those_of_each_alone(steps, unit, start):
    snapshots = np.cumsum([step for step, _, _ in steps])
    readings, theirs = (
        np.cumsum(np.array([step[side] for step in steps]) * unit) + start for side in (1, 2)
    )
    rate = _ticks_per_ns(readings, theirs)
    columns = (snapshots.tolist(), readings.tolist(), theirs.tolist())
    fell = np.flatnonzero(readings[1:] < readings[:-1])
    found = _falls_after(fell, snapshots, readings, theirs)
    expected = list(falls_one_by_one(*columns, rate))
    assert [(fall.snapshot, fall.by, fall.after, fall.off) for fall in found] == [
        (snapshot, by, after, off) for snapshot, by, _, after, off in expected
    ]
    advances = [advance for _, _, advance, _, _ in expected]
    # Above 2^53, a float that is no whole number of them.
    assert [fall.advance for fall in found] == pytest.approx(advances, abs=2 * unit / 2**20 + 1)
