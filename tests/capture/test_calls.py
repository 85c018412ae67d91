"""Calls of a recording that interrupt each other: what is deferred, and done once."""

from __future__ import annotations

import threading
import time

import pytest

from tracetime import SourceError, UsageError
from tracetime.capture.calls import Calls, repeat_if_interrupted
from tracetime.capture.flushing import Ending


class Recorded:
    """What a recording's calls did, in order."""

    def __init__(self):
        self.done = []
        self.calls = Calls(lambda: self.done.append("close"), self.done.append)

    def do(self, *what):
        def work():
            for one in what:
                if callable(one):
                    one()
                else:
                    self.done.append(one)
            return len(what)

        return work


def test_the_end_that_a_call_was_left_comes_after_the_outermost_once():
    rec = Recorded()
    calls = rec.calls
    assert not calls.busy
    inner = rec.do(lambda: rec.done.append(calls.busy), calls.close_after, "inner")
    assert calls.run(rec.do("begin", lambda: calls.run(inner), "end")) == 3
    assert rec.done == ["begin", True, "inner", "end", "close"]
    assert not calls.busy
    calls.run(rec.do("again"))
    assert rec.done[5:] == ["again"]


def test_the_end_comes_too_where_the_call_fails():
    rec = Recorded()

    def fail():
        rec.calls.close_after()
        raise KeyError("own")

    with pytest.raises(KeyError):
        rec.calls.run(fail)
    assert rec.done == ["close"]
    assert not rec.calls.busy


def test_what_comes_in_a_snapshot_is_done_after_it_in_order_and_once():
    rec = Recorded()
    calls = rec.calls
    one, other = rec.do("one", lambda: rec.done.append(calls.sampling)), rec.do("other")

    def sample():
        assert calls.sampling
        for each in (one, other, one):
            calls.after_snapshot(each)
        # Within a snapshot there is no other.
        assert calls.alone(rec.do("nested")) == 1
        assert calls.sampling
        rec.done.append("sampled")
        return 7

    assert not calls.sampling
    assert calls.alone(sample) == 7
    assert rec.done == ["nested", "sampled", "one", True, "other"]
    assert not calls.sampling
    assert calls.alone(rec.do("next")) == 1
    assert rec.done[5:] == ["next"]


@pytest.mark.parametrize("error", [SourceError, UsageError])
def test_a_deferred_call_that_fails_is_reported_and_the_rest_goes_on(error):
    rec = Recorded()

    def fail():
        raise error("it is gone")

    rec.calls.alone(
        rec.do(
            lambda: rec.calls.after_snapshot(fail), lambda: rec.calls.after_snapshot(rec.do("b"))
        )
    )
    assert rec.done == ["it is gone", "b"]
    assert not rec.calls.sampling


def test_a_request_that_is_repeated_while_it_is_done_is_not_done_twice():
    rec = Recorded()

    def work():
        rec.done.append("work")
        rec.calls.after_snapshot(work)

    rec.calls.alone(rec.do(lambda: rec.calls.after_snapshot(work)))
    assert rec.done == ["work"]


def test_other_errors_are_the_callers():
    rec = Recorded()

    def fail():
        raise KeyError("own")

    with pytest.raises(KeyError):
        rec.calls.alone(rec.do(lambda: rec.calls.after_snapshot(fail)))
    assert not rec.calls.sampling
    rec.calls.alone(rec.do("next"))
    assert rec.done == ["next"]


def test_threads_take_their_snapshots_one_after_the_other():
    rec = Recorded()
    here, leave = threading.Event(), threading.Event()
    first = threading.Thread(target=rec.calls.alone, args=(rec.do(here.set, leave.wait, "first"),))
    first.start()
    assert here.wait(600)
    # It is the other thread that is at it.
    assert not rec.calls.sampling
    second = threading.Thread(target=rec.calls.alone, args=(rec.do("second"),))
    second.start()
    second.join(0.05)
    assert rec.done == []
    leave.set()
    first.join(600)
    second.join(600)
    assert rec.done == ["first", "second"]


class Broken(Exception):
    """By a signal's handler."""


@pytest.mark.parametrize(
    ("fails", "times"),
    [([], 1), ([Broken], 2), ([KeyboardInterrupt], 2), ([UsageError], 1), ([SourceError], 1)],
)
def test_what_is_broken_off_is_done_once_more(fails, times):
    left, done = [one("broken") for one in fails], []

    def work():
        done.append(1)
        if left:
            raise left.pop()

    if fails:
        with pytest.raises(fails[0], match="broken"):
            repeat_if_interrupted(work)
    else:
        repeat_if_interrupted(work)
    assert len(done) == times


def test_an_end_reaches_all_who_wait_and_stays():
    ending = Ending()
    assert not ending.is_set()
    start = time.monotonic()
    ending.wait(0.05)
    assert time.monotonic() - start >= 0.05
    over = []
    waiting = [
        threading.Thread(target=lambda: (ending.wait(600), over.append(1))) for _ in range(3)
    ]
    for one in waiting:
        one.start()
    ending.set()
    for one in waiting:
        one.join(600)
    assert (len(over), ending.is_set()) == (3, True)
    ending.wait()
