"""What the readings of two clocks say of jumps between them, at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracetime.clocks.ids import ClockId
from tracetime.doctor import jump_columns
from tracetime.doctor.jump_columns import moved
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.tube.results import PairDiscontinuity

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

A, B, C = ClockId(6), ClockId(3), ClockId(128)
NAN = float("nan")


def jump(*snapshots: int, src=A, dst=C, size=(5, 5), kind="step") -> PairDiscontinuity:
    return PairDiscontinuity(src, dst, kind, 0, 1, size, None, snapshots)


def off(*snapshots: int) -> PairDiscontinuity:
    return jump(*snapshots, kind="outlier")


def JumpSnapshots(found):
    return jump_columns.JumpSnapshots(PairDiscontinuities.of(found))


def farthest_ns(survey, found, default):
    return jump_columns.farthest_ns(survey, PairDiscontinuities.of(found), default)


def spans_read(survey, pair, found):
    return jump_columns.spans_read(survey, pair, PairDiscontinuities.of(found))


def spans_after(survey, pair, found):
    return jump_columns.spans_after(survey, pair, PairDiscontinuities.of(found))


def columns(*rows: tuple[int, int, int]) -> Any:
    """(snapshots, ours, theirs), a row each."""
    return tuple(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))


class Read:
    """Replaces a survey: what pairs of clocks read together."""

    def __init__(self, rows: dict[tuple[ClockId, ClockId], Any]) -> None:
        self.rows = rows

    def together(self, one: ClockId, other: ClockId) -> Any:
        return self.rows[one, other]


def test_places_of_no_jumps_are_none():
    places = JumpSnapshots([])
    assert len(places) == 0
    assert places.lows.tolist() == places.highs.tolist() == []
    assert moved(places, columns((1, 5, 6))).tolist() == []
    nothing = np.empty(0, dtype=np.int64)
    assert moved(JumpSnapshots([jump(1, 2), off(1)]), (nothing, nothing, nothing)) == pytest.approx(
        [NAN, NAN], nan_ok=True
    )


def test_places_of_jumps():
    places = JumpSnapshots([jump(3, 7), off(5), jump(9, 4, 6)])
    assert len(places) == 3
    assert places.lows.tolist() == [3, 5, 4]
    assert places.highs.tolist() == [7, 5, 9]
    assert places.outlier.tolist() == [False, True, False]
    at, there = places.rows_in(np.array([4, 5, 6, 8]))
    assert there.tolist() == [False, False, True, False, True, True]
    assert at[there].tolist() == [1, 0, 2]
    assert places.each(np.add, np.array([1, 2, 4, 8, 16, 32])).tolist() == [3, 4, 56]
    assert [side.tolist() for side in places.outer(np.arange(6))] == [[0, 2, 3], [1, 2, 5]]


LINE = columns((2, 0, 0), (4, 100, 100), (6, 200, 230), (8, 300, 330), (9, 400, 430))


@pytest.mark.parametrize(
    ("queried", "ns"),
    [
        (jump(2, 4), 0),
        (jump(4, 6), 30),
        (jump(6, 4), -30),
        (jump(2, 9), 30),
        (jump(2, 4, 6), 30),
        (jump(2, 3), NAN),
        (jump(3, 4), NAN),
        (jump(2, 3, 4), NAN),
        (jump(9, 10), NAN),
        (off(4), -15),
        (off(6), 15),
        (off(8), 0),
        (off(3), NAN),
        (off(10), NAN),
        # Beside the first and the last there is one other.
        (off(2), 0),
        (off(9), 0),
    ],
)
def test_how_far_a_clock_jumped_there(queried, ns):
    assert moved(JumpSnapshots([queried]), LINE).tolist() == pytest.approx([ns], nan_ok=True)
    # What else is asked changes nothing.
    many = [jump(4, 6), queried, off(6), jump(3, 4)]
    assert moved(JumpSnapshots(many), LINE).tolist() == pytest.approx(
        [30, ns, 15, NAN], nan_ok=True
    )


@pytest.mark.parametrize(
    ("rows", "queried", "ns"),
    [
        # The first, and the last: by how much it is off the one beside it.
        ([(0, 0, 0), (1, 100, 140)], off(0), -40),
        ([(0, 0, 0), (1, 100, 140)], off(1), 40),
        ([(0, 0, 0), (1, 100, 140), (2, 200, 290)], off(0), -40),
        ([(0, 0, 0), (1, 100, 140), (2, 200, 290)], off(2), 50),
        ([(0, 0, 0)], off(0), NAN),
        # On the line from 40 above to 10 above, a third of the way.
        ([(0, 0, 40), (1, 100, 100), (2, 300, 310)], off(1), -30),
        # One tick on both sides.
        ([(0, 0, 0), (1, 1, 7), (2, 2, 4)], off(1), 5),
        # Where it fell, or stood, what the nearer one says.
        ([(0, 0, 0), (1, 100, 100), (2, 50, 70)], off(1), -20),
        ([(0, 0, 0), (1, 100, 100), (2, 100, 130)], off(1), -30),
        ([(0, 100, 70), (1, 50, 50), (2, 150, 180)], off(1), 30),
        ([(0, 100, 70), (1, 100, 90), (2, 150, 180)], off(1), 20),
        ([(0, 150, 180), (1, 100, 100), (2, 50, 25)], off(1), 25),
    ],
)
def test_how_far_a_snapshot_is_off_those_about_it(rows, queried, ns):
    assert moved(JumpSnapshots([queried]), columns(*rows)).tolist() == pytest.approx(
        [ns], nan_ok=True
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "ns"),
    [
        # Of readings far apart, to the ns.
        ((0, 2**62 + 1), (0, 2**62 + 4), 3),
        ((-(2**62), 2**62 - 3), (-(2**62), 2**62 - 2), 1),
        ((5, 2**60), (-(2**61), 2**60), 2**61 + 5),
        # Beyond int64, about.
        ((2**62, -(2**62)), (-(2**62), 2**62), 2**64),
        ((-(2**62), 2**62), (2**62, -(2**62)), -(2**64)),
    ],
)
def test_jumps_are_exact_as_far_as_int64_goes(ours, theirs, ns):
    rows = columns((0, ours[0], theirs[0]), (1, ours[1], theirs[1]))
    assert moved(JumpSnapshots([jump(0, 1)]), rows).tolist() == [float(ns)]


@pytest.mark.parametrize(
    ("size", "read_ns", "expected"),
    [
        ((10, 50), 30, 30),
        ((10, 50), -30, 10),
        ((10, 50), 70, 50),
        ((-50, -10), -30, 30),
        ((-50, -10), 5, 10),
        ((-50, -10), -90, 50),
        (None, 30, 0),
    ],
)
def test_the_farthest_jump_follows_from_what_was_read_within_its_bounds(size, read_ns, expected):
    survey = Read({(A, C): columns((0, 0, 0), (1, 100, 100 + read_ns))})
    assert farthest_ns(survey, [jump(0, 1, size=size)], 7) == expected


def test_the_farthest_jump_of_several_pairs_and_of_none():
    rows = columns((0, 0, 0), (1, 100, 140), (3, 200, 240))
    survey = Read({(A, C): rows, (B, C): rows})
    wide = (0, 1000)
    few, more = jump(0, 1, size=wide), jump(1, 3, src=B, size=wide)
    assert farthest_ns(survey, [more, few], 7) == 40
    assert farthest_ns(survey, [more], 7) == 0
    # Where the clocks were not read, the middle of the bounds.
    assert farthest_ns(survey, [few, jump(1, 2, src=B, size=(100, 161))], 7) == 130
    assert farthest_ns(survey, [], 7) == 7


def test_middles_of_jumps():
    found = [jump(0, 1, size=size) for size in ((3, 8), (-8, -3), (-4, 6), None)]
    assert PairDiscontinuities.of(found).mean_ns.tolist() == [5, 5, 1, 0]


def test_jumps_by_their_clocks():
    one, other, third = jump(0, 1), jump(0, 1, src=B), jump(4, 5)
    by_pair = PairDiscontinuities.of([one, other, third]).by_pair()
    assert {pair: list(found) for pair, found in by_pair.items()} == {
        (A, C): [one, third],
        (B, C): [other],
    }


SPANS = {(C, A): columns((2, 10, 0), (4, 30, 0), (6, 20, 0), (8, 50, 0))}


def test_what_a_clock_read_on_both_sides_of_jumps():
    queried = [jump(2, 4), jump(3, 4), jump(4, 6), jump(4, 5, 6, 7), jump(7, 9), jump(2, 6, 4)]
    spans = spans_read(Read(SPANS), (C, A), queried)
    assert spans.tolist() == [[10, 30], [20, 30], [20, 30], [10, 30]]
    assert spans.dtype == np.int64
    extremes = (-(2**63), 2**63 - 1)
    rows = columns(*((k, at, 0) for k, at in enumerate(extremes)))
    assert spans_read(Read({(C, A): rows}), (C, A), [jump(0, 1)]).tolist() == [list(extremes)]
    assert spans_read(Read(SPANS), (C, A), []).shape == (0, 2)
    assert spans_read(Read(SPANS), (C, A), [jump(0, 1)]).shape == (0, 2)


def test_what_a_clock_read_from_an_outlier_to_before_the_next_snapshot():
    found = [off(2), off(3), off(4, 6), off(6), off(8), off(9)]
    spans = spans_after(Read(SPANS), (C, A), found)
    assert spans.tolist() == [[10, 29], [30, 19], [20, 49]]
    assert spans_after(Read(SPANS), (C, A), []).shape == (0, 2)
