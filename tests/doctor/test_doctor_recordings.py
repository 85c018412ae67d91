"""Files that are several recordings, and files out of order, are one finding each."""

import itertools
from dataclasses import replace

import pytest
from building import BOOTTIME, event, packet, pb, service_event, snapshot, trace
from corpus import DATA, NO_DATA, OWN
from diagnosed import findings
from faults import GPU, NIC, START, Model, S

from tracetime import Finding
from tracetime.doctor.catalogue import CATALOGUE

OWN_TRACE = (OWN / "traces" / "chromium_small.pftrace",) * 3
TRACES = [
    "api32_startup_warm.perfetto-trace",
    "chromium_small.pftrace",
    "nowinandroid_trace.perfetto-trace",
    "rnjsbridge_trace_file.perfetto-trace",
    "mspt_androidGpu.pftrace",
]


def packets_in(data):
    read = pb.Trace()
    read.ParseFromString(data)
    return len(read.packet)


@pytest.mark.parametrize("names", [*itertools.product(TRACES, TRACES), TRACES[:3], OWN_TRACE])
def test_real_traces_joined(names):
    paths = [DATA / "traces" / name for name in names]
    if not all(path.is_file() for path in paths):
        pytest.skip(NO_DATA)
    parts = [path.read_bytes() for path in paths]
    found = [finding for finding in findings(b"".join(parts)) if finding.severity != "info"]
    ends = list(itertools.accumulate(packets_in(part) for part in parts[:-1]))
    sizes = itertools.accumulate(len(part) for part in parts[:-1])
    assert [finding.code for finding in found] == ["recordings-joined"]
    assert found[0].packets == tuple(ends)
    assert f"{len(parts)} recordings joined at packet" in found[0].title
    assert all(f"{size:,}" in found[0].fix for size in sizes)


def begun(config=True):
    """What a recorder writes at its begin."""
    made = [packet(trace_uuid=pb.TraceUuid(msb=1, lsb=2))]
    return [*made, packet(trace_config=pb.TraceConfig())] if config else made


@pytest.mark.parametrize("config", [False, True])
def test_a_recorder_says_that_it_begins_though_clocks_go_on(config):
    def recorded(start):
        readings = {BOOTTIME: start, NIC: start + 77 * S}
        return [snapshot(readings), *begun(config), packet(service_event=service_event())]

    data = trace(*recorded(START), *recorded(START + S))
    found = findings(data)[0]
    assert (found.code, found.severity, found.packets) == (
        "recordings-joined",
        "warning",
        (len(recorded(0)),),
    )


def test_machines_of_one_trace_each_say_what_they_are():
    system = [packet(machine=m, system_info=pb.SystemInfo()) for m in (None, 5, 6)]
    data = trace(snapshot({BOOTTIME: START, NIC: S}), *begun(), *system)
    assert "recordings-joined" not in {finding.code for finding in findings(data)}


def test_counters_that_wrap_together_are_no_second_recording():
    model = Model()
    for clock in (GPU, NIC, 64):
        model.reads[clock] = lambda t: (t - START) % 2**33
    model.units = {}
    codes = {finding.code for finding in findings(model.build())}
    assert not codes & {"recordings-joined", "file-out-of-order"}
    assert "counter-wraps" in codes


def test_a_resume_that_resets_devices_and_corrects_the_wall_clock_is_no_second_recording():
    model = Model()
    woke, slept = model.time(20), 8 * 3600 * S
    stopped = {3: 0, 5: 0, GPU: -model.reads[GPU](woke), NIC: -model.reads[NIC](woke)}
    for clock, read in list(model.reads.items()):
        by = stopped.get(clock, slept // model.units.get(clock, 1)) + (clock == 1) * 3 * S
        model.reads[clock] = lambda t, read=read, by=by: read(t) + (t >= woke) * by
    codes = {finding.code for finding in findings(model.build())}
    assert not codes & {"recordings-joined", "file-out-of-order"}


def test_what_snapshots_never_held_is_lost_in_any_order():
    model = Model()
    model.arrange = lambda parts: parts[30:] + parts[:30]
    model.event_clocks.append(0x9999_0001)
    codes = [finding.code for finding in findings(model.build())]
    assert sorted(codes) == ["clock-without-snapshot", "file-out-of-order"]


@pytest.mark.parametrize(("parts", "often"), [(2, "once"), (3, "2 times")])
def test_how_often_a_file_falls_back_is_reported(parts, often):
    model = Model()
    model.arrange = lambda packets: [
        one
        for k in reversed(range(parts))
        for one in packets[k * len(packets) // parts : (k + 1) * len(packets) // parts]
    ]
    (found,) = (one for one in findings(model.build()) if one.code == "file-out-of-order")
    assert f"clocks go backwards together {often}, by " in found.title


CODES = {"recordings-joined", "file-out-of-order", "machines-mixed"}


def whole(data):
    """What is said of recordings, without what follows from it."""
    return [replace(one, consequences=()) for one in findings(data) if one.code in CODES]


def recorded(start, apart=0, n=2):
    """Snapshots a second apart, an event after each."""
    return [
        one
        for k in range(n)
        for one in (
            snapshot({BOOTTIME: start + k * S, NIC: start + 77 * S + k * S + apart}),
            event(start + k * S + 5),
        )
    ]


def joined(title, packets, split, fall_ns=None):
    return Finding(
        code="recordings-joined",
        severity="warning",
        title=title,
        packets=packets,
        worst_ns=fall_ns,
        why=CATALOGUE["recordings-joined"].why,
        fix=f"Split the file{split} (`tracetime split`), and convert each recording alone.",
    )


AT = " at byte {} of the uncompressed file"


@pytest.mark.parametrize(
    ("n", "title", "split"),
    [
        (2, "2 recordings joined at packet 4", AT.format("62")),
        (3, "3 recordings joined at packets 4, 8", AT.format("62, 124")),
        (5, "5 recordings joined at packets 4, 8, 12, 16", AT.format("62, 124, 186, 248")),
        (
            6,
            "6 recordings joined at packets 4, 8, 12, 16 and 1 more",
            AT.format("62, 124, 186, 248"),
        ),
        (
            300,
            "300 recordings joined at packets 4, 8, 12, 16 and 295 more",
            AT.format("62, 124, 186, 248"),
        ),
    ],
)
def test_recordings_are_reported_with_where_to_split_the_file(n, title, split):
    parts = [trace(*begun(), *recorded(START + k * S, n=1)) for k in range(n)]
    assert len(parts[0]) == 62
    at = tuple(range(4, 4 * n, 4))[:10]
    assert whole(b"".join(parts)) == [joined(title, at, split)]


def test_recordings_that_only_their_clocks_distinguish_say_by_how_much_these_fall():
    first, second = trace(*recorded(START)), trace(*recorded(START - 9 * S, -40 * S))
    assert whole(first + second) == [
        joined("2 recordings joined at packet 4", (4,), AT.format(f"{len(first)}"), 50 * S)
    ]
    cut = packet(first_packet_on_sequence=True)
    assert whole(trace(cut) * 3 + first + trace(cut) + second) == [
        joined(
            "2 recordings joined at packet 8",
            (8,),
            AT.format(f"{len(first) + 4 * len(trace(cut))}"),
            50 * S,
        )
    ]


def test_of_recordings_ahead_of_each_other_no_clock_falls():
    parts = []
    for ahead in (0, 1):
        clocks = {6: 9 * S, 1: 400 * S, 5: 50 * S, 3: 7_000 * S}
        at = {clock: START + k * ahead * 200 * S for k, clock in enumerate(clocks)}
        parts.append(trace(snapshot({clock: value + ahead * S for clock, value in at.items()})))
    assert whole(b"".join(parts)) == [
        joined("2 recordings joined at packet 1", (1,), AT.format(f"{len(parts[0])}"))
    ]


@pytest.mark.parametrize(
    ("starts", "how_often", "packets", "fall_ns"),
    [
        ((0, -3), "once, by 5 s", (6,), 5 * S),
        ((0, -3, -6), "2 times, by up to 5 s", (6, 12), 5 * S),
        ((-3, -6, 0), "once, by 5 s", (6,), 5 * S),
        ((3, 6, 0, -3), "2 times, by up to 8 s", (12, 18), 8 * S),
    ],
)
def test_parts_in_another_order_are_reported_with_what_perfetto_makes_of_them(
    starts, how_often, packets, fall_ns
):
    data = trace(*[one for start in starts for one in recorded(START + start * S, n=3)])
    assert whole(data) == [
        Finding(
            code="file-out-of-order",
            severity="warning",
            title=f"the file is out of order: clocks go backwards together {how_often}",
            packets=packets,
            worst_ns=fall_ns,
            why=CATALOGUE["file-out-of-order"].why,
            fix=CATALOGUE["file-out-of-order"].fix,
        )
    ]


def of_two_machines(order, ahead_ns, machine=7):
    """Snapshots of a machine that is named (n) and of one that is not (u), a second apart."""
    snapshots = []
    for k, who in enumerate(order):
        at = START + k * S + (who == "u") * ahead_ns
        snapshots.append(snapshot({BOOTTIME: at}, machine=machine if who == "n" else None))
    return trace(
        *snapshots, packet(machine=9, clock_snapshot=snapshot({BOOTTIME: 5}).clock_snapshot)
    )


FALL = S + 1_000_001


@pytest.mark.parametrize(
    ("order", "ahead_ns", "at", "fall_ns"),
    [
        ("nun", FALL, 1, 1_000_001),
        ("nun", FALL - 1, None, None),
        ("nnuunn", FALL, 2, 1_000_001),
        ("nununu", FALL + 5, 1, 1_000_006),
        ("nu", FALL, None, None),
        ("nnuu", FALL, None, None),
        ("nun", -2 * S - FALL, 1, FALL + S),
        ("unu", FALL, None, None),
    ],
)
def test_machines_taken_for_one_alternate(order, ahead_ns, at, fall_ns):
    title = "two machines are read as one: packets that name no machine count as machine_id 7's"
    expected = Finding(
        code="machines-mixed",
        severity="warning",
        title=title,
        packets=(at,),
        worst_ns=fall_ns,
        why=CATALOGUE["machines-mixed"].why,
        fix=CATALOGUE["machines-mixed"].fix,
    )
    reported = [one for one in whole(of_two_machines(order, ahead_ns)) if one.code == expected.code]
    assert reported == ([] if at is None else [expected])


def test_a_machine_whose_own_clocks_fall_is_not_taken_for_two():
    reads = [("n", 0), ("u", 9), ("n", 5), ("n", 3), ("n", 12)]
    data = trace(
        *(
            snapshot({BOOTTIME: START + at * S}, machine=7 if who == "n" else None)
            for who, at in reads
        )
    )
    assert [one.code for one in whole(data)] == ["machines-mixed"]
    reads = [("n", 9), ("n", 8), ("u", 10), ("n", 11)]
    data = trace(
        *(
            snapshot({BOOTTIME: START + at * S}, machine=7 if who == "n" else None)
            for who, at in reads
        )
    )
    assert whole(data) == []
