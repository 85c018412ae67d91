"""Every command reads Chrome's JSON."""

import json

import pyarrow.parquet as pq
import pytest
from corpus import DATA

pytest_plugins = ["cli"]

EVENTS = [
    {"ph": "B", "ts": 1, "pid": 1, "tid": 1, "name": "a"},
    {"ph": "E", "ts": 2.5, "pid": 1, "tid": 1},
]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"baseTimeNanoseconds": 10**18, "traceEvents": EVENTS}))
    return file


def test_the_clocks_have_names(tracetime, path):
    code, text, _ = tracetime("clocks", path)
    assert code == 0
    assert "Trace time is org.pytorch.kineto." in text


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"distributedInfo": {"rank": 3, "world_size": 8, "backend": "nccl"}},
            "rank 3 of 8 (nccl)",
        ),
        ({"distributedInfo": {"rank": 3}}, "rank 3"),
        (
            {"deviceProperties": [{"name": "V100"}, {"name": "V100"}, {}, 5, {"name": "T4\x1b"}]},
            "2 x V100, 1 x T4\\x1b",
        ),
    ],
)
def test_the_clocks_say_what_the_trace_is_of(tracetime, tmp_path, values, line):
    file = tmp_path / "t.json"
    file.write_text(json.dumps({**values, "traceEvents": EVENTS}))
    assert f"\nThe trace is of {line}.\n" in tracetime("clocks", file)[1]


@pytest.mark.parametrize("values", [{}, {"distributedInfo": 5, "deviceProperties": {"name": "x"}}])
def test_a_trace_that_does_not_say_what_it_is_of(tracetime, tmp_path, values):
    file = tmp_path / "t.json"
    file.write_text(json.dumps({**values, "traceEvents": EVENTS}))
    assert "The trace is of" not in tracetime("clocks", file)[1]


def test_events_are_converted(tracetime, path, tmp_path):
    out = tmp_path / "out.parquet"
    code, text, _ = tracetime("convert", path, "-o", out, "--policy", "tube", "--to", "REALTIME")
    assert code == 0
    assert "2 events on trace time org.pytorch.kineto in" in text
    assert pq.read_table(out)["timestamp"].to_pylist() == [1000, 2500]


def test_sql_has_events_and_their_wall_time(tracetime, path):
    query = "select name, wall_time from events"
    code, text, _ = tracetime("sql", path, query, "--json")
    assert code == 0
    assert "2001-09-09 01:46:40.000001" in text


def test_times_are_explained(tracetime, path):
    code, text, _ = tracetime("at", path, "1000", "--to", "REALTIME")
    assert code == 0
    assert "1000000000000001000" in text


PASSED_OVER = {
    "catapult_fuchsia_trace.json.gz": "47,101 events of Fuchsia's kernel",
    "catapult_webview.json.gz": "1 complete event without a duration",
    "hta_nccl_data.json.gz": "84 events with a pid or tid below 0",
}
REAL = sorted((DATA / "other" / "json").glob("*"))


@pytest.mark.skipif(not REAL, reason="no test data")
@pytest.mark.parametrize("real", REAL, ids=lambda real: real.name)
def test_real_files_are_in_order(tracetime, real, tmp_path):
    code, text, _ = tracetime("doctor", real)
    assert code == 0
    if real.name == "hta_ns_resolution_rank-0.json.gz":
        assert "68,386 events up to 250 ns off, and makes 774 slices cross" in " ".join(
            text.split()
        )
    elif real.name in PASSED_OVER:
        assert PASSED_OVER[real.name] in " ".join(text.split())
    else:
        is_read = real.name.startswith(("hta_amd_", "hta_sampled_"))
        verdict = "the clocks are in order" if is_read else "nothing to check: no snapshot"
        assert verdict in text
    if real.stat().st_size < 100_000:
        code, _, _ = tracetime("report", real, "-o", tmp_path / "r.html")
        assert code == 0
