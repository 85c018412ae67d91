"""What baking many small slices costs: by counts, not by time."""

import json
import subprocess
import sys
from unittest.mock import patch

import numpy as np
import pytest
from baked_events import packets_of
from hypothesis import given
from hypothesis import strategies as st
from json_slicing import document, event
from twin.open_slices import open_inside as twin

import tracetime as tt
from tracetime._kernels.event_baking import EventPackets, open_inside
from tracetime._kernels.perfetto import packets
from tracetime.columns.arrays import texts_of as arrow_texts_of
from tracetime.formats.spans.reader import SpanBatches
from tracetime.formats.spans.resources import Wanted
from tracetime.verbs.event_baking.flows import group_rows, texts_of
from tracetime.verbs.event_baking.tracks import Tracks


def otlp(n):
    """Spans that never end, so that each has a track of its own."""
    spans = [{"spanId": f"{k + 1:x}", "events": [{}]} for k in range(n)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def jaeger(n):
    spans = [{"spanID": f"{k + 1:x}", "startTime": 1, "duration": 9} for k in range(n)]
    return json.dumps({"data": [{"spans": spans}]})


def chrome(n):
    """Asynchronous slices that cross each other."""
    return document(*(event("b", k, "a", id=k, cat="c") for k in range(n)))


@pytest.fixture
def bake(tmp_path):
    def baked(text):
        path, out = tmp_path / "t.json", tmp_path / "baked.pftrace"
        path.write_text(text)
        with tt.open_trace(path) as trace:
            tt.bake(trace, out)
        return packets_of(out.read_bytes())

    return baked


@pytest.mark.parametrize("make", [otlp, jaeger, chrome])
def test_whose_tracks_are_is_asked_once_however_many_they_are(bake, make):
    called = []
    for n in (5, 50):
        with patch.object(Tracks, "of", autospec=True, side_effect=Tracks.of) as of:
            tracks = sum(packet.HasField("track_descriptor") for packet in bake(make(n)))
        assert tracks >= n
        called.append(of.call_count)
    assert called[0] == called[1]


@pytest.mark.parametrize("make", [otlp, jaeger])
def test_names_of_spans_are_read_once_and_those_of_their_events_never(bake, make):
    whole, wanted = SpanBatches.__init__, []

    def noted(self, file, source, resources, what, most_bytes):
        wanted.append(what)
        whole(self, file, source, resources, what, most_bytes)

    with patch.object(SpanBatches, "__init__", noted):
        bake(make(3))
    assert sorted(wanted) == [Wanted.NOTHING, Wanted.NOTHING, Wanted.NAMES_AND_ARGS]


@pytest.mark.parametrize("make", [otlp, jaeger, chrome])
def test_baking_does_not_import_pandas(tmp_path, make):
    pytest.importorskip("pandas")
    path = tmp_path / "t.json"
    path.write_text(make(3))
    program = (
        "import sys, tracetime as tt\n"
        "with tt.open_trace(sys.argv[1]) as trace:\n"
        "    tt.bake(trace, sys.argv[1] + '.pftrace')\n"
        "print('pandas' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert (done.stderr, done.stdout.strip()) == ("", "False")


TRACKS = st.lists(st.tuples(st.integers(0, 3), st.text(min_size=1, max_size=5)), max_size=6)


@given(TRACKS, st.integers(0, (1 << 64) - 8), st.integers(0, (1 << 32) - 1))
def test_tracks_put_at_once_are_those_put_one_by_one(tracks, first, machine):
    parents = np.array([parent for parent, _ in tracks], np.uint64)
    made = EventPackets(1, 6, machine)
    made.put_tracks(first, parents, texts_of(arrow_texts_of([name for _, name in tracks])))
    assert made.take() == b"".join(
        packets.track_packet(0, first + k, parent, packets.CUSTOM, name, 0, 0, None, machine)
        for k, (parent, name) in enumerate(tracks)
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1)), max_size=12))
def test_rows_are_grouped_by_their_keys_as_these_occur(rows):
    keys = [np.array([row[k] for row in rows], np.int64) for k in range(2)]
    first, group = group_rows(keys)
    distinct = [*dict.fromkeys(rows)]
    assert first.tolist() == [rows.index(one) for one in distinct]
    assert group.tolist() == [distinct.index(row) for row in rows]


@st.composite
def nested(draw):
    """Slices: ts, dur, parent, name, category; some do not end, some have no name or category."""
    slices = []
    for row in range(draw(st.integers(0, 12))):
        parent = draw(st.integers(-1, row - 1))
        texts = draw(st.tuples(*[st.integers(-1, 2)] * 2))
        slices.append((row, draw(st.sampled_from([-1, -1, 5, 9])), parent, *texts))
    return slices


@given(nested())
def test_ends_of_slices_that_hold_open_ones_are_those_of_the_twin(slices):
    kinds = (np.int64, np.int64, np.int64, np.int32, np.int32)
    columns = [*zip(*slices, strict=True)] or [[]] * len(kinds)
    found = open_inside(*(np.array(c, kind) for c, kind in zip(columns, kinds, strict=True)))
    assert [one.tolist() for one in found] == [*twin(slices)]


def test_a_slice_within_one_that_comes_later_is_refused():
    ints, codes = np.zeros(1, np.int64), np.zeros(1, np.int32)
    with pytest.raises(IndexError):
        open_inside(ints, ints, ints, codes, codes)
    with pytest.raises(IndexError):
        open_inside(ints, ints[:0], ints - 1, codes, codes)
