"""What a graph allows at most, met from both sides; and the tables and files that tell of it."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from clock_converter import displayed
from graph_files import array, facts_of, members_of, remade
from kept import check_kept

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    TraceError,
)
from tracetime.analysis.floor_cost import ConstantOffsets
from tracetime.clocks.snapshot import MOST_SCALED_PPM
from tracetime.graph.clock_graph import from_bytes, inner, to_bytes
from tracetime.graph.clock_names import fold
from tracetime.graph.tube.lattice import EventReadings
from tracetime.graph.tube.messages import LONGEST_NS, Between, Boxes
from tracetime.graph.tube.paths import HOPS_A_TUBE, STEPS_A_TUBE

S = 1_000_000_000
AT = np.arange(1, 13, dtype=np.int64) * S


def chain(n: int, most: int | None, *, star: bool = False) -> ClockGraph:
    """Clocks 200 to 199 + n in a row, or around the first."""
    graph = ClockGraph()
    for k in range(n - 1):
        graph.add_snapshot({ClockId(200 if star else 200 + k): AT, ClockId(201 + k): AT})
    graph._graph.most_tubes = most
    return graph


# How many tubes and hops


def outcome(graph: ClockGraph, source: int, target: int) -> str:
    try:
        return f"{len(graph._graph.tubes.path(ClockId(source), ClockId(target)))} clocks"
    except TraceError as error:
        return str(error)


def test_a_way_takes_as_many_tubes_as_it_has_hops() -> None:
    results = {}
    for n in (2, 4, 6):
        for most in (1, 2, 3, 4, 5, 6, None):
            results[f"{n} in a row, {most}"] = outcome(chain(n, most), 200, 199 + n)
            star = chain(n, most, star=True)
            results[f"{n} around, {most}"] = [outcome(star, 200 + k, 200) for k in range(1, n)]
    assert results["4 in a row, 3"] == "4 clocks"
    assert "more than 2 pairs" in results["4 in a row, 2"]
    check_kept("limits", "tubes", results)


def test_ways_that_are_expected_count_before_they_are_gone() -> None:
    results = []
    for most in (2, 3, 4):
        for star in (False, True):
            policy = chain(5, most, star=star)._graph.tubes
            for sources in ([201], [201, 201, 202], [201, 202, 203], [201, 202, 203, 204]):
                try:
                    policy.expect([ClockId(c) for c in sources], ClockId(200))
                    results.append("as many as may be")
                except TraceError as error:
                    results.append(str(error))
    check_kept("limits", "expected", results)


def test_hops_in_all_are_limited_by_the_number_of_tubes() -> None:
    assert (HOPS_A_TUBE, STEPS_A_TUBE) == (20, 200)
    # 1 + 2 + ... + n hops lead from a row of clocks to its first.
    reached = {}
    for most in (5, 10, 39, 40, 41):
        policy = chain(60, most)._graph.tubes
        reached[most] = 0
        try:
            for k in range(1, 60):
                policy.path(ClockId(200 + k), ClockId(200))
                reached[most] = k
        except TraceError as error:
            assert "max-tubes" in str(error)
    check_kept("limits", "hops", reached)


@pytest.mark.parametrize(("most", "refused"), [(40, 801), (41, 821), (45, None)])
def test_ways_between_all_clocks_of_a_row_take_so_many_hops(most: int, refused: int | None) -> None:
    """17 clocks in a row: 816 hops between any two of them, and 32 tubes."""
    policy = chain(17, most)._graph.tubes
    hops = 0
    try:
        for one in range(17):
            for other in range(one):
                hops += one - other
                policy.path(ClockId(200 + one), ClockId(200 + other))
        assert refused is None or hops < refused
    except TraceError as error:
        assert refused is not None
        assert hops - 16 < refused <= hops
        assert f"lead over more than {20 * most} hops" in str(error)


def test_a_way_of_more_hops_than_the_shortest_counts_them_all() -> None:
    """The direct tube of two clocks is wide: the way over a third has an error that is less."""
    graph, one, other = ClockGraph(), ClockId(200), ClockId(201)
    wide = {other: 200_000}
    graph.add_snapshot(Snapshot({one: AT, other: AT}, reference=one, half_width_ns=wide))
    graph.add_snapshot({ClockId(200): AT, ClockId(202): AT})
    graph.add_snapshot({ClockId(201): AT, ClockId(202): AT})
    graph._graph.most_tubes = 5
    policy = graph._graph.tubes
    assert len(policy.path(ClockId(200), ClockId(201))) == 3
    assert policy._reach._hops == 2
    assert len(policy.path(ClockId(200), ClockId(202))) == 2
    assert policy._reach._hops == 3


def test_the_search_for_ways_is_limited_too() -> None:
    results = []
    for left in (5, 12, 4_000):
        graph = ClockGraph()
        for one in range(9):
            for other in range(one + 1, 9):
                graph.add_snapshot({ClockId(200 + one): AT[:2], ClockId(200 + other): AT[:2]})
        graph._graph.most_tubes = 100
        graph._graph.tubes._reach.steps.left = left
        results.append(outcome(graph, 200, 208))
    check_kept("limits", "steps", results)


# Loops


@pytest.mark.parametrize("n", [8, 9])
def test_estimated_bars_report_a_loop_of_eight_snapshots(n: int) -> None:
    """Which never meet, and guaranteed ones do, as clocks may drift between what each pair read."""
    graph = ClockGraph()
    for start, one, other, off in ((0, 6, 200, 0), (3, 200, 201, 30_000), (7, 6, 201, 0)):
        at = (np.arange(n, dtype=np.int64) * 10 + start) * S
        reads = {ClockId(one): at, ClockId(other): at + off}
        graph.add_snapshot(
            Snapshot(reads, reference=ClockId(one), half_width_ns={ClockId(other): 100})
        )
    found = graph.inconsistencies()
    assert bool(found) == (n == 9)
    check_kept("limits", f"loop of {n}", [[*loop[:2], list(loop.via), *loop[3:]] for loop in found])


@pytest.mark.parametrize("n", [4, 5, 6])
def test_longer_loops_go_the_shortest_way_round(n: int) -> None:
    graph = ClockGraph()
    clocks = [ClockId(200 + k) for k in range(n)]
    for k, one in enumerate(clocks):
        off = 40_000_000 if k == n - 1 else 0
        graph.add_snapshot({one: AT, clocks[(k + 1) % n]: AT + off})
    found = graph.inconsistencies()
    assert len(found) == n
    for loop in found:
        assert len(loop.via) == n - 2
        assert [loop.src.clock, *(c.clock for c in loop.via), loop.dst.clock] in (
            [clocks[(s + d * k) % n].clock for k in range(n)] for s in range(n) for d in (1, -1)
        )
    check_kept("limits", f"round {n}", [[*f[:2], list(f.via), *f[3:]] for f in found])


# Clocks with a constant offset


@pytest.mark.parametrize("group", range(4))
def test_how_far_floor_is_from_the_tube_of_a_level_clock(group: int) -> None:
    results = []
    for seed in range(16):
        chance = Random(1_000 * group + seed)
        n = [1, 2, 5, 12][seed % 4]
        at, here = [], 10**12
        for _ in range(n):
            here += [1, 1_000, 10**8, S, 60 * S][int(chance.random() * 5)]
            at.append(here)
        width = [0, 3, 400, 999, 1_000, 1_001][int(chance.random() * 6)]
        reference, clock, third = ClockId(6), ClockId(200), ClockId(201)
        reads = {reference: np.array(at)}
        for other in (clock, third)[: 1 + seed // 4 % 2]:
            reads[other] = np.array([a + int(chance.random() * (width + 1)) for a in at]) + 10**15
        if width and n > 1:
            reads[clock][0], reads[clock][-1] = at[0] + 10**15, at[-1] + 10**15 + width
        graph = ClockGraph(domains=[ClockDomain(clock, tick_ns=[1, 700][seed % 2])])
        graph.add_snapshot(reads)
        level = ConstantOffsets(
            inner(graph), reference, graph._graph.contents.tied_only_to(reference)
        )
        spans = [None, (at[0], at[-1]), (at[0] - S, at[-1]), (at[0], at[-1] + 3 * S)]
        results.append([level.limit_ns(clock, span) for span in spans])
    check_kept("level", str(group), results)


def test_a_level_clock_read_at_one_instant_alone() -> None:
    graph, reference, clock = ClockGraph(), ClockId(6), ClockId(200)
    graph.add_snapshot({reference: [S, S, S], clock: [S, S + 100, S + 41]})
    level = ConstantOffsets(inner(graph), reference, graph._graph.contents.tied_only_to(reference))
    assert [level.limit_ns(clock, span) for span in (None, (0, 5 * S))] == [154, 154]
    assert level.limit_ns(ClockId(201), None) is None


# Tables


def test_clocks_of_four_sequences_share_a_line_and_a_table_has_forty_lines() -> None:
    def lines(n_sequences: int, n_clocks: int) -> ClockGraph:
        graph = ClockGraph("BOOTTIME")
        for sequence in range(1, n_sequences + 1):
            graph.add_snapshot({"BOOTTIME": AT, ClockId(64, sequence): Reading(AT // 1000, 1000)})
        for k in range(n_clocks):
            graph.add_snapshot({"BOOTTIME": AT[:3] + 20 * S, ClockId(200 + k): AT[:3] - k})
        graph.add_snapshot({"BOOTTIME": 40 * S, "TSC": 5, "MONOTONIC": 9})
        graph.add_snapshot({"BOOTTIME": 41 * S, "TSC": 5_000_000_123, "MONOTONIC": 8})
        return graph

    results = {}
    for n_sequences, n_clocks in ((3, 1), (4, 2), (0, 37), (0, 38), (5, 41)):
        results[f"{n_sequences} {n_clocks}"] = (
            lines(n_sequences, n_clocks)._repr_html_().split("<tr>")
        )
    check_kept("limits", "tables", results)
    clocks = [ClockId(64, s) for s in (1, 2, 3, 4)] + [ClockId(65, 1), ClockId(6)]
    check_kept("limits", "folded", fold(clocks))
    check_kept(
        "limits", "folded, named", fold(clocks, lambda c: "x" if c.sequence == 2 else str(c))
    )


def test_what_perfetto_displays_between_and_outside_snapshots() -> None:
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": [10, 20, 20, 40], "REALTIME": [100, 105, 300, 90]})
    found = [displayed(graph, t) for t in (0, 9, 10, 11, 14, 15, 19, 20, 21, 39, 40, 41, 50)]
    assert found == [100, 100, 100, 101, 104, 105, 105, 105, 90, 90, 90, 91, 100]


# Files


def whole_graph() -> ClockGraph:
    """A graph with all that a file can hold."""
    graph = ClockGraph(
        "BOOTTIME", [ClockDomain("TSC", "tsc", 2.5, Fraction(3, 7), 40, 9, 0.5, "o")]
    )
    graph.add_snapshot({"BOOTTIME": [5, 6, 7], "REALTIME": [9, 8, 10]})
    graph.add_snapshot({"BOOTTIME": 8, ClockId(64, 3): Reading(4, 1_000, True)})
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": 10, "TSC": 70},
            reference="BOOTTIME",
            half_width_ns={"TSC": 5},
            centre_ns={"TSC": -3},
            frequency_scaled_ppm={"BOOTTIME": 77},
        )
    )
    far = ClockId(6, machine=4)
    graph.add_snapshot({far: 11, "MONOTONIC": 12})
    columns = (np.array(c) for c in ([1, 2], [5, 6], [9, 6], [-1, 0], [3, 4]))
    graph._graph.state.between = Between([(ClockId(6), far)], Boxes(*columns), np.array([2]), [3])
    graph._graph.state.events = {ClockId(1): EventReadings(np.array([4, 7, 7]), 2, 1)}
    return graph


def test_the_contents_of_a_file() -> None:
    data = to_bytes(whole_graph())
    facts = facts_of(data)
    assert list(facts)[:2] == ["format", "tracetime"]
    del facts["tracetime"]
    columns = {
        name: [content[:80].split(b"'")[3].decode(), content.split(b"\n", 1)[1].hex()]
        for name, content in members_of(data).items()
        if name.endswith("npy")
    }
    check_kept("limits", "file", {"facts": facts, "columns": columns})
    assert to_bytes(from_bytes(data)) == data


def test_a_loaded_graph_has_all_of_it() -> None:
    graph = from_bytes(to_bytes(whole_graph()))
    (pair,) = graph._graph.state.between.pairs()
    boxes = graph._graph.state.between.of(*pair)
    assert boxes is not None
    assert pair == (ClockId(6), ClockId(6, machine=4))
    assert [column.tolist() for column in boxes] == [[1, 2], [5, 6], [9, 6], [-1, 0], [3, 4]]
    assert graph._graph.state.between.worked_out.tolist() == [3]
    ((clock, events),) = graph._graph.state.events.items()
    assert (clock, events.differing, events.repeated) == (ClockId(1), 2, 1)
    assert events.some_ns.tolist() == [4, 7, 7]
    read = {
        str(r.clock): (r.centre_ns.tolist(), r.half_width_ns.tolist()) for r in graph.readings()
    }
    assert read["TSC"] == ([-3], [5])
    assert graph._graph.state.measured.knows(
        ClockId(9)
    ) == whole_graph()._graph.state.measured.knows(ClockId(9))
    steered = graph._graph.state.measured.frequency(ClockId(6), np.arange(6)).tolist()
    assert steered == [-(2**63)] * 4 + [77, -(2**63)]


def changed(**facts: Any) -> bytes:
    data = to_bytes(whole_graph())
    return remade(data, facts_of(data) | facts)


def column(name: str, values: list[int], kind: str = "<i8") -> bytes:
    return remade(to_bytes(whole_graph()), **{name: array(values, kind)})


TAKEN = {
    "file 0": changed(file=0),
    "file 2^32 - 1": changed(file=2**32 - 1),
    "next packet 0": changed(next_packet=0),
    "a correction of 10 %": column(
        "frequency_scaled_ppm", [MOST_SCALED_PPM, -MOST_SCALED_PPM, *[0] * 10]
    ),
    "half-widths of 0 and -1": column("half_width_ns", [-1, 0, *[5] * 10]),
    "a bound of a year": column("between_one_high_ns", [5 + LONGEST_NS, 6]),
    "a bound of one reading": column("between_other_high_ns", [-1, 0]),
    "a bound of the last snapshot": column("between_snapshot", [5, 0], "<u4"),
    "the last snapshot worked out": column("worked_out", [0, 5], "<u4"),
}
REFUSED = {
    "format 4": (changed(format=4), "it has format 4"),
    "file -1": (changed(file=-1), "'file' out of range"),
    "file 2^32": (changed(file=2**32), "'file' out of range"),
    "next packet -1": (changed(next_packet=-1), "'next_packet' out of range"),
    "next packet 2^63": (changed(next_packet=2**63), "'next_packet' out of range"),
    "a correction above 10 %": (
        column("frequency_scaled_ppm", [MOST_SCALED_PPM + 1, *[0] * 11]),
        "more than 10 %",
    ),
    "a correction below -10 %": (
        column("frequency_scaled_ppm", [-MOST_SCALED_PPM - 1, *[0] * 11]),
        "more than 10 %",
    ),
    "a half-width of -2": (column("half_width_ns", [-2, *[5] * 11]), "half-width is negative"),
    "a bound of more than a year": (
        column("between_one_high_ns", [6 + LONGEST_NS, 6]),
        "reversed, or too wide",
    ),
    "another of more than a year": (
        column("between_other_high_ns", [0, 1 + LONGEST_NS]),
        "reversed, or too wide",
    ),
    "a reversed bound": (column("between_one_high_ns", [4, 6]), "reversed, or too wide"),
    "another reversed bound": (column("between_other_high_ns", [-2, 4]), "reversed, or too wide"),
    "a bound of no snapshot": (column("between_snapshot", [6, 0], "<u4"), "that it does not have"),
    "a bound of no pair": (column("between_pair", [0, 1], "<u4"), "that it does not have"),
    "no snapshot worked out": (column("worked_out", [6], "<u4"), "that it does not have"),
    "bounds of no length": (column("between_pair", [], "<u4"), "not equally long"),
    "fewer bounds": (column("between_one_low_ns", [5]), "not equally long"),
    "bounds of one clock": (
        changed(between=[[{"clock": 6, "sequence": 0, "file": 0, "machine": 0}] * 2]),
        "bounds of",
    ),
    "bounds of three": (changed(between=[[1, 2, 3]]), "other than two clocks"),
    "bounds of none": (changed(between=[5]), "other than two clocks"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_at_a_limit_is_taken(name: str) -> None:
    assert len(from_bytes(TAKEN[name]).clocks()) == 6


def test_the_first_format_has_no_bounds() -> None:
    graph = whole_graph()
    graph._graph.state.between = Between()
    data = to_bytes(graph)
    facts = facts_of(data) | {"format": 1}
    del facts["between"]
    assert len(from_bytes(remade(data, facts)).clocks()) == 6
    with pytest.raises(TraceError, match="lacks 'between'"):
        from_bytes(remade(data, facts | {"format": 2}))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_beyond_a_limit_is_refused(name: str) -> None:
    data, match = REFUSED[name]
    with pytest.raises(TraceError, match=match):
        from_bytes(data)


def test_a_pair_is_bounded_once() -> None:
    data = to_bytes(whole_graph())
    facts = facts_of(data)
    pair = facts["between"][0]
    for twice in ([pair, pair], [pair, pair[::-1]]):
        with pytest.raises(TraceError, match="or has them twice"):
            from_bytes(remade(data, facts | {"between": twice}))


@pytest.mark.parametrize("events", [[], [1], [-1, 0], [0, -1], ["1", 2], [1.0, 2]])
def test_events_come_with_their_numbers(events: list[Any]) -> None:
    data = to_bytes(whole_graph())
    facts = json.loads(json.dumps(facts_of(data)))
    next(c for c in facts["clocks"] if "events" in c)["events"] = events
    with pytest.raises(TraceError, match="events"):
        from_bytes(remade(data, facts))


def test_events_of_none_are_taken() -> None:
    data = to_bytes(whole_graph())
    facts = facts_of(data)
    next(c for c in facts["clocks"] if "events" in c)["events"] = [0, 0]
    (events,) = from_bytes(remade(data, facts))._graph.state.events.values()
    assert (events.differing, events.repeated, len(events.some_ns)) == (0, 0, 0)


# Snapshots that come one by one


def test_many_snapshots_one_by_one_are_as_many_at_once() -> None:
    one, other = ClockGraph(), ClockGraph()
    halves = [k * 7 % 50 for k in range(40)]
    for k, half in enumerate(halves):
        reads = {"BOOTTIME": k * S, "TSC": 3 * k * S}
        one.add_snapshot(
            Snapshot(
                reads,
                reference="BOOTTIME",
                half_width_ns={"TSC": half},
                centre_ns={"TSC": k},
                frequency_scaled_ppm={"BOOTTIME": k},
            )
        )
    at = np.arange(40) * S
    other.add_snapshot(
        Snapshot(
            {"BOOTTIME": at, "TSC": 3 * at},
            reference="BOOTTIME",
            half_width_ns={"TSC": np.array(halves)},
            centre_ns={"TSC": np.arange(40)},
            frequency_scaled_ppm={"BOOTTIME": np.arange(40)},
        )
    )
    for graph in (one, other):
        results = {str(r.clock): r for r in graph.readings()}
        assert results["TSC"].half_width_ns.tolist() == halves
        assert results["TSC"].centre_ns.tolist() == list(range(40))
        assert results["BOOTTIME"].half_width_ns.tolist() == [0] * 40
        frequency = graph._graph.state.measured.frequency(ClockId(6), np.arange(-1, 41))
        assert frequency.tolist() == [-(2**63), *range(40), -(2**63)]
        assert graph._graph.state.measured.has(ClockId(6))
        assert not graph._graph.state.measured.has(ClockId(5))
    assert one.convert(at, "TSC", "BOOTTIME", policy="tube").tolist() == (
        other.convert(at, "TSC", "BOOTTIME", policy="tube").tolist()
    )


def test_order_is_by_the_steadier_clock_that_was_not_set_back() -> None:
    """REALTIME was set back: on MONOTONIC each of its readings may be two instants."""
    graph = ClockGraph()
    back = np.where(AT >= 6 * S, 3 * S, 0)
    graph.add_snapshot({"MONOTONIC": AT, "REALTIME": AT - back, "BOOTTIME": AT + 5 * S})
    policy = graph._graph.tubes
    realtime, monotonic, boottime = ClockId(1), ClockId(3), ClockId(6)
    assert (
        policy.paths.reference(realtime, monotonic)
        == monotonic
        == policy.paths.reference(monotonic, realtime)
    )
    assert policy.paths.reference(realtime, boottime) == boottime
    assert policy.paths.reference(boottime, monotonic) == monotonic
    assert graph.order((4 * S, "REALTIME"), (6 * S, "MONOTONIC")) == 0
    assert graph.order((2 * S, "REALTIME"), (9 * S, "MONOTONIC")) == -1


def test_order_of_two_clocks_that_were_set_back_is_by_a_third() -> None:
    graph = ClockGraph()
    back = np.where(AT >= 6 * S, 3 * S, 0)
    graph.add_snapshot({"MONOTONIC": AT, "REALTIME": AT - back, 200: AT - 2 * back})
    policy = graph._graph.tubes
    assert policy.paths.reference(ClockId(1), ClockId(200)) == ClockId(3)
    assert graph.order((11 * S, "REALTIME"), (2 * S, 200)) == 1
    alone = ClockGraph()
    alone.add_snapshot({"REALTIME": AT - back, 200: AT - 2 * back})
    with pytest.raises(ConversionError, match="no snapshot"):
        alone._graph.tubes.paths.reference(ClockId(1), ClockId(3))


def test_a_half_width_that_holds_a_tick_already_grows_no_more() -> None:
    """Of 1 ms, as readings show: half-widths below it cannot hold it yet, one as wide does."""
    tick, chance = 1_000_000, Random(3)
    boottime = np.array([5_000 * S + k * S + int(chance.random() * S / 5) for k in range(60)])
    results = {}
    for half in (0, tick - 1, tick, tick + 1, tick + 2):
        graph = ClockGraph()
        graph.add_snapshot(
            Snapshot(
                {"BOOTTIME": boottime, 200: boottime // tick * tick},
                reference="BOOTTIME",
                half_width_ns={200: half},
            )
        )
        assert graph._graph.tubes.pairs.observed_tick(ClockId(200)) is not None
        results[half] = graph._graph.tubes.pair(ClockId(6), ClockId(200)).half_width_ns
    width = int(np.ceil(results[0]))
    assert results[tick - 1] == tick - 1 + width
    check_kept("limits", "ticks in half-widths", results)


def test_middles_of_what_two_clocks_may_have_read_and_how_far_they_stood_off() -> None:
    boxes = Boxes(*(np.array([n]) for n in (1, 10, 14, 3, 10)))
    assert (boxes.one, boxes.other) == (12, 6)
    assert (boxes.one_half, boxes.other_half) == (2, 4)
