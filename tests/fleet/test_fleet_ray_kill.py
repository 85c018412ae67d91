"""kill -9 of a worker of Ray, or of the process that runs it: nothing finished is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fleets import (
    NICENESS,
    all_ended,
    assert_complete,
    descendants_of,
    quick_workers,
    wait_for_work,
    write_fleet,
)

pytest_plugins = ["cli"]

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks in /proc"),
]

ray = pytest.importorskip("ray", reason="Ray is not installed")

TRACES = 60
"""`python -m benchmarks.fleet kill` kills ten times each, and a cluster of its own too."""


@pytest.fixture(scope="module")
def cluster():
    """The address of a cluster that exists."""
    with quick_workers():
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()


@pytest.fixture
def traces(tmp_path):
    return write_fleet(tmp_path / "traces", TRACES, corrupt=(7, 31))


def start(spawn, traces, out, *address, **streams):
    words = ("fleet", "convert", traces, "-o", out, "--max-failures", 2, "--workers", 2)
    return spawn(*words, *address, stdout=subprocess.DEVNULL, **streams)


def workers_of(process):
    """The workers of Ray below a process; while they have a task, they are called `ray::one`."""
    return [one for one in descendants_of(process) if command_of(one).startswith(b"ray::one")]


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def rejected(traces):
    return [str(traces / "007.pftrace"), str(traces / "031.pftrace")]


def test_a_killed_worker_costs_nothing(cluster, spawn, traces, tmp_path):
    out, chance = tmp_path / "out", random.Random(1)
    with start(spawn, traces, out, "--address", cluster) as child:
        wait_for_work(out, chance, TRACES // 2)
        end = time.monotonic() + 600
        while not (busy := workers_of(os.getpid())) and time.monotonic() < end:
            pass
        os.kill(chance.choice(busy), signal.SIGKILL)
        assert child.wait(600) == 0
    assert_complete(out, traces, rejected(traces))


def test_after_the_whole_run_was_killed_another_goes_on(cluster, spawn, traces, tmp_path):
    out, chance = tmp_path / "out", random.Random(2)
    with start(spawn, traces, out, "--address", cluster) as child:
        wait_for_work(out, chance, TRACES // 2)
        busy = workers_of(os.getpid())
        child.kill()
        child.wait()
    finished = len(list(out.glob("log/events/*")))
    with start(spawn, traces, out, "--address", cluster) as again:
        assert again.wait(600) == 0
    assert all_ended(busy)
    assert 0 < finished < TRACES - 2
    with start(spawn, traces, out) as third:
        assert third.wait(600) == 0
    assert_complete(out, traces, rejected(traces))


def test_a_local_cluster_ends_with_a_run_that_is_killed_and_a_pool_goes_on(
    spawn, traces, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    monkeypatch.delenv(NICENESS, raising=False)
    with start(spawn, traces, out, "--address", "local") as child:
        wait_for_work(out, random.Random(3), 4)
        busy = workers_of(child.pid)
        raylets = [one for one in descendants_of(child.pid) if b"/raylet" in command_of(one)]
        # Its workers have the priority of any other process of ours.
        assert {os.getpriority(os.PRIO_PROCESS, one) for one in busy} <= {os.nice(0)}
        child.kill()
        child.wait()
    assert raylets and all_ended(raylets + busy)
    with start(spawn, traces, out) as again:
        assert again.wait(600) == 0
    assert_complete(out, traces, rejected(traces))


def test_a_run_that_is_terminated_says_so_and_no_more(spawn, tmp_path):
    """Ray's own answer to SIGTERM has the addresses of its code."""
    traces, out = write_fleet(tmp_path / "traces", 400), tmp_path / "out"
    with (tmp_path / "said").open("w+b") as said:
        with start(spawn, traces, out, "--address", "local", stderr=said) as child:
            wait_for_work(out, random.Random(4), 4)
            child.terminate()
            assert child.wait(600) == 128 + signal.SIGTERM
        said.seek(0)
        *progress, last = said.read().splitlines()
    assert last == b"tracetime: terminated"
    assert all(b"/400 traces" in line for line in progress)
    assert not list(out.glob(".work/*"))
