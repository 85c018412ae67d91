"""Snapshots as they are written, brought together by clock, by machine and by what they list."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from written_rows import as_written

from tracetime import ClockId
from tracetime.analysis.snapshots import Written

BIG = 1 << 62


def clock_of(row: tuple[int, ...]) -> ClockId:
    return ClockId(*row[1:4])


# Packets that list a few clocks each: some twice, on machines and sequences of their own.
one_reading = st.tuples(
    st.sampled_from([(6, 0), (3, 0), (3, 0), (64, 1), (64, 2)]),
    st.integers(0, 4),
    st.sampled_from([1, 1, 1, 1000]),
)
packets = st.lists(
    st.tuples(st.integers(0, 2), st.booleans(), st.lists(one_reading, min_size=1, max_size=4)),
    max_size=7,
)


def rows_of(listings: Any) -> list[tuple[int, ...]]:
    return [
        (2 * k + 1, *clock, machine, value, unit, named)
        for k, (machine, named, listed) in enumerate(listings)
        for clock, value, unit in listed
    ]


ALIKE = [(k % 2, True, [((6, 0), k, 1), ((3, 0), 3 - k, 1)]) for k in range(4)]
TWICE = [(0, True, [((6, 0), 1, 1), ((6, 0), 4, 1), ((3, 0), 2, 1)])] * 2


@given(packets)
@example([])
@example(ALIKE)
@example(TWICE)
def test_readings_are_those_of_the_file(listings):
    rows = rows_of(listings)
    written = Written(as_written(rows))
    assert written.clocks == sorted(
        {clock_of(row) for row in rows}, key=lambda c: (c.clock, c.sequence, c.machine)
    )
    assert [written.clocks[k] for k in written.clock.tolist()] == [clock_of(row) for row in rows]
    assert written.packets.tolist() == [row[0] for row in rows]
    assert written.values_ns.tolist() == [row[4] * row[5] for row in rows]
    assert written.named.tolist() == [bool(row[6]) for row in rows]


@pytest.mark.parametrize(
    ("timestamp", "unit", "kept"),
    [
        (BIG - 512, 1, True),
        (BIG, 1, False),
        (512 - BIG, 1, True),
        (-BIG, 1, False),
        (BIG // 1000, 1000, True),
        (BIG // 1000 + 1, 1000, False),
        (-(BIG >> 1), 2, False),
        (1 << 40, 1 << 40, False),
        (5, -1, True),
        (5, -BIG, False),
        (-(1 << 63), 1, False),
        (0, BIG, True),
        (1, BIG, False),
    ],
)
def test_what_is_beyond_int64_is_left_out(timestamp, unit, kept):
    rows = [(1, 3, 0, 0, 7, 1, 0), (1, 6, 0, 1, timestamp, unit, 1), (4, 3, 0, 0, 8, 1, 1)]
    written = Written(as_written(rows))
    assert written.values_ns.tolist() == [7, *[timestamp * unit][: int(kept)], 8]
    assert written.packets.tolist() == [1, *[1][: int(kept)], 4]
    assert written.named.tolist() == [False, *[True][: int(kept)], True]
    assert written.clocks == [ClockId(3), *[ClockId(6, machine=1)][: int(kept)]]


def test_signs_are_those_that_were_heard():
    signs = [(1, 20, 33, 0), (4, 90, 6, 1)]
    assert Written(as_written([], signs)).signs.tolist() == [[1, 4], [20, 90], [33, 6], [0, 1]]


@given(packets, st.lists(st.booleans(), max_size=30))
@example(ALIKE, [])
def test_steps_of_clocks_are_those_from_each_reading_to_the_next(listings, mask):
    rows = rows_of(listings)
    written = Written(as_written(rows))
    written.together(ClockId(6), ClockId(3))
    kept = np.array([*mask, *[True] * len(rows)][: len(rows)], dtype=bool)
    part = written.only(kept)
    clocks = {row[0] for row in rows}
    for which, ours in ((written, rows), (part, [r for r, k in zip(rows, kept, strict=True) if k])):
        steps = []
        for number, clock in enumerate(written.clocks):
            every = [row for row in ours if clock_of(row) == clock]
            steps += [
                (b[0], number, a[4] * a[5], b[4] * b[5], every[0][4] * every[0][5])
                for a, b in zip(every, every[1:], strict=False)
            ]
        found = which.steps()
        assert list(zip(*(column.tolist() for column in found), strict=True)) == steps
        assert which.named.tolist() == [bool(row[6]) for row in ours]
        both = which.together(ClockId(6), ClockId(3))
        assert list(zip(*(column.tolist() for column in both), strict=True)) == beside(
            ours, ClockId(6), ClockId(3)
        )
    assert clocks == set(written.packets.tolist())


def first_by_packet(rows, is_wanted):
    """Return the first wanted reading of each packet, ns."""
    found: dict[int, int] = {}
    for row in rows:
        if is_wanted(row):
            found.setdefault(row[0], row[4] * row[5])
    return found


def beside(rows, one, other):
    ours = first_by_packet(rows, lambda row: clock_of(row) == one)
    theirs = first_by_packet(rows, lambda row: clock_of(row) == other)
    return [(packet, ours[packet], theirs[packet]) for packet in sorted(ours.keys() & theirs)]


@given(packets)
@example(ALIKE)
@example(TWICE)
def test_two_clocks_are_together_where_a_packet_lists_both(listings):
    rows = rows_of(listings)
    written = Written(as_written(rows))
    asked = [ClockId(6), ClockId(3, machine=1), ClockId(64, 2), ClockId(9)]
    for one in asked:
        for other in asked:
            found = written.together(one, other)
            assert list(zip(*(column.tolist() for column in found), strict=True)) == beside(
                rows, one, other
            )
    for one, other in ((6, 3), (3, 64), (64, 6), (6, 9)):
        expected = []
        for machine in range(3):
            here = [row for row in rows if row[3] == machine]
            ours = first_by_packet(here, lambda row, one=one: row[1] == one)
            theirs = first_by_packet(here, lambda row, other=other: row[1] == other)
            expected += [(machine, ours[p], theirs[p]) for p in sorted(ours.keys() & theirs)]
        found = written.pairs(one, other)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def listed(written, rows):
    """The packets by the clocks that they list: (clocks, [(packet, values)])."""
    number = {clock: k for k, clock in enumerate(written.clocks)}
    found: dict[tuple[int, ...], list[Any]] = {}
    for packet, ours in groupby(rows, key=lambda row: row[0]):
        every = list(ours)
        clocks = tuple(number[clock_of(row)] for row in every)
        found.setdefault(clocks, []).append((packet, [row[4] * row[5] for row in every]))
    order = sorted(found, key=lambda clocks: (-len(found[clocks]), len(clocks), clocks))
    return [(tuple(written.clocks[k] for k in clocks), found[clocks]) for clocks in order]


def turns(rows):
    """Whether the clocks are in another order by their readings in one snapshot than in the first."""
    orders = [tuple(np.argsort(values, kind="stable").tolist()) for _, values in rows]
    return len(set(orders)) > 1


@given(packets)
@example([])
@example(ALIKE)
@example(TWICE)
@example([(0, True, [((6, 0), 0, 1), ((3, 0), k % 2, 1)]) for k in range(3)])
@example([(0, True, [((6, 0), 1, 1), ((3, 0), k, 1)]) for k in range(3)])
@example([(0, True, [((6, 0), 0, 1), ((3, 0), 2, 1)]), (0, True, [((3, 0), 2, 1), ((6, 0), 0, 1)])])
def test_series_are_the_snapshots_that_list_the_same_clocks(listings):
    rows = rows_of(listings)
    written = Written(as_written(rows))
    every = listed(written, rows)

    def plain(series):
        return [
            (one.clocks, list(zip(one.packets.tolist(), one.values_ns.tolist(), strict=True)))
            for one in series
        ]

    assert plain(written.series()) == every
    for least in (1, 2, 3):
        frequent = [one for one in every if len(one[1]) >= least]
        assert plain(written.series(least)) == frequent
        turning = [one for one in frequent if turns(one[1])]
        assert plain(written.series(least, turning=True)) == turning
