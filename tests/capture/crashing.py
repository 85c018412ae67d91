"""A process that records, to be killed: run by tests/capture/test_crash.py, not by pytest.

Imports take longest, so one process has them done and forks a child for every recording. Lines
read: `PATH MODE SEED`. Lines written: `pid N`, then of the child `flushing N` before it flushes and
`flushed N` once N events are in the file, as the recording promises.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time


def child(path: str, mode: str, seed: int) -> None:
    from live import Live

    import tracetime

    numbers = random.Random(seed)
    big = mode == "big"
    # Big flushes: all that there is in one call. Else small ones, by the threads as they come.
    options = (
        {"flush_bytes": 1 << 30, "flush_interval": 3600.0} if big else {"flush_interval": 0.01}
    )
    with tracetime.record(path, interval=0.01, sampler=Live(), **options) as rec:
        track = rec.track("events")
        written = 0
        # Long names, each new: megabytes of few events, made and read in little time.
        padding = "x" * 400
        while True:
            for _ in range(numbers.randrange(8_000, 24_000) if big else 3_000):
                name = f"{written} {padding}" if big else "event"
                rec.instant(
                    name,
                    timestamp=time.clock_gettime_ns(time.CLOCK_MONOTONIC),
                    clock=3,
                    track=track,
                )
                written += 1
            say(f"flushing {written}")
            rec.flush()
            say(f"flushed {written}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main() -> None:
    import live  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        path, mode, seed = line.split()
        pid = os.fork()
        if pid == 0:
            try:
                say(f"pid {os.getpid()}")
                child(path, mode, int(seed))
            finally:
                os._exit(1)


if __name__ == "__main__":
    main()
