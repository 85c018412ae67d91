"""How far events are from snapshots, by columns, is what going through the rows gives."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, TRACE_FILE
from hypothesis import example, given
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId
from tracetime.analysis.event_distances import (
    NEAR_NS,
    OF_THE_FILE,
    ReadingSpans,
    Span,
    Stray,
    Strays,
    outside,
)
from tracetime.errors import AS_IS, NO_PATH, RESOLVED
from tracetime.formats.perfetto.schema import KINDS
from tracetime.graph.clock_graph import inner

S = 1_000_000_000
UINT32 = (1 << 32) - 1
INT64_MAX, INT64_MIN = (1 << 63) - 1, -(1 << 63)


def ints(values: Any, dtype: type = np.int64) -> np.ndarray:
    return np.array(list(values), dtype=dtype)


NUMBERS = [BOOTTIME, MONOTONIC, TRACE_FILE, 200]
readings = st.sampled_from([INT64_MIN, -5, 0, 1, 5, 9, 3 * S, INT64_MAX - 1, INT64_MAX])


@given(st.lists(st.dictionaries(st.sampled_from(NUMBERS), readings, min_size=2), max_size=6))
@example([])
@example([{BOOTTIME: 0, MONOTONIC: INT64_MAX}, {BOOTTIME: 5, MONOTONIC: 0}])
@example([{BOOTTIME: 9, MONOTONIC: 5}, {BOOTTIME: 1, MONOTONIC: 5}, {BOOTTIME: 9, 200: 0}])
def test_spans_of_clocks_are_those_of_their_readings(snapshots):
    graph = ClockGraph()
    read: dict[int, list[int]] = {number: [] for number in NUMBERS}
    for one in snapshots:
        graph.add_snapshot(one)
    for info in graph.clocks():
        which, values = graph._graph.contents.every_reading()
        place = [i.clock for i in graph.clocks()].index(info.clock)
        read[info.clock.clock] = sorted(values[which == place].tolist())
    spans = ReadingSpans(inner(graph))
    there = {}
    for clock, k in spans.numbers.items():
        every = read[clock.clock]
        assert spans.marks[spans.starts[k] : spans.starts[k + 1]].tolist() == sorted(set(every))
        assert bool(spans.of_file[k]) == (clock in map(ClockId, (BOOTTIME, TRACE_FILE)))
        if spans.of_file[k]:
            every = [value for value in every if value]
        assert spans.readings[k] == len(every)
        if every:
            step = min(max((b - a for a, b in pairwise(every)), default=0), INT64_MAX)
            there[clock] = Span(every[0], every[-1], step, len(every))
            assert there[clock].length == every[-1] - every[0]
    assert dict(spans) == there
    assert (len(spans), list(spans)) == (len(there), list(there))
    assert spans.get(ClockId(9)) is None
    which = np.arange(len(spans.numbers) + 2)
    known = [clock in there for clock in spans.numbers]
    assert spans.are_known(which).tolist() == [*known, False, False]


ends = st.sampled_from([INT64_MIN, INT64_MIN + 1, -5, 0, 4, INT64_MAX - 1, INT64_MAX])


@given(st.lists(ends), ends, ends)
def test_how_far_values_are_outside(values, low, high):
    low, high = sorted((low, high))
    expected = [max(low - value, value - high, 0) for value in values]
    assert outside(ints(values), low, high).tolist() == expected
    n = len(values)
    assert outside(ints(values), np.full(n, low), np.full(n, high)).tolist() == expected


def test_what_is_further_than_any_distance_is_none():
    """The first of several takes their place, however far it is."""
    widest = Stray(1, (1 << 64) - 1, 1, INT64_MAX, INT64_MIN, INT64_MAX, 0, 0, (1 << 64) - 1)
    total = Stray()
    total.add(widest)
    assert total == widest
    farthest = Stray(1, 1, (1 << 64) - 1, INT64_MIN, INT64_MAX, INT64_MIN, 0, 0, 0)
    total = Stray()
    total.add(farthest)
    assert total == farthest


NAMES = [kind.name for kind in KINDS]
rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([RESOLVED, RESOLVED, AS_IS, NO_PATH]),
        st.sampled_from([0, 0, 1, *map(NAMES.index, ("process_start", "heap_dump"))]),
        st.sampled_from([
            INT64_MIN, -9 * S, 0, 3 * S, 9 * S - 1, 9 * S, 12 * S, 21 * S, 21 * S + 1, 90 * S,
            150 * S, INT64_MAX,
        ]),
        st.sampled_from([INT64_MIN + 5, 0, 1, 50 * S, 60 * S + S, 60 * S + S + 1, 80 * S, INT64_MAX]),
        st.sampled_from([INT64_MIN, -1, 0, 3, UINT32, INT64_MAX]),
    ),
    max_size=30,
)  # fmt: skip


def strays_singly(spans, home, clocks, batches):
    """By clock, side and power of 2 of the distance, its rows: (away, source, raw, packet)."""
    found: dict[tuple[ClockId, bool], dict[int, list[Any]]] = {}
    for batch, rows in enumerate(batches):
        for k, (number, status, kind, time, source, raw) in enumerate(rows):
            if status != RESOLVED and not (status == AS_IS and NAMES[kind] == "packet"):
                continue
            before = time < home.low
            tells_of_the_past = (
                NAMES[kind]
                in (
                    "process_start",
                    "heap_dump",
                    "android_log",
                    "statsd_atom",
                )
                or not source
            )
            if before and tells_of_the_past:
                continue
            away = max(home.low - time, time - home.high, 0)
            own = spans.get(clocks[number])
            if own is not None:
                away = min(away, max(own.low - source, source - own.high, 0))
            if away > S:
                there = found.setdefault((clocks[number], before), {})
                scale = int(np.frexp(float(away))[1])
                there.setdefault(scale, []).append((batch, away, source, raw, 7 * batch + k))
    return found


def summed(rows):
    stray = Stray()
    for _, ours in groupby(rows, key=lambda one: one[0]):
        _, away, source, raw, packets = zip(*ours, strict=True)
        stray.add(
            Stray(
                len(away),
                min(away),
                max(away),
                min(source),
                max(source),
                min(raw),
                sum(raw),
                sum(b > a for a, b in pairwise(raw)),
                min(packets),
            )
        )
    return stray


@given(st.lists(rows, max_size=3))
@example(
    [
        [
            (
                1,
                RESOLVED,
                0,
                90 * S,
                90 * S,
                2,
            ),
            (1, RESOLVED, 0, 90 * S, 90 * S, 3),
        ]
    ]
)
@example([[(3, AS_IS, k, 90 * S, 90 * S, 1) for k in range(len(KINDS))]])
@example([[(3, RESOLVED, k, -9 * S, 90 * S, 1) for k in range(len(KINDS))]])
@example([[(2, RESOLVED, 0, t, 0, 1) for t in (8 * S, 8 * S - 1, 9 * S, 22 * S, 22 * S + 1)]])
@example([[(2, RESOLVED, 0, t, 1, 1) for t in (8 * S, 8 * S - 1, 9 * S, 22 * S, 22 * S + 1)]])
@example([[(1, RESOLVED, 0, 90 * S, 60 * S + S + k, 1) for k in range(3)]])
@example([[(k, RESOLVED, 0, 90 * S, INT64_MIN + 5, 1) for k in range(4)]])
def test_strays_are_those_looked_for_one_by_one(batches):
    graph = ClockGraph("BOOTTIME")
    for k in range(3):
        graph.add_snapshot(
            {BOOTTIME: 9 * S + k * 6 * S, MONOTONIC: 50 * S + k * 5 * S, TRACE_FILE: 0}
        )
    spans = ReadingSpans(inner(graph))
    home = spans[ClockId(BOOTTIME)]
    assert home == Span(9 * S, 21 * S, 6 * S, 3)
    clocks = [*spans.numbers, ClockId(200)]
    assert [clock in spans for clock in clocks].count(True) == 2
    strays = Strays(spans, home, clocks, KINDS)
    names = ("", "status", "kind", "trace_time", "source_ns", "timestamp")
    for batch, rows in enumerate(batches):
        table = dict(zip(names, ints(rows).reshape(-1, 6).T, strict=True))
        table["packet"] = 7 * batch + np.arange(len(rows))
        strays.add(table, table.pop(""))
    expected = strays_singly(spans, home, clocks, batches)
    assert {key: set(scales) for key, scales in strays.found.items()} == {
        key: set(scales) for key, scales in expected.items()
    }
    for key, scales in expected.items():
        for scale, rows in scales.items():
            assert strays.found[key][scale] == summed(rows), (key, scale)


@pytest.mark.parametrize(
    ("spans", "gap_ns", "reached"),
    [
        ([], 5, NEAR_NS),
        ([(NEAR_NS + 5, NEAR_NS + 9)], 5, NEAR_NS + 9),
        ([(NEAR_NS + 6, NEAR_NS + 9)], 5, NEAR_NS),
        ([(NEAR_NS + 2, NEAR_NS + 90), (NEAR_NS + 3, NEAR_NS + 8)], 5, NEAR_NS + 90),
        ([(NEAR_NS + 5, NEAR_NS + 9), (NEAR_NS + 14, NEAR_NS + 20)], 5, NEAR_NS + 20),
        ([(NEAR_NS + 5, NEAR_NS + 9), (NEAR_NS + 15, NEAR_NS + 20)], 5, NEAR_NS + 9),
        ([(NEAR_NS + 15, NEAR_NS + 20), (NEAR_NS + 16, NEAR_NS + 16)], 15, NEAR_NS + 20),
    ],
)
def test_events_reach_as_far_as_no_gap_is_between(spans, gap_ns, reached):
    strays = Strays(ReadingSpans(inner(ClockGraph("BOOTTIME"))), Span(0, 0, 0, 0), [], KINDS)
    for k, (near, far) in enumerate(spans):
        strays.found[ClockId(200 + k % 2), True][k] = Stray(1, near, far)
        strays.found[ClockId(200 + k % 2), False][k] = Stray(1, near + 10**12, far + 10**12)
    assert strays.reach(True, gap_ns) == reached
    assert strays.reach(False, gap_ns) == NEAR_NS


def test_boottime_and_the_time_of_the_file_may_be_0_by_rule():
    assert [ClockId(number) for number in OF_THE_FILE] == [
        ClockId.parse("BOOTTIME"),
        ClockId.parse("TRACE_FILE"),
    ]
