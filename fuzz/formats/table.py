"""Tables of events and of snapshots, as Parquet, Arrow and CSV, some of them compressed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

_ROWS = 200


def samples() -> list[bytes]:
    random = Random(1)
    return [write(table) for table in _tables(random) for write in _WRITERS]


def mutate(random: Random, data: bytes) -> bytes:
    """Exchange a text of CSV, or a number of a file's own facts, which are at its end."""
    if data[:4] in (b"PAR1", b"ARRO"):
        at = random.randrange(len(data) // 2, len(data))
        return data[:at] + random.randbytes(random.choice((1, 4, 8))) + data[at + 1 :]
    cells = data.split(b",")
    for _ in range(random.randint(1, 4)):
        cells[random.randrange(len(cells))] = random.choice(_CELLS)
    return b",".join(cells)


_CELLS = (
    *(b"", b"0", b"-1", b"1e308", b"9223372036854775808", b"18446744073709551616", b"64", b"NaN"),
    *(b"MONOTONIC", b"com.example.a", b'"', b"\n", b"\xff", b"6@machine9", b"clock", b"timestamp"),
    *(
        b"2023-11-14T22:13:20.5",
        b"snapshot",
        b"half_width_ns",
        b"value",
        b"a:BOOTTIME",
        b"0" * 5000,
    ),
)


def _tables(random: Random) -> list[pa.Table]:
    at = [random.randrange(10**9) + n * 10**9 for n in range(_ROWS)]
    clocks = [random.choice(("BOOTTIME", "MONOTONIC", "com.example.gpu", None)) for _ in at]
    names = pa.array([random.choice(("sent", "received", None)) for _ in at])
    numbers = [random.choice((3, 6, 64, 0x93259A8E)) for _ in at]
    statuses = [random.choice(("resolved", "no_path", "as_is")) for _ in at]
    return [
        pa.table({"clock": clocks, "timestamp": at, "name": names.dictionary_encode()}),
        pa.table(
            {
                "packet": range(_ROWS),
                "kind": ["packet"] * _ROWS,
                "clock": numbers,
                "machine": [n % 2 for n in range(_ROWS)],
                "sequence": [7] * _ROWS,
                "timestamp": at,
                "trace_time": [one + 5 for one in at],
                "status": statuses,
                "type": ["instant"] * _ROWS,
                "value": [n / 3 for n in range(_ROWS)],
                "args": ['{"a": 1}'] * _ROWS,
            }
        ),
        pa.table(
            {
                "begin:MONOTONIC": pa.array(at, pa.timestamp("ns")),
                "end:MONOTONIC": pa.array([one + 7 for one in at], pa.timestamp("ns")),
                "name": names,
                "tid": [n % 3 for n in range(_ROWS)],
            }
        ),
        pa.table(
            {
                "monotonic_ns": at,
                "boottime_ns": [one + 3 for one in at],
                "com.example.gpu_ticks": [one // 7 for one in at],
                "half_width_ns": [9] * _ROWS,
            }
        ),
        pa.table(
            {
                "snapshot": [n // 2 for n in range(_ROWS)],
                "clock": [3, 6] * (_ROWS // 2),
                "value": at,
                "half_width_ns": [None, 40] * (_ROWS // 2),
            }
        ),
    ]


def _written(write: Callable[[Any], None]) -> bytes:
    into = io.BytesIO()
    write(into)
    return into.getvalue()


def _arrow(table: pa.Table, new: Any, **options: Any) -> bytes:
    into = io.BytesIO()
    with new(into, table.schema, **options) as writer:
        writer.write_table(table, 64)
    return into.getvalue()


def _csv(table: pa.Table) -> bytes:
    return _written(lambda into: pa.csv.write_csv(table, into))


_WRITERS: tuple[Callable[[pa.Table], bytes], ...] = (
    lambda table: _written(lambda into: pq.write_table(table, into, row_group_size=64)),
    lambda table: _written(
        lambda into: pq.write_table(table, into, compression="none", use_dictionary=False)
    ),
    lambda table: _arrow(table, pa.ipc.new_file),
    lambda table: _arrow(table, pa.ipc.new_stream),
    lambda table: _arrow(table, pa.ipc.new_file, options=pa.ipc.IpcWriteOptions(compression="lz4")),
    _csv,
    lambda table: gzip.compress(_csv(table)),
)
