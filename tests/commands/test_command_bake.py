"""`tracetime bake`: what it writes, and what it says of it."""

import json

from building import BOOTTIME, MONOTONIC, REALTIME, event, ftrace, packet, snapshot, trace

import tracetime as tt

pytest_plugins = ["cli"]

TRACE = trace(
    snapshot({BOOTTIME: 1000, MONOTONIC: 500, REALTIME: 9000}, primary=BOOTTIME),
    event(700, MONOTONIC),
    event(5, 64),
    packet(seq=1, ftrace_events=ftrace([7], clock=2)),
)


def test_it_writes_a_trace_on_trace_time(tracetime, write, tmp_path):
    out = tmp_path / "out.pftrace"
    code, text, err = tracetime("bake", write(TRACE), "-o", out, "--policy", "floor")
    assert (code, err) == (0, "")
    assert "events on BOOTTIME by the floor policy" in text
    assert "1 event without a trace time: Perfetto leaves them out" in text
    assert "1 item without a trace time set aside" in text
    with tt.open_trace(out) as baked:
        assert baked.read_all()["trace_time"].to_pylist() == [1200, None]


def test_the_tube_is_the_default(tracetime, write, tmp_path):
    out = tmp_path / "out.pftrace"
    code, text, _ = tracetime("bake", write(TRACE), "-o", out, "--json")
    summary = json.loads(text)
    assert (code, summary["policy"], summary["bytes"]) == (0, "tube", out.stat().st_size)
    with tt.open_trace(out) as baked:
        assert baked.baked_by == "tube"


def test_the_trace_itself_is_not_written_over(tracetime, write):
    path = write(TRACE)
    code, _, err = tracetime("bake", path, "-o", path)
    assert code == 2
    assert "choose another file" in err


def test_json_and_the_trace_cannot_both_be_standard_output(tracetime, write):
    code, _, err = tracetime("bake", write(TRACE), "-o", "-", "--json")
    assert code == 2
    assert "--json writes the summary to standard output" in err


def test_what_is_no_trace_is_refused(tracetime, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text('{"something": "else"}')
    code, _, err = tracetime("bake", path, "-o", tmp_path / "out.pftrace")
    assert code == 3
    assert not (tmp_path / "out.pftrace").exists()
    assert err


def test_other_formats_become_perfetto_traces(tracetime, tmp_path):
    path, out = tmp_path / "trace.json", tmp_path / "out.pftrace"
    events = [
        {"ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "name": "a"},
        {"ph": "D", "ts": 1, "pid": 1, "tid": 1, "name": "object", "id": 1},
    ]
    path.write_text(json.dumps(events))
    code, text, err = tracetime("bake", path, "-o", out)
    assert (code, err) == (0, "")
    assert "1 event left out" in text
    with tt.open_trace(out) as baked:
        assert baked.slices().read_all()["name"].to_pylist() == ["a"]
