"""Bars of clocks that others stand between which jump; a small part of `benchmarks/middle_clocks.py`."""

from __future__ import annotations

import pytest

from benchmarks.middle_clocks import FAMILIES, judged


@pytest.mark.parametrize(
    "family",
    [
        "set back in the middle",
        "reset in the middle",
        "set back, few snapshots of a pair",
        "reset, few snapshots of a pair",
    ],
)
def test_bars_hold_the_truth_where_another_pair_saw_the_jump(family: str) -> None:
    assert judged(FAMILIES[family], range(10, 16), seed=1) == (0, 0, [])
