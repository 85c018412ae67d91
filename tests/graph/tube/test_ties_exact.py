"""What ties clocks: machines by what was read, neighbours, ways and bounds, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracetime import ClockGraph, ClockId, Snapshot, TraceError
from tracetime.graph.routes import SearchBudget, detour, least_error
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.graph.tube.graph_data import Neighbours, untied
from tracetime.graph.tube.machines import Machines
from tracetime.graph.tube.measurements import Column, Corrected, Measured, Read
from tracetime.graph.tube.messages import Between, Boxes
from tracetime.graph.tube.paths import Reach


def on(machine: int, clock: int = 6) -> ClockId:
    return ClockId(clock, machine=machine)


# Machines


def machines(
    series: list[list[ClockId]],
    bounded: list[tuple[ClockId, ClockId]],
    read: Callable[[ClockId, ClockId], bool],
) -> tuple[Machines, list[tuple[ClockId, ClockId]]]:
    """Those, and a list that grows by the clocks that it asks after."""
    queried: list[tuple[ClockId, ClockId]] = []

    def read_together(one: ClockId, other: ClockId) -> bool:
        queried.append((one, other))
        return read(one, other)

    return Machines(lambda: series, bounded, read_together), queried


def trees(made: Machines, n: int) -> list[list[int]]:
    """By machine, those that it is tied to."""
    return [[k for k in range(n) if made.are_tied(on(m), on(k, 3))] for m in range(n)]


def test_machines_are_tied_by_what_was_read_of_the_first_of_a_list_and_each_other() -> None:
    lists = [[on(0), on(0, 3), on(1), on(2), on(1, 3)], [on(3), on(4)], [on(4), on(2)]]
    made, queried = machines(lists, [], lambda one, other: True)
    assert trees(made, 6) == [[0, 1, 2, 3, 4]] * 5 + [[5]]
    assert queried == [(on(0), on(1)), (on(0), on(2)), (on(3), on(4)), (on(4), on(2))]
    made, queried = machines(lists, [], lambda one, other: other.machine == 4)
    assert trees(made, 5) == [[0], [1], [2], [3, 4], [3, 4]]
    made, queried = machines(lists, [], lambda one, other: False)
    assert trees(made, 5) == [[0], [1], [2], [3], [4]]


def test_machines_are_tied_by_messages_and_then_not_looked_at() -> None:
    lists = [[on(0), on(1)], [on(2), on(1)], [on(3), on(2)]]
    bounded = [(on(0), on(1)), (on(1, 3), on(2, 3))]
    made, queried = machines(lists, bounded, lambda one, other: False)
    assert trees(made, 4) == [[0, 1, 2], [0, 1, 2], [0, 1, 2], [3]]
    assert queried == [(on(3), on(2))]


def test_one_machine_needs_no_lookup() -> None:
    made, queried = machines([[on(5), on(5, 3)]], [], lambda one, other: False)
    assert made.are_tied(on(5), on(5, 3))
    assert queried == []


def test_a_long_row_of_machines_is_one_tree() -> None:
    for order in (range(99), range(98, -1, -1)):
        bounded = [(on(k), on(k + 1)) for k in order]
        made, _ = machines([], bounded, lambda one, other: False)
        assert all(made.are_tied(on(k), on(99 - k)) for k in range(100))
        assert not made.are_tied(on(0), on(100))


def test_the_error_of_untied_machines_says_what_to_record() -> None:
    fault = untied(on(0), on(3))
    assert fault.reason == "no_path"
    assert fault.message == (
        "no reading ties BOOTTIME to BOOTTIME@machine3, which are of two machines: record "
        "with a relay (traced_relay) that sends RemoteClockSync, or convert each machine's trace "
        "alone, or, if its events have flows between the machines, take these as orders "
        "(--orders flows)"
    )


# Neighbours


def around(tied: dict[int, set[int]], *, several: bool) -> Neighbours:
    def neighbours_of(clock: ClockId) -> set[ClockId]:
        return {ClockId(c) for c in tied.get(clock.clock, ())}

    return Neighbours(neighbours_of, lambda c, n: several and len(neighbours_of(c)) > n)


@pytest.mark.parametrize("several", [True, False])
def test_paths_continue_over_clocks_that_have_another_neighbour(several: bool) -> None:
    # 200 - 201 - 202, and 203, 204 hang on 201 alone.
    tied = {
        200: {201},
        201: {204, 203, 202, 200},
        202: {201, 205},
        203: {201},
        204: {201},
        205: {202},
    }
    found = around(tied, several=several)
    assert [c.clock for c in found[ClockId(201)]] == [200, 202, 203, 204]
    assert [c.clock for c in found.onward(ClockId(201), ClockId(205))] == [202]
    assert [c.clock for c in found.onward(ClockId(201), ClockId(203))] == [202, 203]
    assert [c.clock for c in found.onward(ClockId(201), ClockId(200))] == [200, 202]
    assert [c.clock for c in found.onward(ClockId(202), ClockId(200))] == [201]
    assert [c.clock for c in found.onward(ClockId(200), ClockId(205))] == [201]
    assert ClockId(200) in found
    assert ClockId(206) not in found
    assert found[ClockId(206)] == []


@pytest.mark.parametrize("several", [True, False])
def test_a_path_from_elsewhere_leads_into_no_pocket(several: bool) -> None:
    # 210 - 211 hang on 200, which has five other neighbours; 202 and 203 lead on.
    tied = {
        200: {201, 202, 203, 204, 205, 210, 211},
        201: {200, 202, 203, 204, 205},
        202: {200, 201, 220},
        203: {200, 201, 220},
        204: {200, 201},
        205: {200, 201},
        210: {200, 211},
        211: {200, 210},
        220: {202, 203},
    }
    found = around(tied, several=several)
    assert [c.clock for c in found.onward(ClockId(200), ClockId(220))] == [201, 202, 203, 204, 205]
    assert {210, 211} < {c.clock for c in found.onward(ClockId(200), ClockId(211))}
    pocket = found.pocket(ClockId(211))
    assert pocket == ({ClockId(210), ClockId(211)}, ClockId(200))
    assert found.pocket(ClockId(220)) is found.pocket(ClockId(204)) is None


# Ways


def test_as_many_steps_may_be_taken_as_are_left() -> None:
    for left, spent in ((None, False), (2, False), (1, False), (0, True), (-1, True)):
        assert SearchBudget(left).spent is spent
    steps = SearchBudget(5)
    steps.take(2)
    assert steps.left == 3
    endless = SearchBudget(None)
    endless.take(2)
    assert endless.left is None


COST = {
    (0, 1): 1.0, (0, 2): 4.0, (1, 2): 2.0, (1, 3): 9.0, (2, 3): 1.0, (3, 4): 0.0, (2, 5): float("inf"),
    (4, 6): 3.0, (0, 6): 7.0,
}  # fmt: skip
COST |= {(b, a): cost for (a, b), cost in COST.items()}


def neighbours_of(clock: ClockId) -> list[ClockId]:
    return [ClockId(200 + b) for a, b in sorted(COST) if a == clock.clock - 200]


def bar(one: ClockId, other: ClockId) -> float:
    return COST[one.clock - 200, other.clock - 200]


def way(source: int, target: int, left: int | None, known: dict[int, list[int]]) -> Any:
    steps = SearchBudget(left)
    rest = {ClockId(200 + k): [ClockId(200 + c) for c in path] for k, path in known.items()}
    found = least_error(
        ClockId(200 + source), ClockId(200 + target), neighbours_of, bar, rest.get, steps
    )
    return None if found is None else [c.clock - 200 for c in found], steps.left


def test_the_search_for_the_least_error_counts_each_hop() -> None:
    assert way(0, 3, None, {}) == ([0, 1, 2, 3], None)
    assert way(0, 3, 100, {}) == ([0, 1, 2, 3], 90)
    assert way(0, 3, 11, {}) == ([0, 1, 2, 3], 1)
    assert way(0, 3, 10, {}) == (None, 0)
    assert way(0, 5, None, {}) == (None, None)
    # Of two ways of 7 the one of fewer hops.
    assert way(0, 6, None, {})[0] == [0, 6]
    assert way(0, 0, 5, {}) == ([0], 5)


def test_a_known_path_is_used() -> None:
    # It is not looked for anew from there, not where another would be less wide, either.
    assert way(0, 3, 100, {1: [1, 2, 3]}) == ([0, 1, 2, 3], 90)
    assert way(0, 3, 100, {1: [1, 3]}) == ([0, 2, 3], 91)
    assert way(0, 3, 100, {0: [0, 6, 4, 3]})[0] == [0, 1, 2, 3]
    assert way(0, 4, 100, {1: [1, 2, 3, 4]}) == ([0, 1, 2, 3, 4], 89)


def test_the_shortest_detour_is_not_the_direct_hop() -> None:
    def ways(source: int, target: int, left: int | None) -> Any:
        steps = SearchBudget(left)
        found = detour(ClockId(200 + source), ClockId(200 + target), neighbours_of, steps)
        return None if found is None else [c.clock - 200 for c in found], steps.left

    assert ways(0, 1, None) == ([0, 2, 1], None)
    assert ways(0, 1, 100) == ([0, 2, 1], 100 - 4 - 5)
    assert ways(0, 1, 5) == ([0, 2, 1], -4)
    assert ways(0, 1, 4) == (None, 0)
    assert ways(0, 6, 100)[0] == [0, 1, 3, 4, 6]
    assert ways(2, 5, 100)[0] is None


# Reach


def row(n: int, most: int | None, linked: Any = ()) -> Reach:
    graph = ClockGraph()
    for k in range(n - 1):
        graph.add_snapshot({ClockId(200 + k): 5, ClockId(201 + k): 5})
    graph._graph._numbering.clocks()
    return Reach(graph._graph.state.engine, graph._graph._numbering.numbers, linked, most)


def refused(call: Any, *args: Any) -> str:
    with pytest.raises(TraceError) as error:
        call(*args)
    return str(error.value)


def test_hops_between_clocks_and_to_such_as_are_not_there() -> None:
    reach = row(6, None)
    clocks = [ClockId(200 + k) for k in range(6)]
    assert [[reach.hops(a, b) for a in clocks] for b in clocks] == [
        [abs(j - k) for j in range(6)] for k in range(6)
    ]
    assert reach.hops(ClockId(300), clocks[0]) is None
    # Of a target that is not known a hop is the least; and none from itself.
    assert reach.hops(clocks[0], ClockId(300)) == 1
    assert reach.hops(ClockId(300), ClockId(300)) == 0
    linked = [(clocks[0], clocks[5]), (clocks[1], ClockId(300)), (ClockId(301), clocks[1])]
    assert [row(6, None, linked).hops(a, clocks[0]) for a in clocks] == [0, 1, 2, 3, 2, 1]
    assert [row(6, None, linked).hops(a, clocks[5]) for a in clocks] == [1, 2, 3, 2, 1, 0]


def test_paths_are_counted_once_and_none_from_a_clock_to_itself() -> None:
    reach = row(6, 3)
    reach.expect([ClockId(200), ClockId(201), ClockId(201), ClockId(300)], ClockId(200))
    assert reach._hops == 1
    reach.expect([ClockId(201), ClockId(203), ClockId(204)], ClockId(200))
    assert reach._hops == 8
    assert "more than 3 pairs" in refused(reach.expect, [ClockId(205)], ClockId(200))
    reach = row(6, 3)
    reach.found([ClockId(200), ClockId(201), ClockId(202)])
    assert reach._hops == 0
    reach.found([ClockId(200), ClockId(203), ClockId(204), ClockId(201)])
    assert reach._hops == 2
    free = row(6, None)
    free.expect([ClockId(205)], ClockId(200))
    assert free._hops == 0


def test_what_is_beyond_a_limit_names_it() -> None:
    reach = row(3, 4)
    reach.check_length(4)
    assert refused(reach.check_length, 5) == (
        "error bars are requested of more than 4 pairs of clocks; raise the limit (max_tubes, "
        "--max-tubes), which takes a second for a thousand, or convert by the floor policy"
    )
    assert reach.steps.left == 800
    reach.steps.take(799)
    reach.check_steps()
    reach.steps.take(1)
    assert refused(reach.check_steps) == (
        "the search for the paths of error bars between clocks took 800 steps; raise "
        "the limit (max_tubes, --max-tubes, 200 steps each), or convert by the floor policy"
    )
    reach._check_hops(80)
    assert refused(reach._check_hops, 81) == (
        "error bars of these clocks lead over more than 80 hops from clock to clock; raise the "
        "limit (max_tubes, --max-tubes, 20 hops each), or convert by the floor policy"
    )
    free = row(3, None)
    free.check_length(10**9)
    free.check_steps()
    free._check_hops(10**9)
    assert free.steps.left is None


# Bounds


def test_bounds_of_several_pairs_are_kept_apart() -> None:
    pairs = [(on(0), on(1)), (on(0), on(2)), (on(2), on(1))]
    columns = [np.arange(6) * 10 + k for k in range(5)]
    between = Between(pairs, Boxes(*columns), np.array([1, 1, 6]))
    assert between.counts().tolist() == [1, 0, 5]

    def rows(one: ClockId, other: ClockId) -> list[list[int]] | None:
        found = between.of(one, other)
        return None if found is None else [column.tolist() for column in found]

    assert rows(on(0), on(1)) == [[0], [1], [2], [3], [4]]
    assert rows(on(1), on(0)) == [[0], [3], [4], [1], [2]]
    assert rows(on(0), on(2)) == rows(on(2), on(0)) == [[], [], [], [], []]
    last = [list(range(k, 60 + k, 10))[1:] for k in range(5)]
    assert rows(on(2), on(1)) == last
    assert rows(on(1), on(2)) == [last[0], last[3], last[4], last[1], last[2]]
    assert rows(on(0), on(3)) is None
    assert between.pairs() == pairs
    assert Between().pairs() == []
    assert Between().counts().tolist() == []


def test_halves_of_all_widths() -> None:
    low = np.array([5, 5, 5, 5, -7, -7])
    high = low + np.array([0, 1, 2, 3, 1, 4])
    nothing = np.zeros(6, dtype=np.int64)
    for boxes in (Boxes(nothing, low, high, nothing, nothing),):
        assert boxes.one.tolist() == [5, 5, 6, 6, -7, -5]
        assert boxes.one_half.tolist() == [0, 1, 1, 2, 1, 2]
        assert boxes.swapped().other.tolist() == boxes.one.tolist()
        assert boxes.swapped().other_half.tolist() == boxes.one_half.tolist()
        assert boxes.other.tolist() == boxes.other_half.tolist() == [0] * 6


# What was measured


def test_clocks_without_measurements_have_none() -> None:
    measured = Measured(
        {on(0): Column(np.array([3]), Read(np.array([7]), np.array([8])))},
        (np.array([2, 5, 5]), np.array([4, 4, 5]), np.array([66, 77, 88])),
        {on(1): Corrected(np.array([5]), np.array([99]))},
    )
    recorded = [measured.has(on(machine)) for machine in range(7)]
    assert recorded == [True, True, False, False, True, True, False]
    assert [measured.knows(on(machine)) for machine in range(3)] == [True, False, False]
    numbers = np.arange(8)
    none = NOT_RECORDED
    assert measured.frequency(on(4), numbers).tolist() == [
        none,
        none,
        66,
        none,
        none,
        77,
        none,
        none,
    ]
    assert measured.frequency(on(5), numbers).tolist() == [none] * 5 + [88, none, none]
    assert measured.frequency(on(1), numbers).tolist() == [none] * 5 + [99, none, none]
    assert measured.frequency(on(2), numbers).tolist() == [none] * 8
    read = measured.reads(on(0), np.array([1, 3, 4]))
    assert [column.tolist() for column in read] == [[0, 7, 0], [-1, 8, -1]]
    assert [c.tolist() for c in measured.reads(on(2), np.array([1, 3]))] == [[0, 0], [-1, -1]]


def test_measurements_of_a_trace_are_known_later_ones_are_not() -> None:
    measured = Measured()
    measured.add(4, 4, Snapshot({6: 1, 3: 1}, reference=6, half_width_ns={3: 5}))
    assert not measured.has(on(0))
    measured.add(4, 5, Snapshot({6: 1, 3: 1, 5: 1}, reference=6, half_width_ns={3: 5}))
    assert [measured.has(ClockId(c)) for c in (6, 3, 5)] == [True, True, False]
    assert [measured.knows(ClockId(c)) for c in (6, 3, 5)] == [False] * 3
    measured.add(9, 10, Snapshot({6: 1, 5: 1}, reference=6, centre_ns={5: -3}))
    read = measured.reads(ClockId(5), np.array([4, 9]))
    assert [column.tolist() for column in read] == [[0, -3], [-1, -1]]
    read = measured.reads(ClockId(6), np.array([3, 4, 5, 9]))
    assert [column.tolist() for column in read] == [[0] * 4, [-1, 0, -1, 0]]
    assert Measured(known=[on(0)]).knows(on(0))
    assert not Measured(known=[on(0)]).has(on(0))
