"""Baked traces: Perfetto's rule puts every event where the policy does."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest
from baked_traces import baked, check_moves, drawn_by, placed_by_twin, rows_by, times
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    REALTIME,
    android_log,
    compressed,
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
)
from corpus import files
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from random_traces import traces
from reading import opened

import tracetime as tt
from tracetime import TraceError, UsageError
from tracetime.verbs.bake import bake

TRACES = files("traces/*")
S = 10**9

CLOCKS = {"BOOTTIME": BOOTTIME, "MONOTONIC": MONOTONIC, "REALTIME": REALTIME, "none": None}

# What each clock reads when BOOTTIME reads 0.
AHEAD = {
    REALTIME: 1_700_000_000 * S + 1_000_001,
    MONOTONIC: -3 * S - 17,
    MONOTONIC_COARSE: -3 * S - 4_000_000,
    MONOTONIC_RAW: -3 * S + 5_000_000,
    BOOTTIME: 0,
}


def reading(clock: int, boot_ns: int) -> int:
    """Clocks that gain on BOOTTIME, each by its own rate."""
    gained = (boot_ns - 100 * S) * clock // 10**6
    return boot_ns + AHEAD[clock] + (gained if clock != BOOTTIME else 0)


def snapshots(primary: int | None, clocks=tuple(AHEAD)):
    return [
        snapshot({clock: reading(clock, at * S) for clock in clocks}, primary=primary)
        for at in (100, 110, 120)
    ]


AT = [105 * S + 1234, 105 * S + 9_876_543]
MONO = [reading(MONOTONIC, at) for at in AT]
SEQUENCE_CLOCK = snapshot({64: 7, BOOTTIME: 104 * S}, seq=1)
INCREMENTAL = snapshot({64: (7, 1, True), BOOTTIME: 104 * S}, seq=1)

# By what is within them, packets that follow the first snapshots.
INSIDE = {
    "ftrace": [packet(seq=1, ftrace_events=ftrace(AT, switches=AT, wakings=AT[::-1]))],
    "ftrace by its own clock": [
        packet(seq=1, ftrace_events=ftrace([50], clock=2, snapshot=(40, AT[0]), switches=[45, 49]))
    ],
    "ftrace by MONOTONIC_RAW": [
        packet(seq=1, ftrace_events=ftrace([reading(MONOTONIC_RAW, at) for at in AT], clock=4))
    ],
    "gpu_work_period": [
        packet(
            seq=1,
            ftrace_events=ftrace(
                [ftrace_event(AT[0], gpu_start=reading(MONOTONIC_RAW, AT[1] - 5000))]
            ),
        )
    ],
    "android_log": [packet(seq=1, android_log=android_log([reading(REALTIME, at) for at in AT]))],
    "statsd": [packet(AT[0], BOOTTIME, 1, statsd_atom=statsd(AT))],
    "etw": [packet(AT[0], BOOTTIME, 1, etw_events=etw(AT))],
    "heap dumps": [
        packet(
            AT[0],
            BOOTTIME,
            1,
            profile_packet=heap_dumps([(reading(MONOTONIC_COARSE, AT[0]), MONO[1]), (None, None)]),
        )
    ],
    "process_tree": [packet(AT[0], BOOTTIME, 1, process_tree=process_tree([*AT, None]))],
    "power_rails": [packet(AT[0], BOOTTIME, 1, power_rails=power_rails([105_001]))],
    "legacy": [
        packet(seq=1, cleared=True, thread_descriptor=thread_descriptor(MONO[0] // 1000)),
        packet(seq=1, track_event=legacy(delta_us=7)),
        packet(seq=1, track_event=legacy(delta_us=8)),
        packet(seq=1, track_event=legacy(absolute_us=MONO[1] // 1000)),
    ],
    "streaming_profile": [
        packet(seq=1, cleared=True, thread_descriptor=thread_descriptor(MONO[0] // 1000)),
        packet(seq=1, track_event=legacy(delta_us=7)),
        packet(seq=1, streaming_profile_packet=streaming_profile([5, 6, 7])),
        packet(seq=1, streaming_profile_packet=streaming_profile([5, 6, 7], samples=2)),
        packet(seq=1, streaming_profile_packet=streaming_profile([1])),
    ],
    "streaming_profile after tracks that Perfetto leaves out": [
        packet(seq=1, cleared=True, track_descriptor=thread_track(MONO[0] // 1000)),
        packet(seq=1, track_descriptor=thread_track(5, uuid=None)),
        packet(seq=1, track_descriptor=pb.TrackDescriptor(uuid=7, thread={})),
        packet(seq=1, streaming_profile_packet=streaming_profile([5, 6, 7])),
    ],
    "streaming_profile after payloads that end their packet": [
        packet(seq=1, cleared=True, thread_descriptor=thread_descriptor(MONO[0] // 1000)),
        *(
            payload.SerializeToString()
            + packet(track_descriptor=thread_track(5)).SerializeToString()
            for payload in (packet(seq=1, cpu_info=pb.CpuInfo()), event(seq=1))
        ),
        packet(seq=1, streaming_profile_packet=streaming_profile([5, 6, 7])),
    ],
    "service_event": [packet(MONO[0], MONOTONIC, service_event=service_event())],
    "service_event without a clock": [packet(AT[0], service_event=service_event())],
    "chrome_events": [packet(MONO[0], seq=1, chrome_events=pb.ChromeEventBundle())],
    "defaults": [packet(seq=1, cleared=True, default_clock=MONOTONIC), event(MONO[0])],
    "a sequence's clock": [SEQUENCE_CLOCK, event(1_000_000_123, 64)],
    "an incremental clock": [INCREMENTAL, event(1000, 64), event(23, 64)],
    "an incremental clock on a lossy sequence": [
        INCREMENTAL,
        event(1000, 64, cleared=True),
        event(23, 64, dropped=1, needs_state=True),
        event(24, 64),
    ],
    "put aside": [event(5, 64, seq=9), snapshot({64: 7, BOOTTIME: 104 * S}, seq=9)],
    "never placed": [event(5, 64, seq=9), event(MONO[0], 2, seq=9), event(AT[0], BOOTTIME)],
} | {
    f"compressed by {codec}": [
        compressed([event(MONO[0], MONOTONIC)], codec),
        compressed([event(AT[0], BOOTTIME)], codec),
    ]
    for codec in ("zlib", "gzip", "zstd")
}
# Their fields hold whole ms and us.
COARSE = {"power_rails"} | {name for name in INSIDE if name.startswith("streaming_profile")}


def n_faults(data: bytes) -> int:
    """How many snapshots Perfetto cannot take whole."""
    with opened(data) as one:
        return len(one.faults)


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("inside", INSIDE)
def test_every_timestamp_is_where_the_policy_puts_it(inside, clock, policy):
    if clock == "none":
        first, last = [], []
    else:
        first, *last = snapshots(CLOCKS[clock])
        first = [first]
    data = trace(*first, *INSIDE[inside], *last)
    wanted = drawn_by(data, policy)
    made, summary = baked(data, policy)
    got = placed_by_twin(made)
    if inside in COARSE and summary.rounded:
        assert len(got) == len(wanted)
        off = np.abs(np.subtract(sorted(r[2] for r in got), sorted(r[2] for r in wanted)))
        assert off.max() == summary.worst_rounding_ns <= 500_000
        assert np.count_nonzero(off) == summary.rounded
    else:
        assert not summary.rounded
        assert times(got) == times(wanted)
    pb.Trace.FromString(made)
    assert n_faults(made) == 0
    assert baked(made, policy).data == made


@pytest.mark.parametrize("inside", INSIDE)
def test_events_are_baked_at_all(inside):
    first, *last = snapshots(MONOTONIC)
    data = trace(first, *INSIDE[inside], *last)
    assert rows_by(data, "floor")
    assert baked(data).data != data


def test_packets_name_the_trace_clock_and_defaults_none():
    first, *_ = snapshots(BOOTTIME)
    data = trace(first, *INSIDE["defaults"])
    _, _, defaults, one = pb.Trace.FromString(baked(data, strip=True).data).packet
    assert not defaults.trace_packet_defaults.HasField("timestamp_clock_id")
    assert one.timestamp_clock_id == BOOTTIME


def test_snapshots_keep_the_trace_clock_and_realtime():
    made = baked(
        trace(*snapshots(MONOTONIC)[:2], snapshot({6: 1, 3: reading(3, 130 * S)}, primary=3))
    ).data
    packets = pb.Trace.FromString(made).packet
    kept = [p.clock_snapshot for p in packets if p.HasField("clock_snapshot")]
    assert [[c.clock_id for c in one.clocks] for one in kept] == [[MONOTONIC, REALTIME]] * 2
    assert [one.primary_trace_clock for one in kept] == [MONOTONIC] * 2


def test_the_mark_of_a_policy_that_nobody_knows_is_none():
    first, *rest = snapshots(BOOTTIME)
    mark = b"\xa2\xe9\x04\x02\x40\x03"
    data = trace(first.SerializeToString() + mark, event(MONO[0], MONOTONIC), *rest)
    once = baked(data).data
    with opened(once) as made:
        assert made.trace_clock == tt.ClockId(BOOTTIME)
    assert baked(once).data == once


def test_of_a_snapshot_packet_the_state_of_its_sequence_stays():
    first, *_ = snapshots(BOOTTIME)
    more = snapshot({MONOTONIC: 5, 4: 6}, seq=3, cleared=True)
    made = pb.Trace.FromString(baked(trace(first, more)).data).packet
    assert made[-1].sequence_flags == 1
    assert not made[-1].HasField("clock_snapshot")


def test_unknown_fields_and_interned_data_stay_byte_for_byte():
    one = event(MONO[0], MONOTONIC)
    one.interned_data.event_names.add(iid=1, name="a")
    unknown = b"\xfa\xff\x3e\x03abc"
    data = trace(*snapshots(MONOTONIC), one.SerializeToString() + unknown)
    assert one.SerializeToString() + unknown in baked(data).data


def test_bounds_of_ftrace_buffers_go_with_their_events():
    at = [reading(MONOTONIC_RAW, one) for one in AT]
    bundle = ftrace(at, clock=4, last_read=at[0] - 10, previous_end=at[0] - 20)
    data = trace(*snapshots(BOOTTIME), packet(seq=1, ftrace_events=bundle))
    made = pb.Trace.FromString(baked(data, strip=True).data).packet[-1].ftrace_events
    assert made.event[0].timestamp - made.last_read_event_timestamp == 10
    assert made.event[0].timestamp - made.previous_bundle_end_timestamp == 20
    assert not made.HasField("ftrace_clock")


def test_an_event_without_trace_time_is_not_placed_wrongly():
    bundle = ftrace([5, 6], clock=2)
    unknown = packet(seq=1, ftrace_events=bundle)
    data = trace(snapshot({MONOTONIC: 5, REALTIME: 5}, primary=MONOTONIC), unknown)
    made, summary = baked(data)
    assert summary.set_aside == 2
    assert placed_by_twin(made) == []


def test_the_summary_counts_what_a_field_cannot_hold():
    data = trace(*snapshots(MONOTONIC), *INSIDE["power_rails"])
    summary = baked(data).summary
    assert (summary.rounded, summary.moved) == (1, 0)
    assert 0 < summary.worst_rounding_ns <= 500_000


def test_an_item_without_a_timestamp_goes_with_its_packet():
    rails = packet(MONO[0], MONOTONIC, 1, power_rails=power_rails([None, 105_000]))
    data = trace(*snapshots(BOOTTIME), rails)
    for policy in ("floor", "tube"):
        got = placed_by_twin(baked(data, policy).data)
        assert [time for *_, time in got] == [got[0][2], got[0][2], 105 * S]
        assert got[0] == rows_by(data, policy)[0]


ITEMS = {
    "statsd_atom": statsd([106 * S], atoms=3),
    "power_rails": power_rails([106_000, None, None]),
}


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("name", ITEMS)
def test_items_with_their_packets_time_are_placed_as_their_packet(name, policy):
    data = trace(*snapshots(BOOTTIME), packet(MONO[0], MONOTONIC, 1, **{name: ITEMS[name]}))
    wanted = rows_by(data, policy)
    assert [time for *_, time in wanted] == [wanted[0][2], 106 * S, wanted[0][2], wanted[0][2]]
    assert placed_by_twin(baked(data, policy).data) == wanted


@pytest.mark.parametrize("name", ITEMS)
def test_what_the_tube_cannot_place_stays_where_floor_puts_it(name):
    # Of a clock that is read once the tube knows no rate.
    read_once = snapshot({9: 7, BOOTTIME: 104 * S})
    data = trace(*snapshots(BOOTTIME), read_once, packet(1000, 9, 1, **{name: ITEMS[name]}))
    assert [time for *_, time in rows_by(data, "tube")] == [106 * S]
    made, summary = baked(data, "tube")
    assert summary.as_floor == 3
    assert not summary.unresolved
    assert not summary.set_aside
    assert placed_by_twin(made) == rows_by(data, "floor")
    assert baked(data).summary.as_floor == 0


# REALTIME is set back between the second and the third; its reading 1900 s can only be after that.
SET_BACK = [
    snapshot({BOOTTIME: at * S, REALTIME: wall * S})
    for at, wall in ((100, 1700), (110, 1710), (120, 1650), (130, 1660))
]


def test_a_reading_of_two_instants_stays_where_floor_puts_it():
    # Until the clock falls floor places by it.
    data = trace(*SET_BACK[:2], packet(1702 * S, REALTIME, 1), *SET_BACK[2:])
    assert rows_by(data, "tube") == []
    made, summary = baked(data, "tube")
    assert (summary.as_floor, summary.unresolved) == (1, 0)
    assert placed_by_twin(made) == rows_by(data, "floor") != []


def test_but_not_where_its_bar_excludes_that():
    # REALTIME leaps, and falls later: it reads 2005 s twice, of which floor knows nothing yet.
    first, *later = [
        snapshot({BOOTTIME: at * S, REALTIME: wall * S})
        for at, wall in ((100, 1700), (120, 2000), (130, 2010), (140, 1990), (150, 2000))
    ]
    data = trace(first, packet(2005 * S, REALTIME, 1), *later)
    assert [time for *_, time in rows_by(data, "floor")] == [405 * S]
    with opened(data) as opened_trace:
        (row,) = opened_trace.read_all("tube").to_pylist()
    assert row["earliest"] < row["latest"] < 405 * S
    made, summary = baked(data, "tube")
    assert (summary.as_floor, summary.unresolved) == (0, 1)
    assert placed_by_twin(made) == []


def test_a_delta_whose_reference_came_too_late_stays_unplaced():
    # The thread descriptor is put aside until its clock is read.
    reference = packet(5, 200, 1, cleared=True, thread_descriptor=thread_descriptor(7))
    delta = packet(AT[0], BOOTTIME, 1, track_event=legacy(delta_us=7))
    late = snapshot({200: 7, BOOTTIME: 104 * S})
    data = trace(*snapshots(BOOTTIME), reference, delta, late)
    made = baked(data)
    check_moves(rows_by(data, "floor"), made)
    assert [kind for kind, *_ in placed_by_twin(made.data)] == ["packet"]


@pytest.mark.parametrize(
    ("items", "kinds"),
    [
        ({"statsd_atom": statsd([106 * S], atoms=2)}, ["packet", "statsd_atom"]),
        ({"etw_events": etw([106 * S])}, ["packet"]),
        ({"power_rails": power_rails([106_000, None])}, ["packet", "power_rail", "power_rail"]),
        ({"ftrace_events": ftrace([105 * S])}, ["packet", "ftrace_event"]),
    ],
    ids=lambda one: next(iter(one)),
)
def test_items_that_floor_drops_with_a_packet_that_the_tube_places(items, kinds):
    data = trace(*SET_BACK, packet(1900 * S, REALTIME, 1, **items))
    assert rows_by(data, "floor") == []
    wanted = rows_by(data, "tube")
    assert [kind for kind, *_ in wanted] == kinds
    made, summary = baked(data, "tube")
    assert placed_by_twin(made) == wanted
    with opened(data) as opened_trace:
        assert summary.set_aside == len(opened_trace.read_all()) - len(wanted)


@pytest.mark.parametrize(("policy", "n"), [("floor", 0), ("tube", 1)])
def test_descriptors_of_threads_that_only_the_tube_places_are_counted(policy, n):
    late, known = (
        packet(at * S, clock, 1, thread_descriptor=thread_descriptor(7))
        for at, clock in ((1900, REALTIME), (125, BOOTTIME))
    )
    assert baked(trace(*SET_BACK, late, known), policy).summary.late_descriptors == n


@pytest.mark.parametrize("clock", [REALTIME, 200])
def test_a_bundle_of_an_impossible_cpu_stays_one_that_perfetto_drops(clock):
    """Perfetto ends where such a bundle has a time; by the tube the packet, or its event, has one."""
    bundle = ftrace([105 * S], cpu=1024)
    alone = snapshot({200: 1900 * S})
    data = trace(*SET_BACK, alone, packet(1900 * S, clock, 1, ftrace_events=bundle))
    made, summary = baked(data, "tube")
    assert rows_by(data, "tube")
    assert placed_by_twin(made) == []
    assert summary.unresolved == 2


def test_a_compressed_file_is_baked_whole(tmp_path):
    data = trace(*snapshots(MONOTONIC), *INSIDE["compressed by zlib"])
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(data))
    with tt.open_trace(path) as opened_trace:
        bake(opened_trace, tmp_path / "out.pftrace", policy="floor", strip=True)
    assert (tmp_path / "out.pftrace").read_bytes() == baked(data, strip=True).data


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_real_traces_are_the_same_by_floor(path, tmp_path):
    out = tmp_path / "out.pftrace"
    columns = {"kind": pa.string(), "payload": pa.string(), "trace_time": pa.int64()}
    with tt.open_trace(path) as opened_trace:
        wanted = opened_trace.read_all()
        clock = opened_trace.trace_clock
        summary = bake(opened_trace, out, policy="floor")
    with tt.open_trace(out) as opened_trace:
        assert opened_trace.trace_clock == clock
        assert opened_trace.baked_by == "floor"
        got = opened_trace.read_all()
    assert not summary.rounded
    # The packet takes the time of the event within, which no field in ms holds.
    assert summary.moved == ("multi_device" in path.name)
    for name, kind in columns.items():
        assert got[name].cast(kind) == wanted[name].cast(kind)
    pb.Trace.FromString(out.read_bytes())


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_slices_are_the_same(path, tmp_path):
    out = tmp_path / "out.pftrace"
    with tt.open_trace(path) as opened_trace:
        wanted = opened_trace.slices().read_all()
        bake(opened_trace, out, policy="floor")
    with tt.open_trace(out) as opened_trace:
        got = opened_trace.slices().read_all()
    same = [name for name in wanted.column_names if "clock" not in name]
    assert got.select(same).equals(wanted.select(same))


@settings(max_examples=150)
@given(traces())
def test_any_trace_is_baked_as_floor_places_it(data):
    try:
        made = baked(data)
        # The twin reads by these classes, which refuse parts that nobody else looks at.
        pb.Trace.FromString(data)
    except (TraceError, UsageError, DecodeError):
        return
    check_moves(rows_by(data, "floor"), made)
    assert n_faults(made.data) <= n_faults(data)
    assert baked(made.data).data == made.data


def test_a_baked_trace_is_copied_whatever_holds_it():
    data = trace(*snapshots(BOOTTIME), event(MONO[0], MONOTONIC), event(5, 9))
    made = baked(data, "tube").data
    again = baked(gzip.compress(made), "floor")
    assert again.data == made
    assert (again.summary.unresolved, again.summary.as_floor) == (1, 0)
    inside = baked(trace(compressed(pb.Trace.FromString(made).packet)), "floor")
    assert inside.data == made


def test_a_trace_clock_of_a_packet_sequence_is_refused():
    with pytest.raises(UsageError, match="of a packet sequence"):
        baked(trace(snapshot({64: 5, BOOTTIME: 6}, seq=1, primary=64)))


def test_nothing_is_left_of_a_file_that_fails(tmp_path):
    path = tmp_path / "cut.pftrace"
    path.write_bytes(trace(*snapshots(BOOTTIME), event(1, BOOTTIME))[:-3])
    with tt.open_trace(path) as cut, pytest.raises(TraceError):
        bake(cut, tmp_path / "out.pftrace", policy="floor")
    assert [one.name for one in tmp_path.iterdir()] == ["cut.pftrace"]
