"""What trace time is, and when a packet can be placed on it.

Each rule names the place in Perfetto's sources that it follows: PTR is ProtoTraceReader
(src/trace_processor/importers/proto/proto_trace_reader.cc), CT is ClockTracker
(src/trace_processor/importers/common/clock_tracker.cc), CS is ClockSynchronizer
(src/trace_processor/util/clock_synchronizer.cc).
"""

from __future__ import annotations

import pytest
from building import (
    BOOTTIME,
    INT64_MAX,
    MONOTONIC,
    REALTIME,
    TRACE_FILE,
    event,
    packet,
    power_rails,
    service_event,
    snapshot,
    trace,
)
from reading import opened, placed, read

from tracetime import ClockId

# BOOTTIME = MONOTONIC + 1000 = REALTIME - 10^6
CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000, REALTIME: 1_002_000})
FLUSHES = [
    packet(1, service_event=service_event(flushed=True)),
    packet(1, service_event=service_event(flushed=True)),
    packet(1, service_event=service_event(read=True)),
]


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
    "converts",
    [
        event(5, MONOTONIC),
        event(5, 777),
        packet(5, service_event=service_event()),
        packet(seq=1, power_rails=power_rails([1])),
    ],
    ids=["resolved", "failed", "service event", "item"],
)
def test_a_first_conversion_settles_it(converts):
    """num_conversions_ counts those that fail, too."""
    data = trace(converts, CLOCKS, event(1100, MONOTONIC))
    assert trace_clock(data) == ClockId(TRACE_FILE)


def test_a_timestamp_that_is_trace_time_settles_nothing():
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
    ("clocks", "message"),
    [
        ({BOOTTIME: 3000, 200: (1, 1, True)}, "200 is incremental"),
        ({BOOTTIME: 3000, MONOTONIC: (9, 10)}, "MONOTONIC has another unit"),
        ({BOOTTIME: 3000, MONOTONIC: (9, 1, True)}, "MONOTONIC has another unit"),
        ([(BOOTTIME, 3000), (200, 1), (200, 2)], "200 is in the snapshot twice"),
        ({200: 1, 201: (2**62, 1000)}, "201 does not fit in int64"),
    ],
)
def test_a_snapshot_at_fault_ties_no_clocks(clocks, message):
    data = trace(CLOCKS, snapshot(clocks), event(1100, MONOTONIC), event(5, 200))
    assert placed(data)[2] == 2100
    assert isinstance(placed(data)[3], str)
    (warning,) = warnings(data)
    assert warning.startswith("snapshot not taken whole: ")
    assert message in warning


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
