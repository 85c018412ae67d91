"""Tables beside what one would do with them otherwise: `python -m benchmarks.tables [ROWS]`.

A Parquet file of ROWS (10^8 by default; 5 bytes each) by the command, beside a copy of the file by
pyarrow, batch by batch; in memory, `convert_table` beside `ClockGraph.convert` of the same array.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.table import Table
from tracetime import ClockGraph, convert_table
from tracetime.graph.arguments import PolicyName

_AT_ONCE = 1_000_000
_IN_MEMORY = 20_000_000
_STEP_NS = 20_000
_COPY = """
import sys, pyarrow.parquet as pq

file = pq.ParquetFile(sys.argv[1], pre_buffer=False)
with pq.ParquetWriter(sys.argv[2], file.schema_arrow, compression="zstd") as out:
    for batch in file.iter_batches(131072):
        out.write_batch(batch)
"""


def main() -> None:
    """Print the table; exit with 1 where a bar is missed."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000
    table = Table()
    # First: a process starts with the memory of this one, and that counts as its own.
    with tempfile.TemporaryDirectory() as folder:
        _of_a_file(table, Path(folder), rows)
    _in_memory(table)
    sys.exit(1 if table.missed else 0)


def _graph(seconds: int) -> ClockGraph:
    """A snapshot a second of a clock that gains 3 ns in each."""
    graph, n = ClockGraph("BOOTTIME"), np.arange(seconds)
    ns = n * 10**9
    graph.add_snapshot({"BOOTTIME": ns, "MONOTONIC": ns + 5000 + n * 3})
    return graph


def _times(rows: int, seed: int = 1) -> npt.NDArray[np.int64]:
    return np.cumsum(np.random.default_rng(seed).integers(1, _STEP_NS, rows))


def _in_memory(table: Table) -> None:
    times = _times(_IN_MEMORY)
    graph, frame = _graph(int(times[-1] // 10**9) + 2), pa.table({"ts": times})
    policies: tuple[PolicyName, ...] = ("floor", "tube")
    for policy in policies:
        alone, whole = [], []
        for _ in range(3):
            started = time.perf_counter()
            graph.convert(times, "MONOTONIC", "BOOTTIME", policy=policy)
            between = time.perf_counter()
            convert_table(frame, graph, {"ts": "MONOTONIC"}, policy=policy)
            alone.append(between - started)
            whole.append(time.perf_counter() - between)
        rate = times.nbytes / 1e6 / min(whole)
        table.row(
            f"convert_table of {_IN_MEMORY:,} int64, {policy}",
            ">= 500 MB/s" if policy == "floor" else "",
            f"{rate:.0f} MB/s, {min(whole) / min(alone):.2f} times ClockGraph.convert",
            policy != "floor" or rate >= 500,
        )


def _of_a_file(table: Table, folder: Path, rows: int) -> None:
    given, graph, out = folder / "in.parquet", folder / "graph.ttg", folder / "out.parquet"
    schema, at = pa.schema([("ts", pa.int64())]), 0
    with pq.ParquetWriter(
        given, schema, use_dictionary=False, column_encoding={"ts": "DELTA_BINARY_PACKED"}
    ) as file:
        for first in range(0, rows, _AT_ONCE):
            times = at + _times(min(_AT_ONCE, rows - first), first)
            at = int(times[-1])
            file.write_table(pa.table({"ts": times}, schema=schema))
    _graph(at // 10**9 + 2).save(graph)
    copied = _run([sys.executable, "-c", _COPY, str(given), str(out)])
    words = [sys.executable, "-m", "tracetime", "convert", str(given), "-o", str(out)]
    mapped = ["--map", "ts:MONOTONIC", "--graph", str(graph), "--policy"]
    for policy in ("floor", "tube"):
        seconds, megabytes = _run([*words, *mapped, policy])
        table.row(
            f"convert --map of {rows:,} rows, {policy}",
            "<= 400 MB",
            f"{seconds:.1f} s, {megabytes} MB; a copy {copied[0]:.1f} s, {copied[1]} MB",
            megabytes <= 400,
        )


def _run(words: list[str]) -> tuple[float, int]:
    """Seconds of CPU, and the greatest memory in MB."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, words
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


if __name__ == "__main__":
    main()
