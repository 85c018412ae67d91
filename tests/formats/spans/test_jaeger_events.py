"""Jaeger's JSON: the rows that its spans give, and what their references say."""

import json

import pytest
from span_files import jaeger, jaeger_process, jaeger_span

from tracetime import ClockId, TraceError, open_trace
from tracetime.clocks.snapshot import INT64_MAX

A, B = ClockId(1), ClockId(1, machine=1)
BEGIN_US = 1_700_000_000_000_000
HOSTS = {"p1": jaeger_process("shop", host_id="a"), "p2": jaeger_process("stock", hostname="b")}


@pytest.fixture
def opened(tmp_path):
    def open_(content):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        return open_trace(path)

    return open_


def call(**server):
    client = jaeger_span(1, BEGIN_US, 1_200)
    other = jaeger_span(2, BEGIN_US + 100, 1_000, parent=1, kind="server", process="p2")
    return jaeger(([client, other | server], HOSTS))


def orders(trace):
    return {(info.before, info.after): info.orders for info in trace.clocks.orders()}


def test_a_span_is_two_rows_and_one_for_each_log(opened):
    log = {
        "timestamp": BEGIN_US + 3,
        "fields": [{"key": "event", "type": "string", "value": "hit"}],
    }
    one = jaeger_span(7, BEGIN_US, 5, logs=[log])
    with opened(jaeger(([one], HOSTS))) as trace:
        begin, end, hit = trace.read_all(names=True).to_pylist()
    assert (begin["timestamp"], end["timestamp"]) == (BEGIN_US * 1000, (BEGIN_US + 5) * 1000)
    assert (hit["timestamp"], hit["name"], hit["args"]) == (
        (BEGIN_US + 3) * 1000,
        "hit",
        '{"event":"hit"}',
    )
    assert (begin["name"], begin["category"], begin["process_name"]) == ("span 7", "client", "shop")
    assert json.loads(begin["args"])["span.kind"] == "client"


def test_a_call_that_is_answered_is_an_order_each_way(opened):
    with opened(call()) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}
        row = trace.read_all("tube").to_pylist()[2]
    # The whole call, for nothing says when the answer left; times are cut off by up to 2 us.
    assert 1_205_000 <= row["latest"] - row["earliest"] <= 1_211_000


def test_bars_hold_what_is_cut_off(opened):
    log = {"timestamp": BEGIN_US + 3, "fields": []}
    with opened(jaeger(([jaeger_span(7, BEGIN_US, 5, logs=[log])], HOSTS))) as trace:
        rows = trace.read_all("tube").to_pylist()
    for row, (at_us, late) in zip(rows, ((0, 999), (5, 1_998), (3, 999)), strict=True):
        at = (BEGIN_US + at_us) * 1000
        assert (row["trace_time"], row["earliest"], row["latest"]) == (at, at, at + late)


def test_a_bar_ends_with_int64(opened):
    last_us = INT64_MAX // 1000
    with opened(jaeger(([jaeger_span(7, last_us, 0)], HOSTS))) as trace:
        assert trace.read_all("tube")["latest"].to_pylist() == [INT64_MAX] * 2
        (row,) = trace.slices("tube").read_all().to_pylist()
    assert row["earliest"] == last_us * 1000


def test_older_files_name_the_parent_alone(opened):
    with opened(call(references=[], parentSpanID=f"{1:016x}")) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}


def test_an_id_may_lack_the_zeros_before_it(opened):
    with opened(call(references=[{"refType": "CHILD_OF", "spanID": "1"}])) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}


def test_who_follows_is_not_waited_for(opened):
    follows = [{"refType": "FOLLOWS_FROM", "traceID": f"{1:032x}", "spanID": f"{1:016x}"}]
    with opened(call(references=follows)) as trace:
        assert orders(trace) == {(A, B): 1}


def test_a_reference_to_another_trace_says_nothing(opened):
    other = [{"refType": "CHILD_OF", "traceID": f"{2:032x}", "spanID": f"{1:016x}"}]
    with opened(call(references=other)) as trace:
        assert orders(trace) == {}


@pytest.mark.parametrize("value", [True, "true"])
def test_an_error_leaves_the_begins(opened, value):
    tags = [{"key": "span.kind", "value": "server"}, {"key": "error", "value": value}]
    with opened(call(tags=tags)) as trace:
        assert orders(trace) == {(A, B): 1}


def test_a_process_may_stand_in_its_span(opened):
    with opened(call(processID=None, process=HOSTS["p2"])) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}


@pytest.mark.parametrize("process", [None, "", "p9"])
def test_a_process_in_its_span_is_its_whatever_span_has_none_before_it(opened, process):
    spans = [jaeger_span(k, BEGIN_US + k, 1, process=process) for k in (1, 2, 3)]
    spans[1]["process"] = HOSTS["p1"]
    owners = []
    for some in (spans, [*reversed(spans)], [spans[1], spans[0], spans[2]]):
        with opened(jaeger((some, {}))) as trace:
            rows = trace.read_all(names=True).to_pylist()
            owners.append({row["name"]: row["process_name"] for row in rows})
    assert owners == [{"span 1": None, "span 2": "shop", "span 3": None}] * 3


def test_times_beyond_ns_are_refused(opened):
    for begin, duration in ((1 << 62, 0), (BEGIN_US, 1 << 62), (-1, 0), (BEGIN_US, -(1 << 60))):
        with opened(jaeger(([jaeger_span(1, begin, duration)], HOSTS))) as trace:
            with pytest.raises(TraceError, match="out of range"):
                trace.read_all()
