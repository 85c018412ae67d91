"""Which clocks were set back, and which only stopped or slept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pair_graphs import BOOT, FAR_BOOT, FAR_MONO, MONO, A, S

from tracetime import (
    ClockGraph,
    ClockId,
)
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.messages import Between, Boxes
from tracetime.graph.tube.pairs import _fell, _same_messages

AT = np.arange(1, 13) * 10 * S
SLEPT = np.where(AT > 60 * S, 8 * S, 0)
NUMBERS = list(range(1, 25, 2))
LATER = [number + 1 for number in NUMBERS]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([3, 5, 9], [3, 5, 9], True),
        ([3, 5, 9], [4, 6, 10], True),
        ([3, 5, 9], [2, 4, 8], True),
        ([3, 5, 9], [4, 6, 11], False),
        ([3, 5, 9], [4, 6], False),
        ([3, 5], [4, 6, 10], False),
        ([3], [9], True),
        ([3], [9, 9], False),
    ],
)
def test_messages_are_the_same_where_each_snapshot_is_as_far_from_its_twin(
    one: list[int], other: list[int], expected: bool
) -> None:
    assert _same_messages(np.array(one), np.array(other)) is expected


@pytest.mark.parametrize(
    ("r", "half", "fell", "fell_by_the_middle"),
    [
        ([0, 0, 0], 0, False, False),
        ([0, -10, -20], 0, False, False),
        ([0, -11, 0], 0, True, True),
        ([0, -15, 0], 2, True, True),
        ([0, -15, 0], 3, False, True),
        ([0, -6, -22], 0, True, True),
        ([0, 90, 79], 0, True, True),
        ([0, 90, 80], 0, False, False),
    ],
)
def test_a_clock_fell_that_read_less_after_it_had_read_more(
    r: list[int], half: int, fell: bool, fell_by_the_middle: bool
) -> None:
    for assumed, expected in ((False, fell), (True, fell_by_the_middle)):
        evidence = Evidence.of(np.array([0, 10, 20]), np.array(r), half, assumed=assumed)
        assert _fell(evidence) is expected


def boxes_of(snapshots: list[int], here: Any, there: Any, late: int = 0) -> tuple[Any, ...]:
    """Messages that bound the one clock to 1 us and the other to 2."""
    here, there = np.array(here), np.array(there)
    return np.array(snapshots), here, here + 1_000, there + late, there + late + 2_000


def machines(boot: tuple[Any, ...], mono: tuple[Any, ...]) -> ClockGraph:
    """BOOTTIME and MONOTONIC of two machines, each bounded by messages."""
    graph = ClockGraph()
    graph.add_snapshot({BOOT: 1, MONO: 1})
    for k in range(40):
        graph.add_snapshot({FAR_BOOT: 500 + k, FAR_MONO: 1 + k})
    pairs = [(BOOT, FAR_BOOT), (MONO, FAR_MONO)]
    boxes = Boxes(*(np.concatenate(column) for column in zip(boot, mono, strict=True)))
    graph._graph.state.between = Between(pairs, boxes, np.cumsum([len(boot[0]), len(mono[0])]))
    return graph


def slept(boot: tuple[Any, ...], mono: tuple[Any, ...]) -> bool:
    policy = machines(boot, mono)._graph.tubes
    pair = policy.pair(MONO, FAR_MONO)
    assert (pair.a, pair.b) == (MONO, FAR_MONO)
    assert pair.tube.has_set_back
    found = policy.pairs._slept(pair)
    assert policy.pairs.was_set_back(FAR_MONO) is not found
    assert policy.pairs.only_stood_still(pair) is found
    return found


def test_monotonic_of_another_machine_was_not_set_back_where_that_slept() -> None:
    """Its BOOTTIME goes on, and the same messages say so."""
    mono = boxes_of(NUMBERS, AT, AT - SLEPT)
    assert slept(boxes_of(NUMBERS, AT, AT), mono)
    assert slept(boxes_of(LATER, AT, AT), mono)
    # Of one message BOOTTIME is not known: who knows what was then.
    assert not slept(boxes_of(NUMBERS[1:], AT[1:], AT[1:]), mono)
    assert not slept(boxes_of([*NUMBERS[:-1], 26], AT, AT), mono)
    # BOOTTIME fell, too: the machine was started anew.
    assert not slept(boxes_of(NUMBERS, AT, AT - SLEPT), mono)
    # MONOTONIC read less than before, which no stopped clock does.
    assert not slept(boxes_of(NUMBERS, AT, AT), boxes_of(NUMBERS, AT, AT - 2 * SLEPT))


def test_no_clock_of_one_machine_slept_by_another() -> None:
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC_RAW": AT, "MONOTONIC": AT - SLEPT, "BOOTTIME": AT})
    policy = graph._graph.tubes
    pair = policy.pair(ClockId(5), MONO)
    assert pair.tube.has_set_back
    assert not policy.pairs._slept(pair)
    assert policy.pairs.was_set_back(MONO)


def test_a_clock_stopped_where_another_that_was_always_read_with_it_did_too() -> None:
    """Of a set-back counter: BOOTTIME jumped past both over a suspend."""

    def stopped(counter: Any, *, also: Any = None) -> list[bool]:
        graph = ClockGraph()
        graph.add_snapshot({"BOOTTIME": AT + SLEPT, "MONOTONIC": AT, A: counter})
        if also is not None:
            graph.add_snapshot({"BOOTTIME": also, A: also - 8 * S})
        policy = graph._graph.tubes
        return [
            policy.pairs.only_stood_still(policy.pair(ClockId(other), A)) for other in (6, 3)
        ] + [policy.pairs.was_set_back(A)]

    assert stopped(AT) == [True, False, False]
    assert stopped(AT, also=AT[-1:] + 20 * S) == [False, False, False]
    assert stopped(AT - SLEPT) == [False, False, True]
    assert stopped(AT + SLEPT) == [False, False, False]


def test_one_clock_that_it_did_not_fall_against_is_enough() -> None:
    """A server with many clients: no tube of each is made for the way between two."""
    graph, server = ClockGraph(), ClockId(500)
    for client in range(200, 260):
        graph.add_order((1_000, client), (5_250, server))
        graph.add_order((5_300, server), (1_090, client))
    bar = graph.convert(1_050, 200, 201, policy="tube", bounds=True)
    assert bar.earliest < 1_050 < bar.latest
    assert len(graph._graph.tubes.pairs._made) == 2
