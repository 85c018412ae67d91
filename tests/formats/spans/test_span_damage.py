"""Files of spans that are damaged or hostile: an error that says where, or all that came before."""

import json

import pytest
from span_files import BEGIN_NS, jaeger, jaeger_process, otlp, resource_spans, span, two_hosts

from tracetime import TraceError, diagnose, open_trace
from tracetime.formats.spans import reader

LINE = otlp(resource_spans([span(1, BEGIN_NS, BEGIN_NS + 5)], host_id="a"))


def read(path, content, **options):
    path.write_bytes(content)
    with open_trace(path, **options) as trace:
        table = trace.read_all("tube", names=True)
        return table.num_rows, trace.truncated


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.json"


DAMAGED = [
    LINE[:-30],
    LINE[:40] + b"\n",
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"\xff"}]}]}]}\n',
    b'{"resourceSpans":[{"resource":{"attributes":[{"key":"a\xff"}]}}]}\n',
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"\\ud800"}]}]}]}\n',
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"1","attributes":"\xff"}]}]}]}\n',
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}\n',
    b'{"resourceSpans":' + b"[" * 100_000 + b"\n",
    b'{"resourceSpans":[{"x":' + b"[" * 100_000 + b"\n",
    b'{"resourceSpans":{}}\n',
    b"[]\n",
    b"x\n",
]


@pytest.mark.parametrize("damaged", DAMAGED)
def test_damage_is_told_with_its_line_and_byte(path, damaged):
    with pytest.raises(TraceError, match="line 3: ") as raised:
        read(path, LINE + LINE + damaged)
    assert raised.value.offset == 2 * len(LINE)


@pytest.mark.parametrize("damaged", DAMAGED)
def test_damage_is_found_whatever_is_asked_for(path, damaged):
    path.write_bytes(LINE + damaged)
    with open_trace(path) as trace, pytest.raises(TraceError):
        trace.clocks.clocks()


@pytest.mark.parametrize("damaged", DAMAGED)
def test_partial_keeps_what_comes_before(path, damaged):
    rows, truncated = read(path, LINE + LINE + damaged + LINE, partial=True)
    assert (rows, truncated.offset) == (4, 2 * len(LINE))


def test_partial_keeps_the_spans_before_a_bad_time_in_one_object(path):
    spans = [span(k, BEGIN_NS + k, BEGIN_NS + 9) for k in range(1, 9)]
    spans[4]["events"] = [{"timeUnixNano": str(BEGIN_NS)}, {"timeUnixNano": "?"}]
    content = otlp(resource_spans(spans, host_id="a"))
    rows, truncated = read(path, content, partial=True)
    assert (rows, truncated.packet) == (8, 4)
    assert "times are whole numbers" in str(truncated)


def test_the_doctor_tells_that_the_rest_was_not_read(path):
    path.write_bytes(two_hosts() + b'{"resourceSpans":[')
    with open_trace(path, partial=True) as trace:
        assert "trace-truncated" in {finding.code for finding in diagnose(trace)}


WRONG = [None, True, -1, 1e300, "x", "", [], {}, [[]], [{}], {"a": 1}, 1 << 80]
FIELDS = [
    "resourceSpans", "resource", "attributes", "key", "value", "stringValue", "scopeSpans",
    "spans", "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano",
    "endTimeUnixNano", "events", "timeUnixNano", "status", "code", "links",
    "data", "traceID", "spanID", "references", "refType", "startTime", "duration", "tags",
    "logs", "timestamp", "fields", "processID", "processes", "serviceName", "operationName",
]  # fmt: skip


def replaced(value, field, by):
    if isinstance(value, dict):
        return {k: by if k == field else replaced(v, field, by) for k, v in value.items()}
    return [replaced(item, field, by) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("field", FIELDS)
def test_wrong_types_everywhere_are_read_or_refused(path, field):
    first = span(3, BEGIN_NS, BEGIN_NS + 9, events=[{"timeUnixNano": "5", "name": "message"}])
    first |= {"status": {"code": 1}, "links": [{"traceId": "1"}]}
    first["attributes"] = [{"key": "a", "value": {"stringValue": "b"}}]
    groups = [resource_spans([first], host_id="a"), resource_spans([first], host_id="b")]
    one = {"resourceSpans": groups}
    tags = [{"key": "a", "value": "b"}]
    logs = [{"timestamp": 5, "fields": tags}]
    reference = [{"refType": "CHILD_OF", "traceID": "1", "spanID": "2"}]
    spans = {"traceID": "1", "spanID": "3", "operationName": "x", "references": reference}
    spans |= {"startTime": 5, "duration": 6, "tags": tags, "logs": logs, "processID": "p1"}
    other = json.loads(jaeger(([spans, spans | {"spanID": "2"}], {"p1": jaeger_process("s")})))
    for whole in (one, other):
        beginning = b'{"resourceSpans":[]}\n' if whole is one else b""
        for by in WRONG:
            content = beginning + json.dumps(replaced(whole, field, by)).encode()
            for partial in (False, True):
                path.write_bytes(content)
                try:
                    with open_trace(path, partial=partial) as trace:
                        for policy in ("floor", "tube"):
                            trace.read_all(policy, names=True).validate(full=True)
                except TraceError as error:
                    assert not partial or whole is other, error


def test_an_object_has_a_greatest_size(path, monkeypatch):
    monkeypatch.setattr(reader, "LONGEST", 1 << 20)
    long = LINE[:-1] + b" " * (1 << 20) + b"\n"
    with pytest.raises(TraceError, match="one object a line") as raised:
        read(path, LINE + long + b" " * (1 << 20))
    assert raised.value.offset == len(LINE)


def test_an_object_of_nothing_takes_no_room(path):
    content = b'{"resourceSpans":[' + b"{}," * 100_000 + b"{}]}"
    assert read(path, content) == (0, None)


def test_a_span_that_is_its_own_ancestor_is_read(path):
    spans = [
        span(1, BEGIN_NS, BEGIN_NS + 9, parent=2),
        span(2, BEGIN_NS, BEGIN_NS + 9, parent=1),
        span(3, BEGIN_NS, BEGIN_NS + 9, parent=3),
    ]
    one, other, third = (resource_spans([each], host_id=f"h{k}") for k, each in enumerate(spans))
    assert read(path, otlp(one, other, third))[0] == 6
