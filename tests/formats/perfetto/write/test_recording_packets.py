"""The packets of a recording, to the number: tracks, snapshots, their extension."""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from recorded import extensions_of, packets_of, waiting

from tracetime import ClockDomain, ClockId, Reading, Snapshot, UsageError, clock_id, open_trace
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.formats.perfetto.extension import decode_domain, encode_domain
from tracetime.formats.perfetto.write.clocks import FILLER_NAME
from tracetime.formats.perfetto.write.writer import BUFFER_BYTES, FLUSH_BYTES, TraceWriter

S = 10**9
REALTIME, MONOTONIC, RAW, BOOTTIME, TSC = 1, 3, 5, 6, 9
KERNEL = KernelClock(-1_234_567, 10_001, -44, 16_000_000, 16_000_001, 0x40, 5, 37)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


@pytest.fixture
def writer(path: Path) -> TraceWriter:
    return TraceWriter(path)


def tracks_of(path):
    return [
        packet.track_descriptor
        for packet in packets_of(path.read_bytes())
        if packet.HasField("track_descriptor") and packet.track_descriptor.uuid
    ]


def snapshots_of(path):
    return [
        packet.clock_snapshot
        for packet in packets_of(path.read_bytes())
        if packet.HasField("clock_snapshot")
    ]


def readings_of(path):
    return [{one.clock_id: one.timestamp for one in each.clocks} for each in snapshots_of(path)]


# Tracks


def test_a_track_has_its_arguments_and_nothing_else(writer, path):
    top = writer.tracks.custom("top")
    writer.tracks.custom("within", parent=top)
    writer.tracks.counter("free", "bytes", parent=top)
    writer.tracks.counter("plain")
    writer.tracks.process(7, "game")
    writer.tracks.thread(71, "render", pid=7)
    writer.tracks.process(8)
    writer.tracks.thread(81, pid=8)
    writer.close()
    found = tracks_of(path)
    assert [one.uuid for one in found] == list(range(1, 9))
    assert [one.parent_uuid if one.HasField("parent_uuid") else None for one in found] == [
        None,
        1,
        1,
        None,
        None,
        None,
        None,
        None,
    ]
    assert [one.name for one in found] == ["top", "within", "free", "plain", "", "", "", ""]
    assert [one.HasField("counter") for one in found] == [False, False, True, True, *[False] * 4]
    assert [one.counter.unit_name for one in found[2:4]] == ["bytes", ""]
    assert [one.process.pid for one in found[4::2]] == [7, 8]
    assert [one.process.process_name for one in found[4::2]] == ["game", ""]
    assert [(one.thread.pid, one.thread.tid) for one in found[5::2]] == [(7, 71), (8, 81)]
    assert [one.thread.thread_name for one in found[5::2]] == ["render", ""]
    assert [one.HasField("process") for one in found] == [False] * 4 + [True, False] * 2
    assert [one.HasField("thread") for one in found] == [False] * 5 + [True, False, True]


def test_without_a_number_it_is_this_process_and_this_thread(writer, path):
    writer.tracks.process()
    writer.tracks.thread()
    writer.tracks.thread(name="worker")
    other = threading.Thread(target=writer.tracks.thread, name="another")
    other.start()
    other.join()
    writer.close()
    process, thread, another = tracks_of(path)
    assert process.process.pid == os.getpid()
    mine = os.getpid(), threading.get_native_id()
    assert (thread.thread.pid, thread.thread.tid) == mine
    assert thread.thread.thread_name == threading.current_thread().name
    assert (another.thread.pid, another.thread.thread_name) == (os.getpid(), "another")


def test_the_first_name_that_a_track_is_given_stays_and_is_written_when_it_is(writer, path):
    first = writer.tracks.process(7)
    assert first.name is None
    named = writer.tracks.process(7, "game")
    assert (named.uuid, named.name) == (first.uuid, "game")
    assert writer.tracks.process(7, "other") is named
    assert writer.tracks.process(7) is named
    writer.close()
    assert [(one.uuid, one.process.process_name) for one in tracks_of(path)] == [
        (1, ""),
        (1, "game"),
    ]


@pytest.mark.parametrize("number", [0, 1, (1 << 31) - 1])
def test_numbers_of_processes_and_threads(writer, path, number):
    writer.tracks.process(number)
    writer.tracks.thread(number, pid=number)
    writer.close()
    process, thread = tracks_of(path)
    assert (process.process.pid, thread.thread.pid, thread.thread.tid) == (number,) * 3


@pytest.mark.parametrize("number", [-1, 1 << 31, True, 1.0, "7"])
def test_what_is_no_number_of_a_process_or_thread_is_refused(writer, number):
    for what, make in (
        ("pid", lambda: writer.tracks.process(number)),
        ("pid", lambda: writer.tracks.thread(5, pid=number)),
        ("tid", lambda: writer.tracks.thread(number)),
    ):
        with pytest.raises(UsageError) as raised:
            make()
        assert (
            str(raised.value) == f"{what} is a whole number of a process or thread, not {number!r}"
        )


@pytest.mark.parametrize("name", ["", None, 5, b"x"])
def test_a_name_is_text(writer, name):
    for make in (writer.tracks.custom, writer.tracks.counter):
        with pytest.raises(UsageError) as raised:
            make(name)
        assert str(raised.value) == f"a track's name is a string that is not empty, not {name!r}"


def test_a_unit_is_text_and_a_parent_a_track_of_this_recording(writer, tmp_path):
    with pytest.raises(UsageError, match=r"^a counter's unit is a string, not 5$"):
        writer.tracks.counter("c", 5)
    stranger = TraceWriter(tmp_path / "other.pftrace").tracks.custom("t")
    for make in (writer.tracks.custom, writer.tracks.counter):
        with pytest.raises(UsageError, match=r"^a parent is a track that track\(\) gave, not 'p'$"):
            make("c", parent="p")
        with pytest.raises(UsageError, match="is another recording's: make it with this one$"):
            make("c", parent=stranger)


# The limits of the sizes


@pytest.mark.parametrize(
    ("sizes", "fine"),
    [
        ({"max_size": 16_384}, True),
        ({"max_size": 16_383}, False),
        ({"max_size": 2**63 - 1}, True),
        ({"max_size": 2**63}, False),
        ({"max_size": 20_000.0}, False),
        ({"buffer_bytes": 4_096}, True),
        ({"buffer_bytes": 4_095}, False),
        ({"buffer_bytes": 2**63}, False),
        ({"flush_bytes": 1}, True),
        ({"flush_bytes": 0}, False),
        ({"flush_bytes": "1"}, False),
    ],
)
def test_sizes_and_their_limits(path, sizes, fine):
    if fine:
        TraceWriter(path, **sizes).discard()
    else:
        with pytest.raises(UsageError, match="use|or more"):
            TraceWriter(path, **sizes)
    assert not path.exists()


def test_the_default_sizes():
    assert (BUFFER_BYTES, FLUSH_BYTES) == (64 * 1024 * 1024, 1024 * 1024)


def test_a_file_is_full_four_kilobytes_before_its_size(path):
    writer = TraceWriter(path, max_size=16_384)
    writer.snapshot(Snapshot({BOOTTIME: S}), main=True)
    track = writer.tracks.custom("t")
    while not writer.events_dropped:
        assert not writer.full
        writer.events.instant("e", S, None, track)
    assert 16_384 - 4_096 - 200 < waiting(writer) <= 16_384 - 4_096
    before = waiting(writer)
    # What no longer fits is not written, and nothing smaller after it.
    track = writer.tracks.custom("a track that does not fit" * 20)
    assert (waiting(writer), writer.full) == (before, True)
    writer.events.instant("e", S, None, track)
    assert writer.events_dropped == 2
    writer.flush()
    assert (waiting(writer), writer.size, writer.full) == (0, path.stat().st_size, True)
    # A snapshot of the user's does not get in, one of the regular ones does.
    assert not writer.snapshot(Snapshot({BOOTTIME: 2 * S, "a.b": 5}))
    assert writer.snapshots == 1
    writer.snapshot(Snapshot({BOOTTIME: 2 * S}), main=True)
    assert writer.snapshots == 2
    writer.close()
    assert len(snapshots_of(path)) == 2
    assert len(tracks_of(path)) == 1


def test_without_a_limit_no_file_is_full(writer):
    writer.snapshot(Snapshot({BOOTTIME: S}), main=True)
    track = writer.tracks.custom("t")
    for _ in range(300):
        writer.events.instant("e" * 100, S, None, track)
    assert not writer.full


# Snapshots


def test_the_extension_has_what_was_measured_in_the_order_of_the_clocks(writer, path):
    gpu = "dev.tracetime.vulkan.one"
    writer.declare(ClockDomain(gpu, gpu, 52.083, Fraction(625, 12), 36, 50, 0.25, "gpu"))
    writer.snapshot(
        Snapshot(
            {RAW: 1_000_000, BOOTTIME: 2_000_000, "MONOTONIC_COARSE": 3_000_000, gpu: 625_000},
            reference=RAW,
            half_width_ns={BOOTTIME: 40, "MONOTONIC_COARSE": 7_000, gpu: 900},
            centre_ns={"MONOTONIC_COARSE": 30},
        ),
        counts={ClockId(clock_id(gpu)): (12_345, (1 << 36) + 12_345)},
        kernel_clock=KERNEL,
        main=True,
    )
    writer.close()
    (extension,), (snapshot,) = extensions_of(path.read_bytes()), snapshots_of(path)
    order = [one.clock_id for one in snapshot.clocks]
    values = {one.clock_id: one.timestamp for one in snapshot.clocks}
    number = clock_id(gpu)
    assert values == {RAW: 1_000_000, BOOTTIME: 2_000_000, 4: 3_000_000, number: 625_000}
    assert snapshot.primary_trace_clock == BOOTTIME
    assert order[extension.reference] == RAW
    halves = dict(zip(order, extension.half_width_ns, strict=True))
    assert halves == {RAW: 0, BOOTTIME: 40, 4: 7_000, number: 900}
    centres = dict(zip(order, extension.centre_ns, strict=True))
    # The coarse one stays where it was read.
    assert centres == {RAW: 0, BOOTTIME: 0, 4: 30, number: 0}
    raws = dict(zip(order, extension.raw_minus_reading, strict=True))
    assert raws == {RAW: 0, BOOTTIME: 0, 4: 0, number: 12_345 - 625_000}
    assert KernelClock(*(getattr(extension.kernel_clock, n) for n in KERNEL._fields)) == KERNEL
    assert [one.clock_id for one in extension.domains] == [number, RAW, BOOTTIME, 4]


def test_what_was_not_measured_is_left_out_or_unknown(writer, path):
    writer.snapshot(Snapshot({BOOTTIME: 5, RAW: 7}, reference=RAW), main=True)
    writer.snapshot(Snapshot({BOOTTIME: 5, RAW: 7}))
    writer.close()
    # Of the second there is nothing to say.
    (first,) = extensions_of(path.read_bytes())
    order = [one.clock_id for one in snapshots_of(path)[0].clocks]
    assert dict(zip(order, first.half_width_ns, strict=True)) == {RAW: 0, BOOTTIME: -1}
    assert list(first.centre_ns) == [0, 0]
    assert not first.raw_minus_reading
    assert not first.HasField("kernel_clock")


def test_raw_readings_are_modulo_two_to_the_64(writer, path):
    wide = ClockId.parse("com.example.wide")
    writer.declare(ClockDomain(wide, ns_per_tick=Fraction(1, 4)))
    # Ticks up to 2^64 - 1 of a quarter of a ns.
    for raw in (8, 2**63 - 1):
        writer.snapshot(Snapshot({wide: raw, BOOTTIME: 5}))
    writer.close()
    for extension, snapshot, raw in zip(
        extensions_of(path.read_bytes()), snapshots_of(path), (8, 2**63 - 1), strict=True
    ):
        found = {
            one.clock_id: (one.timestamp, raw)
            for one, raw in zip(snapshot.clocks, extension.raw_minus_reading, strict=True)
        }
        ns, described = found[wide.clock]
        assert ns == raw // 4
        assert (ns + described) % 2**64 == raw
        assert -(2**63) <= described < 2**63
        assert found[BOOTTIME] == (5, 0)


def test_clocks_are_described_at_first_every_sixty_snapshots_and_when_they_are_new(writer, path):
    own = ClockId.parse("com.example.own")
    for n in range(125):
        if n == 70:
            writer.declare(ClockDomain(own, ns_per_tick=2))
        if n == 80:
            # Declared again, with more: the next snapshot has it, with any clocks.
            writer.declare(ClockDomain(own, ns_per_tick=2, wander_ppm=0.5))
        clocks = {BOOTTIME: n * S, RAW: n * S}
        if n in (75, 80, 90):
            clocks[own] = n
        writer.snapshot(Snapshot(clocks, reference=RAW), main=own not in clocks)
    writer.close()
    described = {
        n: [one.clock_id for one in extension.domains]
        for n, extension in enumerate(extensions_of(path.read_bytes()))
        if extension.domains
    }
    assert described == {
        0: [BOOTTIME, RAW],
        60: [BOOTTIME, RAW],
        75: [own.clock],
        80: [own.clock],
        120: [BOOTTIME, RAW],
    }


@pytest.mark.parametrize(
    ("clocks", "trace_clock", "primary"),
    [
        ([REALTIME, MONOTONIC, RAW, BOOTTIME], BOOTTIME, BOOTTIME),
        ([REALTIME, RAW, MONOTONIC], MONOTONIC, MONOTONIC),
        ([REALTIME, RAW, 4], RAW, RAW),
        ([REALTIME, 2, 4], REALTIME, REALTIME),
        ([4, 2], 2, 2),
        (["com.example.b", "64@seq1"], "64@seq1", 0),
        ([TSC, "com.example.b"], "com.example.b", 0),
    ],
)
def test_what_trace_time_is(writer, path, clocks, trace_clock, primary):
    if TSC in clocks:
        writer.declare(ClockDomain(TSC, ns_per_tick=1))
    assert writer.trace_clock is None
    writer.snapshot(Snapshot(dict.fromkeys(map(ClockId.parse, clocks), 5)), main=True)
    assert writer.trace_clock == min(
        ClockId.parse(trace_clock),
        *(
            [ClockId(clock_id("dev.tracetime.tsc"))]
            if TSC in clocks
            else [ClockId.parse(trace_clock)]
        ),
    )
    writer.close()
    (snapshot,) = snapshots_of(path)
    assert snapshot.primary_trace_clock == primary
    assert snapshot.HasField("primary_trace_clock") == (primary != 0)


def test_units_are_kept_from_snapshot_to_snapshot(writer, path):
    writer.snapshot(Snapshot({"com.example.ms": Reading(7, 1_000_000), BOOTTIME: 5}))
    for unit_ns in (1, 999_999, 1_000_001):
        with pytest.raises(UsageError) as raised:
            writer.snapshot(Snapshot({"com.example.ms": Reading(8, unit_ns), BOOTTIME: 6}))
        assert "has been recorded in units of 1000000 ns: give it in these, not in units of" in str(
            raised.value
        )
    writer.snapshot(Snapshot({"com.example.ms": Reading(8, 1_000_000), BOOTTIME: 6}))
    writer.close()
    assert [
        {one.clock_id: one.unit_multiplier_ns for one in each.clocks if one.unit_multiplier_ns}
        for each in snapshots_of(path)
    ] == [{clock_id("com.example.ms"): 1_000_000}] * 2


@pytest.mark.parametrize(
    ("others", "expected"),
    # The steadiest clock that was there before, too, says how often the other has wrapped: by RAW
    # once in 300 ns, by BOOTTIME four times in 1,100.
    [
        ({RAW: 1_300, BOOTTIME: 9_100}, 266),
        ({BOOTTIME: 9_100}, 266 + 3 * 256),
        ({MONOTONIC: 5}, 10),
        ({RAW: 1_000, BOOTTIME: 9_100}, 10),
    ],
)
def test_wraps_are_counted_by_the_steadiest_clock_that_was_there_before(
    writer, path, others, expected
):
    own = ClockId.parse("com.example.own")
    writer.declare(ClockDomain(own, valid_bits=8))
    writer.snapshot(Snapshot({own: 2, RAW: 1_000, BOOTTIME: 8_000}))
    writer.snapshot(Snapshot({own: 10} | others))
    writer.close()
    assert [found[own.clock] for found in readings_of(path)] == [2, expected]


def test_a_clock_that_only_orders_reads_what_the_reference_reads(writer, path):
    """Two clocks have two orders: after they went back twice, a third clock is added."""
    for n in range(6):
        back = 9_000 - n * 1_000
        writer.snapshot(
            Snapshot(
                {RAW: back, REALTIME: back + 7}, reference=RAW, half_width_ns={REALTIME: 30 + n}
            ),
            main=True,
        )
    writer.close()
    data = path.read_bytes()
    filled = 0
    for n, (snapshot, extension) in enumerate(
        zip(snapshots_of(path), extensions_of(data), strict=True)
    ):
        order = [one.clock_id for one in snapshot.clocks]
        values = {one.clock_id: one.timestamp for one in snapshot.clocks}
        halves = dict(zip(order, extension.half_width_ns, strict=True))
        assert order[extension.reference] == RAW
        assert (values[RAW], values[REALTIME], halves[RAW], halves[REALTIME]) == (
            9_000 - n * 1_000,
            9_007 - n * 1_000,
            0,
            30 + n,
        )
        for filler in {*order} - {RAW, REALTIME}:
            filled += 1
            assert (values[filler], halves[filler]) == (values[RAW], 0)
            assert filler >= 128
    assert filled
    with open_trace(path) as trace:
        names = [domain.name for domain in trace.recorded_domains.values()]
        assert names.count(FILLER_NAME) >= 1
        assert len(trace.clocks.series()) == 6


def test_dropped_events_are_counted_in_the_next_snapshot(path):
    writer = TraceWriter(path, buffer_bytes=4096)
    writer.snapshot(Snapshot({BOOTTIME: 5}), main=True)
    track = writer.tracks.custom("t")
    while writer.events_dropped < 3:
        writer.events.instant("e", 5, None, track)
    writer.snapshot(Snapshot({BOOTTIME: 6}), main=True)
    writer.close()
    assert [one.events_dropped for one in extensions_of(path.read_bytes())] == [0, 3]


@pytest.mark.parametrize("name", ["TSC", "dev.tracetime.tsc", "counter", TSC])
def test_the_time_stamp_counter_goes_by_its_names(writer, path, name):
    """Perfetto's TSC has no rate: it is written as a clock of tracetime's, in ns."""
    writer.declare(ClockDomain(TSC, ns_per_tick=Fraction(1, 2)), "counter")
    writer.snapshot(Snapshot({TSC: 2_000, BOOTTIME: 77}, reference=BOOTTIME), main=True)
    writer.events.instant("e", 2_010, name, writer.tracks.custom("t"))
    assert writer.written(name) == ClockId(clock_id("dev.tracetime.tsc"))
    assert writer.clock("BOOTTIME") == ClockId(BOOTTIME)
    writer.close()
    (found,) = readings_of(path)
    assert found == {clock_id("dev.tracetime.tsc"): 1_000, BOOTTIME: 77}
    with open_trace(path) as trace:
        assert trace.read_all()["trace_time"].to_pylist() == [82]
        domain = trace.recorded_domains[ClockId(clock_id("dev.tracetime.tsc"))]
        assert (domain.name, domain.ns_per_tick) == ("dev.tracetime.tsc", Fraction(1, 2))


def test_a_clock_is_declared_again_only_as_it_was(writer):
    own = ClockId.parse("com.example.own")
    writer.declare(ClockDomain(own, ns_per_tick=5, valid_bits=36))
    assert writer.declare(ClockDomain(own, ns_per_tick=5, valid_bits=36, tick_ns=7)) == own
    for other in (
        ClockDomain(own, ns_per_tick=5),
        ClockDomain(own, ns_per_tick=6, valid_bits=36),
    ):
        with pytest.raises(UsageError) as raised:
            writer.declare(other)
        assert str(raised.value) == (
            f"{own} is already recorded with 5 ns a tick and 36 bits: declare it before the first "
            "snapshot"
        )


@pytest.mark.parametrize(
    ("rate", "fine"),
    [
        (Fraction(2**63 - 1), True),
        (Fraction(2**63), False),
        (Fraction(1, 2**63 - 1), True),
        (Fraction(1, 2**63), False),
    ],
)
def test_a_rate_fits_in_64_bits(writer, rate, fine):
    domain = ClockDomain("com.example.own", ns_per_tick=rate)
    if fine:
        assert writer.declare(domain) == domain.id
    else:
        with pytest.raises(UsageError, match="use a fraction of smaller numbers"):
            writer.declare(domain)


@pytest.mark.parametrize("clock", ["BOOTTIME@machine1", "64@seq1@machine2", "64@seq2"])
def test_only_this_machines_clocks_of_this_sequence_are_recorded(writer, clock):
    with pytest.raises(UsageError, match="not of this machine|of another packet sequence"):
        writer.declare(ClockDomain(clock))


def test_before_the_first_snapshot_an_event_says_its_clock(writer):
    track = writer.tracks.custom("t")
    with pytest.raises(UsageError, match="^no clock has been read yet: say which the event is in$"):
        writer.events.instant("e", 5, None, track)
    with pytest.raises(UsageError, match="there are none yet$"):
        writer.events.instant("e", 5, "MONOTONIC", track)
    writer.declare(ClockDomain("com.example.b", ns_per_tick=2))
    writer.declare(ClockDomain("com.example.a", "a name"))
    with pytest.raises(UsageError, match=r"there are a name, com\.example\.b$"):
        writer.events.instant("e", 5, "MONOTONIC", track)


def test_ticks_of_events_are_written_in_ns_nearest_to_the_last_snapshot(writer, path):
    own = ClockId.parse("com.example.own")
    writer.declare(ClockDomain(own, ns_per_tick=Fraction(5, 2), valid_bits=8))
    writer.snapshot(Snapshot({own: 100, BOOTTIME: 5}))
    track = writer.tracks.custom("t")
    for ticks in (101, 99):
        writer.events.instant("e", ticks, own, track)
    for wrong in (256, -1, "7", 2**70):
        with pytest.raises(UsageError):
            writer.events.instant("e", wrong, own, track)
    writer.close()
    events = [one for one in packets_of(path.read_bytes()) if one.HasField("track_event")]
    assert [one.timestamp for one in events] == [252, 247]


def test_a_name_from_a_file_has_256_characters_at_most():
    for length, kept in ((256, "x" * 256), (257, "x" * 256 + "…")):
        domain = ClockDomain("a.b", "x" * length, oscillator="x" * length)
        described = decode_domain(encode_domain(domain), domain.id)
        assert (described.name, described.oscillator) == (kept, kept)
