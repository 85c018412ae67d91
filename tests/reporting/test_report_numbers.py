"""What the report's pictures rest on: curves, timelines, Allan deviations."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId
from tracetime.errors import AS_IS, ONE_SIDED, RESOLVED
from tracetime.graph.curves import MOST_POINTS, since
from tracetime.reporting.drawing import time_ticks
from tracetime.reporting.models import Model
from tracetime.reporting.sections import allan_deviation
from tracetime.reporting.timeline import Timeline

S = 1_000_000_000
LOST = max(RESOLVED, AS_IS) + 1


def graph_of(**readings):
    graph = ClockGraph(trace_clock="BOOTTIME")
    graph.add_snapshot({name: np.asarray(values) for name, values in readings.items()})
    return graph


# Axes


@given(st.floats(1, 1e12), st.floats(1, 1e10))
@example(100.0, 200.0)
@example(1.0, 91.0)
def test_a_logarithmic_axis_of_time_has_few_labels(low, ratio):
    """As more than six overlap in the smallest picture, and then the round ones may be left out."""
    axis = Model("LogAxis")
    time_ticks(axis, np.array([low, low * ratio]))
    seen = [tick for tick in axis.ticker.ticks if low <= tick <= low * ratio]
    assert len(seen) <= (5 if ratio < 300 else 10)
    assert ratio < 10 or any(str(tick).strip("0") == "1" for tick in seen)


# Curves


def test_a_drifting_clock_without_its_trend_is_flat():
    t = np.arange(60) * S + 10**18
    drawn = graph_of(BOOTTIME=t, MONOTONIC_RAW=t - 5 * S + (t - t[0]) // 50_000).curves(
        "BOOTTIME", "MONOTONIC_RAW"
    )
    assert drawn.trend_ppm == pytest.approx(20, abs=1e-3)
    assert drawn.offset_ns == -5 * S
    assert np.abs(drawn.seen.offset).max() <= 2
    assert drawn.seen.time[-1] == 59 * S
    assert np.nanmax(np.abs(drawn.sampled.estimate)) <= 100
    # Just before the next snapshot, floor is a second's drift late.
    assert drawn.most_floor_ns == pytest.approx(20_000, rel=0.01)
    assert drawn.gap_ppm == pytest.approx(np.full(59, 20.0), abs=0.01)


def test_either_clock_may_give_the_time():
    t = np.arange(60) * S
    graph = graph_of(BOOTTIME=t, MONOTONIC_RAW=t + t // 50_000 + 7)
    one, other = (
        graph.curves("BOOTTIME", "MONOTONIC_RAW"),
        graph.curves("MONOTONIC_RAW", "BOOTTIME"),
    )
    assert one.trend_ppm == pytest.approx(-other.trend_ppm, rel=1e-3)
    assert one.offset_ns == -other.offset_ns
    assert np.all(one.sampled.low <= one.sampled.high)
    assert np.all(other.sampled.low <= other.sampled.high)
    assert (other.origin_ns, one.origin_ns) == (7, 0)


def test_a_jump_is_taken_out_marked_and_sized():
    t = np.arange(60) * S
    drawn = graph_of(BOOTTIME=t, REALTIME=t + np.where(t >= 30 * S, 9 * S, 0)).curves(
        "BOOTTIME", "REALTIME"
    )
    (found,) = drawn.breaks
    assert (found.kind, found.start, found.end) == ("step", 29 * S, 30 * S)
    assert found.size_ns[0] <= 9 * S <= found.size_ns[1]
    assert np.abs(drawn.seen.offset).max() <= 1000
    inside = (drawn.sampled.time > 29 * S) & (drawn.sampled.time < 30 * S)
    assert inside.any()
    assert np.isnan(drawn.sampled.estimate[inside]).all()


def test_an_outlier_is_marked_and_does_not_bend_the_rest():
    t = np.arange(60) * S
    off = np.zeros(60, dtype=np.int64)
    off[20] = 50_000_000
    drawn = graph_of(BOOTTIME=t, MONOTONIC_RAW=t + off).curves("BOOTTIME", "MONOTONIC_RAW")
    assert drawn.seen.odd.tolist() == [k == 20 for k in range(60)]
    assert drawn.seen.number[drawn.seen.odd].tolist() == [20]
    assert np.nanmax(np.abs(drawn.sampled.estimate)) < 10_000


def test_a_picture_stays_small():
    n = 10_000
    t = np.arange(n) * S
    noise = np.random.default_rng(3).integers(-300, 300, n)
    noise[777] = 1_900
    drawn = graph_of(BOOTTIME=t, MONOTONIC_RAW=t + noise).curves("BOOTTIME", "MONOTONIC_RAW")
    assert len(drawn.seen.time) <= MOST_POINTS + 2
    assert len(drawn.sampled.time) <= MOST_POINTS + 2
    assert 777 in drawn.seen.number


def test_one_snapshot_has_a_picture():
    drawn = graph_of(BOOTTIME=[5], REALTIME=[7]).curves("BOOTTIME", "REALTIME")
    assert drawn.n_snapshots == 1
    assert len(drawn.gap_ppm) == 0
    assert drawn.steady is None


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_differences_are_exact_before_they_are_floats(value, origin):
    (found,) = since(np.array([value]), origin)
    if abs(value - origin) < 2**53:
        assert found == value - origin
    else:
        assert found == pytest.approx(value - origin, rel=1e-12)


# Events over time


def batch(times, status=RESOLVED, clock=6, machine=0):
    n = len(times)
    return {
        "trace_time": np.array(times, dtype=np.int64),
        "status": np.broadcast_to(np.asarray(status, dtype=np.uint8), n),
        "clock": np.full(n, clock, dtype=np.uint32),
        "sequence": np.zeros(n, dtype=np.uint32),
        "machine": np.full(n, machine, dtype=np.uint32),
    }


def rows_of(*batches, bins=50, least=None):
    line = Timeline()
    for one in batches:
        line.add(one)
    return line.histogram([0], bins, least)[:2]


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60), max_size=5))
def test_every_event_is_counted_once_wherever_it_is(groups):
    edges, rows = rows_of(*(batch(times, clock=k + 1) for k, times in enumerate(groups)))
    assert len(edges) <= 51
    counts = {row.clock.clock: int(row.resolved.sum()) + row.outside for row in rows}
    assert counts == {k + 1: len(times) for k, times in enumerate(groups) if times}


def test_events_fall_into_the_bin_of_their_time():
    times = np.arange(0, 100 * S, S // 10)
    edges, (row,) = rows_of(batch(times))
    assert 25 <= len(row.resolved) <= 50
    assert row.resolved.tolist() == [
        int(((times >= low) & (times < high)).sum())
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    ]


def test_events_without_a_time_count_at_their_place_in_the_file():
    times = [10 * S, 0, 90 * S, 0]
    edges, (row,) = rows_of(batch(times, [RESOLVED, LOST, RESOLVED, LOST]))
    assert row.resolved.sum() == row.unresolved.sum() == 2
    assert np.flatnonzero(row.unresolved).tolist() == np.flatnonzero(row.resolved).tolist()
    # Before any has a time: at the beginning.
    edges, (row,) = rows_of(batch([0, 0], LOST), batch([10 * S, 90 * S]))
    assert row.unresolved[0] == 2
    assert rows_of(batch([0, 0], LOST))[1] == []


def test_a_lone_event_far_away_does_not_squeeze_the_others():
    edges, (row,) = rows_of(batch([*np.arange(2000) * S // 100, 10**17]))
    assert edges[-1] - edges[0] < 60 * S
    assert row.outside == 1


def test_very_many_events_take_little_memory():
    line = Timeline()
    random = np.random.default_rng(1)
    for _ in range(30):
        line.add(batch(random.integers(0, 10**15, 65_536)))
    assert sum(len(part[0]) for part in line._batches) < 200_000
    assert (
        sum(int(row.resolved.sum()) + row.outside for row in line.histogram([0], 50).rows)
        == 30 * 65_536
    )


def test_events_of_very_many_clocks_keep_their_times():
    """Two of each, 100 s in all; of the clocks a few are drawn, the others counted."""
    n, line = 20_000, Timeline()
    for times in (np.arange(n), np.arange(n)[::-1]):
        line.add({**batch(times * (100 * S // n)), "clock": np.arange(n, dtype=np.uint32) + 300})
    line.add(batch(np.arange(5) * S))
    line.add(batch([S], LOST, 127))
    drawn = line.histogram([0], 50, most_rows=3)
    assert 25 <= len(drawn.edges) - 1 <= 50
    assert drawn.clocks == n + 2
    assert [int((row.resolved + row.unresolved).sum()) for row in drawn.rows] == [1, 5, 2]
    assert [row.clock.clock for row in drawn.rows[:2]] == [127, 6]


def test_machines_are_distinguished():
    _, rows = rows_of(batch([S], machine=0), batch([2 * S], machine=77))
    assert [row.clock for row in rows] == [ClockId(6), ClockId(6, machine=77)]


# Allan deviation


def test_white_phase_noise_falls_as_one_over_time():
    noise = np.random.default_rng(2).normal(0, 100, 20_000)
    times, deviations = allan_deviation(noise, 1e9)
    # sigma_y = sqrt(3) sigma_x / tau (IEEE Std 1139, white phase noise).
    expected = np.sqrt(3) * 100 / times
    early = times <= 100e9
    assert deviations[early] == pytest.approx(expected[early], rel=0.15)


def test_a_constant_drift_is_no_deviation():
    times, deviations = allan_deviation(np.arange(100) * 50_000.0, 1e9)
    assert len(times) > 5
    assert deviations == pytest.approx(np.zeros(len(times)), abs=1e-15)


def test_white_frequency_noise_falls_as_the_root():
    phase = np.cumsum(np.random.default_rng(4).normal(0, 10, 50_000))
    times, deviations = allan_deviation(phase, 1e9)
    early = times <= 200e9
    assert deviations[early] == pytest.approx(10 / np.sqrt(times[early] * 1e9), rel=0.15)


def test_few_offsets_say_nothing():
    assert len(allan_deviation(np.zeros(15), 1e9)[0]) == 0


def test_events_with_a_bar_of_one_side_have_a_trace_time():
    _, (row,) = rows_of(batch([S, 2 * S], status=[RESOLVED, ONE_SIDED]))
    assert (row.resolved.sum(), row.unresolved.sum()) == (2, 0)
