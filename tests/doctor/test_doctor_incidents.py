"""Each jump and each suspend is reported once: examples of what is one, and what is two."""

from __future__ import annotations

import pytest

from tracetime.clocks.ids import ClockId
from tracetime.doctor import incidents
from tracetime.doctor.incidents import _Zones
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.tube.results import PairDiscontinuity

A, B, D, C = ClockId(6), ClockId(3), ClockId(5), ClockId(128)


def jump(src, *snapshots, size=(1000, 1000), kind="step"):
    return PairDiscontinuity(src, C, kind, 0, 1, size, None, snapshots)


def off(src, *snapshots):
    return jump(src, *snapshots, kind="outlier")


def distinct_jumps(found):
    return list(incidents.distinct_jumps(PairDiscontinuities.of(found)))


def distinct_suspends(found):
    return list(incidents.distinct_suspends(PairDiscontinuities.of(found)))


def reported(found):
    return [(d.src, d.kind, d.snapshots) for d in found]


@pytest.mark.parametrize(
    ("spans", "kept"),
    [
        ([], []),
        ([(3, 4)], [(3, 4)]),
        ([(3, 4), (1, 2)], [(1, 2), (3, 4)]),
        # One beside the other: two distinct_suspends.
        ([(1, 2), (2, 3), (3, 4)], [(1, 2), (2, 3), (3, 4)]),
        ([(0, 2), (4, 6), (2, 4)], [(0, 2), (2, 4), (4, 6)]),
        # One within another, or about its end: the closer pair tells.
        ([(1, 6), (3, 4)], [(3, 4)]),
        ([(1, 6), (1, 2)], [(1, 2)]),
        ([(1, 6), (5, 6)], [(5, 6)]),
        ([(1, 4), (3, 5)], [(3, 5)]),
        ([(1, 4), (3, 8)], [(1, 4)]),
        # As close: the first.
        ([(2, 4), (1, 3)], [(1, 3)]),
        # A wide one about several.
        ([(0, 9), (1, 2), (4, 5), (7, 8)], [(1, 2), (4, 5), (7, 8)]),
        ([(0, 9), (0, 2), (5, 6)], [(0, 2), (5, 6)]),
        ([(0, 9), (0, 1), (5, 7)], [(0, 1), (5, 7)]),
        ([(0, 9), (8, 11), (10, 13)], [(8, 11)]),
        ([(0, 3), (2, 9), (8, 11)], [(0, 3), (8, 11)]),
        ([(0, 8), (7, 9), (8, 20), (19, 21), (2, 3)], [(2, 3), (7, 9), (19, 21)]),
        ([(6, 9), (0, 3), (3, 6), (2, 7), (5, 11)], [(0, 3), (3, 6), (6, 9)]),
        # The order of the snapshots of one does not matter.
        ([(4, 1), (5, 3)], [(5, 3)]),
    ],
)
def test_sleeps(spans, kept):
    found = [jump(A, *on, kind="suspend") for on in spans]
    assert [d.snapshots for d in distinct_suspends(found)] == kept
    assert [d.snapshots for d in distinct_suspends(found[::-1])] == kept


def test_of_those_that_show_the_same_sleep_the_first_is_kept():
    assert reported(distinct_suspends([jump(B, 1, 2), jump(A, 1, 2), jump(B, 0, 1)])) == [
        (B, "step", (0, 1)),
        (B, "step", (1, 2)),
    ]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ([], []),
        # One witness tells of different things, however they overlap.
        (
            [jump(A, 1, 6), jump(A, 3, 4), jump(A, 1, 2)],
            [(A, "step", (1, 2)), (A, "step", (1, 6)), (A, "step", (3, 4))],
        ),
        # Two tell of one thing: the closer pair, else the first.
        ([jump(A, 1, 6), jump(B, 3, 4)], [(B, "step", (3, 4))]),
        ([jump(A, 3, 4), jump(B, 1, 6)], [(A, "step", (3, 4))]),
        ([jump(B, 3, 4), jump(A, 3, 4)], [(B, "step", (3, 4))]),
        ([jump(A, 1, 3), jump(B, 2, 4), jump(D, 3, 5)], [(A, "step", (1, 3)), (D, "step", (3, 5))]),
        # Beside each other they are two things.
        ([jump(A, 1, 3), jump(B, 3, 5)], [(A, "step", (1, 3)), (B, "step", (3, 5))]),
        # One that overlaps the second one kept before it, or the last.
        (
            [jump(A, 0, 2), jump(A, 4, 6), jump(A, 8, 10), jump(B, 5, 9)],
            [(A, "step", (0, 2)), (A, "step", (4, 6)), (A, "step", (8, 10))],
        ),
        (
            [jump(A, 0, 2), jump(A, 4, 6), jump(B, 1, 4)],
            [(A, "step", (0, 2)), (A, "step", (4, 6))],
        ),
        (
            [jump(A, 4, 6), jump(A, 8, 10), jump(B, 1, 5)],
            [(A, "step", (4, 6)), (A, "step", (8, 10))],
        ),
        # One that overlaps its witness's own, and behind that one another's.
        (
            [jump(A, 4, 5), jump(B, 5, 6), jump(A, 6, 4)],
            [(A, "step", (4, 5)), (B, "step", (5, 6))],
        ),
        # Apart, though another's zone reaches over both.
        (
            [jump(A, 0, 1), jump(B, 5, 7), jump(D, 0, 9)],
            [(A, "step", (0, 1)), (B, "step", (5, 7))],
        ),
        (
            [jump(A, 0, 2), jump(B, 5, 6), jump(D, 0, 9)],
            [(A, "step", (0, 2)), (B, "step", (5, 6))],
        ),
        # A wrong reading is reported once, by the first clock; a jump there is the same.
        ([off(A, 5), off(B, 5)], [(A, "outlier", (5,))]),
        ([off(B, 5), off(A, 5), off(B, 7)], [(B, "outlier", (5,)), (B, "outlier", (7,))]),
        ([off(A, 5), jump(B, 4, 5), jump(B, 5, 6, size=(9, 9))], [(A, "outlier", (5,))]),
        ([off(A, 5), jump(A, 4, 5)], [(A, "step", (4, 5)), (A, "outlier", (5,))]),
        (
            [off(A, 5), jump(B, 6, 7), jump(B, 3, 4)],
            [(B, "step", (3, 4)), (A, "outlier", (5,)), (B, "step", (6, 7))],
        ),
        (
            [off(A, 5, 6), jump(B, 6, 7), jump(A, 1, 2)],
            [(A, "step", (1, 2)), (A, "outlier", (5, 6))],
        ),
    ],
)
def test_what_happened_to_a_clock(found, kept):
    assert reported(distinct_jumps(found)) == kept


@pytest.mark.parametrize(
    ("back", "is_one"),
    [
        ((-1000, -1000), True),
        ((-1030, -1030), True),
        ((-970, -970), True),
        ((-1031, -1031), False),
        ((-969, -969), False),
        ((-1062, -1000), False),
        ((-1060, -1000), True),
        ((-1, 1), False),
        ((1000, 1000), False),
        (None, False),
    ],
)
def test_away_and_back_again_is_one_reading_that_is_off(back, is_one):
    away, again = jump(A, 4, 5, kind="reset"), jump(A, 5, 6, size=back)
    off_then = [(A, "outlier", (5,))]
    assert reported(distinct_jumps([again, away])) == (
        off_then if is_one else reported([away, again])
    )
    as_reversed = [
        d._replace(size_ns=d.size_ns and (-d.size_ns[1], -d.size_ns[0])) for d in (away, again)
    ]
    assert reported(distinct_jumps(as_reversed)) == (
        off_then if is_one else reported([away, again])
    )


@pytest.mark.parametrize(
    "found",
    [
        [jump(A, 4, 5), jump(A, 6, 7, size=(-1000, -1000))],
        [jump(A, 4, 5, size=None), jump(A, 5, 6, size=(-1000, -1000))],
        [jump(A, 4, 5, kind="outlier"), jump(A, 5, 6, size=(-1000, -1000))],
        [jump(A, 4, 5), jump(A, 5, 6, size=(-1000, -1000), kind="outlier")],
    ],
)
def test_what_is_not_away_and_back_again(found):
    assert reported(distinct_jumps(found)) == reported(found)


def test_after_a_reading_that_is_off_the_next_jump_is_another():
    found = [jump(A, k, k + 1, size=(by, by)) for k, by in enumerate((1000, -1000, 1000, -1000))]
    assert reported(distinct_jumps(found)) == [(A, "outlier", (1,)), (A, "outlier", (3,))]
    found = [jump(A, 0, 1, size=(9, 9)), *found[1:3], jump(A, 3, 4)]
    assert distinct_jumps(found) == [
        found[0],
        found[1]._replace(kind="outlier", snapshots=(2,)),
        found[3],
    ]


def test_jumps_that_one_clock_shows_are_not_compared_with_each_other(monkeypatch):
    compared = []
    overlapping = _Zones.overlapping
    monkeypatch.setattr(
        _Zones,
        "overlapping",
        lambda self, *span: compared.append(span) or overlapping(self, *span),
    )
    alone = [jump(A, k, k + 2) for k in range(20)]
    assert distinct_jumps(alone) == alone and not compared
    assert distinct_jumps([*alone, jump(B, 3, 4)]) != alone and compared
