"""OTLP in JSON: the rows that spans give, and what its forms of fields and files mean."""

import gzip
import json

import pytest
from span_files import BEGIN_NS, attribute, otlp, resource_spans, span, two_hosts

from tracetime import ClockId, TraceError, open_trace
from tracetime.formats.spans.reader import SpansTrace


@pytest.fixture
def rows(tmp_path):
    """The rows of a file, with names."""

    def read(content, policy="floor", **options):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        with open_trace(path, **options) as trace:
            assert isinstance(trace, SpansTrace)
            return trace.read_all(policy, names=True).to_pylist()

    return read


def one(**fields):
    return otlp(resource_spans([span(1, BEGIN_NS, BEGIN_NS + 5) | fields], host_id="a"))


def test_a_span_is_two_rows_and_one_for_each_event(rows):
    event = {"timeUnixNano": str(BEGIN_NS + 2), "name": "hit", "attributes": [attribute("n", 3)]}
    first = span(7, BEGIN_NS, BEGIN_NS + 5, parent=6, events=[event])
    first["attributes"] = [attribute("http.method", "GET"), attribute("http.status_code", 200)]
    second = span(8, BEGIN_NS + 9, BEGIN_NS + 10, kind="SERVER")
    group = resource_spans([first, second], host_id="a", service_name="shop", process_pid=12)
    begin, end, hit, *others = rows(otlp(group))
    assert begin == {
        "packet": 0,
        "kind": "span",
        "item": 0,
        "payload": None,
        "packet_sequence": 0,
        "sequence": 0,
        "machine": 0,
        "clock": 1,
        "timestamp": BEGIN_NS,
        "trace_time": BEGIN_NS,
        "status": "resolved",
        "offset": 0,
        "name": "span 7",
        "category": "client",
        "type": "slice_begin",
        "value": None,
        "track": None,
        "track_name": "a",
        "cpu": None,
        "pid": 12,
        "tid": None,
        "process_name": "shop",
        "thread_name": None,
        "args": json.dumps(
            {
                "trace_id": f"{1:032x}",
                "span_id": f"{7:016x}",
                "parent_span_id": f"{6:016x}",
                "http.method": "GET",
                "http.status_code": 200,
            },
            separators=(",", ":"),
        ),
    }
    assert (end["kind"], end["type"], end["timestamp"]) == ("span_end", "slice_end", BEGIN_NS + 5)
    assert (end["packet"], end["item"], end["name"], end["args"]) == (0, 1, "span 7", None)
    assert (hit["kind"], hit["type"], hit["timestamp"]) == ("span_event", "instant", BEGIN_NS + 2)
    assert (hit["item"], hit["name"], hit["category"], hit["args"]) == (2, "hit", None, '{"n":3}')
    assert [(row["packet"], row["item"], row["category"]) for row in others] == [
        (1, 0, "server"),
        (1, 1, "server"),
    ]


def test_a_span_that_has_not_ended_has_no_end(rows):
    for missing in ("0", 0, None, ""):
        assert [row["kind"] for row in rows(one(endTimeUnixNano=missing))] == ["span"]


def test_an_end_before_its_begin_stays_as_it_is(rows):
    assert [row["timestamp"] for row in rows(one(endTimeUnixNano=str(BEGIN_NS - 3)))] == [
        BEGIN_NS,
        BEGIN_NS - 3,
    ]


def test_times_are_exact_as_numbers_and_as_text(rows):
    ns = 1_700_000_000_123_456_789
    for time in (ns, str(ns), f"000{ns}"):
        assert rows(one(startTimeUnixNano=time))[0]["timestamp"] == ns


@pytest.mark.parametrize(
    ("time", "says"),
    [
        (1.7e18, "float"),
        ("1_700", "whole number"),
        ("١٧", "whole number"),
        ("-5", "whole number"),
        (-5, "out of range"),
        (1 << 63, "out of range"),
        (str(1 << 63), "out of range"),
        ("9" * 5000, "4300"),
        (True, "bool"),
        ([1], "array"),
    ],
)
def test_times_that_are_none_are_refused(rows, time, says):
    good = otlp(resource_spans([span(1, BEGIN_NS, BEGIN_NS + 5)], host_id="a"))
    with pytest.raises(TraceError, match=says) as raised:
        rows(good + one(startTimeUnixNano=time))
    assert raised.value.offset == len(good)


def test_times_of_events_are_checked(rows):
    with pytest.raises(TraceError, match="whole number"):
        rows(one(events=[{"timeUnixNano": "soon"}]))


def test_kinds_are_numbers_or_names(rows):
    for kind in (2, "2", "SPAN_KIND_SERVER"):
        assert rows(one(kind=kind))[0]["category"] == "server"
    for kind in (0, None, "SPAN_KIND_OTHER", 77):
        assert rows(one(kind=kind))[0]["category"] == "unspecified"


def test_fields_may_be_named_as_the_schema_names_them(rows):
    content = {
        "resource_spans": [
            {
                "resource": {"attributes": [{"key": "host.id", "value": {"string_value": "a"}}]},
                "scope_spans": [
                    {
                        "spans": [
                            {
                                "trace_id": "0A" * 16,
                                "span_id": "0b" * 8,
                                "name": "x",
                                "start_time_unix_nano": BEGIN_NS,
                                "end_time_unix_nano": BEGIN_NS + 1,
                                "attributes": [{"key": "n", "value": {"int_value": "5"}}],
                            }
                        ]
                    }
                ],
            }
        ]
    }
    begin, end = rows(json.dumps(content).encode())
    assert (begin["timestamp"], begin["track_name"], end["timestamp"]) == (
        BEGIN_NS,
        "a",
        BEGIN_NS + 1,
    )
    assert json.loads(begin["args"])["n"] == 5


def test_scopes_may_have_their_older_name(rows):
    content = one().replace(b"scopeSpans", b"instrumentationLibrarySpans")
    assert len(rows(content)) == 2


def test_attributes_are_plain_values(rows):
    values = {
        "text": {"stringValue": "t"},
        "no": {"boolValue": False},
        "half": {"doubleValue": 0.5},
        "big": {"intValue": str(1 << 62)},
        "least": {"intValue": str(-(1 << 63))},
        "beyond": {"intValue": str(1 << 63)},
        "far": {"intValue": 1 << 80},
        "list": {"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "b"}]}},
        "map": {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "2"}}]}},
        "bytes": {"bytesValue": "AAE="},
        "none": {},
    }
    given = [{"key": key, "value": value} for key, value in values.items()]
    args = json.loads(rows(one(attributes=given))[0]["args"])
    assert [args[key] for key in values] == [
        "t", False, 0.5, 1 << 62, -(1 << 63), str(1 << 63), str(1 << 80), [1, "b"], {"k": 2}, "AAE=", None,
    ]  # fmt: skip


def test_one_object_may_have_many_lines(rows):
    lines = [json.loads(line) for line in two_hosts(calls=3).splitlines()]
    whole = {"resourceSpans": [group for line in lines for group in line["resourceSpans"]]}
    for indent in (None, 2):
        again = rows(json.dumps(whole, indent=indent).encode())
        apart = rows(two_hosts(calls=3))
        for row in (*again, *apart):
            del row["offset"]
        assert again == apart


def test_each_line_has_its_offset(rows):
    content = b" \n" + two_hosts(calls=1) + b"\n"
    starts = [content.index(b"{"), content.index(b"\n{", 2) + 1]
    assert [row["offset"] for row in rows(content)] == [starts[0]] * 2 + [starts[1]] * 2


def test_a_compressed_file_is_read(rows):
    assert rows(gzip.compress(two_hosts())) == rows(two_hosts())


def test_other_objects_are_not_of_this_format(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"{}")
    with pytest.raises(TraceError, match="JSON, but of no trace"), open_trace(path):
        pass
    for content in (b'{"data":[]}', b'{"spans":{"resourceSpans":[]}}'):
        path.write_bytes(content)
        with open_trace(path) as trace:
            assert not isinstance(trace, SpansTrace)


def test_hosts_are_told_apart_by_their_best_attribute(tmp_path):
    groups = [
        {"host_id": "i", "host_name": "n", "service_name": "s"},
        {"host_id": "i", "host_name": "other"},
        {"host_name": "n", "service_instance_id": "k"},
        {"service_instance_id": "k", "service_name": "s"},
        {"service_name": "s"},
        {"host_name": "localhost", "service_name": "s"},
        {},
    ]
    made = [
        resource_spans([span(k, BEGIN_NS, BEGIN_NS + 1)], **attributes)
        for k, attributes in enumerate(groups, 1)
    ]
    path = tmp_path / "t.json"
    path.write_bytes(otlp(*made))
    with open_trace(path) as trace:
        table = trace.read_all(names=True)
        assert table["machine"].to_pylist()[::2] == [0, 0, 1, 2, 3, 3, 4]
        assert table["track_name"].to_pylist()[::2] == ["i", "i", "n", "k", "s", "s", ""]
        names = [trace.clocks.name(ClockId(1, machine=k)) for k in range(5)]
    assert names == [
        "REALTIME of i",
        "REALTIME of n",
        "REALTIME of k",
        "REALTIME of s",
        "REALTIME of an unnamed host",
    ]


def test_hosts_have_a_limit(rows):
    assert len(rows(two_hosts(), max_clocks=2)) == 80
    with pytest.raises(TraceError, match="--max-clocks"):
        rows(two_hosts(), max_clocks=1)


def test_many_spans_are_several_batches(tmp_path):
    spans = [span(k, BEGIN_NS + k, BEGIN_NS + k + 1) for k in range(1, 70_001)]
    path = tmp_path / "t.json"
    path.write_bytes(otlp(resource_spans(spans, host_id="a")))
    with open_trace(path) as trace:
        batches = list(trace.events())
    assert [batch.num_rows for batch in batches] == [2 * 65_536, 2 * 4_464]
    assert batches[1]["packet"][0].as_py() == 65_536
    assert batches[1]["timestamp"][-1].as_py() == BEGIN_NS + 70_001
