"""Orders, given as readings, messages there and back, or starts and ends: what is kept of them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from tracetime import ClockDomain, ClockGraph, ConversionError, UsageError
from tracetime.clocks.ids import ClockId
from tracetime.graph.info import OrdersInfo

HOST, DEVICE, OTHER = "a.host", "a.device", "an.other"
A, B, C = (ClockId.parse(name) for name in (HOST, DEVICE, OTHER))
INT64_MAX = 2**63 - 1


def _rows(graph: ClockGraph, one: ClockId, other: ClockId) -> list[tuple[Any, ...]]:
    """(one's reading, the other's, whether one's was first, least delay, greatest) of each."""
    found = graph._graph.state.orders.of(one, other)
    return [] if found is None else list(zip(*(c.tolist() for c in found[1:]), strict=True))


def test_a_message_is_sent_before_it_is_received() -> None:
    graph = ClockGraph()
    graph.add_order(before=(100, HOST), after=(7_150, DEVICE), min_delay_ns=5)
    graph.add_order((7_300, DEVICE), (350, HOST), max_delay_ns=60)
    assert _rows(graph, A, B) == [(100, 7_150, True, 5, -1), (350, 7_300, False, 0, 60)]
    assert graph.orders() == [OrdersInfo(A, B, 1), OrdersInfo(B, A, 1)]


def test_arrays_of_messages() -> None:
    graph = ClockGraph()
    sent, received = np.array([1, 2, 3]), [11, 12, 13]
    graph.add_order((sent, HOST), (received, DEVICE), min_delay_ns=[0, 1, 2])
    sent[:] = 0
    assert _rows(graph, A, B) == [(1, 11, True, 0, -1), (2, 12, True, 1, -1), (3, 13, True, 2, -1)]
    graph.add_order(([], HOST), ([], DEVICE))
    assert graph.orders() == [OrdersInfo(A, B, 3)]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"after": (2, HOST)}, "before and after are both"),
        ({"after": ([2, 3], DEVICE)}, "before has one and after an array of 2"),
        ({"before": ([1], HOST), "after": ([2, 3], DEVICE)}, "an array of 1 and after an array"),
        ({"before": (1.5, HOST)}, "timestamps are an int, a list"),
        ({"before": (True, HOST)}, "timestamps are an int, a list"),
        ({"before": ([1.5], HOST)}, "timestamps are whole numbers"),
        ({"before": (np.array([0.5]), HOST)}, "timestamps are whole numbers"),
        ({"before": (2**63, HOST)}, "does not fit in int64"),
        ({"after": (np.array([2**63], np.uint64), DEVICE)}, "does not fit in int64"),
        ({"before": (np.ma.array([1], mask=[True]), HOST)}, "nulls among the timestamps of before"),
        ({"before": 5}, "before is .timestamps, clock., not 5"),
        ({"before": (5, "no clock!")}, "no clock!"),
        ({"min_delay_ns": -1}, "min_delay_ns -1: a delay is from 0 ns"),
        ({"min_delay_ns": 1 << 60}, "a delay is from 0 ns to a year"),
        ({"min_delay_ns": 0.5}, "min_delay_ns: delays are"),
        ({"min_delay_ns": [1, 2]}, "min_delay_ns has 2 delays for 1 orders"),
        ({"max_delay_ns": -1}, "max_delay_ns -1: a delay is from 0 ns"),
        ({"min_delay_ns": 5, "max_delay_ns": 4}, "max_delay_ns 4 is less than min_delay_ns 5"),
    ],
)
def test_what_is_no_order(given: dict[str, Any], match: str) -> None:
    graph = ClockGraph()
    with pytest.raises(UsageError, match=match):
        graph.add_order(**{"before": (1, HOST), "after": (2, DEVICE)} | given)
    assert graph.orders() == []


def test_which_delay_is_wrong() -> None:
    graph = ClockGraph()
    with pytest.raises(UsageError, match=r"max_delay_ns 4 is less than min_delay_ns 5 \(index 1\)"):
        graph.add_order(([1, 2], HOST), ([3, 4], DEVICE), min_delay_ns=[3, 5], max_delay_ns=4)


def test_a_clock_that_wraps_has_no_orders() -> None:
    graph = ClockGraph(domains=[ClockDomain(DEVICE, valid_bits=32)])
    match = "wraps, for it has 32 bits: .* unwrap its readings"
    with pytest.raises(UsageError, match=match):
        graph.add_order((1, HOST), (2, DEVICE))
    with pytest.raises(UsageError, match=match):
        graph.add_pings(HOST, DEVICE, 1, 2, 3, 4)
    with pytest.raises(UsageError, match=match):
        graph.add_together([(1, HOST)], [(2, DEVICE)])
    assert graph.orders() == []


def test_a_ping_is_two_orders() -> None:
    graph = ClockGraph()
    graph.add_pings(HOST, DEVICE, 100, 7_150, 7_200, 270)
    assert _rows(graph, A, B) == [(100, 7_150, True, 0, -1), (270, 7_200, False, 0, -1)]
    graph.add_pings(HOST, DEVICE, *np.array([[1, 2], [3, 4], [5, 6], [7, 8]]))
    assert graph.orders() == [OrdersInfo(A, B, 3), OrdersInfo(B, A, 3)]


@pytest.mark.parametrize(
    ("times", "match"),
    [
        ((100, 1, 2, 99), "returned 99 is before sent 100 on .* .ping 0.: leave it out"),
        (([1, 1], [5, 5], [6, 4], [9, 9]), "replied 4 is before received 5 on .* .ping 1."),
        ((1, 2, [3], 4), "sent has one and replied an array of 1"),
    ],
)
def test_what_is_no_ping(times: tuple[Any, ...], match: str) -> None:
    graph = ClockGraph()
    with pytest.raises(UsageError, match=match):
        graph.add_pings(HOST, DEVICE, *times)
    with pytest.raises(UsageError, match="local and remote are both"):
        graph.add_pings(HOST, HOST, 1, 2, 3, 4)
    assert graph.orders() == []


def test_starts_and_ends_of_ranks() -> None:
    """All enter a collective before any leaves it: of each clock, the last start and first end."""
    graph = ClockGraph()
    starts = [(10, HOST), (12, HOST), ([5, 7], DEVICE)]
    ends = [(20, HOST), (15, HOST), (9, DEVICE), (30, OTHER)]
    graph.add_together(starts, ends)
    assert _rows(graph, A, B) == [(12, 9, True, 0, -1), (15, 7, False, 0, -1)]
    assert _rows(graph, A, C) == [(12, 30, True, 0, -1)]
    assert _rows(graph, B, C) == [(7, 30, True, 0, -1)]


def test_a_start_after_an_end() -> None:
    graph = ClockGraph()
    with pytest.raises(UsageError, match="a start, .* 12, is after an end, .* 11: they do not"):
        graph.add_together([(12, HOST), (1, DEVICE)], [(15, HOST), (11, HOST)])
    assert graph.orders() == []
    graph.add_together([(12, HOST)], [(12, HOST), (3, DEVICE)])
    assert _rows(graph, A, B) == [(12, 3, True, 0, -1)]


def test_what_is_no_list_of_starts() -> None:
    with pytest.raises(UsageError, match="each of starts is .timestamps, clock., not 12"):
        ClockGraph().add_together((12, HOST), [(15, DEVICE)])  # type: ignore[arg-type]


@pytest.fixture
def graph() -> ClockGraph:
    graph = ClockGraph(domains=[ClockDomain(A, name="the host")])
    graph.add_snapshot({"BOOTTIME": [1, 10], HOST: [2, 20]})
    graph.add_order(([1, 2], HOST), ([11, 12], DEVICE), min_delay_ns=1, max_delay_ns=[8, 9])
    graph.add_order((-INT64_MAX - 1, OTHER), (INT64_MAX, DEVICE))
    graph.add_order((13, DEVICE), (4, HOST))
    return graph


def test_saved_pickled_and_copied(graph: ClockGraph, tmp_path: Any) -> None:
    graph.save(tmp_path / "graph.npz")
    for again in (
        ClockGraph.load(tmp_path / "graph.npz"),
        pickle.loads(pickle.dumps(graph)),
        copy.deepcopy(graph),
    ):
        assert again.orders() == graph.orders()
        for one, other in ((A, B), (C, B)):
            assert _rows(again, one, other) == _rows(graph, one, other) != []
        again.add_order((5, HOST), (6, OTHER))
        assert len(again._graph.state.orders) == 5
    assert len(graph._graph.state.orders) == 4


def test_floor_is_untouched(graph: ClockGraph) -> None:
    plain = ClockGraph()
    plain.add_snapshot({"BOOTTIME": [1, 10], HOST: [2, 20]})
    for ts in (0, 5, 10**15):
        assert graph.convert(ts, HOST, "BOOTTIME") == plain.convert(ts, HOST, "BOOTTIME")
    assert graph.edges() == plain.edges()
    assert graph.clocks() == plain.clocks()
    for given in (graph, plain):
        with pytest.raises(ConversionError) as error:
            given.convert(1, DEVICE, HOST)
        assert error.value.reason == "unknown_source_clock"


def test_clocks_of_orders_alone_are_clocks_of_the_graph() -> None:
    graph = ClockGraph(domains=[ClockDomain(name) for name in (HOST, DEVICE, OTHER)])
    graph.add_snapshot({DEVICE: 5, OTHER: 5})
    graph.add_order((100, HOST), (7_150, DEVICE))
    assert repr(graph) == f"<ClockGraph of 3 clocks: {DEVICE}, {OTHER}, {HOST}>"
    html = graph._repr_html_()
    assert "ClockGraph: 3 clocks" in html
    assert f'>1</td><td style="text-align:left">{HOST}</td>' in html
    assert "orders" not in ClockGraph()._repr_html_()
    with pytest.raises(ConversionError, match=rf"did you mean {HOST}\?"):
        graph.convert(5, "a.hosts", DEVICE, policy="tube")


def test_floor_says_that_it_does_not_use_orders() -> None:
    graph = ClockGraph(domains=[ClockDomain(name) for name in (HOST, DEVICE, OTHER)])
    graph.add_snapshot({DEVICE: 5, OTHER: 5})
    graph.add_order((100, HOST), (7_150, OTHER))
    for src, dst in ((HOST, OTHER), (OTHER, HOST)):
        with pytest.raises(ConversionError) as caught:
            graph.convert(5, src, dst)
        assert str(caught.value) == (
            f"no snapshot has {HOST}: orders alone tie it to others, and floor does not use them: "
            "use policy='tube'"
        )
    graph.add_snapshot({HOST: 5, "MONOTONIC": 5})
    with pytest.raises(ConversionError, match="tied to, or policy='tube', which uses orders, too"):
        graph.convert(5, HOST, OTHER)


def test_an_explanation_says_outside_of_what_a_value_is() -> None:
    graph = ClockGraph()
    graph.add_order((100, HOST), (7_150, DEVICE))
    assert "3.91 us after the last order of" in str(
        graph.explain(4_000, HOST, DEVICE, policy="tube")
    )
    graph.add_snapshot({HOST: 120, DEVICE: 7_000})
    said = str(graph.explain(4_120, HOST, DEVICE, policy="tube"))
    assert " us after the last snapshot or order of" in said
    graph.add_snapshot({DEVICE: 5_000, OTHER: 5_000})
    said = str(graph.explain(9_000, DEVICE, OTHER, policy="tube"))
    assert " us after the last snapshot of" in said


def test_starts_that_are_no_list() -> None:
    graph = ClockGraph()
    match = r"starts are a list of .timestamps, clock., not None"
    with pytest.raises(UsageError, match=match):
        graph.add_together(None, [(2, DEVICE)])  # type: ignore[arg-type]
