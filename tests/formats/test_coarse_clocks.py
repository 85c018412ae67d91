"""Files that have only part of a reading: every bar holds what they lack, wherever it is drawn."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import Capture
from ctf_files import Clock, simple
from journals import entry
from span_files import jaeger, jaeger_process, jaeger_span

from tracetime import ClockGraph, ClockId, Snapshot, diagnose, open_trace
from tracetime.analysis.floor_cost import FloorCost, OrderCheck
from tracetime.analysis.survey import Survey
from tracetime.errors import ONE_SIDED, REASONS, RESOLVED
from tracetime.graph.clock_graph import inner
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.placement import placed_by_floor

pytest_plugins = ["cli"]

AT_US = 1_790_000_000_123_457


def capture(folder):
    c, path = Capture(), folder / "c.pcapng"
    path.write_bytes(c.section() + c.interface() + c.packet(AT_US) + c.packet(AT_US + 5))
    return path


def journal(folder):
    path = folder / "j.export"
    path.write_bytes(
        b"".join(
            entry({"__REALTIME_TIMESTAMP": AT_US + at, "_BOOT_ID": "b" * 32, "MESSAGE": "x"})
            for at in (0, 5)
        )
    )
    return path


def ctf(folder):
    return simple(1_000, 1_005, clock=Clock(name="cycles", freq=1_000_000)).write(folder / "ctf")


def spans(folder):
    path = folder / "t.json"
    hosts = {"p1": jaeger_process("shop", host_id="a")}
    path.write_bytes(jaeger(([jaeger_span(7, AT_US, 5)], hosts)))
    return path


def table(folder):
    path = folder / "t.parquet"
    begin, end = (pa.array([AT_US + at], pa.timestamp("us")) for at in (0, 5))
    pq.write_table(pa.table({"begin:BOOTTIME": begin, "end:BOOTTIME": end}), path)
    return path


@pytest.fixture(
    params=[
        (capture, [999, 999]),
        (journal, [999, 999]),
        (ctf, [999, 999]),
        (spans, [999, 1998]),
        (table, [999, 999]),
    ],
    ids=lambda param: param[0].__name__,
)
def coarse(request, tmp_path):
    """A trace of two events, and what the file lacks of their readings, ns."""
    make, lacks = request.param
    return make(tmp_path), lacks


def test_events_and_sql_have_the_same_bars(coarse):
    path, lacks = coarse
    with open_trace(path) as trace:
        rows = trace.read_all("tube").to_pylist()
        by_sql = trace.sql("select earliest, latest from events", policy="tube").to_pylist()
    assert [row["latest"] - row["timestamp"] for row in rows] == lacks
    assert [row["timestamp"] - row["earliest"] for row in rows] == [0, 0]
    assert by_sql == [{name: row[name] for name in ("earliest", "latest")} for row in rows]


def test_convert_has_the_same_bars(coarse, tracetime, tmp_path):
    path, lacks = coarse
    tracetime("convert", path, "--policy", "tube", "-o", tmp_path / "out.parquet")
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["latest"] - row["trace_time"] for row in rows] == lacks


def test_whoever_places_rows_gets_the_same_bars(coarse):
    """As error tracks, baking and the events of findings do."""
    path, lacks = coarse
    with open_trace(path) as trace:
        bars = ErrorBars(inner(trace.clocks), trace.trace_clock, trace.machines, "estimated", {})
        placed = [bars.place(columns) for columns in trace.columns()]
    found = np.concatenate([one["latest"] - one["source_ns"] for one in placed])
    assert found.tolist() == lacks


def test_the_survey_has_the_same_bars(coarse, monkeypatch):
    path, lacks = coarse
    seen = []

    def of_any_clock(self):
        """A check that waits for no clock that moves."""
        cost = self._floor_cost
        bars = ErrorBars(self.graph, self.trace_clock, self.trace.machines, "estimated", {}, cost)
        return OrderCheck(bars, np.arange(len(self.infos) + 9))

    monkeypatch.setattr(Survey, "_order_check", of_any_clock)
    monkeypatch.setattr(FloorCost, "order", lambda self, *bars: seen.append(bars))
    with open_trace(path) as trace:
        diagnose(trace)
    floor, _, latest = (np.concatenate(column) for column in zip(*seen, strict=True))
    assert (latest - floor).tolist() == lacks


@pytest.mark.parametrize(("make", "lacks"), [(spans, (999, 1998)), (table, (999, 999))])
def test_slices_have_the_same_bars(tmp_path, make, lacks):
    with open_trace(make(tmp_path)) as trace:
        (row,) = trace.slices("tube").read_all().to_pylist()
        by_sql = trace.sql("select latest, end_latest from slices", policy="tube").to_pylist()
    end = row["ts"] + row["dur"]
    assert (row["latest"] - row["ts"], row["end_latest"] - end) == lacks
    assert by_sql == [{name: row[name] for name in ("latest", "end_latest")}]


MONOTONIC, GPU = ClockId(3), ClockId(6)


def hop(cut_off_ns, *, latest=2**40, source=500):
    """A row of a clock that a snapshot ties to trace time, with what was cut off."""
    graph = ClockGraph(MONOTONIC)
    for at in (0, latest):
        graph.add_snapshot(
            Snapshot({MONOTONIC: at, GPU: at}, reference=MONOTONIC, half_width_ns={GPU: 10})
        )
    columns = {
        "packet": np.zeros(1, np.uint64),
        "offset": np.zeros(1, np.uint64),
        "clock": np.array([6], np.uint32),
        "timestamp": np.array([source], np.int64),
    }
    placed = placed_by_floor(columns, graph, MONOTONIC, [0])
    bars = ErrorBars(inner(graph), MONOTONIC, [0], "estimated", {})
    bare = bars.place(placed)
    held = bars.place(placed | {"cut_off_ns": np.array([cut_off_ns], np.int64)})
    return bare, held


def test_a_bar_over_a_hop_holds_every_reading_it_can_be_of():
    bare, held = hop(1000)
    assert held["latest"] - bare["latest"] == 1000
    assert held["earliest"] == bare["earliest"]
    assert held["trace_time"] == bare["trace_time"]


def test_a_reading_that_may_be_beyond_int64_has_a_bar_without_end():
    _, held = hop(2**62, source=2**63 - 2**20)
    assert held["latest"] == 2**63 - 1
    assert REASONS[held["status"][0]] == "one_sided"
    assert held["status"][0] == ONE_SIDED != RESOLVED
