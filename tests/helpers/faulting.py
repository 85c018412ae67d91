"""A process that records while its clocks step; tests/capture/test_real_faults.py starts it.

    python faulting.py MODE PATH INTERVAL [FILE]

INTERVAL: seconds, or `none` for no thread. MODE says what steps the clocks: a time namespace
(`setns`), the shim of clock_shim.c (`shim`), or libfaketime (`faketime`). The last two are preloaded
and read FILE. Prints the steps as JSON; exits with NO_PRIVILEGE where the system refuses.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NO_PRIVILEGE = 77
S = 10**9
NEW_TIME, NEW_USER = 0x80, 0x1000_0000
REALTIME, COARSE, BOOTTIME, TAI = 0, 5, 7, 11
CLOCKS = ["MONOTONIC", "BOOTTIME", "REALTIME", "TAI"]
ROWS = 16

# What the shim does, one after the other: by how much BOOTTIME and REALTIME (with TAI) go on.
SHIM_STEPS = [
    (1_800 * S, 1_800 * S),
    (0, -300 * S),
    (0, 20_000_000),
    (0, 4_000 * S),
    (7 * S, 7 * S),
]
FAKETIME_STEPS = [(0, -300 * S)]
SETNS_STEPS = [(3_600 * S, 0)]


def into_a_time_namespace(boottime_ns: int, realtime_ns: int) -> None:
    """Enter a namespace where the machine has slept: only a process of one thread may."""
    assert realtime_ns == 0
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_TIME) and libc.unshare(NEW_USER | NEW_TIME):
        no_privilege(f"unshare: {os.strerror(ctypes.get_errno())}")
    try:
        Path("/proc/self/timens_offsets").write_text(f"boottime {boottime_ns // S} 0\n")
        namespace = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    except OSError as error:
        no_privilege(str(error))
    if libc.setns(namespace, NEW_TIME):
        no_privilege(f"setns: {os.strerror(ctypes.get_errno())}")


def no_privilege(why: str) -> None:
    print(why, file=sys.stderr)
    sys.exit(NO_PRIVILEGE)


class Shim:
    """Tells clock_shim.c the sums of the steps so far."""

    def __init__(self, path: str) -> None:
        with Path(path).open("r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 0)
        self.row = 0
        self.boottime_ns = self.realtime_ns = 0

    def step(self, boottime_ns: int, realtime_ns: int) -> None:
        self.boottime_ns += boottime_ns
        self.realtime_ns += realtime_ns
        self.row += 1
        offsets = [0] * ROWS
        offsets[BOOTTIME] = self.boottime_ns
        for clock in (REALTIME, COARSE, TAI):
            offsets[clock] = self.realtime_ns
        struct.pack_into("=16q", self.shared, 8 + self.row * 128, *offsets)
        struct.pack_into("=q", self.shared, 0, self.row)


def faketime(path: str) -> Callable[[int, int], None]:
    def step(boottime_ns: int, realtime_ns: int) -> None:
        assert boottime_ns == 0
        # Renamed into place: it is read at any moment.
        Path(f"{path}.new").write_text(f"{realtime_ns // S:+d}")
        Path(f"{path}.new").rename(path)

    return step


def wait_for(rec: Any, snapshots: int) -> None:
    end = time.monotonic() + 600
    while rec.snapshots < snapshots:
        assert time.monotonic() < end, "no snapshot came"
        time.sleep(0.002)


def main() -> None:
    mode, path, interval, *file = sys.argv[1:]
    import tracetime

    if mode == "setns":
        step, steps = into_a_time_namespace, SETNS_STEPS
    elif mode == "shim":
        step, steps = Shim(file[0]).step, SHIM_STEPS
    else:
        step, steps = faketime(file[0]), FAKETIME_STEPS
    seconds = None if interval == "none" else float(interval)
    taken = []
    with tracetime.record(path, CLOCKS, seconds) as rec:

        def some_time(snapshots: int) -> None:
            if seconds is None:
                for _ in range(snapshots):
                    time.sleep(0.005)
                    rec.snapshot()
            else:
                wait_for(rec, rec.snapshots + snapshots)

        some_time(5)
        for boottime_ns, realtime_ns in steps:
            # Not in the middle of a snapshot, so that it is known which shows it first.
            with rec._calls._snapshots:
                before = rec.snapshots
                step(boottime_ns, realtime_ns)
            taken.append((before, boottime_ns, realtime_ns))
            if seconds is not None:
                wait_for(rec, before + 1)
            some_time(5)
    print(json.dumps({"steps": taken, "snapshots": rec.snapshots}))


if __name__ == "__main__":
    main()
