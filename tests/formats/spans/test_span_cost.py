"""What reading small spans costs: what they share is decoded once, and dropped."""

import json
import tempfile
import tracemalloc
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import open_trace
from tracetime.formats.spans import jaeger, otlp, reader
from tracetime.formats.spans.batch import SpanLists
from tracetime.formats.spans.resources import Resources, Wanted

ATTRIBUTE = {"key": "host.name", "value": {"stringValue": "here"}}
HERE = {"attributes": [ATTRIBUTE]}


def otlp_groups(n):
    span = {"spanId": "1", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    group = {"resource": HERE, "scopeSpans": [{"spans": [span]}]}
    return json.dumps({"resourceSpans": [group] * n})


def otlp_lines(n):
    return "\n".join([otlp_groups(1)] * n)


def jaeger_stored(n):
    process = {"serviceName": "s", "tags": [{"key": "hostname", "value": "here"}]}
    span = {"spanID": "1", "startTime": 1, "duration": 1, "process": process}
    nobody = {"spanID": "2", "startTime": 1, "duration": 1}
    return json.dumps({"data": [{"spans": [span, nobody] * n}]})


@pytest.mark.parametrize("file", [otlp_groups, otlp_lines, jaeger_stored])
def test_a_resource_that_is_repeated_is_decoded_once(tmp_path, file):
    called = []
    for n in (5, 50):
        path = tmp_path / f"{n}.json"
        path.write_text(file(n))
        whole = Resources.number
        with patch.object(Resources, "number", autospec=True, side_effect=whole) as number:
            with open_trace(path) as trace:
                assert trace.read_all().num_rows >= n
            called.append(number.call_count)
    assert called[0] == called[1]


OTLP_EVENT = {"timeUnixNano": "3", "name": "e", "attributes": [ATTRIBUTE]}
LOG = {"timestamp": 3, "fields": [{"key": "event", "value": "e"}]}


def otlp_events(events):
    spans = [{"spanId": "1", "startTimeUnixNano": "1", "events": one} for one in events]
    return json.dumps({"resourceSpans": [{"resource": HERE, "scopeSpans": [{"spans": spans}]}]})


def jaeger_events(logs):
    spans = [{"spanID": "1", "startTime": 1, "duration": 1, "logs": one} for one in logs]
    return json.dumps({"data": [{"spans": spans}]})


def tables(path, **options):
    with open_trace(path) as trace:
        return list(trace.events(names=True, **options))


@given(
    st.lists(st.lists(st.booleans(), max_size=5), min_size=1, max_size=6),
    st.integers(1, 7),
    st.sampled_from([(otlp_events, OTLP_EVENT), (jaeger_events, LOG)]),
)
def test_rows_are_the_same_however_many_come_at_once(given_events, at_once, file):
    make, event = file
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.json")
        path.write_text(make([[event if full else {} for full in one] for one in given_events]))
        whole = pa.Table.from_batches(tables(path, policy="tube"))
        with patch.object(reader, "_AT_ONCE", at_once):
            parts = tables(path, policy="tube")
    assert all(part.num_rows <= at_once for part in parts)
    assert pa.Table.from_batches(parts).to_pylist() == whole.to_pylist()


@pytest.mark.parametrize("make", [otlp_events, jaeger_events])
def test_events_of_one_span_are_several_batches(tmp_path, make):
    path = tmp_path / "t.json"
    path.write_text(make([[{}] * 150_000]))
    batches = tables(path)
    assert [batch.num_rows for batch in batches[:1]] == [131_072]
    items = [item for batch in batches for item in batch["item"].to_pylist()]
    assert items == [*range(len(items))]


@pytest.mark.parametrize(
    ("source", "make"), [(otlp.SPANS, otlp_events), (jaeger.SPANS, jaeger_events)]
)
def test_decoded_events_are_dropped_once_they_are_taken(source, make):
    text, lists = make([[{}] * 100_000]).encode(), SpanLists(source.unit_ns)
    tracemalloc.start()
    try:
        for _ in source.decode(text, 0, Resources(1), lists, Wanted.NOTHING):
            left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(lists.event_time) == 100_000
    assert left < most / 2


def test_events_without_a_name_take_little_more_than_their_columns():
    lists, events = SpanLists(1), 100_000
    source, text = otlp.SPANS, otlp_events([[{}] * events]).encode()
    for _ in source.decode(text, 0, Resources(1), lists, Wanted.EVENTS):
        pass
    assert len(lists.event_args) == events
    tracemalloc.start()
    try:
        spans = lists.spans(0, 0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(spans.event_time) == events
    assert most < 60 * events
