"""The verb convert: all or nothing in the file, and a summary that adds up."""

import os
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from building import event, packet, pb, snapshot, trace
from hypothesis import given, settings
from random_traces import traces
from samples import UNRESOLVED

import tracetime.verbs.convert
from tracetime import ClockId, ConversionError, TraceError, UsageError, open_trace
from tracetime.analysis.groups import EventCounts
from tracetime.analysis.trace_instants import Span
from tracetime.formats.perfetto.read import reader
from tracetime.formats.perfetto.schema import vocabulary
from tracetime.tables import writers
from tracetime.trace.events_table import BOUNDED_SCHEMA, EVENTS_SCHEMA, NAMES_SCHEMA
from tracetime.verbs.convert import convert

MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1

TRACE = trace(
    snapshot({BOOTTIME: 2000, MONOTONIC: 1000, REALTIME: 500}),
    event(2100),
    event(1100, MONOTONIC),
    event(7, 777),
    event(8, 64, seq=5),
    event(9, 64, seq=5),
    event(10, needs_state=True, seq=9),
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(TRACE)
    return path


def files_of(path):
    return sorted(p.name for p in path.parent.iterdir())


class FakeTrace:
    """Yields `batches` of `rows`, then raises `error`."""

    trace_clock = "BOOTTIME"
    vocabulary = vocabulary()

    def __init__(self, batches, error, rows=1):
        self.path, self._batches, self._error = "fake.pftrace", batches, error
        self._rows = rows

    def placed_columns(self, policy, progress, *, bars, names, observer):
        n = self._rows
        columns = {field.name: np.zeros(n, np.int64) for field in EVENTS_SCHEMA}
        columns |= {name: np.zeros(n, np.uint32) for name in ("clock", "sequence", "machine")}
        columns |= {"status": np.zeros(n, np.uint8), "source_ns": np.zeros(n, np.int64)}
        columns["snapshots"] = np.zeros(n, np.int64)
        for _ in range(self._batches):
            yield columns
        if self._error is not None:
            raise self._error


def test_the_file_holds_what_read_all_returns(path, tmp_path):
    out = tmp_path / "events.parquet"
    with open_trace(path) as opened:
        convert(opened, out)
        expected = opened.read_all()
    assert pq.read_table(out).equals(expected)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_nothing_but_the_file_is_left(path, tmp_path, ending):
    with open_trace(path) as opened:
        convert(opened, tmp_path / f"events.{ending}")
    assert files_of(path) == [f"events.{ending}", "t.pftrace"]


def test_the_file_says_how_it_was_made(path, tmp_path):
    out = tmp_path / "events.parquet"
    with open_trace(path) as opened:
        convert(opened, out)
    metadata = pq.read_schema(out).metadata
    assert {key: value for key, value in metadata.items() if key != b"pandas"} == {
        b"tracetime.trace_clock": b"BOOTTIME",
        b"tracetime.policy": b"floor",
        b"tracetime.version": tracetime.__version__.encode(),
    }


def test_to_adds_a_column(path, tmp_path):
    out = tmp_path / "events.parquet"
    with open_trace(path) as opened:
        summary = convert(opened, out, to="REALTIME")
    table = pq.read_table(out)
    assert table.column_names == [*EVENTS_SCHEMA.names, "to_time"]
    assert table["trace_time"].to_pylist() == [2100, 2100, None, None, None, None]
    assert table["to_time"].to_pylist() == [600, 600, None, None, None, None]
    assert (summary.to, summary.to_unresolved) == (ClockId(REALTIME), 0)


def named_trace(path, sequences=3, each=2):
    """Events whose names change from sequence to sequence, one of them hard to write."""
    packets = [snapshot({BOOTTIME: 2000, REALTIME: 500})]
    for seq in range(1, sequences + 1):
        for i in range(each):
            made = pb.TrackEvent(type=1, name=f'a "name", {seq}\n', categories=["one", "two"])
            made.debug_annotations.add(name="k", string_value="v")
            packets.append(packet(2000 + i, seq=seq, track_event=made))
    path.write_bytes(trace(*packets))
    return path


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_names_come_after_all_other_columns(tmp_path, ending, policy):
    path, out = named_trace(tmp_path / "t.pftrace"), tmp_path / f"events.{ending}"
    with open_trace(path) as opened:
        summary = convert(opened, out, to="REALTIME", policy=policy, names=True)
    assert summary.names_left_out == 0
    read = {"parquet": pq.read_table, "arrow": read_arrow, "csv": read_csv}[ending]
    table = read(out)
    times = BOUNDED_SCHEMA if policy == "tube" else EVENTS_SCHEMA
    assert table.column_names == [*times.names, "to_time", *NAMES_SCHEMA.names]
    rows = table.to_pylist()
    assert [row["name"] for row in rows] == [f'a "name", {n}\n' for n in (1, 1, 2, 2, 3, 3)]
    last = [rows[-1][name] for name in ("category", "type", "value", "args")]
    assert last == ["one,two", "slice_begin", None, '{"k":"v"}']


def read_arrow(path):
    return pa.ipc.open_file(str(path)).read_all()


def read_csv(path):
    options = pa.csv.ParseOptions(newlines_in_values=True)
    return pa.csv.read_csv(path, parse_options=options)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_names_of_many_batches(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(reader, "BATCH_ROWS", 100)
    monkeypatch.setattr(writers, "ROW_GROUP_ROWS", 250)
    path, out = named_trace(tmp_path / "t.pftrace", 40, 25), tmp_path / f"events.{ending}"
    with open_trace(path) as opened:
        convert(opened, out, names=True)
        expected = opened.read_all(names=True)["name"].to_pylist()
    table = pq.read_table(out) if ending == "parquet" else read_arrow(out)
    assert table["name"].to_pylist() == expected
    assert len(set(expected)) == 40
    if ending == "parquet":
        chunk = pq.read_metadata(out).row_group(1).column(table.column_names.index("name"))
        assert chunk.has_dictionary_page and "PLAIN" in chunk.encodings


@pytest.mark.parametrize(
    ("span", "times"),
    [
        (Span(2001, None), [2001, 2001, 2001]),
        (Span(None, 2001), [2000, 2000, 2000]),
        (Span(2000, 2001), [2000, 2000, 2000]),
        (Span(2002, 9999), []),
    ],
    ids=str,
)
def test_a_span_is_all_that_is_written_and_counted(tmp_path, span, times):
    path, out = named_trace(tmp_path / "t.pftrace"), tmp_path / "events.parquet"
    for policy in ("floor", "tube"):
        with open_trace(path) as opened:
            summary = convert(opened, out, to="REALTIME", policy=policy, names=True, span=span)
        table = pq.read_table(out)
        assert table["trace_time"].to_pylist() == times
        assert len(set(table["name"].to_pylist())) == len(times)
        assert summary.rows == len(times) == sum(kind.events for kind in summary.kinds)
        assert sum(use.events for use in summary.clocks) == len(times)


def test_a_span_has_no_events_without_trace_time(tmp_path):
    path, out = tmp_path / "t.pftrace", tmp_path / "events.csv"
    path.write_bytes(UNRESOLVED)
    with open_trace(path) as opened:
        summary = convert(opened, out, span=Span(-(2**63), None))
    assert (summary.rows, summary.unresolved) == (1, 0)


def test_to_a_clock_out_of_reach_is_refused_at_once(path, tmp_path):
    with open_trace(path) as opened, pytest.raises(ConversionError) as raised:
        convert(opened, tmp_path / "events.parquet", to="TSC")
    assert raised.value.reason == "unknown_target_clock"
    assert files_of(path) == ["t.pftrace"]


def test_to_counts_what_does_not_convert(tmp_path):
    path = tmp_path / "t.pftrace"
    near_end = 2**63 - 10
    readings = snapshot({BOOTTIME: 0, REALTIME: 100})
    path.write_bytes(trace(readings, event(5), event(near_end)))
    with open_trace(path) as opened:
        summary = convert(opened, tmp_path / "events.parquet", to="REALTIME")
    assert summary.to_unresolved == 1
    assert pq.read_table(tmp_path / "events.parquet")["to_time"].to_pylist()[-1] is None


def test_the_summary_tells_what_was_found(path, tmp_path):
    with open_trace(path) as opened:
        summary = convert(opened, tmp_path / "events.parquet")
    assert summary.trace_clock == ClockId(BOOTTIME)
    assert (summary.rows, summary.unresolved) == (6, 4)
    assert [(kind.kind, kind.events) for kind in summary.kinds] == [("packet", 6)]
    assert summary.kinds[0].statuses == {
        "resolved": 2,
        "unknown_source_clock": 3,
        "skipped_incremental_state": 1,
    }
    uses = {str(u.clock): (u.snapshots, u.events, u.unresolved) for u in summary.clocks}
    assert uses == {
        "REALTIME": (1, 0, 0),
        "MONOTONIC": (1, 1, 0),
        "BOOTTIME": (1, 2, 1),
        "64@seq5": (0, 2, 2),
        "777": (0, 1, 1),
    }
    unknown = next(r for r in summary.reasons if r.reason == "unknown_source_clock")
    assert unknown.clocks == ((ClockId(64, 5), 2), (ClockId(777), 1))
    assert "ClockSnapshot" in unknown.advice


@given(traces())
@settings(max_examples=40)
def test_the_summary_adds_up_on_any_trace(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("convert")
    path, out = folder / "t.pftrace", folder / "t.arrow"
    path.write_bytes(data)
    with open_trace(path, partial=True) as opened:
        try:
            summary = convert(opened, out)
        except TraceError:
            assert files_of(path) == ["t.pftrace"]
            return
        events = opened.read_all().to_pylist()
    assert summary.rows == len(events) == sum(use.events for use in summary.clocks)
    unresolved = [row for row in events if row["trace_time"] is None]
    assert summary.unresolved == len(unresolved) == sum(use.unresolved for use in summary.clocks)
    assert {r.reason: r.events for r in summary.reasons} == Counter(r["status"] for r in unresolved)
    assert {k.kind: k.events for k in summary.kinds} == Counter(row["kind"] for row in events)
    by_number = Counter()
    for use in summary.clocks:
        by_number[use.clock.clock, use.clock.sequence] += use.events
    assert +by_number == Counter((row["clock"], row["sequence"]) for row in events)


def test_counts_of_many_batches_are_those_of_one(path):
    parts, whole = EventCounts(), EventCounts()
    with open_trace(path) as opened:
        (columns,) = opened.columns()
        clocks, machines = [info.clock for info in opened.clocks.clocks()], opened.machines
    for k in range(len(columns["status"])):
        parts.add({name: column[k : k + 1] for name, column in columns.items()})
    whole.add(columns)
    assert parts.groups(clocks, machines) == whole.groups(clocks, machines)
    assert (parts.rows, parts.kinds) == (whole.rows, whole.kinds)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("batches", [0, 1, 20])
@pytest.mark.parametrize("error", [TraceError("corrupt", 5, 1), KeyboardInterrupt(), OSError("io")])
def test_an_interrupted_run_leaves_nothing(tmp_path, ending, batches, error):
    out = tmp_path / f"events.{ending}"
    out.write_text("of an earlier run")
    with pytest.raises(type(error)):
        convert(FakeTrace(batches, error), out)
    assert files_of(out) == [out.name]
    assert out.read_text() == "of an earlier run"


def test_an_interrupted_run_does_not_write_what_waits(tmp_path, monkeypatch):
    writing, going_on = threading.Event(), threading.Event()
    written = []

    class Slow(writers.CsvTable):
        def write(self, batch):
            written.append(batch.num_rows)
            writing.set()
            going_on.wait(600)

    class Interrupted(FakeTrace):
        def placed_columns(self, *args, **options):
            yield from super().placed_columns(*args, **options)
            writing.wait(600)
            threading.Timer(0.2, going_on.set).start()
            raise KeyboardInterrupt

    monkeypatch.setattr(tracetime.verbs.convert, "table_writer", lambda path, kind: Slow)
    with pytest.raises(KeyboardInterrupt):
        convert(Interrupted(3, None, 20_000), tmp_path / "events.csv")
    assert written == [Slow.rows_at_once]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fails", ["write", "finish"])
@pytest.mark.parametrize(
    ("error", "expected"),
    [(OSError(28, "No space left on device"), UsageError), (ValueError("odd"), ValueError)],
)
def test_an_error_in_writing_ends_the_run(path, tmp_path, monkeypatch, fails, error, expected):
    class Failing(tracetime.verbs.convert.table_writer(tmp_path / "x.csv")):
        pass

    def fail(self, _):
        raise error

    setattr(Failing, fails, fail)
    monkeypatch.setattr(tracetime.verbs.convert, "table_writer", lambda path, kind: Failing)
    with open_trace(path) as opened, pytest.raises(expected) as raised:
        convert(opened, tmp_path / "events.csv")
    if expected is UsageError:
        assert "No space left on device" in str(raised.value)
    assert files_of(path) == ["t.pftrace"]


def test_a_writer_that_fails_does_not_leave_the_reader_waiting(tmp_path, monkeypatch):
    class Failing(tracetime.verbs.convert.table_writer(tmp_path / "x.csv")):
        def write(self, batch):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tracetime.verbs.convert, "table_writer", lambda path, kind: Failing)
    with pytest.raises(UsageError, match="No space left"):
        convert(FakeTrace(1000, AssertionError("read to the end")), tmp_path / "events.csv")


def test_a_full_disk_is_reported_and_leaves_nothing(path, tmp_path):
    # A limit on file size stands in for the full disk.
    path.write_bytes(TRACE * 2000)
    program = (
        "import resource, sys\n"
        "from tracetime.commands import run\n"
        "most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, most[1]))\n"
        "code = run(sys.argv[1:])\n"
        # Whoever measures coverage writes its own file now.
        "resource.setrlimit(resource.RLIMIT_FSIZE, most)\n"
        "sys.exit(code)"
    )
    for ending in ("parquet", "arrow", "csv"):
        args = ["convert", str(path), "-o", str(tmp_path / f"events.{ending}")]
        done = subprocess.run(
            [sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=600
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("tracetime: error: cannot write")
        assert len(done.stderr.splitlines()) == 1
        assert files_of(path) == ["t.pftrace"]


def test_a_link_stays_a_link(path, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "events.csv"
    link.symlink_to("real/there.csv")
    with open_trace(path) as opened:
        convert(opened, link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "there.csv").read_text().startswith("packet,kind")


def test_what_cannot_be_written_is_refused(path, tmp_path):
    same = tmp_path / "same.csv"
    os.link(path, same)
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with open_trace(path) as opened:
        for out, message in (
            (same, "what is read"),
            (folder, "not a file"),
            (tmp_path / "none" / "events.csv", "No such file or directory"),
            ("/dev/null", "not a file"),
            (tmp_path / "events.txt", "let it end in"),
        ):
            with pytest.raises(UsageError, match=message):
                convert(opened, out)
    assert path.read_bytes() == TRACE
