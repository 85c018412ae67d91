"""Traces of other formats, baked: Perfetto's rule makes the same slices and events of them."""

from __future__ import annotations

import importlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from baked_events import bake_file, packets_of, slices_of
from baked_traces import placed_by_twin, rows_by
from corpus import DATA, NO_DATA
from hypothesis import given
from hypothesis import strategies as st
from json_slicing import document, event
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Proto
from places import ROOT
from reading import opened
from span_files import otlp, resource_spans, simulated_world, span
from xdf_files import two_streams

import tracetime as tt
from tracetime._kernels.event_baking import Details, EventPackets, Texts
from tracetime.errors import TraceError, UsageError
from tracetime.trace.slices_table import SLICES_SCHEMA
from tracetime.verbs.event_baking.slices import parents_first
from tracetime.verbs.event_baking.tracks import OutputNumbers
from tracetime.verbs.event_baking.writing import write_events

FORMATS = ("chrome_json", "spans", "table", "xdf", "journal", "pcapng")
REAL = sorted((DATA / "other" / "json").glob("*"))


@pytest.fixture
def bake(tmp_path):
    def baked(content, policy="floor"):
        path = tmp_path / "trace"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return bake_file(path, tmp_path / "baked.pftrace", policy)

    return baked


def samples(name):
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"fuzz.formats.{name}").samples()


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("name", FORMATS)
def test_slices_of_every_sample_are_those_of_its_source(name, policy, tmp_path):
    checked = 0
    for data in samples(name):
        path = tmp_path / "trace"
        path.write_bytes(data)
        try:
            baked = bake_file(path, tmp_path / "out", policy)
        except (TraceError, UsageError):
            continue
        checked += 1
        packets_of(baked.data)
        assert placed_by_twin(baked.data) == rows_by(baked.data, "floor")
        if not baked.summary.left_out and not baked.summary.kept_in_order:
            try:
                expected = slices_of(path, policy)
            except UsageError:
                continue
            assert baked.slices == expected
    assert checked


@pytest.mark.skipif(not REAL, reason=NO_DATA)
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name.split(".")[0])
def test_slices_of_real_files_are_those_of_their_source(path, tmp_path):
    baked = bake_file(path, tmp_path / "out")
    assert baked.slices == slices_of(path)
    packets_of(baked.data)


class TestSlices:
    def test_a_begin_and_an_end_each_with_its_details(self, bake):
        made = bake(
            document(
                event("M", 0, "process_name", args={"name": "app"}),
                event("M", 0, "thread_name", args={"name": "main"}),
                event("X", 1000, "outer", dur=500, cat="a,b", args={"n": 1, "deep": {"x": [1]}}),
                event("X", 1100, "inner", dur=0),
                event("i", 1200, "now", s="t"),
            )
        )
        assert made.slices == [
            ("inner", 1_100_000, 0, 1, "main", "app", None, None),
            ("now", 1_200_000, 0, 1, "main", "app", None, None),
            ("outer", 1_000_000, 500_000, 0, "main", "app", "a,b", '{"deep": {"x": [1]}, "n": 1}'),
        ]
        thread = next(p for p in packets_of(made.data) if p.track_descriptor.HasField("thread"))
        assert (thread.track_descriptor.thread.pid, thread.track_descriptor.thread.tid) == (1, 1)

    @pytest.mark.parametrize(
        "value",
        [0, -1, 2**63 - 1, -(2**63), 2**64, 1.5, 1e300, True, False, None, "", "\u00fc\n\\"],
    )
    def test_arguments_keep_their_values(self, bake, value):
        made = bake(document(event("X", 1, "a", dur=1, args={"v": value})))
        assert json.loads(made.slices[0][-1]) == {"v": value}

    def test_a_child_that_the_file_has_before_its_parent_lies_in_it(self, bake):
        begin = 1_700_000_000 * 10**9
        spans = [span(2, begin, begin + 5, parent=1), span(1, begin, begin + 9)]
        made = bake(otlp(resource_spans(spans)))
        assert [one[:4] for one in made.slices] == [
            ("span 1", begin, 9, 0),
            ("span 2", begin, 5, 1),
        ]

    @pytest.mark.parametrize("policy", ["floor", "tube"])
    @pytest.mark.parametrize("above", [1, 2])
    def test_a_child_that_is_over_before_its_parent_keeps_its_times(self, bake, above, policy):
        begin = 1_700_000_000 * 10**9
        spans = [
            span(1, begin + 5000, begin + 9000),
            span(2, begin, begin + 2000, parent=1),
            span(3, begin + 3000, begin + 3500, parent=above),
        ]
        made = bake(otlp(resource_spans(spans, service_name="s", host_id="a")), policy)
        assert [one[:4] for one in made.slices] == [
            ("span 1", begin + 5000, 4000, 0),
            ("span 2", begin, 2000, 0),
            ("span 3", begin + 3000, 500, 0),
        ]

    @given(
        st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(0, 9)), max_size=9),
        st.sampled_from(["floor", "tube"]),
    )
    def test_spans_keep_their_times_whatever_their_parents(self, spans, policy):
        begin = 1_700_000_000 * 10**9
        made = [
            span(k, begin + at, begin + at + dur, parent=parent)
            for k, (at, dur, parent) in enumerate(spans, 1)
        ]
        data = otlp(resource_spans(made, service_name="s", host_id="a"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace")
            path.write_bytes(data)
            assert bake_file(path, Path(folder, "out"), policy).slices == slices_of(path, policy)

    @pytest.mark.parametrize("other", ["", "b"])
    def test_a_name_that_is_empty_is_one_whatever_others_are_called(self, bake, other):
        begin = 1_700_000_000 * 10**9
        spans = [span(k, begin + k, begin + k, name=name) for k, name in ((1, ""), (2, other))]
        made = bake(otlp(resource_spans(spans)))
        assert [one[0] for one in made.slices] == ["", other]

    def test_what_does_not_end_stays_open(self, bake):
        made = bake(document(event("B", 1, "a"), event("X", 2, "b", dur=1)))
        assert [one[:4] for one in made.slices] == [("a", 1000, -1, 0), ("b", 2000, 1000, 1)]

    def test_neighbours_that_touch_do_not_nest(self, bake):
        made = bake(document(*(event("X", at, str(at), dur=10) for at in (0, 10, 20))))
        assert [one[3] for one in made.slices] == [0, 0, 0]

    def test_what_crosses_others_of_its_thread_is_on_a_track_beside_it(self, bake, tmp_path):
        made = bake(document(event("X", 1, "a", dur=10), event("X", 5, "b", dur=10)))
        assert made.slices == slices_of(tmp_path / "trace")
        assert [one[1:4] for one in made.slices] == [(1000, 10_000, 0), (5000, 10_000, 0)]

    def test_thread_0_of_a_process_is_not_the_idle_one(self, bake):
        name = event("M", 0, "process_name", pid=0, tid=0, args={"name": "app"})
        made = bake(document(name, event("X", 1, "a", dur=1, pid=0, tid=0)))
        assert [one[4:6] for one in made.slices] == [(None, "app")]

    def test_by_the_tube_what_holds_others_comes_first(self):
        rows = {"ts": [5, 10, 20], "dur": [1, 20, 1], "depth": [1, 0, 1], "parent": [1, None, 1]}
        rows["track"] = [0, 0, 0]
        table = pa.table(rows, pa.schema([SLICES_SCHEMA.field(name) for name in rows]))
        made, outer, _ = parents_first(table)
        assert made["ts"].to_pylist() == [10, 5, 20]
        assert made["parent"].to_pylist() == [None, 0, 0]
        assert outer.tolist() == [-1, 0, 0]

    def test_a_thread_without_a_number_is_not_the_idle_one(self, bake):
        made = bake(document(event("X", 1, "a", dur=1, tid="stream"), event("X", 1, "b", dur=1)))
        assert {one[4] for one in made.slices} == {"stream", None}


class TestCounters:
    def counters(self, made):
        rows = made.events("counter")
        return sorted((row["track_name"], row["value"]) for row in rows)

    def test_each_number_is_a_counter_called_by_its_key_too(self, bake):
        made = bake(
            document(
                event("C", 5, "heap", args={"bytes": 3}),
                event("C", 5, "mem", args={"old": 3, "new": 4.5, "text": "x"}),
            )
        )
        assert self.counters(made) == [("heap bytes", 3.0), ("mem new", 4.5), ("mem old", 3.0)]
        assert made.summary.left_out_by == {"counter_without_number": 1}

    def test_a_text_that_is_a_number_is_one_and_an_array_is_none(self, bake):
        made = bake(document(event("C", 5, "heap", args={"a": "5.5", "b": [1], "": 2})))
        assert self.counters(made) == [("heap ", 2.0), ("heap a", 5.5)]

    def test_an_id_that_is_a_text_is_in_the_name(self, bake):
        made = bake(
            document(*(event("C", 5, "heap", id=one, args={"a": 1}) for one in ("x", "y", 7)))
        )
        assert [name for name, _ in self.counters(made)] == [
            "heap a",
            "heap id: x a",
            "heap id: y a",
        ]

    def test_channels_of_streams_are_a_counter_each(self, bake):
        made = bake(two_streams().content)
        names = {row["track_name"] for row in made.events("counter")}
        assert names == {"EEG channels[0]", "EEG channels[1]"}
        assert [row["name"] for row in made.events("instant")][:2] == ["stimulus 0", "stimulus 4"]

    def test_threads_of_a_process_share_its_counters(self, bake):
        made = bake(document(*(event("C", t, "n", tid=t, args={"v": t}) for t in (1, 2))))
        assert len({row["track"] for row in made.events("counter")}) == 1
        assert {row["pid"] for row in made.events("counter")} == {1}

    def test_a_counter_without_numbers_is_counted(self, bake):
        made = bake(
            document(event("C", 5, "heap", args={"a": "x"}), event("C", 6, "heap", args={}))
        )
        assert made.summary.left_out_by == {"counter_without_number": 2}


class TestTimes:
    def test_the_date_is_written_where_the_source_has_it(self, bake):
        made = bake(otlp(*simulated_world(1).groups))
        snapshot = next(
            p.clock_snapshot for p in packets_of(made.data) if p.HasField("clock_snapshot")
        )
        assert snapshot.primary_trace_clock == 1

    def test_the_snapshot_is_at_the_first_event_not_at_a_name(self, bake):
        name = event("M", 0, "thread_name", args={"name": "main"})
        made = bake(document(name, event("X", 3_000_000_000, "a", dur=10)))
        snapshot = next(
            p.clock_snapshot for p in packets_of(made.data) if p.HasField("clock_snapshot")
        )
        assert [clock.timestamp for clock in snapshot.clocks] == [3_000_000_000_000]

    def test_realtime_is_told_of_a_clock_that_is_tied_to_it(self, bake):
        base = 1_700_000_000 * 10**9
        made = bake(
            document(
                event("X", 10, "a", dur=10),
                event("X", 30, "b", dur=10),
                schemaVersion=1,
                deviceProperties=[],
                baseTimeNanoseconds=base,
            )
        )
        with opened(made.data) as trace:
            # It answers as its source does; a reader of Perfetto traces sees packets alone.
            assert trace.clocks.name(trace.trace_clock) == "org.pytorch.kineto"
            assert "BOOTTIME" not in {str(info.clock) for info in trace.clocks.clocks()}
        packets = Proto.FromString(made.data)
        packets.DiscardUnknownFields()
        with opened(packets.SerializeToString()) as trace:
            clocks = {str(info.clock) for info in trace.clocks.clocks()}
            told = trace.clocks.convert(30_000, "BOOTTIME", "REALTIME")
        assert clocks == {"BOOTTIME", "REALTIME"}
        assert told == base + 30_000

    def test_a_clock_that_is_none_of_the_kernel_is_boottime(self, bake):
        made = bake(document(event("X", 10, "a", dur=10)))
        assert str(made.summary.trace_clock) == "BOOTTIME"

    def test_a_baked_trace_is_baked_and_has_the_bars_of_its_source(self, bake, tmp_path):
        made = bake(document(event("X", 10, "a", dur=10)), policy="tube")
        path = tmp_path / "baked.pftrace"
        with tt.open_trace(path) as trace:
            assert trace.baked_by == "tube"
            table = trace.read_all("tube")
            # The file says whole microseconds.
            assert table["earliest"].to_pylist() == [9_500, 19_000]
            assert not table["latest"].null_count
        again = tmp_path / "again.pftrace"
        bake_file(path, again)
        assert again.read_bytes() == made.data

    def test_nothing_is_before_time_0(self, tmp_path):
        table = pa.table({"ts:MONOTONIC": np.array([-5, 5]), "name": ["early", "late"]})
        pq.write_table(table, tmp_path / "t.parquet")
        made = bake_file(tmp_path / "t.parquet", tmp_path / "out")
        assert [row["name"] for row in made.events("instant")] == ["late"]
        assert (made.summary.early, made.summary.left_out) == (1, 0)

    def test_what_is_before_time_0_is_counted_once_and_as_that(self, bake):
        made = bake(
            document(
                event("X", -10, "early", dur=5),
                event("i", -9, "mark"),
                event("C", -8, "heap", args={"a": 1}),
                event("s", -9, "go", id=7),
                event("X", 10, "late", dur=5),
            )
        )
        assert (made.summary.early, made.summary.left_out) == (4, 0)

    def test_the_bytes_are_the_same_every_time(self, bake):
        source = otlp(*simulated_world(2).groups)
        assert bake(source, "tube").data == bake(source, "tube").data

    def test_what_is_read_is_not_written_over(self, tmp_path):
        path = tmp_path / "t.json"
        path.write_text(document(event("X", 1, "a", dur=1)))
        with tt.open_trace(path) as trace, pytest.raises(UsageError):
            tt.bake(trace, path)


class TestKernel:
    """Begins and ends on one track never go back, whatever the times given."""

    def slices(self, rows):
        """Names, begins and ends as they are written; rows: ts, dur, latest, end_latest, depth."""
        columns = np.array(rows, np.int64).T.copy()
        count = len(rows)
        names = Texts(
            np.arange(count, dtype=np.int32),
            np.arange(1, count + 1, dtype=np.int32),
            np.frombuffer(b"abcdefgh"[:count], np.uint8),
        )
        none = Texts(np.full(count, -1, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8))
        made = EventPackets(1, 6, 0)
        made.put_slices(
            *columns[:4],
            np.zeros(count, np.uint8),
            columns[4].astype(np.int32),
            np.zeros(count, np.int32),
            np.array([7], np.uint64),
            Details(names, none, None),
            None,
        )
        made.end_all()
        events = [(p.track_event.name or "end", p.timestamp) for p in packets_of(made.take())]
        return events, (made.kept, made.forced, made.early)

    def test_a_child_goes_to_its_parent_within_its_bar(self):
        events, counts = self.slices([(100, 50, 100, 150, 0), (90, 20, 100, 110, 1)])
        assert events == [("a", 100), ("b", 100), ("end", 110), ("end", 150)]
        assert counts == (1, 0, 0)

    def test_and_beyond_it(self):
        events, counts = self.slices([(100, 50, 100, 150, 0), (90, 5, 99, 99, 1)])
        assert events == [("a", 100), ("b", 100), ("end", 100), ("end", 150)]
        assert counts == (0, 2, 0)

    def test_a_parent_lasts_as_long_as_its_child(self):
        events, counts = self.slices([(100, 50, 100, 170, 0), (110, 50, 110, 160, 1)])
        assert events == [("a", 100), ("b", 110), ("end", 160), ("end", 160)]
        assert counts == (1, 0, 0)

    def test_what_begins_before_time_0_has_no_packet(self):
        events, counts = self.slices([(-5, 50, -5, 45, 0), (5, 9, 5, 14, 1)])
        assert events == [("b", 5), ("end", 14)]
        assert counts == (0, 0, 1)

    def test_columns_of_two_lengths_are_refused(self):
        with pytest.raises(IndexError):
            EventPackets(1, 6, 0).put_values(
                np.zeros(1, np.int64), np.zeros(2, np.uint64), np.zeros(1)
            )


def test_traces_in_one_file_keep_their_numbers_apart(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(document(event("X", 1, "a", dur=1), event("C", 1, "n", args={"v": 1})))
    file = io.BytesIO()
    places = (
        OutputNumbers(),
        OutputNumbers(sequence=2, first=1000, machine=5, clock=6, snapshot=False),
    )
    with tt.open_trace(path) as trace:
        for place in places:
            write_events(trace, file, "floor", place=place)
    packets = packets_of(file.getvalue())
    events = [p for p in packets if p.HasField("track_event")]
    assert {(p.trusted_packet_sequence_id, p.machine_id) for p in events} == {(1, 0), (2, 5)}
    uuids = [p.track_descriptor.uuid for p in packets if p.HasField("track_descriptor")]
    assert len(uuids) == len(set(uuids))
    with opened(file.getvalue()) as trace:
        assert trace.slices().read_all().num_rows == 2
