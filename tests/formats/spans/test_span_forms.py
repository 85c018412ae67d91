"""The forms in which tools write the same spans, and files of theirs that have none."""

import base64
import json
import re

import pytest
from span_files import attribute, jaeger, jaeger_process, jaeger_span, two_hosts

from tracetime import TraceError, open_trace
from tracetime.formats.spans.reader import SpansTrace

GROUPS = [json.loads(line)["resourceSpans"][0] for line in two_hosts(calls=2).splitlines()]


def in_base64(text):
    """Ids as protobuf's own JSON has them."""
    return re.sub(
        r'(Id": ")([0-9a-f]+)',
        lambda found: found[1] + base64.b64encode(bytes.fromhex(found[2])).decode(),
        text,
    )


def dumped(key):
    return json.dumps({key: GROUPS})


NO_PARENT = {"parentSpanId": "0" * 16, **GROUPS[0]["scopeSpans"][0]["spans"][0]}
JAEGER = json.loads(
    jaeger(
        (
            [
                jaeger_span(1, 10**15, 1_000),
                jaeger_span(2, 10**15 + 100, 800, parent=1, kind="server", process="p2"),
            ],
            {"p1": jaeger_process("s", hostname="a"), "p2": jaeger_process("s", hostname="b")},
        )
    )
)["data"][0]

FORMS = {
    "one object": dumped("resourceSpans"),
    "lines": two_hosts(calls=2).decode(),
    "a byte order mark": "\ufeff" + dumped("resourceSpans"),
    "Tempo's": in_base64(dumped("batches")),
    "Tempo's, older": dumped("batches").replace("scopeSpans", "instrumentationLibrarySpans"),
    "Tempo's second API": in_base64('{"trace": ' + dumped("resourceSpans") + "}"),
    "Jaeger's third API": '{"result": ' + dumped("resourceSpans") + "}",
    "its stream": "\n".join(json.dumps({"result": {"resourceSpans": [group]}}) for group in GROUPS),
}


@pytest.fixture
def opened(tmp_path):
    def open_(text):
        path = tmp_path / "t.json"
        path.write_text(text)
        return open_trace(path)

    return open_


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_all_forms_of_otlp_give_the_same(opened, text):
    with opened(FORMS["one object"]) as trace:
        expected = trace.slices("tube").read_all().drop_columns("args").to_pylist()
    with opened(text) as trace:
        assert isinstance(trace, SpansTrace)
        assert trace.slices("tube").read_all().drop_columns("args").to_pylist() == expected
        assert [orders.orders for orders in trace.clocks.orders()] == [2, 2]
        assert trace.warnings == []


def test_an_id_of_zeros_is_none_in_base64_too(opened):
    group = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [NO_PARENT]}]}]})
    for text in (group, in_base64(group)):
        with opened(text) as trace:
            assert trace.warnings == []


@pytest.mark.parametrize(
    "made",
    [
        {"data": [JAEGER]},
        {"total": 0, "errors": None, "data": [JAEGER]},
        JAEGER,
    ],
    ids=["as saved", "total first", "a trace alone"],
)
def test_forms_of_jaeger(opened, made):
    with opened(json.dumps(made)) as trace:
        assert isinstance(trace, SpansTrace)
        assert [orders.orders for orders in trace.clocks.orders()] == [1, 1]


@pytest.mark.parametrize("indent", [None, 1])
def test_otlp_in_an_array_is_read(opened, indent):
    groups = json.loads(FORMS["one object"])["resourceSpans"]
    with opened(FORMS["one object"]) as trace:
        expected = trace.read_all("tube", names=True).drop_columns(["args", "offset"]).to_pylist()
    several = [{"resourceSpans": [group]} for group in groups]
    with opened(json.dumps(several, indent=indent)) as trace:
        found = trace.read_all("tube", names=True).drop_columns(["args", "offset"]).to_pylist()
    assert found == expected
    with opened(json.dumps([{"resourceSpans": []}])) as trace:
        assert trace.read_all().num_rows == 0


def _of_elasticsearch():
    """JAEGER's spans as Jaeger stores them: each with its process, dots in keys as @."""
    hits = []
    for span in JAEGER["spans"]:
        process = JAEGER["processes"][span["processID"]]
        own = {key: value for key, value in span.items() if key != "processID"}
        own["process"] = {
            "serviceName": process["serviceName"],
            "tag": {tag["key"].replace(".", "@"): tag["value"] for tag in process["tags"]},
        }
        hits.append({"_index": "jaeger-span-2026-09-21", "_id": "x", "_source": own})
    return hits


def test_spans_of_jaeger_in_elasticsearch_are_read(opened):
    hits = _of_elasticsearch()
    answer = {"took": 3, "timed_out": False, "_shards": {"total": 1}, "hits": {"hits": hits}}
    with opened(json.dumps(JAEGER)) as trace:
        expected = trace.read_all("tube").drop_columns(["offset"]).to_pylist()
    lines = "".join(json.dumps(hit) + "\n" for hit in hits)
    for text in (json.dumps(answer), json.dumps(answer, indent=2), lines):
        with opened(text) as trace:
            assert isinstance(trace, SpansTrace)
            assert trace.read_all("tube").drop_columns(["offset"]).to_pylist() == expected
            assert [orders.orders for orders in trace.clocks.orders()] == [1, 1]


def test_an_empty_answer_among_lines_is_passed_over(opened):
    empty = json.dumps({"data": [], "total": 0})
    with opened(f"{json.dumps(JAEGER)}\n{empty}\n") as trace:
        assert trace.read_all().num_rows


ZIPKIN = [{"traceId": "1", "id": "2", "timestamp": 1, "duration": 2, "kind": "SERVER"}]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({"resourceLogs": [{}]}, "OTLP with logs, no spans"),
        ({"resource_metrics": [{}]}, "OTLP with metrics, no spans"),
        (ZIPKIN, "as Zipkin writes"),
        ([{"id": "2", "traceId": "1"}], "as Zipkin writes"),
        ({"data": [], "total": 0, "limit": 0, "errors": None}, "a query that found no trace: ask"),
        ({"data": None, "errors": [{"code": 404, "msg": "trace not found"}]}, "trace not found"),
        ({"took": 1, "timed_out": False, "hits": {"total": 0, "hits": []}}, "found no trace"),
        ({"__CURSOR": "s", "__REALTIME_TIMESTAMP": "1"}, "journalctl -o export --file FILE"),
        ({"MESSAGE": "{[a]}", "_BOOT_ID": "0", "PRIORITY": "6"}, "journalctl -o export --file"),
    ],
)
def test_what_has_no_spans_says_so(opened, made, says):
    with opened(json.dumps(made)) as trace, pytest.raises(TraceError, match=says) as raised:
        trace.read_all()
    assert raised.value.offset == 0


@pytest.mark.parametrize("key", ["k8s.node.name", "k8s.pod.uid", "k8s.pod.name", "container.id"])
def test_kubernetes_tells_hosts_apart(opened, key):
    groups = json.loads(dumped("resourceSpans"))["resourceSpans"]
    for number, group in enumerate(groups):
        group["resource"]["attributes"] = [
            attribute("service.name", "shop"),
            attribute(key, f"n{number}"),
        ]
    with opened(json.dumps({"resourceSpans": groups})) as trace:
        assert trace.machines == [0, 1]
        assert trace.warnings == []
