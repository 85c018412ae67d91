"""What bounds of true time cost: python -m benchmarks.true_time

CPU time of a call, the least of several rounds, and as a multiple of `time.time_ns`, measured in
turn. ClockBound and the kernel are played: a file of its layout, and a state that bounds the clock.
"""

from __future__ import annotations

import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tracetime.clocks.kernel_clock import KernelClock
from tracetime.sources.time_service.clockbound import ClockBound
from tracetime.sources.time_service.service import TimeService
from tracetime.sources.time_service.statement import Kernel

ROUNDS = 20
CALLS = 5_000


def memory() -> bytes:
    """What ClockBound's daemon writes, of now."""
    now_s = time.monotonic_ns() // 10**9
    header = struct.pack("=IIIHH", 0x414D5A4E, 0x43420200, 80, 2, 2)
    return header + struct.pack("=qqqqqQIiB7x", now_s, 0, now_s + 1_000, 0, 20_000, 0, 50_000, 1, 0)


def cpu_ns(call: Callable[[], object]) -> float:
    """CPU ns of a call in a series of them."""
    start = time.thread_time_ns()
    for _ in range(CALLS):
        call()
    return (time.thread_time_ns() - start) / CALLS


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shm0"
        path.write_bytes(memory())
        asking = ClockBound(str(path))
        asking.poll_ns = 0
        state = KernelClock(0, 10_000, 0, 12_000, 300, 0, 0, 37)
        calls: dict[str, Callable[[], object]] = {
            "time.time_ns": time.time_ns,
            "clockbound, kept for a ms": TimeService(sources=[ClockBound(str(path))]).now,
            "clockbound, read each time": TimeService(sources=[asking]).now,
            "adjtimex, kept for 10 ms": TimeService(sources=[Kernel(lambda: state)]).now,
        }
        least = {name: min(cpu_ns(call) for _ in range(ROUNDS)) for name, call in calls.items()}
    for name, ns in least.items():
        print(f"{name:<28} {ns:8.0f} ns  {ns / least['time.time_ns']:6.1f} x")


if __name__ == "__main__":
    main()
