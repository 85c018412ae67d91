"""Spans as slices: how they nest, their tracks, and the bars of both ends."""

import json

import pytest
from span_files import (
    BEGIN_NS,
    as_jaeger,
    jaeger,
    jaeger_process,
    jaeger_span,
    otlp,
    resource_spans,
    simulated_world,
    span,
    two_hosts,
)

from tracetime import open_trace
from tracetime.sql.session import Session

pytest_plugins = ["cli"]


@pytest.fixture
def slices(tmp_path):
    """The slices of a file."""

    def read(content, policy="floor", **asked):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        with open_trace(path) as trace:
            found = trace.slices(policy, **asked)
            table = found.read_all()
            table.validate(full=True)
            assert found.left_out == found.names_left_out == 0
            return table.to_pylist()

    return read


def host(spans, **attributes):
    return otlp(resource_spans(spans, host_id="a", **attributes))


def test_a_span_is_a_slice(slices):
    one = span(1, BEGIN_NS, BEGIN_NS + 7, kind="SERVER")
    assert slices(host([one], service_name="shop", process_pid=5)) == [
        {
            "id": 0,
            "ts": BEGIN_NS,
            "dur": 7,
            "depth": 0,
            "parent": None,
            "name": "span 1",
            "category": "server",
            "track": 0,
            "track_name": "a",
            "tid": None,
            "thread_name": None,
            "pid": 5,
            "process_name": "shop",
            "args": json.dumps(
                {"trace_id": one["traceId"], "span_id": one["spanId"]}, separators=(",", ":")
            ),
        }
    ]


def test_what_is_not_known_is_null(slices):
    (row,) = slices(otlp(resource_spans([span(1, BEGIN_NS, BEGIN_NS)])), args=False)
    assert [row[name] for name in ("pid", "tid", "process_name", "args")] == [None] * 4
    assert row["dur"] == 0


def test_they_nest_by_their_parents(slices):
    spans = [
        span(3, BEGIN_NS + 20, BEGIN_NS + 30, parent=2),
        span(2, BEGIN_NS + 10, BEGIN_NS + 40, parent=1),
        span(1, BEGIN_NS, BEGIN_NS + 100),
        span(4, BEGIN_NS + 30, BEGIN_NS + 60, parent=1),
        span(5, BEGIN_NS + 5, BEGIN_NS + 6),
    ]
    found = [
        (row["name"], row["parent"], row["depth"], row["track"]) for row in slices(host(spans))
    ]
    assert found == [
        ("span 1", None, 0, 0),
        ("span 5", None, 0, 1),
        ("span 2", 0, 1, 0),
        ("span 3", 2, 2, 0),
        # It overlaps its sibling, so it is on a track of its own.
        ("span 4", 0, 0, 1),
    ]


def test_a_parent_as_short_as_its_child_is_above_it(slices):
    spans = [span(2, BEGIN_NS, BEGIN_NS + 9, parent=1), span(1, BEGIN_NS, BEGIN_NS + 9)]
    found = [(row["name"], row["parent"], row["depth"]) for row in slices(host(spans))]
    # In order of their begins, and of equal ones as in the file.
    assert found == [("span 2", 1, 1), ("span 1", None, 0)]


def test_a_child_that_begins_with_its_parent_is_above_it(slices):
    spans = [span(2, BEGIN_NS, BEGIN_NS + 5, parent=1), span(1, BEGIN_NS, BEGIN_NS + 9)]
    assert [(row["name"], row["depth"]) for row in slices(host(spans))] == [
        ("span 2", 1),
        ("span 1", 0),
    ]


def test_a_span_without_length_has_none_by_the_tube_either(slices):
    at = BEGIN_NS + 5 * 10**6
    moment = otlp(resource_spans([span(999, at, at)], host_id="b"))
    (row,) = (one for one in slices(two_hosts() + moment, "tube") if one["name"] == "span 999")
    assert (row["dur"], row["dur_error_ns"]) == (0, 0)
    assert row["latest"] > row["earliest"]


def test_a_span_that_has_not_ended_is_open(slices):
    (row,) = slices(host([span(1, BEGIN_NS, 0)]))
    assert row["dur"] == -1


def test_a_span_that_ends_before_it_begins_has_no_length(slices):
    (row,) = slices(host([span(1, BEGIN_NS, BEGIN_NS - 5)]))
    assert row["dur"] == 0


def test_loops_of_parents_are_cut(slices):
    spans = [
        span(1, BEGIN_NS, BEGIN_NS + 9, parent=2),
        span(2, BEGIN_NS, BEGIN_NS + 9, parent=1),
        span(3, BEGIN_NS, BEGIN_NS + 9, parent=2),
    ]
    assert [row["parent"] for row in slices(host(spans))] == [None, None, 1]


def test_by_floor_other_hosts_have_none(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(two_hosts(calls=3))
    with open_trace(path) as trace:
        found = trace.slices()
        assert found.read_all().num_rows == 3
        assert found.unresolved == 6 - 3


def test_by_the_tube_children_of_other_hosts_have_their_parents(slices):
    rows = slices(two_hosts(ahead=3 * 10**9, calls=3), "tube")
    assert [row["parent"] for row in rows] == [None, 0, None, 2, None, 4]
    assert [row["track_name"] for row in rows] == ["a", "b"] * 3
    assert rows[1]["clock"] == rows[1]["end_clock"] == "REALTIME of b"
    assert rows[1]["dur"] == pytest.approx(1_000_000, abs=10)
    assert 0 < rows[1]["dur_error_ns"] < 1_250_000
    assert [rows[0][side] for side in ("earliest", "latest")] == [BEGIN_NS] * 2


def test_a_host_that_calls_alone_tie_one_way_has_open_bars(slices):
    one = span(1, BEGIN_NS, BEGIN_NS + 10**6, kind="PRODUCER")
    other = span(2, BEGIN_NS + 5, BEGIN_NS + 9, parent=1, kind="CONSUMER")
    rows = slices(host([one]) + otlp(resource_spans([other], host_id="b")), "tube")
    known, unknown = sorted(rows, key=lambda row: row["name"])
    assert (known["latest"], unknown["latest"]) == (BEGIN_NS, None)
    assert unknown["earliest"] is not None
    assert unknown["dur_error_ns"] is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["otlp", "jaeger"])
def test_every_bar_of_both_ends_holds_the_truth(slices, seed, form):
    world = simulated_world(seed, hosts=2 + seed, calls=50)
    content = otlp(*world.groups) if form == "otlp" else as_jaeger(world.groups)
    rows = slices(content, "tube", bars="guaranteed")
    assert len(rows) == len(world.truth)
    assert [row["ts"] for row in rows] == sorted(row["ts"] for row in rows)
    for row in rows:
        begin, end = world.truth[int(json.loads(row["args"])["span_id"], 16)]
        assert row["earliest"] is None or row["earliest"] <= begin
        assert row["latest"] is None or begin <= row["latest"]
        assert row["end_earliest"] is None or row["end_earliest"] <= end
        assert row["end_latest"] is None or end <= row["end_latest"]
        if row["dur_error_ns"] is not None:
            assert abs(end - begin - row["dur"]) <= row["dur_error_ns"]
    by_id = {row["id"]: row for row in rows}
    for row in rows:
        if row["depth"]:
            above = by_id[row["parent"]]
            assert (above["track"], above["depth"]) == (row["track"], row["depth"] - 1)


def test_bars_hold_what_jaeger_cuts_off(slices):
    begin_us = BEGIN_NS // 1000
    spans = [jaeger_span(1, begin_us, 5), jaeger_span(2, begin_us + 9, 0)]
    rows = slices(jaeger((spans, {"p1": jaeger_process("shop", host_id="a")})), "tube")
    for row, begin, dur in zip(rows, (BEGIN_NS, BEGIN_NS + 9_000), (5_000, 0), strict=True):
        assert (row["ts"], row["dur"]) == (begin, dur)
        assert (row["earliest"], row["latest"]) == (begin, begin + 999)
        assert (row["end_earliest"], row["end_latest"]) == (begin + dur, begin + dur + 1_998)
        assert row["dur_error_ns"] == 1_998


def test_they_are_queried_in_sql(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(two_hosts(calls=3))
    with open_trace(path) as trace, Session([trace]) as session:
        (batch,) = session.run("SELECT count(*) AS n, sum(dur) AS ns FROM slices").batches
        assert batch.to_pylist() == [{"n": 3, "ns": 3_600_000}]


def test_both_ends_are_known_where_hosts_differ(tmp_path, tracetime):
    path = tmp_path / "t.json"
    path.write_bytes(two_hosts(calls=30))
    with open_trace(path) as trace:
        ends = trace.slice_ends()
        assert ends is not None
        assert len(ends.begin_clock) == 60
    assert tracetime("report", path, "--policy", "tube", "-o", tmp_path / "r.html")[0] in (0, 2)
    path.write_bytes(host([span(1, BEGIN_NS, BEGIN_NS + 5)]))
    with open_trace(path) as trace:
        assert trace.slice_ends() is None


@pytest.mark.sweep
def test_many_arguments_are_several_batches(tmp_path):
    long = [{"key": "k", "value": {"stringValue": "x" * (1 << 20)}}]
    spans = [span(k, BEGIN_NS + k, BEGIN_NS + k, attributes=long) for k in range(1, 70)]
    path = tmp_path / "t.json"
    path.write_bytes(host(spans))
    with open_trace(path) as trace:
        batches = list(trace.slices())
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 69
    last = json.loads(batches[-1]["args"][-1].as_py())
    assert (last["span_id"], len(last["k"])) == (f"{69:016x}", 1 << 20)
