"""CTF traces: small ones, made here, read by babeltrace2."""

import json

import numpy as np
import pytest
from ctf_files import LTTNG, Clock, Event, Packet, Trace, simple
from platforms import WITH_BT2

from tracetime import ClockId, UsageError, clock_id, diagnose, open_trace, report
from tracetime.formats.ctf import process
from tracetime.formats.ctf.reader import CtfTrace

pytest_plugins = ["cli"]
pytestmark = WITH_BT2

OWN = (5, 6, "bash")


def rows(trace, folder, **options):
    with open_trace(trace.write(folder), **options) as opened:
        return opened.read_all(names=True).to_pylist()


SESSION = LTTNG | {"trace_creation_datetime": "20260921T100000+0200"}


def told_twice(folder):
    with open_trace(folder) as trace:
        return [(one.message.partition(":")[0], one.packet) for one in trace.passed_over]


def test_events_of_snapshots_that_overlap_are_told(tmp_path):
    for number, cycles in enumerate([range(100, 200, 7), range(150, 260, 7)]):
        # The second has what the first had from 156 on.
        first = [at for at in range(100, 400, 7) if at in cycles or number]
        taken = [at for at in first if at <= (197 if number == 0 else 260)]
        taken = taken if number == 0 else [at for at in taken if at >= 156]
        simple(*taken, environment=SESSION).write(tmp_path / f"snapshot-{number + 1}" / "kernel")
    assert told_twice(tmp_path) == [("6 events twice", 14)]
    (found,) = (one for one in diagnose(open_trace(tmp_path)) if one.code == "parts-passed-over")
    assert (found.severity, "snapshots of one session overlap" in found.title) == ("warning", True)
    assert told_twice(tmp_path / "snapshot-1") == []


def test_traces_of_one_session_that_do_not_overlap_are_not_told(tmp_path):
    """Those of a session that is rotated, of several domains, or of no session."""
    simple(10, 20, 30, environment=SESSION).write(tmp_path / "a" / "1")
    simple(40, 50, 60, environment=SESSION).write(tmp_path / "a" / "2")
    simple(10, 20, 30, environment=SESSION).write(tmp_path / "b" / "kernel")
    simple(10, 20, 30, environment=SESSION | {"domain": "ust"}).write(tmp_path / "b" / "ust")
    simple(10, 20, 30, environment={}).write(tmp_path / "c" / "1")
    simple(10, 20, 30, environment={}).write(tmp_path / "c" / "2")
    for name in "abc":
        assert told_twice(tmp_path / name) == []


def test_events_have_perfettos_columns_and_names(tmp_path):
    packets = [
        Packet([Event(10_000), Event(20_000, 1, 2**63, 'é"')], own=OWN),
        Packet([Event(30_000)], cpu=2, own=OWN),
    ]
    found = rows(Trace({"channel0_0": packets}, own=True), tmp_path)
    assert found[1] == {
        "packet": 1,
        "kind": "event",
        "item": 0,
        "payload": None,
        "packet_sequence": 0,
        "sequence": 0,
        "machine": 0,
        "clock": 3,
        "timestamp": 20_000,
        "trace_time": 20_000,
        "status": "resolved",
        "offset": 0,
        "name": "net:packet",
        "category": "net",
        "type": "instant",
        "value": None,
        "track": None,
        "track_name": None,
        "cpu": 0,
        "pid": 6,
        "tid": 5,
        "process_name": None,
        "thread_name": "bash",
        "args": '{"number":9223372036854775808,"text":"é\\""}',
    }
    assert [(row["name"], row["category"], row["cpu"]) for row in found] == [
        ("sched_switch", "kernel", 0),
        ("net:packet", "net", 0),
        ("sched_switch", "kernel", 2),
    ]


def test_what_the_trace_says_of_its_process_holds_for_each_event(tmp_path):
    of_process = LTTNG | {"domain": "ust", "procname": "server", "vpid": 77}
    (row,) = rows(simple(5, environment=of_process), tmp_path)
    assert (row["process_name"], row["pid"], row["tid"]) == ("server", 77, None)
    assert (row["category"], row["thread_name"]) == ("ust", None)


def test_the_process_of_an_event_goes_before_that_of_its_trace(tmp_path):
    trace = Trace({"c": [Packet([Event(5)], own=OWN)]}, environment=LTTNG | {"vpid": 77}, own=True)
    assert rows(trace, tmp_path)[0]["pid"] == 6


def test_text_that_is_no_utf8_is_replaced(tmp_path):
    folder = simple(5).write(tmp_path)
    stream = folder / "channel0_0"
    stream.write_bytes(stream.read_bytes().replace(b"a\0", b"\xff\0"))
    with open_trace(folder) as trace:
        (args,) = trace.read_all(names=True)["args"].to_pylist()
    assert json.loads(args)["text"] == "�"


def test_streams_are_read_one_after_another(tmp_path):
    streams = {name: [Packet([Event(at), Event(at + 9)])] for name, at in (("b", 5), ("a", 7))}
    assert [row["timestamp"] for row in rows(Trace(streams), tmp_path)] == [7, 16, 5, 14]


@pytest.mark.sweep
def test_batches_hold_many_rows(tmp_path, monkeypatch):
    events = [Event(at) for at in range(1, 70_001)]
    folder = Trace({"c": [Packet(events)]}).write(tmp_path)
    with open_trace(folder) as trace:
        read = []
        batches = list(trace.events(progress=read.append))
        assert [len(batch) for batch in batches] == [1 << 16, 70_000 - (1 << 16)]
        ends = [batch["packet"][-1].as_py() for batch in batches]
        assert ends == [65_535, 69_999]
        assert read[-1] <= trace.size
        seen = []
        trace.on_read.append(seen.append)
        trace.read_all()
        assert seen[-1] == trace.size


def test_dropped_events_and_packets_are_counted(tmp_path):
    packets = [
        Packet([Event(1)], number=0),
        Packet([Event(2), Event(3)], discarded=5, number=1),
        Packet([Event(4)], discarded=5, number=4),
    ]
    with open_trace(Trace({"c": packets}).write(tmp_path)) as trace:
        assert trace.events_dropped == 5 + 2
        assert trace.dropped_packet == 1
        (finding,) = diagnose(trace)
        assert (finding.code, finding.events) == ("events-dropped", 7)


def test_a_healthy_trace_has_no_findings(tmp_path):
    with open_trace(simple(1_000, 2_000).write(tmp_path)) as trace:
        assert list(diagnose(trace)) == []
        assert trace.events_dropped == 0


def test_a_session_has_a_trace_in_each_of_its_folders(tmp_path):
    simple(10, 30).write(tmp_path / "kernel")
    simple(20, environment=LTTNG | {"domain": "ust"}).write(tmp_path / "ust" / "uid")
    with open_trace(tmp_path) as trace:
        assert isinstance(trace, CtfTrace)
        table = trace.read_all(names=True)
        assert trace.machines == [0]
        assert trace.size == sum(
            path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()
        )
    assert table["timestamp"].to_pylist() == [10, 30, 20]
    assert table["category"].to_pylist() == ["kernel", "kernel", "ust"]


def test_commands_take_the_folder(tmp_path, tracetime):
    folder = simple(10, 30).write(tmp_path / "t")
    assert "MONOTONIC" in tracetime("clocks", folder)[1]
    assert tracetime("doctor", folder)[0] == 0
    code, printed, _ = tracetime("sql", folder, "select count(*) n from events", "--json")
    assert (code, json.loads(printed)) == (0, [{"n": 2}])
    code, printed, _ = tracetime("convert", folder, "-o", tmp_path / "o.parquet", "--json")
    assert (code, json.loads(printed)["rows"]) == (0, 2)
    code, printed, _ = tracetime("at", folder, "10", "--from", "MONOTONIC", "--to", "REALTIME")
    assert (code, "1700000000000000010" in printed) == (0, True)
    with open_trace(folder) as trace:
        report(trace, tmp_path / "r.html")
    assert "MONOTONIC" in (tmp_path / "r.html").read_text()


def test_slices_are_not_in_ctf(tmp_path):
    with (
        open_trace(simple(1).write(tmp_path)) as trace,
        pytest.raises(UsageError, match="not in this format"),
    ):
        trace.slices()


def test_it_is_closed_before_the_end(tmp_path):
    folder = Trace({"c": [Packet([Event(at) for at in range(1, 70_001)])]}).write(tmp_path)
    with open_trace(folder) as trace:
        events = trace.events()
        assert len(next(events)) == 1 << 16
        events.close()
        assert list(events) == []
    with pytest.raises(UsageError, match="is closed"):
        trace.events()


def test_without_babeltrace2_the_error_names_its_package(tmp_path, monkeypatch):
    folder = simple(1).write(tmp_path)
    monkeypatch.setattr(process, "_SYSTEM_PYTHON", str(tmp_path / "no-python"))
    with open_trace(folder) as trace, pytest.raises(UsageError, match="python3-bt2"):
        trace.read_all()
    # A Python that has no bt2 is the other way to lack it.
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 77\n")
    python.chmod(0o755)
    monkeypatch.setattr(process, "_SYSTEM_PYTHON", str(python))
    with open_trace(folder) as trace, pytest.raises(UsageError, match="python3-bt2"):
        trace.read_all()


@pytest.mark.parametrize("name", ["metadata", "channel0_0"])
def test_a_file_of_a_trace_is_refused_with_its_folder(tmp_path, name):
    folder = simple(1).write(tmp_path / "t")
    with pytest.raises(UsageError, match="one file of a CTF trace") as raised:
        open_trace(folder / name)
    assert repr(str(folder)) in str(raised.value)


def test_a_folder_without_a_trace_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(UsageError, match="is a directory without a trace"):
        open_trace(tmp_path)


def test_names_are_exact_where_batches_end_by_their_text(tmp_path):
    events = [Event(at, number=at, text="x" * 200_000) for at in range(1, 200)]
    with open_trace(Trace({"c": [Packet(events)]}).write(tmp_path)) as trace:
        batches = list(trace.events(names=True))
    assert len(batches) > 1
    numbers = [
        json.loads(text)["number"] for batch in batches for text in batch["args"].to_pylist()
    ]
    assert numbers == list(range(1, 200))
    assert np.concatenate([batch["timestamp"].to_numpy() for batch in batches]).tolist() == numbers


def test_clocks_that_are_not_linux_have_a_name(tmp_path):
    trace = simple(7, clock=Clock("my_cycles"), environment={})
    (row,) = rows(trace, tmp_path)
    assert row["clock"] == clock_id("ctf.my_cycles")
    with open_trace(tmp_path) as opened:
        assert opened.clocks.name(ClockId(row["clock"])) == "ctf.my_cycles"


def test_streams_whose_time_runs_backwards_are_told(tmp_path, tracetime):
    within = [Packet([Event(1_000), Event(5_000), Event(3_000), Event(2_000), Event(9_000)])]
    between = [Packet([Event(1_000), Event(5_000)]), Packet([Event(4_999), Event(4_999)], number=1)]
    fine = [Packet([Event(500), Event(500), Event(600)])]
    path = Trace({"a": fine, "b": within, "c": between}).write(tmp_path)
    with open_trace(path) as trace:
        rows = trace.read_all()["timestamp"].to_pylist()
        assert trace.events_backwards == 4
        assert rows[trace.backwards_packet] < rows[trace.backwards_packet - 1]
        assert [one.message.split(": ")[1] for one in trace.warnings] == [
            "2 events earlier than what comes before"
        ] * 2
        assert trace.backwards_packet == min(one.packet for one in trace.warnings)
        (finding,) = (one for one in diagnose(trace) if one.code == "stream-backwards")
        assert (finding.events, finding.packets) == (4, (trace.backwards_packet,))
    assert "time runs backwards in stream" in " ".join(tracetime("clocks", path)[1].split())


def test_streams_may_begin_before_each_other(tmp_path):
    streams = {name: [Packet([Event(at), Event(at)])] for name, at in (("a", 9), ("b", 5))}
    with open_trace(Trace(streams).write(tmp_path)) as trace:
        assert (trace.events_backwards, trace.backwards_packet, trace.warnings) == (0, None, [])
