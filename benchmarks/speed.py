"""Speed and memory, compared with alternatives in the same run.

    python -m benchmarks [--large 2GB] [--json FILE]

The traces come from $TRACETIME_DATA, else ../shared/data; without them there are fewer rows.
--large makes a trace of that size (and one whose packets are all deferred to the end of the file)
in a temporary directory, and measures the memory of `tracetime convert`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import tracetime
from benchmarks.clocks import START_NS, brackets
from benchmarks.large import make, parse_size
from tracetime.formats.perfetto.schema import vocabulary
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube
from tracetime.verbs.convert import convert

DATA = Path(os.environ.get("TRACETIME_DATA", Path(__file__).parents[2] / "shared" / "data"))
TRACE = DATA / "traces" / "chromium_medium27.pftrace"
TIMESTAMPS = 10**7
SNAPSHOTS = 1000


class Row(NamedTuple):
    work: str
    measured: str
    alternative: str
    ratio: str
    bar: str
    met: bool


def best(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest of `times` runs."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took)


def compared(
    work: Callable[[], object], alternative: Callable[[], object], times: int = 5
) -> tuple[float, float]:
    """Seconds of the fastest runs of two, in turn: other work on the machine slows both."""
    took = [(best(work, 1), best(alternative, 1)) for _ in range(times)]
    return min(one for one, _ in took), min(two for _, two in took)


def floor() -> list[Row]:
    """The floor policy on arrays, against NumPy."""
    random = np.random.default_rng(1)
    source = np.arange(SNAPSHOTS) * 10**9 + 10**12
    target = source + np.cumsum(random.integers(-2000, 20000, SNAPSHOTS)) + 5 * 10**14
    graph = tracetime.ClockGraph()
    graph.add_snapshot({"MONOTONIC": source, "BOOTTIME": target})
    ordered = np.sort(random.integers(source[0], source[-1] + 10**9, TIMESTAMPS))
    shuffled = random.permutation(ordered)

    def ours(values: np.ndarray) -> np.ndarray:
        return graph.convert(values, "MONOTONIC", "BOOTTIME")

    def numpy(values: np.ndarray) -> np.ndarray:
        index = np.maximum(np.searchsorted(source, values, side="right") - 1, 0)
        return values + (target - source)[index]

    assert np.array_equal(ours(shuffled), numpy(shuffled))
    each = 1e9 / TIMESTAMPS
    copy, sorted_ours = best(ordered.copy), best(lambda: ours(ordered))
    sorted_numpy, random_ours = best(lambda: numpy(ordered), 3), best(lambda: ours(shuffled))
    random_numpy = best(lambda: numpy(shuffled), 3)
    return [
        Row(
            "floor, 10^7 sorted",
            f"{sorted_ours * each:.2f} ns",
            f"copy {copy * each:.2f} ns",
            f"{sorted_ours / copy:.2f}x",
            "<= 2x",
            sorted_ours <= 2 * copy,
        ),
        Row(
            "floor, 10^7 sorted",
            f"{sorted_ours * each:.2f} ns",
            f"NumPy {sorted_numpy * each:.1f} ns",
            f"{sorted_numpy / sorted_ours:.1f}x faster",
            ">= 5x",
            sorted_numpy >= 5 * sorted_ours,
        ),
        Row(
            "floor, 10^7 in random order",
            f"{random_ours * each:.2f} ns",
            f"NumPy {random_numpy * each:.1f} ns",
            f"{random_numpy / random_ours:.1f}x faster",
            ">= 4x",
            random_numpy >= 4 * random_ours,
        ),
    ]


def drifting(n: int) -> Evidence:
    """Snapshots of two clocks every 10 s, whose rates wander, read within 50 to 250 ns."""
    random = np.random.default_rng(n)
    rate = 20e-6 + np.cumsum(random.normal(0, 1e-11, n)) + random.normal(0, 1e-10, n)
    half, error = brackets(random, n)
    a = START_NS + np.arange(n, dtype=np.int64) * 10**10
    r = np.rint(np.cumsum(rate * 10) * 1e9 + error).astype(np.int64)
    return Evidence.of(a, r, np.ceil(half).astype(np.int64) + 1)


def tube() -> list[Row]:
    """The tube with bounds, both ways, against a copy and against a lookup by NumPy."""
    limits = Limits(200e-6, 1e-6)
    evidence = drifting(SNAPSHOTS)
    made = Tube(evidence, limits)
    random = np.random.default_rng(1)
    values = np.sort(random.integers(evidence.a[0], evidence.a[-1], TIMESTAMPS))
    order = random.permutation(TIMESTAMPS)
    each = 1e9 / TIMESTAMPS
    rows = []
    for what, inverse, given in (
        ("a -> b", False, values),
        ("b -> a", True, made.convert(values).estimate),
    ):
        shuffled = given[order]
        edges = np.sort(evidence.a + evidence.r) if inverse else evidence.a

        def ours(v: np.ndarray, inverse: bool = inverse) -> object:
            return made.convert(v, inverse=inverse)

        def numpy(v: np.ndarray, edges: np.ndarray = edges) -> object:
            return v + evidence.r[np.searchsorted(edges, v, side="right") - 1]

        ascending, copy = compared(partial(ours, given), given.copy)
        scattered, lookup = compared(partial(ours, shuffled), partial(numpy, shuffled), 3)
        rows += [
            Row(
                f"tube with bounds, {what}, 10^7 sorted",
                f"{ascending * each:.2f} ns",
                f"copy {copy * each:.2f} ns",
                f"{ascending / copy:.1f}x",
                "<= 7x" if inverse else "<= 15x",
                ascending <= (7 if inverse else 15) * copy,
            ),
            Row(
                f"tube with bounds, {what}, in random order",
                f"{scattered * each:.1f} ns",
                f"NumPy's lookup {lookup * each:.1f} ns",
                f"{scattered / lookup:.2f}x",
                "<= 1.5x",
                scattered <= 1.5 * lookup,
            ),
        ]
    many = drifting(10**6)
    built, ordered = compared(lambda: Tube(many, limits), lambda: np.sort(many.r))
    rows.append(
        Row(
            "tube of 10^6 snapshots",
            f"{built:.2f} s",
            f"NumPy's sort {ordered:.2f} s",
            f"{built / ordered:.1f}x",
            "<= 0.5 s",
            built <= 0.5,
        )
    )
    return rows


def reading() -> list[Row]:
    """A real trace: to columns in memory on one core, and to Parquet on all cores."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    vocabulary()
    content = TRACE.read_bytes()
    size = len(content)
    cores = os.sched_getaffinity(0)

    def ours() -> None:
        with tracetime.open_trace(TRACE) as trace:
            for _ in trace.events():
                pass

    def ours_to_parquet() -> None:
        with tempfile.TemporaryDirectory() as folder, tracetime.open_trace(TRACE) as trace:
            convert(trace, Path(folder) / "events.parquet")

    parquet = best(ours_to_parquet)
    os.sched_setaffinity(0, {min(cores)})
    memory = best(ours)
    protobuf = best(lambda: Trace.FromString(content), 2)
    os.sched_setaffinity(0, cores)
    return [
        Row(
            f"{TRACE.stem} -> columns, one core",
            f"{size / memory / 1e6:.0f} MB/s",
            f"protobuf's parser {size / protobuf / 1e6:.0f} MB/s",
            f"{protobuf / memory:.1f}x faster",
            ">= 250 MB/s",
            size / memory >= 250e6,
        ),
        Row(
            f"{TRACE.stem} -> Parquet",
            f"{size / parquet / 1e6:.0f} MB/s",
            f"protobuf's parser {size / protobuf / 1e6:.0f} MB/s",
            f"{protobuf / parquet:.1f}x faster",
            ">= 120 MB/s",
            size / parquet >= 120e6,
        ),
    ]


_PARSE = """
import sys, time
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
content = open(sys.argv[1], "rb").read()
began = time.perf_counter()
trace = Trace.FromString(content)
print(time.perf_counter() - began)
"""


# In a small process: a child's peak includes that of its parent until it starts.
_TYPED = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def typed() -> list[Row]:
    """`tracetime convert` as a process, and the parser of protobuf alone, in turn."""

    def printed(script: str, *arguments: str) -> list[float]:
        text = subprocess.check_output([sys.executable, "-c", script, *arguments], text=True)
        return [float(number) for number in text.split()]

    took, parsed, peaks = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "events.parquet")
        command = [sys.executable, "-m", "tracetime", "convert", str(TRACE), "-o", out]
        for _ in range(4):
            seconds, peak = printed(_TYPED, *command)
            took.append(seconds)
            peaks.append(peak * (1 if sys.platform == "darwin" else 1024))
            parsed += printed(_PARSE, str(TRACE))
    ours, protobuf, most = min(took), min(parsed), max(peaks)
    return [
        Row(
            f"tracetime convert {TRACE.name}, as typed",
            f"{ours:.2f} s",
            f"protobuf's parser alone {protobuf:.2f} s",
            f"{ours / protobuf:.2f}x",
            "<= 1.7x",
            ours <= 1.7 * protobuf,
        ),
        Row(
            "its memory, at its peak",
            f"{most / 1e6:.0f} MB",
            f"the trace {TRACE.stat().st_size / 1e6:.0f} MB",
            "",
            "<= 160 MB",
            most <= 160e6,
        ),
    ]


def names() -> list[Row]:
    """The columns of names, against the classes of protobuf with interning in Python."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
    from twin.names import names_of

    size = TRACE.stat().st_size
    cores = os.sched_getaffinity(0)

    def ours() -> None:
        with tracetime.open_trace(TRACE) as trace:
            for _ in trace.events(names=True):
                pass

    def ours_to_parquet() -> None:
        with tempfile.TemporaryDirectory() as folder, tracetime.open_trace(TRACE) as trace:
            convert(trace, Path(folder) / "events.parquet", names=True)

    def protobuf() -> None:
        for _ in names_of(Trace.FromString(TRACE.read_bytes()).packet):
            pass

    parquet = best(ours_to_parquet)
    os.sched_setaffinity(0, {min(cores)})
    memory, alternative = best(ours), best(protobuf, 1)
    os.sched_setaffinity(0, cores)
    return [
        Row(
            f"{TRACE.stem} with names -> {what}",
            f"{size / took / 1e6:.0f} MB/s",
            f"protobuf's classes {size / alternative / 1e6:.1f} MB/s",
            f"{alternative / took:.0f}x faster",
            ">= 60 MB/s",
            size / took >= 60e6,
        )
        for what, took in (("columns, one core", memory), ("Parquet", parquet))
    ]


def watched(command: list[str]) -> tuple[float, int]:
    """Run a command; returns the seconds it took and its highest RssAnon in bytes."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    highest = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        for line in status.splitlines():
            if line.startswith("RssAnon"):
                highest = max(highest, int(line.split()[1]) * 1024)
        time.sleep(0.01)
    if process.wait():
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, highest


def large(size: int) -> list[Row]:
    """`tracetime convert` on large traces: memory, and time against size."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        trace, out = Path(folder) / "large.pftrace", Path(folder) / "large.parquet"
        command = [sys.executable, "-m", "tracetime", "convert", str(trace), "-o", str(out)]
        rates = []
        for part, more in ((size // 4, ""), (size, ""), (size, "names"), (size, "all deferred")):
            make(TRACE, trace, part, more == "all deferred")
            took, anonymous = watched(command + ["--with-names"] * (more == "names"))
            on_disk = trace.stat().st_size
            rates.append(on_disk / took)
            rows.append(
                Row(
                    f"{on_disk / 1e9:.2f} GB -> Parquet{', ' * bool(more)}{more}",
                    f"RssAnon {anonymous / 1e6:.0f} MB, {took:.1f} s",
                    f"{rates[0] / 1e6:.0f} MB/s at a quarter",
                    f"{rates[-1] / 1e6:.0f} MB/s",
                    "<= 300 MB",
                    anonymous <= 300e6,
                )
            )
    return rows


def start_up() -> list[Row]:
    def seconds(*arguments: str) -> float:
        return best(
            lambda: subprocess.run(
                [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL
            ),
            7,
        )

    ours, bare = seconds("-m", "tracetime", "--version"), seconds("-c", "pass")
    return [
        Row(
            "tracetime --version",
            f"{ours * 1e3:.0f} ms",
            f"bare Python {bare * 1e3:.0f} ms",
            f"{ours / bare:.1f}x",
            "<= 150 ms",
            ours <= 0.15,
        )
    ]


def reporting() -> list[Row]:
    """The report of a real trace: written, and opened in Debian's Chromium if that is installed."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.html"
        command = [sys.executable, "-m", "tracetime", "report", str(TRACE), "-o", str(out)]
        doctor = [sys.executable, "-m", "tracetime", "doctor", str(TRACE)]

        def seconds(arguments: list[str]) -> float:
            run = partial(subprocess.run, arguments, check=True, stdout=subprocess.DEVNULL)
            return best(run, 3)

        wrote, alone = seconds(command), seconds(doctor)
        size = out.stat().st_size
        rows.append(
            Row(
                f"report of {TRACE.stem}",
                f"{wrote:.2f} s, {size / 1e6:.2f} MB",
                f"doctor alone {alone:.2f} s",
                f"{wrote / alone:.1f}x",
                "<= 3 s, <= 3 MB",
                wrote <= 3 and size <= 3e6,
            )
        )
        opened = opening(out)
        if opened is not None:
            shown, drawn = opened
            rows.append(
                Row(
                    "to open that report",
                    f"all drawn after {drawn:.2f} s",
                    f"first sight {shown:.2f} s",
                    "",
                    "<= 2 s",
                    drawn <= 2,
                )
            )
    return rows


def opening(page: Path) -> tuple[float, float] | None:
    """Seconds until a page is loaded, and until all of its pictures are drawn; the best of 3."""
    browser = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if browser is None:
        return None
    took = []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for _ in range(3):
            tab = started.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-drawn=all]")
            marks = "['shown', 'drawn'].map(n => performance.getEntriesByName(n)[0].startTime)"
            shown, drawn = tab.evaluate(marks)
            took.append((drawn / 1e3, shown / 1e3))
            tab.close()
        started.close()
    drawn, shown = min(took)
    return shown, drawn


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", type=parse_size, metavar="SIZE")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = floor() + tube() + start_up()
    if TRACE.exists():
        rows += reading() + typed() + names() + reporting()
        if arguments.large:
            rows += large(arguments.large)
    table = Table(
        title=f"tracetime {tracetime.__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for heading in ("work", "measured", "alternative", "ratio", "must reach", ""):
        table.add_column(heading)
    for row in rows:
        table.add_row(*row[:5], "yes" if row.met else "NO")
    Console(width=130).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
