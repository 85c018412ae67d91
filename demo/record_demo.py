"""Record this machine's clocks for some seconds, with events stamped by several of them.

    python demo/record_demo.py -o recorded.pftrace [--seconds 3]

Every few milliseconds something "happens", and is stamped by the next of the clocks, as programs
that know nothing of each other would: so events of one thread come in the order of their numbers,
whatever clock they are in. What became of that order is printed from the trace, read back.
"""

from __future__ import annotations

import argparse
import time

import tracetime as tt

CLOCKS = ("MONOTONIC", "REALTIME", "MONOTONIC_RAW", "BOOTTIME", "TSC")


def stamping(sampler: tt.Sampler) -> list[tuple[str, tt.ClockId]]:
    """The clocks to stamp events by, by name: those that are to be had here."""
    named = {name: clock for clock, name in sampler.names.items()}
    wanted = [name for name in (*CLOCKS, "dev.tracetime.tsc") if name in named]
    return [(name, named[name]) for name in wanted]


def record(path: str, seconds: float) -> int:
    """Record; returns how many events."""
    try:
        sampler = tt.Sampler(CLOCKS)
    except tt.SourceError:
        # Another system, or another processor: what there is.
        sampler = tt.Sampler()
    with sampler, tt.record(path, interval=0.1, sampler=sampler) as rec:
        clocks = stamping(sampler)
        count = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            name, clock = clocks[count % len(clocks)]
            stamp = sampler.source(clock).read(clock)
            rec.instant(f"by {name}", timestamp=stamp, clock=clock, track="stamped in turn")
            count += 1
            time.sleep(0.002)
    print(f"{path}: {count:,} events stamped by {', '.join(name for name, _ in clocks)}; "
          f"{rec.snapshots} snapshots")  # fmt: skip
    return count


def show(path: str, count: int) -> None:
    """By both policies: do the events come in the order they happened in, and within what bars?"""
    with tt.open_trace(path) as trace:
        floor = trace.read_all("floor")
        tube = trace.read_all("tube")
    for policy, table in (("floor", floor), ("tube", tube)):
        times = table["trace_time"].to_numpy()
        kept = int((times[1:] > times[:-1]).sum())
        print(f"{policy}: {kept:,} of {count - 1:,} follow the one before")
    widths = sorted((tube["latest"].to_numpy() - tube["earliest"].to_numpy()).tolist())
    print(f"tube: each event known within {widths[len(widths) // 2]} ns (median), "
          f"{widths[-1]} ns at most")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", required=True, help="the trace to write")
    parser.add_argument("--seconds", type=float, default=3.0)
    args = parser.parse_args()
    show(args.out, record(args.out, args.seconds))


if __name__ == "__main__":
    main()
