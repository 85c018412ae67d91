"""The clocks of a graph by the names that people give: declared names, and those of recordings."""

import pytest

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, UsageError
from tracetime.clocks.ids import clock_id

TSC, TAI, VULKAN = (f"dev.tracetime.{name}" for name in ("tsc", "tai", "vulkan.00aa"))
GPU = ClockId(clock_id("com.example.gpu"))


def graph_of(*names, **readings):
    graph = ClockGraph(domains=[ClockDomain(name) for name in names])
    graph.add_snapshot({"BOOTTIME": 100, **readings, **dict.fromkeys(names, 1000)})
    return graph


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("TSC", TSC),
        ("tsc", TSC),
        (" TAI ", TAI),
        ("vulkan", VULKAN),
        ("vulkan:0", VULKAN),
        ("Vulkan:1", VULKAN),
        (TSC, TSC),
        ("boottime", "BOOTTIME"),
    ],
)
def test_short_names_are_clocks_of_a_recording(text, name):
    graph = graph_of(TSC, TAI, VULKAN)
    assert graph.clock(text) == ClockId.parse(name)
    expected = 105 if name == "BOOTTIME" else 1005
    assert graph.convert(105, "BOOTTIME", text) == expected
    assert graph.explain(105, "BOOTTIME", text).result == expected
    assert graph.path(text, "BOOTTIME")[0] == ClockId.parse(name)
    assert graph.order((105, "BOOTTIME"), (expected, text)) == 0


@pytest.mark.parametrize("text", ["opencl", "opencl:0", "OpenCL:0", "opencl:1"])
def test_the_devices_of_a_recording(text):
    opencl, *ptp = (f"dev.tracetime.{name}" for name in ("opencl.00aa", "ptp.0", "ptp.1"))
    graph = graph_of(opencl, *ptp, VULKAN)
    assert graph.clock(text) == ClockId.parse(opencl)
    assert graph.clock(text, known=True) == ClockId.parse(opencl)
    assert graph.convert(105, "BOOTTIME", text) == 1005
    for number, name in enumerate(ptp):
        assert graph.clock(f"ptp:{number}") == ClockId.parse(name)
    with pytest.raises(UsageError, match=r"may be any of ptp:0, "):
        graph.clock("ptp")
    # One of a number that is not there is none of these.
    with pytest.raises(UsageError, match="'ptp:2' is not a clock"):
        graph.clock("ptp:2")


def test_a_clock_of_a_name_with_a_dot_is_no_device():
    graph = graph_of("dev.tracetime.opencl.00aa", "opencl.0")
    assert graph.clock("opencl.0") == ClockId.parse("opencl.0")


def test_the_builtin_clock_comes_first():
    graph = graph_of(TSC, TSC=7)
    assert graph.clock("TSC") == ClockId(9)
    assert graph.clock(ClockId(9)) == ClockId(9)
    assert graph_of(TSC).clock(ClockId(9)) == ClockId(9)
    assert graph_of(TAI).clock("TSC") == ClockId(9)


def test_a_declared_name_is_a_name():
    graph = ClockGraph(domains=[ClockDomain("64@seq7", name="gpu")])
    graph.add_snapshot({"BOOTTIME": 100, "64@seq7": 5})
    assert graph.convert(6, "gpu", "BOOTTIME") == 101
    assert graph.convert(5, "64@seq7", "BOOTTIME", policy="tube", near=(5, "gpu")) == 100


def test_names_are_those_of_one_machine():
    there = ClockId(clock_id(TSC), machine=1)
    graph = ClockGraph(domains=[ClockDomain(TSC), ClockDomain(there, name=TSC)])
    graph.add_snapshot({"BOOTTIME": 1, TSC: 1})
    graph.add_snapshot({"BOOTTIME@machine1": 1, there: 1})
    assert graph.clock("TSC") == ClockId(clock_id(TSC))
    assert graph.clock("TSC@machine1") == there
    assert graph.clock("TSC@machine2") == ClockId(9, machine=2)


def test_several_devices_are_told_by_their_names():
    graph = graph_of(VULKAN, "dev.tracetime.vulkan.00bb")
    with pytest.raises(UsageError, match=r"may be any of .*00aa, .*00bb: give one"):
        graph.clock("vulkan:0")


def test_a_misspelt_name_is_answered_with_those_of_the_graph():
    graph = graph_of(TSC, "com.example.gpu")
    with pytest.raises(UsageError, match=r"did you mean TSC\? the graph has BOOTTIME, com.exam"):
        graph.convert(1, "TSk", "BOOTTIME")
    with pytest.raises(UsageError, match="'cafe' is not a clock: the graph has BOOTTIME"):
        graph.clock("cafe")
    with pytest.raises(UsageError, match="TSC is not scoped to a sequence"):
        graph.clock("TSC@seq3")
    with pytest.raises(UsageError, match="cannot read '@there'"):
        graph.clock("TSC@there")
    expected = r"no snapshot has com.exmaple.gpu: did you mean com.example.gpu\?"
    for policy in ("floor", "tube"):
        for call in (graph.convert, graph.explain):
            with pytest.raises(ConversionError, match=expected) as raised:
                call(1, "com.exmaple.gpu", "BOOTTIME", policy=policy)
            assert raised.value.reason == "unknown_source_clock"
            with pytest.raises(ConversionError, match=expected) as raised:
                call(1, "BOOTTIME", "com.exmaple.gpu", policy=policy)
            assert raised.value.reason == "unknown_target_clock"
    with pytest.raises(ConversionError, match=expected):
        graph.path("com.exmaple.gpu", "BOOTTIME")
    with pytest.raises(ConversionError, match=expected):
        graph.clock("com.exmaple.gpu", known=True)
    assert graph.clock("com.example.gpu", known=True) == GPU


def test_names_from_a_file_cannot_steer_a_terminal():
    graph = ClockGraph(domains=[ClockDomain(200, name="gp\x1bu")])
    graph.add_snapshot({"BOOTTIME": 1, 200: 1})
    with pytest.raises(UsageError) as raised:
        graph.clock("gpx")
    assert "\x1b" not in str(raised.value)


def test_one_name_of_several_clocks_is_refused_with_their_ids():
    clocks = ("64@seq7", "64@seq8")
    graph = ClockGraph(domains=[ClockDomain(clock, name="gpu") for clock in clocks])
    for clock in clocks:
        graph.add_snapshot({"BOOTTIME": 100, clock: 5})
    with pytest.raises(UsageError, match="'gpu' may be any of 64@seq7, 64@seq8: give"):
        graph.clock("gpu")
    assert graph.clock("gpu@seq8") == ClockId(64, 8)


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (["tsc", "tai", "ptp.3"], ["TSC", "TAI", "ptp:3"]),
        (["vulkan.00aa", "opencl.b"], ["vulkan:0", "opencl:0"]),
        (["cuda.a", "cuda.b"], ["dev.tracetime.cuda.a", "dev.tracetime.cuda.b"]),
        (["unresolved", "tsc.x"], ["dev.tracetime.unresolved", "dev.tracetime.tsc.x"]),
    ],
)
def test_clocks_of_a_recording_are_called_as_the_recorder_prints_them(names, called):
    graph = graph_of(*(f"dev.tracetime.{name}" for name in names))
    assert [name for name in graph.names.values() if name != "BOOTTIME"] == called
    for name, short in zip(names, called, strict=True):
        assert graph.clock(short) == ClockId.parse(f"dev.tracetime.{name}")
