"""Formats of records: what a folder that only reads bytes gets from its base."""

import struct

import numpy as np
import pyarrow as pa
import pytest

from tracetime import ClockGraph, ClockId, Snapshot, TraceError, formats, open_trace
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.trace_file import Budget
from tracetime.trace.events_table import TYPES, Kind

MAGIC = b"RECORDS\n"
MONOTONIC, REALTIME = ClockId(3), ClockId(1)
RECORD = struct.Struct("<Iq")


class Numbers(RecordTrace):
    """Records of a clock and a timestamp, 12 bytes each; clock 0 begins a pair of readings."""

    KINDS = (Kind("number"),)

    def _read_clocks(self):
        graph = ClockGraph(MONOTONIC)
        rows = [row for batch in self._until_damage(self._batches()) for row in batch]
        for (clock, first), (_, second) in zip(rows, rows[1:], strict=False):
            if clock == 0:
                graph.add_snapshot(Snapshot({MONOTONIC: first, REALTIME: second}))
        return FileClocks(graph, MONOTONIC, [0])

    def _read_records(self, names):
        number = 0
        for batch in self._batches():
            which = [n for n, (clock, _) in enumerate(batch) if clock]
            columns = {
                "packet": np.array([number + n for n in which], np.uint64),
                "offset": np.array([8 + 12 * (number + n) for n in which], np.uint64),
                "clock": np.array([batch[n][0] for n in which], np.uint32),
                "timestamp": np.array([batch[n][1] for n in which], np.int64),
            }
            number += len(batch)
            yield Records(columns, self._named(columns) if names else {}, 8 + 12 * number)

    def _named(self, columns):
        odd = columns["timestamp"] % 2 == 1
        texts = [
            f"n{one}" if is_odd else None
            for one, is_odd in zip(columns["packet"], odd, strict=True)
        ]
        return {
            "name": pa.array(texts, pa.string()),
            "category": pa.array(["c"] * len(odd)).dictionary_encode(),
            "type": pa.array([TYPES.index("instant") if one else None for one in odd], pa.int8()),
            "value": pa.array([0.5 if one else None for one in odd], pa.float64()),
            "tid": pa.array([7] * len(odd), pa.int64()),
            "args": pa.array([None, *['{"a":1}'] * (len(odd) - 1)], pa.string()),
        }

    def _batches(self):
        pieces = self._file.chunks(Budget(self.options.max_expansion))
        content = b"".join(piece for piece, _ in pieces)[len(MAGIC) :]
        whole = len(content) // 12 * 12
        yield list(RECORD.iter_unpack(content[: whole // 24 * 12]))
        yield list(RECORD.iter_unpack(content[whole // 24 * 12 : whole]))
        if whole < len(content):
            raise TraceError("a record is cut off", len(MAGIC) + whole)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS])
    formats.register_format(lambda beginning: beginning.startswith(MAGIC), Numbers)

    def write(rows, more=b"", **options):
        path = tmp_path / "n.bin"
        path.write_bytes(MAGIC + b"".join(RECORD.pack(*row) for row in rows) + more)
        return open_trace(path, **options)

    return write


ROWS = [(0, 1000), (1, 5000), (1, 5007), (3, 1008), (6, 1), (3, 2)]


def test_records_are_placed_with_every_snapshot(opened):
    with opened(ROWS) as trace:
        rows = trace.read_all().to_pylist()
        assert [row["trace_time"] for row in rows] == [1000, 1007, 1008, None, 2]
        assert [row["status"] for row in rows][3] == "unknown_source_clock"
        assert [row["packet"] for row in rows] == [1, 2, 3, 4, 5]
        assert [row["offset"] for row in rows] == [20, 32, 44, 56, 68]
        assert {row["kind"] for row in rows} == {"number"}
        assert trace.read_all("tube")["status"].to_pylist()[:3] == ["resolved"] * 3


def test_names_are_columns_of_arrow(opened):
    with opened(ROWS) as trace:
        table = trace.read_all(names=True)
    assert table["name"].to_pylist() == [None, "n2", None, "n4", None]
    assert table["category"].to_pylist() == ["c"] * 5
    assert table["type"].to_pylist() == [None, "instant", None, "instant", None]
    assert table["value"].to_pylist() == [None, 0.5, None, 0.5, None]
    assert table["tid"].to_pylist() == [7] * 5
    assert table["args"].to_pylist() == [None, '{"a":1}', None, '{"a":1}', '{"a":1}']
    assert table["track_name"].null_count == table["cpu"].null_count == 5


def test_a_damaged_file_is_an_error(opened):
    with opened(ROWS, b"cut") as trace:
        with pytest.raises(TraceError) as raised:
            trace.read_all()
        assert raised.value.offset == 80
        with pytest.raises(TraceError):
            trace.clocks.clocks()


def test_what_comes_before_the_damage_is_kept_with_partial(opened):
    with opened(ROWS, b"cut", partial=True) as trace:
        assert trace.truncated is None
        assert trace.read_all().num_rows == 5
        assert trace.truncated.offset == 80


def test_progress_is_the_byte_reached(opened):
    reached = []
    with opened(ROWS) as trace:
        list(trace.events(progress=reached.append))
    assert reached == [44, 80]


def test_a_closed_trace_is_not_read(opened):
    trace = opened(ROWS)
    trace.close()
    with pytest.raises(Exception, match="closed"):
        trace.read_all()
