"""Table files: what is written is what other programs read back."""

import threading
from types import SimpleNamespace

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

from tracetime.commands import convert
from tracetime.errors import UsageError
from tracetime.tables import output, writers
from tracetime.tables.writers import table_writer

KINDS = ["packet", "ftrace_event", "sched_switch"]
NAMES = [*KINDS, "track_event", "clock_snapshot"]
SCHEMA = pa.schema(
    [
        pa.field("packet", pa.uint64(), nullable=False),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("payload", pa.dictionary(pa.int16(), pa.string())),
        pa.field("clock", pa.uint32(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("trace_time", pa.int64()),
    ]
)
METADATA = {"tracetime.trace_clock": "BOOTTIME@machine2", "tracetime.policy": "floor"}
ENDINGS = list(writers._WRITERS)

rows = st.tuples(
    st.integers(0, 2**64 - 1),
    st.sampled_from(KINDS),
    st.one_of(st.none(), st.sampled_from(["track_event", "clock_snapshot"])),
    st.integers(0, 2**32 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
)


def batch(rows):
    columns = zip(*rows, strict=True) if rows else [[]] * len(SCHEMA)
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array([NAMES.index(v) if v else None for v in column], field.type.index_type),
            NAMES,
        )
        if pa.types.is_dictionary(field.type)
        else pa.array(list(column), field.type)
        for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def write(path, batches, metadata=METADATA):
    writer = table_writer(path)(path, SCHEMA, metadata)
    for one in batches:
        writer.write(one)
    writer.finish(metadata)


def read(path):
    match path.suffix:
        case ".parquet":
            return pq.read_table(path)
        case ".arrow":
            with pa.memory_map(str(path)) as file:
                return pa.ipc.open_file(file).read_all()
        case ".csv":
            types = {field.name: getattr(field.type, "value_type", field.type) for field in SCHEMA}
            options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
            return pa.csv.read_csv(path, convert_options=options)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_help_and_the_page_of_convert_name_every_ending(ending):
    (option,) = (one for one in convert.command.params if "--output" in one.opts)
    assert ending in option.help
    assert f"`{ending}`" in (ROOT / "docs/howto/convert.md").read_text()


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.lists(st.lists(rows, max_size=20), max_size=4))
@settings(max_examples=25)
def test_what_is_written_is_read_back(tmp_path_factory, ending, parts):
    path = tmp_path_factory.mktemp("tables") / f"t{ending}"
    write(path, [batch(part) for part in parts])
    expected = [dict(zip(SCHEMA.names, row, strict=True)) for part in parts for row in part]
    assert read(path).to_pylist() == expected


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("parts", [[], [[(1, "packet", None, 6, 5, 7)]]])
def test_types_and_metadata_are_kept(tmp_path, ending, parts):
    path = tmp_path / f"t{ending}"
    write(path, [batch(part) for part in parts])
    table = read(path)
    assert table.schema.remove_metadata().equals(SCHEMA)
    assert {k.decode(): v.decode() for k, v in table.schema.metadata.items()} == METADATA


def test_an_arrow_file_says_its_metadata_at_the_head_too(tmp_path):
    # Read as a stream, its footer is never seen.
    path = tmp_path / "t.arrow"
    write(path, [batch([(1, "packet", None, 6, 5, 7)])])
    with pa.OSFile(str(path)) as file:
        file.seek(8)
        metadata = pa.ipc.open_stream(file).schema.metadata
    assert metadata[b"tracetime.trace_clock"] == b"BOOTTIME@machine2"


def test_parquet_row_groups_are_even(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "ROW_GROUP_ROWS", 10)
    path = tmp_path / "t.parquet"
    write(path, [batch([(n, "packet", None, 6, n, n)] * n) for n in (3, 25, 0, 4)])
    file = pq.ParquetFile(path).metadata
    assert [file.row_group(n).num_rows for n in range(file.num_row_groups)] == [10, 10, 10, 2]


def test_parquet_columns_are_encoded_as_fits_them(tmp_path):
    path = tmp_path / "t.parquet"
    write(path, [batch([(n, "packet", None, 6, n, n) for n in range(100)])])
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {c.path_in_schema: c for c in map(group.column, range(group.num_columns))}
    for name, column in columns.items():
        delta = name in ("packet", "timestamp", "trace_time")
        assert ("DELTA_BINARY_PACKED" in column.encodings) == delta
        assert column.has_dictionary_page == (not delta)
        assert column.compression == "ZSTD"
        assert column.is_stats_set == delta


@pytest.mark.parametrize("ending", ENDINGS)
def test_pandas_and_polars_read_it(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write(path, [batch([(1, "packet", None, 6, 2**63 - 1, None), (2, "packet", None, 6, 5, 7)])])
    by_ending = {
        ".parquet": (pd.read_parquet, pl.read_parquet),
        ".arrow": (pd.read_feather, pl.read_ipc),
        ".csv": (pd.read_csv, pl.read_csv),
    }
    with_pandas, with_polars = by_ending[ending]
    assert with_pandas(path)["timestamp"].tolist() == [2**63 - 1, 5]
    assert with_polars(path)["timestamp"].to_list() == [2**63 - 1, 5]
    assert with_polars(path)["trace_time"].to_list() == [None, 7]


@pytest.mark.parametrize("name", ["events", "events.txt", "events.parquet.gz", ".parquet"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match=r"\.parquet, \.arrow, \.csv"):
        table_writer(tmp_path / name)


def test_the_ending_may_be_in_capitals(tmp_path):
    assert table_writer(tmp_path / "T.CSV") is table_writer(tmp_path / "t.csv")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_may_be_abandoned_at_any_point(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    writer = table_writer(path)(path, SCHEMA, METADATA)
    writer.write(batch([(1, "packet", None, 6, 5, 7)]))
    writer.abandon()
    writer.abandon()


def test_a_wide_table_has_row_groups_of_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "ROW_GROUP_BYTES", 1000)
    path = tmp_path / "t.parquet"
    table = pa.table({f"c{n}": range(100) for n in range(20)})
    writer = writers.ParquetTable(path, table.schema, {})
    for batch in table.to_batches(max_chunksize=10):
        writer.write(batch)
    writer.finish({})
    assert pq.ParquetFile(path).metadata.num_row_groups == 10
    assert pq.read_table(path).equals(table)


def test_a_writer_that_starts_after_a_signal_makes_no_file(tmp_path, monkeypatch):
    """The signal came while its thread was starting, so that nobody waits for that."""
    late = []

    class Late(threading.Thread):
        def start(self):
            late.append(threading.Thread(target=self.run, daemon=True))
            raise KeyboardInterrupt

    made = output.TableOutput(tmp_path / "t.csv")
    monkeypatch.setattr(output, "threading", SimpleNamespace(Thread=Late))
    with pytest.raises(KeyboardInterrupt), made:
        made.start(table_writer(tmp_path / "t.csv"), SCHEMA, {})
    late[0].start()
    late[0].join(1)
    assert list(tmp_path.iterdir()) == []
