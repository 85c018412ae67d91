"""One odd row of a table keeps none of the others from being read, and is told."""

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from tracetime import TraceError, diagnose, open_trace
from tracetime.doctor.finding import in_order

pytest_plugins = ["cli"]

MS = 10**6
FAR_US = 253402214400 * 10**6


@pytest.fixture
def opened(tmp_path):
    def opened(columns, rows_at_once=1000):
        table = pa.table(columns)
        with ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
            file.write_table(table, rows_at_once)
        return open_trace(tmp_path / "t.arrow")

    return opened


def found_in(trace):
    return {one.code: one for one in in_order(diagnose(trace))}


LAYOUTS = {
    "columns": lambda times: {"at:BOOTTIME": times},
    "rows": lambda times: {"clock": ["BOOTTIME"] * len(times), "timestamp": times},
}


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_end_of_time_overflows(opened, layout, policy):
    with opened(layout(pa.array([5000, FAR_US, 7000]).cast(pa.timestamp("us")))) as trace:
        rows = trace.read_all(policy).to_pylist()
        assert "timestamp-overflow" in found_in(trace)
    assert [row["status"] for row in rows] == ["resolved", "overflow", "resolved"]
    assert [row["trace_time"] for row in rows] == [5 * MS, None, 7 * MS]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_without_a_time_are_counted(opened, layout):
    with opened(layout(pa.array([None, 5, None], pa.int64()))) as trace:
        (warning,) = trace.warnings
        assert warning.message == "2 rows without a time: no events"
        assert warning.packet == 0
        assert trace.read_all().num_rows == 1
        assert found_in(trace)["events-without-time"].events == 2
        assert trace.events_without_time == 2
    with opened(layout(pa.array([4, 5], pa.int64()))) as trace:
        assert trace.warnings == []
        assert "events-without-time" not in found_in(trace)


def test_an_end_alone_is_no_event_without_a_time(opened):
    """A row that has not ended is open; one of two columns of other times may be null."""
    with opened({"begin:BOOTTIME": [1, None, None], "end:BOOTTIME": [None, 5, None]}) as trace:
        assert trace.events_without_time == 2
    with opened({"a:BOOTTIME": [1, None, None], "b:BOOTTIME": [None, 5, None]}) as trace:
        assert trace.events_without_time == 1


def test_a_name_of_no_clock_is_that_of_one_that_nothing_ties(opened):
    clocks = ["BOOTTIME", "boot time", "boot time", "", "6.5"]
    with opened({"clock": clocks, "timestamp": [1, 2, 3, 4, 5]}) as trace:
        rows = trace.read_all().to_pylist()
        names = trace.clocks.names
        titles = {one.with_names(names).title for one in in_order(diagnose(trace))}
    assert [row["status"] for row in rows] == [
        "resolved",
        *["unknown_source_clock"] * 2,
        "as_is",
        "unknown_source_clock",
    ]
    assert "boot time: used by 2 events, but in no snapshot" in titles


def test_an_end_before_its_begin_is_told_and_is_no_slice(opened, tracetime, tmp_path):
    columns = {"begin:BOOTTIME": [10, 20, 30, 40], "end:BOOTTIME": [15, 20, 29, None]}
    with opened(columns) as trace:
        slices = trace.slices()
        assert [row["ts"] for row in slices.read_all().to_pylist()] == [10, 20, 40]
        assert (slices.reversed, slices.left_out) == (1, 0)
        assert found_in(trace)["ends-before-begins"].events == 1
        assert [(one.message, one.packet) for one in trace.warnings] == [
            ("1 row whose end is before their begin: no slices", 2)
        ]
    words = ("convert", tmp_path / "t.arrow", "-o", tmp_path / "s.parquet", "--slices")
    _, out, _ = tracetime(*words)
    assert "1 slice left out: the end is before the begin" in out
    assert "too many" not in out
    with opened({"begin:BOOTTIME": [10], "end:MONOTONIC": [5]}) as trace:
        assert trace.ends_before_begins == 0


@pytest.mark.parametrize("rows_at_once", [1, 4])
def test_the_unit_is_that_of_the_column(opened, rows_at_once):
    """A batch may have whole ms by chance."""
    ns = pa.array([1 * MS, 2 * MS, 3 * MS, 4 * MS + 5000]).cast(pa.timestamp("ns"))
    for columns in (
        {"begin:BOOTTIME": ns, "end:BOOTTIME": ns},
        {"clock": ["BOOTTIME"] * 4, "timestamp": ns},
    ):
        with opened(columns, rows_at_once) as trace:
            rows = trace.read_all("tube").to_pylist()
        assert {row["latest"] - row["timestamp"] for row in rows} == {999}


def test_bars_before_the_epoch_hold_both_ways_of_cutting_off(opened):
    times = pa.array([-3, 0, 3], pa.timestamp("ms"))
    with opened({"begin:BOOTTIME": times, "end:BOOTTIME": times}) as trace:
        rows = trace.read_all("tube").to_pylist()[::2]
        slices = trace.slices("tube").read_all().to_pylist()
    bars = [(-4 * MS + 1, -2 * MS - 1), (1 - MS, MS - 1), (3 * MS, 4 * MS - 1)]
    assert [(row["earliest"], row["latest"]) for row in rows] == bars
    assert [(row["earliest"], row["latest"]) for row in slices] == bars
    assert [(row["end_earliest"], row["end_latest"]) for row in slices] == bars
    assert [row["dur_error_ns"] for row in slices] == [2 * (MS - 1), 2 * (MS - 1), MS - 1]


def test_small_batches_are_joined_and_what_comes_before_damage_is_kept(opened, tmp_path):
    with opened({"at:BOOTTIME": list(range(500)), "name": ["a", "b"] * 250}, 10) as trace:
        batches = list(trace.events(names=True))
    assert [len(batch) for batch in batches] == [500]
    whole = (tmp_path / "t.arrow").read_bytes()
    table = pa.table({"at:BOOTTIME": list(range(500))})
    with ipc.new_stream(tmp_path / "s.arrow", table.schema) as file:
        file.write_table(table, 10)
    cut = (tmp_path / "s.arrow").read_bytes()[:-1000]
    (tmp_path / "s.arrow").write_bytes(cut)
    with open_trace(tmp_path / "s.arrow", partial=True) as trace:
        assert 400 < trace.read_all().num_rows < 500
        assert trace.truncated is not None
    assert whole


def test_a_stream_that_is_longer_than_one_read_is_read(tmp_path):
    table = pa.table({"at:BOOTTIME": list(range(400_000))})
    with ipc.new_stream(tmp_path / "s.arrow", table.schema) as file:
        file.write_table(table, 100_001)
    with open_trace(tmp_path / "s.arrow") as trace:
        assert trace.read_all()["timestamp"].to_pylist() == list(range(400_000))


def test_parquet_of_dictionaries_is_joined_as_well(tmp_path):
    table = pa.table({"at:BOOTTIME": list(range(90)), "name": [f"n{n}" for n in range(90)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    with open_trace(tmp_path / "t.parquet") as trace:
        rows = trace.read_all(names=True)
    assert rows["name"].to_pylist() == table["name"].to_pylist()


def test_rows_that_name_more_clocks_than_the_limit_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("timestamp,clock\n" + "".join(f"{k},com.example.c{k}\n" for k in range(9)))
    with open_trace(path, max_clocks=9) as trace:
        assert len(trace.clocks.names) == 9
    with (
        pytest.raises(TraceError, match=r"name more than 8 clocks.*--max-clocks"),
        open_trace(path, max_clocks=8) as trace,
    ):
        list(trace.events())
