"""What a trace says beside its events: before it is read, of its recorder and of its systems."""

from __future__ import annotations

import zlib

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, packet, pb, snapshot, trace
from reading import opened

from tracetime import ClockDomain, ClockId, Snapshot, TraceError, UsageError, diagnose, open_trace
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.trace.facts import TraceWarning
from tracetime.trace.trace import check_trace

S = 10**9
TIED = snapshot({BOOTTIME: S, REALTIME: 9 * S, MONOTONIC: S})


def test_before_it_is_read_nothing_is_known_of_a_trace():
    data = trace(TIED, event(S))
    with opened(data) as read:
        assert (read.truncated, read.size, read.domains) == (None, len(data), ())
        events = read.events("tube", names=True)
        assert (events.faults, events.names_left_out) == ({}, 0)
        assert [batch.num_rows for batch in events] == [1]


def test_a_trace_without_trouble_has_none():
    with opened(trace(TIED, event(S))) as read:
        assert (read.warnings, read.faults, read.n_warnings, read.n_own_syncs) == ([], [], 0, 0)
        assert (read.late_trace_clock, read.trace_clock_moves, read.n_stray_syncs) == (None, [], 0)
        assert (read.late_snapshots, read.unused_bounds) == (None, [])
        assert (read.events_dropped, read.dropped_packet, read.is_unsynchronised) == (
            0,
            None,
            False,
        )
        assert (read.machines, read.recorded_domains) == ([0], {})
        assert read.snapshot_packets.tolist() == [0]
        assert read.trace_clock == ClockId(BOOTTIME)


def test_a_fault_says_where_it_is_and_how_far_the_trace_clock_fell():
    first = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}, primary=BOOTTIME), event(S))
    with opened(first + trace(snapshot({BOOTTIME: S - 5, REALTIME: 9 * S}))) as read:
        (fault,) = read.faults
        assert (fault.packet, fault.offset, fault.fell_by_ns) == (2, len(first), 5)
        assert fault.clock == ClockId(BOOTTIME)
        (warning,) = read.warnings
        assert isinstance(warning, TraceWarning)
        assert (warning.offset, warning.packet) == (len(first), 2)
        assert warning.message.startswith("snapshot not taken whole: ")
        assert "BOOTTIME" in warning.message
        assert read.n_warnings == 1


@pytest.mark.parametrize(
    ("statuses", "unsynchronised"),
    [
        ([], False),
        ([0x40], True),
        ([0x2001], False),
        ([0x2041], True),
        ([0x3F], False),
        ([0xFFBF], False),
        ([0x1, 0x40, 0x1], True),
    ],
)
def test_the_kernel_says_once_that_nothing_keeps_its_time(tmp_path, statuses, unsynchronised):
    path = tmp_path / "out.pftrace"
    writer = TraceWriter(path)
    writer.snapshot(Snapshot({BOOTTIME: S, REALTIME: 9 * S}), main=True)
    for k, status in enumerate(statuses, 2):
        kernel = KernelClock(0, 10_000, 0, 1, 1, status, 0, 37)
        readings = Snapshot({BOOTTIME: k * S, REALTIME: 8 * S + k * S})
        writer.snapshot(readings, kernel_clock=kernel, main=True)
    writer.close()
    with open_trace(path) as read:
        assert read.is_unsynchronised is unsynchronised


SYSTEMS = [
    ("Linux", True),
    ("linux", True),
    ("Android", True),
    ("CrOS", True),
    ("Windows", False),
    ("Darwin", False),
    ("", False),
]


@pytest.mark.parametrize(("system", "is_linux"), SYSTEMS)
def test_where_no_linux_runs_realtime_is_slewed_alone(system, is_linux):
    info = packet(system_info=pb.SystemInfo(utsname=pb.Utsname(sysname=system)))
    own = ClockDomain("MONOTONIC", oscillator="mine")
    for domains in ((), (own,), (ClockDomain("REALTIME", oscillator="theirs"),)):
        with opened(trace(info, TIED, event(S)), domains=domains) as read:
            graph = read.clocks
            found = {c: graph.domain(c).oscillator for c in ("REALTIME", "MONOTONIC", "BOOTTIME")}
        usual = "posix@machine0"
        named = domains and domains[0].oscillator
        assert found == {
            "REALTIME": named
            if named == "theirs"
            else usual
            if is_linux or not system
            else "wall@machine0",
            "MONOTONIC": named if named == "mine" else usual,
            "BOOTTIME": usual,
        }


def test_what_is_said_of_one_sequences_clock_goes_over_what_is_said_of_all():
    packets = [snapshot({BOOTTIME: S, 64: 5, 65: 9}, sequence) for sequence in (1, 2)]
    one = ClockDomain("64@seq2", tick_ns=7)
    every = ClockDomain(64, tick_ns=3)
    for domains in ((one, every), (every, one)):
        with opened(trace(*packets, event(S)), domains=domains) as read:
            ticks = {
                (number, sequence): read.clocks.domain(ClockId(number, sequence)).tick_ns
                for number in (64, 65)
                for sequence in (1, 2)
            }
        assert ticks == {(64, 1): 3, (64, 2): 7, (65, 1): 1, (65, 2): 1}


@pytest.mark.parametrize("tail", [b"", b"\n", b"\n\x05", b"\n\x05\x08", b"\n\x05\x08\x01"])
def test_two_bytes_at_the_end_of_a_compressed_packet_are_left_unread(tail):
    """As ProtoTraceTokenizer does; more is a packet that is cut off."""
    content = zlib.compress(trace(event(S + 5)) + tail)
    data = trace(TIED, pb.TracePacket(compressed_packets=content), event(S + 7))
    if len(tail) <= 2:
        with opened(data) as read:
            assert read.read_all()["trace_time"].to_pylist() == [S + 5, S + 7]
    else:
        with opened(data) as read, pytest.raises(TraceError, match="ends in mid-packet") as raised:
            read.read_all()
        assert raised.value.offset == len(trace(TIED))


@pytest.mark.parametrize("left", [1, 2, 3])
def test_a_file_that_is_cut_off_says_how_much_is_left(left):
    whole = trace(TIED, event(S))
    with opened(whole + trace(event(S))[:left]) as read:
        with pytest.raises(
            TraceError, match=f"cut off in mid-packet: {left} bytes are left"
        ) as raised:
            read.read_all()
    assert (raised.value.offset, raised.value.packet) == (len(whole), 2)


def test_only_an_open_trace_can_be_looked_at():
    for what, kind in (("a.pftrace", "str"), (None, "NoneType"), (5, "int")):
        with pytest.raises(UsageError) as raised:
            diagnose(what)
        assert str(raised.value) == (
            f"a {kind} is no open trace: give what tracetime.open_trace(path) returns"
        )
    with opened(trace(TIED)) as read:
        check_trace(read)
