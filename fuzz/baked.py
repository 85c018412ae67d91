"""Bake mutated traces until the time is up.

    python -m fuzz.baked [--seconds 60] [--seed N] [TRACE ...]

A trace must be baked, or give a TraceError or UsageError. What is baked must be read without an
error, have the rows that its summary says, and baking it again must give the same bytes; mutated in
its turn it must be read, or give a TraceError. Packets are renumbered as they stand, as in a merge.
Anything else, a crash, or over 20 s for an input is a failure: the input is kept and its name
printed. A child process does the work, so that a crash of native code is noticed. The mutated
traces are those of `python -m fuzz`.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from pathlib import Path
from random import Random

from fuzz.__main__ import EXPANSION, LONGEST_S, read, seeds
from fuzz.driver import ROOT, parser_of, run_child


def check(path: Path, policy: str, partial: bool) -> bool:
    """Bake a trace and what comes of it; whether it can be."""
    from baked_traces import check_rows, drawn, has_late_descriptor, unwritten

    import tracetime

    renumber(path.read_bytes())
    once, twice = path.with_suffix(".once"), path.with_suffix(".twice")
    try:
        with tracetime.open_trace(path, partial=partial, max_expansion=EXPANSION) as trace:
            summary = tracetime.bake(trace, once, policy=policy)  # type: ignore[arg-type]
            wanted = drawn(trace, policy)  # type: ignore[arg-type]
            lost = unwritten(trace)
            home = trace.trace_clock
            counts_anew = policy == "tube" and has_late_descriptor(trace)
    except (tracetime.TraceError, tracetime.UsageError):
        return False
    data = once.read_bytes()
    with tracetime.open_trace(once) as trace:
        trace.read_all().validate(full=True)
        # Machines on another clock than BOOTTIME are put on that.
        if home.clock == summary.trace_clock.clock and not counts_anew:
            check_rows(wanted, drawn(trace, "floor"), summary, lost)
        tracetime.bake(trace, twice, policy=policy)  # type: ignore[arg-type]
    assert twice.read_bytes() == data, f"baking again by {policy} gives other bytes"
    return True


def renumber(data: bytes) -> None:
    """Give the packets of a file other numbers, malformed as they are; that changes them once."""
    from tracetime._kernels.perfetto.bake import Renumberer

    for shared in (set(), {0}):
        numbers = Renumberer(1, 1, {0: b"fuzz", 1: b"other"}, shared)
        numbers.begin({0: 0, 1: 1})
        once = numbers.write(data)
        numbers.end()
        numbers.begin({0: 0, 1: 1})
        numbers.write(once)


def read_baked(path: Path, partial: bool) -> None:
    """Read a baked trace that was mutated, and what it says of its source."""
    import tracetime

    read(path, partial)
    try:
        with tracetime.open_trace(path, partial=partial, max_expansion=EXPANSION) as trace:
            for batch in trace.events(policy="tube"):
                batch.validate(full=True)
            assert len(trace.clocks.clocks()) >= 0
    except tracetime.TraceError:
        pass


def child(arguments: argparse.Namespace) -> None:
    from fuzz.mutate import mutated

    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    faulthandler.enable()
    random = Random(arguments.seed)
    corpus = seeds(arguments.traces, random)
    until = time.monotonic() + arguments.seconds
    runs = done = 0
    while time.monotonic() < until:
        data = random.choice(corpus)
        if random.random() < 0.9:
            data = mutated(random, data, random.choice(corpus))
        arguments.input.write_bytes(data)
        faulthandler.dump_traceback_later(LONGEST_S, exit=True)
        partial = random.random() < 0.5
        if check(arguments.input, random.choice(("floor", "tube")), partial):
            done += 1
            faulthandler.dump_traceback_later(LONGEST_S, exit=True)
            baked = arguments.input.with_suffix(".once").read_bytes()
            # In the place of the input, so that it is kept if it fails.
            arguments.input.write_bytes(mutated(random, baked, data))
            read_baked(arguments.input, partial)
        faulthandler.cancel_dump_traceback_later()
        runs += 1
    print(f"{runs} inputs, {done} baked, seed {arguments.seed}")


def main() -> None:
    parser = parser_of("fuzz.baked", __doc__)
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    arguments = parser.parse_args()
    if arguments.input is not None:
        child(arguments)
        return
    run_child("fuzz.baked", list(map(str, arguments.traces)), arguments, "input.pftrace", "baked-")


if __name__ == "__main__":
    main()
