"""Files that are several recordings, and files out of order, are one finding each."""

import itertools

import pytest
from building import BOOTTIME, packet, pb, service_event, snapshot, trace
from corpus import DATA, NO_DATA, OWN
from faults import GPU, NIC, START, Model, S
from reading import opened

from tracetime import diagnose

OWN_TRACE = (OWN / "traces" / "chromium_small.pftrace",) * 3
TRACES = [
    "api32_startup_warm.perfetto-trace",
    "chromium_small.pftrace",
    "nowinandroid_trace.perfetto-trace",
    "rnjsbridge_trace_file.perfetto-trace",
    "mspt_androidGpu.pftrace",
]


def findings(data):
    with opened(data) as read:
        return diagnose(read)


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
        "recordings-joined", "warning", (len(recorded(0)),)
    )  # fmt: skip


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
def test_how_often_a_file_falls_back_is_told(parts, often):
    model = Model()
    model.arrange = lambda packets: [
        one
        for k in reversed(range(parts))
        for one in packets[k * len(packets) // parts : (k + 1) * len(packets) // parts]
    ]
    (found,) = (one for one in findings(model.build()) if one.code == "file-out-of-order")
    assert f"clocks fall back together {often}, by " in found.title
