"""Which clock jumped is found over all rows at once; a small part of `benchmarks/who_jumped.py`."""

from __future__ import annotations

from benchmarks.who_jumped import judged


def test_the_clock_that_jumped_and_the_mistaken_messages_are_named_and_bars_hold_the_truth() -> (
    None
):
    found = judged(range(16), seed=4)
    assert found.alone == 16
    assert found.named == found.mistaken > 0
    assert found.outside == 0
