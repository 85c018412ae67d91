"""What the helper says that trace_processor has loaded."""

import pytest
import trace_engine
from building import packet, pb, snapshot, trace
from platforms import WITH_ENGINE
from slicing import START, begin, end, of_thread
from trace_engine import Count, EngineError, Flow, Slice

pytestmark = WITH_ENGINE


def test_it_loads_one_file_after_another(tmp_path):
    for count in (1, 2, 1):
        path = tmp_path / "t.pftrace"
        events = [part for k in range(count) for part in (begin(10 * k, "work"), end(10 * k + 4))]
        path.write_bytes(trace(START, of_thread(7, 8, "main"), *events))
        assert trace_engine.query(path, "select name, dur from slice") == [("work", 4)] * count
        assert trace_engine.stats(path) == {}
        assert trace_engine.threads(path) == [(7, None, 7, None), (8, "main", 7, None)]


def test_it_says_all_of_json(tmp_path):
    path = tmp_path / "t.json"
    path.write_text("""[
        {"ph": "X", "ts": 1, "dur": 2, "name": "out", "cat": "a", "pid": 1, "tid": 1, "args": {"n": 3}},
        {"ph": "X", "ts": 5, "dur": 2, "name": "in", "pid": 1, "tid": 2},
        {"ph": "s", "ts": 2, "id": 1, "name": "arrow", "cat": "f", "pid": 1, "tid": 1},
        {"ph": "f", "bp": "e", "ts": 6, "id": 1, "name": "arrow", "cat": "f", "pid": 1, "tid": 2},
        {"ph": "C", "ts": 4, "name": "mem", "pid": 1, "args": {"used": 2.5}},
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "app"}}]""")
    said = (("args.n", 3),)
    out = Slice("out", "a", 1000, 2000, 0, None, 1, None, 1, "app", said)
    into = Slice("in", None, 5000, 2000, 0, None, 2, None, 1, "app", ())
    assert trace_engine.slices(path) == [into, out]
    assert trace_engine.flows(path) == [Flow(out, into, "arrow", "f")]
    assert trace_engine.counters(path) == [Count(4000, 2.5, "mem used", 1, None)]


def test_what_it_refuses_or_loses_is_told(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"words")
    assert "Unknown" in trace_engine.refusal(path)
    path.write_bytes(trace(snapshot({6: 1}), packet(5, 77, 1, track_event=pb.TrackEvent(type=3))))
    assert trace_engine.refusal(path) == ""
    assert ("clock_sync_failure", None) in trace_engine.stats(path)
    with pytest.raises(EngineError, match="no such table"):
        trace_engine.query(path, "select * from unheard_of")
    assert trace_engine.slices(path) == []
