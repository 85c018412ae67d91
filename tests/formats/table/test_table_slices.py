"""Slices of tables whose rows have a begin and an end."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import UsageError, open_trace
from tracetime.formats.table import slices
from tracetime.formats.table.slices import nest

pytest_plugins = ["cli"]


@pytest.fixture
def opened(tmp_path):
    def opened(columns):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        return open_trace(tmp_path / "t.parquet")

    return opened


def plain(track, begin, end):
    """Depth and parent, one slice after the other, with a stack for each track."""
    order = sorted(range(len(track)), key=lambda n: (track[n], begin[n], begin[n] - end[n], n))
    depth, parent, stacks = {}, {}, {}
    for n in order:
        stack = stacks.setdefault(track[n], [])
        # What ends takes all that lies in it along.
        over = [k for k, one in enumerate(stack) if end[one] <= begin[n]]
        del stack[over[0] if over else len(stack) :]
        depth[n], parent[n] = len(stack), stack[-1] if stack else -1
        stack.append(n)
    return [depth[n] for n in range(len(track))], [parent[n] for n in range(len(track))]


SLICES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), max_size=30)


@given(SLICES)
def test_slices_lie_in_those_that_last_where_they_begin(slices):
    track, begin, lasts = (
        (np.array(one, np.int64) for one in zip(*slices, strict=True))
        if slices
        else (np.empty(0, np.int64) for _ in range(3))
    )
    depth, parent = nest(track, begin, begin + lasts)
    expected = plain(track.tolist(), begin.tolist(), (begin + lasts).tolist())
    assert (depth.tolist(), parent.tolist()) == expected


def test_what_lies_too_deep_has_no_depth(monkeypatch):
    monkeypatch.setattr(slices, "MOST_DEPTH", 2)
    n = np.arange(4)
    depth, parent = nest(n * 0, n, 100 - n)
    assert depth.tolist() == [0, 1, -1, -1]
    assert parent.tolist() == [-1, 0, -1, -1]


COLUMNS = {
    "begin:BOOTTIME": [100, 110, 500, 105, None, 700, 900],
    "end:BOOTTIME": [200, 150, None, 120, 7, 800, 850],
    "name": ["a", "b", "c", "d", "e", None, "g"],
    "tid": [1, 1, 1, 2, 2, 2, 2],
    "thread_name": ["main", "main", "main", "io", "io", "io", "io"],
    "pid": [9] * 7,
}


def test_rows_are_slices(opened):
    with opened(COLUMNS) as trace:
        slices = trace.slices()
        rows = slices.read_all().to_pylist()
        assert (slices.unresolved, slices.left_out, slices.reversed) == (0, 0, 1)
    found = [(r["name"], r["ts"], r["dur"], r["depth"], r["parent"], r["tid"]) for r in rows]
    assert found == [
        ("a", 100, 100, 0, None, 1),
        ("d", 105, 15, 0, None, 2),
        ("b", 110, 40, 1, 0, 1),
        ("c", 500, -1, 0, None, 1),
        (None, 700, 100, 0, None, 2),
    ]
    assert [r["thread_name"] for r in rows] == ["main", "io", "main", "main", "io"]
    assert {r["pid"] for r in rows} == {9}


def test_bars_hold_what_a_unit_cut_off(opened):
    times = {
        "begin:BOOTTIME": pa.array([1_234_567], pa.timestamp("us")),
        "end:BOOTTIME": [2 * 10**9],
    }
    with opened(times) as trace:
        row = trace.slices("tube").read_all().to_pylist()[0]
    assert (row["earliest"], row["latest"]) == (1_234_567_000, 1_234_567_999)
    assert row["end_earliest"] == row["end_latest"] == 2 * 10**9
    assert (row["dur_error_ns"], row["clock"], row["end_clock"]) == (999, "BOOTTIME", "BOOTTIME")


def test_an_end_on_a_clock_that_nothing_ties_ends_nothing(opened):
    with opened({"begin:BOOTTIME": [5], "end:MONOTONIC": [9]}) as trace:
        slices = trace.slices()
        assert [(r["ts"], r["dur"]) for r in slices.read_all().to_pylist()] == [(5, -1)]
        assert slices.unresolved == 1


def test_without_a_begin_and_an_end_there_are_none(opened):
    with opened({"at:BOOTTIME": [5]}) as trace, pytest.raises(UsageError, match="no begin and end"):
        trace.slices()
    with opened({"clock": [6], "timestamp": [5]}) as trace:
        with pytest.raises(UsageError, match="no begin and end"):
            trace.slices()


def test_commands_have_them(opened, tracetime, tmp_path):
    opened(COLUMNS).close()
    path, out = tmp_path / "t.parquet", tmp_path / "slices.csv"
    assert tracetime("convert", path, "--slices", "-o", out)[0] == 0
    assert len(out.read_text().splitlines()) == 6
    code, printed, _ = tracetime("sql", path, "select name, dur from slices where depth = 1")
    assert (code, "b" in printed) == (0, True)
