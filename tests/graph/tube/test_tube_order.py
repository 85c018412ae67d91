"""Which of two readings of two clocks came first."""

import numpy as np
import pyarrow as pa
import pytest
from drifting import S, truth

from tracetime import ClockGraph, Snapshot, UsageError


def test_order_of_events_on_two_clocks(graph):
    raw = int(truth(np.array([1300 * S]))[0])
    assert graph.order((raw, "MONOTONIC_RAW"), (1300 * S + 10_000, "BOOTTIME")) == -1
    assert graph.order((raw, "MONOTONIC_RAW"), (1300 * S - 10_000, "BOOTTIME")) == 1
    assert graph.order((raw, "MONOTONIC_RAW"), (1300 * S, "BOOTTIME")) == 0
    assert graph.order((5, "BOOTTIME"), (6, "BOOTTIME")) == -1


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
    readings = [1090 * S, 1140 * S, 1140 * S, 1140 * S, 1170 * S]
    at = [100 * S, 135 * S, 165 * S, 195 * S, 205 * S]
    expected = [-1, 1, 0, -1, 1]
    if other != "MONOTONIC":
        at = [1099 * S, 1099 * S, 1120 * S, 1151 * S, 1165 * S]
        expected = [-1, 1, 0, 0, 1]
    assert graph.order((readings, "REALTIME"), (at, other)).tolist() == expected
    assert graph.order((at, other), (readings, "REALTIME")).tolist() == [-x for x in expected]


def test_order_changes_its_sign_with_the_order_of_arguments():
    """Clocks that contradict: by one BOOTTIME was set back at 150 s, by the other it was not."""
    raw = np.arange(31, dtype=np.int64) * 10 * S
    boottime = raw + np.where(raw > 150 * S, 950 * S, 1000 * S)
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC_RAW": raw, "BOOTTIME": boottime})
    graph.add_snapshot({"MONOTONIC": raw, "BOOTTIME": raw + 1000 * S})
    at, readings = np.repeat(raw + 5 * S, 31), np.tile(boottime, 31)
    one = graph.order((at, "MONOTONIC_RAW"), (readings, "BOOTTIME"))
    assert (one == -graph.order((readings, "BOOTTIME"), (at, "MONOTONIC_RAW"))).all()
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
