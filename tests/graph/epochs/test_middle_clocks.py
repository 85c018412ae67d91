"""Bars of clocks that others stand between which jump; a small part of `benchmarks/middle_clocks.py`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.middle_clocks import FAMILIES, judged


@pytest.mark.parametrize(
    ("family", "worlds"),
    [
        ("set back in the middle", range(10, 16)),
        ("reset in the middle", range(10, 16)),
        ("set back, few snapshots of a pair", range(10, 16)),
        ("reset, few snapshots of a pair", range(10, 16)),
        # Of these each was out of its bars once.
        ("two of four set back", (6, 14, 16, 24, 25, 26, 32, 62, 77, 81)),
        ("two jumps within 1 s", (2,)),
        ("three of five set back", (6,)),
    ],
)
def test_bars_hold_the_truth_where_another_pair_saw_the_jump(
    family: str, worlds: Sequence[int]
) -> None:
    assert judged(FAMILIES[family], worlds, seed=1) == (0, 0, [])
