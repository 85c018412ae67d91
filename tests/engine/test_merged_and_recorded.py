"""What `merge` and `record` write: trace_processor loads what the sources say."""

from collections import Counter
from functools import partial
from random import Random

import numpy as np
import trace_engine
from json_slicing import document, event
from judged import assert_same, assert_sound, source_slices, written_slices
from live import Live
from merge_worlds import kineto_ranks
from platforms import WITH_ENGINE
from random_track_events import track_events

import tracetime as tt
from tracetime.merging.merged_traces import MergedTraces

pytestmark = WITH_ENGINE

S = 10**9


def by_name(rows, placed=lambda times: times):
    """Slices at the times at which they are placed, without the numbers of threads and tracks."""
    rows = [*rows.elements()]
    begins = placed([row.ts for row in rows])
    ends = placed([row.ts + row.dur for row in rows])
    return Counter(
        (
            row.name,
            row.category,
            begin,
            row.dur if row.dur < 0 else end - begin,
            row.depth,
            row.thread_name,
            row.process_name,
            row.args,
        )
        for row, begin, end in zip(rows, begins, ends, strict=True)
    )


def on_timeline(joined, clocks, times):
    """Times of a file's clock on that of the first one."""
    return joined.clocks.convert(np.array(times), *clocks, policy="tube").tolist()


def check(paths, out, **options):
    """Merge files. Compare what comes of it with the sources, on the clock of the first one."""
    report = tt.merge(paths, out, **options)
    assert report.is_tied
    assert_sound(out)
    wanted = Counter()
    with MergedTraces(paths, **options) as joined:
        for number, path in enumerate(paths):
            clocks = joined.home(number), joined.timeline
            wanted += by_name(source_slices(path), partial(on_timeline, joined, clocks))
    assert_same(wanted, by_name(written_slices(out)))


def arrows(path):
    """What arrows join, by names."""
    found = trace_engine.said(path).flows
    return Counter((one.begin.name, one.end.name, one.name, one.category) for one in found)


def test_perfetto_with_chrome_json(tmp_path):
    one, other, out = tmp_path / "a.pftrace", tmp_path / "b.json", tmp_path / "out.pftrace"
    one.write_bytes(track_events(Random(1)))
    sent = event("X", 10, "sent", dur=9), event("s", 12, "go", id=1, cat="c")
    got = event("X", 30, "got", dur=9, tid=2), event("f", 31, "go", id=1, cat="c", tid=2, bp="e")
    other.write_text(document(*sent, *got, event("C", 5, "mem", args={"value": 3})))
    check([one, other], out, sync=["a.pftrace:BOOTTIME=b.json:org.chromium.trace+100s+-1us"])
    assert arrows(out) == arrows(one) + arrows(other)
    assert arrows(other)
    names = [
        Counter(row.name for row in trace_engine.said(path).counters) for path in (out, one, other)
    ]
    assert names[0] == names[1] + names[2]


def test_two_perfetto_traces_of_the_same_ids(tmp_path):
    paths, out = [tmp_path / "a.pftrace", tmp_path / "b.pftrace"], tmp_path / "out.pftrace"
    for seed, path in enumerate(paths):
        path.write_bytes(track_events(Random(seed)))
    check(paths, out, sync=["a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+1s+-1us"])
    assert arrows(out) == arrows(paths[0]) + arrows(paths[1])
    counts = [len(trace_engine.said(path).counters) for path in (out, *paths)]
    assert counts[0] == sum(counts[1:])


def test_two_ranks(tmp_path):
    """Their clocks drift, and with them how long a slice lasts."""
    paths = kineto_ranks(tmp_path, 0, ranks=2).paths
    check(paths, tmp_path / "out.pftrace")


def test_a_recording(tmp_path):
    path = tmp_path / "out.pftrace"
    with tt.record(path, interval=None, sampler=Live()) as rec:
        with rec.span("load", category="io", rows=3):
            rec.instant("sent", category=("net", "slow"), flow=7, to="host")
        rec.counter("level", 5)
        rec.instant("got", end_flow=7)
    assert_sound(path)
    assert_same(source_slices(path), written_slices(path))
    said = trace_engine.said(path)
    assert [(one.begin.name, one.end.name) for one in said.flows] == [("sent", "got")]
    assert [(one.value, one.name) for one in said.counters] == [(5, "level")]
    assert {row.name for row in said.slices} == {"load", "sent", "got"}
