"""Bake mutated traces until the time is up.

    python -m fuzz.baked [--seconds 60] [--seed N] [TRACE ...]

A trace must be baked, or give a TraceError or UsageError. What is baked must be read without an
error, and baking it again must give the same bytes. Anything else, a crash, or over 20 s for an
input is a failure: the input is kept and its name printed. A child process does the work, so that a
crash of native code is noticed. The mutated traces are those of `python -m fuzz`.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from pathlib import Path
from random import Random

from fuzz.__main__ import EXPANSION, LONGEST_S, seeds
from fuzz.driver import ROOT, parser_of, run_child


def check(path: Path, policy: str, partial: bool) -> bool:
    """Bake a trace and what comes of it; whether it can be."""
    import tracetime

    once, twice = path.with_suffix(".once"), path.with_suffix(".twice")
    try:
        with tracetime.open_trace(path, partial=partial, max_expansion=EXPANSION) as trace:
            tracetime.bake(trace, once, policy=policy)  # type: ignore[arg-type]
    except (tracetime.TraceError, tracetime.UsageError):
        return False
    data = once.read_bytes()
    with tracetime.open_trace(once) as trace:
        trace.read_all().validate(full=True)
        tracetime.bake(trace, twice, policy=policy)  # type: ignore[arg-type]
    assert twice.read_bytes() == data, f"baking again by {policy} gives other bytes"
    return True


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
        done += check(arguments.input, random.choice(("floor", "tube")), random.random() < 0.5)
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
