"""Perfetto traces, baked: trace_processor loads the slices, counters and flows of the source."""

from collections import Counter
from random import Random

import pytest
import trace_engine
from corpus import OWN
from judged import assert_same, source_slices, written_slices
from places import ROOT
from platforms import WITH_ENGINE
from random_track_events import track_events

import tracetime as tt

pytestmark = WITH_ENGINE


def bake(path, out, policy):
    with tt.open_trace(path) as trace:
        return tt.bake(trace, out, policy=policy)


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_random_traces(first, tmp_path):
    path, floor, tube = (tmp_path / name for name in ("trace", "floor", "tube"))
    for seed in range(first, first + 15):
        path.write_bytes(track_events(Random(seed)))
        bake(path, floor, "floor")
        kept = bake(path, tube, "tube").kept_in_order
        check_equal(path, floor)
        assert_same(source_slices(path), written_slices(floor))
        check_equal(path, tube, timeless)
        if not kept:
            assert_same(source_slices(path, "tube"), written_slices(tube))


def check_equal(path, out, what=lambda row: row):
    """That all that the engine says of an output is what it says of the source."""
    source, made = trace_engine.said(path), trace_engine.said(out)
    assert made.refusal == source.refusal
    assert made.threads == source.threads
    assert made.stats.items() <= source.stats.items()
    assert_same(Counter(map(what, source.slices)), Counter(map(what, made.slices)))
    assert_same(Counter(map(what, source.counters)), Counter(map(what, made.counters)))
    assert_same(arrows(source, what), arrows(made, what))


def arrows(said, what):
    return Counter(flow._replace(begin=what(flow.begin), end=what(flow.end)) for flow in said.flows)


def timeless(row):
    """A slice or a counter's value without its times: the tube has others."""
    return row._replace(ts=0, **({"dur": 0} if hasattr(row, "dur") else {}))


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_what_chromium_recorded(policy, tmp_path):
    path, out = OWN / "traces" / "chromium_small.pftrace", tmp_path / "out"
    bake(path, out, policy)
    check_equal(path, out, timeless if policy == "tube" else lambda row: row)


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_the_demo_on_several_clocks(policy, tmp_path):
    path, out = ROOT / "demo" / "demo.pftrace", tmp_path / "out"
    bake(path, out, policy)
    assert_same(source_slices(path, policy), written_slices(out))
    assert trace_engine.said(out).refusal == ""
    assert trace_engine.said(out).stats.items() <= trace_engine.said(path).stats.items()
