"""Fleets for `benchmarks.fleet`: traces made of real ones, runs that are watched, their parts."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
CORPUS: Final = ROOT / "tests" / "data" / "traces"
_DATA: Final = Path(os.environ.get("TRACETIME_DATA", ROOT.parent / "shared" / "data")) / "traces"
_REAL_BYTES: Final = range(200_000, 3_000_000)
_PACKET: Final = b"\x0a"
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_EVERY_S: Final = 0.2

# Ray starts before the clock does; the pool starts its processes while it runs.
_RUN: Final = """
import json, sys
from tracetime import fleet
engine, traces, out, workers = sys.argv[1:]
address = None
if engine == "ray":
    import ray
    address = "local"
    ray.init(address, num_cpus=int(workers), include_dashboard=False, log_to_driver=False,
             object_store_memory=100 << 20, _memory=int(workers) * fleet.MEMORY)
summary = fleet.convert(traces, out, address=address, workers=int(workers))
print(json.dumps([summary.seconds, summary.rejected]))
"""


class Run(NamedTuple):
    """What a run took: seconds, those of all its CPUs, and MB of its largest processes."""

    seconds: float
    cpu_s: float
    driver_mb: float
    worker_mb: float


def real_seeds() -> list[bytes]:
    """Real traces of 0.2 to 3 MB, if they are there; else those of the tests."""
    paths = [path for path in sorted(_DATA.glob("*trace")) if path.stat().st_size in _REAL_BYTES]
    # A compressed one takes no further packet.
    found = [data for data in (path.read_bytes() for path in paths) if data[:1] == _PACKET]
    if not found:
        print(f"no real traces in {_DATA}: those of the tests are repeated")
    return found or [seed * 200 for seed in small_seeds()]


def small_seeds() -> list[bytes]:
    """The made traces of the tests, some kB each."""
    return [path.read_bytes() for path in sorted(CORPUS.glob("random_*.pftrace"))]


def make_traces(
    folder: Path, count: int, seeds: list[bytes], corrupt: frozenset[int] = frozenset()
) -> int:
    """Write so many traces, each of a seed and a packet of its own; return the bytes of all."""
    folder.mkdir()
    size = 0
    for n in range(count):
        # TracePacket.for_testing.str: it has no time, and no other trace has the same.
        own = f"trace {n}".encode()
        inner = b"\xa2\x38" + bytes([len(own) + 2]) + b"\x0a" + bytes([len(own)]) + own
        data = b"\x0a" + bytes([len(inner)]) + inner + seeds[n % len(seeds)]
        if n in corrupt:
            data = data[:-3]
        (folder / f"{n:05}.pftrace").write_bytes(data)
        size += len(data)
    return size


def first_traces(folder: Path, traces: Path, count: int) -> Path:
    """The first of the traces, in a folder of links."""
    folder.mkdir()
    for path in sorted(traces.iterdir())[:count]:
        (folder / path.name).hardlink_to(path)
    return folder


def watched(engine: str, traces: Path, out: Path, workers: int) -> Run:
    """Convert traces in a process of its own, by "pool" or "ray", and watch all its processes."""
    words = [sys.executable, "-c", _RUN, engine, str(traces), str(out), str(workers)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    peaks: dict[int, tuple[float, float]] = {}
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(child.pid, peaks, done))
    watcher.start()
    try:
        told, _ = child.communicate()
    finally:
        done.set()
        watcher.join()
    if child.returncode:
        sys.exit(f"a run with {engine} ended with {child.returncode}")
    seconds, rejected = json.loads(told.splitlines()[-1])
    if rejected:
        sys.exit(f"{rejected} traces were rejected")
    driver = peaks.pop(child.pid)
    largest = max(mb for mb, _ in peaks.values())
    cpu_s = driver[1] + sum(cpu for _, cpu in peaks.values())
    return Run(seconds, cpu_s, driver[0], largest)


def _watch(root: int, peaks: dict[int, tuple[float, float]], done: threading.Event) -> None:
    """Keep the peak in MB, and the seconds of CPU, of a process and all below it."""
    while not done.wait(_EVERY_S):
        for process in (root, *descendants_of(root)):
            try:
                status = Path(f"/proc/{process}/status").read_text()
                times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            peak_kb = next((line for line in status.splitlines() if line[:6] == "VmHWM:"), "")
            if peak_kb:
                cpu_s = (int(times[11]) + int(times[12])) / _TICKS
                peaks[process] = float(peak_kb.split()[1]) / 1e3, cpu_s


def descendants_of(process: int) -> list[int]:
    """The processes that a process has started, those that these have, and so on."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*"):
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return [one for child in found for one in (child, *descendants_of(child))]


def parts_of(out: Path) -> dict[str, str]:
    """The hash of each part: equal bytes are equal rows and schemas."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (out / "events").iterdir()
    }
