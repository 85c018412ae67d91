"""Files merged into one Perfetto trace: where their events are, and what is kept apart."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import numpy as np
import pytest
from baked_traces import placed_by_twin
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    android_log,
    event,
    packet,
    pb,
    remote_sync,
    service_event,
    snapshot,
    trace,
)
from ctf_files import simple
from merge_worlds import kineto_ranks, trace_of
from merged_traces import LEFT_OUT, Merged, merged, merged_paths, wanted
from random_traces import nasty_trace
from reading import opened

import tracetime as tt
from tracetime._kernels.perfetto.bake import Renumberer
from tracetime.clocks.domain import ClockDomain

S = 1_000_000_000
NUMBERS = {BOOTTIME: "BOOTTIME", MONOTONIC: "MONOTONIC", REALTIME: "REALTIME"}


def track(uuid, name, pid, parent=0, seq=1):
    made = packet(seq=seq)
    made.track_descriptor.uuid = uuid
    made.track_descriptor.name = name
    if parent:
        made.track_descriptor.parent_uuid = parent
    elif pid:
        made.track_descriptor.process.pid = pid
        made.track_descriptor.process.process_name = name
    return made


def slice_of(name, at, dur, uuid, flow=None, clock=BOOTTIME, seq=1):
    begin, end = event(at, clock, seq), event(at + dur, clock, seq)
    begin.track_event.type, end.track_event.type = 1, 2
    begin.track_event.name = name
    for one in (begin, end):
        one.track_event.track_uuid = uuid
    if flow is not None:
        begin.track_event.flow_ids.append(flow)
    return begin, end


def own_trace(name, at, clock=BOOTTIME):
    """A process with a track within, slices on both, and a flow between them."""
    return trace(
        snapshot({BOOTTIME: at, clock: at}, primary=clock),
        packet(trace_uuid=pb.TraceUuid(msb=1, lsb=2)),
        track(7, f"process {name}", 1),
        track(8, f"track {name}", 1, parent=7),
        *slice_of(f"outer {name}", at + 10, 100, 7, 99, clock),
        *slice_of(f"inner {name}", at + 20, 50, 8, 99, clock),
        packet(at + 500, seq=1, service_event=service_event(flushed=True)),
        packet(at + 600, seq=1, service_event=service_event(read=True)),
    )


SYNC = "a:BOOTTIME=b:BOOTTIME+250ms+-1us"
# Seeds of random traces that are damaged, or whose trace clocks nothing can tie.
NOT_TIED = {0, 2, 5, 14, 22, 30, 32}


@pytest.fixture
def two(tmp_path) -> Merged:
    """Two traces of one make: b's BOOTTIME is 250 ms behind that of a."""
    return merged(tmp_path, {"a": own_trace("a", 5 * S), "b": own_trace("b", 6 * S)}, sync=[SYNC])


class TestKeptApart:
    def test_slices_are_on_their_own_tracks_at_their_own_times(self, two):
        table = two.slices().to_pylist()
        assert [
            (one["name"], one["ts"], one["dur"], one["track_name"], one["process_name"])
            for one in table
        ] == [
            ("outer a", 5 * S + 10, 100, "process a", "process a"),
            ("inner a", 5 * S + 20, 50, "track a", "process a"),
            ("outer b", 6 * S + 250_000_010, 100, "process b", "process b"),
            ("inner b", 6 * S + 250_000_020, 50, "track b", "process b"),
        ]
        assert [one["pid"] for one in table] == [1, 1, 1, 1]
        assert len({one["track"] for one in table}) == 4

    def test_no_number_of_one_file_is_one_of_the_other(self, two):
        by_machine = {0: [], 1: []}
        for one in two.packets:
            by_machine[one.machine_id].append(one)
        for numbers_of in (sequences, uuids, flows):
            here, there = (numbers_of(packets) for packets in by_machine.values())
            assert here
            assert there
            assert not here & there

    def test_numbers_of_one_file_stay_alike(self, two):
        events = [one.track_event for one in two.packets if one.machine_id == 1]
        events = [one for one in events if one.name]
        assert events[0].flow_ids == events[1].flow_ids
        tracks = [one.track_descriptor for one in two.packets if one.machine_id == 1]
        tracks = [one for one in tracks if one.uuid]
        assert tracks[1].parent_uuid == tracks[0].uuid == events[0].track_uuid
        assert events[1].track_uuid == tracks[1].uuid

    def test_what_is_of_a_file_alone_goes(self, two):
        assert not any(one.HasField("trace_uuid") for one in two.packets)
        assert not any(one.HasField("service_event") for one in two.packets)

    def test_machines_have_the_names_of_their_files(self, two):
        named = [
            (one.machine_id, one.system_info) for one in two.packets if one.HasField("system_info")
        ]
        assert [(machine, info.machine_name) for machine, info in named] == [(0, "a"), (1, "b")]

    def test_it_is_baked_by_the_tube_and_nothing_is_wrong_with_it(self, two):
        with opened(two.data) as merged:
            assert merged.baked_by == "tube"
            assert merged.trace_clock == tt.ClockId(BOOTTIME)
            assert merged.n_warnings == 0
            # The clocks are those of its files.
            assert [one.code for one in tt.diagnose(merged)] == ["no-realtime"]
        assert by_twin(two) == two.rows()


def by_twin(made):
    """What the plain importer places."""
    return [row for row in placed_by_twin(made.data) if row[1] not in LEFT_OUT]


def sequences(packets):
    return {one.trusted_packet_sequence_id for one in packets} - {0}


def uuids(packets):
    found = {one.track_event.track_uuid for one in packets}
    for one in packets:
        found |= {one.track_descriptor.uuid, one.track_descriptor.parent_uuid}
    return found - {0}


def flows(packets):
    return {flow for one in packets for flow in one.track_event.flow_ids}


def test_what_a_recorder_says_of_a_machine_is_said_once(tmp_path):
    info = packet(seq=1)
    info.system_info.utsname.sysname = "Linux"
    config = packet(seq=1, trace_config=pb.TraceConfig(write_into_file=True))
    started = packet(5 * S, seq=1, service_event=service_event())
    data = trace(snapshot({BOOTTIME: S}), info, config, started, event(5 * S, BOOTTIME))
    apart = merged(tmp_path, {"a": data, "b": data}, sync=[SYNC]).packets
    assert Counter(one.machine_id for one in apart if one.HasField("trace_config")) == {0: 1, 1: 1}
    assert Counter(one.machine_id for one in apart if one.HasField("service_event")) == {0: 1, 1: 1}
    infos = [one.system_info for one in apart if one.HasField("system_info")]
    assert [(one.machine_name, one.utsname.sysname) for one in infos] == [
        ("a", "Linux"),
        ("b", "Linux"),
    ]
    one_boot = merged(tmp_path, {"a": data, "b": data}, same=["a,b"]).packets
    assert [one.machine_id for one in one_boot if one.HasField("trace_config")] == [0]
    assert [one for one in one_boot if one.HasField("service_event")] == []
    infos = [one.system_info for one in one_boot if one.HasField("system_info")]
    assert [one.machine_name for one in infos] == ["a, b"]


def drifting(start, drift, clock, seed):
    """Snapshots of BOOTTIME and a clock that drifts, and events on that."""
    random = Random(seed)
    packets = []
    for second in range(20):
        true = start + second * S
        reading = true + round(second * S * drift) + 1_000_000
        packets.append(snapshot({BOOTTIME: true, clock: reading}, primary=clock))
        packets += [
            event(reading + k * 90_000_000 + random.randrange(1000), clock) for k in range(10)
        ]
    return trace(*packets)


def test_three_machines_with_trace_clocks_of_three_kinds(tmp_path):
    made = merged(
        tmp_path,
        {
            "a": drifting(50 * S, 0, BOOTTIME + 200, 1),
            "b": drifting(80 * S, 30e-6, MONOTONIC, 2),
            "c": drifting(20 * S, -80e-6, REALTIME, 3),
        },
        sync=[
            "a:BOOTTIME=b:BOOTTIME-30s+-1ms",
            "a:BOOTTIME=c:BOOTTIME+30s+-1ms",
        ],
    )
    with made.joined() as joined:
        assert [joined.files[n].home.clock for n in range(3)] == [206, MONOTONIC, REALTIME]
        assert made.report.written.clock == joined.boots.clock(0, tt.ClockId(BOOTTIME))
        assert made.rows() == wanted(joined)
    assert by_twin(made) == made.rows()
    with opened(made.data) as one:
        statuses = one.read_all()["status"].to_pylist()
        assert statuses == ["resolved"] * 600
        assert one.machines == [0, 1, 2]
    assert not any(file.unresolved or file.carried for file in made.report.written.files)
    clocks = [one for one in made.packets if one.machine_id and one.HasField("clock_snapshot")]
    assert clocks == []


def test_formats_of_many_kinds_in_one_trace(tmp_path):
    (tmp_path / "kernel").mkdir()
    folder = simple(5_000_000_000, 6_000_000_000).write(tmp_path / "kernel" / "trace")
    json_file, table, perfetto = tmp_path / "b.json", tmp_path / "c.csv", tmp_path / "a.pftrace"
    json_file.write_text(
        json.dumps([{"ph": "X", "name": "json", "ts": 5_000_000, "dur": 7, "pid": 1, "tid": 1}])
    )
    table.write_text("begin:MONOTONIC,end:MONOTONIC,name\n5000000100,5000000200,row\n")
    perfetto.write_bytes(own_trace("a", 5 * S))
    with tt.open_trace(folder) as one:
        ctf = one.clocks.name(one.trace_clock)
    made = merged_paths(
        tmp_path,
        [perfetto, json_file, table, folder],
        sync=[
            "a.pftrace:BOOTTIME=b.json:org.chromium.trace+1s+-1us",
            "a.pftrace:BOOTTIME=c.csv:MONOTONIC+2s+-1us",
            f"a.pftrace:BOOTTIME=trace:{ctf}+3s+-1us",
        ],
    )
    found = {one["name"]: (one["ts"], one["dur"]) for one in made.slices().to_pylist()}
    assert found["json"] == (6 * S, 7000)
    assert found["row"] == (7 * S + 100, 100)
    assert found["outer a"] == (5 * S + 10, 100)
    with opened(made.data) as one:
        assert one.machines == [0, 1, 2, 3]
    with made.joined() as joined:
        instants = [time for _, _, time in made.rows()]
        assert {time for _, _, time in wanted(joined)} <= set(instants)


def test_two_files_of_one_boot_share_their_machine_and_its_processes(tmp_path):
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1")
    other = trace_of(tmp_path / "b.pftrace", kernel="6.1", later_ns=100 * S)
    made = merged_paths(tmp_path, [one, other])
    assert {packet.machine_id for packet in made.packets} == {0}
    assert [file.machine for file in made.report.written.files] == [0, 0]
    with made.joined() as joined:
        assert made.rows() == wanted(joined)
    assert len(sequences(made.packets)) == 3  # and that of the head
    with opened(made.data) as trace:
        assert [one.code for one in tt.diagnose(trace)] == []


def test_the_rank_of_a_file_is_named_wherever_the_file_says_it(tmp_path):
    event = {"ph": "X", "name": "x" * 70_000, "ts": 5, "dur": 7, "pid": 1, "tid": 1}
    ranks = {"a": 3, "b": "3", "c": True, "d": -1, "e": 10**9}
    paths = [tmp_path / f"{name}.json" for name in ranks]
    for path, rank in zip(paths, ranks.values(), strict=True):
        said = {"traceEvents": [event], "distributedInfo": {"rank": rank, "world_size": 9}}
        path.write_text(json.dumps(said))
    clock = "REALTIME"
    syncs = [f"a.json:{clock}={path.name}:{clock}+0ms+-1ms" for path in paths[1:]]
    made = merged_paths(tmp_path, paths, sync=syncs)
    names = {one.system_info.machine_name for one in made.packets if one.HasField("system_info")}
    assert names == {"a.json (rank 3)", "b.json", "c.json", "d.json", "e.json"}


def test_ranks_are_named_and_where_their_collectives_put_them(tmp_path):
    world = kineto_ranks(tmp_path, 2)
    made = merged_paths(tmp_path, world.paths)
    names = [one.system_info.machine_name for one in made.packets if one.HasField("system_info")]
    assert names == [f"rank{n}.json (rank {n})" for n in range(4)]
    found = made.slices()
    assert found.num_rows == sum(len(json.loads(p.read_text())["traceEvents"]) for p in world.paths)
    assert min(found["dur"].to_pylist()) > 0
    ends = np.array(found["ts"]) + np.array(found["dur"])
    with made.joined() as joined:
        for number in range(4):
            low, high = joined.files[number].span
            at = joined.clocks.convert(
                np.array([low]), joined.home(number), joined.home(0), policy="tube"
            )
            assert at[0] in found["ts"].to_pylist()
    # All ranks leave a collective within 5 us.
    assert np.count_nonzero(np.diff(np.sort(ends)) < 50_000) > 0.7 * len(ends)


def test_events_before_time_0_are_counted_and_left_out(tmp_path):
    made = merged(
        tmp_path,
        {"a": own_trace("a", S), "b": own_trace("b", 2 * S)},
        sync=["a:BOOTTIME=b:BOOTTIME-3s+-1us"],
    )
    assert [file.early for file in made.report.written.files] == [0, 6]
    assert [one["name"] for one in made.slices().to_pylist()] == ["outer a", "inner a"]


def set_back_trace(walls, event_after, reading):
    """REALTIME that steps, and an event that it was read for; trace time is BOOTTIME."""
    snapshots = [
        snapshot({BOOTTIME: at * S, REALTIME: wall * S}, primary=BOOTTIME) for at, wall in walls
    ]
    read = event(reading * S, REALTIME)
    return trace(*snapshots[:event_after], read, *snapshots[event_after:])


@pytest.mark.parametrize(
    ("walls", "event_after", "reading", "times"),
    [
        # Floor places it within the bar: until the clock falls it goes by that.
        ([(100, 1700), (110, 1710), (120, 1650), (130, 1660)], 2, 1702, [102]),
        # The clock leaps, and falls later; floor, which knows of neither yet, is 250 s too late.
        ([(100, 1700), (120, 2000), (130, 2010), (140, 1990), (150, 2000)], 1, 2005, []),
    ],
)
def test_a_reading_of_two_instants_is_where_its_file_has_it_if_its_bar_allows(
    tmp_path, walls, event_after, reading, times
):
    data = set_back_trace(walls, event_after, reading)
    made = merged(
        tmp_path,
        {"a": trace(snapshot({BOOTTIME: S, MONOTONIC: S}), event(2 * S, BOOTTIME)), "b": data},
        sync=["a:BOOTTIME=b:BOOTTIME+0s+-1us"],
    )
    found = [time for *_, time in made.rows() if time > 10 * S]
    assert found == [time * S for time in times]
    file = made.report.written.files[1]
    assert (file.carried, file.unresolved) == (len(times), 1 - len(times))


def test_files_that_nothing_ties_leave_nothing(tmp_path):
    with pytest.raises(tt.UsageError, match="nothing ties b to a"):
        merged(tmp_path, {"a": own_trace("a", S), "b": own_trace("b", S)})
    assert not (tmp_path / "merged.pftrace").exists()


def test_a_damaged_file_leaves_nothing(tmp_path):
    with pytest.raises(tt.TraceError):
        merged(tmp_path, {"a": own_trace("a", S), "b": own_trace("b", S)[:-5]}, sync=[SYNC])
    assert [path.name for path in tmp_path.iterdir() if "merged" in path.name] == []


@pytest.mark.parametrize("seed", sorted(set(range(40)) - NOT_TIED))
def test_events_of_random_traces_are_where_the_joined_graph_has_them(tmp_path, seed):
    rng = Random(seed)
    first, second = nasty_trace(rng), nasty_trace(rng)
    names = []
    for data in (first, second):
        with opened(data) as one:
            one.read_all()
            names.append(str(one.trace_clock))
    made = merged(
        tmp_path,
        {"a": first, "b": second},
        sync=[f"a:{names[0]}=b:{names[1]}+1ms+-1us"],
        domains=[ClockDomain(name) for name in names if name.startswith("TSC")],
    )
    with made.joined() as joined:
        expected = Counter(wanted(joined))
    got = Counter(made.rows())
    more, less = got - expected, expected - got
    written = made.report.written.files
    moved = sum(
        f.moved * 2 + f.stamped + f.kept + f.rounded + f.set_aside + f.unresolved + f.early
        for f in written
    )
    assert more.total() <= moved, (more, less)
    assert less.total() <= moved, (more, less)
    assert by_twin(made) == made.rows()


def atrace(at, cpu=0):
    """A slice of atrace, of 10 ns."""
    made = packet(seq=3)
    made.ftrace_events.cpu = cpu
    for ns, line in ((at, "B|1|work"), (at + 10, "E|1")):
        one = made.ftrace_events.event.add(timestamp=ns, pid=1)
        one.print.buf = line
    return made


def test_when_tracing_of_one_file_began_leaves_the_ftrace_events_of_others(tmp_path):
    began = packet(5 * S, seq=1, service_event=service_event())
    late = trace(snapshot({BOOTTIME: 5 * S}), began, atrace(6 * S))
    early = trace(snapshot({BOOTTIME: S}), atrace(2 * S))
    for first, second in ((late, early), (early, late)):
        made = merged(tmp_path, {"a": first, "b": second}, sync=["a:BOOTTIME=b:BOOTTIME+0ms+-1us"])
        found = made.slices().to_pylist()
        assert [(one["ts"], one["dur"]) for one in found] == [(2 * S, 10), (6 * S, 10)]


HOSTILE = [
    b"",
    b"\x0a",
    b"\x0a\x05abc",
    b"\x0a\x02\x58\xff",
    b"\x0a\x03\x5a\x05\x58",
    b"\x0a\x04\x5a\x02\xfa\x01",
    b"\x0a\x06\x5a\x04\xfa\x01\x01\xff",
    b"\x0a\x08\x5a\x06\xfa\x02\x03\x01\x02\x03",
    b"\x0a\x05\x5a\x03\x32\x05\x40",
    b"\x0a\x04\xda\x03\x01\x5a",
    b"\x0a\x05\xe2\x07\x02\x12\x09",
    b"\x0a\x0b" + b"\x50" + b"\xff" * 10,
    b"\x12\x02ab",
]


@pytest.mark.parametrize("data", HOSTILE)
def test_malformed_messages_are_renumbered_up_to_where_they_are_malformed(data):
    for cut in range(len(data) + 1):
        numbers = Renumberer(1, 1, {0: b"a"}, {0})
        numbers.begin({0: 0})
        made = numbers.write(data[:cut])
        assert len(made) <= len(data) + 16
        numbers.end()


def test_packed_and_odd_numbers_are_renumbered():
    """Flows as varints and packed, tracks packed, as the schema does not have them."""
    event = b"\xf8\x02\x07" + b"\xfa\x01\x03\x05\x06\x05" + b"\xfa\x02\x08" + bytes([7, *[0] * 7])
    data = b"\x0a" + bytes([len(event) + 2]) + b"\x5a" + bytes([len(event)]) + event
    numbers = Renumberer(1, 1, {}, set())
    numbers.begin({0: 0})
    made = numbers.write(data)
    # Below 2^32, trace_processor has numbers of its own.
    first = b"\x80\x80\x80\x80\x10"
    expected = b"\xf8\x02" + first + b"\xfa\x01\x03\x01\x02\x01" + b"\xfa\x02\x08"
    assert made[4:] == expected + (1 << 32).to_bytes(8, "little")


def test_events_of_a_file_without_clocks_are_moved_to_the_clock_of_the_output(tmp_path):
    made = merged(
        tmp_path,
        {"a": own_trace("a", 5 * S), "b": trace(event(6 * S), event(7 * S))},
        sync=["a:BOOTTIME=b:TRACE_FILE+1s+-1us"],
    )
    there = [one for one in made.packets if one.machine_id and one.HasField("track_event")]
    assert [(one.timestamp, one.timestamp_clock_id) for one in there] == [
        (7 * S, BOOTTIME),
        (8 * S, BOOTTIME),
    ]
    assert by_twin(made) == made.rows()


def test_clocks_are_tied_on_the_machine_that_uses_them(tmp_path):
    """Of a file of two machines, the second has a log, whose times are REALTIME's."""
    walls = [snapshot({BOOTTIME: at * S, REALTIME: (at + 900) * S}, machine=5) for at in (5, 50)]
    log = packet(android_log=android_log([907 * S]), seq=1, machine=5)
    home = [snapshot({BOOTTIME: S}), event(2 * S, BOOTTIME)]
    synced = packet(
        remote_clock_sync=remote_sync(
            [({BOOTTIME: 6 * S + ns}, {BOOTTIME: 6 * S + ns + 9}) for ns in (0, 50, 99)]
        ),
        machine=5,
    )
    two = trace(*home, synced, walls[0], log, walls[1])
    made = merged(
        tmp_path, {"a": own_trace("a", 5 * S), "b": two}, sync=["a:BOOTTIME=b:BOOTTIME+0s+-1us"]
    )
    assert {one.machine_id for one in made.packets} == {0, 1, 2}
    (at,) = [time for kind, _, time in made.rows() if kind == "android_log"]
    assert abs(at - 7 * S) < 10_000
    assert by_twin(made) == made.rows()
