"""kill -9 of a process of the pool, or of the one that runs it: nothing finished is lost."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fleets import all_ended, assert_complete, children_of, wait_for_work, write_fleet

pytest_plugins = ["cli"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks in /proc")

TRACES = 40
SEEDS = range(2)
"""`python -m benchmarks.fleet kill` does it ten times each."""


@pytest.fixture
def traces(tmp_path):
    return write_fleet(tmp_path / "traces", TRACES, corrupt=(7, 31))


def rejected(traces):
    return [str(traces / "007.pftrace"), str(traces / "031.pftrace")]


def start(spawn, traces, out, **more):
    words = ("fleet", "convert", traces, "-o", out, "--workers", 2, "--max-failures", 2)
    return spawn(*words, stdout=subprocess.DEVNULL, **more)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_worker_costs_nothing(spawn, traces, tmp_path, seed):
    chance = random.Random(seed)
    out = tmp_path / "out"
    with start(spawn, traces, out) as child:
        wait_for_work(out, chance, TRACES // 2)
        # One of them only tracks what multiprocessing shares.
        for worker in children_of(child.pid):
            if b"spawn_main" in command_of(worker):
                os.kill(worker, signal.SIGKILL)
                break
        assert child.wait(600) == 0
    assert_complete(out, traces, rejected(traces))


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.sweep
@pytest.mark.parametrize("seed", SEEDS)
def test_after_the_whole_run_was_killed_another_goes_on(spawn, traces, tmp_path, seed):
    chance = random.Random(seed)
    out = tmp_path / "out"
    with start(spawn, traces, out, stderr=subprocess.PIPE) as child:
        wait_for_work(out, chance, TRACES // 2)
        workers = children_of(child.pid)
        child.kill()
        # Its last child tells nobody that it removes semaphores.
        assert child.stderr.read() == b""
    finished = len(list(out.glob("log/events/*")))
    with start(spawn, traces, out) as again:
        assert again.wait(600) == 0
    assert all_ended(workers)
    assert finished
    with start(spawn, traces, out) as third:
        assert third.wait(600) == 0
    assert_complete(out, traces, rejected(traces))
