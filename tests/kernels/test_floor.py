"""The floor kernels against plain NumPy and Python integers, which never wrap."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracetime as tt
from tracetime._kernels.graph import hop, make_grid, scale

LOW, HIGH = -(2**63), 2**63 - 1

edges = st.sampled_from([LOW, LOW + 1, LOW // 2, -1, 0, 1, HIGH // 2, HIGH - 1, HIGH])
int64s = st.one_of(st.integers(-50, 50), st.integers(LOW, HIGH), edges)


class Columns(NamedTuple):
    """One hop: what the source clock read in each snapshot, what to add from there on."""

    readings: np.ndarray
    offsets: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def columns(readings: list[int], targets: list[int]) -> Columns:
    """The columns of a hop between clocks that read so, as `view.hop_columns` gives them."""
    n = len(readings)
    offsets, lowest, highest = [], [], []
    for i, (reading, target) in enumerate(zip(readings, targets, strict=True)):
        offset = target - reading
        low = max(LOW if i == 0 else reading, LOW - offset)
        high = min(HIGH if i + 1 == n else readings[i + 1] - 1, HIGH - offset)
        if not LOW <= offset <= HIGH or low > high:
            offset, low, high = offset if LOW <= offset <= HIGH else 0, HIGH, LOW
        offsets.append(offset)
        lowest.append(low)
        highest.append(high)
    return Columns(
        *(np.array(column, dtype=np.int64) for column in (readings, offsets, lowest, highest))
    )


def exact(value: int, readings: list[int], targets: list[int]) -> int | None:
    """The rule in Python integers: the latest reading not after the value, else the first."""
    index = max(bisect_right(readings, value) - 1, 0)
    offset = targets[index] - readings[index]
    result = value + offset
    return result if LOW <= offset <= HIGH and LOW <= result <= HIGH else None


def check(values: np.ndarray, readings: list[int], targets: list[int]) -> None:
    """Compare the kernel with Python, with and without marks, in place and not."""
    made = columns(readings, targets)
    grid = make_grid(made.readings)
    expected = [exact(int(value), readings, targets) for value in values]
    overflows = [result is None for result in expected]

    out, bad = np.empty_like(values), np.zeros(len(values), dtype=np.uint8)
    assert hop(values, out, *made, grid, bad) == any(overflows)
    assert bad.tolist() == overflows
    fitting = [
        (int(got), want) for got, want in zip(out, expected, strict=True) if want is not None
    ]
    assert [got for got, _ in fitting] == [want for _, want in fitting]

    in_place = values.copy()
    assert hop(in_place, in_place, *made, grid, np.zeros_like(bad)) == any(overflows)
    assert np.array_equal(in_place[bad == 0], out[bad == 0])

    unmarked = np.empty_like(values)
    assert hop(values, unmarked, *made, grid, None) == any(overflows)
    if not any(overflows):
        assert np.array_equal(unmarked, out)


@given(st.lists(st.tuples(int64s, int64s), min_size=1, max_size=12), st.lists(int64s, max_size=30))
def test_hop_is_the_rule_in_python_integers(snapshots, values):
    readings = sorted(reading for reading, _ in snapshots)
    targets = [target for _, target in snapshots]
    check(np.array(values, dtype=np.int64), readings, targets)


def spread(rng: np.random.Generator, shape: str, n: int) -> np.ndarray:
    """n ascending readings, spaced as real and as nasty clocks space them."""
    match shape:
        case "even":
            made = rng.integers(-1000, 1000) + np.arange(n) * rng.integers(1, 10**9)
        case "clustered":
            centres = rng.integers(-(2**60), 2**60, 3)
            made = rng.choice(centres, n) + rng.integers(0, 40, n)
        case "equal":
            made = np.full(n, rng.integers(-5, 5))
        case "ends":
            made = rng.choice([LOW, LOW + 1, -1, 0, HIGH - 1, HIGH], n)
        case "huge":
            made = rng.integers(LOW, HIGH, n, endpoint=True)
        case "one far":
            made = np.append(np.arange(n - 1), HIGH - rng.integers(0, 3))
        case _:
            raise AssertionError(shape)
    return np.sort(made.astype(np.int64))


def near(rng: np.random.Generator, readings: np.ndarray, order: str, n: int) -> np.ndarray:
    """n values about the readings, between them, and at the ends of int64."""
    about = rng.choice(readings, n).astype(object) + rng.integers(-2, 3, n)
    between = rng.integers(readings[0], readings[-1], n, endpoint=True)
    anywhere = rng.integers(LOW, HIGH, n, endpoint=True)
    kind = rng.choice(4, n, p=[0.5, 0.38, 0.1, 0.02])
    made = np.choose(kind, [about, between, anywhere, rng.choice([LOW, HIGH], n)])
    made = np.clip(made, LOW, HIGH).astype(np.int64)
    if order == "sorted":
        return np.sort(made)
    if order == "runs":  # long stretches of one offset, as in a real trace
        return np.repeat(made[: n // 100 + 1], 100)[:n]
    if order == "backwards":
        return np.sort(made)[::-1].copy()
    return made


@pytest.mark.parametrize("order", ["sorted", "runs", "random", "backwards"])
@pytest.mark.parametrize("shape", ["even", "clustered", "equal", "ends", "huge", "one far"])
@settings(max_examples=12)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 3, 7, 100, 1500]),
    st.sampled_from([1, 255, 256, 257, 3000]),
)
def test_hop_over_many_values(shape, order, seed, n_readings, n_values):
    """Longer than a block (256 values) and than a stretch of single look-ups (512)."""
    rng = np.random.default_rng(seed)
    readings = spread(rng, shape, n_readings)
    jumps = rng.integers(-(10**6), 10**6, n_readings)
    targets = np.clip(readings.astype(object) + jumps, LOW, HIGH)
    check(near(rng, readings, order, n_values), readings.tolist(), targets.tolist())


@given(st.lists(int64s, min_size=1, max_size=300))
def test_a_grid_leads_to_the_reading_before_each_bucket(unsorted):
    readings = sorted(unsorted)
    first, shift, steps, starts = make_grid(np.array(readings, dtype=np.int64))
    assert first == readings[0]
    buckets = len(starts) - 1
    assert 1 <= buckets <= max(4 * len(readings), 1)
    assert (readings[-1] - first) >> shift == buckets - 1, "the last reading is in the last bucket"
    for bucket in range(buckets):
        begin = first + (bucket << shift)
        assert starts[bucket] == bisect_right(readings, begin) - 1
    assert starts[buckets] == len(readings) - 1
    assert steps == max(np.diff(starts), default=0)


def test_a_grid_is_no_larger_than_its_limit():
    readings = np.arange(1_000_000, dtype=np.int64) * 7
    assert len(make_grid(readings)[3]) <= (1 << 18) + 1


@given(st.lists(int64s, max_size=40), st.one_of(st.integers(1, 1000), st.integers(1, HIGH)))
def test_scale_is_multiplication_in_python_integers(values, unit_ns):
    given_values = np.array(values, dtype=np.int64)
    expected = [value * unit_ns for value in values]
    overflows = [not LOW <= result <= HIGH for result in expected]
    out, bad = np.empty_like(given_values), np.zeros(len(values), dtype=np.uint8)
    assert scale(given_values, unit_ns, out, bad) == any(overflows)
    assert bad.tolist() == overflows
    fitting = [got for got, overflow in zip(out.tolist(), overflows, strict=True) if not overflow]
    assert fitting == [result for result in expected if LOW <= result <= HIGH]
    assert scale(given_values, unit_ns, out) == any(overflows)


@given(st.lists(st.tuples(int64s, int64s), min_size=1, max_size=8), st.lists(int64s, max_size=20))
def test_a_graphs_hop_is_the_same_rule(snapshots, values):
    """From the readings themselves: `view.hop_columns` and the hop together."""
    readings = sorted(reading for reading, _ in snapshots)
    targets = [target for _, target in snapshots]
    graph = tt.ClockGraph()
    graph.add_snapshot({"MONOTONIC": readings, "BOOTTIME": targets})
    got = graph.convert(values, "MONOTONIC", "BOOTTIME", errors="mask").to_pylist()
    assert got == [exact(value, readings, targets) for value in values]


@pytest.mark.parametrize("length", ["out", "bad", "offsets"])
def test_arrays_of_other_lengths_are_refused(length):
    made = columns([1, 2], [3, 4])._asdict()
    arrays = {"values": np.zeros(3, np.int64), "out": np.zeros(3, np.int64), **made}
    bad = np.zeros(2 if length == "bad" else 3, np.uint8)
    if length != "bad":
        arrays[length] = arrays[length][:-1].copy()
    with pytest.raises(ValueError, match="length|one offset"):
        hop(*arrays.values(), make_grid(made["readings"]), bad)
    with pytest.raises(ValueError, match="one length"):
        scale(np.zeros(3, np.int64), 2, np.zeros(2, np.int64))
