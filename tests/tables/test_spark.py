"""Spark converts a table by `mapInArrow`, and reads the data set of a fleet."""

import os
import shutil
import sys

import pyarrow as pa
import pytest
from fleets import drifting_trace, rows

import tracetime as tt
from tracetime.fleet.options import Options
from tracetime.fleet.part import convert_one

sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
types = pytest.importorskip("pyspark.sql.pandas.types", reason="pyspark is not installed")

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")

S = 1_000_000_000


@pytest.fixture(scope="module")
def spark():
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_a_table_of_spark_is_converted_as_one_of_pyarrow(spark):
    graph = tt.ClockGraph("MONOTONIC")
    for second in range(5):
        graph.add_snapshot({"MONOTONIC": second * S, "com.example.gpu": second * S + 7 + second})
    rows = 1000
    table = pa.table(
        {
            "row": pa.array(range(rows), pa.int64()),
            "ticks": pa.array([n * 3_000_001 for n in range(rows)], pa.int64()),
        }
    )
    columns = {"ticks": "com.example.gpu"}
    how = {"policy": "tube", "bounds": True}
    converter = tt.TableConverter(table, graph, columns, **how)
    frame = spark.createDataFrame(table).repartition(3)
    converted = frame.mapInArrow(
        lambda batches: map(converter, batches), types.from_arrow_schema(converter.schema)
    )
    expected = tt.convert_table(table, graph, columns, **how).to_pylist()
    assert converted.orderBy("row").toArrow().to_pylist() == expected


def test_a_data_set_is_read_as_one_table(spark, tmp_path):
    traces = [tmp_path / "0.pftrace", tmp_path / "1.pftrace"]
    for path, ppm in zip(traces, (5, 9), strict=True):
        path.write_bytes(drifting_trace(ppm, "A55"))
    for options in (Options("events", "tube", names=True), Options("findings")):
        for path in traces:
            assert convert_one(str(path), str(tmp_path / "out"), options).error is None
        for table in options.tables:
            found = spark.read.parquet(str(tmp_path / "out" / table)).collect()
            for name, part in rows(tmp_path / "out", table).items():
                read = [row.asDict() for row in found if row.trace == name]
                assert [{**row, "trace": name} for row in part.to_pylist()] == read
