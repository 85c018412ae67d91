"""Writing traces: what Perfetto's own classes and our reader find in what TraceWriter wrote."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from recorded import names_of, packets_of, split

from tracetime import ClockDomain, ClockId, Snapshot, UsageError, clock_id, open_trace
from tracetime.formats.perfetto.write.clocks import SNAPSHOT_SEQUENCE
from tracetime.formats.perfetto.write.writer import TraceWriter

RAW, BOOT, REAL = 10**15, 2 * 10**15, 17 * 10**17
START = {"MONOTONIC_RAW": RAW, "BOOTTIME": BOOT, "REALTIME": REAL}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


@pytest.fixture
def writer(path: Path) -> TraceWriter:
    made = TraceWriter(path)
    made.snapshot(Snapshot(START), main=True)
    return made


def placed(path: Path) -> list[tuple[int | None, str]]:
    with open_trace(path) as trace:
        table = trace.read_all()
    return list(zip(table["trace_time"].to_pylist(), table["status"].to_pylist(), strict=True))


def test_every_kind_of_event_on_every_kind_of_track(writer, path):
    custom = writer.tracks.custom("custom", parent=writer.tracks.process(7, "game"))
    writer.events.instant("now", RAW + 5, "MONOTONIC_RAW", custom)
    thread = writer.tracks.thread(71, "render", pid=7)
    writer.events.begin("frame", BOOT + 6, None, thread)
    writer.events.end(REAL + 9, 1, thread)
    writer.events.counter(-3, BOOT + 7, "BOOTTIME", writer.tracks.counter("free", "bytes"))
    writer.events.counter(0.5, BOOT + 8, ClockId(6), writer.tracks.counter("load"))
    writer.close()
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in packets_of(path.read_bytes())
        if packet.HasField("track_descriptor")
    }
    process, game, thread, free, load = tracks.values()
    assert (process.process.pid, process.process.process_name) == (7, "game")
    assert (game.name, game.parent_uuid) == ("custom", process.uuid)
    assert game.sibling_merge_behavior == pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
    assert (thread.thread.pid, thread.thread.tid, thread.thread.thread_name) == (7, 71, "render")
    assert (free.name, free.counter.unit_name, load.name) == ("free", "bytes", "load")
    assert load.HasField("counter")
    events = [
        (event.type, tracks[event.track_uuid], event)
        for packet in packets_of(path.read_bytes())
        if (event := packet.track_event).type
    ]
    assert [event[0] for event in events] == [3, 1, 2, 4, 4]
    assert events[3][2].counter_value == -3
    assert events[4][2].double_counter_value == 0.5
    assert names_of(path.read_bytes()) == {"now": 1, "frame": 1}
    assert placed(path) == [(BOOT + n, "resolved") for n in (5, 6, 9, 7, 8)]


def test_a_track_is_written_once(writer, path):
    assert writer.tracks.custom("one") is writer.tracks.custom("one")
    assert writer.tracks.custom("one") is not writer.tracks.custom(
        "one", parent=writer.tracks.custom("two")
    )
    assert writer.tracks.thread().uuid == writer.tracks.thread().uuid
    writer.close()
    found = [p.track_descriptor.uuid for p in packets_of(path.read_bytes())]
    assert [uuid for uuid in found if uuid] == [1, 2, 3, 4]


def test_sequences_begin_as_perfetto_wants_it(writer, path):
    track = writer.tracks.custom("t")
    for n in range(3):
        writer.events.instant("a", RAW + n, "MONOTONIC_RAW", track)
        writer.events.instant("a", REAL + n, "REALTIME", track)
    writer.close()
    seen = set()
    for packet in packets_of(path.read_bytes()):
        sequence = packet.trusted_packet_sequence_id
        assert sequence, "Perfetto wants every packet to have a sequence"
        assert packet.first_packet_on_sequence == (sequence not in seen)
        if sequence not in seen:
            assert packet.sequence_flags == pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        elif packet.HasField("track_event"):
            assert packet.sequence_flags == pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            assert not packet.HasField("timestamp_clock_id"), "a default says it"
        seen.add(sequence)
    assert len(seen) == 3


def test_raw_ticks_are_written_unwrapped_and_in_ns(path):
    writer = TraceWriter(path)
    wrap = 1 << 36
    rate = Fraction(625, 12)
    name = "dev.tracetime.vulkan.0123"
    writer.declare(ClockDomain(name, name, ns_per_tick=rate, valid_bits=36))
    start = wrap - 1_000
    writer.snapshot(Snapshot({"BOOTTIME": BOOT, name: start}, reference="BOOTTIME"), main=True)
    track = writer.tracks.custom("gpu")
    # Before the wrap, at it, and after, as the device counts.
    for ticks in (start - 60, start + 12, wrap - 1, wrap, wrap + 24):
        writer.events.instant("stamp", ticks % wrap, name, track)
    # Two hours on the counter has wrapped twice and more.
    later = start + 2 * 3600 * 10**9 * 12 // 625
    readings = {"BOOTTIME": BOOT + 2 * 3600 * 10**9, name: later % wrap}
    writer.snapshot(Snapshot(readings, reference="BOOTTIME"), main=True)
    writer.events.instant("stamp", (later + 12) % wrap, name, track)
    writer.close()
    found = [packet for packet in packets_of(path.read_bytes()) if packet.track_event.type]
    expected = [start - 60, start + 12, wrap - 1, wrap, wrap + 24, later + 12]
    assert [packet.timestamp for packet in found] == [int(ticks * rate) for ticks in expected]
    with open_trace(path) as trace:
        domain = trace.recorded_domains[ClockId(clock_id(name))]
        assert (domain.name, domain.ns_per_tick, domain.valid_bits) == (name, rate, 36)
        # What is in the trace is ns, and does not wrap.
        written = trace.clocks.domain(name)
        assert (written.ns_per_tick, written.valid_bits) == (1, 64)
        info = next(info for info in trace.clocks.clocks() if info.clock.clock == clock_id(name))
        assert info.last_ns == int(later * rate)


@given(
    st.integers(1, 64),
    st.fractions(Fraction(1, 1000), Fraction(1000), max_denominator=1 << 40),
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(-(10**4), 10**4)), max_size=8),
)
def test_unwrapping_follows_a_clock_of_any_width_and_rate(bits, rate, steps):
    """Snapshots as far apart as you like, events near them: exact, if the clock runs about true."""
    from tracetime._kernels.perfetto.writer import EventClock, PacketBuffer, Sequence

    buffer = PacketBuffer(1 << 20, 0, 1 << 20)
    clock = EventClock(
        Sequence(buffer, 1, 0), 200, "c", True, -1, (rate.numerator, rate.denominator), bits
    )
    wrap = 1 << bits
    ticks = min(wrap // 3, 10**15)
    assert clock.read(ticks % wrap, 0) == ticks * rate.numerator // rate.denominator
    for passed_ns, near in steps:
        ticks += int(passed_ns / rate)
        if int(ticks * rate) >= 1 << 62:
            break
        if bits > 2:
            expected = ticks * rate.numerator // rate.denominator
            assert clock.read(ticks % wrap, passed_ns) == expected
        half = wrap // 2 - 1
        event = ticks + max(-half, min(half, near))
        if bits > 2 and event >= 0:
            expected = event * rate.numerator // rate.denominator
            assert clock.convert(event % wrap) == expected


def test_wraps_are_counted_by_the_other_clocks(writer, path):
    """A clock of one's own that wraps every 6.5 ms, tied in now and then, in between others."""
    ticking = "com.example.ticks"
    writer.declare(ClockDomain(ticking, ticking, ns_per_tick=100, valid_bits=16))
    for second in range(5):
        ticks = 1_000 + second * 10**7
        writer.snapshot(Snapshot({"BOOTTIME": BOOT + second * 10**9, ticking: ticks % 65_536}))
        later = {clock: ns + second * 10**9 for clock, ns in START.items()}
        writer.snapshot(Snapshot(later, reference="MONOTONIC_RAW"), main=True)
    writer.close()
    found = [
        clock.timestamp
        for packet in packets_of(path.read_bytes())
        for clock in packet.clock_snapshot.clocks
        if clock.clock_id == clock_id(ticking)
    ]
    assert found == [100_000 + second * 10**9 for second in range(5)]


def test_scoped_clocks_are_those_of_the_snapshots_sequence(writer, path):
    writer.snapshot(Snapshot({"64@seq1": 500, "BOOTTIME": BOOT + 100}))
    writer.events.instant("own", 520, "64", writer.tracks.custom("t"))
    writer.events.instant("own", 530, ClockId(64, SNAPSHOT_SEQUENCE), writer.tracks.custom("t"))
    with pytest.raises(UsageError, match="another packet sequence"):
        writer.events.instant("other", 5, "64@seq9", writer.tracks.custom("t"))
    writer.close()
    assert placed(path) == [(BOOT + 120, "resolved"), (BOOT + 130, "resolved")]


def test_units_are_perfettos(writer, path):
    from tracetime import Reading

    writer.snapshot(Snapshot({"com.example.ms": Reading(7, 10**6), "BOOTTIME": BOOT}))
    writer.events.instant("e", 9, "com.example.ms", writer.tracks.custom("t"))
    writer.close()
    assert placed(path) == [(BOOT + 2_000_000, "resolved")]


def test_a_full_buffer_drops_events_counts_them_and_starts_anew(path):
    writer = TraceWriter(path, buffer_bytes=4096)
    writer.snapshot(Snapshot(START), main=True)
    track = writer.tracks.custom("t")
    written = lost = 0
    for n in range(300):
        before = writer.events_dropped
        writer.events.instant(f"name {n % 3}", BOOT + n, None, track)
        lost += writer.events_dropped - before
    assert lost == writer.events_dropped > 50
    # Snapshots are never dropped.
    writer.snapshot(Snapshot({clock: ns + 10**9 for clock, ns in START.items()}), main=True)
    writer.flush()
    for n in range(20):
        writer.events.instant(f"name {n % 3}", BOOT + 10**9 + n, None, track)
    writer.snapshot(Snapshot({clock: ns + 2 * 10**9 for clock, ns in START.items()}), main=True)
    writer.close()
    data = path.read_bytes()
    packets = packets_of(data)
    assert sum(packet.HasField("clock_snapshot") for packet in packets) == 3
    written = sum(names_of(data).values())
    assert written == 320 - lost
    (gap,) = [packet for packet in packets if packet.previous_packet_dropped]
    assert gap.sequence_flags == 1
    assert gap.trace_packet_defaults.timestamp_clock_id == 6
    assert all(status == "resolved" for _, status in placed(path))
    from recorded import extensions_of

    assert [extension.events_dropped for extension in extensions_of(data)] == [0, lost, lost]


def test_max_size_ends_the_events_and_leaves_room_for_the_end(path):
    writer = TraceWriter(path, max_size=1 << 16)
    writer.snapshot(Snapshot(START), main=True)
    track = writer.tracks.custom("t")
    assert not writer.full
    for n in range(5_000):
        writer.events.instant("event", BOOT + n, None, track)
    assert writer.events_dropped
    writer.snapshot(Snapshot({clock: ns + 10**9 for clock, ns in START.items()}), main=True)
    writer.close()
    assert (1 << 16) - 4096 - 200 < path.stat().st_size <= 1 << 16
    with open_trace(path) as trace:
        assert len(trace.clocks.series()) == 1
        assert trace.read_all().num_rows == 5_000 - writer.events_dropped


def test_names_are_forgotten_before_they_fill_the_memory(writer, path):
    track = writer.tracks.custom("t")
    for n in range(70_000):
        writer.events.instant(f"n{n}", BOOT + n, None, track)
    writer.close()
    data = path.read_bytes()
    assert sum(p.sequence_flags == 1 for p in packets_of(data)) == 3
    assert len(names_of(data)) == 70_000


def test_events_are_32_bytes_at_most(path):
    """With names interned, in any clock of this machine, on any of a thousand tracks."""
    writer = TraceWriter(path)
    snapshot = {**START, "com.example.gpu": 17 * 10**17, 64: 17 * 10**17}
    snapshot[ClockId(64, 1)] = snapshot.pop(64)
    writer.snapshot(Snapshot(snapshot), main=True)
    tracks = [writer.tracks.custom(f"t{n}") for n in range(1_000)]
    names = [f"a name of usual length {n}" for n in range(300)]
    for clock in snapshot:
        for name in names:
            writer.events.instant(name, BOOT, clock, tracks[0])
    writer.flush()
    before = path.stat().st_size
    for clock in snapshot:
        for n, name in enumerate(names):
            writer.events.begin(name, 17 * 10**17, clock, tracks[3 * n])
            writer.events.end(17 * 10**17, clock, tracks[3 * n])
    writer.close()
    sizes = {len(one) + 2 for one in split(path.read_bytes()[before:])}
    assert max(sizes) <= 32


def test_threads_share_a_writer(writer, path):
    def work(number: int) -> None:
        track = writer.tracks.thread()
        for n in range(2_000):
            writer.events.instant(f"{number} {n % 50}", RAW + n, "MONOTONIC_RAW", track)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for n in range(50):
        writer.snapshot(Snapshot({clock: ns + n for clock, ns in START.items()}), main=True)
        writer.flush()
    for thread in threads:
        thread.join()
    writer.close()
    counts = names_of(path.read_bytes())
    assert len(counts) == 200
    assert set(counts.values()) == {40}


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda w, t: w.events.instant("e", 1.5, None, t), "whole number"),
        (lambda w, t: w.events.instant("e", True, None, t), "whole number"),
        (lambda w, t: w.events.instant("e", 1 << 63, None, t), "int64"),
        (lambda w, t: w.events.instant("e", -1, None, t), "below 0"),
        (lambda w, t: w.events.instant("e", "now", None, t), "whole number"),
        (lambda w, t: w.events.instant(5, 1, None, t), "name is a string"),
        (lambda w, t: w.events.instant("x" * 70_000, 1, None, t), "at most"),
        (lambda w, t: w.events.instant("\udc80", 1, None, t), "UTF-8"),
        (lambda w, t: w.events.instant("e", 1, "com.example.other", t), "tie it in"),
        (lambda w, t: w.events.instant("e", 1, "nonsense", t), "is not a clock"),
        (lambda w, t: w.events.instant("e", None, "dev.device", t), "cannot be read here"),
        (lambda w, t: w.events.instant("e", 1 << 40, "dev.device", t), "more than the 36 bits"),
        (lambda w, t: w.events.instant("e", 5, None, w.tracks.counter("c")), "counter"),
        (lambda w, t: w.events.counter(5, 5, None, t), "no counter"),
        (lambda w, t: w.events.counter("5", 5, None, w.tracks.counter("c")), "float, not '5'"),
        (
            lambda w, t: w.events.counter(1 << 63, 5, None, w.tracks.counter("c")),
            "int64 or a float, not 9",
        ),
        (lambda w, t: w.tracks.custom(""), "not empty"),
        (lambda w, t: w.tracks.custom("u", parent="t"), "not 't'"),
        (lambda w, t: w.snapshot(Snapshot({"BOOTTIME": [1, 2]})), "one snapshot at a time"),
        (lambda w, t: w.snapshot(Snapshot({"BOOTTIME": -5})), "below 0"),
        (lambda w, t: w.declare(ClockDomain("BOOTTIME", ns_per_tick=2)), "already recorded"),
        (lambda w, t: w.declare(ClockDomain("a.b", ns_per_tick=None)), "no ns_per_tick"),
        (lambda w, t: w.declare(ClockDomain("a.b", ns_per_tick=Fraction(1, 1 << 63))), "smaller"),
        (lambda w, t: w.declare(ClockDomain("a.b@machine1")), "not of this machine"),
        (lambda w, t: w.declare("a.b"), "ClockDomain, not 'a.b'"),
    ],
)
def test_what_is_wrong_is_a_usage_error_and_leaves_the_trace_whole(writer, path, act, says):
    writer.declare(ClockDomain("dev.device", "dev.device", valid_bits=36))
    readings = {"BOOTTIME": BOOT, "dev.device": 77}
    writer.snapshot(Snapshot(readings, reference="BOOTTIME"))
    track = writer.tracks.custom("t")
    with pytest.raises(UsageError, match=says):
        act(writer, track)
    writer.events.instant("good", BOOT, None, track)
    writer.close()
    assert names_of(path.read_bytes()) == {"good": 1}


def test_an_error_names_no_clock_that_only_orders_a_snapshot(path):
    writer = TraceWriter(path)
    for back in range(2):
        writer.snapshot(Snapshot({"REALTIME": BOOT - back}), main=True)
    with pytest.raises(UsageError, match="there are REALTIME$"):
        writer.events.instant("e", 1, "MONOTONIC", writer.tracks.custom("t"))


def test_another_recordings_track_is_refused(writer, tmp_path):
    other = TraceWriter(tmp_path / "other.pftrace")
    with pytest.raises(UsageError, match="another recording"):
        writer.events.instant("e", BOOT, None, other.tracks.custom("t"))
    with pytest.raises(UsageError, match="another recording"):
        writer.tracks.custom("u", parent=other.tracks.custom("t"))


def test_no_timestamp_is_now(writer, path):
    import time

    # A builtin clock is read by the writer itself.
    before = time.clock_gettime_ns(time.CLOCK_REALTIME)
    writer.events.instant("now", None, "REALTIME", writer.tracks.custom("t"))
    after = time.clock_gettime_ns(time.CLOCK_REALTIME)
    writer.close()
    (found,) = [p.timestamp for p in packets_of(path.read_bytes()) if p.track_event.type]
    assert before <= found <= after
