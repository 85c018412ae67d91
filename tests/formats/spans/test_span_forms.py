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


ZIPKIN = [{"traceId": "1", "id": "2", "timestamp": 1, "duration": 2, "kind": "SERVER"}]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({"resourceLogs": [{}]}, "OTLP with logs, no spans"),
        ({"resource_metrics": [{}]}, "OTLP with metrics, no spans"),
        (ZIPKIN, "as Zipkin writes"),
        ([{"id": "2", "traceId": "1"}], "as Zipkin writes"),
        ([{"resourceSpans": []}], "an object a line"),
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
