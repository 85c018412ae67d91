"""The span of a clock's readings, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tracetime import ClockId
from tracetime.graph.clock_names import coverage, span_ns


def info(first: int | None, last: int | None, monotonic: bool = True, clock: int = 6) -> Any:
    return SimpleNamespace(clock=ClockId(clock), monotonic=monotonic, first_ns=first, last_ns=last)


@pytest.mark.parametrize(
    ("one", "span"),
    [
        (info(5, 9), 4),
        (info(0, 9), 9),
        (info(-4, 0), 4),
        (info(5, 5), 0),
        (info(5, 4), None),
        (info(5, 9, monotonic=False), None),
        (info(None, 9), None),
        (info(5, None), None),
    ],
)
def test_a_span_is_from_the_first_to_the_last_reading(one: Any, span: int | None) -> None:
    assert span_ns(one) == span


def test_coverage_is_the_longest_span_of_some_clocks() -> None:
    assert coverage([info(5, 5)]) == "0 ns"
    assert coverage([info(5, 9), info(0, 2_000), info(7, 8)]) == "2 us"
    assert coverage([info(5, 4), info(0, 2_000, False)]) == coverage([]) == "-"
    assert coverage([info(0, 2_000, clock=9), info(5, 9)]) == "2e+03 ticks"
    assert coverage([info(0, 2, clock=9), info(5, 9)]) == "4 ns"
    assert coverage([info(0, 5_000)]) == "5 us"
    assert coverage([info(0, 5_000)], decimals=True) == "5.000 us"
