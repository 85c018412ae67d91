"""What pandas, polars and DuckDB read of the tables handed out is what is in them, to the last bit."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import event, packet, pb, snapshot, trace
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from tracetime.columns.arrow_tables import exact_in_pandas
from tracetime.sql.session import Session

pytest_plugins = ["cli"]

REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
WALL = 1787410120123456789
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def track(uuid):
    return packet(seq=1, track_descriptor=pb.TrackDescriptor(uuid=uuid, name=f"t{uuid}"))


def named(ts, clock, uuid=None):
    body = pb.TrackEvent(type=3, name="e", track_uuid=uuid)
    return packet(ts, clock, 1, track_event=body)


# Times and tracks that no float holds; and of each column there is a null, but for those of the
# readings. The first packets have neither payload nor name.
TRACE = trace(
    packet(seq=1, ts=WALL),
    *(snapshot({BOOTTIME: WALL + 1000 * n, MONOTONIC: 10**9 + 1000 * n}) for n in range(3)),
    snapshot({MONOTONIC: 10**9 + 3000, REALTIME: 1}),
    *(track(2**63 + n) for n in range(3)),
    *(named(10**9 + 7 * n, MONOTONIC, 2**63 + n % 3) for n in range(300)),
    event(5, 777),
)


@pytest.fixture
def path(write):
    return write(TRACE)


def exactly(table):
    return {name: table[name].to_pylist() for name in table.schema.names}


def as_values(frame):
    """A data frame's columns as lists, its nulls as None."""
    return {
        name: [None if pd.isna(value) else value for value in frame[name].tolist()]
        for name in frame.columns
    }


def from_polars(frame):
    return {name: frame[name].to_list() for name in frame.columns}


def from_duckdb(path):
    rows = duckdb.sql(f"from '{path}'")
    return dict(zip(rows.columns, map(list, zip(*rows.fetchall(), strict=True)), strict=True))


OPTIONS = [
    (),
    ("--policy", "tube"),
    ("--with-names",),
    ("--to", "REALTIME"),
    ("--to", "REALTIME", "--with-names", "--policy", "tube"),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_convert_writes_is_exact_everywhere(tracetime, path, tmp_path, options):
    files = [tmp_path / "o.parquet", tmp_path / "o.arrow"]
    for file in files:
        assert tracetime("convert", path, "-o", file, *options)[0] == 0
    parquet, arrow = files
    wanted = exactly(pq.read_table(parquet))
    assert wanted["trace_time"].count(None) == 1
    assert max(t for t in wanted["trace_time"] if t is not None) > 2**53
    assert as_values(pd.read_parquet(parquet)) == wanted
    assert as_values(pd.read_feather(arrow)) == wanted
    assert from_polars(pl.read_parquet(parquet)) == wanted
    assert from_polars(pl.read_ipc(arrow)) == wanted
    assert from_duckdb(parquet) == wanted
    with pa.memory_map(str(arrow)) as mapped:
        assert exactly(pa.ipc.open_file(mapped).read_all()) == wanted


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_what_python_hands_out_is_exact(path, policy, names):
    with tt.open_trace(path) as opened:
        table = opened.read_all(policy, names=names)
        batches = list(opened.events(policy, names=names))
    wanted = exactly(table)
    assert as_values(table.to_pandas()) == wanted
    assert from_polars(pl.from_arrow(table)) == wanted
    assert from_polars(pl.from_arrow(batches)) == wanted
    got = pd.concat([batch.to_pandas() for batch in batches])
    assert as_values(got) == wanted
    assert str(got["trace_time"].dtype) == "Int64"
    assert str(got["timestamp"].dtype) == "int64"
    if names:
        assert str(got["track"].dtype) == "UInt64"
        assert got["track"].nunique() == 3


def test_sql_is_exact(tracetime, path, tmp_path):
    out = tmp_path / "o.parquet"
    query = "select trace_time, to_clock(trace_time, 'BOOTTIME', 'REALTIME') r, * from events"
    assert tracetime("sql", path, query, "-o", out)[0] == 0
    wanted = exactly(pq.read_table(out))
    assert as_values(pd.read_parquet(out)) == wanted
    assert from_polars(pl.read_parquet(out)) == wanted
    assert from_duckdb(out) == wanted
    with tt.open_trace(path) as opened, Session([opened]) as session:
        result = session.run(query)
        table = pa.Table.from_batches(result.batches, schema=result.schema)
    assert as_values(table.to_pandas()) == wanted
    assert as_values(table.to_batches()[0].to_pandas()) == wanted


@given(st.data())
def test_integers_of_every_size_stay_what_they_are(data):
    columns = {}
    for kind in INTEGERS:
        bits = int(kind.lstrip("uint"))
        low, high = (
            (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        values = st.lists(st.none() | st.integers(low, high), min_size=5, max_size=5)
        columns[kind] = pa.array(data.draw(values), getattr(pa, kind)())
    schema = exact_in_pandas(pa.schema([(kind, columns[kind].type) for kind in INTEGERS]))
    table = pa.table(list(columns.values()), schema=schema)
    assert as_values(table.to_pandas()) == exactly(table)


def test_other_metadata_stays():
    schema = exact_in_pandas(pa.schema([("n", pa.int64())], {"tracetime.policy": "floor"}))
    assert schema.metadata[b"tracetime.policy"] == b"floor"
    assert [c["name"] for c in json.loads(schema.metadata[b"pandas"])["columns"]] == ["n"]


def test_the_metadata_of_a_file_still_says_how_it_was_made(tracetime, path, tmp_path):
    for name in ("o.parquet", "o.arrow"):
        assert tracetime("convert", path, "-o", tmp_path / name)[0] == 0
    read = pq.read_schema(tmp_path / "o.parquet").metadata
    with pa.memory_map(str(tmp_path / "o.arrow")) as mapped:
        assert pa.ipc.open_file(mapped).schema.metadata == read
    assert {b"tracetime.policy", b"pandas"} <= set(read)


def test_pandas_is_not_needed(path, tmp_path):
    program = f"""
import sys

class Absent:
    def find_spec(self, name, *more):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from tracetime.commands import run
sys.exit(run(["convert", {path!r}, "-o", {str(tmp_path / "o.parquet")!r}]))
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
    assert as_values(pd.read_parquet(tmp_path / "o.parquet"))["trace_time"][-1] is None


def test_no_dictionary_has_an_index_below_0(path):
    with tt.open_trace(path) as opened:
        for batch in opened.events(names=True):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type):
                    indices = column.indices
                    raw = pa.Array.from_buffers(
                        indices.type, len(indices), [None, indices.buffers()[1]]
                    )
                    assert min(raw.to_pylist()) >= 0


def test_a_trace_without_names_is_read_by_polars_too(tracetime, write, tmp_path):
    out = Path(tmp_path / "o.arrow")
    path = write(trace(snapshot({BOOTTIME: 1}), event(1, BOOTTIME)))
    assert tracetime("convert", path, "-o", out, "--with-names")[0] == 0
    assert from_polars(pl.read_ipc(out)) == exactly(pa.ipc.open_file(out).read_all())


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_frames_of_a_trace_have_its_columns_and_wall_time(path, policy):
    with tt.open_trace(path) as opened:
        wanted = opened.read_all(policy, names=True)
        wall = opened.clocks.convert(
            wanted["trace_time"].combine_chunks(),
            opened.trace_clock,
            "REALTIME",
            policy=policy,
            errors="mask",
        ).to_pylist()
        pandas_frame = opened.to_pandas(policy, names=True)
        polars_frame = opened.to_polars(policy, names=True)
    assert any(wall)
    assert str(pandas_frame["wall_time"].dtype) == "datetime64[ns, UTC]"
    got = pandas_frame.pop("wall_time")
    assert [None if pd.isna(one) else one.value for one in got] == wall
    assert as_values(pandas_frame) == exactly(wanted)
    assert polars_frame.schema["wall_time"] == pl.Datetime("ns", "UTC")
    assert polars_frame["wall_time"].to_physical().to_list() == wall
    assert from_polars(polars_frame.drop("wall_time")) == exactly(wanted)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_say_what_to_install(path, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with (
        tt.open_trace(path) as opened,
        pytest.raises(tt.UsageError, match=f"^{library} is not installed: pip install {library}$"),
    ):
        getattr(opened, f"to_{library}")()
