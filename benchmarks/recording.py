"""The cost of recording: python -m benchmarks.recording

Events by the public methods, counted in the file; 24 hours of snapshots of a simulated machine; the
time to write a snapshot. Exits with 1 where a row misses its bar.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import clock_gettime_ns, perf_counter, thread_time

from benchmarks.table import Table
from tracetime import ClockDomain, Recorder, open_trace, record
from tracetime.formats.perfetto.write.writer import TraceWriter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from simulated import GPU, TSC, Clock, Machine, usual_clocks

EVENTS = 2_000_000
COMPARED = 200_000
MOST_NS = 350  # of a plain event
MOST_TIMES_VIZTRACER = 1.2
HOURS = 24
MOST_GROWTH_MIB = 8
S = 10**9
RESIDENT = """
import os
os.write(1, open("/proc/self/statm", "rb").read().split()[1])
os._exit(0)
"""


def clocks_of(n: int) -> list[Clock]:
    """Seven clocks with the time stamp counter and a device; or nine, with the COARSE ones."""
    clocks = usual_clocks()
    if n == 9:
        real_ns = 1_755_000_000_000_000_000
        coarse = [
            Clock(ClockDomain("REALTIME_COARSE"), real_ns, 12_000),
            Clock(ClockDomain("MONOTONIC_COARSE"), 77, 12_000),
        ]
        clocks[5:5] = coarse
    return clocks


def memory_mib() -> float:
    """Resident memory now, not its peak."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def day(table: Table, path: Path, n: int) -> None:
    machine = Machine(clocks_of(n), half_ns=80)
    memory = []
    start = perf_counter()
    with record(path, interval=None, sampler=machine) as rec:
        for second in range(HOURS * 3600):
            machine.now_ns += S
            rec.snapshot()
            if second % (HOURS * 900) == 900:
                memory.append(memory_mib())
    taken = perf_counter() - start
    size = path.stat().st_size
    got = (
        f"{size / 1e6:.1f} MB, {size / rec.snapshots:.0f} bytes a snapshot, "
        f"{taken / rec.snapshots * 1e6:.0f} us each (simulation included); "
        f"memory over the run {', '.join(f'{one:.1f}' for one in memory)} MiB"
    )
    what = f"{HOURS} h at 1 s, {n} clocks"
    if n == 7:
        ok = size <= 20e6 and max(memory) - memory[0] <= MOST_GROWTH_MIB
        table.row(what, f"<= 20 MB, memory within {MOST_GROWTH_MIB} MiB", got, ok)
    else:
        table.note(what, got)
    start = perf_counter()
    with open_trace(path) as trace:
        graph = trace.clocks
        noon_ns = machine.clocks[machine.reference].ns(machine.now_ns - HOURS * 1800 * S)
        bounds = graph.convert(noon_ns, "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True)
        table.note(
            f"{what}, read back",
            f"{perf_counter() - start:.2f} s; a bar at noon is "
            f"{bounds.latest - bounds.earliest} ns wide",
        )


def writing(table: Table, path: Path, n: int = 20_000) -> None:
    machine = Machine(clocks_of(9))
    writer = TraceWriter(path)
    for domain in machine.domains.values():
        writer.declare(domain)
    sample = machine.sample()
    start = perf_counter()
    for _ in range(n):
        writer.snapshot(
            sample.snapshot, counts=sample.counts, kernel_clock=sample.adjtimex, main=True
        )
    table.note("writing a snapshot of 9 clocks", f"{(perf_counter() - start) / n * 1e6:.0f} us")
    writer.close()


def events(
    table: Table, path: Path, what: str, emit: Callable[[Recorder, int], None], n: int
) -> None:
    """n calls of one kind in one thread, with the threads of the recording running."""
    machine = Machine(usual_clocks())
    with record(path, interval=1.0, sampler=machine, buffer_bytes=1 << 30) as rec:
        rec.track("t")
        before = perf_counter()
        emit(rec, n)
        taken = perf_counter() - before
    with open_trace(path) as trace:
        rows = trace.read_all().num_rows
    size = path.stat().st_size
    table.row(
        what,
        ">= 1 M/s, <= 32 bytes each, all in the file",
        f"{n / taken / 1e6:.2f} M/s, {size / rows:.1f} bytes each, {rows:,} in the file",
        n / taken >= 1e6 and size <= 32 * rows and rows == n,
    )


def instants(clock: object, start: int) -> Callable[[Recorder, int], None]:
    def emit(rec: Recorder, n: int) -> None:
        track = rec.track("t")
        for i in range(n):
            rec.instant("event", timestamp=start + i, clock=clock, track=track)

    return emit


def now(rec: Recorder, n: int) -> None:
    for _ in range(n):
        rec.instant("event", clock="MONOTONIC")


def slices(rec: Recorder, n: int) -> None:
    start = clock_gettime_ns(1)
    track = rec.track("t")
    for i in range(n // 2):
        rec.begin("slice", timestamp=start + i, clock="MONOTONIC", track=track)
        rec.end(timestamp=start + i, clock="MONOTONIC", track=track)


def counters(value: float) -> Callable[[Recorder, int], None]:
    def emit(rec: Recorder, n: int) -> None:
        start = clock_gettime_ns(1)
        for i in range(n):
            rec.counter("level", value, timestamp=start + i, clock="MONOTONIC")

    return emit


def many_names(rec: Recorder, n: int) -> None:
    start = clock_gettime_ns(1)
    names = [f"a name of usual length {i}" for i in range(1_000)]
    tracks = [rec.track(f"t{i}") for i in range(100)]
    for i in range(n):
        rec.instant(names[i % 1_000], timestamp=start + i, clock="REALTIME", track=tracks[i % 100])


def best_ns(run: Callable[[], object]) -> float:
    """CPU time of one of the calls that `run` makes: the least of five, as others disturb it."""
    tries = []
    for _ in range(5):
        before = thread_time()
        run()
        tries.append(thread_time() - before)
    return min(tries) / COMPARED * 1e9


def calls(table: Table, path: Path) -> None:
    """What one call costs its caller, and what viztracer's cheapest one does."""
    machine = Machine(usual_clocks())
    with record(
        path, interval=None, sampler=machine, buffer_bytes=1 << 30, flush_bytes=1 << 40
    ) as rec:

        def plain() -> None:
            for _ in range(COMPARED):
                rec.instant("event", clock="MONOTONIC")

        def rich() -> None:
            for i in range(COMPARED):
                rec.instant("event", clock="MONOTONIC", category="io", rows=i, to="host")

        def span() -> None:
            for i in range(COMPARED):
                with rec.span("event", clock="MONOTONIC", category="io", rows=i, to="host"):
                    pass

        plain_ns, rich_ns, span_ns = best_ns(plain), best_ns(rich), best_ns(span)
    table.row("a plain event, CPU", f"<= {MOST_NS} ns", f"{plain_ns:.0f} ns", plain_ns <= MOST_NS)
    table.note("a span with a category and two arguments, CPU", f"{span_ns:.0f} ns")
    what = "an event with a category and two arguments, CPU"
    try:
        from viztracer import VizTracer
    except ImportError:
        table.note(what, f"{rich_ns:.0f} ns; viztracer is not installed")
        return
    other = VizTracer(tracer_entries=6 * COMPARED, verbose=0, max_stack_depth=0)

    def others() -> None:
        for i in range(COMPARED):
            other.add_instant("event", {"rows": i, "to": "host"})

    other.start()
    other_ns = best_ns(others)
    other.stop()
    table.row(
        what,
        f"<= {MOST_TIMES_VIZTRACER} times viztracer's add_instant, its cheapest call",
        f"{rich_ns / other_ns:.2f} times: {rich_ns:.0f} ns, {other_ns:.0f} ns",
        rich_ns <= MOST_TIMES_VIZTRACER * other_ns,
    )


def host(table: Table, path: Path) -> None:
    """Start-up time and memory of a process that records, and of one that imports NumPy alone."""

    def cost(code: str) -> tuple[float, float]:
        """Seconds and MB, the best of five."""
        tries = []
        for _ in range(5):
            path.unlink(missing_ok=True)
            start = perf_counter()
            pages = subprocess.run(
                [sys.executable, "-c", code + RESIDENT], check=True, stdout=subprocess.PIPE
            ).stdout
            tries.append((perf_counter() - start, int(pages) * resource.getpagesize() / 1e6))
        return min(seconds for seconds, _ in tries), min(mb for _, mb in tries)

    alone_s, alone_mb = cost("import numpy")
    begun_s, begun_mb = cost(f"import tracetime; tracetime.record({str(path)!r})")
    table.row(
        "a process that begins to record",
        "< 3 times one that has NumPy alone, in time and memory",
        f"{begun_s / alone_s:.1f} and {begun_mb / alone_mb:.1f} times: {begun_s:.2f} s, "
        f"{begun_mb:.0f} MB",
        begun_s < 3 * alone_s and begun_mb < 3 * alone_mb,
    )


def main() -> int:
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.pftrace"
        real = 1_755_000_000_000_000_000
        for what, emit in (
            ("instant, REALTIME", instants("REALTIME", real)),
            ("instant, raw ticks of a 36-bit device", instants(GPU, 5_000)),
            ("instant, raw ticks of the TSC", instants(TSC, 12_000_000_000)),
            ("instant, 1,000 names on 100 tracks", many_names),
            ("instant, now, on the thread's track", now),
            ("begin and end", slices),
            ("counter, int", counters(123_456_789)),
            ("counter, float", counters(0.1)),
        ):
            events(table, path, what, emit, EVENTS)
        calls(table, path)
        writing(table, path)
        host(table, path)
        for n in (7, 9):
            day(table, path, n)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
