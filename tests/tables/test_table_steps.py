"""Columns of times that were written in longer steps than their type has: bars hold the truth."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

from tracetime import ClockGraph, convert_table
from tracetime._kernels.common.columns import shortest_decimals

BASE = 1_763_900_000 * 10**9
TRUTH = BASE + np.sort(np.random.default_rng(1).integers(0, 10**11, 3000))
HALF = np.arange(3000) % 2 == 0


def read_csv(texts):
    """A column of CSV as Arrow reads it."""
    text = "ts\n" + "".join(f"{one}\n" for one in texts)
    return pc.read_csv(pa.BufferReader(text.encode()))["ts"]


def missed(column, float_unit=None):
    """How many bars miss the truth."""
    graph = ClockGraph("REALTIME")
    graph.add_snapshot({"REALTIME": np.array([BASE]), "MONOTONIC": np.array([10**9])})
    table = convert_table(
        pa.table({"ts": column}),
        graph,
        {"ts": "REALTIME"},
        policy="tube",
        bounds=True,
        float_unit=float_unit,
    )
    earliest, latest = (table[f"ts_time_{side}"].to_numpy() for side in ("earliest", "latest"))
    return int(np.count_nonzero((earliest > TRUTH) | (latest < TRUTH)))


def in_seconds(form):
    return read_csv(form % (ns / 1e9) for ns in TRUTH.tolist())


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        (pa.array(TRUTH), None),
        (pa.array(TRUTH // 10**6 * 10**6), None),
        (pa.array((TRUTH + 500) // 1000 * 1000), None),
        (pa.array(np.where(HALF, TRUTH // 10**6 * 10**6, TRUTH), pa.timestamp("ns")), None),
        (pa.array(TRUTH // 100 * 100, pa.timestamp("ns")), None),
        (pa.array(TRUTH // 15_625_000 * 15_625_000, pa.timestamp("ns")), None),
        (pa.array(TRUTH // 10**6 * 1000, pa.timestamp("us")), None),
        (in_seconds("%.3f"), "s"),
        (in_seconds("%.6f"), "s"),
        (in_seconds("%.9f"), "s"),
        (read_csv(f"{ns:.15g}" for ns in TRUTH.tolist()), "ns"),
        (read_csv(f"{ns / 1e6:.15g}" for ns in TRUTH.tolist()), "ms"),
    ],
)
def test_bars_hold_the_truth_whatever_was_kept_of_it(column, unit):
    if not pa.types.is_floating(column.type):
        unit = None
    assert missed(column, unit) == 0


def test_the_shortest_text_of_a_float_is_found():
    floats = np.array([1763900000.123, 1763900000.123456, -5.0, 0.1, 1763900000.12345678, 0.0])
    found = shortest_decimals(floats, np.full(6, -1), 9, False)
    assert found.tolist() == [
        1763900000123 * 10**6,
        1763900000123456 * 1000,
        -5 * 10**9,
        10**8,
        -1,
        0,
    ]
    large = np.array([1763900000123450000.0, 1.7639e15, 1763900000123456768.0])
    found = shortest_decimals(large, np.full(3, -1), 0, False)
    assert found.tolist() == [1763900000123450000, 1763900000000000, -1]
    single = np.array([0.1, 2.5], np.float32).astype(np.float64)
    assert shortest_decimals(single, np.full(2, -1), 9, True).tolist() == [10**8, 25 * 10**8]


def test_numbers_that_do_not_fit_each_other_are_refused():
    with pytest.raises(ValueError, match="up to 9 decimals"):
        shortest_decimals(np.zeros(2), np.zeros(1, np.int64), 9, False)
    with pytest.raises(ValueError, match="up to 9 decimals"):
        shortest_decimals(np.zeros(1), np.zeros(1, np.int64), 10, False)
