"""The tube policy over a whole graph: bars, paths of least error, discontinuities."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from drifting import GPU, S, drifting, truth
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId, ConversionError, Reading, Snapshot, UsageError
from tracetime.clocks.domain import ClockDomain
from tracetime.graph.tube.results import Bounds


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


def test_bounds_have_the_shape_of_the_timestamps(graph):
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


def test_a_counter_that_stops_while_the_machine_sleeps_was_not_reset():
    monotonic = np.arange(40, dtype=np.int64) * 10 * S + 500 * S
    slept = np.where(np.arange(40) >= 20, 7200 * S, 0)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": monotonic + slept, "MONOTONIC": monotonic, GPU: monotonic})
    assert {(d.src.clock, d.dst.clock): d.kind for d in graph.discontinuities()} == {
        (3, 6): "suspend",
        (6, GPU): "step",
    }


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
    explanation = graph.explain(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube")
    assert not explanation.steps[0].assumed
    assert "(measured)" in str(explanation)
    assert "estimated bars" in str(explanation)


def test_a_half_width_measured_where_both_clocks_read_0_counts():
    graph = ClockGraph()
    zero = {"BOOTTIME": 0, "MONOTONIC": 0}
    graph.add_snapshot(Snapshot(zero, reference="BOOTTIME", half_width_ns={"MONOTONIC": 300}))
    bar = graph.convert(0, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= -300
    assert bar.latest >= 300


def test_an_explanation_says_that_half_widths_are_assumed(graph):
    explanation = graph.explain(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube")
    assert explanation.steps[0].assumed
    assert explanation.earliest <= explanation.result <= explanation.latest
    narrow = explanation.latest - explanation.earliest
    graph.declare(ClockDomain(ClockId(5), assumed_half_width_ns=50_000))
    wide = graph.explain(1100 * S, "MONOTONIC_RAW", "BOOTTIME", policy="tube")
    assert wide.latest - wide.earliest > 10 * narrow


def test_bars_grow_beyond_the_last_snapshot_and_shrink_with_the_next(graph):
    late = int(truth(np.array([1650 * S]))[0])
    before = graph.convert(late, 5, 6, policy="tube", bounds=True)
    graph.add_snapshot({"BOOTTIME": 1660 * S, "MONOTONIC_RAW": int(truth(1660 * S))})
    after = graph.convert(late, 5, 6, policy="tube", bounds=True)
    assert before.earliest <= 1650 * S <= before.latest
    assert after.latest - after.earliest < before.latest - before.earliest


def test_unknown_clocks_are_named_in_errors(graph):
    with pytest.raises(ConversionError) as error:
        graph.convert(5, 777, 6, policy="tube")
    assert error.value.reason == "unknown_source_clock"
    assert graph.convert([5], 777, 6, policy="tube", errors="mask").to_pylist() == [None]


@settings(max_examples=40)
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


def test_bars_that_rest_on_assumptions_are_estimates(graph):
    explanation = graph.explain(5, "BOOTTIME", 5, policy="tube", bars="guaranteed")
    assert (explanation.bars, explanation.basis) == ("guaranteed", "estimated")
    assert "guaranteed bars, but estimates: half-widths are assumed" in str(explanation)
    tsc = ClockGraph()
    at = np.arange(5) * S
    tsc.add_snapshot(
        Snapshot({"BOOTTIME": at, "TSC": at * 3}, reference="BOOTTIME", half_width_ns={"TSC": 20})
    )
    explanation = tsc.explain(7, "TSC", "BOOTTIME", policy="tube", bars="guaranteed")
    assert explanation.steps[0].learnt
    assert explanation.basis == "estimated"
    assert "a rate is learnt" in str(explanation)
    tsc.declare(ClockDomain("TSC", ns_per_tick=Fraction(1, 3)))
    explanation = tsc.explain(7, "TSC", "BOOTTIME", policy="tube", bars="guaranteed")
    assert explanation.basis == "guaranteed"
    assert "estimates" not in str(explanation)


def test_one_snapshot_is_counted_in_the_singular():
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": 7 * S, "MONOTONIC": 5 * S})
    explanation = str(graph.explain(S, "BOOTTIME", "MONOTONIC", policy="tube"))
    assert "ns: 1 snapshot, half-width" in explanation


def test_a_bar_on_a_clock_that_counts_ticks_is_in_ticks():
    graph = ClockGraph()
    at = np.arange(5) * S
    graph.add_snapshot(
        Snapshot({"BOOTTIME": at, "TSC": at * 3}, reference="BOOTTIME", half_width_ns={"TSC": 20})
    )
    explanation = graph.explain(S, "BOOTTIME", "TSC", policy="tube")
    assert [step.unit for step in explanation.steps] == ["ticks"]
    assert str(explanation).count(" ticks") == 3
    assert "half-width 20 ns" in str(explanation)
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
