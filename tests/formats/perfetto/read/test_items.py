"""Timestamps inside packets: every kind of item, its clock, and what becomes of it.

Each test names the place in Perfetto's src/trace_processor/importers/ that it follows.
"""

from __future__ import annotations

import pytest
from building import (
    BOOTTIME,
    INT64_MAX,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    REALTIME,
    android_log,
    etw,
    event,
    ftrace,
    ftrace_event,
    heap_dumps,
    legacy,
    packet,
    pb,
    power_rails,
    process_tree,
    service_event,
    snapshot,
    statsd,
    streaming_profile,
    thread_descriptor,
    thread_track,
    trace,
    varint,
)
from reading import items, opened, placed, read

from tracetime import TraceError

# BOOTTIME = MONOTONIC + 1000 = REALTIME - 10^6 = MONOTONIC_RAW + 1500 = MONOTONIC_COARSE + 1001
CLOCKS = snapshot(
    {
        BOOTTIME: 2000,
        MONOTONIC: 1000,
        REALTIME: 1_002_000,
        MONOTONIC_RAW: 500,
        MONOTONIC_COARSE: 999,
    }
)
UNKNOWN = "unknown_source_clock"
SKIPPED = "skipped_incremental_state"


def keys(data: bytes, kind: str) -> list[tuple[int, int, int]]:
    """(clock, sequence, timestamp) of the items of one kind."""
    return [(r.clock, r.sequence, r.timestamp) for r in read(data) if r.kind == kind]


# ftrace/ftrace_tokenizer.cc


@pytest.mark.parametrize(
    ("clock", "expected", "key"),
    [
        (None, 700, BOOTTIME),
        (pb.FTRACE_CLOCK_UNSPECIFIED, 700, BOOTTIME),
        (pb.FTRACE_CLOCK_MONO_RAW, 2200, MONOTONIC_RAW),
        (pb.FTRACE_CLOCK_GLOBAL, UNKNOWN, 64),
        (pb.FTRACE_CLOCK_LOCAL, UNKNOWN, 64),
    ],
)
def test_an_ftrace_event_is_in_the_bundles_clock(clock, expected, key):
    """FtraceTokenizer::HandleFtraceClockSnapshot"""
    data = trace(CLOCKS, packet(seq=3, ftrace_events=ftrace([700], clock=clock)))
    assert items(data, "ftrace_event") == [expected]
    assert keys(data, "ftrace_event") == [(key, 3 if key == 64 else 0, 700)]


def test_a_bundle_brings_its_own_snapshot():
    """AddSnapshot({clock, BOOTTIME}), before its events are converted"""
    bundle = ftrace([110], clock=pb.FTRACE_CLOCK_GLOBAL, snapshot=(100, 9000))
    assert items(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)), "ftrace_event") == [9010]


def test_the_same_snapshot_is_added_once():
    """latest_ftrace_clock_snapshot_ts_ is that of any sequence, and 0 at first"""
    bundles = [
        ftrace([110], clock=pb.FTRACE_CLOCK_GLOBAL, snapshot=(0, 5)),
        ftrace([110], clock=pb.FTRACE_CLOCK_GLOBAL, snapshot=(100, 9000)),
        ftrace([110], clock=pb.FTRACE_CLOCK_GLOBAL, snapshot=(100, 9500)),
    ]
    data = trace(CLOCKS, *(packet(seq=3, ftrace_events=bundle) for bundle in bundles))
    assert items(data, "ftrace_event") == [UNKNOWN, 9010, 9010]
    data = trace(CLOCKS, *(packet(seq=n, ftrace_events=bundles[1]) for n in (3, 4)))
    assert items(data, "ftrace_event") == [9010, UNKNOWN]


def test_a_snapshot_without_a_clock_is_none():
    """HandleFtraceClockSnapshot is called where the bundle has an ftrace_clock"""
    bundle = ftrace([700], snapshot=(700, 9000))
    assert items(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)), "ftrace_event") == [700]


def test_a_bundle_without_cpu_holds_nothing():
    bundle = ftrace([700], cpu=None)
    assert items(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)), "ftrace_event") == []


def test_an_ftrace_event_without_time_or_content_is_none_but_counted():
    """TokenizeFtraceEvent: ftrace_bundle_tokenizer_errors, ftrace_missing_event_id"""
    bundle = ftrace([700, ftrace_event(None), pb.FtraceEvent(timestamp=5, pid=1), 800])
    rows = read(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)))
    assert [(row.item, row.trace_time) for row in rows] == [(0, 700), (3, 800)]


def test_compact_sched_is_sums_of_deltas():
    """TokenizeFtraceCompactSchedSwitch, ...Waking: each array starts at 0"""
    bundle = ftrace(switches=[100, 150, 120], wakings=[7, 9], clock=pb.FTRACE_CLOCK_MONO_RAW)
    data = trace(CLOCKS, packet(seq=3, ftrace_events=bundle))
    assert items(data, "sched_switch") == [1600, 1650, 1620]
    assert items(data, "sched_waking") == [1507, 1509]
    assert keys(data, "sched_waking") == [(MONOTONIC_RAW, 0, 7), (MONOTONIC_RAW, 0, 9)]


def test_compact_sched_ends_with_its_shortest_array():
    bundle = ftrace(switches=[100, 150, 120])
    del bundle.compact_sched.switch_next_prio[2:]
    assert items(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)), "sched_switch") == [100, 150]


def test_compact_sched_ends_at_a_name_that_is_not_there():
    bundle = ftrace(switches=[100, 150, 120])
    bundle.compact_sched.switch_next_comm_index[1] = 1
    assert items(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)), "sched_switch") == [100]


def test_a_gpu_work_period_starts_in_raw_monotonic_time():
    """TokenizeFtraceGpuWorkPeriod"""
    bundle = ftrace([ftrace_event(700, gpu_start=600), 701])
    data = trace(CLOCKS, packet(seq=3, ftrace_events=bundle))
    assert items(data, "ftrace_event") == [700, 701]
    assert items(data, "gpu_work_period") == [2100]
    assert keys(data, "gpu_work_period") == [(MONOTONIC_RAW, 0, 600)]


def test_a_gpu_work_period_is_dropped_with_its_event():
    bundle = ftrace([ftrace_event(700, gpu_start=600)], clock=pb.FTRACE_CLOCK_GLOBAL)
    assert items(trace(CLOCKS, packet(seq=3, ftrace_events=bundle)), "gpu_work_period") == [UNKNOWN]


def test_an_event_with_an_unknown_time_inside_does_not_reach_the_sorter():
    """Neither the event nor its start is pushed where the start does not convert"""
    clocks = snapshot({BOOTTIME: 2000})
    bundle = packet(seq=3, ftrace_events=ftrace([500, ftrace_event(700, gpu_start=600)]))
    latest = packet(seq=1, power_rails=power_rails([None]))
    assert items(trace(clocks, bundle, latest), "power_rail") == [500]
    assert items(trace(CLOCKS, bundle, latest), "power_rail") == [2100]


def test_some_events_are_sorted_by_a_time_inside_as_well():
    """TokenizeFtraceThermalExynosAcpmBulk, ...ParamSetValueCpm, ...FwtpPerfettoCounter, ...Slice"""
    latest = packet(seq=1, power_rails=power_rails([None]))
    for name in (
        "thermal_exynos_acpm_bulk",
        "param_set_value_cpm",
        "fwtp_perfetto_counter",
        "fwtp_perfetto_slice",
    ):
        one = pb.FtraceEvent(timestamp=700, pid=1)
        getattr(one, name).SetInParent()
        without = trace(CLOCKS, packet(seq=3, ftrace_events=ftrace([one])), latest)
        assert items(without, "power_rail") == [0], name
        getattr(one, name).timestamp = 900
        with_time = trace(CLOCKS, packet(seq=3, ftrace_events=ftrace([one])), latest)
        assert items(with_time, "power_rail") == [900], name
        assert items(with_time, "ftrace_event") == [700], name


@pytest.mark.parametrize("field", ["last_read", "previous_end"])
def test_the_start_of_a_cpus_data_must_convert(field):
    """per_cpu_seen_first_bundle_: 'Failed to convert timestamp to trace time'"""
    good = packet(seq=3, ftrace_events=ftrace([700], **{field: 5}))
    unknown = packet(seq=3, ftrace_events=ftrace(clock=pb.FTRACE_CLOCK_GLOBAL, **{field: 5}))
    assert placed(trace(CLOCKS, good, unknown)) == {}
    with pytest.raises(TraceError, match="start of an ftrace bundle"):
        read(trace(CLOCKS, unknown, good))


def test_a_cpus_first_bundle_is_looked_at_once():
    first = packet(seq=3, ftrace_events=ftrace([700]))
    late = packet(seq=3, ftrace_events=ftrace([701], clock=2, last_read=5))
    assert items(trace(CLOCKS, first, late), "ftrace_event") == [700, UNKNOWN]
    other_cpu = packet(seq=3, ftrace_events=ftrace([701], clock=2, last_read=5, cpu=1))
    with pytest.raises(TraceError, match="start of an ftrace bundle"):
        read(trace(CLOCKS, first, other_cpu))


def test_packets_of_ftrace_have_no_row_of_their_own_but_for_a_timestamp():
    bundle = ftrace([700])
    assert placed(trace(CLOCKS, packet(seq=3, ftrace_events=bundle))) == {}
    assert placed(trace(CLOCKS, packet(750, seq=3, ftrace_events=bundle))) == {1: 750}


# proto/android_probes_module.cc


def test_android_logs_are_in_real_time():
    data = trace(CLOCKS, packet(seq=1, android_log=android_log([1_002_005, 1_001_000])))
    assert items(data, "android_log") == [2005, 1000]
    assert keys(data, "android_log")[0] == (REALTIME, 0, 1_002_005)


def test_power_rails_are_in_milliseconds_of_boottime():
    data = trace(CLOCKS, packet(2100, seq=1, power_rails=power_rails([3, None, 5])))
    assert items(data, "power_rail") == [3_000_000, 2100, 5_000_000]
    assert keys(data, "power_rail") == [
        (BOOTTIME, 0, 3),
        (BOOTTIME, 0, 2100),
        (BOOTTIME, 0, 5),
    ]
    assert placed(data) == {1: 2100}


def test_power_rails_that_overflow():
    data = trace(CLOCKS, packet(seq=1, power_rails=power_rails([INT64_MAX // 10**6 + 1, 1])))
    assert items(data, "power_rail") == ["overflow", 1_000_000]


# proto/statsd_module.cc


def test_statsd_atoms_are_in_trace_time_or_have_the_packets():
    data = trace(CLOCKS, packet(1100, MONOTONIC, 1, statsd_atom=statsd([50, 60], atoms=3)))
    rows = [row for row in read(data) if row.kind == "statsd_atom"]
    assert [(r.clock, r.trace_time, r.status) for r in rows] == [
        (0, 50, "as_is"),
        (0, 60, "as_is"),
        (MONOTONIC, 2100, "resolved"),
    ]


AS_PACKET = {"statsd_atom": statsd([], atoms=1), "power_rails": power_rails([None])}
# What places an event, and the clock that it is read in.
PLACING = ("clock", "sequence", "timestamp", "trace_time", "status", "earliest", "latest")


@pytest.mark.parametrize("field", AS_PACKET)
def test_items_without_a_time_are_placed_as_their_packet(field):
    """A row has nothing that its packet's has not: reading, status and bar."""
    more = snapshot({BOOTTIME: 9_000_000, MONOTONIC: 8_999_990})
    unknown = packet(7, 200, 1, **{field: AS_PACKET[field]})
    incremental = snapshot({64: (7, 1, True), BOOTTIME: 2500}, seq=1)
    made = packet(1100, MONOTONIC, 1, **{field: AS_PACKET[field]})
    delta = packet(30, 64, 1, **{field: AS_PACKET[field]})
    with opened(trace(CLOCKS, incremental, made, delta, delta, unknown, more)) as read_trace:
        for policy in ("floor", "tube"):
            table = read_trace.read_all(policy)
            names = [name for name in PLACING if name in table.column_names]
            rows = [tuple(row.values()) for row in table.select(names).to_pylist()]
            assert rows[::2] == rows[1::2]
            assert len(set(rows)) == 4


def test_times_without_atoms_are_no_items():
    data = trace(CLOCKS, packet(1100, MONOTONIC, 1, statsd_atom=statsd([50, 60], atoms=1)))
    assert items(data, "statsd_atom") == [50]


# etw/etw_tokenizer.cc


def test_etw_events_are_in_trace_time():
    data = trace(CLOCKS, packet(seq=1, etw_events=etw([50, 40])))
    assert items(data, "etw_event") == [50, 40]
    assert keys(data, "etw_event")[0] == (0, 0, 50)


def test_etw_events_without_time_or_cpu_are_passed_over():
    """TokenizeEtwBundle does not look at the status of TokenizeEtwEvent: no error ends here."""
    no_time = packet(seq=1, etw_events=etw([50, None, 60]))
    no_cpu = packet(seq=1, etw_events=etw([70], cpu=None))
    far_cpu = packet(seq=1, etw_events=etw([80], cpu=1024))
    own_cpu = etw([90, 95], cpu=None)
    own_cpu.event[1].cpu = 3
    own = packet(seq=1, etw_events=own_cpu)
    data = trace(CLOCKS, no_time, no_cpu, far_cpu, own, event(2100))
    assert items(data, "etw_event") == [50, 60, 95]
    assert [row.item for row in read(data) if row.kind == "etw_event"] == [0, 2, 1]
    assert placed(data) == {5: 2100}


# proto/profile_module.cc, proto/system_probes_parser.cc: after sorting


def test_heap_dumps_are_coarse_and_know_every_snapshot():
    """ParseProfilePacket runs when the file has been read"""
    dump = packet(
        2100, seq=1, profile_packet=heap_dumps([(1000, None), (1100, 1050), (None, None)])
    )
    clocks = snapshot({MONOTONIC_COARSE: 1000, BOOTTIME: 5000})
    data = trace(dump, clocks)
    assert items(data, "heap_dump") == [5000, 5100, 5050, 4000]
    assert keys(data, "heap_dump")[0] == (MONOTONIC_COARSE, 0, 1000)
    assert placed(data) == {0: 2100}


def test_a_later_snapshot_changes_the_time_of_a_dump():
    dump = packet(seq=1, profile_packet=heap_dumps([(1000, None)]))
    data = trace(CLOCKS, dump, snapshot({MONOTONIC_COARSE: 1000, BOOTTIME: 9000}), event(2100))
    # {COARSE, BOOTTIME} has the smaller hash of the two series, or the larger: the same for both.
    with opened(data) as opened_trace:
        expected = opened_trace.clocks.convert(1000, MONOTONIC_COARSE, BOOTTIME)
    assert items(data, "heap_dump") == [expected]
    assert placed(data) == {3: 2100}


def test_process_starts_are_boottime_and_know_every_snapshot():
    """SystemProbesParser::ParseProcessTree"""
    clocks = snapshot({BOOTTIME: 5000, MONOTONIC: 1000}, primary=MONOTONIC)
    data = trace(packet(seq=1, process_tree=process_tree([5005, None, 5007])), clocks)
    rows = [row for row in read(data) if row.kind == "process_start"]
    assert [(r.item, r.clock, r.trace_time) for r in rows] == [
        (0, BOOTTIME, 1005),
        (2, BOOTTIME, 1007),
    ]


def test_a_process_without_a_command_line_is_passed_over():
    """`if (!proc.has_cmdline()) continue;`"""
    tree = process_tree([5005, 5006])
    del tree.processes[0].cmdline[:]
    rows = read(trace(CLOCKS, packet(seq=1, process_tree=tree)))
    assert [(row.item, row.trace_time) for row in rows] == [(1, 5006)]


def test_processes_and_profiles_without_times_need_no_second_pass():
    data = trace(
        CLOCKS,
        packet(2100, seq=1, process_tree=process_tree([None])),
        packet(2200, seq=1, profile_packet=pb.ProfilePacket()),
    )
    assert placed(data) == {1: 2100, 2: 2200}
    assert len(read(data)) == 2


# proto/track_event_tokenizer.cc: legacy timestamps

REFERENCE = packet(seq=1, cleared=True, thread_descriptor=thread_descriptor(10))


def test_legacy_deltas_add_up_on_the_threads_reference():
    """TrackEventSequenceState::IncrementAndGetTrackEventTimeNs, in us of MONOTONIC"""
    data = trace(
        CLOCKS, REFERENCE, *(packet(seq=1, track_event=legacy(delta_us=n)) for n in (5, -2))
    )
    assert items(data, "track_event_legacy") == [16_000, 14_000]
    assert keys(data, "track_event_legacy") == [(MONOTONIC, 0, 5), (MONOTONIC, 0, -2)]


def test_a_track_descriptor_holds_a_reference_too():
    descriptor = packet(seq=1, cleared=True, track_descriptor=thread_track(20))
    data = trace(CLOCKS, descriptor, packet(seq=1, track_event=legacy(delta_us=5)))
    assert items(data, "track_event_legacy") == [26_000]


@pytest.mark.parametrize(
    "descriptor",
    [
        packet(seq=1, cleared=True, track_descriptor=thread_track(20, uuid=None)),
        packet(seq=1, cleared=True, track_descriptor=pb.TrackDescriptor(uuid=7)),
        packet(
            seq=1,
            cleared=True,
            track_descriptor=pb.TrackDescriptor(uuid=7, thread=pb.ThreadDescriptor(pid=1)),
        ),
        packet(seq=1, thread_descriptor=thread_descriptor(10)),
        packet(cleared=True, thread_descriptor=thread_descriptor(10)),
        packet(seq=2, cleared=True, thread_descriptor=thread_descriptor(10)),
    ],
    ids=["no uuid", "no thread", "no tid", "no state", "no sequence", "another sequence"],
)
def test_descriptors_without_a_reference(descriptor):
    """TokenizeTrackDescriptorPacket, TokenizeThreadDescriptorPacket"""
    data = trace(CLOCKS, descriptor, packet(seq=1, track_event=legacy(delta_us=5)))
    assert items(data, "track_event_legacy") == [SKIPPED]


@pytest.mark.parametrize("lost", [packet(seq=1, cleared=True), packet(seq=1, dropped=1)])
def test_clearing_and_loss_end_a_reference(lost):
    data = trace(CLOCKS, REFERENCE, lost, packet(seq=1, track_event=legacy(delta_us=5)))
    assert items(data, "track_event_legacy") == [SKIPPED]


def test_an_absolute_legacy_timestamp_does_not_count_for_deltas():
    data = trace(
        CLOCKS,
        packet(seq=1, track_event=legacy(absolute_us=3)),
        REFERENCE,
        packet(seq=1, track_event=legacy(absolute_us=3)),
        packet(seq=1, track_event=legacy(delta_us=5)),
        packet(seq=1, track_event=legacy(absolute_us=0)),
    )
    assert items(data, "track_event_legacy") == [4_000, 4_000, 16_000]


def test_a_delta_comes_before_an_absolute_timestamp():
    # By hand: in the schema one excludes the other.
    times = legacy(absolute_us=3).SerializeToString() + legacy(delta_us=5).SerializeToString()
    both = packet(seq=1).SerializeToString() + b"\x5a" + varint(len(times)) + times
    assert items(trace(CLOCKS, REFERENCE, both), "track_event_legacy") == [16_000]


def test_legacy_timestamps_are_raw_where_monotonic_has_no_way():
    data = trace(packet(seq=1, track_event=legacy(absolute_us=3)))
    (row,) = read(data)
    assert (row.trace_time, row.status) == (3_000, "as_is")


def test_a_negative_legacy_time_is_no_time():
    """track_event_invalid_timestamp; SaturatingMultiply keeps it negative"""
    for us in (-3, -(2**62)):
        data = trace(CLOCKS, packet(seq=1, track_event=legacy(absolute_us=us)))
        assert items(data, "track_event_legacy") == ["overflow"]


def test_a_track_event_without_a_sequence_has_no_legacy_time():
    """track_event_missing_sequence_id"""
    assert (
        items(trace(CLOCKS, packet(track_event=legacy(absolute_us=3))), "track_event_legacy") == []
    )


def test_the_packets_own_timestamp_stays_with_a_legacy_one():
    data = trace(CLOCKS, packet(1100, MONOTONIC, 1, track_event=legacy(absolute_us=3)))
    assert placed(data) == {1: 2100}
    assert items(data, "track_event_legacy") == [4_000]


# proto/profile_module.cc: streaming profiles


def test_stack_samples_count_from_the_reference_and_move_it_on():
    """TokenizeStreamingProfilePacket: the reference is converted once, deltas are added to it"""
    samples = packet(seq=1, streaming_profile_packet=streaming_profile([1, 2, 3]))
    data = trace(CLOCKS, REFERENCE, samples, packet(seq=1, track_event=legacy(delta_us=0)))
    assert items(data, "stack_sample") == [12_000, 14_000, 17_000]
    assert items(data, "track_event_legacy") == [17_000]
    assert keys(data, "stack_sample")[1] == (MONOTONIC, 0, 2)


def test_deltas_beyond_the_stacks_move_the_reference_only():
    samples = packet(seq=1, streaming_profile_packet=streaming_profile([1, 2, 3], samples=1))
    data = trace(CLOCKS, REFERENCE, samples, packet(seq=1, track_event=legacy(delta_us=0)))
    assert items(data, "stack_sample") == [12_000]
    assert items(data, "track_event_legacy") == [17_000]


def test_stacks_beyond_the_deltas_are_no_items():
    samples = packet(seq=1, streaming_profile_packet=streaming_profile([1], samples=3))
    assert items(trace(CLOCKS, REFERENCE, samples), "stack_sample") == [12_000]


def test_samples_count_from_0_without_a_reference():
    """IncrementAndGetTrackEventTimeNs does not ask whether the reference is valid"""
    samples = packet(seq=1, streaming_profile_packet=streaming_profile([2]))
    assert items(trace(CLOCKS, samples), "stack_sample") == [3_000]


def test_samples_end_where_the_reference_turns_negative():
    """streaming_profile_invalid_timestamp"""
    samples = packet(seq=1, streaming_profile_packet=streaming_profile([-5, -10, 100]))
    data = trace(CLOCKS, REFERENCE, samples)
    assert items(data, "stack_sample") == [6_000, "overflow", "overflow"]


# Items of packets that are dropped


DROPPED = {
    "ftrace_events": (
        ftrace([700, 800], switches=[5], wakings=[6]),
        ["sched_switch", "sched_waking", "ftrace_event", "ftrace_event"],
    ),
    "android_log": (android_log([5]), ["android_log"]),
    "power_rails": (power_rails([3, None]), ["power_rail", "power_rail"]),
    "statsd_atom": (statsd([5], atoms=2), ["statsd_atom", "statsd_atom"]),
    "etw_events": (etw([5]), ["etw_event"]),
    "profile_packet": (heap_dumps([(5, 6)]), ["heap_dump", "heap_dump"]),
    "process_tree": (process_tree([5]), ["process_start"]),
    "track_event": (legacy(absolute_us=5), ["track_event_legacy"]),
    "streaming_profile_packet": (streaming_profile([5]), ["stack_sample"]),
}


@pytest.mark.parametrize("field", DROPPED)
def test_items_of_a_dropped_packet_say_why(field):
    """Nothing is dropped in silence: its items have their rows, with the packet's reason."""
    message, kinds = DROPPED[field]
    data = trace(CLOCKS, packet(7, 200, 1, **{field: message}), event(2100))
    rows = [row for row in read(data) if row.packet == 1]
    assert [row.kind for row in rows] == ["packet", *kinds]
    assert {(row.trace_time, row.status) for row in rows} == {(None, UNKNOWN)}


# REALTIME is set back between the second and the third.
SET_BACK = [
    snapshot(
        dict.fromkeys((MONOTONIC, MONOTONIC_RAW, MONOTONIC_COARSE), at - 10**9)
        | {BOOTTIME: at, REALTIME: wall}
    )
    for at, wall in (
        (10**11, 17 * 10**11),
        (11 * 10**10, 171 * 10**10),
        (12 * 10**10, 165 * 10**10),
        (13 * 10**10, 166 * 10**10),
    )
]
OF_THEIR_OWN = {
    "ftrace_events": ftrace(
        [ftrace_event(105 * 10**9, gpu_start=104 * 10**9)], switches=[105 * 10**9]
    ),
    "power_rails": power_rails([105_000]),
    "profile_packet": heap_dumps([(105 * 10**9, None)]),
    "process_tree": process_tree([105 * 10**9]),
    "track_event": legacy(absolute_us=105 * 10**6),
}


@pytest.mark.parametrize("field", OF_THEIR_OWN)
def test_items_of_a_dropped_packet_are_placed_by_their_own_reading(field):
    found = []
    for clock in (REALTIME, BOOTTIME):
        one = packet(1705 * 10**9, clock, 1, **{field: OF_THEIR_OWN[field]})
        with opened(trace(*SET_BACK, one)) as read_trace:
            _, *rows = read_trace.read_all("tube").to_pylist()
        found.append([[row[name] for name in PLACING] for row in rows])
    dropped, placed_ones = found
    assert dropped == placed_ones
    assert dropped


@pytest.mark.parametrize(
    "field",
    [
        {"track_event": legacy(delta_us=5)},
        {"streaming_profile_packet": DROPPED["streaming_profile_packet"][0]},
    ],
)
def test_deltas_of_a_dropped_packet_have_no_reading(field):
    reference = packet(seq=1, cleared=True, thread_descriptor=thread_descriptor(105 * 10**6))
    data = trace(*SET_BACK, reference, packet(1705 * 10**9, REALTIME, 1, **field))
    with opened(data) as read_trace:
        _, row = read_trace.read_all("tube").to_pylist()
    assert (row["clock"], row["trace_time"], row["earliest"]) == (0, None, None)
    assert row["status"] == "non_monotonic_source"


@pytest.mark.parametrize("field", DROPPED)
def test_items_of_a_packet_put_aside_are_placed_with_it(field):
    message, kinds = DROPPED[field]
    late = snapshot({200: 7, BOOTTIME: 5000})
    data = trace(CLOCKS, packet(7, 200, 1, **{field: message}), event(2100), late)
    rows = [row for row in read(data) if row.packet == 1]
    assert [row.kind for row in rows] == ["packet", *kinds]
    assert all(row.trace_time is not None for row in rows)
    assert rows[0].trace_time == 5000


@pytest.mark.parametrize("field", DROPPED)
def test_a_skipped_packets_items_are_skipped_with_it(field):
    """The packet is not tokenized: there is one row, for its own timestamp."""
    message, _ = DROPPED[field]
    one = packet(7, 6, 1, needs_state=True, **{field: message})
    assert [(row.kind, row.status) for row in read(trace(CLOCKS, one))] == [("packet", SKIPPED)]


# Packets of several payloads, which a trace should not have


def test_of_several_payloads_the_first_that_is_taken_counts():
    """modules_by_field, in the order of the packet's fields, up to one that is not Ignored"""
    logs = packet(seq=1, android_log=android_log([1_002_005])).SerializeToString()
    rails = packet(power_rails=power_rails([3])).SerializeToString()
    tree = packet(process_tree=process_tree([5])).SerializeToString()
    assert [row.kind for row in read(trace(CLOCKS, logs + rails))] == ["android_log"]
    assert [row.kind for row in read(trace(CLOCKS, rails + logs))] == ["power_rail"]
    # A process tree leaves the packet to others; where one takes it, it is not parsed itself.
    assert [row.kind for row in read(trace(CLOCKS, tree + rails))] == ["power_rail"]
    assert [row.kind for row in read(trace(CLOCKS, tree))] == ["process_start"]


def test_what_hands_nothing_to_the_sorter_is_no_event_to_hand_on():
    """ModuleResult::Handled() without a push: trace_uuid and the like"""
    rounds = [
        packet(1, service_event=service_event(**{k: True})) for k in ("flushed", "flushed", "read")
    ] * 2
    late = [event(5, 200), snapshot({200: 0, BOOTTIME: 7000})]
    silent = packet(2100, seq=1, trace_uuid=pb.TraceUuid())
    assert placed(trace(CLOCKS, silent, *rounds, *late))[8] == 7005
    assert placed(trace(CLOCKS, event(2100), *rounds, *late))[8] == UNKNOWN
