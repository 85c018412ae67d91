"""Counters that begin anew near zero: which instants a reading of theirs may be of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from tracetime.graph.tube.results import Bars

S = 1_000_000_000
GPU = "com.example.gpu"
BOOT = 5_000 * S
HALF = 1_000

Values = npt.NDArray[np.int64]


class Counter(NamedTuple):
    """A counter that is read every second, from second 0 to `seconds`.

    Attributes:
        resets: after how many ns of the recording it begins anew, ascending.
        first: what it would have read at the begin of the recording without any.
        ppm: how fast it is.
    """

    resets: tuple[int, ...]
    first: int
    ppm: int = 0
    seconds: int = 20

    def read(self, t: Values) -> Values:
        begins = np.array([-self.first, *self.resets], dtype=np.int64)
        since = t - begins[np.searchsorted(begins, t, side="right") - 1]
        return since + since * self.ppm // 1_000_000

    def graph(self) -> tt.ClockGraph:
        t = np.arange(self.seconds + 1) * S
        snapshot = tt.Snapshot(
            {"BOOTTIME": t + BOOT, GPU: self.read(t)},
            reference="BOOTTIME",
            half_width_ns={GPU: np.full(len(t), HALF)},
        )
        graph = tt.ClockGraph(trace_clock="BOOTTIME")
        graph.add_snapshot(snapshot)
        return graph


class Placed(NamedTuple):
    """Bars of some instants, in ns after the truth; NaN for an estimate that there is none of."""

    estimate: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]

    @property
    def holds(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (self.low <= 0) & (self.high >= 0)
        return found


def placed(counter: Counter, t: Values, bars: Bars = "estimated") -> Placed:
    """Where readings of the counter at true instants are put."""
    columns = counter.graph().convert(
        counter.read(t), GPU, "BOOTTIME", policy="tube", bars=bars, bounds=True, errors="mask"
    )
    rows = [column.to_pylist() for column in columns]
    return Placed(
        *(
            np.array(
                [
                    np.nan if x is None else x - BOOT - at
                    for x, at in zip(row, t.tolist(), strict=True)
                ]
            )
            for row in rows
        )
    )


def instants(*seconds: float) -> Values:
    return np.array([round(second * S) for second in seconds], dtype=np.int64)


RESET = Counter((11 * S,), 123 * S)
TWICE = Counter((6 * S, 13 * S + S // 2), 400 * S)


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_a_reading_is_of_the_stretch_that_holds_it(bars: Bars) -> None:
    got = placed(RESET, instants(1.5, 5.5, 9.5, 12.5, 19.5), bars)
    assert got.holds.all()
    assert (got.high - got.low <= S // 500).all()
    assert not np.isnan(got.estimate).any()


def test_readings_beside_a_reset_are_as_near_as_the_drift_lets_them() -> None:
    got = placed(RESET, instants(10.0, 10.001, 10.9, 11.0, 11.1, 11.999))
    assert got.holds.all()
    assert (got.high - got.low <= S // 400).all()
    assert not np.isnan(got.estimate).any()


def test_readings_before_the_first_and_after_the_last_snapshot_are_of_the_stretch_beside_them() -> (
    None
):
    got = placed(RESET, instants(-3, -0.001, 20.001, 23))
    assert got.holds.all()
    assert (got.high - got.low <= S // 100).all()


def test_a_reading_far_from_all_that_was_seen_may_be_of_either_stretch() -> None:
    got = placed(RESET, instants(-60, 70))
    assert got.holds.all()
    assert np.isnan(got.estimate).all()
    assert (got.high - got.low > 100 * S).all()


def test_readings_that_two_stretches_saw_are_ambiguous() -> None:
    # It reads 4 to 10 s, then 0 to 13 s.
    got = placed(Counter((6 * S,), 4 * S), instants(0.5, 3, 12, 15, -3, 20.5))
    assert got.holds.all()
    # At 20.5 s it reads more than it did before the reset.
    assert np.isnan(got.estimate).tolist() == [True] * 5 + [False]


def test_stretches_between_two_resets_may_share_readings() -> None:
    got = placed(TWICE, instants(3, 5.5, 9, 12.5, 16, 19, 23, -2))
    assert got.holds.all()
    # Only the two after the first reset read the same.
    assert np.isnan(got.estimate).tolist() == [False] * 2 + [True] * 4 + [False] * 2


@given(
    seed=st.integers(0, 2**32),
    resets=st.lists(st.integers(2 * S, 18 * S), min_size=1, max_size=3, unique=True),
    first=st.integers(0, 300 * S),
    ppm=st.integers(-60, 60),
    bars=st.sampled_from(["estimated", "guaranteed"]),
)
def test_bars_hold_readings_of_a_counter_that_is_reset(
    seed: int, resets: list[int], first: int, ppm: int, bars: Bars
) -> None:
    counter = Counter(tuple(sorted(resets)), first, ppm)
    if min(np.diff([0, *counter.resets, 20 * S])) < 2 * S:
        return
    t = np.random.default_rng(seed).integers(-5 * S, 25 * S, 60)
    t = t[t > -first]
    got = placed(counter, t, bars)
    # What was read beyond the snapshots may be what a stretch among them read, too.
    t_seen = (t >= 0) & (t <= 20 * S)
    assert got.holds[t_seen].all()
