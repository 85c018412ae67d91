"""Tables as traces: what their columns mean, and what is said of those that mean nothing."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from corpus import DATA, NO_DATA
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId, TraceError, UsageError, diagnose, open_trace
from tracetime.doctor.finding import in_order
from tracetime.formats.table.reader import TableTrace
from tracetime.formats.table.stored_tables import stored_table
from tracetime.formats.trace_file import TraceFile
from tracetime.tables.file_conversion import convert_table_file
from tracetime.tables.inputs import open_table
from tracetime.verbs.convert import convert

pytest_plugins = ["cli"]

DEMO = Path(__file__).parents[3] / "demo" / "demo.pftrace"
S = 10**9


def as_ipc(table, new):
    into = io.BytesIO()
    with new(into, table.schema) as writer:
        writer.write_table(table, 2)
    return into.getvalue()


def as_parquet(table):
    into = io.BytesIO()
    pq.write_table(table, into)
    return into.getvalue()


def as_csv(table):
    into = io.BytesIO()
    pyarrow.csv.write_csv(table, into)
    return into.getvalue()


KINDS = {
    "parquet": as_parquet,
    "arrow": lambda table: as_ipc(table, ipc.new_file),
    "stream": lambda table: as_ipc(table, ipc.new_stream),
    "csv": as_csv,
    "csv in gzip": lambda table: gzip.compress(as_csv(table)),
    "parquet in gzip": lambda table: gzip.compress(as_parquet(table)),
}


@pytest.fixture
def opened(tmp_path):
    """Open a table, or bytes, as a trace."""

    def opened(content, kind="parquet", **options):
        path = tmp_path / "t"
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else KINDS[kind](content))
        trace = open_trace(path, **options)
        assert isinstance(trace, TableTrace)
        return trace

    return opened


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_what_convert_writes_opens_again(tmp_path, ending, policy):
    """Every row, with the trace time it had, and what says what it is."""
    path = tmp_path / f"events.{ending}"
    with open_trace(DEMO) as trace:
        convert(trace, path, policy=policy, names=True)
        expected = trace.read_all(policy, names=True).drop(["payload"])
        payloads = trace.read_all(policy)["payload"].to_pylist()
    with open_trace(path) as again:
        assert again.trace_clock == ClockId(6)
        rows = again.read_all(names=True)
    assert rows["payload"].to_pylist() == payloads
    for name in rows.drop(["payload"]).column_names:
        assert rows[name].to_pylist() == expected[name].to_pylist(), name


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_what_convert_placed_stays_where_it_is(tmp_path, policy, ending):
    """By both policies, with the bars that it has; the doctor does not miss the snapshots."""
    path = tmp_path / f"e.{ending}"
    with open_trace(DEMO) as trace:
        convert(trace, path, policy=policy)
        expected = trace.read_all(policy).to_pylist()
    with open_trace(path) as again:
        assert again.placed_by == policy
        (finding,) = (one for one in diagnose(again) if one.code == "placed-before")
        assert finding.title.startswith(f"the {policy} policy put the events")
        assert "no-snapshots" not in {one.code for one in in_order(diagnose(again))}
        rows = again.read_all("tube").to_pylist()
        by_floor = again.read_all("floor").to_pylist()
    for name in ("trace_time", "status"):
        assert [row[name] for row in rows] == [row[name] for row in expected]
        assert [row[name] for row in by_floor] == [row[name] for row in expected]
    for side in ("earliest", "latest"):
        assert [row[side] for row in rows] == [row.get(side) for row in expected]


def test_open_bars_of_a_table_stay_open(opened):
    columns = {
        "clock": [3, 3, 3, 3],
        "timestamp": [1, 2, 3, 4],
        "trace_time": [10, 20, None, 40],
        "status": ["one_sided", "resolved", "no_path", "resolved"],
        "earliest": pa.array([None, 15, None, None], pa.int64()),
        "latest": [12, 25, None, 45],
    }
    with opened(pa.table(columns)) as trace:
        rows = trace.read_all("tube").to_pylist()
    assert [(row["earliest"], row["latest"]) for row in rows] == [
        (None, 12),
        (15, 25),
        (None, None),
        (None, None),
    ]


@pytest.mark.parametrize("given", ["ts", "ts:MONOTONIC", "x:com.example.gpu"])
@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_what_map_wrote_has_its_bars(tmp_path, policy, given):
    table = pa.table({given: pa.array([868_258_201_186, None, 868_258_301_186]), "name": [*"abc"]})
    with open_trace(DEMO) as trace:
        graph = trace.clocks
        pq.write_table(table, tmp_path / "t.parquet")
        with open_table(tmp_path / "t.parquet") as source:
            convert_table_file(
                source, graph, {given: "MONOTONIC"}, tmp_path / "o.parquet", policy=policy
            )
    written = pq.read_table(tmp_path / "o.parquet").to_pylist()
    with open_trace(tmp_path / "o.parquet") as again:
        rows = again.read_all("tube").to_pylist()
        codes = {one.code for one in in_order(diagnose(again))}
    assert codes == {"placed-before", "events-without-time"}
    assert [row["trace_time"] for row in rows] == [row[f"{given}_time"] for row in written[::2]]
    if policy == "tube":
        for side in ("earliest", "latest"):
            assert [row[side] for row in rows] == [
                row[f"{given}_time_{side}"] for row in written[::2]
            ]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_name_their_clock_are_events(opened, kind):
    table = pa.table(
        {
            "clock": ["MONOTONIC", "BOOTTIME", None, "com.example.gpu", "BOOTTIME"],
            "timestamp": [1000, 2000, 5, 7, None],
            "name": ["a", None, "c", "d", "e"],
            "tid": [1, 2, None, 4, 5],
        }
    )
    with opened(table, kind) as trace:
        rows = trace.read_all(names=True).to_pylist()
        assert trace.clocks.name("com.example.gpu") == "com.example.gpu"
    assert [(r["packet"], r["kind"], r["clock"], r["timestamp"]) for r in rows] == [
        (0, "event", 3, 1000),
        (1, "event", 6, 2000),
        (2, "event", 0, 5),
        (3, "event", 0x93259A8E, 7),
    ]
    assert [r["status"] for r in rows] == [
        "unknown_source_clock",
        "resolved",
        "as_is",
        "unknown_source_clock",
    ]
    assert [r["name"] for r in rows] == ["a", None, "c", "d"]
    assert [r["tid"] for r in rows] == [1, 2, None, 4]


SNAPSHOTS = pa.table({"monotonic_ns": [S, 2 * S], "com.example.gpu_ns": [5, S + 5]})


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_a_clock_is_a_snapshot_a_row(opened, kind):
    with opened(SNAPSHOTS, kind) as trace:
        assert trace.trace_clock == ClockId(3)
        assert trace.clocks.convert(7, "com.example.gpu", "MONOTONIC") == S + 2
        assert [trace.clocks.name(i.clock) for i in trace.clocks.clocks()] == [
            "MONOTONIC",
            "com.example.gpu",
        ]
        assert trace.read_all().num_rows == 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_may_be_readings(opened, kind):
    table = pa.table(
        {
            "snapshot": [0, 0, 1, 1],
            "clock": ["MONOTONIC", "com.example.gpu"] * 2,
            "value": [S, 5, 2 * S, S + 5],
        }
    )
    with opened(table, kind) as trace:
        assert trace.clocks.convert(7, "com.example.gpu", "MONOTONIC") == S + 2
        assert "com.example.gpu" in [trace.clocks.name(i.clock) for i in trace.clocks.clocks()]


def test_snapshots_of_sql_open_again(tracetime, tmp_path):
    """Machines and sequences, too."""
    path = tmp_path / "s.csv"
    assert tracetime("sql", DEMO, "from snapshots", "-o", path, "--format", "csv")[0] == 0
    with open_trace(DEMO) as trace, open_trace(path) as again:
        assert {i.clock for i in again.clocks.clocks()} == {i.clock for i in trace.clocks.clocks()}
        rows = trace.read_all()
        clock, ts = (
            0x93259A8E,
            rows.filter(pa.compute.equal(rows["clock"], 0x93259A8E))["timestamp"],
        )
        assert again.clocks.convert(ts.to_numpy(), clock, "BOOTTIME").tolist() == (
            trace.clocks.convert(ts.to_numpy(), clock, "BOOTTIME").tolist()
        )


@pytest.mark.parametrize("rows", [False, True])
def test_half_widths_widen_bars(opened, rows):
    graph = ClockGraph.from_table(
        SNAPSHOTS,
        {"monotonic_ns": "MONOTONIC", "com.example.gpu_ns": "com.example.gpu"},
        reference="MONOTONIC",
        half_width_ns={"com.example.gpu_ns": 40},
    )
    table = SNAPSHOTS.append_column("half_width_ns", pa.array([40, 40]))
    if rows:
        table = pa.table(
            {
                "snapshot": [0, 0, 1, 1],
                "clock": ["MONOTONIC", "com.example.gpu"] * 2,
                "value": [S, 5, 2 * S, S + 5],
                "half_width_ns": [None, 40, None, 40],
            }
        )
    with opened(table) as trace:
        bar = trace.clocks.convert(S, "com.example.gpu", "MONOTONIC", policy="tube", bounds=True)
    assert bar == graph.convert(S, "com.example.gpu", "MONOTONIC", policy="tube", bounds=True)


TIMES = {"begin:MONOTONIC": [1000, None], "end:BOOTTIME": [2000, 3000], "name": ["a", "b"]}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_may_name_their_clock(opened, kind):
    with opened(pa.table(TIMES), kind) as trace:
        rows = trace.read_all(names=True).to_pylist()
    found = [(r["packet"], r["item"], r["kind"], r["clock"], r["timestamp"]) for r in rows]
    assert found == [(0, 0, "begin", 3, 1000), (0, 1, "end", 6, 2000), (1, 1, "end", 6, 3000)]
    assert [r["name"] for r in rows] == ["a", "a", "b"]
    assert [r["type"] for r in rows] == ["slice_begin", "slice_end", "slice_end"]


def test_metadata_of_a_field_may_name_its_clock(opened):
    field = pa.field("at", pa.int64(), metadata={"tracetime.clock": "MONOTONIC"})
    bar = field.with_name("at_latest")
    table = pa.table([[5], [9]], schema=pa.schema([field, bar]))
    with opened(table) as trace:
        rows = trace.read_all().to_pylist()
    assert [(row["kind"], row["clock"], row["timestamp"]) for row in rows] == [("at", 3, 5)]


def test_a_bar_holds_what_a_unit_cut_off(opened):
    table = pa.table({"at:BOOTTIME": pa.array([1_234_567], pa.timestamp("us"))})
    with opened(table) as trace:
        row = trace.read_all("tube").to_pylist()[0]
    assert (row["earliest"], row["latest"]) == (1_234_567_000, 1_234_567_999)


def test_trace_time_is_a_clock_that_never_falls(opened):
    table = pa.table({"boottime_ns": [5, 4, 6], "com.example.gpu_ns": [1, 2, 3]})
    with opened(table) as trace:
        assert trace.trace_clock == ClockId.parse("com.example.gpu")
        assert "clock-reset" in {finding.code for finding in diagnose(trace)}
    with (
        opened(
            table.slice(0, 2)
            .drop(["com.example.gpu_ns"])
            .append_column("monotonic_ns", pa.array([3, 2]))
        ) as trace,
        pytest.raises(TraceError, match="never falls"),
    ):
        _ = trace.clocks


def test_a_table_of_snapshots_without_rows_says_so(opened):
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("monotonic_ns", "boottime_ns")})
    with opened(empty) as trace, pytest.raises(TraceError, match="has no rows"):
        _ = trace.clocks


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({"a": [1], "b": [2]}, UsageError, "--map COLUMN:CLOCK"),
        ({"at:MONOTONIC": [1.5]}, TraceError, "holds floats"),
        ({"at:MONOTONIC": ["x"]}, TraceError, "is string, not times"),
        ({"clock": [6, 6], "timestamp": [1, 2.5]}, TraceError, "holds floats"),
        ({"clock": ["6@machine2"], "timestamp": [1]}, TraceError, "a column `machine`"),
        ({"clock": [6, -1], "timestamp": [1, 2]}, TraceError, "has -1 in row 1"),
        ({"clock": [6], "timestamp": [1], "machine": ["x"]}, TraceError, "whole numbers"),
        ({"snapshot": [0], "clock": [None], "value": [1]}, TraceError, "reading of no clock"),
        ({"snapshot": [0], "clock": ["foo"], "value": [1]}, TraceError, "has 'foo'"),
        ({"monotonic_ns": [1], "boottime_ns": ["x"]}, TraceError, "is string"),
        ({"monotonic_ns": [1], "MONOTONIC": [1]}, TraceError, "twice"),
        (
            {"snapshot": [0] * 2, "clock": [6, 3], "value": [1, 1], "half_width_ns": [5, 5]},
            TraceError,
            "relative to one clock",
        ),
    ],
)
def test_what_is_wrong_is_told(opened, columns, error, said):
    with opened(pa.table(columns)) as trace, pytest.raises(error, match=said):
        trace.read_all()


def test_a_name_twice_is_told(opened):
    table = pa.table([[6], [1], [2]], names=["clock", "timestamp", "timestamp"])
    with opened(table) as trace, pytest.raises(TraceError, match="several columns 'timestamp'"):
        trace.read_all()


@pytest.mark.parametrize("kind", ["arrow", "stream"])
def test_offsets_that_lead_astray_are_told(opened, kind):
    """Arrow reads far beyond the text, and crashes, where nothing checks them."""
    table = pa.table({"clock": ["MONOTONIC"] * 3, "timestamp": [1, 2, 3]})
    data = KINDS[kind](table)
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 9, 18))
    assert offsets in data
    bad = offsets[:4] + (0x7FFFFFF0).to_bytes(4, "little") + offsets[8:]
    with opened(data.replace(offsets, bad)) as trace:
        with pytest.raises(TraceError, match="as a table"):
            trace.read_all()


def test_types_of_csv_are_those_of_its_rows(opened):
    """A text that Arrow takes for null unless told otherwise is not another type of column."""
    rows = "snapshot,clock,value\nNA,3,1\nNA,6,2\n7,3,3\n7,6,4\n"
    with opened(rows) as trace:
        assert trace.clocks.convert(3, "MONOTONIC", "BOOTTIME") == 4


def test_a_name_that_is_no_utf8_is_told(opened):
    data = as_parquet(pa.table({"clock": [6], "timestamp": [1], "other": [2]}))
    with opened(data.replace(b"other", b"oth\xffr")) as trace:
        with pytest.raises(TraceError, match="as a table"):
            trace.read_all()


@pytest.mark.parametrize(
    "header", ["at,what", "clock,time", "snapshot,clock", "MONOTONIC", "a:b", "x:1", "\xff,clock"]
)
def test_csv_of_other_columns_is_no_trace(tmp_path, header):
    path = tmp_path / "t.csv"
    path.write_bytes(header.encode("latin-1") + b"\n1,2\n")
    with pytest.raises(TraceError, match="this is text"):
        open_trace(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "csv in gzip"])
@pytest.mark.parametrize("keep", [6, 20, 0.3, 0.6, 0.9])
def test_a_table_that_is_cut_off_is_told(opened, kind, keep):
    table = pa.table({"clock": [6] * 3000, "timestamp": range(3000)})
    data = KINDS[kind](table)
    cut = data[: keep if isinstance(keep, int) else int(len(data) * keep)]
    try:
        trace = opened(cut)
    except AssertionError:
        assert kind == "csv in gzip" and keep in (6, 20)
        return
    with trace, pytest.raises(TraceError, match=r"as a table|is cut off"):
        trace.read_all()


def test_partial_keeps_what_comes_before(opened):
    rows = "clock,timestamp\n" + "".join(f"6,{n}\n" for n in range(200_000)) + "6,7,8\n"
    with opened(rows) as trace, pytest.raises(TraceError, match="Expected 2 columns, got 3"):
        trace.read_all()
    with opened(rows, partial=True) as trace:
        found = trace.read_all()["timestamp"].to_pylist()
        assert found and found == list(range(len(found)))
        assert "Expected 2 columns" in str(trace.truncated)


@pytest.mark.skipif(not (DATA / "clocks").is_dir(), reason=NO_DATA)
def test_recorded_clocks(tracetime, tmp_path):
    path = DATA / "clocks" / "real_drift.csv"
    code, printed, _ = tracetime("doctor", path, "--json")
    codes = {one["code"] for one in json.loads(printed)["traces"][0]["findings"]}
    assert (code, codes) == (0, {"tsc-without-rate"})
    with open_trace(path) as trace:
        assert trace.trace_clock == ClockId(6)
        assert {info.snapshots for info in trace.clocks.clocks()} == {3000}


def test_commands_take_it(tracetime, tmp_path):
    path, events = tmp_path / "s.csv", tmp_path / "e.csv"
    path.write_bytes(as_csv(SNAPSHOTS))
    events.write_bytes(as_csv(pa.table(TIMES)))
    assert "com.example.gpu" in tracetime("clocks", path)[1]
    code, printed, _ = tracetime("at", path, "7", "--from", "com.example.gpu", "--to", "MONOTONIC")
    assert (code, str(S + 2) in printed) == (0, True)
    assert tracetime("report", path, "-o", tmp_path / "r.html")[0] == 0
    assert "2000" in tracetime("sql", events, "select trace_time from events", "--format", "csv")[1]
    assert tracetime("convert", events, "-o", tmp_path / "out.parquet")[0] == 0
    assert pq.read_table(tmp_path / "out.parquet")["timestamp"].to_pylist() == [1000, 2000, 3000]


CLOCKS = ("BOOTTIME", "MONOTONIC", "REALTIME", "com.example.gpu")


@st.composite
def readings(draw):
    """Rows of readings of some clocks, of which at least one never falls."""
    at, rows = 0, []
    for number in range(draw(st.integers(1, 6))):
        at += draw(st.integers(20_000, 10 * S))
        for clock in sorted(draw(st.lists(st.sampled_from(CLOCKS), min_size=2, unique=True))):
            rows.append((number, clock, at + draw(st.integers(-5000, 5000))))
    return rows


@given(readings(), st.sampled_from(sorted(KINDS)), st.booleans())
def test_any_table_of_snapshots_converts_as_its_graph(tmp_path_factory, rows, kind, by_column):
    frame = pd.DataFrame(rows, columns=["snapshot", "clock", "value"])
    graph = ClockGraph.from_table(frame, "value", clock="clock", snapshot="snapshot")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if by_column:
        wide = frame.pivot(index="snapshot", columns="clock", values="value").astype("Int64")
        table = pa.Table.from_pandas(wide, preserve_index=False)
        table = table.rename_columns([f"{name}_ns" for name in table.column_names])
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_bytes(KINDS[kind](table))
    known = [info.clock for info in graph.clocks()]
    times = pa.array([S, 5 * S, -S])
    with open_trace(path) as trace:
        for policy in ("floor", "tube"):
            for one in known:
                for other in known:
                    expected, found = (
                        each.convert(times, one, other, policy=policy, errors="mask").to_pylist()
                        for each in (graph, trace.clocks)
                    )
                    assert found == expected


def test_wide_row_groups_are_read_a_few_rows_at_once(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(as_parquet(pa.table({f"c{n}": range(20_000) for n in range(150)})))
    file = TraceFile(path)
    with stored_table(file) as table:
        sizes = [(batch.num_rows, batch.nbytes) for batch in table.batches()]
    file.close()
    assert sum(rows for rows, _ in sizes) == 20_000
    # 24 MB in all.
    assert max(size for _, size in sizes) < 10 << 20


# Not ru_maxrss: that of a child counts what its parent had when it was forked.
BOMB = """
import pathlib, sys
import tracetime

with tracetime.open_trace(sys.argv[1]) as trace:
    rows = sum(batch.num_rows for batch in trace.events(names=True))
status = pathlib.Path("/proc/self/status").read_text()
print(rows, status.partition("VmHWM:")[2].split()[0])
"""


def test_a_long_text_of_many_rows_is_held_once(tmp_path):
    """Parquet has it once, in some kB: a text for each row is 2 GB."""
    path, n = tmp_path / "t", 2000
    names = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["x" * 10**6])
    table = pa.table({"clock": [6] * n, "timestamp": range(n), "name": names})
    # Without Arrow's own schema it is a column of texts.
    pq.write_table(table, path, store_schema=False)
    assert path.stat().st_size < 500_000
    words = [sys.executable, "-c", BOMB, str(path)]
    rows, kilobytes = map(int, subprocess.check_output(words).split())
    assert rows == n
    assert kilobytes < 600_000


def test_arguments_longer_than_a_batch_are_told(opened):
    n = 3000
    table = pa.table({"clock": [6] * n, "timestamp": range(n), "args": ["x" * 10**5] * n})
    with opened(table) as trace:
        assert trace.read_all().num_rows == n
        with pytest.raises(TraceError, match="args have more than"):
            trace.read_all(names=True)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_signs_between_columns(opened, delimiter):
    rows = [("clock", "timestamp", "name"), ("BOOTTIME", "5", '"a,b"'), ("BOOTTIME", "6", "c")]
    with opened("\n".join(map(delimiter.join, rows)) + "\n") as trace:
        found = trace.read_all(names=True).to_pylist()
    assert [(row["timestamp"], row["name"]) for row in found] == [(5, "a,b"), (6, "c")]


def test_commas_are_what_separates_where_there_are_any(opened):
    with opened('clock,timestamp,"a;b"\nBOOTTIME,5,1\n') as trace:
        assert trace.read_all()["timestamp"].to_pylist() == [5]


def test_a_table_of_nothing_is_not_in_order(opened, tracetime, tmp_path):
    for header in ("clock,timestamp\n", "at:MONOTONIC\n"):
        opened(header).close()
        _, out, _ = tracetime("doctor", tmp_path / "t")
        assert "in order" not in out
        assert "the trace is empty: no events" in out
