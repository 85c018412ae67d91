"""Traces of other formats, baked: trace_processor loads what their source says."""

import importlib
import sys
from pathlib import Path

import pytest
import trace_engine
from ctf_files import Event, Packet, Trace, simple
from json_slicing import document, event
from judged import (
    assert_same,
    assert_sound,
    flat,
    source_channels,
    source_instants,
    source_slices,
    written_counters,
    written_slices,
)
from places import ROOT
from platforms import WITH_ENGINE

import tracetime as tt
from tracetime.errors import UsageError

pytestmark = [WITH_ENGINE, pytest.mark.parametrize("policy", ["floor", "tube"])]

OWNED = Trace(
    {
        "a": [Packet([Event(5 + k, k % 2) for k in range(4)], cpu=1, own=(12, 11, "app"))],
        "b": [Packet([Event(7, 0), Event(7, 1)], own=(0, 0, "swapper"))],
    },
    own=True,
)


@pytest.fixture
def bake(tmp_path):
    def baked(path, policy):
        out = tmp_path / "baked.pftrace"
        with tt.open_trace(path) as trace:
            summary = tt.bake(trace, out, policy=policy)
        assert summary.kept_in_order == 0
        assert_sound(out)
        return out

    return baked


def samples(name):
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"fuzz.formats.{name}").samples()


def test_spans_and_their_arrows(bake, policy, tmp_path):
    path = tmp_path / "spans"
    for data in samples("spans")[::4]:
        path.write_bytes(data)
        out = bake(path, policy)
        assert_same(source_slices(path, policy), written_slices(out))
        assert arrows(out) == parents_elsewhere(path, policy)


def arrows(path):
    """What arrows join, by the ids of the spans."""
    joined = (
        (dict(flow.begin.args), dict(flow.end.args)) for flow in trace_engine.said(path).flows
    )
    return sorted((begin["debug.span_id"], end["debug.span_id"]) for begin, end in joined)


def parents_elsewhere(path, policy):
    """Parents on other tracks and spans, by their ids: of those that do not begin before them."""
    with tt.open_trace(path) as trace:
        table = trace.slices(policy).read_all()
    rows = {row["id"]: row for row in table.to_pylist()}
    pairs = ((rows[row["parent"]], row) for row in rows.values() if row["parent"] is not None)
    return sorted(
        (span_id(parent), span_id(row))
        for parent, row in pairs
        if parent["track"] != row["track"] and parent["ts"] <= row["ts"]
    )


def span_id(row):
    return row["args"].partition('"span_id":"')[2][:16]


def test_tables(bake, policy, tmp_path):
    path = tmp_path / "table"
    for data in samples("table")[::4]:
        path.write_bytes(data)
        try:
            wanted = source_slices(path, policy)
        except UsageError:
            wanted = source_instants(path, policy)
        assert_same(flat(wanted), flat(written_slices(bake(path, policy))))


@pytest.mark.parametrize("name", ["xdf", "journal", "pcapng"])
def test_instants_and_counters(name, bake, policy, tmp_path):
    path = tmp_path / "trace"
    for data in samples(name):
        path.write_bytes(data)
        check_events(path, bake(path, policy), policy)


@pytest.mark.parametrize("trace", [OWNED, simple(1, 2, 2, 9)], ids=["threads", "cpus"])
def test_ctf(trace, bake, policy, tmp_path):
    path = trace.write(tmp_path / "ctf")
    check_events(path, bake(path, policy), policy)


def check_events(path: Path, out: Path, policy):
    assert_same(source_instants(path, policy), flat(written_slices(out)))
    assert_same(source_channels(path, policy), written_counters(out))


def test_no_thread_becomes_an_argument_of_what_is_on_no_thread(bake, policy, tmp_path):
    path = tmp_path / "t.json"
    on_thread = event("X", 1, "a", dur=1)
    path.write_text(document(on_thread, event("i", 2, "b", s="g"), event("n", 3, "c", id=1)))
    assert [row.args for row in trace_engine.said(bake(path, policy)).slices] == [(), (), ()]
