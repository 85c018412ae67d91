"""What a graph answers at its edges: lines of order, wraps, names, findings that are not made."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    UsageError,
)
from tracetime._kernels import graph as kernel
from tracetime.graph.comparison import eventful
from tracetime.graph.explanation import Explanation
from tracetime.graph.ordering import own_bars
from tracetime.graph.tube.explanation import TubeExplanation
from tracetime.graph.tube.results import Bounds

S = 1_000_000_000
A, B, C = (ClockId(200 + k) for k in range(3))
AT = np.arange(1, 6, dtype=np.int64) * S
INT64_MAX, INT64_MIN = (1 << 63) - 1, -(1 << 63)


def words(call: Any, *args: Any, **named: Any) -> str:
    with pytest.raises((UsageError, ConversionError)) as info:
        call(*args, **named)
    return str(info.value)


def exact(**halves: int) -> ClockGraph:
    """Two clocks that read alike, measured to the nanosecond, that do not drift."""
    graph = ClockGraph(domains=[ClockDomain(c, max_drift_ppm=0) for c in (A, B)])
    graph.add_snapshot(
        Snapshot({A: AT, B: AT}, reference=A, half_width_ns={B: halves.get("half", 0)})
    )
    return graph


# Order


@pytest.mark.parametrize(("half", "clear"), [(0, 1), (9, 10)])
def test_what_is_farther_apart_than_the_bar_is_in_order(half: int, clear: int) -> None:
    graph = exact(half=half)
    apart = np.array([-clear - 1, -clear, 1 - clear, 0, clear - 1, clear, clear + 1])
    expected = [-1, -1, 0, 0, 0, 1, 1]
    assert graph.order((2 * S + apart, A), (np.full(7, 2 * S), B)).tolist() == expected
    assert graph.order((2 * S + apart, B), (2 * S, A)).tolist() == expected
    assert graph.order((2 * S, B), (2 * S - apart, A)).tolist() == expected
    assert graph.order((2 * S + clear, A), (2 * S, B)) == 1
    assert type(graph.order((5, A), (6, A))) is int
    assert graph.order(([5, 6, 7], A), (6, A)).dtype == np.int8
    assert graph.order(([5, 6, 7], A), (6, A)).tolist() == [-1, 0, 1]
    assert graph.order(([5], A), ([6], A)).tolist() == [-1]
    assert graph.order((5, A), ([6], A)).tolist() == [-1]
    sides: Any = ([5, A], [6, A])
    assert graph.order(*sides) == -1


def test_readings_on_the_reference_are_in_ns_and_end_with_int64() -> None:
    graph = ClockGraph()
    graph.add_snapshot({"64@seq1": Reading(AT // 1000, 1000), B: AT})
    assert own_bars(graph._graph, np.array([3, 0, -3]), ClockId(64, 1)).tolist() == [3000, 0, -3000]
    ends = np.array([INT64_MAX, INT64_MAX // 1000, INT64_MAX // 1000 + 1, INT64_MIN, -(2**60)])
    assert own_bars(graph._graph, ends, ClockId(64, 1)).tolist() == [
        INT64_MAX,
        INT64_MAX // 1000 * 1000,
        INT64_MAX,
        INT64_MIN,
        INT64_MIN,
    ]
    assert own_bars(graph._graph, np.array([1, 0, -1]), B).tolist() == [1, 0, -1]


def counting(n: int = 10) -> ClockGraph:
    """A counter of 40 bits, in ns: it wraps every 18 minutes, and is read every 5."""
    graph = ClockGraph(domains=[ClockDomain(B, valid_bits=40, max_drift_ppm=10)])
    at = np.arange(n, dtype=np.int64) * 300 * S
    graph.add_snapshot(Snapshot({A: at, B: at % (1 << 40)}, reference=A, half_width_ns={B: 50}))
    return graph


def test_a_counter_that_wraps_is_told_apart_by_what_is_near() -> None:
    graph, wrap = counting(), 1 << 40
    # It wraps after 1099 and 2199 s: its readings up to 500 s are of three wraps.
    for k in range(3):
        got = graph.convert(50 * S, B, A, policy="tube", near=(50 * S + k * wrap, A))
        assert got == 50 * S + k * wrap
        explained = graph.explain(50 * S, B, A, policy="tube", near=(50 * S + k * wrap, A))
        assert explained.result == 50 * S + k * wrap
    nears = [50 * S, 51 * S + wrap, 52 * S + 2 * wrap]
    values = [50 * S, 51 * S, 52 * S]
    assert graph.convert(values, B, A, policy="tube", near=(nears, A)).tolist() == nears
    assert graph.convert(values, B, A, policy="tube", near=(nears[1], A)).tolist() == [
        v + wrap for v in values
    ]
    assert graph.convert(values[:1], B, A, policy="tube", near=(nears[:1], A)).tolist() == nears[:1]
    assert graph.convert(values[0], B, A, policy="tube", near=(nears[:1], A)) == nears[0]
    for near, n in ((nears, 2), (nears[:2], 3)):
        assert words(graph.convert, values[:n], B, A, policy="tube", near=(near, A)) == (
            f"near is one timestamp, or {n} of them without nulls"
        )
    assert "without nulls" in words(
        graph.convert, values, B, A, policy="tube", near=(pa.array([1, None, 2]), A)
    )


def test_a_counter_that_wraps_is_ambiguous_where_nobody_says_when() -> None:
    graph, wrap = counting(), 1 << 40
    assert words(graph.convert, 50 * S, B, A, policy="tube").startswith(
        f"201 {50 * S} can mean two instants of 200, between "
    )
    assert words(graph.convert, 50 * S, B, A, policy="tube").endswith(
        ": 201 wrapped; say near which time it was (near)"
    )
    bar = graph.convert(50 * S, B, A, policy="tube", errors="mask", bounds=True)
    assert bar.estimate is None
    assert bar.earliest <= 50 * S < 50 * S + 2 * wrap <= bar.latest
    assert bar.latest - bar.earliest < 2 * wrap + S // 100
    assert words(graph.order, ([wrap, 50 * S], B), (5, A)).startswith(f"201 {50 * S} ")


def test_order_on_a_counter_that_wraps_asks_for_the_time() -> None:
    # Of 20 minutes, the first 100 s are of two wraps.
    graph, wrap = counting(5), 1 << 40
    once = [200 * S, 900 * S, wrap - 1]
    assert own_bars(graph._graph, np.array(once), B).tolist() == once
    assert words(own_bars, graph._graph, np.array([800 * S, 50 * S, 60 * S]), B) == (
        f"201 {50 * S} can mean two instants: 201 wrapped; convert it, saying near which time it "
        "was (near)"
    )
    assert graph.order(([200 * S, 300 * S], B), (250 * S, A)).tolist() == [-1, 1]
    assert graph.order((250 * S, A), (200 * S, B)) == 1


# Shapes


def test_where_nothing_converts_masks_have_the_shape_of_the_timestamps() -> None:
    graph = exact()
    graph.add_snapshot({C: 5})
    assert graph.convert(5, C, A, policy="tube", errors="mask") is None
    none = graph.convert(5, C, A, policy="tube", errors="mask", bounds=True)
    assert none == Bounds(None, None, None)
    none = graph.convert([5, 6], C, A, policy="tube", errors="mask", bounds=True)
    assert [side.to_pylist() for side in none] == [[None, None]] * 3
    assert graph.convert([5, 6], C, A, errors="mask").to_pylist() == [None, None]
    some = graph.convert(pa.array([5, None]), C, C, errors="mask")
    assert some.to_pylist() == [5, None]
    assert graph.convert([], A, B, errors="mask").to_pylist() == []
    assert graph.convert([2 * S], A, B, policy="tube").dtype == np.int64
    own = np.array([1, 2])
    for policy in ("floor", "tube"):
        got = graph.convert(own, A, A, policy=policy)
        got[0] = 9
        assert own.tolist() == [1, 2]
    assert [v.tolist() for v in graph.convert(own, A, A, policy="tube", bounds=True)] == [
        [1, 2]
    ] * 3


def test_units_of_a_source_are_ns_before_a_tube() -> None:
    graph = ClockGraph()
    seq = ClockId(64, 1)
    graph.add_snapshot(
        Snapshot({A: AT, seq: Reading(AT // 1000, 1000)}, reference=A, half_width_ns={seq: 0})
    )
    bar = graph.convert(
        [2_000_000, INT64_MAX // 1000 + 1], seq, A, policy="tube", bounds=True, errors="mask"
    )
    assert [side.to_pylist()[1] for side in bar] == [None] * 3
    assert bar.estimate.to_pylist()[0] == 2 * S
    explained = graph.explain(2_000_001, seq, A, policy="tube")
    assert (explained.value, explained.result) == (2_000_001, 2_000_001_000)
    assert words(graph.convert, [5, INT64_MAX // 1000 + 1], seq, A, policy="tube") == (
        f"64@seq1 {INT64_MAX // 1000 + 1} (index 1) converted to 200 does not fit in int64"
    )


# What a graph knows of its clocks


def test_only_clocks_of_which_something_is_known_need_a_tube_where_nothing_happened() -> None:
    def of_a_graph(snapshot: Any, *domains: ClockDomain) -> list[tuple[ClockId, ClockId]]:
        graph = ClockGraph(domains=domains)
        graph.add_snapshot(snapshot)
        assert len(graph.compared()) == 1
        return eventful(graph._graph)

    plain = {"BOOTTIME": AT, A: AT + 5}
    pair = (ClockId(6), A)
    assert of_a_graph(plain) == []
    assert of_a_graph({"BOOTTIME": AT, A: AT + AT // S}) == [pair]
    assert of_a_graph(plain, ClockDomain(A)) == [pair]
    assert of_a_graph(plain, ClockDomain(ClockId(6))) == [pair]
    assert of_a_graph(plain, ClockDomain(B)) == []
    assert of_a_graph(Snapshot(plain, frequency_scaled_ppm={A: 5})) == [pair]
    assert of_a_graph(Snapshot(plain, frequency_scaled_ppm={"BOOTTIME": 5})) == [pair]
    assert of_a_graph(Snapshot(plain, reference=A, half_width_ns={"BOOTTIME": 5})) == [pair]
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": AT, "TSC": AT + 5})
    assert eventful(graph._graph) == [(ClockId(6), ClockId(9))]


def test_a_declared_domain_counts_at_once_and_a_kind_is_no_declaration() -> None:
    graph = exact()
    graph.declare(ClockDomain(C, name="the third"))
    assert graph.domain(C).name == "the third"
    assert graph.domain("TSC").ns_per_tick is None
    assert graph.domain(A).max_drift_ppm == 0
    assert set(graph.declared) == {A, B, C}
    assert graph.names == {C: "the third"}
    assert [graph.name(c) for c in (A, C, ClockId(6))] == ["200", "the third", "BOOTTIME"]
    before = graph.convert(6 * S, A, B, policy="tube", bounds=True)
    graph.declare(ClockDomain(A, max_drift_ppm=100))
    after = graph.convert(6 * S, A, B, policy="tube", bounds=True)
    assert before == Bounds(6 * S, 6 * S, 6 * S)
    assert after == Bounds(6 * S, 6 * S - 2_001, 6 * S + 2_001)


def test_hops_are_counted_by_snapshots_and_lead_from_no_clock_that_ran_backwards() -> None:
    graph = ClockGraph()
    graph.add_snapshot({A: [1, 2, 3], B: [4, 5, 6]})
    graph.add_snapshot({A: [7, 8], B: [7, 8], C: [9, 8]})
    assert graph.edges() == [(A, B, 5), (A, C, 2), (B, A, 5), (B, C, 2)]
    assert [info.snapshots for info in graph.clocks()] == [5, 5, 2]


def test_files_keep_clocks_of_sequences_apart() -> None:
    graph = ClockGraph()
    for file in (0, 1, 2):
        graph.add_snapshot({A: 100, ClockId(64, 5, file=file): 10 * file})
    for file in (0, 1, 2):
        assert graph.convert(10 * file, ClockId(64, 5, file=file), A) == 100
        assert graph.convert(100, A, ClockId(64, 5, file=file)) == 10 * file
    assert [str(info.clock) for info in graph.clocks()] == [
        "64@seq5",
        "64@seq5@file1",
        "64@seq5@file2",
        "200",
    ]


def test_explained_ticks_and_units_are_those_of_each_clock() -> None:
    domains = [ClockDomain(B, ns_per_tick=Fraction(1, 2))]
    graph = ClockGraph(domains=domains)
    graph.add_snapshot({A: AT, B: 2 * AT})
    assert graph.explain(7, B, B).result == 7
    tube = graph.explain(7, B, B, policy="tube")
    assert str(tube).split("\n")[1].endswith("(-0 +0 ticks), estimated bars")
    assert tube.value_unit == "ticks"
    there = graph.explain(4 * S, B, A, policy="tube")
    assert (there.value_unit, there.unit, there.result) == ("ticks", "ns", 2 * S)
    back = graph.explain(2 * S, A, B, policy="tube")
    assert (back.value_unit, back.unit, back.result) == ("ns", "ticks", 4 * S)


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_words_are_told_by_what_they_say(policy: str) -> None:
    """Not by their addresses in memory."""
    policy, mask, sure = ("".join(list(word)) for word in (policy, "mask", "guaranteed"))
    graph = exact()
    graph.add_snapshot({B: 9 * S, C: 9 * S})
    whole = graph.convert([2 * S], A, B, policy=policy, errors=mask)
    assert whole.to_pylist() == [2 * S]
    assert graph.path(A, C, policy=policy) == [A, B, C]
    explained = graph.explain(2 * S, A, B, policy=policy)
    assert isinstance(explained, TubeExplanation) is (policy == "tube")
    assert graph.convert(2 * S, A, B, policy="tube", bars=sure) == 2 * S  # type: ignore[arg-type]


def test_of_two_numbers_of_a_clock_the_file_s_own_is_converted_from() -> None:
    graph, seq = ClockGraph(), ClockId(64, 1)
    graph.add_snapshot({A: 1, seq: 1})
    graph.add_snapshot({A: 1, ClockId(64, 2): 1})
    graph._graph.state.file = 3
    graph.add_snapshot({A: 2, seq: 2})
    graph.add_snapshot({A: 3, ClockId(64, 4): 3})
    keys = kernel.keys(graph._graph.state.engine, 0)
    found = dict(
        zip(
            graph._graph.contents.lists().clocks,
            graph._graph.contents.nodes().tolist(),
            strict=True,
        )
    )
    assert {str(clock): keys[number] for clock, number in found.items()} == {
        "200": (200, 0, 0, 0),
        "64@seq1": (64, 1, 3, 0),
        "64@seq2": (64, 2, 0, 0),
        "64@seq4": (64, 4, 3, 0),
    }
    assert graph._graph.contents.neighbours(seq) == {A}
    assert graph._graph.contents.neighbours(A) == {seq, ClockId(64, 2), ClockId(64, 4)}


def test_of_several_snapshots_the_refused_one_is_numbered_of_one_not() -> None:
    fault = "BOOTTIME is the trace clock, and went backwards"
    for given, expected in ((4, fault), ([4], fault), ([6, 4], f"snapshot 1 of 2: {fault}")):
        graph = ClockGraph("BOOTTIME")
        graph.add_snapshot({"BOOTTIME": 5})
        assert words(graph.add_snapshot, {"BOOTTIME": given}) == expected


def test_values_that_leave_int64_at_one_hop_or_another_are_no_values() -> None:
    graph, far = ClockGraph(), 1 << 62
    graph.add_snapshot({A: 0, B: far})
    graph.add_snapshot({B: 0, C: far})
    values = [far, 0, -5, -far]
    found = graph.convert(values, A, C, errors="mask")
    assert found.to_pylist() == [None, None, INT64_MAX - 4, far]
    assert "(index 0)" in words(graph.convert, values, A, C)
    assert "(index 1)" in words(graph.convert, [-5, 0], A, C)
    assert graph.convert([-5, -6], A, C).tolist() == [INT64_MAX - 4, INT64_MAX - 5]


@pytest.mark.parametrize("unit_ns", [1, 2, 3])
def test_a_unit_counts_once(unit_ns: int) -> None:
    graph, seq = ClockGraph(), ClockId(64, 1)
    graph.add_snapshot({A: AT, seq: Reading(AT // S, unit_ns)})
    assert graph.convert([2, 3], seq, A).tolist() == [2 * S, 3 * S]
    assert graph.convert([12, 15], seq, A).tolist() == [
        5 * S + 7 * unit_ns,
        5 * S + 10 * unit_ns,
    ]
    explained = graph.explain(12, seq, A)
    assert isinstance(explained, Explanation)
    assert (explained.unit_ns, explained.result) == (unit_ns, 5 * S + 7 * unit_ns)
    assert [step.value_ns_after for step in explained.steps] == [5 * S + 7 * unit_ns]
    two = graph.explain(7, A, seq)
    assert isinstance(two, Explanation)
    assert two.unit_ns == 1


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_a_clock_is_itself_by_whatever_name(policy: str) -> None:
    graph = exact()
    for one, other in ((200, "200"), (ClockId(200), ClockId(200)), (1, "REALTIME")):
        assert graph.convert(7, one, other, policy=policy) == 7
        assert graph.convert([7], one, other, policy=policy).tolist() == [7]
        assert graph.path(one, other, policy=policy) == [ClockId.parse(one)]
        explained = graph.explain(7, one, other, policy=policy)
        assert (explained.result, list(explained.steps), explained.src) == (
            7,
            [],
            ClockId.parse(other),
        )
        assert graph.order((7, one), (8, other)) == -1
        with pytest.raises(UsageError, match="compared with itself"):
            graph.curves(one, other)
    assert graph.order((7, 200), (7, "201")) == 0
    with pytest.raises(ConversionError):
        graph.order((7, 1), (7, "201"))
    five = np.array([5])
    assert own_bars(graph._graph, five, ClockId(200)).tolist() == [5]
    reference, there = 200, ClockId(201)
    curves = graph.curves(reference, "201")
    assert (curves.hub, curves.clock) == (ClockId(200), there)
    back = graph.curves("201", reference)
    assert (back.hub, back.clock) == (there, ClockId(200))
