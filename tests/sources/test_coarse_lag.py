"""COARSE clocks: their lag is watched all the while, and the largest counts for the whole file."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms import LINUX

import tracetime as tt
from tracetime import ClockGraph, ClockId, Sampler, Snapshot, open_trace
from tracetime._kernels.capture import Lag
from tracetime.formats.perfetto.extension import with_largest_lag
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.sources import posix
from tracetime.sources.posix import PosixSource

COARSE, REALTIME_COARSE, RAW, BOOTTIME = ClockId(4), ClockId(2), ClockId(5), ClockId(6)
MS = 10**6


@given(st.lists(st.tuples(*[st.integers(0, 10**7)] * 3), min_size=1, max_size=30))
def test_the_lag_was_within_its_bounds(readings):
    """Wherever between its two readings of the fine clock the COARSE one was read."""
    lag = Lag(0, 0)
    assert lag.most_ns < 0 < lag.least_ns
    surely_most, surely_least = [], []
    now = 10**9
    for first, second, behind in readings:
        coarse_ns = now + first - behind
        lag.add(now, coarse_ns, now + first + second)
        surely_most.append(behind - first)
        surely_least.append(behind + second)
        now += first + second
    assert (lag.least_ns, lag.most_ns) == (min(surely_least), max(surely_most))


class Late(Lag):
    """A COARSE clock whose ticks of 4 ms come late when a test says so."""

    lates: list[int]

    def observe(self, times: int) -> bool:
        for late_ns in self.lates:
            self.add(100 * MS, 97 * MS, 100 * MS)
            self.add(100 * MS, 93 * MS - late_ns, 100 * MS)
        return True


@pytest.fixture
def lates(monkeypatch):
    """What the ticks are late by; nothing, at first."""
    monkeypatch.setattr(posix, "Lag", Late)
    monkeypatch.setattr(posix, "ROUNDS", 0.1)
    Late.lates = [0]
    monkeypatch.setattr(time, "clock_getres", lambda _: 0.004)
    return Late.lates


def test_a_late_tick_is_in_all_half_widths_from_then_on(lates):
    lag = posix.CoarseLag(1, 6)
    assert lag.tick_ns() == 4 * MS + 4 * MS
    assert lag.grown_ns() == 0
    lates[0] = 9 * MS
    assert lag.grown_ns() == 9 * MS
    lates[0] = 2 * MS
    assert lag.grown_ns() == 9 * MS
    # What it was taken for at first stays: the half-widths of then were made of it.
    assert lag.tick_ns() == 8 * MS


def test_a_lag_seen_little_of_is_a_tick_at_least(lates, monkeypatch):
    def observe(self, times: int) -> bool:
        self.add(100 * MS, 97 * MS, 100 * MS)
        return True

    monkeypatch.setattr(Late, "observe", observe)
    assert posix.CoarseLag(1, 6).tick_ns() == 4 * MS + 4 * MS


def test_the_largest_counts_where_a_half_width_is_known():
    n, centre = np.arange(4), np.zeros(4, dtype=np.int64)
    half = np.array([8, -1, 9, 7])
    fine, lagging = (3, 0, 0, 0), (4, 0, 0, 1)
    columns = with_largest_lag({fine: (n, centre, half), lagging: (n, centre, half)})
    assert columns[fine][2].tolist() == [8, -1, 9, 7]
    assert columns[lagging][2].tolist() == [9, -1, 9, 9]


@LINUX
def test_what_is_seen_between_samples_is_in_the_next(monkeypatch):
    seen = threading.Event()

    class Watched(Lag):
        def watch(self, rest_ns: int) -> None:
            self.add(10**12, 10**12 - 50_000 * MS, 10**12)
            self.add(10**12, 10**12 - 1, 10**12)
            seen.set()

    with Sampler(["MONOTONIC", "MONOTONIC_COARSE", "REALTIME_COARSE"]) as sampler:
        before = sampler.sample().snapshot
        monkeypatch.setattr(posix, "Lag", Watched)
        end = sampler.watch()
        assert seen.wait(600)
        after = sampler.sample().snapshot
        end()
    for clock in (COARSE, REALTIME_COARSE):
        assert int(before.half_width_ns[clock][0]) < 1_000 * MS
        assert int(after.half_width_ns[clock][0]) > 49_000 * MS
    assert int(after.half_width_ns[ClockId(3)][0]) < 1_000 * MS


@LINUX
def test_a_recording_watches_from_its_start_to_its_end(tmp_path: Path, monkeypatch):
    calls: Counter[str] = Counter()
    own = PosixSource.watch

    def watch(self, clocks):
        calls["begun"] += COARSE in clocks
        end = own(self, clocks)
        return lambda: (calls.update(["ended"]), end())

    monkeypatch.setattr(PosixSource, "watch", watch)
    with tt.record(tmp_path / "out.pftrace", ["MONOTONIC_COARSE"], interval=60) as rec:
        assert calls == {"begun": 1}
        assert "tracetime lag" in {thread.name for thread in threading.enumerate()}
        rec.snapshot()
    assert calls == {"begun": 1, "ended": 1}
    assert "tracetime lag" not in {thread.name for thread in threading.enumerate()}
    # Fine clocks need nobody to watch them.
    with tt.record(tmp_path / "fine.pftrace", ["MONOTONIC"], interval=60):
        assert "tracetime lag" not in {thread.name for thread in threading.enumerate()}


def coarse_reading(true_ns: int, late: range) -> int:
    """A tick of 4 ms; those within `late` ms of the start do not come."""
    ticks_ns = true_ns - true_ns % (4 * MS)
    while ticks_ns // MS in late:
        ticks_ns -= 4 * MS
    return ticks_ns


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_a_lag_that_came_once_counts_for_the_whole_file(tmp_path: Path, bars):
    """Ticks were late by 20 ms before anyone looked; a later snapshot carries what was seen."""
    path = tmp_path / "out.pftrace"
    late = range(2_001, 2_021)
    writer = TraceWriter(path)
    track = writer.tracks.custom("t")
    truth = []
    for second in range(9):
        at_ns = second * 1_000 * MS + 1
        half_ns = 8 * MS if second < 5 else 28 * MS
        writer.snapshot(
            Snapshot(
                {RAW: at_ns, BOOTTIME: at_ns, COARSE: coarse_reading(at_ns, late)},
                reference=RAW,
                half_width_ns={BOOTTIME: 30, COARSE: half_ns},
            ),
            main=True,
        )
        for k in range(1, 1_000, 3):
            true_ns = at_ns + k * MS
            writer.events.instant("e", coarse_reading(true_ns, late), "MONOTONIC_COARSE", track)
            truth.append(true_ns)
    writer.close()
    with open_trace(path) as trace:
        table = trace.read_all("tube", bars=bars)
        read = {info.clock: info for info in trace.clocks.readings()}
    assert set(read[COARSE].half_width_ns.tolist()) == {28 * MS}
    assert set(read[BOOTTIME].half_width_ns.tolist()) == {30}
    earliest, latest = table["earliest"].to_pylist(), table["latest"].to_pylist()
    outside = sum(not a <= t <= b for a, t, b in zip(earliest, truth, latest, strict=True))
    assert outside == 0


def test_explain_says_that_a_lag_is_as_far_as_it_was_seen():
    graph = ClockGraph()
    for second in range(3):
        at_ns = second * 10**9
        graph.add_snapshot(
            Snapshot(
                {"BOOTTIME": at_ns, "MONOTONIC_COARSE": at_ns, "MONOTONIC": at_ns},
                reference="BOOTTIME",
                half_width_ns={"MONOTONIC_COARSE": 8 * MS, "MONOTONIC": 30},
            )
        )
    explanation = graph.explain(
        10**9, "MONOTONIC_COARSE", "BOOTTIME", policy="tube", bars="guaranteed"
    )
    assert explanation.basis == "estimated"
    assert "but estimates: a COARSE clock's lag is as far as it was seen" in str(explanation)
    assert "(measured), " in str(explanation)
    assert str(explanation).count("lag as far as it was seen") == 1
    fine = graph.explain(10**9, "MONOTONIC", "BOOTTIME", policy="tube", bars="guaranteed")
    assert fine.basis == "guaranteed"
    assert "lag" not in str(fine)
