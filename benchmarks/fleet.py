"""The data set of many traces, made by a pool and by Ray: `python -m benchmarks.fleet [PART...]`.

Parts: speed, memory, kill, bad. `--traces 100` makes fewer than 2,000 traces, of 1.3 MB on average:
copies of real ones, each with a packet that makes its bytes differ. Without Ray the pool is
measured alone.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks import fleet_runs
from benchmarks.fleet_runs import Run, make_traces, parts_of, watched

PARTS: Final = ("speed", "memory", "kill", "bad")
ENGINES: Final = ("pool", "ray") if find_spec("ray") else ("pool",)
GROWTH: Final = 1.25
"""How much larger processes may be after the most traces than after a tenth of them."""


def main() -> None:
    """Print what was measured; fail where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS), default=PARTS)
    parser.add_argument("--traces", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        folder = Path(name)
        if {"speed", "memory"} & set(given.parts):
            size = make_traces(folder / "traces", given.traces, fleet_runs.real_seeds())
            print(f"{given.traces} traces, {size / 1e6:.0f} MB", flush=True)
            runs = {}
            for engine in ENGINES:
                runs[engine] = watched(engine, folder / "traces", folder / engine, 2)
                _show(f"{engine}, 2 processes", runs[engine], size)
            if "speed" in given.parts:
                failed += _speed(folder, size, runs)
            if "memory" in given.parts:
                failed += _memory(folder, given.traces, runs)
        if "kill" in given.parts:
            failed += _kill(folder, given.rounds)
        if "bad" in given.parts:
            failed += _bad(folder)
    sys.exit("\n".join(failed))


def _show(what: str, run: Run, size: int) -> None:
    print(
        f"{what}: {run.seconds:.1f} s, {size / 1e6 / run.seconds:.1f} MB/s, "
        f"{run.cpu_s:.1f} s of CPU, {run.cpu_s / size * 1e9:.1f} a GB; "
        f"driver {run.driver_mb:.0f} MB, worker {run.worker_mb:.0f} MB",
        flush=True,
    )


def _speed(folder: Path, size: int, runs: dict[str, Run]) -> list[str]:
    """Two processes against one, and Ray against the pool."""
    one = watched("pool", folder / "traces", folder / "alone", 1)
    _show("pool, 1 process", one, size)
    expected = parts_of(folder / "alone")
    failed = [f"{name} makes other parts" for name in runs if parts_of(folder / name) != expected]
    gain = one.seconds / runs["pool"].seconds
    print(f"2 processes against 1: {gain:.2f}x (at least 1.8x)")
    failed += [f"2 processes are {gain:.2f}x as fast as 1"] if gain < 1.8 else []
    if "ray" in runs:
        loss = runs["ray"].seconds / runs["pool"].seconds
        print(f"Ray against the pool: {loss:.2f}x its time (at most 1.5x)")
        failed += [f"Ray takes {loss:.2f}x the time of the pool"] if loss > 1.5 else []
    again = watched("pool", folder / "traces", folder / "pool", 2)
    print(f"again, nothing to do: {again.seconds:.1f} s")
    return failed


def _memory(folder: Path, count: int, runs: dict[str, Run]) -> list[str]:
    """The largest processes after a tenth, half and all of the traces."""
    failed = []
    for engine, run in runs.items():
        found = {count: run}
        for few in (count // 2, count // 10):
            links = fleet_runs.first_traces(folder / f"{engine}-{few}", folder / "traces", few)
            found[few] = watched(engine, links, folder / f"{engine}-out-{few}", 2)
        for n in sorted(found):
            sizes = f"driver {found[n].driver_mb:.0f} MB, worker {found[n].worker_mb:.0f} MB"
            print(f"{engine}, {n} traces: {sizes}", flush=True)
        least = found[count // 10]
        if run.driver_mb > GROWTH * least.driver_mb or run.worker_mb > GROWTH * least.worker_mb:
            failed.append(f"the processes of {engine} grow with the number of traces")
    return failed


def _command(traces: Path, out: Path, *more: str) -> list[str]:
    words = ["fleet", "convert", str(traces), "-o", str(out), "--workers", "2"]
    return [sys.executable, "-m", "tracetime", *words, *more]


def _kill(folder: Path, rounds: int) -> list[str]:
    """Kill a worker, or the run, at random; start again at once; compare the data sets."""
    traces = folder / "killed"
    make_traces(traces, 100, [seed * 10 for seed in fleet_runs.small_seeds()])
    subprocess.run(_command(traces, folder / "whole"), stdout=subprocess.DEVNULL, check=True)
    expected = parts_of(folder / "whole")
    failed = []
    for engine in ENGINES:
        with _address(engine) as more:
            for victim in ("worker", "run"):
                outs = [folder / f"{engine}-{victim}{n}" for n in range(rounds)]
                good = 0
                for n, out in enumerate(outs):
                    code = _killed_and_restarted(_command(traces, out, *more), victim, n)
                    good += code == 0 and parts_of(out) == expected
                text = f"{good} of {rounds} data sets are complete after a restart"
                print(f"{engine}: kill -9 of a {victim}: {text}", flush=True)
                if good < rounds:
                    failed.append(f"{engine}: after kill -9 of a {victim} data sets are wrong")
    return failed


@contextmanager
def _address(engine: str) -> Iterator[list[str]]:
    """The options that name a cluster: one that exists, of this process."""
    if engine == "pool":
        yield []
        return
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ["--address", ray.get_runtime_context().gcs_address]
    ray.shutdown()


def _killed_and_restarted(command: list[str], victim: str, seed: int) -> int:
    """Kill a process of a run, and run it again; return how that ended."""
    chance = random.Random(seed)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(1 + chance.random() * 3)
    # The workers of Ray are below this process, those of the pool below the run.
    workers = [
        one
        for one in fleet_runs.descendants_of(os.getpid())
        if any(word in _words(one) for word in (b"spawn_main", b"ray::one"))
    ]
    target = child.pid if victim == "run" or not workers else chance.choice(workers)
    os.kill(target, signal.SIGKILL)
    child.wait()
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode


def _words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _bad(folder: Path) -> list[str]:
    """50 corrupt traces among 500."""
    traces, out = folder / "bad", folder / "out-bad"
    corrupt = frozenset(range(0, 500, 10))
    make_traces(traces, 500, fleet_runs.small_seeds(), corrupt)
    for most, expected in ((49, 1), (50, 0)):
        command = _command(traces, out, "--max-failures", str(most))
        code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        converted = len(list(out.glob("events/*.parquet")))
        rejected = len(list(out.glob("rejected/events/*.json")))
        print(
            f"--max-failures {most}: exit code {code}, {converted} converted, {rejected} rejected"
        )
        if (code, converted, rejected) != (expected, 450, 50):
            return ["the corrupt traces are not those that were rejected"]
    return []


if __name__ == "__main__":
    main()
