"""A second format: what is registered is converted, examined, drawn and asked like any other."""

import contextlib
import gzip
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from places import ROOT
from samples import CLOCK_SYNC
from text_format import MAGIC, TextTrace, is_text

from tracetime import (
    ClockId,
    Trace,
    TraceError,
    UsageError,
    clock_id,
    diagnose,
    formats,
    open_trace,
    register_format,
    report,
    split,
)
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.sql.session import Session
from tracetime.trace.notes import Note
from tracetime.verbs.error_tracks import with_error_tracks

pytest_plugins = ["cli"]

GPU = clock_id("com.example.gpu")
LINES = [
    *(
        f"snapshot,{k},{clock},{k * 10**9 + ahead}"
        for k in range(10)
        for clock, ahead in (("BOOTTIME", 10**12), ("com.example.gpu", 77 + 10 * k))
    ),
    "event,com.example.gpu,2000000097",
    "event,BOOTTIME,1005000000000",
    "event,REALTIME,5",
    "event,com.example.gpu,9223372036854775807",
]


@pytest.fixture
def text(tmp_path, monkeypatch):
    """A trace of text, and the format that reads it, until the test ends."""
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS])
    register_format(is_text, TextTrace)
    path = tmp_path / "t.txt"
    path.write_bytes(MAGIC + "\n".join([*LINES, ""]).encode())
    return path


def test_it_is_known_by_its_beginning(text, tmp_path):
    packed = tmp_path / "t.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    for path in (text, packed):
        with open_trace(path) as trace:
            assert isinstance(trace, TextTrace)
            assert trace.trace_clock == ClockId(6)
            assert trace.read_all().num_rows == 4


def installed(folder: Path, body: str) -> dict[str, str]:
    """The environment of a process for which a wheel of a format is installed."""
    wheel, site = folder / "fmt-1.0-py3-none-any.whl", folder / "site"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("fmt.py", body)
        facts = "fmt-1.0.dist-info"
        file.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: fmt\nVersion: 1.0\n")
        file.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{facts}/entry_points.txt", "[tracetime.formats]\nfmt = fmt:register\n")
        file.writestr(f"{facts}/RECORD", "")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(site)
    path = os.pathsep.join(map(str, (site, ROOT / "tests" / "helpers")))
    return {**os.environ, "PYTHONPATH": path}


@pytest.mark.parametrize("command", [(), ("clocks",), ("sql", "-", "from events")])
def test_a_wheel_with_a_format_has_every_command_read_it(tmp_path, command):
    """As pip unpacks it: by its entry point alone, and not before a file needs it."""
    body = """
from text_format import TextTrace, is_text
from tracetime import register_format
print("registered")
register = lambda: register_format(is_text, TextTrace)
"""
    env = installed(tmp_path, body)
    for name, content in (("t.txt", MAGIC + "\n".join([*LINES, ""]).encode()), ("p", CLOCK_SYNC)):
        path = tmp_path / name
        path.write_bytes(content)
        words = [str(path) if word == "-" else word for word in command]
        words = words if str(path) in words else [*words, str(path)]
        ran = subprocess.run(
            [sys.executable, "-m", "tracetime", *words], env=env, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        assert ("registered" in ran.stdout) == (name == "t.txt")


def test_a_package_of_a_format_that_fails_is_named(tmp_path):
    env = installed(tmp_path, "def register(): raise ValueError('no such luck')")
    (tmp_path / "t.bin").write_bytes(b"what is this")
    words = [sys.executable, "-m", "tracetime", "clocks", str(tmp_path / "t.bin")]
    ran = subprocess.run(words, env=env, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "the package of the format 'fmt' (fmt:register) fails: no such luck" in ran.stderr


def test_what_does_not_decompress_is_opened_and_reading_it_says_why(tmp_path):
    for content in (b"\n\0", b"\x1f\x8b\x08cut", b"\x28\xb5\x2f\xfd"):
        other = tmp_path / "other"
        other.write_bytes(content)
        with open_trace(other) as trace:
            assert isinstance(trace, PerfettoTrace)


def test_its_rows_have_perfettos_columns(text):
    with open_trace(text) as trace:
        rows = trace.read_all().to_pylist()
    assert rows[0] == {
        "packet": 20,
        "kind": "event",
        "item": 0,
        "payload": None,
        "packet_sequence": 0,
        "sequence": 0,
        "machine": 0,
        "clock": GPU,
        "timestamp": 2_000_000_097,
        "trace_time": 1_002_000_000_000,
        "status": "resolved",
        "offset": text.read_bytes().index(b"event,com.example.gpu"),
    }
    assert [(row["trace_time"], row["status"]) for row in rows[1:]] == [
        (1_005_000_000_000, "resolved"),
        (None, "unknown_source_clock"),
        (None, "overflow"),
    ]


def test_it_is_placed_by_the_tube(text):
    with open_trace(text) as trace:
        row = trace.read_all("tube").to_pylist()[0]
    assert row["earliest"] <= 1_002_000_000_000 <= row["latest"]
    assert row["status"] == "resolved"


def test_it_converts(text, tracetime, tmp_path):
    out = tmp_path / "o.parquet"
    code, printed, _ = tracetime("convert", text, "-o", out, "--json", "--to", "com.example.gpu")
    summary = json.loads(printed)
    assert (code, summary["rows"], summary["trace_clock"]) == (0, 4, "BOOTTIME")
    table = pq.read_table(out)
    assert table["to_time"].to_pylist()[0] == 2_000_000_097
    assert table.schema.metadata[b"tracetime.trace_clock"] == b"BOOTTIME"


def test_it_is_examined(text, tracetime):
    with open_trace(text) as trace:
        codes = {finding.code: finding for finding in diagnose(trace)}
    assert codes["clock-without-snapshot"].events == codes["timestamp-overflow"].events == 1
    printed = json.loads(tracetime("doctor", text, "--json")[1])
    assert {one["code"] for one in printed["traces"][0]["findings"]} == set(codes)


def test_a_format_need_not_keep_snapshots_as_the_file_lists_them(text, monkeypatch):
    given = TextTrace.columns
    monkeypatch.setattr(TextTrace, "columns", lambda self, *_, **__: given(self))
    with open_trace(text) as trace:
        assert "clock-without-snapshot" in {finding.code for finding in diagnose(trace)}


def test_it_is_drawn(text, tmp_path):
    with open_trace(text) as trace:
        report(trace, tmp_path / "r.html")
    assert f"0x{GPU:08x}" in (tmp_path / "r.html").read_text()


def test_it_is_queried_in_sql(text):
    with open_trace(text) as trace, Session([trace]) as session:
        asked = "SELECT kind, count(*) FROM events WHERE status = 'resolved' GROUP BY kind"
        assert [list(b.to_pylist()[0].values()) for b in session.run(asked).batches] == [
            ["event", 2]
        ]
        asked = "SELECT count(*) FROM snapshots"
        assert [list(b.to_pylist()[0].values()) for b in session.run(asked).batches] == [[20]]


def test_other_commands_take_it(text, tracetime):
    assert f"0x{GPU:08x}" in tracetime("clocks", text)[1]
    code, printed, _ = tracetime("at", text, "2000000097", "--from", "com.example.gpu")
    assert (code, "1002" in printed) == (0, True)


def test_what_is_wrong_in_it_is_the_traces(text):
    text.write_bytes(MAGIC + b"event,no such clock!,5\n")
    with open_trace(text) as trace, pytest.raises(TraceError) as raised:
        trace.read_all()
    assert raised.value.offset == len(MAGIC)


def test_its_events_are_closed_before_their_end(text):
    with open_trace(text) as trace, contextlib.closing(trace.events()) as events:
        pass
    assert list(events) == []


def test_slices_are_not_of_every_format(text):
    with open_trace(text) as trace, pytest.raises(UsageError, match="not in this format"):
        trace.slices()


ONE_WAY = [
    "snapshot,0,BOOTTIME,1000",
    "snapshot,1,MONOTONIC,900",
    "order,MONOTONIC,1000,BOOTTIME,1500",
    "event,BOOTTIME,1700",
    "event,MONOTONIC,1200",
]


def test_events_of_a_bar_that_is_open_on_one_side_have_a_time(text):
    text.write_bytes(MAGIC + "\n".join([*ONE_WAY, ""]).encode())
    with open_trace(text) as trace:
        assert trace.read_all()["status"].to_pylist() == ["resolved", "no_path"]
        table = trace.read_all(policy="tube")
        assert table["status"].to_pylist() == ["resolved", "one_sided"]
        assert table["trace_time"].to_pylist() == table["latest"].to_pylist()
        assert table["earliest"].to_pylist() == [1_700, None]
        assert table["latest"][1].as_py() == pytest.approx(1_700, abs=10)
        with Session([trace]) as session:
            asked = "SELECT latest(1200, 'MONOTONIC', 'BOOTTIME'), earliest(1200, 'MONOTONIC', 'BOOTTIME')"
            (batch,) = session.run(asked).batches
            assert list(batch.to_pylist()[0].values()) == [table["latest"][1].as_py(), None]


def test_events_with_an_open_bar_are_converted(text, tracetime, tmp_path):
    text.write_bytes(MAGIC + "\n".join([*ONE_WAY, ""]).encode())
    out = tmp_path / "out.parquet"
    asked = ("convert", text, "--policy", "tube", "-o", out, "--json")
    code, printed, _ = tracetime(*asked)
    assert (code, json.loads(printed)["unresolved"]) == (0, 0)
    assert pq.read_table(out)["earliest"].to_pylist() == [1_700, None]


def test_events_of_a_clock_with_orders_alone_are_placed_by_the_tube(text, tracetime):
    lines = [line for line in ONE_WAY if not line.startswith("snapshot,1")]
    text.write_bytes(MAGIC + "\n".join([*lines, "event,REALTIME,5", ""]).encode())
    with open_trace(text) as trace:
        unknown = "unknown_source_clock"
        assert trace.read_all()["status"].to_pylist() == ["resolved", unknown, unknown]
        table = trace.read_all(policy="tube")
        assert table["status"].to_pylist() == ["resolved", "one_sided", unknown]
        assert table["trace_time"].to_pylist() == [1_700, table["latest"][1].as_py(), None]
    printed = tracetime("clocks", text)[1]
    assert "\nOrders\n" in printed
    assert "1  MONOTONIC  BOOTTIME" in printed


def test_a_format_of_ones_own_has_a_default_of_each_member_of_some_formats(text, tmp_path):
    with open_trace(text) as trace:
        assert (trace.shares, trace.perfetto_reads, trace.rows_are_of_slices) == (
            set(),
            None,
            False,
        )
        assert (trace.packets, trace.baked_by, trace.calls(), trace.flow_events()) == (None,) * 4
        assert (trace.boots, trace.suspended_ns, trace.machine_facts().model) == ({}, {}, "unknown")
        assert (trace.kernel_reads().shape, trace.wall_bounds().shape) == ((6, 0), (5, 0))
        assert trace.as_written() is trace
        for verb in (split, with_error_tracks):
            with pytest.raises(UsageError, match=r"t\.txt is no Perfetto trace"):
                verb(trace, *((tmp_path,) if verb is split else ()))


def test_no_module_above_the_formats_asks_which_format_a_trace_is_of():
    def subclasses(kind):
        for one in kind.__subclasses__():
            yield from (one, *subclasses(one))

    for module in pkgutil.walk_packages(formats.__path__, "tracetime.formats."):
        if "worker" not in module.name:
            importlib.import_module(module.name)
    known = {one.__name__ for one in subclasses(Trace) if one.__module__.startswith("tracetime.")}
    assert {"CarriedTrace", "CtfTrace", "SpanTrace"} <= known
    source = Path(formats.__file__).parent.parent
    above = [
        path
        for path in source.rglob("*.py")
        if path.relative_to(source).parts[0] not in ("formats", "trace")
    ]
    asked = re.compile(rf"isinstance\([^)]*\b({'|'.join(known)})\b")
    assert [path for path in above if asked.search(path.read_text())] == []


def test_a_note_of_a_format_is_a_finding_and_an_attribute_of_its_trace(text, monkeypatch):
    gpu = ClockId(GPU)
    given = [
        Note("events-dropped", packets=(3,), events=7),
        Note("offsets-shifted", packets=(2,), events=None, size_ns=5_000, clocks=(gpu,)),
        Note("parts-passed-over", values={"what": "2 lines of another shape"}),
        Note("odd-times", "wrapped", (1,), 9, 2, values={"what": "2 events at 0"}),
    ]
    monkeypatch.setattr(TextTrace, "notes", lambda _, code: (n for n in given if n.code == code))
    with open_trace(text) as trace:
        found = {one.code: one for one in diagnose(trace, 6_000)}
        worse = {one.code: one for one in diagnose(trace, 4_000)}
        assert (trace.events_dropped, trace.dropped_packet) == (7, 3)
        assert trace.shifted_offsets == [(gpu, 5_000, 2)]
        assert trace.warnings == trace.passed_over == [("2 lines of another shape", 0, 0)]
        assert trace.odd_events == [("wrapped", "2 events at 0", 2, 1, 9, 0)]
    assert {note.code for note in given} <= set(found)
    dropped, shifted, odd = (found[given[k].code] for k in (0, 1, 3))
    assert (dropped.severity, dropped.packets, dropped.events) == ("error", (3,), 7)
    assert (shifted.severity, worse[shifted.code].severity) == ("info", "warning")
    # Both events of the clock.
    assert (shifted.events, shifted.worst_ns, shifted.clocks) == (2, 5_000, (gpu,))
    # What is beyond int64 is taken to follow from it.
    assert odd.title == "2 events at 0"
    assert [one.code for one in odd.consequences] == ["timestamp-overflow"]
