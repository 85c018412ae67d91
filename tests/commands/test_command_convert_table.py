"""`tracetime convert` of a table: what it writes, what it says, and with which exit code."""

import csv
import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from building import snapshot, trace
from graphs import graph_of

from tracetime import TraceError, UsageError
from tracetime.tables.inputs import open_table

pytest_plugins = ["cli"]

TIED = trace(snapshot({6: 1000, 3: 400}), snapshot({6: 2000, 3: 1400}))
ROWS = pa.table({"ts": pa.array([401, None, 403], pa.int64()), "what": ["a", 'b,"c', None]})
MAP = ("--map", "ts:MONOTONIC")


def as_parquet(path, table):
    pq.write_table(table, path)


def as_file(path, table):
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, 2)


def as_stream(path, table):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, 2)


def as_gzip(path, table):
    with gzip.open(path, "wb") as file:
        pyarrow.csv.write_csv(table, file)


KINDS = {
    "t.parquet": as_parquet,
    "t.arrow": as_file,
    "stream.arrow": as_stream,
    "t.csv": lambda path, table: pyarrow.csv.write_csv(table, path),
    "t.csv.gz": as_gzip,
}


@pytest.fixture
def table(tmp_path):
    def table(name="t.parquet", rows=ROWS):
        KINDS[name](tmp_path / name, rows)
        return tmp_path / name

    return table


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_every_kind_of_table_becomes_every_kind(tracetime, write, table, tmp_path, name, ending):
    out = tmp_path / f"out.{ending}"
    code, text, err = tracetime("convert", table(name), "-o", out, *MAP, "--graph", write(TIED))
    assert (code, err) == (0, "")
    assert text.startswith("3 rows on BOOTTIME in")
    assert "ts_time: ts of MONOTONIC: 2 resolved, 1 null" in text
    with open_table(out) as written, written.batches() as reader:
        rows = reader.read_all()
    assert rows["ts_time"].to_pylist() == [1001, None, 1003]
    assert rows["ts"].to_pylist() == [401, None, 403]
    # CSV does not tell an empty text from none.
    assert [one or None for one in rows["what"].to_pylist()] == ["a", 'b,"c', None]


def test_with_the_tube_there_are_bars(tracetime, write, table, tmp_path):
    out = tmp_path / "out.parquet"
    words = ("--policy", "tube", "--map", "when=ts:MONOTONIC", "--graph", write(TIED))
    assert tracetime("convert", table(), "-o", out, *words)[0] == 0
    rows = pq.read_table(out)
    assert rows.column_names[2:] == ["when", "when_status", "when_earliest", "when_latest"]
    first = rows.to_pylist()[0]
    assert first["when_earliest"] <= first["when"] == 1001 <= first["when_latest"]
    assert rows.schema.metadata[b"tracetime.trace_clock"] == b"BOOTTIME"
    assert rows.schema.metadata[b"tracetime.bars"] == b"estimated"


def test_a_saved_graph_ties_clocks_too(tracetime, table, tmp_path):
    graph = graph_of({"BOOTTIME": 1000, "com.example.gpu": 400})
    graph.save(tmp_path / "graph.ttg")
    words = ("--map", "ts:com.example.gpu", "--graph", tmp_path / "graph.ttg", "--to", "BOOTTIME")
    code, out, err = tracetime("convert", table(), "-o", "-", "--format", "csv", *words)
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == '401,"a",1001,"resolved"'
    code, _, err = tracetime("convert", table(), "-o", "-", "--format", "csv", *words[:-2])
    assert code == 2
    assert "say which clock to convert to" in err


def test_as_json(tracetime, write, table, tmp_path):
    out = tmp_path / "out.csv"
    rows = ROWS.append_column("clock", pa.array(["MONOTONIC", "BOOTTIME", None]))
    words = ("--map", "ts:@clock", "--graph", write(TIED), "--json")
    code, text, _ = tracetime("convert", table("t.parquet", rows), "-o", out, *words)
    assert code == 0
    assert json.loads(text)["columns"] == [
        {
            "column": "ts",
            "name": "ts_time",
            "clock": "@clock",
            "statuses": {"resolved": 1, "unknown_source_clock": 1},
            "nulls": 1,
            "warning": None,
        }
    ]
    assert tracetime("convert", table("t.parquet", rows), "-o", out, *words, "--strict")[0] == 1


def test_floats_need_their_unit(tracetime, write, table, tmp_path):
    path = table("t.csv", pa.table({"ts": [4.01e-7, 5e-7]}))
    words = ("convert", path, "-o", tmp_path / "out.csv", *MAP, "--graph", write(TIED))
    code, _, err = tracetime(*words)
    assert code == 2
    assert "--float-unit" in err
    assert not (tmp_path / "out.csv").exists()
    assert tracetime(*words, "--float-unit", "s")[0] == 0
    assert pd.read_csv(tmp_path / "out.csv")["ts_time"].tolist() == [1001, 1100]


@pytest.mark.parametrize(
    "words",
    [
        ("--map", "ts:REALTIME"),
        ("--map", "ts:REALTIME", "--to", "REALTIME"),
        ("--map", "ts:@clock", "--to", "REALTIME"),
        ("--map", "ts:com.example.gpu"),
        ("--map", "ts:REALTIME", "--policy", "tube"),
    ],
)
def test_one_clock_needs_no_tie(tracetime, table, tmp_path, words):
    rows = pa.table({"ts": [1.5, 2.5], "clock": ["REALTIME"] * 2})
    out = tmp_path / "out.parquet"
    code, text, err = tracetime(
        "convert", table("t.csv", rows), "-o", out, *words, "--float-unit", "s"
    )
    assert (code, err) == (0, "")
    assert "2 resolved" in text
    assert pq.read_table(out)["ts_time"].to_pylist() == [1_500_000_000, 2_500_000_000]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "does not say which of its columns are times"),
        ((*MAP, "--to", "REALTIME"), "nothing ties the clocks of --map"),
        ((*MAP, "--map", "what:REALTIME"), "nothing ties the clocks of --map"),
        (("--map", "ts:@what"), "(--to names it)"),
        (("--graph", "t"), "give --map COLUMN:CLOCK"),
        (("--float-unit", "s"), "give --map COLUMN:CLOCK"),
        (("--map", "ts"), "is not [NEW=]COLUMN:CLOCK"),
        (("--map", "=ts:MONOTONIC"), "is not [NEW=]COLUMN:CLOCK"),
        ((*MAP, *MAP), "names the column 'ts' twice"),
        ((*MAP, "--graph", "t", "--slices"), "a table has no slices"),
        ((*MAP, "--graph", "t", "--from", "1s"), "a table has no slices"),
        ((*MAP, "--graph", "t", "--to", "MONOTONICK"), "is not a clock"),
        (("--map", "tz:MONOTONIC", "--graph", "t"), "there is no column 'tz'"),
    ],
)
def test_wrong_options_are_told(tracetime, write, table, tmp_path, words, said):
    tied = write(TIED)
    words = tuple(tied if word == "t" else word for word in words)
    code, _, err = tracetime("convert", table(), "-o", tmp_path / "out.csv", *words)
    assert code == 2
    assert said in err
    assert not (tmp_path / "out.csv").exists()


def test_the_table_is_not_written_over(tracetime, write, table):
    path = table()
    before = path.read_bytes()
    code, _, err = tracetime("convert", path, "-o", path, *MAP, "--graph", write(TIED))
    assert code == 2
    assert "cannot write" in err
    assert path.read_bytes() == before


def test_converted_times_are_delta_encoded_whatever_they_are_called(
    tracetime, write, table, tmp_path
):
    out = tmp_path / "out.parquet"
    words = ("--policy", "tube", "--map", "when=ts:MONOTONIC", "--graph", write(TIED))
    assert tracetime("convert", table(), "-o", out, *words)[0] == 0
    group = pq.ParquetFile(out).metadata.row_group(0)
    encodings = {c.path_in_schema: c.encodings for c in map(group.column, range(6))}
    delta = {name for name, of in encodings.items() if "DELTA_BINARY_PACKED" in of}
    assert delta == {"ts", "when", "when_earliest", "when_latest"}


def test_errors_of_standard_output_name_no_file(tracetime, write, table):
    rows = ROWS.append_column("list", pa.array([[1], [2], []]))
    words = ("-o", "-", "--format", "csv", *MAP, "--graph", write(TIED))
    code, _, err = tracetime("convert", table("t.parquet", rows), *words)
    assert code == 2
    assert "cannot write this table to standard output" in err


def test_lists_do_not_fit_in_csv(tracetime, write, table, tmp_path):
    rows = ROWS.append_column("list", pa.array([[1], [2], []]))
    words = ("-o", tmp_path / "out.csv", *MAP, "--graph", write(TIED))
    code, _, err = tracetime("convert", table("t.parquet", rows), *words)
    assert code == 2
    assert "choose another format" in err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "stream.arrow", "t.csv.gz"])
@pytest.mark.parametrize("keep", [0, 6, 20, 0.5, 0.9])
def test_a_table_that_is_cut_off_is_told(tracetime, write, table, tmp_path, name, keep):
    path = table(name, pa.table({"ts": list(range(5000)), "k": [str(n) for n in range(5000)]}))
    data = path.read_bytes()
    cut = int(len(data) * keep) if isinstance(keep, float) else keep
    path.write_bytes(data[:cut])
    out = tmp_path / "out.csv"
    code, _, err = tracetime("convert", path, "-o", out, *MAP, "--graph", write(TIED))
    assert code in (2, 3)
    assert "Traceback" not in err
    assert "as a table" in err or "no column" in err or "is cut off" in err
    assert not out.exists()


def test_rows_of_csv_of_another_length_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(TraceError, match="Expected 2 columns, got 3"), open_table(path) as table:
        with table.batches() as reader:
            reader.read_all()


def test_what_is_no_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="Is a directory"), open_table(tmp_path):
        pass


def test_other_columns_of_csv_stay_as_they_are_written(tracetime, write, tmp_path):
    row = 'NA,007,1.10,18446744073709551615,TRUE,2023-11-14T23:13:30+01:00,"a,""b"'
    (tmp_path / "t.csv").write_text('host,"a,""b",ver,hash,flag,at,text,ts\n' + row + ",401\n")
    out = tmp_path / "out.csv"
    words = ("convert", tmp_path / "t.csv", "-o", out, *MAP, "--graph", write(TIED))
    assert tracetime(*words)[0] == 0
    with out.open(newline="") as file:
        header, values = csv.reader(file)
    assert header[:2] == ["host", 'a,"b']
    assert values[:7] == next(csv.reader([row]))
    assert values[7:] == ["401", "1001", "resolved"]


@pytest.mark.parametrize("data", ["ts\n1\n".encode("utf-16"), b"ts,\xff\n1,\xfe\n"])
def test_a_header_that_is_no_utf8_is_told(tracetime, write, tmp_path, data):
    (tmp_path / "t.csv").write_bytes(data)
    words = ("-o", tmp_path / "out.csv", *MAP, "--graph", write(TIED))
    code, _, err = tracetime("convert", tmp_path / "t.csv", *words)
    assert code == 3
    assert "as a table" in err


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("a:b", "a:b:MONOTONIC"),
        ("a=b", "a=b:MONOTONIC"),
        ("a=b", "when=a=b:MONOTONIC"),
        ("=a:", "=a::MONOTONIC"),
        ("a:MONOTONIC", "a:MONOTONIC:MONOTONIC"),
        ("ts", "ts:@a:b"),
    ],
)
def test_names_of_columns_may_have_the_signs_of_map(
    tracetime, write, table, tmp_path, column, text
):
    rows = pa.table({column: [401], "a:b" if column != "a:b" else "x": ["MONOTONIC"]})
    words = ("-o", tmp_path / "out.parquet", "--map", text, "--graph", write(TIED))
    code, _, err = tracetime("convert", table("t.parquet", rows), *words)
    assert (code, err) == (0, "")
    new = "when" if text.startswith("when=") else f"{column}_time"
    assert pq.read_table(tmp_path / "out.parquet")[new].to_pylist() == [1001]


def test_a_table_may_come_from_a_pipe(tracetime, write, table, tmp_path, monkeypatch):
    for name in ("t.parquet", "stream.arrow", "t.csv"):
        with table(name).open() as file:
            monkeypatch.setattr("sys.stdin", file)
            words = ("-o", tmp_path / "out.csv", *MAP, "--graph", write(TIED))
            assert tracetime("convert", "-", *words)[0] == 0
        assert pd.read_csv(tmp_path / "out.csv")["ts_time"].tolist()[::2] == [1001, 1003]


def test_a_query_is_a_table(tracetime, write, table, tmp_path):
    select = f"SELECT ts + 1 AS at, what FROM '{table()}' WHERE ts IS NOT NULL ORDER BY ts DESC"
    words = ("-o", tmp_path / "out.parquet", "--map", "at:MONOTONIC", "--graph", write(TIED))
    code, out, err = tracetime("convert", f"duckdb:{select}", *words)
    assert (code, err) == (0, "")
    assert "at_time: at of MONOTONIC: 2 resolved" in out
    assert pq.read_table(tmp_path / "out.parquet")["at_time"].to_pylist() == [1004, 1002]


def test_a_query_needs_columns(tracetime, tmp_path):
    code, _, err = tracetime("convert", "duckdb:SELECT 1", "-o", tmp_path / "out.csv")
    assert code == 2
    assert "--map COLUMN:CLOCK" in err


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("COPY (SELECT 1) TO 'x.csv'", "is not one SELECT"),
        ("SELECT 1; SELECT 2", "is not one SELECT"),
        ("", "is not one SELECT"),
        ("SELECT * FROM 'nothing.parquet'", "DuckDB refuses the query: IO Error"),
        ("SELECT error('row') AS ts FROM range(9)", "DuckDB refuses the query"),
        ("SELECT 1 AS at", "there is no column 'ts'"),
    ],
)
def test_queries_that_are_refused_are_told(tracetime, write, tmp_path, monkeypatch, query, said):
    monkeypatch.chdir(tmp_path)
    words = ("-o", tmp_path / "out.csv", *MAP, "--graph", write(TIED))
    code, _, err = tracetime("convert", f"duckdb:{query}", *words)
    assert code == 2
    assert said in err
    assert not list(tmp_path.glob("*.csv"))


HOUR = 3600 * 10**9
AN_HOUR = trace(snapshot({6: HOUR, 3: HOUR - 400}), snapshot({6: HOUR + 10**10, 3: HOUR + 10**10}))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([3601, 3602], "as s they would fit, so multiply them by 1,000,000,000"),
        ([3_601_000, 3_602_000], "as ms they would fit, so multiply them by 1,000,000"),
        ([100 * HOUR, 101 * HOUR], "all times are 4 d 2 h or more after the snapshots"),
        ([3601, HOUR + 5], None),
        ([HOUR - 10**11], None),
    ],
)
def test_times_in_another_unit_are_told(tracetime, write, table, tmp_path, times, said):
    path = table("t.parquet", pa.table({"ts": times}))
    words = ("convert", path, "-o", tmp_path / "out.csv", *MAP, "--graph", write(AN_HOUR))
    code, out, err = tracetime(*words)
    assert code == 0
    assert (said or "") in err and bool(err) == bool(said)
    told = json.loads(tracetime(*words, "--json")[1])["columns"][0]["warning"]
    assert told is None if said is None else said in told


def test_a_name_of_no_clock_is_a_warning(tracetime, write, table, tmp_path):
    rows = ROWS.append_column("clock", pa.array(["MONOTONIC", None, "MONO"]))
    words = ("--map", "ts:@clock", "--graph", write(TIED))
    code, out, err = tracetime("convert", table("t.arrow", rows), "-o", tmp_path / "o.csv", *words)
    assert code == 0
    assert "1 resolved, 1 unknown_source_clock, 1 null" in out.replace("\n  ", " ")
    assert "some rows name a clock that nothing ties, such as 'MONO'" in err


ONCE = trace(snapshot({6: HOUR, 9: 70}), snapshot({6: HOUR + 5, 3: HOUR}))


@pytest.mark.parametrize("clocks", [None, ["TSC", "TSC"], ["MONOTONIC", "TSC"]])
def test_ticks_that_floor_takes_for_ns_are_told_also_where_rows_name_the_clock(
    tracetime, write, table, tmp_path, clocks
):
    """One snapshot says nothing of how long a tick lasts; by the tube there is no such doubt."""
    rows = pa.table({"ts": [80, 90]})
    if clocks is not None:
        rows = rows.append_column("clock", pa.array(clocks))
    source = "TSC" if clocks is None else "@clock"
    words = ("convert", table("t.arrow", rows), "-o", tmp_path / "o.csv", "--map", f"ts:{source}")
    words += ("--graph", write(ONCE), "--to", "BOOTTIME")
    code, _, err = tracetime(*words)
    assert code == 0
    assert "TSC counts ticks, and nothing says how long one lasts" in err
    rated = ("--policy", "tube", "--clock-rate", "TSC=1GHz")
    assert "counts ticks" not in tracetime(*words, *rated)[2]


def test_what_is_odd_of_two_clocks_that_rows_name_is_told_of_both(
    tracetime, write, table, tmp_path
):
    rows = pa.table({"ts": [80, 90, 95], "clock": ["TSC", "MONO", None]})
    words = ("convert", table("t.arrow", rows), "-o", tmp_path / "o.csv", "--map", "ts:@clock")
    _, _, err = tracetime(*words, "--graph", write(ONCE), "--to", "BOOTTIME")
    assert "TSC counts ticks" in err and "nothing ties, such as 'MONO'" in err


@pytest.mark.parametrize(("name", "n"), [("stream.arrow", 3_000), ("t.csv.gz", 100_000)])
def test_partial_keeps_what_comes_before_the_cut(tracetime, write, table, tmp_path, name, n):
    """A stream has a batch for each row."""
    rows = pa.table({"ts": list(range(400, 400 + n)), "x": [k * k for k in range(n)]})
    path = table(name, rows)
    path.write_bytes(path.read_bytes()[: -path.stat().st_size // 3])
    out = tmp_path / "out.parquet"
    words = ("convert", path, "-o", out, *MAP, "--graph", write(TIED))
    assert tracetime(*words)[0] == 3
    assert not out.exists()
    code, said, err = tracetime(*words, "--partial", "--json")
    assert code == 0
    assert "warning: reading stopped early" in err
    facts = json.loads(said)
    assert 0 < facts["rows"] < n
    assert facts["truncated"]["message"]
    assert pq.read_table(out)["ts_time"].to_pylist() == list(range(1000, 1000 + facts["rows"]))
    assert tracetime(*words, "--partial", "--strict")[0] == 1
