"""Chrome's JSON as trace_processor reads it, and what is baked of it: the same slices and arrows."""

import pytest
import trace_engine
from baked_events import bake_file
from json_slicing import document, event
from platforms import WITH_ENGINE

import tracetime as tt

pytestmark = WITH_ENGINE

FILES = {
    "tid 0": [
        event("X", 10, "call", dur=5, pid=9, tid=9),
        event("X", 20, "kernel", dur=5, pid=2, tid=0),
        event("s", 10, "go", id=7, pid=9, tid=9, cat="c"),
        event("f", 20, "go", id=7, pid=2, tid=0, bp="e", cat="c"),
    ],
    "bind_id": [
        event("X", 10, "a", dur=5, bind_id="0x77", flow_out=True),
        event("B", 20, "b", bind_id="0x77", flow_in=True, flow_out=True, tid=2),
        event("n", 30, "c", bind_id="0x77", flow_in=True, id=1),
    ],
    "a bind_id that is the number of a named flow": [
        *(event("X", t, f"{t}", dur=5, tid=t) for t in (10, 20, 30)),
        *(event("s", 11, "go", id=k, tid=10) for k in (5, 6)),
        event("X", 40, "in", dur=5, bind_id=1, flow_in=True, tid=40),
    ],
    "an end of the next slice": [
        event("X", 10, "first", dur=5),
        event("X", 20, "sender", dur=5),
        event("s", 21, "go", id=7),
        *(event("f", 22, "go", id=k, tid=2) for k in (7, 8)),
        event("X", 30, "receiver", dur=5, tid=2),
    ],
    "one begin, two ends, begun again": [
        *(event("X", t, f"{t}", dur=5, tid=t) for t in (10, 20, 30, 40)),
        *(event("s", t + 1, "go", id="0x7", tid=t) for t in (10, 30)),
        *(event("f", t + 1, "go", id=7, tid=t, bp="e") for t in (20, 40)),
    ],
    "ends of outer slices": [
        event("B", 10, "A", cat="x"),
        event("B", 12, "B", cat="x"),
        event("B", 13, "A", cat="y"),
        event("E", 20, "A", cat="x", args={"q": 1}),
        event("X", 10, "outer", dur=10, tid=2),
        event("B", 12, "lost", tid=2),
    ],
    "ids of two kinds": [
        event("b", 10, "c", id2={"global": 2}),
        event("b", 12, "f", id=2),
        event("e", 20, "c", id=2),
        event("b", 10, "l", id2={"local": 2}),
    ],
    "counters": [
        event("C", 10, "mem", args={"value": 3, "text": "x", "number": "5.5", "": 1, "list": [1]}),
        event("C", 10, "ided", id="x", args={"a": 3}),
        event("C", 10, "noid", id=7, tid=None, args={"v": 1}),
        event("C", 10, None, pid=None, tid=None, args={"v": 1}),
    ],
}


def said(path):
    """Slices, arrows and counters, without what a track event cannot say."""

    def plain(one):
        args = [(key.replace("debug.", "args."), value) for key, value in one.args]
        kept = tuple((key, value) for key, value in args if key.startswith("args."))
        return one._replace(args=kept, track_name=None)

    return (
        sorted(map(repr, map(plain, trace_engine.slices(path)))),
        sorted(
            repr(one._replace(begin=plain(one.begin), end=plain(one.end)))
            for one in trace_engine.flows(path)
        ),
        list(map(repr, trace_engine.counters(path))),
    )


@pytest.mark.parametrize("name", FILES)
def test_what_is_baked_is_what_the_engine_makes_of_the_source(name, tmp_path):
    source, out = tmp_path / "t.json", tmp_path / "t.pftrace"
    source.write_text(document(*FILES[name]))
    made = bake_file(source, out)
    assert said(out) == said(source)
    assert trace_engine.stats(out) == {}
    assert made.summary.forced == 0


def test_flows_of_two_files_of_the_same_ids_stay_apart(tmp_path):
    """The files are of one clock, and no arrow leads from one to the other."""
    paths = [tmp_path / f"{name}.json" for name in "ab"]
    for path in paths:
        path.write_text(
            document(
                *(event("X", t, f"{path.stem}{t}", dur=5, tid=t) for t in (10, 20)),
                event("X", 30, f"{path.stem}30", dur=5, tid=30, bind_id=7, flow_in=True),
                event("X", 5, f"{path.stem}5", dur=2, tid=5, bind_id=7, flow_out=True),
                event("s", 11, "go", id=7, tid=10),
                event("f", 21, "go", id=7, tid=20, bp="e"),
            )
        )
    out = tmp_path / "both.pftrace"
    tie = f"{paths[0]}:org.chromium.trace={paths[1]}:org.chromium.trace+1us+-1us"
    report = tt.merge(paths, out, sync=[tie])
    assert report.is_tied
    assert trace_engine.stats(out) == {}
    assert {(one.begin.name, one.end.name) for one in trace_engine.flows(out)} == {
        (f"{name}{begin}", f"{name}{end}") for name in "ab" for begin, end in ((10, 20), (5, 30))
    }
