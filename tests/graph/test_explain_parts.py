"""One hop of a conversion, and how far outside of its snapshots it leads."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tracetime import ClockId
from tracetime.graph.explanation import Outside, farthest_outside, floor_step

A, B = ClockId(200), ClockId(201)


def step(ns: int, source: Fraction | None = Fraction(1), target: Fraction | None = Fraction(1)):
    hop = SimpleNamespace(
        source=A,
        target=B,
        readings=np.array([10, 20, 40]),
        offsets=np.array([5, -7, 100]),
        snapshot_of=lambda ns: max(int(np.searchsorted([10, 20, 40], ns, side="right")) - 1, 0),
    )
    return floor_step(hop, ns, source, target)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ns", "index", "side", "far"),
    [
        (3, 0, "before first", 7),
        (9, 0, "before first", 1),
        (10, 0, "", 0),
        (11, 0, "", 0),
        (39, 1, "", 0),
        (40, 2, "", 0),
        (41, 2, "after last", 1),
        (90, 2, "after last", 50),
    ],
)
def test_a_hop_by_the_snapshot_before_a_value(ns: int, index: int, side: str, far: int) -> None:
    made = step(ns)
    reading, offset = [10, 20, 40][index], [5, -7, 100][index]
    assert made == (
        A, B, reading, reading + offset, ns, ns + offset, index, 3, side, far, "ns", "ns",
    )  # fmt: skip
    outside = made.outside
    assert outside == (Outside(side, far, "ns", A, B) if side else None)
    if outside is not None:
        assert outside.ns == far
        assert str(outside).startswith(f"{far} ns {side.replace(' ', ' the ')} snapshot of {A} and")


def test_a_hop_from_or_to_ticks() -> None:
    made = step(43, Fraction(5, 2), None)
    assert (made.outside_ns, made.src_unit, made.dst_unit) == (7, "ticks", "ticks")
    assert made.outside == Outside("after last", 7, "ns", A, B)
    made = step(1_240, None)
    assert (made.outside_ns, made.src_unit, made.dst_unit) == (None, "ticks", "ns")
    assert made.outside == Outside("after last", 1_200, "ticks", A, B)
    assert made.outside.ns is None
    assert str(made.outside) == (
        f"1,200 ticks after the last snapshot of {A} and {B}: nothing says what was there"
    )
    assert step(4, None).outside == Outside("before first", 6, "ticks", A, B)
    assert step(15, None).outside is None
    assert step(15, None).outside_ns is None


def test_the_farthest_of_several_steps() -> None:
    near, far = Outside("after last", 5, "ns", A, B), Outside("before first", 900, "ns", A, B)
    ticks = Outside("after last", 1, "ticks", B, A)

    def farthest(*found: Outside | None) -> Outside | None:
        return farthest_outside([SimpleNamespace(outside=one) for one in found])

    assert farthest() is farthest(None, None) is None
    assert farthest(near, None, far) == farthest(far, near) == far
    assert farthest(far, ticks, near) == ticks
