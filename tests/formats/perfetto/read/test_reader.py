"""Which clock a packet is in, when it can be placed, and how a file is read.

Each rule names the place in Perfetto's sources that it follows: PTR is ProtoTraceReader
(src/trace_processor/importers/proto/proto_trace_reader.cc), CT is ClockTracker
(src/trace_processor/importers/common/clock_tracker.cc), CS is ClockSynchronizer
(src/trace_processor/util/clock_synchronizer.cc).
"""

from __future__ import annotations

import io
import os
import threading
from random import Random

import pyarrow as pa
import pytest
from building import (
    BOOTTIME,
    INT64_MAX,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    REALTIME,
    TRACE_FILE,
    compressed,
    event,
    packet,
    pb,
    power_rails,
    service_event,
    snapshot,
    trace,
)
from random_traces import nasty_trace
from reading import items, opened, placed, read, rows_of

from tracetime import ClockId, UsageError, open_trace
from tracetime.formats.perfetto.read import reader, wire

# BOOTTIME = MONOTONIC + 1000 = REALTIME - 10^6
CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000, REALTIME: 1_002_000})
FLUSHES = [
    packet(1, service_event=service_event(flushed=True)),
    packet(1, service_event=service_event(flushed=True)),
    packet(1, service_event=service_event(read=True)),
]


# Which clock a timestamp is in (PTR::TimestampTokenizeAndPushToSorter)


def test_the_packets_own_clock():
    assert placed(trace(CLOCKS, event(1100, MONOTONIC))) == {1: 2100}


def test_the_defaults_of_the_sequence():
    defaults = packet(seq=1, cleared=True, default_clock=MONOTONIC)
    assert placed(trace(CLOCKS, defaults, event(1100, seq=1), event(1100, seq=2))) == {
        2: 2100,
        3: 1100,
    }


def test_the_packets_own_defaults_count_for_it():
    assert placed(trace(CLOCKS, event(1100, default_clock=MONOTONIC))) == {1: 2100}


def test_the_latest_defaults_count_as_a_whole():
    """PTR::ParseTracePacketDefaults: nothing is merged; defaults without a clock have none."""
    data = trace(
        CLOCKS,
        packet(seq=1, default_clock=MONOTONIC),
        packet(seq=1, trace_packet_defaults=pb.TracePacketDefaults()),
        event(1100),
    )
    assert placed(data) == {3: 1100}


def test_defaults_end_where_the_state_is_cleared_but_not_where_packets_are_lost():
    """PacketSequenceStateGeneration::OnIncrementalStateCleared and ::OnPacketLoss."""
    defaults = packet(seq=1, default_clock=MONOTONIC)
    assert placed(trace(CLOCKS, defaults, event(1100, cleared=True))) == {2: 1100}
    assert placed(trace(CLOCKS, defaults, event(1100, dropped=1))) == {2: 2100}


def test_defaults_without_a_sequence_are_none():
    """PTR::ParseTracePacketDefaults: trace_packet_defaults_missing_sequence_id."""
    data = trace(CLOCKS, packet(default_clock=MONOTONIC), event(1100, seq=None))
    assert placed(data) == {2: 1100}


def test_a_clock_of_0_is_none():
    defaults = packet(seq=1, default_clock=MONOTONIC)
    assert placed(trace(CLOCKS, defaults, event(1100, 0))) == {2: 2100}
    assert placed(trace(CLOCKS, event(1100, 0))) == {1: 1100}


def test_the_traces_default_clock_is_the_primary_one():
    """PTR::ParseClockSnapshot, SetTraceDefaultClock."""
    clocks = {BOOTTIME: 2000, MONOTONIC: 1000}
    data = trace(snapshot(clocks, primary=MONOTONIC), event(1100), event(2100, BOOTTIME))
    assert [(row.clock, row.trace_time) for row in read(data)] == [
        (MONOTONIC, 1100),
        (BOOTTIME, 1100),
    ]


def test_without_a_primary_clock_it_is_boottime():
    assert [row.clock for row in read(trace(CLOCKS, event(2100)))] == [BOOTTIME]


def test_each_snapshot_sets_the_default_anew():
    """The trace clock stays once a conversion was asked for, the default clock does not."""
    data = trace(
        CLOCKS,
        event(2100),
        snapshot({MONOTONIC: 2000, BOOTTIME: 3000}, primary=MONOTONIC),
        event(2100),
        CLOCKS,
        event(2100),
    )
    assert [(row.clock, row.trace_time) for row in read(data)] == [
        (BOOTTIME, 2100),
        (MONOTONIC, 3100),
        (BOOTTIME, 2100),
    ]


def test_a_snapshot_with_a_trace_file_clock_sets_no_default():
    data = trace(snapshot({BOOTTIME: 2000, TRACE_FILE: 0}), event(2100), event(2100, BOOTTIME))
    assert [(row.clock, row.trace_time, row.status) for row in read(data)] == [
        (0, 2100, "as_is"),
        (BOOTTIME, 100, "resolved"),
    ]


def test_without_any_default_a_timestamp_is_trace_time():
    (row,) = read(trace(event(1100)))
    assert (row.clock, row.trace_time, row.status) == (0, 1100, "as_is")


def test_a_sequences_clock_is_that_sequences():
    data = trace(
        CLOCKS,
        snapshot({64: 0, BOOTTIME: 5000}, seq=1),
        snapshot({64: 0, BOOTTIME: 7000}, seq=2),
        event(5, 64, 1),
        event(5, 64, 2),
        event(5, 64, 3),
    )
    assert placed(data) == {3: 5005, 4: 7005, 5: "unknown_source_clock"}
    assert [row.sequence for row in read(data)] == [1, 2, 3]


def test_a_global_clock_is_everyones():
    data = trace(CLOCKS, snapshot({200: 0, BOOTTIME: 5000}, seq=1), event(5, 200, seq=2))
    assert placed(data) == {2: 5005}


@pytest.mark.parametrize("field", ["chrome_events", "chrome_metadata"])
@pytest.mark.parametrize("clock", [None, MONOTONIC])
def test_chrome_packets_are_monotonic(field, clock):
    message = pb.ChromeEventBundle() if field == "chrome_events" else pb.ChromeMetadataPacket()
    clocks = snapshot({64: 0, MONOTONIC: 1000}, seq=5, primary=MONOTONIC)
    data = trace(clocks, CLOCKS, packet(1100, clock, **{field: message}))
    (row,) = read(data)
    # The default of the second snapshot, BOOTTIME, would come before MONOTONIC.
    assert row.clock == (clock or BOOTTIME)
    (row,) = read(trace(packet(1100, clock, **{field: message})))
    assert (row.clock, row.trace_time, row.status) == (MONOTONIC, 1100, "as_is")


def test_chrome_packets_without_any_clock_go_through_monotonic():
    data = trace(
        snapshot({TRACE_FILE: 0, MONOTONIC: 1000}),
        packet(1100, chrome_events=pb.ChromeEventBundle()),
    )
    assert placed(data) == {1: 100}


def test_a_packet_without_timestamp_has_no_row_of_its_own():
    data = trace(CLOCKS, event(2100), packet(seq=1, power_rails=power_rails([None])))
    assert placed(data) == {1: 2100}
    assert items(data, "power_rail") == [2100]


def test_a_packet_without_timestamp_takes_the_latest_time_so_far():
    """max(latest_timestamp_, sorter->max_timestamp()): inner items count too."""
    rails = packet(seq=1, power_rails=power_rails([None]))
    inner = packet(seq=1, power_rails=power_rails([3]))
    assert items(trace(CLOCKS, event(2100), event(2050), rails), "power_rail") == [2100]
    assert items(trace(CLOCKS, inner, event(2100), rails), "power_rail") == [3_000_000, 3_000_000]
    assert items(trace(rails), "power_rail") == [0]


def test_a_timestamp_of_2_to_the_63_is_its_bit_pattern():
    """static_cast<int64_t>(decoder.timestamp())"""
    rows = read(trace(CLOCKS, event(2**63), event(2**64 - 5), event(2**64 - 5, MONOTONIC)))
    assert [(row.timestamp, row.trace_time) for row in rows] == [
        (-(2**63), -(2**63)),
        (-5, -5),
        (-5, 995),
    ]


# Incremental state (PTR::ParsePacket)


def test_a_packet_that_needs_state_is_skipped_until_the_state_is_valid():
    data = trace(
        CLOCKS,
        event(2100, needs_state=True),
        event(2200, cleared=True, needs_state=True),
        event(2300, needs_state=True),
        event(2400, needs_state=True, dropped=1),
        event(2500, needs_state=True),
        event(2600),
        event(2700, needs_state=True, seq=2),
        packet(seq=1, incremental_state_cleared=True, previous_packet_dropped=1),
        event(2800, needs_state=True),
    )
    skipped = "skipped_incremental_state"
    assert placed(data) == {
        1: skipped, 2: 2200, 3: 2300, 4: skipped, 5: skipped, 6: 2600, 7: skipped, 9: 2800,
    }  # fmt: skip


def test_a_skipped_packet_keeps_its_clock_and_its_defaults_count():
    data = trace(
        CLOCKS,
        event(1100, needs_state=True, default_clock=MONOTONIC),
        event(1200),
    )
    assert [(row.clock, row.trace_time) for row in read(data)] == [
        (MONOTONIC, None),
        (MONOTONIC, 2200),
    ]


def test_a_skipped_packet_does_not_move_an_incremental_clock():
    clocks = snapshot({64: (0, 1, True), BOOTTIME: 5000}, seq=1)
    data = trace(clocks, event(10, 64, needs_state=True), event(10, 64), event(10, 64))
    assert placed(data) == {1: "skipped_incremental_state", 2: 5010, 3: 5020}


def test_snapshots_and_service_events_do_not_need_state():
    """Both are handled before SEQ_NEEDS_INCREMENTAL_STATE is looked at."""
    clocks = snapshot({BOOTTIME: 2000, MONOTONIC: 1000}, seq=1, needs_state=True)
    service = packet(2100, seq=1, needs_state=True, service_event=service_event())
    assert placed(trace(clocks, service, event(1200, MONOTONIC))) == {1: 2100, 2: 2200}


def test_an_extension_descriptor_is_not_placed():
    one = packet(2100, seq=1, extension_descriptor=pb.ExtensionDescriptor())
    assert placed(trace(CLOCKS, one, event(2200))) == {2: 2200}


# Incremental clocks (CS::ClockDomain::ToNs)


def test_deltas_add_up_and_a_snapshot_starts_them_anew():
    clock = {64: (10, 1000, True), BOOTTIME: 1_000_000}
    data = trace(
        snapshot(clock, seq=1),
        event(1, 64),
        event(2, 64),
        event(-3 & (2**64 - 1), 64),
        snapshot(clock | {BOOTTIME: 2_000_000}, seq=1),
        event(1, 64),
    )
    assert placed(data) == {1: 1_001_000, 2: 1_003_000, 3: 1_000_000, 5: 2_001_000}
    assert [row.timestamp for row in read(data)] == [1, 2, -3, 1]


def test_only_a_conversion_with_a_path_moves_an_incremental_clock():
    alone = snapshot({64: (0, 1, True)}, seq=1)
    tied = snapshot({65: 0, 64: (100, 1, True), BOOTTIME: 5000}, seq=1)
    data = trace(CLOCKS, alone, event(7, 64), event(8, 64), tied, event(1, 64))
    # Put aside and converted at the end, in order, from where the clock stands then.
    assert placed(data) == {2: 5008, 3: 5016, 5: 5001}


def test_an_incremental_clock_as_a_target_is_a_clock_as_any():
    data = trace(
        snapshot({64: (0, 1, True), MONOTONIC: 50}, seq=1),
        snapshot({64: (0, 1, True), BOOTTIME: 5000}, seq=1),
        event(60, MONOTONIC),
    )
    assert placed(data) == {2: 5010}


# Trace time (CT::SetGlobalClock, CT::FlushDeferredClockSync)


def trace_clock(data: bytes) -> ClockId:
    with opened(data) as opened_trace:
        return opened_trace.trace_clock


def test_trace_time_is_the_files_own_until_a_snapshot_says():
    assert trace_clock(trace(event(5))) == ClockId(TRACE_FILE)
    assert trace_clock(trace(CLOCKS)) == ClockId(BOOTTIME)
    assert trace_clock(trace(snapshot({MONOTONIC: 1}, primary=MONOTONIC))) == ClockId(MONOTONIC)


def test_the_last_snapshot_before_any_conversion_decides():
    clocks = snapshot({BOOTTIME: 3000, MONOTONIC: 2000}, primary=MONOTONIC)
    assert trace_clock(trace(CLOCKS, event(5, 0, seq=3), clocks)) == ClockId(BOOTTIME)
    assert trace_clock(trace(CLOCKS, clocks, event(5))) == ClockId(MONOTONIC)


@pytest.mark.parametrize(
    "asks",
    [
        event(5, MONOTONIC),
        event(5, 777),
        packet(5, service_event=service_event()),
        packet(seq=1, power_rails=power_rails([1])),
    ],
    ids=["resolved", "failed", "service event", "item"],
)
def test_a_conversion_that_was_asked_for_settles_it(asks):
    """num_conversions_ counts those that fail, too."""
    data = trace(asks, CLOCKS, event(1100, MONOTONIC))
    assert trace_clock(data) == ClockId(TRACE_FILE)


def test_a_timestamp_taken_as_it_stands_settles_nothing():
    assert trace_clock(trace(event(5), CLOCKS)) == ClockId(BOOTTIME)


def test_the_first_conversion_equates_boottime_with_the_files_own_time():
    """CT::BridgeToTraceTime, either_private."""
    data = trace(
        event(5, BOOTTIME), snapshot({MONOTONIC: 100, BOOTTIME: 300}), event(150, MONOTONIC)
    )
    assert placed(data) == {0: 5, 2: 350}


def test_it_does_not_where_boottime_has_a_way():
    data = trace(snapshot({BOOTTIME: 300, TRACE_FILE: 0}), event(305, BOOTTIME))
    assert placed(data) == {1: 5}


def test_it_does_not_where_trace_time_is_another_clock():
    """Across real domains nothing is made up: the conversion fails."""
    data = trace(snapshot({MONOTONIC: 5}, primary=MONOTONIC), event(5, BOOTTIME), event(6))
    assert placed(data) == {1: "unknown_source_clock", 2: 6}


# Putting aside (PTR::ResolveTimestampToTraceTime, PTR::OnPushDataToSorter)


def test_a_packet_waits_for_the_snapshot_that_places_it():
    data = trace(
        CLOCKS, event(5, 200), event(2100), snapshot({200: 0, BOOTTIME: 7000}), event(6, 200)
    )
    assert [(row.packet, row.trace_time) for row in read(data)] == [(1, 7005), (2, 2100), (4, 7006)]


def test_it_is_placed_with_the_defaults_of_the_end():
    data = trace(
        CLOCKS,
        packet(seq=1, default_clock=200),
        event(1100),
        packet(seq=1, default_clock=MONOTONIC),
    )
    (row,) = read(data)
    assert (row.packet, row.clock, row.trace_time) == (2, MONOTONIC, 2100)


def test_it_is_placed_with_the_default_clock_of_the_end():
    data = trace(
        snapshot({MONOTONIC: 1000}, primary=MONOTONIC),
        snapshot({200: 5}, primary=200),
        event(1100),
        snapshot({MONOTONIC: 2000}, primary=MONOTONIC),
    )
    assert trace_clock(data) == ClockId(200)
    assert [(row.clock, row.status) for row in read(data)] == [(200, "resolved")]


def test_what_still_has_no_way_says_why():
    backwards = [snapshot({201: n, BOOTTIME: 3000 + n}) for n in (5, 4)]
    data = trace(
        CLOCKS, event(1, 200), event(2, 201), event(3, 202), *backwards, snapshot({202: 1, 203: 2})
    )
    assert placed(data) == {1: "unknown_source_clock", 2: "non_monotonic_source", 3: "no_path"}


def test_an_unknown_trace_clock():
    data = trace(snapshot({MONOTONIC: 1}, primary=300), event(5, MONOTONIC))
    assert placed(data) == {1: "unknown_target_clock"}


def test_an_overflow_is_that_packets_error_and_is_not_put_aside():
    far = snapshot({200: 0, BOOTTIME: INT64_MAX - 10})
    data = trace(far, event(10, 200), event(11, 200), event(5, 200))
    assert placed(data) == {1: INT64_MAX, 2: "overflow", 3: INT64_MAX - 5}


def test_an_overflow_of_the_unit():
    data = trace(snapshot({64: (0, 1000), BOOTTIME: 0}, seq=1), event(2**60, 64), event(1, 64))
    assert placed(data) == {1: "overflow", 2: 1000}


def test_a_packet_in_incremental_time_put_aside_keeps_its_order():
    data = trace(
        CLOCKS, event(1, 64), event(2, 64), snapshot({64: (0, 1, True), BOOTTIME: 7000}, seq=1)
    )
    assert placed(data) == {1: 7001, 2: 7003}


def test_every_packet_put_aside():
    data = trace(*(event(n, 200) for n in range(50)), snapshot({200: 0, TRACE_FILE: 1000}))
    assert list(placed(data).values()) == list(range(1000, 1050))


# Dropping at once (TraceSorter::SetSortingMode, ::NotifyReadBufferEvent)


LATE = [event(5, 200), snapshot({200: 0, BOOTTIME: 7000})]


def test_after_two_rounds_of_flushes_a_packet_is_dropped_at_once():
    data = trace(CLOCKS, event(2100), *FLUSHES, *FLUSHES, *LATE)
    assert placed(data)[8] == "unknown_source_clock"


def test_one_round_is_not_enough():
    assert placed(trace(CLOCKS, event(2100), *FLUSHES, *LATE))[5] == 7005


def test_one_flush_a_round_is_not_enough():
    assert placed(trace(CLOCKS, event(2100), *FLUSHES[1:], *FLUSHES[1:], *LATE))[6] == 7005


def test_flushes_between_two_reads_count_together():
    read_only = FLUSHES[2:]
    data = trace(
        CLOCKS, event(2100), *FLUSHES, *FLUSHES[:1], *read_only, *FLUSHES[:1], *read_only, *LATE
    )
    assert placed(data)[9] == "unknown_source_clock"


def test_nothing_is_dropped_before_an_event_was_handed_on():
    assert placed(trace(CLOCKS, *FLUSHES, *FLUSHES, *LATE))[7] == 7005
    assert placed(trace(CLOCKS, *FLUSHES, event(2100), *FLUSHES, *LATE))[8] == 7005


def test_the_earliest_event_must_be_from_before_the_first_round():
    data = trace(CLOCKS, event(2100), *FLUSHES, event(2000), *FLUSHES, *LATE)
    assert placed(data)[9] == 7005
    data = trace(CLOCKS, event(2100), *FLUSHES, event(2200), *FLUSHES, *LATE)
    assert placed(data)[9] == "unknown_source_clock"


def test_once_a_packet_was_put_aside_none_is_dropped_at_once():
    data = trace(CLOCKS, event(2100), event(1, 200), *FLUSHES, *FLUSHES, *LATE)
    assert placed(data)[2] == 7001
    assert placed(data)[9] == 7005


# Snapshots that are not taken whole (CS::AddSnapshot)


def warnings(data: bytes) -> list[str]:
    with opened(data) as opened_trace:
        opened_trace.read_all()
        return [warning.message for warning in opened_trace.warnings]


@pytest.mark.parametrize(
    ("clocks", "told"),
    [
        ({BOOTTIME: 3000, 200: (1, 1, True)}, "200 is incremental"),
        ({BOOTTIME: 3000, MONOTONIC: (9, 10)}, "MONOTONIC has another unit"),
        ({BOOTTIME: 3000, MONOTONIC: (9, 1, True)}, "MONOTONIC has another unit"),
        ([(BOOTTIME, 3000), (200, 1), (200, 2)], "200 stands twice"),
        ({200: 1, 201: (2**62, 1000)}, "201 does not fit in int64"),
    ],
)
def test_a_snapshot_at_fault_ties_no_clocks(clocks, told):
    data = trace(CLOCKS, snapshot(clocks), event(1100, MONOTONIC), event(5, 200))
    assert placed(data)[2] == 2100
    assert isinstance(placed(data)[3], str)
    (warning,) = warnings(data)
    assert warning.startswith("snapshot not taken whole: ")
    assert told in warning


def test_the_trace_clock_going_backwards_drops_the_rest():
    """The readings before it stay; a hop onto one has no partner, and adds nothing."""
    clocks = [{200: 10, BOOTTIME: 5000, 201: 7}, {200: 20, BOOTTIME: 4000, 201: 8}]
    data = trace(CLOCKS, *map(snapshot, clocks), event(15, 200), event(25, 200), event(9, 201))
    assert placed(data) == {3: 5005, 4: 25, 5: 5002}
    assert "BOOTTIME is the trace clock, and went backwards" in warnings(data)[0]


def test_a_conversion_that_added_nothing_is_kept():
    """`continue` before the bounds are narrowed: the cached path is good for every value."""
    clocks = [{200: 10, BOOTTIME: 5000}, {200: 20, BOOTTIME: 4000}]
    data = trace(CLOCKS, *map(snapshot, clocks), event(25, 200), event(15, 200))
    assert placed(data) == {3: 25, 4: 15}


def test_a_trace_clock_with_a_unit_is_refused():
    data = trace(
        snapshot({MONOTONIC: (5, 10), BOOTTIME: 60}, primary=MONOTONIC), event(61, BOOTTIME)
    )
    assert "must count nanoseconds" in warnings(data)[0]
    assert placed(data) == {1: "unknown_source_clock"}


def test_a_snapshot_at_fault_sets_default_and_trace_clock_even_so():
    data = trace(snapshot([(MONOTONIC, 5), (MONOTONIC, 6)], primary=MONOTONIC), event(5))
    assert [(row.clock, row.trace_time) for row in read(data)] == [(MONOTONIC, 5)]


def test_warnings_tell_where():
    data = trace(CLOCKS, snapshot([(MONOTONIC, 5), (MONOTONIC, 6)]))
    with opened(data) as opened_trace:
        (warning,) = opened_trace.warnings
        assert (warning.packet, warning.offset) == (1, len(trace(CLOCKS)))
        assert opened_trace.n_warnings == 1


def test_only_the_first_hundred_warnings_are_kept():
    twice = snapshot([(MONOTONIC, 5), (MONOTONIC, 6)])
    with opened(trace(*[twice] * 150)) as opened_trace:
        assert len(opened_trace.warnings) == 100
        assert opened_trace.n_warnings == 150


def test_a_unit_of_0_is_1():
    assert placed(trace(snapshot({200: (10, 0), BOOTTIME: 500}), event(11, 200))) == {1: 501}


# Service events (PTR::ParsePacket, has_service_event)


def test_a_service_event_is_boottime_whatever_the_default():
    data = trace(
        snapshot({BOOTTIME: 2000, MONOTONIC: 1000}, primary=MONOTONIC),
        packet(2050, seq=1, default_clock=MONOTONIC, service_event=service_event()),
        packet(1050, MONOTONIC, service_event=service_event()),
    )
    assert [(row.clock, row.trace_time) for row in read(data)] == [
        (BOOTTIME, 1050),
        (MONOTONIC, 1050),
    ]


def test_a_service_event_keeps_its_raw_value_where_there_is_no_way():
    data = trace(CLOCKS, packet(77, 300, service_event=service_event()))
    assert [(row.clock, row.trace_time, row.status) for row in read(data)] == [(300, 77, "as_is")]


def test_a_service_events_clock_is_not_scoped():
    clocks = snapshot({64: 0, BOOTTIME: 5000}, seq=1)
    data = trace(CLOCKS, clocks, packet(7, 64, seq=1, service_event=service_event()))
    assert placed(data) == {2: 7}


def test_a_service_event_is_never_put_aside():
    data = trace(
        CLOCKS, packet(7, 200, service_event=service_event()), snapshot({200: 0, BOOTTIME: 9000})
    )
    assert placed(data) == {1: 7}


# What the table says


def test_a_row_has_its_packets_facts():
    one = event(7, 64, seq=5)
    data = trace(CLOCKS, snapshot({64: 0, BOOTTIME: 5000}, seq=5), one)
    with opened(data) as opened_trace:
        (row,) = opened_trace.read_all().to_pylist()
    assert row == {
        "packet": 2,
        "kind": "packet",
        "item": 0,
        "payload": "track_event",
        "packet_sequence": 5,
        "sequence": 5,
        "machine": 0,
        "clock": 64,
        "timestamp": 7,
        "trace_time": 5007,
        "status": "resolved",
        "offset": len(data) - len(one.SerializeToString()) - 2,
    }


def test_a_payload_that_the_schema_does_not_know():
    unknown = packet(5, 0).SerializeToString() + b"\xa2\xe2\x04\x01x"  # field 9876, bytes
    rows = read(trace(unknown, packet(6), packet(7, trace_config=pb.TraceConfig())))
    assert [row.payload for row in rows] == ["unknown", "", "trace_config"]


def test_packets_in_a_compressed_packet_are_counted_in_place():
    first, second = trace(CLOCKS), trace(compressed([event(2100), event(2200)]))
    with opened(first + second + trace(event(2300))) as opened_trace:
        table = opened_trace.read_all()
    assert table["packet"].to_pylist() == [1, 2, 3]
    assert table["trace_time"].to_pylist() == [2100, 2200, 2300]
    wrapper, after = len(first), len(first) + len(second)
    assert table["offset"].to_pylist() == [wrapper, wrapper, after]


def test_an_empty_packet_is_counted():
    assert placed(trace(CLOCKS, b"", event(2100))) == {2: 2100}


def test_fields_of_a_trace_that_are_no_packets_are_passed_over():
    """ProtoTraceTokenizer::Tokenize: 'Other field. Skip.'"""
    others = b"\x12\x03abc" + b"\x18\x96\x01" + b"\x25abcd" + b"\x29abcdefgh"
    data = trace(CLOCKS) + others + trace(event(2100))
    assert placed(data) == {1: 2100}


# How a file is read


SAMPLES = {
    "plain": trace(CLOCKS, *(event(2000 + n) for n in range(200))),
    "put aside": trace(*(event(n, 200) for n in range(40)), snapshot({200: 0, TRACE_FILE: 9})),
    "compressed": trace(CLOCKS, compressed([event(2000 + n) for n in range(60)], "zstd"), event(1)),
    "large packet": trace(
        CLOCKS, packet(2100, trace_uuid=pb.TraceUuid()), b"\x92\x01\xe8\x07" + b"x" * 1000, event(5)
    ),
} | {f"nasty {seed}": nasty_trace(Random(seed)) for seed in range(200, 260)}


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES)
def test_where_a_window_ends_changes_nothing(data, monkeypatch):
    def outcome():
        with opened(data, partial=True) as opened_trace:
            rows = opened_trace.read_all().to_pylist()
            told = opened_trace.truncated
            return rows, told and (told.message, told.offset, told.packet)

    whole = outcome()
    for size in (64, 65, 97, 1):
        monkeypatch.setattr(wire, "WINDOW", size)
        assert outcome() == whole, size


def test_batches_are_of_the_size_asked_for(monkeypatch):
    data = trace(CLOCKS, *(event(2000 + n) for n in range(100)))
    monkeypatch.setattr(reader, "BATCH_ROWS", 30)
    with opened(data) as opened_trace:
        batches = list(opened_trace.events())
    assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]
    assert rows_of(opened_table(batches)) == read(data)


def opened_table(batches):
    return pa.Table.from_batches(batches)


def test_a_packet_of_many_items_may_make_a_larger_batch(monkeypatch):
    monkeypatch.setattr(reader, "BATCH_ROWS", 4)
    data = trace(CLOCKS, packet(seq=1, power_rails=power_rails([1] * 50)), event(5))
    with opened(data) as opened_trace:
        assert [batch.num_rows for batch in opened_trace.events()] == [50, 1]


def test_a_trace_can_be_read_again():
    with opened(SAMPLES["put aside"]) as opened_trace:
        first = opened_trace.read_all()
        assert opened_trace.read_all() == first
        assert opened_trace.clocks.convert(5, 200, TRACE_FILE) == 14


def test_the_clocks_are_known_without_reading_events():
    with opened(trace(CLOCKS, event(5))) as opened_trace:
        assert opened_trace.trace_clock == ClockId(BOOTTIME)
        assert opened_trace.clocks.convert(1100, MONOTONIC, BOOTTIME) == 2100
        assert opened_trace.machines == [0]
        assert opened_trace.clocks is opened_trace.clocks


def test_the_graph_has_every_snapshot_of_the_file():
    """Unlike `events`, which know what had been read."""
    data = trace(
        CLOCKS, event(1100, MONOTONIC), snapshot({BOOTTIME: 5000, MONOTONIC: 1050, REALTIME: 10**7})
    )
    with opened(data) as opened_trace:
        assert opened_trace.clocks.convert(1100, MONOTONIC, BOOTTIME) == 5050
        assert rows_of(opened_trace.read_all())[0].trace_time == 2100


def test_progress_is_the_position_in_the_file(monkeypatch):
    monkeypatch.setattr(wire, "WINDOW", 64)
    positions: list[int] = []
    data = SAMPLES["plain"]
    with opened(data) as opened_trace:
        for _ in opened_trace.events(progress=positions.append):
            pass
        assert opened_trace.size == len(data)
    assert positions == sorted(positions)
    assert positions[0] > 0
    assert positions[-1] == len(data)


def test_a_pipe_is_read():
    receiving, sending = os.pipe()

    def send():
        with os.fdopen(sending, "wb") as file:
            file.write(SAMPLES["put aside"])

    thread = threading.Thread(target=send)
    thread.start()
    with open_trace(f"/dev/fd/{receiving}") as opened_trace:
        thread.join()
        assert opened_trace.read_all().num_rows == 40
        assert opened_trace.read_all().num_rows == 40
    os.close(receiving)


def test_standard_input_is_read(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(SAMPLES["put aside"])

    monkeypatch.setattr("sys.stdin", Stdin)
    with open_trace("-") as opened_trace:
        assert (opened_trace.path, opened_trace.size) == ("-", len(SAMPLES["put aside"]))
        assert opened_trace.read_all().num_rows == 40


@pytest.mark.parametrize("path", ["nowhere.pftrace", "."])
def test_a_file_that_cannot_be_read(path, tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        open_trace(tmp_path / path)


def test_what_cannot_be_asked_for(tmp_path):
    with opened(SAMPLES["plain"]) as opened_trace:
        with pytest.raises(UsageError, match="no policy 'nearest'"):
            opened_trace.events(policy="nearest")
    with pytest.raises(UsageError, match="max_expansion"):
        open_trace(tmp_path / "t", max_expansion=-1)


def test_rules_for_the_other_clocks_of_the_kernel():
    """A coarse and a raw clock are clocks as any."""
    data = trace(
        snapshot({MONOTONIC_COARSE: 1, MONOTONIC_RAW: 2, BOOTTIME: 100}),
        event(5, MONOTONIC_COARSE),
        event(5, MONOTONIC_RAW),
    )
    assert placed(data) == {1: 104, 2: 103}
