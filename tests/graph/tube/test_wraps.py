"""Short counters: unfolded over their wraps, distinguished from resets, refused where unclear."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from building import event, snapshot, trace
from hypothesis import given
from hypothesis import strategies as st
from reading import opened

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, Snapshot, UsageError

S = 1_000_000_000
GPU, OTHER = 0x8A01B2C3, 0x8A01B2C4
BOOTTIME, MONOTONIC = 6, 3


def domain(bits, tick=1, clock=GPU, ppm=100):
    return ClockDomain(ClockId(clock), ns_per_tick=tick, valid_bits=bits, max_drift_ppm=ppm)


def ticks(boottime, tick=Fraction(1), ppm=20, start=0):
    """What a counter `ppm` fast has counted at each time, unfolded."""
    ns = [int(ns) * (1_000_000 + ppm) // 1_000_000 for ns in boottime]
    return np.array([start + int(n / tick) for n in ns], dtype=np.int64)


def counting(bits, tick=Fraction(1), every=10 * S, n=60, start=0):
    """A graph of BOOTTIME and a wrapping counter, and the readings of both, unfolded."""
    boottime = 1000 * S + np.arange(n, dtype=np.int64) * every
    counted = ticks(boottime, tick, start=start)
    graph = ClockGraph("BOOTTIME", domains=[domain(bits, tick)])
    graph.add_snapshot({"BOOTTIME": boottime, GPU: counted % (1 << bits)})
    return graph, boottime, counted


@pytest.mark.parametrize(
    ("bits", "tick"),
    [(36, Fraction(52_083, 1000)), (32, Fraction(1)), (24, Fraction(1000))],
)
def test_a_counter_is_followed_over_its_wraps(bits, tick):
    graph, boottime, _ = counting(bits, tick, every=100 * S, n=100)
    assert graph.discontinuities() == []
    at = boottime[:-1] + 37 * S
    raw = ticks(at, tick) % (1 << bits)
    estimate, earliest, latest = graph.convert(
        raw, GPU, "BOOTTIME", policy="tube", bounds=True, near=(at + 300_000_000, "BOOTTIME")
    )
    assert np.abs(estimate - at).max() <= 2 * tick + 2
    assert (earliest <= at).all()
    assert (at <= latest).all()


def test_a_value_that_several_wraps_have_is_ambiguous_and_its_bar_holds_them_all():
    graph, boottime, counted = counting(32)
    raw = int(counted[7] % (1 << 32))
    with pytest.raises(ConversionError, match="wrapped; say near which time") as error:
        graph.convert(raw, GPU, "BOOTTIME", policy="tube")
    assert error.value.reason == "ambiguous_source"
    bar = graph.convert(raw, GPU, "BOOTTIME", policy="tube", bounds=True, errors="mask")
    assert bar.estimate is None
    assert bar.earliest <= boottime[7] <= bar.latest
    many = graph.convert(
        pa.array([raw, None]), GPU, "BOOTTIME", policy="tube", bounds=True, errors="mask"
    )
    assert many.estimate.to_pylist() == [None, None]
    assert many.earliest.to_pylist() == [bar.earliest, None]
    near = graph.convert(raw, GPU, "BOOTTIME", policy="tube", near=(int(boottime[7]), 6))
    assert abs(near - int(boottime[7])) <= 2


def test_where_one_wrap_alone_is_possible_there_is_nothing_to_say():
    graph, boottime, counted = counting(40, start=(1 << 40) - 1005 * S)
    assert counted[0] % (1 << 40) > counted[-1] % (1 << 40)
    raw = counted % (1 << 40)
    assert np.abs(graph.convert(raw, GPU, "BOOTTIME", policy="tube") - boottime).max() <= 2


def test_readings_that_count_on_leave_only_timestamps_short():
    """32-bit query results with 64-bit calibrations."""
    boottime = 1000 * S + np.arange(20, dtype=np.int64) * 10 * S
    counted = ticks(boottime, start=1 << 50)
    graph = ClockGraph("BOOTTIME", domains=[domain(32)])
    graph.add_snapshot({"BOOTTIME": boottime, GPU: counted})
    for value in (int(counted[5]), int(counted[5]) % (1 << 32)):
        got = graph.convert(value, GPU, "BOOTTIME", policy="tube", near=(int(boottime[5]), 6))
        assert abs(got - int(boottime[5])) <= 2
    assert abs(graph.convert(int(counted[5]), GPU, 6, policy="tube") - int(boottime[5])) <= 2


def test_a_reset_is_no_wrap():
    boottime = 1000 * S + np.arange(40, dtype=np.int64) * 10 * S
    counted = ticks(boottime, start=0)
    counted[25:] = ticks(boottime[25:] - boottime[25] + 3 * S)
    graph = ClockGraph("BOOTTIME", domains=[domain(38)])
    graph.add_snapshot({"BOOTTIME": boottime, GPU: counted % (1 << 38)})
    (found,) = graph.discontinuities()
    assert (found.kind, found.snapshots) == ("reset", (24, 25))
    # It counted on from its first reading: what it wrapped before that nobody knows.
    unfolded = counted[24] - counted[0] + counted[0] % (1 << 38)
    size = int(counted[25] - boottime[25] - (unfolded - boottime[24]))
    assert found.size_ns[0] <= size <= found.size_ns[1]


def test_a_single_wrong_reading_does_not_lose_the_count():
    graph, boottime, counted = counting(36)
    counted = counted % (1 << 36)
    counted[30] = 12345
    graph = ClockGraph("BOOTTIME", domains=[domain(36)])
    graph.add_snapshot({"BOOTTIME": boottime, GPU: counted})
    assert [(d.kind, d.snapshots) for d in graph.discontinuities()] == [("outlier", (30,))]
    at = int(boottime[45])
    assert abs(graph.convert(int(counted[45]), GPU, 6, policy="tube", near=(at, 6)) - at) <= 100


def test_too_few_snapshots_are_refused_and_the_error_says_how_many_it_takes():
    graph = ClockGraph("BOOTTIME", domains=[domain(32)])
    graph.add_snapshot({"BOOTTIME": [0, 4000 * S, 4010 * S], GPU: [5, 7, 9]})
    with pytest.raises(ConversionError, match=r"in the 4000 s .* at least every (\S+) s") as error:
        graph.convert(5, GPU, "BOOTTIME", policy="tube")
    assert error.value.reason == "ambiguous_source"
    # The advised spacing is enough, and no closer than needed.
    most_s = float(str(error.value).split("at least every ")[1].split(" s")[0])
    for share, enough in ((0.99, True), (1.01, False)):
        every = int(most_s * share * S)
        boottime = np.arange(3, dtype=np.int64) * every
        graph = ClockGraph("BOOTTIME", domains=[domain(32)])
        graph.add_snapshot({"BOOTTIME": boottime, GPU: boottime % (1 << 32)})
        if enough:
            assert graph.convert(every, "BOOTTIME", GPU, policy="tube") == every
        else:
            with pytest.raises(ConversionError, match="is open"):
                graph.convert(every, "BOOTTIME", GPU, policy="tube")


def test_two_counters_are_unfolded_by_a_third_clock():
    boottime = 1000 * S + np.arange(100, dtype=np.int64) * 10 * S
    one, other = ticks(boottime), ticks(boottime, Fraction(52), ppm=-30)
    graph = ClockGraph("BOOTTIME", domains=[domain(32), domain(30, Fraction(52), clock=OTHER)])
    graph.add_snapshot({"BOOTTIME": boottime, GPU: one % (1 << 32), OTHER: other % (1 << 30)})
    got = graph.convert(
        one % (1 << 32), GPU, OTHER, policy="tube", bounds=True, near=(boottime, "BOOTTIME")
    )
    expected = other - other[0] + other[0] % (1 << 30)
    assert (got.earliest <= expected).all()
    assert (expected <= got.latest).all()
    assert np.abs(got.estimate - expected).max() <= 2


def test_a_counter_without_another_clock_is_refused():
    graph = ClockGraph(domains=[domain(32), domain(36, clock=OTHER)])
    graph.add_snapshot({GPU: [1, 2], OTHER: [1, 2]})
    with pytest.raises(ConversionError, match="with a clock that does not"):
        graph.convert(1, GPU, OTHER, policy="tube")
    graph = ClockGraph(domains=[domain(32, tick=None)])
    graph.add_snapshot({GPU: [1, 2], BOOTTIME: [1, 2]})
    with pytest.raises(ConversionError, match="wraps, and its rate is unknown"):
        graph.convert(1, GPU, BOOTTIME, policy="tube")
    assert graph.discontinuities() == []
    assert graph.inconsistencies() == []


def test_a_short_counter_alone_in_its_snapshots_has_nothing_to_unfold_by():
    graph = ClockGraph(domains=[domain(36)])
    graph.add_snapshot({GPU: 5})
    graph.add_snapshot({"BOOTTIME": 5})
    with pytest.raises(ConversionError, match="no snapshot has 0x8a01b2c3, which wraps, with"):
        graph.convert(5, GPU, "BOOTTIME", policy="tube")


def test_near_is_for_the_tube_and_of_one_length():
    graph, _, _ = counting(32)
    with pytest.raises(UsageError, match="only the tube has near"):
        graph.convert(5, GPU, 6, near=(5, 6))
    with pytest.raises(UsageError, match="near is one timestamp, or 3"):
        graph.convert([1, 2, 3], GPU, 6, policy="tube", near=([5, 6], 6))


def test_events_in_a_short_counter_belong_to_the_wrap_they_were_read_in():
    packets, true = [], []
    for k in range(20):
        at = 1000 * S + k * S
        packets.append(snapshot({BOOTTIME: at, GPU: int(ticks([at])[0]) % (1 << 31)}))
        true.append(at + 600_000_000)
        packets.append(event(int(ticks(true[-1:])[0]) % (1 << 31), GPU))
    with opened(trace(*packets), domains=[domain(31)]) as made:
        table = made.read_all("tube")
    assert set(table["status"].to_pylist()) == {"resolved"}
    for at, estimate, low, high in zip(
        true,
        *(table[name].to_pylist() for name in ("trace_time", "earliest", "latest")),
        strict=True,
    ):
        assert low <= at <= high
        assert abs(estimate - at) <= 100


def test_events_beyond_the_snapshots_are_as_far_from_them_as_those_from_each_other():
    """The counter wraps every 4.3 s, and more than half of that is left after the last snapshot."""
    packets, true = [], []
    for k in range(-59, 20 * 60):
        at = 1000 * S + k * 50_000_000
        if k % 60 == 0:
            packets.append(snapshot({BOOTTIME: at, GPU: int(ticks([at])[0]) % (1 << 32)}))
        true.append(at + 777)
        packets.append(event(int(ticks(true[-1:])[0]) % (1 << 32), GPU))
    with opened(trace(*packets), domains=[domain(32)]) as made:
        table = made.read_all("tube")
    assert set(table["status"].to_pylist()) == {"resolved"}
    assert (table["earliest"].to_numpy() <= true).all()
    assert (true <= table["latest"].to_numpy()).all()


@given(
    bits=st.integers(20, 48),
    tick=st.fractions(1, 1000, max_denominator=1000),
    ppm=st.integers(-100, 100),
    start=st.integers(0, 1 << 48),
    gaps=st.lists(st.integers(1, 40), min_size=2, max_size=30),
    noise=st.integers(0, 400),
    shuffle=st.randoms(use_true_random=False),
)
def test_unfolding_follows_any_counter_within_its_limits(
    bits, tick, ppm, start, gaps, noise, shuffle
):
    """Gaps of up to the longest that leaves the number of wraps certain."""
    wrap_ns = float((1 << bits) * tick)
    slack = 2_000
    drift = 600e-6 / (1 - 500e-6)
    most = (wrap_ns / 2 - slack) / drift
    if most < 10_000:
        return
    most = min(0.98 * most, 1e15)
    boottime = np.cumsum([10**6] + [int(most * gap / 40) or 1 for gap in gaps]).astype(np.int64)
    counted = ticks(boottime, tick, ppm, start)
    rows = list(range(len(boottime)))
    shuffle.shuffle(rows)
    graph = ClockGraph(domains=[domain(bits, tick)])
    errors = [shuffle.randint(-noise, noise) for _ in rows]
    read = boottime + errors
    for k in rows:
        graph.add_snapshot(
            Snapshot(
                {"BOOTTIME": int(read[k]), GPU: int(counted[k] % (1 << bits))},
                reference="BOOTTIME",
                half_width_ns={GPU: 1000},
            )
        )
    got = graph.convert(boottime, "BOOTTIME", GPU, policy="tube", bounds=True)
    first = counted[np.argmin(read)]
    expected = counted - first + first % (1 << bits)
    slack_ticks = int(2000 / tick) + 2
    assert (got.earliest <= expected + slack_ticks).all()
    assert (expected - slack_ticks <= got.latest).all()
    assert graph.discontinuities() == []


def test_order_compares_raw_timestamps_of_a_short_counter_whichever_comes_first():
    graph, boottime, counted = counting(36, Fraction(625, 12), every=10 * S, n=100, start=1 << 35)
    raw = int(counted[90]) % (1 << 36)
    for other, sign in ((int(boottime[90]) + S, -1), (int(boottime[90]) - S, 1)):
        assert graph.order((raw, GPU), (other, "BOOTTIME")) == sign
        assert graph.order((other, "BOOTTIME"), (raw, GPU)) == -sign
    graph, boottime, counted = counting(32)
    for one, other in (((0, GPU), (5, "BOOTTIME")), ((5, "BOOTTIME"), (0, GPU))):
        with pytest.raises(ConversionError, match="near") as caught:
            graph.order(one, other)
        assert caught.value.reason == "ambiguous_source"


def test_one_snapshot_of_a_short_counter_of_any_rate_is_enough():
    graph, boottime, counted = counting(36, Fraction(625, 12), n=1)
    got = graph.convert(int(counted[0]), GPU, "BOOTTIME", policy="tube", bounds=True)
    assert got.earliest <= boottime[0] <= got.latest
    got = graph.convert([], GPU, "BOOTTIME", policy="tube", bounds=True)
    assert [len(column) for column in got] == [0, 0, 0]


@pytest.mark.parametrize("near", [5, (5,), (1, 2, 3), "BOOTTIME"])
def test_near_is_a_time_and_a_clock(near):
    graph, _, _ = counting(36)
    with pytest.raises(UsageError, match="near is"):
        graph.convert(5, GPU, "BOOTTIME", policy="tube", near=near)
