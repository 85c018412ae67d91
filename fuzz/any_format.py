"""Read mutated files of a format until the time is up.

    python -m fuzz.any_format NAME [--seconds 60] [--seed N]

An input must give rows, clocks and findings, or a TraceError or UsageError. Another exception, a
crash, more than 20 s for an input, or memory beyond 20 times the input and 300 MB is a failure: the
input is kept and its name printed. A child process does the work, so that a crash of native code is
noticed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import importlib
import shutil
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from fuzz.__main__ import EXPANSION, LONGEST_S, memory
from fuzz.driver import ROOT, parser_of, run_child
from fuzz.mutate_bytes import mutated

MOST_MEMORY = 300 << 20
PER_BYTE = 20


def read(path: Path, partial: bool) -> None:
    """Read a file in every way; what its reader refuses is a good answer."""
    import tracetime
    from tracetime.errors import TraceError, UsageError

    refused = contextlib.suppress(TraceError, UsageError)
    with refused, tracetime.open_trace(path, partial=partial, max_expansion=EXPANSION) as trace:
        for policy, names in (("floor", False), ("floor", True), ("tube", False)):
            with refused:
                for batch in trace.events(policy, names=names):  # type: ignore[arg-type]
                    batch.validate(full=True)
        with refused:
            for batch in trace.slices():
                batch.validate(full=True)
        assert len(trace.clocks.clocks()) >= 0
        tracetime.diagnose(trace)
        with refused:
            bake(trace, path.with_suffix(".baked"))


def bake(trace: Any, out: Path) -> None:
    """Write a trace as Perfetto's, which must be a sound one."""
    import tracetime

    tracetime.bake(trace, out)
    with tracetime.open_trace(out) as baked:
        try:
            for reading in (baked.slices(), baked.events(names=True)):
                for batch in reading:
                    batch.validate(full=True)
        except tracetime.TraceError as error:
            raise AssertionError("what was baked is no sound trace") from error


def child(arguments: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    faulthandler.enable()
    random = Random(arguments.seed)
    of_format: Any = importlib.import_module(f"fuzz.formats.{arguments.format}")
    samples = of_format.samples()
    mutate = getattr(of_format, "mutate", None)
    place = arguments.input
    until = time.monotonic() + arguments.seconds
    least, runs = None, 0
    while time.monotonic() < until:
        data = random.choice(samples)
        if mutate is not None and random.random() < 0.5:
            data = mutate(random, data)
        if mutate is None or random.random() < 0.8:
            data = mutated(random, data, random.choice(samples))
        place.write_bytes(data)
        path = place
        if hasattr(of_format, "write"):
            folder = place.with_suffix(".folder")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            path = of_format.write(folder, data)
        faulthandler.dump_traceback_later(LONGEST_S, exit=True)
        read(path, partial=random.random() < 0.5)
        faulthandler.cancel_dump_traceback_later()
        runs += 1
        ctypes.CDLL(None).malloc_trim(0)
        now = memory()
        least = now if least is None else least
        if now - least > MOST_MEMORY + PER_BYTE * len(data):
            raise SystemExit(f"memory grew by {now - least} bytes on {len(data)} bytes of input")
    print(f"{arguments.format}: {runs} inputs, seed {arguments.seed}")


def main() -> None:
    parser = parser_of("fuzz.any_format", __doc__)
    parser.add_argument("format", help="a module of fuzz/formats")
    arguments = parser.parse_args()
    if arguments.input is not None:
        child(arguments)
        return
    given = [arguments.format]
    run_child("fuzz.any_format", given, arguments, "input", f"{arguments.format}-")


if __name__ == "__main__":
    main()
