"""Clocks of two machines and the messages between them: the same bars and findings as before."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME
from kept import check_kept, plain
from reading import opened
from relay import MS, US, Relay, S, ours, running, sleeping, theirs

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError
from tracetime.graph.clock_graph import from_bytes, to_bytes
from tracetime.graph.tube.messages import Between, Boxes, equated

WALL = 1_700_000_000 * S


def host(**other: Any) -> dict[int, Any]:
    return {
        BOOTTIME: running(3, 1000 * S),
        MONOTONIC: running(3, 900 * S),
        REALTIME: running(3, WALL),
    } | other


def client(**other: Any) -> dict[int, Any]:
    return {
        BOOTTIME: running(-17, 77 * S),
        MONOTONIC: running(-17, 50 * S),
        REALTIME: running(-17, WALL + 300 * S),
    } | other


EVEN = [k * 30 * S for k in range(6)]
WORLDS: dict[str, tuple[Relay, dict[str, Any]]] = {
    "one way longer": (Relay((MS, 0), (100 * US, 0), host=host(), client=client()), {}),
    "the other way longer": (Relay((20 * US, 0), (2 * MS, 0), host=host(), client=client()), {}),
    "delays by chance": (
        Relay((50 * US, MS), (50 * US, 200 * US), 3, host(), client()), {"rounds": 4}
    ),
    "one message": (Relay(host=host(), client=client()), {"at": [5 * S]}),
    "close together": (
        Relay((9 * US, 0), (9 * US, 0), host=host(), client=client()),
        {"at": [k * 40 * MS for k in range(20)]},
    ),
    "the client slept": (
        Relay(host=host(), client={
            BOOTTIME: running(-17, 77 * S), MONOTONIC: sleeping(running(-17, 50 * S), 70 * S, 85 * S)
        }), {}),
    "the host slept": (
        Relay(client=client(), host={
            BOOTTIME: running(3, 10 * S), MONOTONIC: sleeping(running(3, 9 * S), 40 * S, 55 * S)
        }), {"snapshots": [0, 30 * S, 90 * S, 140 * S]}),
    "the client started anew": (
        Relay(host=host(), client={
            BOOTTIME: running(2, 500 * S, [(75 * S, -560 * S)]),
            MONOTONIC: running(2, 400 * S, [(75 * S, -460 * S)]),
        }), {}),
    "a wall clock that was set": (
        Relay(host=host(), client={
            BOOTTIME: running(-17, 77 * S), REALTIME: running(-17, WALL, [(50 * S, -20 * S)]),
        }), {}),
    "clocks of one alone": (
        Relay(host={BOOTTIME: running(3, 1000 * S), REALTIME: running(3, WALL)},
              client={BOOTTIME: running(9, 5 * S), MONOTONIC: running(9, 5 * S)}), {}),
}  # fmt: skip


def graph_of(name: str) -> tuple[ClockGraph, Relay]:
    relay, more = WORLDS[name]
    relay.random.seed(7)
    syncs = [relay.sync(t, more.get("rounds", 2)) for t in more.get("at", EVEN)]
    with opened(relay.trace(*syncs, snapshots=more.get("snapshots", (0,)))) as trace:
        return trace.clocks, relay


def told_or(call: Any, *args: Any, **named: Any) -> Any:
    try:
        return call(*args, **named)
    except ConversionError as error:
        return f"{error.reason}: {error.message}"


def bars(graph: ClockGraph, readings: Any, src: ClockId, dst: ClockId, bars: str) -> Any:
    found = graph.convert(readings, src, dst, policy="tube", bounds=True, errors="mask", bars=bars)
    low, middle, high = (s.to_pylist() for s in (found.earliest, found.estimate, found.latest))
    return [
        [a if b is None or a is None else a - b, b, c if b is None or c is None else c - b]
        for a, b, c in zip(low, middle, high, strict=True)
    ]


def results_of(graph: ClockGraph, relay: Relay) -> dict[str, Any]:
    times = [-9 * S, 0, 44 * S + 123, 78 * S, 139 * S, 400 * S]
    found: dict[str, Any] = {}
    for clock in relay.client:
        for other in relay.host:
            there = [relay.client[clock](t) for t in times]
            back = [relay.host[other](t) for t in times]
            a, b = theirs(clock), ours(other)
            path = told_or(graph.path, a, b, policy="tube")
            found[f"{clock} to {other}"] = [
                path if isinstance(path, str) else " ".join(map(str, path)),
                bars(graph, there, a, b, "estimated"),
                bars(graph, back, b, a, "guaranteed"),
                told_or(graph.order, (there, a), (back, b)),
                told_or(graph.order, (back[:-1], b), (there[1:], a)),
            ]
    found["found"] = [list(d[:8]) for d in graph.discontinuities()]
    found["loops"] = [[*loop[:2], list(loop.via), *loop[3:]] for loop in graph.inconsistencies()]
    why = told_or(graph.explain, relay.client[BOOTTIME](S), theirs(), ours(), policy="tube")
    found["why"] = str(why).split("\n")
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_two_machines(name: str) -> None:
    graph, relay = graph_of(name)
    before = results_of(graph, relay)
    check_kept("machines", name, before)
    assert plain(results_of(from_bytes(to_bytes(graph)), relay)) == plain(before)


@pytest.mark.parametrize("ticks", [Fraction(100_001, 100_000), Fraction(99_999, 100_000)])
@pytest.mark.parametrize("turned", [False, True])
def test_bounds_of_a_clock_that_counts_ticks(ticks: Fraction, turned: bool) -> None:
    """Half-widths of bounds are in its ticks: stretched with them, and by what that rounds."""
    graph, relay = graph_of("one way longer")
    graph.declare(ClockDomain(ours() if turned else theirs(), ns_per_tick=ticks, max_drift_ppm=600))
    check_kept("machines", f"{ticks}{', turned' if turned else ''}", results_of(graph, relay))


def test_boxes_have_middles_rounded_down_and_halves_rounded_up() -> None:
    columns = ([4, 9], [10, -11], [13, -8], [100, 7], [106, 7])
    boxes = Boxes(*(np.array(column) for column in columns))
    assert boxes.one.tolist() == [11, -10]
    assert boxes.one_half.tolist() == [2, 2]
    assert boxes.other.tolist() == [103, 7]
    assert boxes.other_half.tolist() == [3, 0]
    turned = boxes.swapped()
    assert [column.tolist() for column in turned] == [
        [4, 9],
        [100, 7],
        [106, 7],
        [10, -11],
        [13, -8],
    ]
    between = Between([(ours(), theirs())], boxes, np.array([2]), [5, 3, 5])
    assert between.worked_out.tolist() == [3, 5]
    assert between.is_evidence(np.array([0, 3, 4, 5, 6])).tolist() == [
        True,
        False,
        True,
        False,
        True,
    ]
    found, there = between.of(theirs(), ours()), between.of(ours(), theirs())
    assert found is not None
    assert there is not None
    assert [column.tolist() for column in there] == [column.tolist() for column in boxes]
    assert found.one_low.tolist() == [100, 7]
    assert between.of(ours(), ours(MONOTONIC)) is None
    assert between.pairs() == [(ours(), theirs())]


def test_only_zeros_of_two_machines_are_a_rule() -> None:
    one, other = np.array([0, 0, 5, 7, -2, 0]), np.array([0, 3, 0, 7, 0, -2])
    assert equated(ours(), theirs(), one, other).tolist() == [True] + [False] * 5
    assert equated(ours(), ours(MONOTONIC), one, other).tolist() == [False] * 6
