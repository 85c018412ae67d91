"""A process that forks while it records: the child leaves the parent's file and locks alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from live import Live
from recorded import names_of, split, waiting

import tracetime as tt


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def test_a_forked_child_writes_nothing_into_its_parents_file(path):
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        rec.instant("parents")
        child = os.fork()
        if child == 0:
            try:
                rec.instant("childs")
                rec.close()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        rec.flush()
        assert names_of(path.read_bytes()) == {"parents": 1}
    assert names_of(path.read_bytes()) == {"parents": 1, "childs": 1}


def test_a_forked_child_neither_samples_nor_closes(path):
    """As it may have forked while a thread sampled: that thread's lock is never given back."""
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        sampled = sampler.samples
        with rec._calls._snapshots:
            child = os.fork()
            if child == 0:
                signal.alarm(600)
                try:
                    assert rec.snapshot() is not None
                    rec.close()
                    assert sampler.samples == sampled
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    assert split(path.read_bytes())


def test_a_forked_child_waits_for_no_lock_of_the_parents(path):
    """Those that other threads hold while one forks are never given back in the child."""
    with tt.record(path, interval=None, sampler=Live(), flush_bytes=1) as rec:
        track = rec.track("parents")
        with rec._writer._lock, rec._writer.tracks._lock, rec._writer._flushing:
            child = os.fork()
            if child == 0:
                signal.alarm(600)
                try:
                    rec.instant("childs", track="childs")
                    rec.counter("childs", 1)
                    rec.flush()
                    for _ in range(1_000):
                        rec.instant("childs", track=track)
                    assert waiting(rec._writer) == 0
                    rec.close()
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        rec.instant("parents", track=track)
    assert names_of(path.read_bytes()) == {"parents": 1, "childs": 1_001}
