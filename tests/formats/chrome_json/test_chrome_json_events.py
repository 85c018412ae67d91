"""What rows of Chrome's JSON say: kinds, types, names, arguments, and where each is in the file."""

import gzip
import json
from decimal import Decimal

import numpy as np
import pyarrow.parquet as pq
import pytest
from corpus import DATA, NO_DATA

from tracetime import TraceError, open_trace


@pytest.fixture
def read(tmp_path):
    def of(content, **options):
        path = tmp_path / "t.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with open_trace(path, **options) as trace:
            return trace.read_all(names=True).to_pylist()

    return of


TYPES = {
    "B": "slice_begin",
    "E": "slice_end",
    "X": "slice_complete",
    "i": "instant",
    "I": "instant",
    "R": "mark",
    "b": "async_begin",
    "S": "async_begin",
    "e": "async_end",
    "F": "async_end",
    "n": "async_instant",
    "T": "async_step",
    "p": "async_step",
    "s": "flow_begin",
    "t": "flow_step",
    "f": "flow_end",
    "C": "counter",
    "M": "metadata",
    "N": "object_created",
    "O": "object_snapshot",
    "D": "object_deleted",
    "P": "sample",
    "v": "memory_dump",
    "c": "clock_sync",
    "(": "context_begin",
    ")": "context_end",
    "k": "unknown",
}


def test_phases_are_types(read):
    rows = read([{"ph": phase, "ts": 1} for phase in TYPES])
    assert [row["type"] for row in rows] == list(TYPES.values())
    assert {row["kind"] for row in rows if row["type"] != "metadata"} == {"trace_event"}


def test_metadata_events_are_of_no_time(read):
    (row,) = read([{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}}])
    assert (row["kind"], row["status"], row["clock"], row["timestamp"]) == (
        "metadata",
        "as_is",
        0,
        0,
    )


def test_names_hold_wherever_they_stand_and_the_last_one_counts(read):
    def name(what, value, **of):
        return {"ph": "M", "name": what, "args": {"name": value}, **of}

    rows = read(
        [
            {"ph": "i", "ts": 1, "pid": 1, "tid": 2},
            {"ph": "i", "ts": 1, "pid": 2, "tid": 2},
            {"ph": "i", "ts": 1, "pid": "Spans", "tid": "Profiler"},
            name("process_name", "first", pid=1),
            name("thread_name", "worker", pid=1, tid=2),
            name("process_name", "last", pid=1),
        ]
    )
    columns = ("pid", "tid", "process_name", "thread_name")
    assert [tuple(row[name] for name in columns) for row in rows[:3]] == [
        (1, 2, "last", "worker"),
        (2, 2, None, None),
        (None, None, "Spans", "Profiler"),
    ]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (rb"plain", "plain"),
        (rb"a\"\\\/\b\f\n\r\tz", 'a"\\/\b\f\n\r\tz'),
        (rb"\u00e9\u0000\ud83d\ude00", "é\0\U0001f600"),
        (rb"\ud800\udc00\udbff\udfff", "\U00010000\U0010ffff"),
        (rb"\ud83d \u12", "\ufffd \ufffd12"),
        (b"\xc3\xa9 \xff\xfe", "é \ufffd\ufffd"),
    ],
)
def test_strings_are_unescaped_and_made_valid(read, raw, name):
    (row,) = read(b'[{"ph":"i","ts":1,"name":"' + raw + b'","cat":"' + raw + b'"}]')
    assert (row["name"], row["category"]) == (name, name)


@pytest.mark.parametrize(
    ("raw", "args"),
    [
        (b'{ "a": [1, {"b": "]}"}]}', '{ "a": [1, {"b": "]}"}]}'),
        (b'{"a":"basic\\u0000"}', '{"a":"basic\\u0000"}'),
        (b"{}", None),
        (b"null", None),
        (b'{"a":NaN}', json.dumps('{"a":NaN}')),
        (b'{"a":"\xff"}', json.dumps('{"a":"\ufffd"}', ensure_ascii=False)),
    ],
)
def test_args_are_the_text_of_the_file_or_a_string_where_that_is_no_json(read, raw, args):
    (row,) = read(b'[{"ph":"i","ts":1,"args":' + raw + b"}]")
    assert row["args"] == args


def test_a_counter_has_a_value_where_it_has_one_number(read):
    rows = read(
        [
            {"ph": "C", "ts": 1, "args": {"value": -2.5}},
            {"ph": "C", "ts": 1, "args": {"a": 1, "b": 2}},
            {"ph": "C", "ts": 1, "args": {"a": "x"}},
            {"ph": "i", "ts": 1, "args": {"a": 1}},
        ]
    )
    assert [row["value"] for row in rows] == [-2.5, None, None, None]


def test_ids_are_tracks(read):
    rows = read(
        [
            {"ph": "b", "ts": 1, "id": 7},
            {"ph": "b", "ts": 1, "id": "0xFFffFFffFFffFFff"},
            {"ph": "b", "ts": 1, "id2": {"local": "0x1A"}},
            {"ph": "b", "ts": 1, "id2": {"other": 1, "global": "0x1B"}},
            {"ph": "b", "ts": 1, "id": "spam"},
            {"ph": "e", "ts": 2, "id": "spam"},
            {"ph": "b", "ts": 1},
        ]
    )
    tracks = [row["track"] for row in rows]
    assert tracks[:4] == [7, (1 << 64) - 1, 0x1A, 0x1B]
    assert tracks[4] == tracks[5] not in (None, 0)
    assert tracks[6] is None


def test_packet_is_the_index_and_offset_the_byte(read):
    content = b'{"x":1, "traceEvents": [ {}, {"ph":"i","ts":1},\n{"ph":"i","ts":2}]}'
    rows = read(content)
    assert [row["packet"] for row in rows] == [1, 2]
    assert [content[row["offset"] :][:17] for row in rows] == [
        b'{"ph":"i","ts":1}',
        b'{"ph":"i","ts":2}',
    ]


def test_compressed_files_are_read_alike(read):
    content = json.dumps([{"ph": "i", "ts": 1, "name": "x" * k} for k in range(2000)]).encode()
    assert read(gzip.compress(content)) == read(content)


def test_batches_hold_so_many_rows(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"[" + b",".join([b'{"ph":"i","ts":1}'] * 150_000) + b"]")
    with open_trace(path) as trace:
        assert [batch.num_rows for batch in trace.events()] == [65536, 65536, 18928]


@pytest.mark.parametrize(
    ("content", "rows"),
    [(b'[{"ph":"i","ts":1}', 1), (b'[{"ph":"i","ts":1},\n', 1), (b'[{"ph":"i","ts":1}, {"ph"', 1)],
)
def test_an_array_may_be_cut_off(tmp_path, content, rows):
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with open_trace(path) as trace:
        assert trace.read_all().num_rows == rows
        assert (trace.truncated is not None) == content.endswith(b'{"ph"')


def test_an_object_may_not_be_cut_off(read):
    content = b'{"traceEvents":[{"ph":"i","ts":1},'
    with pytest.raises(TraceError, match="cut off") as raised:
        read(content)
    assert raised.value.offset == len(content)
    assert len(read(content, partial=True)) == 1


def test_what_is_broken_is_told_with_byte_and_event(read):
    content = b'[{"ph":"i","ts":1},{"ph":"i","ts":2]'
    with pytest.raises(TraceError, match="comma or a closing brace") as raised:
        read(content)
    assert (raised.value.offset, raised.value.packet) == (35, 1)
    assert len(read(content, partial=True)) == 1


REAL = sorted((DATA / "other" / "json").glob("*.json*"))


@pytest.mark.skipif(not REAL, reason=NO_DATA)
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files_are_read_as_a_plain_parser_reads_them(path):
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    parsed = json.loads(content, parse_float=Decimal)
    events = [
        (index, event)
        for index, event in enumerate(parsed["traceEvents"])
        if event["ph"] == "M" or "ts" in event
    ]
    with open_trace(path) as trace:
        table = trace.read_all(names=True)
    assert table["packet"].to_pylist() == [index for index, _ in events]
    exact = [Decimal(event.get("ts", 0)) * 1000 for _, event in events]
    rounded = [int(ns.quantize(Decimal(1), "ROUND_HALF_UP")) for ns in exact]
    assert table["timestamp"].to_pylist() == rounded
    every = range(0, len(events), 1 + len(events) // 5000)
    for row, (_, event) in zip(
        table.take(list(every)).to_pylist(), (events[k] for k in every), strict=True
    ):
        assert (row["name"], row["category"]) == (event.get("name"), event.get("cat"))
        assert json.loads(row["args"] or "{}", parse_float=Decimal) == event.get("args", {})
        assert content[row["offset"] : row["offset"] + 1] == b"{"


SLICES = sorted((DATA / "slices").glob("*.json*.parquet"))


@pytest.mark.skipif(not SLICES, reason=NO_DATA)
@pytest.mark.parametrize("table", SLICES, ids=lambda path: path.stem)
def test_trace_time_is_where_trace_processor_puts_slices(table):
    with open_trace(DATA / "other" / "json" / table.stem) as trace:
        placed = trace.read_all()["trace_time"].to_numpy()
    begins = pq.read_table(table)["ts"].to_numpy()
    assert len(begins) and np.isin(begins, placed).all()
