"""What reading small spans costs: what they share is decoded once."""

import json
from unittest.mock import patch

import pytest

from tracetime import open_trace
from tracetime.formats.spans.resources import Resources

HERE = {"attributes": [{"key": "host.name", "value": {"stringValue": "here"}}]}


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
