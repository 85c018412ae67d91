"""Chrome's JSON beside other readers of JSON: `python -m benchmarks.chrome_json [MEGABYTES]`.

Two real traces (made ones without $TRACETIME_DATA), unpacked and repeated to MEGABYTES (1000), read
by the library and by the command. Others hold all of a file in memory: they read a tenth of it.
Each reading is a process of its own; by its CPU seconds, start included, and its greatest memory.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Table

_DATA = Path(os.environ.get("TRACETIME_DATA", "../shared/data")) / "other" / "json"
_FILES = ("hta_ns_resolution_rank-0.json.gz", "chromium_startup.json.gz")
_LEAST = 150
_MOST = 400

_EVENTS = """
import sys, tracetime
with tracetime.open_trace(sys.argv[1]) as trace:
    print(sum(batch.num_rows for batch in trace.events({policy!r}, names={names})))
"""
_OTHERS = {
    "json.load": "import sys, json; json.load(open(sys.argv[1]))",
    "orjson.loads": "import sys, orjson; orjson.loads(open(sys.argv[1], 'rb').read())",
    "pandas of json.load": "import sys, json, pandas\n"
    "pandas.DataFrame(json.load(open(sys.argv[1]))['traceEvents'])",
}


def main() -> None:
    """Print the table; exit with 1 where a bar is missed."""
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        for name in _FILES:
            _measure(table, name, Path(folder), megabytes)
    sys.exit(1 if table.missed else 0)


def _measure(table: Table, name: str, folder: Path, megabytes: int) -> None:
    whole, tenth = folder / "whole.json", folder / "tenth.json"
    for path, size in ((whole, megabytes), (tenth, megabytes // 10)):
        words = [sys.executable, "-m", "benchmarks.chrome_json", "make"]
        subprocess.run([*words, str(_DATA / name), str(path), str(size)], check=True)
    out = str(folder / "out.parquet")
    python = [sys.executable, "-c"]
    rows = {
        "events": [*python, _EVENTS.format(policy="floor", names=False), str(whole)],
        "events by the tube": [*python, _EVENTS.format(policy="tube", names=False), str(whole)],
        "events with names": [*python, _EVENTS.format(policy="floor", names=True), str(whole)],
        "convert -o": [sys.executable, "-m", "tracetime", "convert", str(whole), "-o", out],
    }
    for what, words in rows.items():
        seconds, memory = _run(words)
        rate = whole.stat().st_size / 1e6 / seconds
        table.row(
            f"{name.partition('.')[0]}, {megabytes} MB: {what}",
            f">= {_LEAST} MB/s, <= {_MOST} MB",
            f"{rate:.0f} MB/s, {memory} MB",
            rate >= _LEAST and memory <= _MOST,
        )
    for what, code in _OTHERS.items():
        try:
            seconds, memory = _run([*python, code, str(tenth)])
        except subprocess.CalledProcessError:
            continue
        rate = tenth.stat().st_size / 1e6 / seconds
        table.note(f"the same, {megabytes // 10} MB: {what}", f"{rate:.0f} MB/s, {memory} MB")


def _run(words: list[str]) -> tuple[float, int]:
    """Seconds of CPU, and the greatest memory in MB."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, words)
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def make(source: Path, out: Path, megabytes: int) -> None:
    """Write a trace of so many MB: the events of another one, again and again."""
    text = gzip.decompress(source.read_bytes()).decode() if source.exists() else _made()
    key = text.index('"traceEvents"')
    first = text.index("[", key) + 1
    _, end = json.JSONDecoder().raw_decode(text, first - 1)
    events = text[first : end - 1].strip().encode()
    with out.open("wb") as file:
        file.write(text[:first].encode())
        for n in range(max(1, (megabytes << 20) // len(events))):
            file.write(b"," * (n > 0) + events)
        file.write(text[end - 1 :].encode())


def _made() -> str:
    """A trace as of PyTorch's profiler."""
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": f"kernel {n % 100}",
            "pid": 0,
            "tid": n % 7,
            "ts": 1712195495541300.987 + 3 * n,
            "dur": 2.125,
            "args": {"External id": n, "correlation": n, "grid": [n % 64, 1, 1], "warps": 0.5},
        }
        for n in range(50_000)
    ]
    return json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": events})


if __name__ == "__main__":
    main()
