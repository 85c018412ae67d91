"""Slices against those that trace_processor makes of traces (data/README.md)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import DATA, NO_DATA, OWN, files, trace_of
from golden_slices import compare

from tracetime import open_trace

TABLES = [path for path in files("slices/*.parquet") if ".json" not in path.name]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem.partition(".")[0])
def test_slices_are_those_of_trace_processor(path):
    with open_trace(trace_of(path)) as opened_trace:
        compare(opened_trace.slices().read_all(), pq.read_table(path))


def test_there_are_tables():
    assert [path.name for path in TABLES if path.is_relative_to(OWN)] or DATA.is_dir()
    assert any(path.stem.startswith("chromium_small") for path in TABLES)


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
def test_all_ten_tables_are_compared():
    assert len(TABLES) == 10


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem.partition(".")[0])
def test_the_tube_has_the_same_slices(path):
    with open_trace(trace_of(path)) as opened_trace:
        floor = opened_trace.slices(args=False).read_all()
        tube = opened_trace.slices("tube", args=False).read_all()
    same = [name for name in floor.column_names if name not in ("ts", "dur")]
    assert tube.select(same).equals(floor.select(same))
    numbers = [field.name for field in tube.schema if field.type == pa.int64()]
    columns = {name: np.asarray(tube[name].fill_null(0)) for name in numbers}
    barred = np.asarray(tube["earliest"].is_valid())
    ts, dur = np.asarray(tube["ts"]), np.asarray(tube["dur"])
    assert np.all(columns["earliest"][barred] <= ts[barred])
    assert np.all(ts[barred] <= columns["latest"][barred])
    ended = np.asarray(tube["dur_error_ns"].is_valid())
    assert np.all(dur[ended] >= 0)
    assert np.all(columns["dur_error_ns"][ended] >= 0)
    assert np.all(columns["end_earliest"][ended] <= columns["end_latest"][ended])
