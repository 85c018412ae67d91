"""The tube policy over a whole graph: bars, paths of least error, order, findings."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId, ConversionError, Reading, Snapshot, UsageError
from tracetime.clocks.domain import ClockDomain
from tracetime.graph.tube.results import Bounds
from tracetime.graph.tube.triangles import Triangles

S = 1_000_000_000
GPU = 0x8A01B2C3


def drifting(ppm=20, n=60, every=10 * S, noise=0, seed=1):
    """MONOTONIC_RAW runs `ppm` fast of BOOTTIME; read together every 10 s."""
    random = np.random.default_rng(seed)
    boottime = np.arange(n, dtype=np.int64) * every + 1000 * S
    raw = boottime + (boottime - 1000 * S) * ppm // 1_000_000 - 3 * S
    return boottime, raw + random.integers(-noise, noise + 1, n)


@pytest.fixture
def graph():
    boottime, raw = drifting()
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC_RAW": raw})
    return graph


def truth(boottime, ppm=20):
    return boottime + (boottime - 1000 * S) * ppm // 1_000_000 - 3 * S


def test_drift_is_corrected_where_floor_ignores_it(graph):
    at = np.arange(1001 * S, 1580 * S, 7 * S + 13)
    raw = truth(at)
    floor = graph.convert(raw, "MONOTONIC_RAW", "BOOTTIME")
    estimate, earliest, latest = graph.convert(
        raw, "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True
    )
    assert np.abs(floor - at).max() > 150_000
    assert np.abs(estimate - at).max() < 100
    assert (earliest <= at).all()
    assert (at <= latest).all()
    assert (latest - earliest).max() < 3_000


def test_bounds_have_the_shape_of_what_was_asked(graph):
    one = graph.convert(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True)
    assert isinstance(one, Bounds)
    assert all(isinstance(value, int) for value in one)
    assert one.earliest <= one.estimate <= one.latest
    many = graph.convert([1100 * S], "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True)
    assert [values.tolist() for values in many] == [[value] for value in one]
    masked = graph.convert(
        pa.array([1100 * S, None]), 5, 6, policy="tube", bounds=True, errors="mask"
    )
    assert [values.to_pylist() for values in masked] == [[value, None] for value in one]
    assert graph.convert(1100 * S, 5, 6, policy="tube") == one.estimate


def test_floor_has_no_bounds(graph):
    with pytest.raises(UsageError, match="only the tube has bounds"):
        graph.convert(5, 5, 6, bounds=True)
    with pytest.raises(UsageError, match="no policy"):
        graph.convert(5, 5, 6, policy="nearest")
    with pytest.raises(UsageError, match="bars are"):
        graph.convert(5, 5, 6, policy="tube", bars="loose")


def test_a_clock_is_itself(graph):
    assert graph.convert(7, 6, 6, policy="tube", bounds=True) == Bounds(7, 7, 7)


def test_order_of_events_on_two_clocks(graph):
    raw = int(truth(np.array([1300 * S]))[0])
    assert graph.order((raw, "MONOTONIC_RAW"), (1300 * S + 10_000, "BOOTTIME")) == -1
    assert graph.order((raw, "MONOTONIC_RAW"), (1300 * S - 10_000, "BOOTTIME")) == 1
    assert graph.order((raw, "MONOTONIC_RAW"), (1300 * S, "BOOTTIME")) == 0
    assert graph.order((5, "BOOTTIME"), (6, "BOOTTIME")) == -1


def test_a_suspend_is_found_in_its_zone():
    monotonic = np.arange(20, dtype=np.int64) * 10 * S
    boottime = monotonic + np.where(np.arange(20) >= 8, 3600 * S, 0)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": monotonic})
    (found,) = graph.discontinuities()
    assert (found.src, found.dst, found.kind) == (ClockId(3), ClockId(6), "suspend")
    assert (found.a_from, found.a_to) == (monotonic[7], monotonic[8])
    assert found.snapshots == (7, 8)
    assert found.size_ns[0] <= 3600 * S <= found.size_ns[1]


def test_realtime_set_back_is_ambiguous_only_where_it_is():
    boottime = np.arange(20, dtype=np.int64) * 10 * S
    realtime = boottime + 10**18 - np.where(np.arange(20) >= 10, 30 * S, 0)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "REALTIME": realtime})
    with pytest.raises(ConversionError, match="ran backwards"):
        graph.convert(10**18 + 20 * S, "REALTIME", "BOOTTIME")
    early = graph.convert(10**18 + 20 * S, "REALTIME", "BOOTTIME", policy="tube")
    assert abs(early - 20 * S) < 100
    value = 10**18 + 85 * S
    with pytest.raises(ConversionError, match="two instants") as error:
        graph.convert(value, "REALTIME", "BOOTTIME", policy="tube")
    assert error.value.reason == "ambiguous_source"
    bar = graph.convert(value, "REALTIME", "BOOTTIME", policy="tube", bounds=True, errors="mask")
    assert bar.earliest <= 85 * S < 115 * S <= bar.latest
    assert f"between {bar.earliest} and {bar.latest}: REALTIME was set back" in str(error.value)


def test_the_path_is_the_one_of_least_error():
    """MONOTONIC reaches BOOTTIME by a coarse clock in one snapshot, by a fine one in two."""
    boottime = np.arange(30, dtype=np.int64) * 10 * S
    graph = ClockGraph("BOOTTIME")
    noise = np.random.default_rng(3).integers(-400_000, 400_000, 30)
    graph.add_snapshot({"BOOTTIME": boottime, GPU: boottime + 5 * S + noise})
    graph.add_snapshot({GPU: boottime + 5 * S, "MONOTONIC_RAW": boottime})
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC_RAW": boottime})
    assert graph.path(GPU, "BOOTTIME") == [ClockId(GPU), ClockId(6)]
    assert graph.path(GPU, "BOOTTIME", policy="tube") == [ClockId(GPU), ClockId(5), ClockId(6)]


def test_no_path_runs_along_a_counter_that_was_reset_where_another_leads():
    boottime = np.arange(60, dtype=np.int64) * 10 * S + 9000 * S
    realtime = boottime + 10**18
    counter = np.where(np.arange(60) < 20, boottime, boottime - boottime[20] + 4 * S)
    counter = np.where(np.arange(60) < 40, counter, boottime - boottime[40] + 4 * S)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "REALTIME": realtime, GPU: counter})
    assert graph.path(GPU, "REALTIME", policy="tube") == [ClockId(GPU), ClockId(6), ClockId(1)]
    # Seconds 4 to 204 of the counter come twice: the bar holds both instants.
    at = np.concatenate([boottime[1:19], boottime[22:38], boottime[42:]]) + 3 * S
    ran = np.concatenate([counter[1:19], counter[22:38], counter[42:]]) + 3 * S
    for bars in ("estimated", "guaranteed"):
        got = graph.convert(
            ran, GPU, "REALTIME", policy="tube", bars=bars, bounds=True, errors="mask"
        )
        assert (got.earliest.to_numpy() <= at + 10**18).all()
        assert (at + 10**18 <= got.latest.to_numpy()).all()
    direct = ClockGraph()
    direct.add_snapshot({"REALTIME": realtime[:20], GPU: counter[:20]})
    assert direct.path(GPU, "REALTIME", policy="tube") == [ClockId(GPU), ClockId(1)]


def test_a_counter_that_stands_still_while_the_machine_sleeps_was_not_reset():
    monotonic = np.arange(40, dtype=np.int64) * 10 * S + 500 * S
    slept = np.where(np.arange(40) >= 20, 7200 * S, 0)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": monotonic + slept, "MONOTONIC": monotonic, GPU: monotonic})
    assert {(d.src.clock, d.dst.clock): d.kind for d in graph.discontinuities()} == {
        (3, 6): "suspend", (6, GPU): "step",
    }  # fmt: skip


def test_loops_that_contradict_are_told():
    boottime = np.arange(30, dtype=np.int64) * 10 * S
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": boottime})
    graph.add_snapshot({"MONOTONIC": boottime, "MONOTONIC_RAW": boottime})
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC_RAW": boottime + 50_000_000})
    found = graph.inconsistencies()
    assert {(f.src, f.dst) for f in found} == {
        (ClockId(3), ClockId(5)), (ClockId(3), ClockId(6)), (ClockId(5), ClockId(6)),
    }  # fmt: skip
    assert all(30_000_000 < f.gap_ns < 60_000_000 for f in found)


@pytest.mark.parametrize("wrong", [0, 30_000])
def test_loops_that_contradict_are_told_where_each_pair_was_read_at_other_times(wrong):
    graph = ClockGraph()
    clocks = {"BOOTTIME": 0, "com.example.a": 10, "com.example.b": -20}
    for start, one, other, off in (
        (1.0, "BOOTTIME", "com.example.a", 0),
        (4.3, "com.example.a", "com.example.b", wrong),
        (7.6, "BOOTTIME", "com.example.b", 0),
    ):
        at = np.arange(60, dtype=np.int64) * 10 * S + int(start * S)
        here, there = (at + at * clocks[clock] // 1_000_000 for clock in (one, other))
        graph.add_snapshot(
            Snapshot({one: here, other: there + off}, reference=one, half_width_ns={other: 100})
        )
    found = graph.inconsistencies()
    assert len(found) == (3 if wrong else 0)
    assert all(0 < f.gap_ns <= wrong for f in found)


def test_loops_that_agree_are_not(graph):
    boottime, raw = drifting()
    graph.add_snapshot({"MONOTONIC_RAW": raw, "MONOTONIC": boottime})
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": boottime})
    assert graph.inconsistencies() == []


def test_measured_half_widths_make_the_bars():
    boottime, raw = drifting(noise=40)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": boottime, "MONOTONIC_RAW": raw + 700},
            reference="BOOTTIME",
            half_width_ns={"MONOTONIC_RAW": 50},
            centre_ns={"MONOTONIC_RAW": 700},
        )
    )
    at = np.arange(1001 * S, 1580 * S, 7 * S + 13)
    estimate, earliest, latest = graph.convert(
        truth(at), "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True
    )
    assert (earliest <= at).all()
    assert (at <= latest).all()
    assert np.median(latest - earliest) < 200
    told = graph.explain(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube")
    assert not told.steps[0].assumed
    assert "(measured)" in str(told)
    assert "estimated bars" in str(told)


def test_a_half_width_measured_where_both_clocks_read_0_counts():
    graph = ClockGraph()
    zero = {"BOOTTIME": 0, "MONOTONIC": 0}
    graph.add_snapshot(Snapshot(zero, reference="BOOTTIME", half_width_ns={"MONOTONIC": 300}))
    bar = graph.convert(0, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= -300
    assert bar.latest >= 300


def test_assumed_half_widths_are_said(graph):
    told = graph.explain(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube")
    assert told.steps[0].assumed
    assert told.earliest <= told.result <= told.latest
    narrow = told.latest - told.earliest
    graph.declare(ClockDomain(ClockId(5), assumed_half_width_ns=50_000))
    wide = graph.explain(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube")
    assert wide.latest - wide.earliest > 10 * narrow


def test_a_counter_of_unknown_rate_is_learnt():
    boottime = np.arange(40, dtype=np.int64) * 10 * S + 77 * S
    ticks = (boottime * 2445) // 1000 + 123_456
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "TSC": ticks})
    at = 200 * S + 5
    bar = graph.convert(at * 2445 // 1000 + 123_456, "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= at <= bar.latest
    assert abs(bar.estimate - at) < 10
    back = graph.convert(at, "BOOTTIME", "TSC", policy="tube", bounds=True)
    assert back.earliest <= at * 2445 // 1000 + 123_456 <= back.latest


def test_a_rate_learnt_from_snapshots_close_together_is_as_unsure_as_they_are():
    """Ends 1 ms apart, both off by all of their 1,000 ns: the rate is off by 2,000 ppm."""
    graph = ClockGraph()
    for at, off in ((0, -1000), (1_000_000, 1000)):
        readings = {"BOOTTIME": S + at, "TSC": (S + at + off) * 3}
        half_width_ns = {"TSC": 1001}
        graph.add_snapshot(Snapshot(readings, reference="BOOTTIME", half_width_ns=half_width_ns))
    bar = graph.convert((2 * S) * 3, "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= 2 * S <= bar.latest


def test_a_declared_rate_is_used():
    boottime = np.arange(2, dtype=np.int64) * 10 * S
    graph = ClockGraph(
        "BOOTTIME", [ClockDomain(ClockId(9), ns_per_tick=Fraction(1000, 2445), max_drift_ppm=1)]
    )
    graph.add_snapshot({"BOOTTIME": boottime, "TSC": boottime * 2445 // 1000})
    bar = graph.convert(2445 * 5_000_000, "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= 5 * S <= bar.latest


def test_one_snapshot_of_a_counter_of_unknown_rate_is_too_few():
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": 5, "TSC": 7})
    with pytest.raises(ConversionError):
        graph.convert(7, "TSC", "BOOTTIME", policy="tube")


def test_bars_grow_beyond_the_last_snapshot_and_shrink_with_the_next(graph):
    late = int(truth(np.array([1650 * S]))[0])
    before = graph.convert(late, 5, 6, policy="tube", bounds=True)
    graph.add_snapshot({"BOOTTIME": 1660 * S, "MONOTONIC_RAW": int(truth(1660 * S))})
    after = graph.convert(late, 5, 6, policy="tube", bounds=True)
    assert before.earliest <= 1650 * S <= before.latest
    assert after.latest - after.earliest < before.latest - before.earliest


def test_unknown_clocks_are_told(graph):
    with pytest.raises(ConversionError) as error:
        graph.convert(5, 777, 6, policy="tube")
    assert error.value.reason == "unknown_source_clock"
    assert graph.convert([5], 777, 6, policy="tube", errors="mask").to_pylist() == [None]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(-80, 80),
    st.just(0) | st.integers(0, 300),
    st.integers(2, 25),
    st.integers(0, 10**6),
    st.permutations(range(25)),
)
def test_the_truth_lies_in_the_bars_there_and_back(ppm, noise, n, seed, order):
    boottime, raw = drifting(ppm, n, noise=noise, seed=seed)
    shuffled = [k for k in order if k < n]
    snapshots = Snapshot(
        {"BOOTTIME": boottime[shuffled], "MONOTONIC_RAW": raw[shuffled]},
        reference="BOOTTIME",
        half_width_ns={"MONOTONIC_RAW": noise},
    )
    graph, ordered = ClockGraph(), ClockGraph()
    graph.add_snapshot(snapshots)
    ordered.add_snapshot(
        Snapshot(
            {"BOOTTIME": boottime, "MONOTONIC_RAW": raw},
            reference="BOOTTIME",
            half_width_ns={"MONOTONIC_RAW": noise},
        )
    )
    at = np.random.default_rng(seed).integers(boottime[0] - 60 * S, boottime[-1] + 60 * S, 50)
    there = graph.convert(at, 6, 5, policy="tube", bounds=True, bars="guaranteed")
    expected = truth(at, ppm)
    assert (there.earliest <= expected).all()
    assert (expected <= there.latest).all()
    again = ordered.convert(at, 6, 5, policy="tube", bounds=True, bars="guaranteed")
    assert all(np.array_equal(a, b) for a, b in zip(there, again, strict=True))
    back = graph.convert(there.estimate, 5, 6, policy="tube", bounds=True, bars="guaranteed")
    assert (back.earliest <= at).all()
    assert (at <= back.latest).all()
    if noise == 0:
        # One hop at a snapshot is its floor, to within what each clock steps by.
        floor = ordered.convert(boottime, 6, 5)
        tube = graph.convert(boottime, 6, 5, policy="tube", bounds=True)
        assert np.abs(tube.estimate - floor).max() <= 2
        assert (tube.earliest <= floor).all()
        assert (floor <= tube.latest).all()
    each = [graph.convert(int(t), 6, 5, policy="tube") for t in at[:5]]
    assert each == graph.convert(at[:5], 6, 5, policy="tube").tolist()


def test_snapshots_that_are_absurdly_far_off_are_outliers_and_cost_nothing_else():
    boottime = np.arange(20, dtype=np.int64) * 10 * S
    monotonic = boottime + 7
    boottime[5], monotonic[9] = 2**63 - 1, -(2**63)
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": monotonic})
    bar = graph.convert(95 * S, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= 95 * S - 7 <= bar.latest <= bar.earliest + 3000
    found = graph.discontinuities()
    assert [(d.kind, d.snapshots) for d in found] == [("outlier", (9,)), ("outlier", (5,))]
    assert found[1].size_ns[0] <= 2**63 - 1 - 50 * S <= found[1].size_ns[1]


def test_two_snapshots_pulled_apart_by_a_busy_machine_are_no_suspend():
    graph = ClockGraph()
    graph.add_snapshot(
        {"MONOTONIC": [5 * S, 5 * S + 700_000], "BOOTTIME": [5 * S, 5 * S + 366_000]}
    )
    assert graph.discontinuities() == []
    bar = graph.convert(5 * S, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= 5 * S - 300_000
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC": [5 * S, 6 * S], "BOOTTIME": [5 * S, 9 * S]})
    assert [d.kind for d in graph.discontinuities()] == ["suspend"]


def test_clocks_of_cpu_time_are_no_clocks_that_step():
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": [S, 20 * S, 40 * S], 7: [5, 6, 9], 8: [1, 2, 3]})
    assert graph.discontinuities() == []


def test_what_rests_on_assumptions_is_an_estimate_whatever_was_asked(graph):
    told = graph.explain(5, "BOOTTIME", 5, policy="tube", bars="guaranteed")
    assert (told.bars, told.basis) == ("guaranteed", "estimated")
    assert "guaranteed bars, but estimates: half-widths are assumed" in str(told)
    tsc = ClockGraph()
    at = np.arange(5) * S
    tsc.add_snapshot(
        Snapshot({"BOOTTIME": at, "TSC": at * 3}, reference="BOOTTIME", half_width_ns={"TSC": 20})
    )
    told = tsc.explain(7, "TSC", "BOOTTIME", policy="tube", bars="guaranteed")
    assert told.steps[0].learnt
    assert told.basis == "estimated"
    assert "a rate is learnt" in str(told)
    tsc.declare(ClockDomain("TSC", ns_per_tick=Fraction(1, 3)))
    told = tsc.explain(7, "TSC", "BOOTTIME", policy="tube", bars="guaranteed")
    assert told.basis == "guaranteed"
    assert "estimates" not in str(told)


def test_one_snapshot_is_told_as_one():
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": 7 * S, "MONOTONIC": 5 * S})
    told = str(graph.explain(S, "BOOTTIME", "MONOTONIC", policy="tube"))
    assert "ns: 1 snapshot, half-width" in told


def test_a_bar_on_a_clock_that_counts_ticks_is_told_in_ticks():
    graph = ClockGraph()
    at = np.arange(5) * S
    graph.add_snapshot(
        Snapshot({"BOOTTIME": at, "TSC": at * 3}, reference="BOOTTIME", half_width_ns={"TSC": 20})
    )
    told = graph.explain(S, "BOOTTIME", "TSC", policy="tube")
    assert [step.unit for step in told.steps] == ["ticks"]
    assert str(told).count(" ticks") == 3
    assert "half-width 20 ns" in str(told)
    back = graph.explain(3 * S, "TSC", "BOOTTIME", policy="tube")
    assert [step.unit for step in back.steps] == ["ns"]
    assert str(back).count("ticks") == 1
    assert str(back).startswith("TSC 3000000000 ticks -> BOOTTIME 1000000000\n")


def test_a_tick_beyond_int64_costs_only_itself():
    graph = ClockGraph(domains=[ClockDomain("TSC", ns_per_tick=Fraction(1000, 2445))])
    at = np.arange(5) * S
    graph.add_snapshot({"BOOTTIME": at, "TSC": at * 2445 // 1000})
    far = (1 << 63) - 1
    got = graph.convert(
        [S, far, -far], "BOOTTIME", "TSC", policy="tube", bounds=True, errors="mask"
    )
    assert [column.is_null().to_pylist() for column in got] == [[False, True, True]] * 3
    assert got.estimate[0].as_py() == 2_445_000_000
    graph.declare(ClockDomain("TSC", ns_per_tick=Fraction(3)))
    got = graph.convert([3, far], "TSC", "BOOTTIME", policy="tube", errors="mask")
    assert got.is_null().to_pylist() == [False, True]
    with pytest.raises(ConversionError, match="index 1") as caught:
        graph.convert([3, far], "TSC", "BOOTTIME", policy="tube")
    assert caught.value.reason == "overflow"


def test_readings_close_together_say_nothing_of_the_rate():
    """Two snapshots 36 us apart, 200 ns off: a minute later the clocks are where floor has them."""
    graph = ClockGraph()
    graph.add_snapshot({5: [1000 * S, 1000 * S + 36_000], 6: [1000 * S, 1000 * S + 36_200]})
    later = 1060 * S
    got = graph.convert(later, 5, 6, policy="tube", bounds=True)
    assert abs(got.estimate - graph.convert(later, 5, 6)) < 50_000
    assert got.latest - got.estimate > 20_000_000


def test_order_of_arrays_is_that_of_their_elements(graph):
    raws = truth(np.arange(1100, 1400, 10) * S)
    others = np.arange(1100, 1400, 10) * S + np.resize([-10_000, 0, 10_000], 30)
    each = [
        graph.order((int(raw), "MONOTONIC_RAW"), (int(other), "BOOTTIME"))
        for raw, other in zip(raws, others, strict=True)
    ]
    got = graph.order((raws, "MONOTONIC_RAW"), (others.tolist(), "BOOTTIME"))
    assert (got.dtype, got.tolist()) == (np.int8, each)
    assert set(each) == {-1, 0, 1}
    one = int(others[4])
    assert graph.order((raws, "MONOTONIC_RAW"), (one, "BOOTTIME")).tolist() == [
        graph.order((int(raw), "MONOTONIC_RAW"), (one, "BOOTTIME")) for raw in raws
    ]
    assert (
        graph.order((others, "BOOTTIME"), (one, "BOOTTIME")).tolist()
        == np.sign(others - one).tolist()
    )
    with pytest.raises(UsageError, match="30 with 2"):
        graph.order((raws, "MONOTONIC_RAW"), (others[:2], "BOOTTIME"))


@pytest.mark.parametrize("other", ["MONOTONIC", "REALTIME@machine1"])
def test_order_decides_nothing_by_a_clock_that_was_set_back(other):
    monotonic = np.arange(31, dtype=np.int64) * 10 * S
    realtime = monotonic + np.where(monotonic > 150 * S, 950 * S, 1000 * S)
    graph = ClockGraph()
    for clock in ("REALTIME", "REALTIME@machine1"):
        graph.add_snapshot(
            Snapshot(
                {"MONOTONIC": monotonic, clock: realtime},
                reference="MONOTONIC",
                half_width_ns={clock: 100},
            )
        )
    # 1140 s was read at 140 s and again at 190 s; 1090 s and 1170 s once, at 90 s and 220 s.
    said = [1090 * S, 1140 * S, 1140 * S, 1140 * S, 1170 * S]
    at = [100 * S, 135 * S, 165 * S, 195 * S, 205 * S]
    expected = [-1, 1, 0, -1, 1]
    if other != "MONOTONIC":
        at = [1099 * S, 1099 * S, 1120 * S, 1151 * S, 1165 * S]
        expected = [-1, 1, 0, 0, 1]
    assert graph.order((said, "REALTIME"), (at, other)).tolist() == expected
    assert graph.order((at, other), (said, "REALTIME")).tolist() == [-x for x in expected]


def test_order_is_the_other_way_round_whichever_comes_first():
    """Clocks that contradict: by one BOOTTIME was set back at 150 s, by the other it was not."""
    raw = np.arange(31, dtype=np.int64) * 10 * S
    boottime = raw + np.where(raw > 150 * S, 950 * S, 1000 * S)
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC_RAW": raw, "BOOTTIME": boottime})
    graph.add_snapshot({"MONOTONIC": raw, "BOOTTIME": raw + 1000 * S})
    at, said = np.repeat(raw + 5 * S, 31), np.tile(boottime, 31)
    one = graph.order((at, "MONOTONIC_RAW"), (said, "BOOTTIME"))
    assert (one == -graph.order((said, "BOOTTIME"), (at, "MONOTONIC_RAW"))).all()
    # 1140 s was read at 140 s and at 190 s.
    assert graph.order((165 * S, "MONOTONIC_RAW"), (1140 * S, "BOOTTIME")) == 0


@pytest.mark.parametrize("wrong", [5, (5,), None, "ab"])
def test_order_compares_pairs(graph, wrong):
    with pytest.raises(UsageError, match="timestamps, clock"):
        graph.order((5, 5), wrong)
    with pytest.raises(UsageError, match="timestamps, clock"):
        graph.order(wrong, (5, 5))


def test_order_takes_whole_numbers(graph):
    for ts in ("x", 5.5, np.array([1.0, 2.0]), pa.array([1, None]), [[1]]):
        with pytest.raises(UsageError):
            graph.order((5, 5), (ts, "BOOTTIME"))
        with pytest.raises(UsageError):
            graph.order((ts, "BOOTTIME"), (ts, "BOOTTIME"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ns_per_tick", "abc"), ("ns_per_tick", float("nan")), ("ns_per_tick", "1/0"),
        ("valid_bits", 36.5), ("valid_bits", "36"), ("valid_bits", True),
        ("max_drift_ppm", "5"), ("wander_ppm", "5"), ("tick_ns", "5"), ("tick_ns", float("inf")),
        ("assumed_half_width_ns", 1.5), ("assumed_half_width_ns", -1),
        ("assumed_half_width_ns", 1 << 70), ("ns_per_tick", Fraction(1, 1 << 2048)),
        ("name", 5), ("oscillator", b"x"), ("disciplined", 1),
    ],
)  # fmt: skip
def test_limits_that_are_none_are_refused(field, value):
    with pytest.raises(UsageError, match=f"{field} of TSC"):
        ClockDomain("TSC", **{field: value})


def test_limits_are_kept_as_the_types_they_are_declared_with():
    domain = ClockDomain(
        "TSC", valid_bits=np.int8(36), wander_ppm=Fraction(1, 4), assumed_half_width_ns=np.int64(7),
        max_drift_ppm=np.float32(0.5), tick_ns=np.int64(2),
    )  # fmt: skip
    kept = (
        domain.valid_bits, domain.wander_ppm, domain.assumed_half_width_ns, domain.max_drift_ppm,
        domain.tick_ns,
    )  # fmt: skip
    assert [(type(value), value) for value in kept] == [
        (int, 36), (float, 0.25), (int, 7), (float, 0.5), (float, 2.0),
    ]  # fmt: skip


def test_the_widest_half_width_that_may_be_assumed_is_one_a_tube_holds(graph):
    for clock in ("MONOTONIC_RAW", "BOOTTIME"):
        graph.declare(ClockDomain(clock, assumed_half_width_ns=1 << 58))
    got = graph.convert(5, "BOOTTIME", 5, policy="tube", bounds=True)
    assert got.latest - got.earliest >= 1 << 59


@pytest.mark.parametrize("n", [3, 4, 7])
def test_loops_of_any_length_are_checked(n):
    at = np.arange(20) * 10 * S
    names = [f"com.example.clock{k}" for k in range(n)]
    for wrong in (0, 12_000):
        graph = ClockGraph()
        for k, name in enumerate(names):
            other = names[(k + 1) % n]
            offset = 5 if k < n - 1 else -5 * (n - 1) + wrong
            graph.add_snapshot(
                Snapshot({name: at, other: at + offset}, reference=name, half_width_ns={other: 20})
            )
        found = graph.inconsistencies()
        if not wrong:
            assert found == []
            continue
        assert len(found) == n
        for one in found:
            assert {str(c) for c in (one.src, one.dst, *one.via)} == {
                str(ClockId.parse(name)) for name in names
            }
            assert 0 < one.gap_ns <= wrong


def test_no_domains_can_be_said_as_none():
    assert ClockGraph(domains=None).declared == {}


@pytest.mark.parametrize("wrong", ["TSC", ["TSC"], [None]])
def test_domains_are_clock_domains(wrong):
    with pytest.raises(UsageError, match="ClockDomain"):
        ClockGraph(domains=wrong)
    with pytest.raises(UsageError, match="ClockDomain"):
        ClockGraph().declare(wrong)


@pytest.mark.parametrize("rate", [None, Fraction(10**30), Fraction(1, 10**30)])
def test_rates_whose_fractions_leave_int64(rate):
    graph = ClockGraph(domains=[ClockDomain("TSC", ns_per_tick=rate)])
    graph.add_snapshot({"TSC": [-1, 0], "MONOTONIC": [-(2**63), 0]})
    for source, target in (("TSC", "MONOTONIC"), ("MONOTONIC", "TSC")):
        got = graph.convert([-1, 0], source, target, policy="tube", bounds=True, errors="mask")
        assert len(got.estimate) == 2


def test_any_limits_that_a_clock_may_declare_are_of_use():
    limits = {"max_drift_ppm": 32_000, "wander_ppm": 5_000}
    graph = ClockGraph("X.a", [ClockDomain(name, **limits) for name in ("X.a", "X.b")])
    for at in range(10**12, 10**12 + 5 * S, S):
        graph.add_snapshot(Snapshot({"X.a": at, "X.b": at}))
    value = 10**12 + 123
    assert graph.convert(value, "X.b", "X.a", policy="tube", bounds=True).estimate == value
    assert not graph.discontinuities()
    for limit, most in limits.items():
        with pytest.raises(UsageError, match=rf"{limit} of .*: use 0 to {most}"):
            ClockDomain("X.a", **{limit: most + 1})


def test_a_bar_holds_what_a_long_unit_hides():
    """A clock of 10 ms a unit: it reads the same for as long."""
    unit = 10_000_000
    graph = ClockGraph()
    instants = np.array([k * S + (k * 7_300_000) % unit for k in range(20)])
    for at in instants.tolist():
        graph.add_snapshot({"BOOTTIME": at, GPU: Reading(at // unit, unit)})
    bars = graph.convert(instants // unit, GPU, "BOOTTIME", policy="tube", bounds=True)
    assert np.all((bars.earliest <= instants) & (instants <= bars.latest))
    assert graph.discontinuities() == []


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 3), Fraction(125, 3)])
def test_a_loop_of_clocks_that_count_ticks_is_told_in_ns(rate):
    """Pairs in snapshots of their own; what MONOTONIC and the GPU say is 1 ms apart."""
    graph = ClockGraph("MONOTONIC", [ClockDomain("TSC", ns_per_tick=rate)])
    at = 1000 * S + np.arange(30, dtype=np.int64) * S
    ticks = np.array([int(t / rate) for t in at.tolist()])
    graph.add_snapshot({"TSC": ticks, GPU: at})
    graph.add_snapshot({"TSC": ticks, "MONOTONIC": at})
    graph.add_snapshot({"MONOTONIC": at, GPU: at + 1_000_000})
    found = graph.inconsistencies()
    assert len(found) == 3
    for loop in found:
        assert 990_000 < loop.gap_ns <= 1_000_000
        assert at[0] - S <= loop.at_ns <= at[-1] + S


@pytest.mark.parametrize(
    ("more", "leads"), [("abc", False), ("ab", True), ("ac", True), ("bc", True), ("ad", False)]
)
def test_only_snapshots_that_lack_one_of_three_clocks_contradict_the_others(more, leads):
    clocks = dict(zip("abcd", map(ClockId, (1, 3, 5, 6)), strict=True))
    series = [tuple(clocks[name] for name in names) for names in ("abc", more)]
    found = Triangles(series).vias(clocks["a"], clocks["b"])
    assert found == ([clocks["c"]] if leads else [])
