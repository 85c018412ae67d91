"""Record this machine's clocks for a few seconds, with events of a small pipeline timed by them.

Usage: record_demo.py [-o OUT] [--seconds S]

Each of three stages uses another clock, as a camera, a program and a log of three authors would:
MONOTONIC_RAW, MONOTONIC and REALTIME. A counter is timed by BOOTTIME.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import tracetime as tt

FRAME_S = 0.02
STAGES = (
    ("camera", "exposure", "MONOTONIC_RAW", time.CLOCK_MONOTONIC_RAW),
    ("program", "detect", "MONOTONIC", time.CLOCK_MONOTONIC),
    ("log", "write", "REALTIME", time.CLOCK_REALTIME),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("recording.pftrace"))
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    with tt.record(arguments.out, interval=0.25) as rec:
        tracks = {name: rec.track(name) for name, *_ in STAGES}
        end_s = time.monotonic() + arguments.seconds
        frames = 0
        while time.monotonic() < end_s:
            for name, what, clock, posix in STAGES:
                begin_ns = time.clock_gettime_ns(posix)
                rec.begin(what, timestamp=begin_ns, clock=clock, track=tracks[name])
                time.sleep(FRAME_S / len(STAGES))
                rec.end(timestamp=time.clock_gettime_ns(posix), clock=clock, track=tracks[name])
            frames += 1
            boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            rec.counter("frames", frames, timestamp=boot_ns, clock="BOOTTIME")
    print(f"{frames} frames in {len(STAGES) + 1} clocks, {rec.snapshots} snapshots, {rec.path}")


if __name__ == "__main__":
    main()
