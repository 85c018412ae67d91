"""The clocks of CTF traces: units, offsets, and which of them are one."""

import numpy as np
import pytest
from ctf_files import LTTNG, Clock, Event, Packet, Trace, simple
from platforms import WITH_BT2

from tracetime import ClockId, ConversionError, TraceError, clock_id, diagnose, open_trace
from tracetime.formats.ctf.clocks import TracedClock

pytestmark = WITH_BT2

OTHER = "33333333-3333-4333-8333-333333333333"
CYCLES = clock_id("ctf.cycles")


def test_monotonic_of_lttng_is_tied_to_realtime_where_the_events_begin(tmp_path):
    trace = simple(10**15, 10**15 + 9, clock=Clock(offset=123))
    with open_trace(trace.write(tmp_path)) as opened:
        graph = opened.clocks
        assert opened.trace_clock == ClockId(3)
        assert graph.convert(10**15, "MONOTONIC", "REALTIME") == 1_701_000_000_000_000_123
        bar = graph.convert(10**15, "MONOTONIC", "REALTIME", policy="tube", bounds=True)
        found = graph.explain(10**15, "MONOTONIC", "REALTIME", policy="tube")
    assert (bar.earliest - bar.estimate, bar.latest - bar.estimate) == (-50_000, 50_000)
    assert found.steps[0].assumed


def test_the_events_begin_with_the_earliest_of_all_streams(tmp_path):
    streams = {name: [Packet([Event(at)])] for name, at in (("a", 9), ("b", 5), ("c", 7))}
    with open_trace(Trace(streams).write(tmp_path)) as trace:
        infos = {info.clock: info.first_ns for info in trace.clocks.clocks()}
    assert infos[ClockId(3)] == 5


def test_another_clock_is_tied_at_its_zero(tmp_path):
    # Nobody knows when its tracer read the offset: 500 ppm of either clock, from the zero on.
    trace = simple(10**12, clock=Clock("cycles"), environment={})
    with open_trace(trace.write(tmp_path)) as opened:
        graph = opened.clocks
        bar = graph.convert(10**12, CYCLES, "REALTIME", policy="tube", bounds=True)
    assert bar.estimate == 1_700_001_000_000_000_000
    assert bar.latest - bar.estimate >= 10**9


def test_without_an_offset_nothing_ties_the_clock(tmp_path):
    clock = Clock("cycles", offset_s=0)
    with open_trace(simple(5, clock=clock, environment={}).write(tmp_path)) as trace:
        assert [info.clock for info in trace.clocks.clocks()] == [ClockId(CYCLES)]
        assert trace.read_all()["trace_time"].to_pylist() == [5]
        assert trace.read_all()["status"].to_pylist() == ["resolved"]


@pytest.mark.parametrize(
    ("freq", "cycles", "ns"),
    [
        (1, 9_000_000_000, 9_000_000_000 * 10**9),
        (1000, 7, 7_000_000),
        (3, 10**9 + 1, 333_333_333_666_666_666),
        # Through a float, this would be 5999999999999999488.
        (3 * 10**9, 18 * 10**18 - 1, 5_999_999_999_999_999_999),
        (2_999_999_999, 2**63 + 5, (2**63 + 5) * 10**9 // 2_999_999_999),
    ],
)
def test_cycles_become_ns_exactly(tmp_path, freq, cycles, ns):
    trace = simple(cycles, clock=Clock("cycles", freq=freq, offset_s=0), environment={})
    with open_trace(trace.write(tmp_path)) as opened:
        assert opened.read_all()["timestamp"].to_pylist() == [ns]
        step = opened.clocks.domain(CYCLES).tick_ns
    assert step == max(1, 10**9 / freq)


@pytest.mark.parametrize(
    ("freq", "precision", "cycles", "late"),
    [
        (10**9, None, 5, 0),
        (10**9, 10, 5, 9),
        (1, None, 1_790_000_000, 999_999_999),
        (1, None, 9_223_372_036, 854_775_807),
        # A cycle that begins and ends within a ns: what is no whole ns is rounded outwards.
        (32_768, None, 65_537, 30_518),
        (3, None, 4, 333_333_334),
        (2_500_000_000, None, 2, 1),
    ],
)
def test_a_bar_holds_the_whole_tick(tmp_path, freq, precision, cycles, late):
    clock = Clock("cycles", freq=freq, precision=precision, offset_s=0)
    with open_trace(simple(cycles, clock=clock, environment={}).write(tmp_path)) as trace:
        (row,) = trace.read_all("tube").to_pylist()
    assert row["trace_time"] == row["earliest"] == cycles * 10**9 // freq
    assert row["latest"] - row["earliest"] == late


def test_an_offset_in_cycles_is_of_its_frequency(tmp_path):
    clock = Clock("cycles", freq=1000, offset_s=1_700_000_000, offset=250)
    with open_trace(simple(3, clock=clock, environment={}).write(tmp_path)) as trace:
        read = trace.clocks.convert(3_000_000, CYCLES, "REALTIME")
    assert read == 1_700_000_000_253_000_000


def test_a_bar_on_another_clock_holds_the_tick(tmp_path):
    """What is assumed of the offset is not wide enough for a tick of 1 ms."""
    clock = Clock("cycles", freq=1000)
    simple(5).write(tmp_path / "a")
    simple(7, clock=clock).write(tmp_path / "b")
    with open_trace(tmp_path) as trace:
        bars = trace.read_all("tube").to_pylist()
        (row,) = (row for row in bars if row["timestamp"] == 7_000_000)
        assert trace.trace_clock == ClockId.parse("MONOTONIC")
    assert row["status"] == "resolved"
    assert row["earliest"] < 7_000_000 - 50_000
    assert row["latest"] > 7_999_999 + 50_000


def test_clocks_of_one_uuid_that_differ_in_frequency_are_two(tmp_path):
    for freq in (1000, 2000):
        simple(5, clock=Clock("cycles", freq=freq)).write(tmp_path / str(freq))
    with open_trace(tmp_path) as trace:
        assert trace.read_all()["status"].to_pylist() == ["resolved", "no_path"]


def test_the_precision_is_a_tick(tmp_path):
    clock = Clock("cycles", freq=1_000_000, precision=10)
    with open_trace(simple(3, clock=clock, environment={}).write(tmp_path)) as trace:
        assert trace.clocks.domain(CYCLES).tick_ns == 10_000


def test_times_that_do_not_fit_are_the_traces_fault(tmp_path):
    for name, cycles, offset_s in (
        ("a", 2**63, 0),
        ("b", 2**63 + 5, -9_000_000_000),
        ("c", 5, 2**62),
    ):
        trace = simple(cycles, clock=Clock(offset_s=offset_s))
        with open_trace(trace.write(tmp_path / name)) as opened:
            with pytest.raises(TraceError, match="Cannot convert clock cycles"):
                opened.read_all()


def test_an_offset_that_does_not_fit_is_the_traces_fault():
    facts = {"environment": {}, "uuid": "", "folder": "f"}
    given = {"name": "a b@1", "uuid": "", "frequency": 1, "precision": 0, "offset_cycles": 0}
    clock = TracedClock.of(facts | {"clock": given | {"offset_s": 2**62}})
    assert (clock.name, clock.identity) == ("ctf.a_b_1", "f 1")
    with pytest.raises(TraceError, match="does not fit in 64 bits"):
        clock.snapshot()


def two(tmp_path, one, other):
    one.write(tmp_path / "a")
    other.write(tmp_path / "b")
    return open_trace(tmp_path)


def test_traces_of_one_clock_share_it(tmp_path):
    with two(tmp_path, simple(5), simple(6, environment=LTTNG | {"hostname": "renamed"})) as trace:
        assert trace.machines == [0]
        assert trace.read_all()["trace_time"].to_pylist() == [5, 6]


def test_machines_stay_apart_until_something_ties_them(tmp_path):
    other = simple(1_000, 2_000, clock=Clock(uuid=OTHER), environment=LTTNG | {"hostname": "right"})
    with two(tmp_path, simple(5), other) as trace:
        assert trace.machines == [0, 1]
        table = trace.read_all()
        assert table["status"].to_pylist() == ["resolved", "no_path", "no_path"]
        assert table["machine"].to_pylist() == [0, 1, 1]
        (finding,) = diagnose(trace)
        assert (finding.code, finding.events) == ("machine-not-synchronised", 2)
        assert "RemoteClockSync" not in finding.why
        assert finding.fix.endswith(
            "match messages that both machines recorded (`--orders flows`)."
        )
        with pytest.raises(ConversionError):
            trace.clocks.convert(5, "REALTIME", "REALTIME@machine1")
        graph = trace.clocks
        graph.add_order(before=(1_000, "MONOTONIC@machine1"), after=(5_000, "MONOTONIC"))
        graph.add_order(before=(5_100, "MONOTONIC"), after=(1_200, "MONOTONIC@machine1"))
        bar = graph.convert(1_000, "MONOTONIC@machine1", "MONOTONIC", policy="tube", bounds=True)
    assert bar.earliest <= 4_900 <= bar.latest <= 5_010


def test_a_machine_that_booted_again_is_another_one(tmp_path):
    with two(tmp_path, simple(5), simple(6, clock=Clock(uuid=OTHER))) as trace:
        assert trace.machines == [0, 1]
        assert trace.read_all()["status"].to_pylist() == ["resolved", "no_path"]


def test_two_clocks_of_a_machine_are_tied_by_its_realtime(tmp_path):
    cycles = Clock("cycles", uuid=OTHER, offset_s=1_699_999_990)
    with two(tmp_path, simple(10**10), simple(2 * 10**10, clock=cycles)) as trace:
        assert trace.machines == [0]
        assert trace.read_all()["trace_time"].to_pylist() == [10**10, 10**10]


def test_clocks_without_an_id_stay_apart(tmp_path):
    nameless = simple(5, clock=Clock("cycles", uuid=""), environment={})
    with two(tmp_path, nameless, nameless) as trace:
        assert trace.machines == [0, 1]


@pytest.mark.parametrize(("tracer", "machines"), [("barectf", [0, 1]), ("lttng-ust", [0])])
def test_an_id_that_two_devices_have_is_of_one_clock_by_lttng_alone(tmp_path, tracer, machines):
    # LTTng's is the id of the boot: a container may name itself otherwise.
    one, other = (simple(5, environment={"tracer_name": tracer, "hostname": host}) for host in "ab")
    with two(tmp_path, one, other) as trace:
        assert trace.machines == machines


def test_an_offset_that_was_read_again_is_another_snapshot(tmp_path):
    with two(tmp_path, simple(5_000), simple(9_000, clock=Clock(offset=2))) as trace:
        read = trace.clocks.convert(np.array([6_000, 9_500]), "MONOTONIC", "REALTIME")
        assert (read - np.array([6_000, 9_500])).tolist() == [17 * 10**17, 17 * 10**17 + 2]


def test_a_trace_without_events_has_its_clocks(tmp_path):
    folder = Trace({}).write(tmp_path)
    with open_trace(folder) as trace:
        assert trace.read_all().num_rows == 0
        assert trace.trace_clock == ClockId(3)


def test_a_stream_without_a_clock_is_told(tmp_path):
    folder = Trace({"c": [Packet([Event(5)])]}).write(tmp_path)
    metadata = (folder / "metadata").read_text()
    for given in ("stamp timestamp_begin", "stamp timestamp_end", "stamp timestamp"):
        metadata = metadata.replace(f"{given};", f"u64 other_{given[-3:]};")
    (folder / "metadata").write_text(metadata)
    with open_trace(folder) as trace, pytest.raises(TraceError, match="has no clock"):
        trace.read_all()


def test_too_many_clocks_are_refused(tmp_path):
    simple(5).write(tmp_path)
    with open_trace(tmp_path, max_clocks=1) as trace, pytest.raises(TraceError, match="max-clocks"):
        trace.read_all()


@pytest.mark.parametrize("days", [0, 3, 400])
def test_an_uptime_is_not_far_from_the_zero_that_ties_its_clock(tmp_path, days):
    """barectf: the offset of the clock is its reading of 0, whenever the events are."""
    first = days * 86_400 * 10**9 + 5
    trace = simple(*range(first, first + 20), clock=Clock("cycles"), environment={})
    with open_trace(trace.write(tmp_path)) as opened:
        assert [f.code for f in diagnose(opened) if f.severity != "info"] == []
