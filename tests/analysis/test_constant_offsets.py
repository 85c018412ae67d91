"""Clocks with a constant offset: floor is within the tube's bars, known without a tube."""

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot, open_trace
from tracetime.analysis.floor_cost import ConstantOffsets, floor_cost_of_events
from tracetime.graph.clock_graph import inner
from tracetime.verbs.convert import convert

S = 10**9
REFERENCE, CLOCK, THIRD = ClockId(6), ClockId(200), ClockId(201)


@st.composite
def level_readings(draw, width=2000):
    """Readings of three clocks, whose offsets stay within `width`, after any gaps."""
    n = draw(st.integers(1, 12))
    gaps = draw(
        st.lists(st.sampled_from([1, 1000, 10**6, 10**8, S, 60 * S]), min_size=n, max_size=n)
    )
    at = 10**12 + np.cumsum(np.array(gaps, dtype=np.int64))
    far = draw(st.sampled_from([0, 10**15, -(10**11)]))
    strays = st.lists(st.integers(0, width), min_size=n, max_size=n)
    readings = [np.maximum.accumulate(at + far + np.array(draw(strays))) for _ in range(2)]
    return {REFERENCE: at, CLOCK: readings[0], THIRD: readings[1]}


@settings(max_examples=100)
@given(level_readings(), st.data())
def test_floor_is_within_the_bars_of_a_clock_with_a_constant_offset(made, data):
    graph = ClockGraph()
    graph.add_snapshot(made)
    at, offsets = made[REFERENCE], made[REFERENCE] - made[CLOCK]
    constant = ConstantOffsets(
        inner(graph), REFERENCE, graph._graph.contents.tied_only_to(REFERENCE)
    )
    first, last = int(at[0]) - 10**9, int(at[-1]) + 10**9
    limit = constant.limit_ns(CLOCK, (first, last))
    if limit is None:
        return
    spots = np.array(data.draw(st.lists(st.integers(first, last), min_size=1, max_size=20)))
    readings = np.unique(np.concatenate([spots, at, at - 1])) - int(offsets[0])
    for bars in ("estimated", "guaranteed"):
        bar = graph.convert(readings, CLOCK, REFERENCE, policy="tube", bars=bars, bounds=True)
        for offset in (int(offsets.min()), int(offsets.max())):
            floor = readings + offset
            assert (bar.earliest <= floor).all()
            assert (floor <= bar.latest).all()
            inside = (floor >= first) & (floor <= last)
            assert np.abs(bar.estimate - floor)[inside].max(initial=0) <= limit


@pytest.mark.parametrize("strays", [(0, 2001, 0), (0, 5000, 0)])
def test_what_strays_by_more_than_a_half_width_takes_a_tube(strays):
    graph = ClockGraph()
    at = np.arange(1, 4) * S
    graph.add_snapshot({REFERENCE: at, CLOCK: at + np.array(strays)})
    assert (
        ConstantOffsets(
            inner(graph), REFERENCE, graph._graph.contents.tied_only_to(REFERENCE)
        ).limit_ns(CLOCK, (S, 3 * S))
        is None
    )


def test_what_is_measured_declared_or_counts_ticks_takes_a_tube():
    at = np.arange(1, 4) * S

    def limit(snapshot, *domains):
        graph = ClockGraph(domains=domains)
        graph.add_snapshot(snapshot)
        return ConstantOffsets(
            inner(graph), REFERENCE, graph._graph.contents.tied_only_to(REFERENCE)
        ).limit_ns(CLOCK, (S, 3 * S))

    plain = {REFERENCE: at, CLOCK: at}
    assert limit(plain) == 0
    assert limit(Snapshot(plain, reference=REFERENCE, half_width_ns={CLOCK: 5})) is None
    assert limit(Snapshot(plain, frequency_scaled_ppm={CLOCK: 5})) is None
    assert limit(plain, ClockDomain(CLOCK, assumed_half_width_ns=3)) is None
    assert limit(plain, ClockDomain(CLOCK, ns_per_tick=2)) is None


def test_a_clock_that_has_another_way_takes_a_tube():
    at = np.arange(1, 4) * S
    graph = ClockGraph()
    graph.add_snapshot({REFERENCE: at, CLOCK: at, THIRD: at})
    graph.add_snapshot({REFERENCE: at + 5, THIRD: at + 5})
    assert (
        ConstantOffsets(
            inner(graph), REFERENCE, graph._graph.contents.tied_only_to(REFERENCE)
        ).limit_ns(CLOCK, (S, 3 * S))
        is None
    )


@st.composite
def traces(draw):
    """Many sequences with a clock in us of their own, snapshots anywhere among their events."""
    packets = []
    width = draw(st.sampled_from([0, 900, 1900, 4000]))
    for seq in range(1, draw(st.integers(2, 8))):
        at = 10 * S + draw(st.integers(0, 10**6))
        for _ in range(draw(st.integers(1, 5))):
            at += draw(st.sampled_from([10**4, 10**6, S]))
            stray = draw(st.integers(0, width))
            packets.append((at, snapshot({64: ((at + stray) // 1000, 1000), BOOTTIME: at}, seq)))
            for _ in range(draw(st.integers(0, 3))):
                spot = at + draw(st.integers(-(10**6), 10**9))
                packets.append((spot, event(spot // 1000, 64, seq)))
    if draw(st.booleans()):
        packets = draw(st.permutations(packets))
    else:
        packets.sort(key=lambda packet: packet[0])
    return trace(*(packet for _, packet in packets), event(11 * S, BOOTTIME))


@settings(max_examples=60)
@given(made=traces())
def test_what_is_said_of_floor_without_a_second_reading_holds_of_every_event(
    tmp_path_factory, made
):
    path = tmp_path_factory.mktemp("level") / "t.pftrace"
    path.write_bytes(made)
    with open_trace(path) as read:
        cost = convert(read, path.with_suffix(".parquet")).floor_cost
    with open_trace(path) as read:
        exact = floor_cost_of_events(read)
    if cost.is_limit and exact.clock is not None:
        assert cost.at_most_ns >= exact.at_most_ns
    if cost.events_reordered is not None:
        assert cost.events_reordered == exact.events_reordered


def test_a_trace_of_many_constant_offsets_is_read_once(tmp_path, monkeypatch):
    """As Chromium's are: a clock of its own for each sequence, read when the sequence begins."""
    packets = [snapshot({MONOTONIC: S, BOOTTIME: S}, primary=3)]
    for seq in range(1, 60):
        for k in range(1, 4):
            at = k * S + seq * 10**6
            stray = (seq + k) % 2 * 1000
            packets.append(
                snapshot({64: ((at + stray) // 1000, 1000), MONOTONIC: at}, seq, primary=3)
            )
            # Before it stands an event from after it.
            packets.insert(-1, event(at // 1000 + 500_000, 64, seq))
    path = tmp_path / "t.pftrace"
    path.write_bytes(trace(*packets))
    with open_trace(path) as read:
        readings = []
        columns = read.columns

        def counted(*args, **options):
            readings.append(options)
            return columns(*args, **options)

        monkeypatch.setattr(read, "columns", counted)
        summary = convert(read, tmp_path / "o.parquet")
        cost = summary.floor_cost
        assert read.late_snapshots is not None
        assert len(readings) == 1
    assert (cost.is_limit, cost.events_reordered, cost.leaves_bars) == (True, 0, False)
    assert 0 < cost.at_most_ns < 5000
    with open_trace(path) as read:
        assert floor_cost_of_events(read).at_most_ns <= cost.at_most_ns
