"""Slices of Chrome's JSON against those that trace_processor makes (data/README.md)."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from corpus import DATA, NO_DATA, files
from golden_slices import compare
from twin import chrome_json as twin

from tracetime import open_trace

TABLES = [path for path in files("slices/*.parquet") if ".json" in path.name]
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
tables = pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name.partition(".")[0])


def trace_of(path):
    return DATA / "other" / "json" / path.stem


@tables
def test_slices_are_those_of_trace_processor(path):
    with open_trace(trace_of(path)) as trace:
        compare(trace.slices().read_all(), pq.read_table(path))


def test_all_eleven_tables_are_compared():
    assert len(TABLES) == 11


@tables
def test_the_tube_has_the_same_slices_at_exact_times(path):
    with open_trace(trace_of(path)) as trace:
        floor = trace.slices(args=False).read_all()
        tube = trace.slices("tube", args=False).read_all()
    same = [name for name in floor.column_names if name not in ("ts", "dur")]
    assert tube.select(same).equals(floor.select(same))
    # Those of a GPU have bars of their own: test_devices.py.
    of_host = pc.invert(
        pc.match_substring_regex(tube["category"].cast("string"), "^(kernel|gpu_.*)$")
    )
    host = tube.filter(pc.fill_null(of_host, True))
    ts, earliest, latest = (np.asarray(host[name]) for name in ("ts", "earliest", "latest"))
    margins = set(zip((ts - earliest).tolist(), (latest - ts).tolist(), strict=True))
    assert len(margins) == 1
    assert margins <= ({(500, 999), (923, 1422)} if np.all(ts % 1000 == 0) else {(0, 0)})
    off = np.abs(np.asarray(tube["ts"]) - np.asarray(floor["ts"]))
    assert np.all(off <= 384)


@pytest.mark.parametrize("path", TABLES[:3] + TABLES[5:7], ids=lambda path: path.stem)
def test_the_twin_makes_them_too(path):
    data = trace_of(path).read_bytes()
    text = (gzip.decompress(data) if path.stem.endswith(".gz") else data).decode()
    golden = pq.read_table(path)
    made = twin.slices(text)
    assert len(made) == golden.num_rows
    for name in ("ts", "dur", "depth"):
        assert [row[name] for row in made] == golden[name].to_pylist()


def test_what_rounding_makes_cross_is_counted():
    counts = {}
    for path in TABLES:
        with open_trace(trace_of(path)) as trace:
            counts[path.name.partition(".")[0]] = trace.overlaps_by_rounding()
    assert counts.pop("hta_ns_resolution_rank-0") == 774
    assert set(counts.values()) == {0}


def test_what_trace_processor_refuses_is_read():
    with open_trace(DATA / "other" / "json" / "catapult_fuchsia_trace.json.gz") as trace:
        made = trace.slices().read_all()
    assert made.num_rows == 67_047
    made.validate(full=True)


@pytest.mark.parametrize(
    "name", ["catapult_chromeos_system_trace.json", "catapult_android_systrace.txt"]
)
def test_lines_that_only_schedule_make_no_slices(name):
    with open_trace(DATA / "other" / "json" / name) as trace:
        assert trace.slices().read_all().num_rows == 0
