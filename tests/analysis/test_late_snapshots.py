"""Events before the first snapshot of their clock: Perfetto drops them, the tube places them."""

import random

import numpy as np
import pytest
from building import (
    android_log,
    event,
    ftrace,
    ftrace_event,
    packet,
    remote_sync,
    service_event,
    snapshot,
    trace,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from random_traces import nasty_trace
from reading import opened

import tracetime as tt
from tracetime import ConversionError, TraceError, UsageError
from tracetime.doctor import diagnose
from tracetime.errors import READ_LATER, UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK
from tracetime.trace.event_clocks import by_clock, machine_indexes
from tracetime.verbs.bake import bake
from tracetime.verbs.convert import convert

REALTIME, MONOTONIC, MONOTONIC_RAW, BOOTTIME = 1, 3, 5, 6
GLOBAL_FTRACE, MONO_RAW_FTRACE = pb.FTRACE_CLOCK_GLOBAL, pb.FTRACE_CLOCK_MONO_RAW
S = 10**9
UNREAD = (UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK)

EARLY = snapshot({BOOTTIME: 100 * S, MONOTONIC: 100 * S})
FLUSHES = [
    packet(1, service_event=service_event(flushed=flushed, read=not flushed))
    for flushed in (True, True, False)
]


def late(*clocks, unit=1, seq=1, **more):
    """Snapshots of clocks that read 0 when BOOTTIME reads 0, at 200 to 205 s."""
    return [
        snapshot({BOOTTIME: at * S, **dict.fromkeys(clocks, (at * S // unit, unit))}, seq, **more)
        for at in range(200, 206)
    ]


def bundle(clock, *times, **more):
    return packet(seq=1, ftrace_events=ftrace(times, clock=clock), **more)


CASES = {
    "logs": ([packet(seq=1, android_log=android_log([110 * S]))], late(REALTIME)),
    "ftrace on a builtin clock": ([bundle(MONO_RAW_FTRACE, 110 * S)], late(MONOTONIC_RAW)),
    "ftrace on the clock of its sequence": ([bundle(GLOBAL_FTRACE, 110 * S)], late(64)),
    "in another unit": ([bundle(GLOBAL_FTRACE, 110_000_000)], late(64, unit=1000)),
    "packets that are dropped at once": (
        [event(101 * S), *FLUSHES, *FLUSHES, event(110 * S, 200)],
        late(200),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_tube_places_what_perfetto_drops_before_the_first_snapshot(case):
    before, after = CASES[case]
    with opened(trace(EARLY, *before, *after)) as made:
        floor, tube = made.read_all().to_pylist(), made.read_all("tube").to_pylist()
    (lost,) = [k for k, row in enumerate(floor) if row["status"] == "unknown_source_clock"]
    assert floor[lost]["trace_time"] is None
    row = tube[lost]
    assert row["status"] == "resolved"
    assert row["earliest"] <= 110 * S <= row["latest"]
    assert abs(row["trace_time"] - 110 * S) < S // 10
    assert row["timestamp"] == floor[lost]["timestamp"]


def test_events_of_another_machine_before_its_first_snapshot_are_placed():
    early = [EARLY, event(101 * S), packet(seq=1, machine=7, android_log=android_log([110 * S]))]
    rounds = [
        ({BOOTTIME: at * S}, {BOOTTIME: at * S + S // 1000 * k})
        for at, k in ((200, 1), (201, 1), (202, 1))
    ]
    synced = packet(seq=1, machine=7, remote_clock_sync=remote_sync(rounds))
    with opened(trace(*early, synced, *late(REALTIME, machine=7))) as made:
        rows = [made.read_all(policy).to_pylist() for policy in ("floor", "tube")]
    floor, tube = (next(r for r in those if r["kind"] == "android_log") for those in rows)
    assert floor["trace_time"] is None
    assert tube["status"] == "resolved" and tube["earliest"] <= 110 * S <= tube["latest"]


def test_an_event_in_trace_time_needs_no_other_clock():
    """Perfetto drops it with its packet, whose clock is in no snapshot."""
    alone = [snapshot({BOOTTIME: at * S}) for at in (100, 105)]
    bundle = ftrace([110 * S], clock=pb.FTRACE_CLOCK_UNSPECIFIED)
    with opened(trace(*alone, packet(104 * S, clock=11, seq=1, ftrace_events=bundle))) as made:
        rows = [made.read_all(policy).to_pylist() for policy in ("floor", "tube")]
    floor, tube = (next(r for r in those if r["clock"] == BOOTTIME) for those in rows)
    assert (floor["status"], floor["trace_time"]) == ("unknown_source_clock", None)
    assert (tube["status"], tube["trace_time"], tube["earliest"]) == ("resolved", 110 * S, 110 * S)


def test_an_incremental_clock_has_no_reading_before_its_first_snapshot():
    after = [snapshot({64: (0, 1, True), BOOTTIME: 200 * S}, 1)]
    with opened(trace(EARLY, bundle(GLOBAL_FTRACE, 5), *after)) as made:
        (row,) = [r for r in made.read_all("tube").to_pylist() if r["kind"] == "ftrace_event"]
    assert (row["status"], row["trace_time"]) == ("unknown_source_clock", None)


def test_a_clock_of_no_snapshot_stays_unknown():
    with opened(trace(EARLY, event(5, 777), *late(REALTIME))) as made:
        (row,) = [r for r in made.read_all("tube").to_pylist() if r["clock"] == 777]
    assert (row["status"], row["earliest"]) == ("unknown_source_clock", None)


def test_a_trace_clock_that_changed_late_is_reached_by_the_tube(tmp_path):
    """All snapshots come after the events: trace time stays that of the file."""
    early = [event(110 * S, BOOTTIME), packet(seq=1, android_log=android_log([111 * S]))]
    with opened(trace(*early, *late(REALTIME, primary=BOOTTIME))) as made:
        tube = made.read_all("tube").to_pylist()
        (row,) = [row for row in tube if row["kind"] == "android_log"]
        assert row["status"] == "resolved" and row["earliest"] <= 111 * S <= row["latest"]
        assert convert(made, tmp_path / "out.csv", policy="tube").unresolved == 0
        summary = convert(made, tmp_path / "out.csv")
        assert [reason.advice for reason in summary.reasons] == [" ".join(READ_LATER)]
        where = "select trace_time, earliest from events where kind = 'android_log'"
        (asked,) = made.sql(where, policy="tube").to_pylist()
        assert asked == {"trace_time": row["trace_time"], "earliest": row["earliest"]}
        bake(made, tmp_path / "baked.pftrace")
    with tt.open_trace(tmp_path / "baked.pftrace") as baked:
        logs = [r for r in baked.read_all().to_pylist() if r["kind"] == "android_log"]
    assert [one["trace_time"] for one in logs] == [row["trace_time"]]


def printed(clock, *texts):
    """A bundle of what a program says of its slices, by atrace, from 110 s on."""
    events = []
    for k, text in enumerate(texts):
        events.append(ftrace_event((110 + k) * S))
        events[-1].print.buf = text
    return packet(seq=1, ftrace_events=ftrace(events, clock=clock))


BEGINS_AND_ENDS = ("B|1|early\n", "E|1\n")
WITH_SLICES = {
    "snapshots that come later": [
        EARLY,
        printed(MONO_RAW_FTRACE, *BEGINS_AND_ENDS),
        *late(MONOTONIC_RAW),
    ],
    "a clock that ran backwards": [
        *(snapshot({BOOTTIME: at * S, 64: (at * S, 1)}, 1) for at in range(100, 106)),
        *(snapshot({BOOTTIME: at * S, 64: (at * S - 3 * S, 1)}, 1) for at in range(106, 120)),
        printed(GLOBAL_FTRACE, *BEGINS_AND_ENDS),
    ],
}


@pytest.mark.parametrize("case", WITH_SLICES)
def test_slices_of_events_that_only_the_tube_places_are_in_what_bake_writes(case, tmp_path):
    with opened(trace(*WITH_SLICES[case])) as made:
        for policy in ("floor", "tube"):
            slices = made.slices(policy)
            assert (slices.read_all().num_rows, slices.unresolved) == (0, 2)
        begin, end = made.read_all("tube")["trace_time"].to_pylist()
        bake(made, tmp_path / "baked.pftrace")
    with tt.open_trace(tmp_path / "baked.pftrace") as baked:
        for policy in ("floor", "tube"):
            (row,) = baked.slices(policy).read_all().to_pylist()
            assert (row["name"], row["ts"], row["dur"]) == ("early", begin, end - begin)


def found_in(*packets):
    with opened(trace(*packets)) as made:
        findings = diagnose(made)
    every = [one for top in findings for one in (top, *top.consequences)]
    return [one for one in every if "snapshot" in one.code]


def test_the_doctor_says_that_snapshots_come_later():
    log = packet(seq=1, android_log=android_log([110 * S]))
    (found,) = found_in(EARLY, log, *late(REALTIME))
    assert found.code == "clock-without-snapshot"
    assert found.title == "REALTIME: used by 1 event, but in no snapshot before them"
    assert found.why.startswith(READ_LATER.why) and found.fix.endswith(READ_LATER.fix)
    (never,) = found_in(EARLY, event(5, 777))
    assert never.title == "777: used by 1 event, but in no snapshot"
    assert READ_LATER.why not in never.why and READ_LATER.fix not in never.fix


def test_a_clock_of_a_sequence_whose_snapshots_come_later_is_of_no_other_sequence():
    (found,) = found_in(EARLY, bundle(GLOBAL_FTRACE, 110 * S), *late(64))
    assert found.title == "64@seq1: used by 1 event, but in no snapshot before them"


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_on_any_trace_the_tube_places_all_that_a_snapshot_of_the_file_reaches(seed):
    with opened(nasty_trace(random.Random(seed)), partial=True) as made:
        try:
            columns = list(made.placed_columns("tube"))
        except TraceError:
            return
        incremental = {info.clock for info in made.clocks.clocks() if info.incremental}
        for rows in columns:
            unread = np.isin(rows["status"], UNREAD) & (rows["clock"] != 0)
            for clock, _ in by_clock(rows, np.flatnonzero(unread), machine_indexes(made.machines)):
                if clock not in incremental:
                    # A packet of no sequence may use the clock of one, which is none.
                    with pytest.raises((ConversionError, UsageError)):
                        made.clocks.path(clock, made.trace_clock, policy="tube")
