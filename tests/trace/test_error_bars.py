"""Events by the tube policy: floor's rows with estimate, earliest and latest; what floor costs."""

import json
import random

import numpy as np
import pyarrow as pa
import pytest
from building import event, snapshot, trace
from hypothesis import given, settings
from hypothesis import strategies as st
from random_traces import nasty_trace
from reading import opened

from tracetime import ClockDomain, ClockId, TraceError, UsageError, open_trace
from tracetime.analysis.floor_cost import (
    FloorCost,
    floor_cost_at_snapshots,
    floor_cost_of_events,
)
from tracetime.graph.clock_graph import inner
from tracetime.trace.events_table import BOUNDED_SCHEMA, EVENTS_SCHEMA
from tracetime.verbs.convert import convert

REALTIME, MONOTONIC, MONOTONIC_RAW, BOOTTIME, TSC = 1, 3, 5, 6, 9
S = 10**9
PLACEABLE = (
    "resolved",
    "non_monotonic_source",
    "no_path",
    "unknown_source_clock",
    "unknown_target_clock",
)

# MONOTONIC gains 20 us on BOOTTIME every second, and a snapshot is taken every 10 s.
DRIFTING = [
    snapshot({BOOTTIME: 10 * S * k, MONOTONIC: 10 * S * k + 200_000 * k, 64: (10**7 * k, 1000)}, 7)
    for k in range(10)
]


def table_of(*packets, **options):
    """(by the tube, by floor, floor's cost) of a trace's events."""
    with opened(trace(*packets), **options) as made:
        return made.read_all("tube"), made.read_all(), floor_cost_of_events(made)


def test_the_tube_follows_the_drift_that_floor_ignores():
    ends = [10 * S * k + 200_000 * k + 10 * S for k in range(9)]
    tube, floor, cost = table_of(*DRIFTING, *(event(end, MONOTONIC) for end in ends))
    assert tube.schema == BOUNDED_SCHEMA
    truth = [round(end / (1 + 20e-6)) for end in ends]
    for true, estimate, low, high in zip(
        truth,
        *(tube[name].to_pylist() for name in ("trace_time", "earliest", "latest")),
        strict=True,
    ):
        assert low <= true <= high
        assert abs(estimate - true) < 50
        assert high - low < 4000
    assert cost.clock == ClockId(MONOTONIC)
    assert cost.at_most_ns == pytest.approx(200_000, rel=1e-3)
    for name in EVENTS_SCHEMA.names:
        if name != "trace_time":
            assert tube[name].equals(floor[name])


def test_the_trace_clock_is_exact_and_what_is_unresolved_stays_so():
    tube, floor, _ = table_of(
        *DRIFTING, event(30 * S), event(5, 777), event(7, needs_state=True, seq=9)
    )
    assert tube["trace_time"].to_pylist() == floor["trace_time"].to_pylist()
    assert tube["status"].to_pylist() == floor["status"].to_pylist()
    assert tube["earliest"].to_pylist() == tube["latest"].to_pylist() == [30 * S, None, None]


def test_a_clock_of_a_sequence_converts_by_its_own_snapshots():
    tube, _, _ = table_of(*DRIFTING, event(12_345_678, 64, seq=7))
    assert abs(tube["trace_time"][0].as_py() - 12_345_678_000) <= 10


def test_as_is_rows_have_no_bounds():
    tube, _, _ = table_of(event(5))
    (row,) = tube.to_pylist()
    assert (row["status"], row["trace_time"]) == ("as_is", 5)
    assert row["earliest"] is row["latest"] is None


def test_a_clock_set_back_is_placed_but_for_what_it_said_twice():
    stepped = [
        snapshot({BOOTTIME: S * k, REALTIME: 1000 * S + S * k - (3 * S if k > 5 else 0)})
        for k in range(12)
    ]
    said = (1001 * S + 500, 1004 * S, 1007 * S + 500)
    tube, floor, _ = table_of(*stepped, *(event(at, REALTIME) for at in said))
    assert set(floor["status"].to_pylist()) == {"non_monotonic_source"}
    assert tube["status"].to_pylist() == ["resolved", "ambiguous_source", "resolved"]
    early, twice, late = tube["trace_time"].to_pylist()
    assert (abs(early - S - 500) <= 10, twice, abs(late - 10 * S - 500) <= 10) == (True, None, True)
    # No estimate, but a bar that holds both instants.
    low, high = tube["earliest"][1].as_py(), tube["latest"][1].as_py()
    assert low <= 4 * S < 7 * S <= high < 7 * S + 10_000


def test_guaranteed_bars_are_no_narrower():
    packets = (*DRIFTING, *(event(10 * S * k + 5 * S, MONOTONIC) for k in range(9)))
    with opened(trace(*packets)) as made:
        estimated, guaranteed = (made.read_all("tube", bars=b) for b in ("estimated", "guaranteed"))
    for name, sign in (("earliest", -1), ("latest", 1)):
        one, other = (np.asarray(table[name]) for table in (estimated, guaranteed))
        assert (sign * (other - one) >= 0).all()


def test_declared_domains_reach_the_graph():
    domains = [
        ClockDomain("MONOTONIC", assumed_half_width_ns=5000),
        ClockDomain(64, max_drift_ppm=7),
        ClockDomain("64@seq7", max_drift_ppm=8),
    ]
    other = snapshot({BOOTTIME: 1, 64: 1}, 8)
    with opened(trace(*DRIFTING, other, event(5 * S, MONOTONIC)), domains=domains) as made:
        (row,) = made.read_all("tube").to_pylist()
        drifts = [made.clocks.domain(f"64@seq{n}").max_drift_ppm for n in (7, 8)]
    assert row["latest"] - row["earliest"] > 6000
    assert drifts == [8, 7]


def test_a_rate_that_cannot_be_learnt_is_the_reason():
    tube, floor, _ = table_of(snapshot({BOOTTIME: 5, TSC: 70}), event(80, TSC))
    assert floor["status"].to_pylist() == ["resolved"]
    assert tube["status"].to_pylist() == ["no_path"]
    assert tube["trace_time"].to_pylist() == [None]


def test_no_such_policy_or_bars():
    with opened(trace(*DRIFTING)) as made:
        with pytest.raises(UsageError, match="policy"):
            made.events("nearest")
        with pytest.raises(UsageError, match="bars"):
            made.events("tube", bars="wide")


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_on_any_trace_the_rows_are_floors_and_the_bounds_hold_the_estimate(seed):
    with opened(nasty_trace(random.Random(seed)), partial=True) as made:
        try:
            floor = made.read_all()
        except TraceError:
            return
        tube = made.read_all("tube")
    same = [name for name in EVENTS_SCHEMA.names if name not in ("trace_time", "status")]
    assert tube.select(same).equals(floor.select(same))
    for before, after in zip(floor.to_pylist(), tube.to_pylist(), strict=True):
        if after["status"] == "resolved":
            assert after["earliest"] <= after["trace_time"] <= after["latest"]
            assert before["status"] in PLACEABLE
        elif after["status"] == "ambiguous_source" and after["earliest"] is not None:
            assert after["earliest"] <= after["latest"]
        else:
            assert after["earliest"] is after["latest"] is None
            assert after["trace_time"] is None or after["status"] == "as_is"


def test_cost_is_the_largest_distance_even_across_all_of_int64():
    cost = FloorCost()
    cost.compare(ClockId(3), np.array([5, 9]), np.array([6, 4]))
    assert (cost.clock, cost.at_most_ns) == (ClockId(3), 5)
    cost.compare(ClockId(1), np.array([2**63 - 1]), np.array([-(2**63)]))
    assert (cost.clock, cost.at_most_ns) == (ClockId(1), 2**64 - 1)
    cost.compare(ClockId(6), np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    assert cost.clock == ClockId(1)


def test_only_what_is_certainly_in_another_order_counts():
    cost = FloorCost(reordered=0)
    floor = np.array([30, 10, 20])
    cost.count_order(floor, np.array([29, 9, 19]), np.array([31, 20, 21]))
    assert cost.events_reordered == 0
    cost.count_order(floor, np.array([18, 9, 22]), np.array([19, 11, 24]))
    assert cost.events_reordered == 1


def test_one_event_far_from_its_place_is_one_and_a_block_of_them_is_all_of_it():
    still = np.arange(0, 1000, 10)
    for strays in (1, 7):
        for away in (-500, 500):
            cost = FloorCost(reordered=0)
            floor = np.concatenate([still, np.full(strays, 500)])
            true = np.concatenate([still, np.full(strays, 500 + away + 5)])
            cost.count_order(floor, true - 1, true + 1)
            assert cost.events_reordered == strays


def test_the_order_of_events_in_different_batches_counts():
    """Perfetto's rule puts MONOTONIC 100 us late; a batch of BOOTTIME events comes between."""
    at = 20 * S + 9_999_000_000
    between = [event(at - 10 * S + n * 1000) for n in range(70_000)]
    _, _, cost = table_of(*DRIFTING, event(at + 600_000, MONOTONIC), *between, event(at + 100_000))
    assert cost.events_reordered == 1


def test_events_of_two_clocks_change_their_order():
    # Floor puts the MONOTONIC one 199 us late, so behind one of BOOTTIME that came 100 us later.
    mono = 20 * S + 200_000 + 200_000 - 1000
    at = 20 * S - 1000
    _, _, cost = table_of(
        *DRIFTING,
        event(10 * S + 200_000 + 9_950_000_000, MONOTONIC),
        event(19_950_000_000 - 100_000),
        event(at),
        event(mono, MONOTONIC),
    )
    assert cost.events_reordered == 1


def test_what_floor_costs_without_events():
    with opened(trace(*DRIFTING, event(1))) as made:
        cost = floor_cost_at_snapshots(
            inner(made.clocks),
            made.trace_clock,
            [ClockId(BOOTTIME), ClockId(777), ClockId(MONOTONIC)],
        )
    assert cost.clock == ClockId(MONOTONIC)
    assert cost.at_most_ns == pytest.approx(200_000, rel=1e-3)
    assert cost.events_reordered is None


def test_bounded_columns_come_last():
    assert BOUNDED_SCHEMA.names == [*EVENTS_SCHEMA.names, "earliest", "latest"]
    assert BOUNDED_SCHEMA.field("latest").type == pa.int64()


def test_within_the_bars_floor_reorders_nothing_and_beyond_them_it_is_counted(tmp_path):
    """MONOTONIC drifts by 200 us from snapshot to snapshot; a BOOTTIME event comes just before."""
    near_end = 20 * S + 9_999_000_000
    packets = [*DRIFTING, event(near_end + 600_000, MONOTONIC), event(near_end + 100_000)]
    path = tmp_path / "drifting.pftrace"
    path.write_bytes(trace(*packets))
    with open_trace(path) as opened_trace:
        summary = convert(opened_trace, tmp_path / "out.parquet")
    assert summary.floor_cost.leaves_bars
    assert summary.floor_cost.events_reordered == 1
    still = [snapshot({BOOTTIME: S * k, MONOTONIC: S * k + 5}) for k in range(5)]
    path.write_bytes(trace(*still, event(2 * S + 7, MONOTONIC), event(9 * S)))
    with open_trace(path) as opened_trace:
        summary = convert(opened_trace, tmp_path / "out.parquet")
    assert (summary.floor_cost.leaves_bars, summary.floor_cost.events_reordered) == (False, 0)


@pytest.mark.parametrize("few", [True, False])
def test_what_floor_costs_holds_where_snapshots_come_after_the_events(tmp_path, monkeypatch, few):
    """All but the first snapshot stand at the end: events are placed by an offset 80 s old."""
    events = [event(10 * S * k + 200_000 * k + 5, MONOTONIC) for k in range(9)]
    path = tmp_path / "late.pftrace"
    path.write_bytes(trace(DRIFTING[0], *events, *DRIFTING[1:]))
    monkeypatch.setattr("tracetime.analysis.summary._COUNTED_ROWS", 100 if few else 1)
    with open_trace(path) as read:
        cost = convert(read, tmp_path / "out.parquet").floor_cost
        late = read.late_snapshots
    with open_trace(path) as read:
        exact = floor_cost_of_events(read)
    assert (late.snapshots, late.packet) == (8, 10)
    assert late.late_ns == pytest.approx(70 * S, rel=1e-4)
    assert exact.at_most_ns == pytest.approx(8 * 200_000, rel=1e-3)
    assert cost.is_limit
    if few:
        assert (cost.at_most_ns, cost.events_reordered) == (
            exact.at_most_ns,
            exact.events_reordered,
        )
    else:
        assert exact.at_most_ns <= cost.at_most_ns < 1.2 * exact.at_most_ns
        assert cost.events_reordered is None
    path.write_bytes(trace(*DRIFTING, *events))
    with open_trace(path) as read:
        assert read.late_snapshots is None


def test_small_drifts_of_late_snapshots_are_allowed_for_without_another_reading(
    tmp_path, monkeypatch
):
    still = [snapshot({BOOTTIME: S * k, MONOTONIC: S * k + 5 + k}) for k in range(10)]
    events = [event(S * k + 100, MONOTONIC) for k in range(10)]
    path = tmp_path / "late.pftrace"
    path.write_bytes(trace(still[0], *events, *still[1:]))
    monkeypatch.setattr("tracetime.analysis.summary._FEW_ROWS", 0)
    monkeypatch.delattr("tracetime.analysis.summary.floor_cost_of_events")
    with open_trace(path) as read:
        cost = convert(read, tmp_path / "out.parquet").floor_cost
    assert cost.is_limit
    assert 9 <= cost.at_most_ns < 20


def test_a_reading_that_a_clock_that_ran_backwards_shows_again_is_not_compared(tmp_path):
    """MONOTONIC reads 95 s before it ran backwards, and 95 s after that."""
    path = tmp_path / "backwards.pftrace"
    back = snapshot({BOOTTIME: 100 * S, MONOTONIC: 7}, 7)
    path.write_bytes(trace(*DRIFTING, event(95 * S, MONOTONIC), event(3), back))
    with open_trace(path) as read:
        cost = convert(read, tmp_path / "out.parquet").floor_cost
    assert cost.is_limit
    assert cost.clock is None


def floor_cost_of(path, *packets):
    """(what `convert` says that floor costs, what it costs over all events)."""
    path.write_bytes(trace(*packets))
    with open_trace(path) as read:
        cost = convert(read, path.with_suffix(".parquet")).floor_cost
    with open_trace(path) as read:
        return cost, floor_cost_of_events(read)


def test_of_very_many_snapshots_those_where_the_offset_changes_most_are_looked_at(
    tmp_path, monkeypatch
):
    """In one second of 6,000 MONOTONIC_RAW drifts by 400 us, else not at all."""
    monkeypatch.setattr("tracetime.analysis.summary._COUNTED_ROWS", 0)
    times = [S * k + 400_000 * (k > 3001) for k in range(6000)]
    snapshots = [snapshot({BOOTTIME: S * k, MONOTONIC_RAW: at}) for k, at in enumerate(times)]
    before_next = event(times[3002] - 1, MONOTONIC_RAW)
    cost, exact = floor_cost_of(
        tmp_path / "many.pftrace", *snapshots[:3002], before_next, *snapshots[3002:]
    )
    assert exact.at_most_ns > 350_000
    assert cost.is_limit
    assert cost.at_most_ns >= exact.at_most_ns


@pytest.mark.parametrize("few", [True, False])
def test_events_that_floor_placed_by_another_way_are_looked_at_or_it_is_no_limit(
    tmp_path, monkeypatch, few
):
    """MONOTONIC goes over MONOTONIC_RAW, 3 ms off, until a snapshot has it with BOOTTIME."""
    monkeypatch.setattr("tracetime.analysis.summary._FEW_ROWS", 100 if few else 0)
    by_raw = [
        snapshot({BOOTTIME: S, MONOTONIC_RAW: S}),
        snapshot({MONOTONIC_RAW: S, MONOTONIC: S + 3_000_000}),
    ]
    direct = [snapshot({BOOTTIME: S * k, MONOTONIC: S * k}) for k in range(1, 9)]
    cost, exact = floor_cost_of(
        tmp_path / "ways.pftrace", *by_raw, event(S + 5, MONOTONIC), *direct
    )
    assert exact.at_most_ns > 2_900_000
    assert cost.is_limit == few
    if few:
        assert cost.at_most_ns == exact.at_most_ns
    else:
        assert cost.events_reordered is None


def test_a_clock_may_be_farthest_off_after_its_last_snapshot(tmp_path, monkeypatch):
    """Three clocks drift more between snapshots than a fourth, which events are read in at last."""
    monkeypatch.setattr("tracetime.analysis.summary._COUNTED_ROWS", 0)
    packets = []
    for k in range(10):
        others = dict.fromkeys((REALTIME, MONOTONIC_RAW, 200), S * k + k % 2 * 1000)
        packets.append(snapshot({BOOTTIME: S * k} | others, 7))
        packets.append(snapshot({BOOTTIME: S * k, MONOTONIC: S * k + 500 * k}, 7))
    events = [event(9 * S, clock) for clock in (REALTIME, MONOTONIC_RAW, 200)]
    events.append(event(1000 * S, MONOTONIC))
    cost, exact = floor_cost_of(tmp_path / "left.pftrace", *packets, *events)
    assert (exact.clock, exact.at_most_ns) == (ClockId(MONOTONIC), pytest.approx(495_000, rel=0.1))
    assert json.loads(json.dumps(cost.to_dict()))["clocks_left_out"] == 0
    assert (cost.is_limit, cost.clock) == (True, ClockId(MONOTONIC))
    assert exact.at_most_ns <= cost.at_most_ns < 1.01 * exact.at_most_ns
