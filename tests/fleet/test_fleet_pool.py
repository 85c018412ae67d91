"""A pool of processes: each trace once, whatever happens to a process."""

import contextlib
import os
import signal
import sys
import threading
import time

import pytest
from fleet_faults import die_if_told, die_once, hold, take
from fleets import all_ended

from tracetime.fleet.pool import run_in_pool

GB = 1 << 30


def died(uri):
    return 0, f"dead {uri}"


def test_every_trace_is_done_once_and_a_process_does_many():
    done = list(run_in_pool(die_if_told, map(str, range(40)), died, 2, GB))
    assert sorted(int(uri) for _, uri in done) == list(range(40))
    assert len({process for process, _ in done}) <= 2


def test_nothing_to_do_is_nothing():
    assert list(run_in_pool(die_if_told, [], died, 2, GB)) == []


@pytest.mark.sweep
def test_a_trace_that_kills_its_process_is_rejected_and_the_others_are_done():
    uris = ["a", "b", "kill 1", *map(str, range(6)), "kill 2", "z"]
    done = [uri for _, uri in run_in_pool(die_if_told, uris, died, 2, GB)]
    told = {"dead kill 1", "dead kill 2"}
    assert sorted(done) == sorted(told | {uri for uri in uris if not uri.startswith("kill")})


def test_a_trace_whose_process_was_killed_by_chance_is_done(tmp_path):
    uris = [str(tmp_path / name) for name in "abc"]
    done = [uri for _, uri in run_in_pool(die_once, uris, died, 2, GB)]
    # Those that were handed out when the first died were done alone, and may have died there.
    assert sorted(uri.removeprefix("dead ") for uri in done) == uris
    assert uris[0] in done


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux")
def test_a_process_takes_no_more_memory_than_it_may():
    found = list(run_in_pool(take, ["100", "600", "100"], died, 1, 400 << 20))
    assert sorted(found) == [-1, 100, 100]


def test_a_process_that_hangs_does_not_keep_a_run_from_being_interrupted(tmp_path):
    begun = tmp_path / "begun"
    running = run_in_pool(hold, ["1", str(begun)], died, 1, GB)
    process = next(running)
    end = time.monotonic() + 600
    while not begun.exists() and time.monotonic() < end:
        time.sleep(0.01)
    closing = threading.Thread(target=running.close, daemon=True)
    try:
        closing.start()
        closing.join(600)
        assert not closing.is_alive()
        assert all_ended([process])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
