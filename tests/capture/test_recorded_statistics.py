"""What Perfetto's trace processor would count of a recording, as an error or as lost data.

It is not available: its rules are written here, those of the statistics that a trace of snapshots, track
descriptors and track events can raise, as its public sources have them (stats.h, clock_tracker.cc,
clock_synchronizer.cc, slice_tracker.cc, trace_sorter.h).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from platforms import WITH_BOOTTIME
from recorded import packets_of
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import ClockId, open_trace

BOOTTIME = 6
BEGIN, END = 1, 2
S = 10**9


def statistics(path: Path) -> dict[str, int]:
    """Those of severity error or data_loss that are above 0."""
    counts: Counter[str] = Counter()
    packets = packets_of(path.read_bytes())
    # The first conversion ties BOOTTIME, the clock of every Perfetto trace, to trace time, by the
    # snapshots before it; what cannot be tied is counted.
    trace_clock, tied = BOOTTIME, set()
    for packet in packets:
        if packet.HasField("clock_snapshot"):
            snapshot = packet.clock_snapshot
            trace_clock = snapshot.primary_trace_clock or trace_clock
            tied |= {clock.clock_id for clock in snapshot.clocks}
        if packet.HasField("timestamp"):
            counts["clock_sync_unrelatable_clock_domains"] += (
                trace_clock != BOOTTIME and not {trace_clock, BOOTTIME} <= tied
            )
            break
    with open_trace(path) as trace:
        counts["invalid_clock_snapshots"] += trace.n_warnings
        table = trace.read_all(names=True)
    for status in table["status"].to_pylist():
        counts["clock_sync_failure"] += status != "resolved"
    placed = [ns for ns in table["trace_time"].to_pylist() if ns is not None]
    counts["trace_sorter_negative_timestamp_dropped"] += sum(ns < 0 for ns in placed)
    # Sorted by trace time, ties in file order.
    events = sorted(
        zip(placed, table["type"].to_pylist(), table["track"].to_pylist(), strict=True),
        key=lambda event: event[0],
    )
    open_slices: Counter[int] = Counter()
    for _, kind, track in events:
        if kind == "slice_begin":
            open_slices[track] += 1
        elif kind == "slice_end":
            counts["misplaced_end_event"] += not open_slices[track]
            open_slices[track] -= open_slices[track] > 0
    return {name: count for name, count in counts.items() if count}


@WITH_BOOTTIME
@pytest.mark.parametrize("clocks", [["MONOTONIC"], ["REALTIME", "MONOTONIC_COARSE"], None])
def test_of_this_machines_clocks(tmp_path: Path, clocks):
    path = tmp_path / "out.pftrace"
    with tt.record(path, clocks, interval=0.01) as rec:
        for n in range(200):
            rec.begin("work")
            rec.counter("n", n)
            rec.snapshot({"com.example.frames": n, "BOOTTIME": n})
            rec.instant("frame", timestamp=n, clock="com.example.frames")
            rec.end()
    assert statistics(path) == {}


@pytest.mark.filterwarnings("ignore:recording")
def test_of_clocks_that_are_set_and_lost(tmp_path: Path):
    path = tmp_path / "out.pftrace"
    machine = Machine(usual_clocks())
    real = machine.clocks[ClockId(1)]
    real.steps += [(machine.now_ns + n * S, -20 * S) for n in (3, 5, 7)]
    with tt.record(path, interval=None, sampler=machine) as rec:
        for n in range(40):
            machine.clocks[ClockId(3)].lost = n in (20, 21)
            for clock, one in machine.clocks.items():
                rec.instant("e", timestamp=one.raw(machine.now_ns), clock=clock)
            machine.now_ns += S // 4
            rec.snapshot()
        assert {problem.what for problem in rec.problems} == {"MONOTONIC"}
    assert statistics(path) == {}


def test_without_boottime_it_counts_an_error(tmp_path: Path):
    """As a sampler of one's own may leave it out: so the rule above is one that can fail."""
    path = tmp_path / "out.pftrace"
    machine = Machine([clock for clock in usual_clocks() if clock.domain.id != ClockId(BOOTTIME)])
    with tt.record(path, interval=None, sampler=machine) as rec:
        rec.instant("e", timestamp=machine.now_ns, clock="MONOTONIC_RAW")
    assert statistics(path) == {"clock_sync_unrelatable_clock_domains": 1}
