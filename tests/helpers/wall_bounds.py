"""Recordings of a machine whose time service bounds its wall clock."""

from pathlib import Path

from tracetime import Snapshot
from tracetime.clocks.kernel_clock import STA_UNSYNC, KernelClock, WallBound
from tracetime.formats.perfetto.write.writer import TraceWriter


def bounded_recording(path: Path, *bounds: WallBound | None) -> Path:
    """A trace of a snapshot for each bound of REALTIME, or None; the kernel does not know it."""
    writer = TraceWriter(path)
    kernel = KernelClock(0, 10_000, 0, 16_000_000, 16_000_000, STA_UNSYNC, 5, 0)
    for n, bound in enumerate(bounds, 1):
        readings = Snapshot({"BOOTTIME": n * 10**9, "REALTIME": n * 10**9})
        writer.snapshot(readings, kernel_clock=kernel, wall_bound=bound, main=True)
    writer.close()
    return path
