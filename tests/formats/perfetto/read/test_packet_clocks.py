"""Which clock a packet is in, and what needs incremental state.

Each rule names the place in Perfetto's sources that it follows: PTR is ProtoTraceReader
(src/trace_processor/importers/proto/proto_trace_reader.cc), CT is ClockTracker
(src/trace_processor/importers/common/clock_tracker.cc), CS is ClockSynchronizer
(src/trace_processor/util/clock_synchronizer.cc).
"""

from __future__ import annotations

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    TRACE_FILE,
    event,
    packet,
    pb,
    power_rails,
    service_event,
    snapshot,
    trace,
)
from reading import items, placed, read

# BOOTTIME = MONOTONIC + 1000 = REALTIME - 10^6
CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000, REALTIME: 1_002_000})


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
        1: skipped,
        2: 2200,
        3: 2300,
        4: skipped,
        5: skipped,
        6: 2600,
        7: skipped,
        9: 2800,
    }


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
