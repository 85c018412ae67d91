"""Chrome's JSON, baked: trace_processor loads the slices, counters and arrows of the source."""

from collections import Counter

import pytest
import trace_engine
from json_slicing import document, event
from judged import assert_same, assert_sound, source_slices, written_slices
from platforms import WITH_ENGINE

import tracetime as tt

pytestmark = WITH_ENGINE

SENT = event("X", 10, "sent", dur=20), event("s", 15, "go", id=7, cat="c")
CASES = {
    "an arrow to tid 0": (
        *SENT,
        event("X", 60, "on 0", dur=9, pid=2, tid=0),
        event("f", 62, "go", id=7, cat="c", bp="e", pid=2, tid=0),
    ),
    "two ends of one arrow": (
        *SENT,
        *(event("X", 40 * k, f"got {k}", dur=9, tid=k) for k in (2, 3)),
        *(event("f", 40 * k + 1, "go", id=7, cat="c", bp="e", tid=k) for k in (2, 3)),
    ),
    "an end of the outer slice": (
        event("B", 10, "A", cat="x"),
        event("B", 12, "B", cat="x"),
        event("E", 20, "A", cat="x"),
    ),
    "a counter of one number": (event("C", 5, "mem", args={"value": 3}),),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_what_the_source_says(name, tmp_path):
    path, out = tmp_path / "t.json", tmp_path / "out"
    path.write_text(document(*CASES[name]))
    with tt.open_trace(path) as trace:
        assert tt.bake(trace, out, policy="floor").left_out == 0
    assert_sound(out)
    assert_same(source_slices(path), written_slices(out))
    assert arrows(out) == arrows(path)
    assert counts(out) == counts(path)


def arrows(path):
    return Counter(
        (*flow.begin[:4], *flow.end[:4], flow.name, flow.category)
        for flow in trace_engine.flows(path)
    )


def counts(path):
    return [(row.ts, row.value, row.name) for row in trace_engine.counters(path)]
