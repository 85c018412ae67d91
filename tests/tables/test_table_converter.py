"""Tables converted batch by batch, in any process, as they are converted whole."""

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracetime as tt
from tracetime.tables.conversion import _converter_of

S = 1_000_000_000


def graph_of(offset=7):
    graph = tt.ClockGraph("MONOTONIC")
    for second in range(5):
        readings = {"MONOTONIC": second * S, "com.example.gpu": second * S + offset + second}
        graph.add_snapshot(readings)
    return graph


def table_of(times):
    rows = pa.array(range(len(times)), pa.int16())
    return pa.table({"row": rows, "ts": pa.array(times, pa.timestamp("ns"))})


COLUMNS = {"ts": "com.example.gpu"}


@settings(max_examples=50)
@given(
    times=st.lists(st.integers(0, 4 * S) | st.none(), min_size=20, max_size=60),
    step=st.sampled_from([1, 64, 1000, 1_000_000]),
    cuts=st.lists(st.integers(1, 60), max_size=5),
    bounds=st.booleans(),
)
def test_batches_are_converted_as_the_whole_table_is(times, step, cuts, bounds):
    table = table_of([None if one is None else one // step * step for one in times])
    how = {"policy": "tube", "bounds": bounds}
    whole = tt.convert_table(table, graph_of(), COLUMNS, **how)
    converter = pickle.loads(pickle.dumps(tt.TableConverter(table, graph_of(), COLUMNS, **how)))
    edges = sorted({0, len(table), *(cut for cut in cuts if cut < len(table))})
    made = [
        converter(table.slice(start, end - start))
        for start, end in zip(edges, edges[1:], strict=False)
    ]
    assert pa.concat_tables(made).to_pylist() == whole.to_pylist()


def test_a_short_batch_has_the_bars_of_the_steps_that_the_sample_stands_on():
    table = table_of([n * 64 * 1000 for n in range(1, 500)])
    how = {"policy": "tube", "bounds": True}
    one = table.slice(17, 1)
    converter = tt.TableConverter(table, graph_of(), COLUMNS, **how)
    (row,) = converter(one).to_pylist()
    (alone,) = tt.convert_table(one, graph_of(), COLUMNS, **how).to_pylist()
    assert row["ts_time_latest"] - row["ts_time_earliest"] > 64_000
    assert row["ts_time_latest"] - row["ts_time_earliest"] > (
        alone["ts_time_latest"] - alone["ts_time_earliest"]
    )


def test_a_batch_gives_a_batch_and_a_table_a_table_of_the_schema():
    table = table_of([S, 2 * S, None])
    converter = tt.TableConverter(table.slice(0, 0), graph_of(), COLUMNS)
    assert converter.schema.names == ["row", "ts", "ts_time", "ts_time_status"]
    assert converter.schema.field("ts_time_status").type == pa.string()
    (batch,) = table.to_batches()
    for given_rows in (table, batch, table.slice(0, 0), batch.slice(0, 0)):
        made = converter(given_rows)
        assert type(made) is type(given_rows)
        assert made.schema == converter.schema
        assert made.num_rows == given_rows.num_rows
    assert converter(batch)["ts_time_status"].to_pylist() == ["resolved", "resolved", None]


def test_a_process_reads_a_graph_once():
    saved = pickle.dumps(tt.TableConverter(table_of([S]), graph_of(), COLUMNS))
    _converter_of.cache_clear()
    assert pickle.loads(saved) is pickle.loads(saved)
    other = pickle.dumps(tt.TableConverter(table_of([S]), graph_of(8), COLUMNS))
    assert pickle.loads(other) is not pickle.loads(saved)


def test_another_process_gives_the_same(tmp_path):
    table = table_of([S, 2 * S])
    converter = tt.TableConverter(table, graph_of(), COLUMNS, policy="tube", bounds=True)
    (tmp_path / "saved").write_bytes(pickle.dumps((converter, table)))
    code = (
        "import pickle, sys; c, t = pickle.load(open(sys.argv[1], 'rb')); print(c(t).to_pylist())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "saved"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(converter(table).to_pylist())


def test_what_cannot_be_converted_is_told_where_the_converter_is_made():
    table = table_of([S])
    with pytest.raises(tt.UsageError, match="bounds need a sample with rows"):
        tt.TableConverter(table.slice(0, 0), graph_of(), COLUMNS, policy="tube", bounds=True)
    with pytest.raises(tt.UsageError, match="no column 'tz'"):
        tt.TableConverter(table, graph_of(), {"tz": "com.example.gpu"})
    converter = tt.TableConverter(table, graph_of(), COLUMNS)
    with pytest.raises(tt.UsageError, match="other columns than the sample"):
        converter(table.append_column("more", [[1]]))
