"""The threads of a recording, on this machine's clocks."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from live import Live, wait_for
from recorded import extensions_of, names_of, packets_of

import tracetime as tt
from tracetime import SourceError, open_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def test_snapshots_come_by_themselves(path):
    sampler = Live()
    with tt.record(path, interval=0.01, sampler=sampler, flush_interval=0.01) as rec:
        wait_for(lambda: rec.snapshots > 20)
        rec.instant("e", timestamp=time.clock_gettime_ns(time.CLOCK_REALTIME), clock="REALTIME")
        wait_for(lambda: b"\x01e" in path.read_bytes())
        taken = rec.snapshots
        assert rec.interval == 0.01
    assert rec.snapshots > taken, "the last one comes at the end"
    assert sampler.samples == rec.snapshots
    with open_trace(path) as trace:
        assert trace.clocks.clocks()[0].snapshots == rec.snapshots
    assert not [t for t in threading.enumerate() if t.name.startswith("tracetime")]


@pytest.mark.parametrize(
    "least_failures",
    [
        pytest.param(4, marks=pytest.mark.filterwarnings("ignore:recording")),
        pytest.param(1, marks=pytest.mark.filterwarnings("error"), id="warnings are errors"),
    ],
)
def test_snapshots_that_fail_are_tried_again(path, least_failures):
    sampler = Live()
    good = sampler.sample

    def bad():
        raise SourceError("not now")

    with tt.record(path, interval=0.01, sampler=sampler) as rec:
        sampler.sample = bad
        wait_for(lambda: rec.problems and rec.problems[0].times >= least_failures)
        sampler.sample = good
        taken = rec.snapshots
        wait_for(lambda: rec.snapshots > taken + 3)
    assert [(p.what, p.message) for p in rec.problems] == [("snapshots", "not now")]


def test_threads_record_while_snapshots_go_on(path):
    sampler = Live()
    with tt.record(
        path, interval=0.005, sampler=sampler, flush_interval=0.005, flush_bytes=5_000
    ) as rec:

        def work(number: int) -> None:
            for n in range(3_000):
                rec.begin(f"{number} {n % 20}")
                rec.end()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rec.events_dropped == 0
    data = path.read_bytes()
    assert sum(names_of(data).values()) == 12_000
    assert set(names_of(data).values()) == {150}
    assert sum(p.HasField("clock_snapshot") for p in packets_of(data)) == rec.snapshots
    assert len(extensions_of(data)) == rec.snapshots
