"""Processes of multiprocessing and concurrent.futures that record together."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from children import parts, rows

import tracetime as tt
from tracetime import Recorder, UsageError

CLOCKS = ["BOOTTIME", "MONOTONIC", "REALTIME"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def pooled(rec: Recorder, n: int) -> int:
    with rec.span("work", n=n):
        rec.instant("within")
    return os.getpid()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_of_processes_records_together(path, method):
    context = multiprocessing.get_context(method)
    with tt.record(path, CLOCKS, interval=0.05) as rec:
        with ProcessPoolExecutor(3, mp_context=context) as pool:
            pids = set(pool.map(pooled, [rec] * 24, range(24)))
        rec.instant("after")
    assert not parts(path)
    found = rows(path)
    assert {row["status"] for row in found} == {"resolved"}
    begun = [row for row in found if row["type"] == "slice_begin"]
    assert sorted(json.loads(row["args"])["n"] for row in begun) == [*range(24)]
    assert {row["pid"] for row in begun} == pids
    assert all(row["process_name"] for row in begun)


PROGRAM = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import tracetime as tt

rec = tt.record("out.pftrace", ["MONOTONIC"])


@rec.trace
def work(n):
    return n


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context(sys.argv[1])) as pool:
        assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_imports_the_program_joins_its_recording(path, method):
    """A process that is started anew runs `tt.record` again."""
    (path.parent / "program.py").write_text(PROGRAM)
    subprocess.run(
        [sys.executable, "-W", "error", "program.py", method],
        cwd=path.parent,
        check=True,
        timeout=600,
    )
    assert not parts(path)
    found = rows(path)
    assert [row["name"] for row in found if row["type"] == "slice_begin"] == ["work"] * 4
    assert {row["process_name"] for row in found} <= {
        f"{'Spawn' if method == 'spawn' else 'ForkServer'}Process-{n}" for n in (1, 2)
    }


CLOSES_FIRST = """
import multiprocessing
import tracetime as tt

rec = tt.record("out.pftrace", ["MONOTONIC"])


def work(n):
    with rec.span("child's"):
        return n


if __name__ == "__main__":
    with rec.span("parent's"):
        pass
    rec.close()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(work, [1]) == [1]
"""


def test_a_process_that_imports_the_program_does_not_replace_what_that_has_closed(path):
    (path.parent / "program.py").write_text(CLOSES_FIRST)
    subprocess.run(
        [sys.executable, "-W", "error", "program.py"], cwd=path.parent, check=True, timeout=600
    )
    assert [row["name"] for row in rows(path) if row["name"]] == ["parent's"]
    (part,) = parts(path)
    assert tt.join_parts(path) == [str(part)]
    names = [row["name"] for row in rows(path) if row["type"] == "slice_begin"]
    assert names == ["parent's", "child's"]


def test_a_process_that_is_no_child_is_refused_a_file_that_is_recorded(path):
    with tt.record(path, CLOCKS), pytest.raises(UsageError, match="another recording writes it"):
        tt.record(path)


def test_a_pool_that_ends_its_processes_loses_nothing(path):
    """The end of the `with` is `terminate`."""
    context = multiprocessing.get_context("fork")
    with tt.record(path, CLOCKS) as rec, context.Pool(2) as pool:
        pool.starmap(pooled, [(rec, n) for n in range(8)], chunksize=1)
    begun = [row for row in rows(path) if row["type"] == "slice_begin"]
    assert sorted(json.loads(row["args"])["n"] for row in begun) == [*range(8)]


def of_its_own(rec: Recorder) -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
    rec.instant("within")
    os.kill(os.getpid(), signal.SIGTERM)


def terminated(rec: Recorder) -> None:
    rec.instant("within")
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(("work", "code"), [(terminated, -signal.SIGTERM), (of_its_own, 7)])
def test_a_process_still_ends_by_the_signal_as_it_would(path, work, code):
    with tt.record(path, CLOCKS) as rec:
        process = multiprocessing.get_context("fork").Process(target=work, args=(rec,))
        process.start()
        process.join(600)
        assert process.exitcode == code


def ended_while_it_closes(rec: Recorder) -> None:
    """A pool tells its processes to end, and ends them while they do."""
    rec.instant("within")
    write = os.pwrite

    def interrupted(file: int, data: bytes, at: int) -> int:
        os.pwrite = write
        os.kill(os.getpid(), signal.SIGTERM)
        return write(file, data, at)

    os.pwrite = interrupted


def test_a_process_that_is_ended_while_it_closes_its_part_loses_nothing(path):
    context = multiprocessing.get_context("fork")
    with tt.record(path, CLOCKS, interval=None) as rec:
        process = context.Process(target=ended_while_it_closes, args=(rec,))
        process.start()
        process.join(600)
        assert process.exitcode == -signal.SIGTERM
    assert [row["name"] for row in rows(path)] == ["within"]


def test_a_process_of_multiprocessing_flushes_at_its_end(path):
    context = multiprocessing.get_context("fork")
    with tt.record(path, CLOCKS, interval=None) as rec:
        process = context.Process(target=pooled, args=(rec, 5), name="the worker")
        process.start()
        process.join()
        assert process.exitcode == 0
    found = rows(path)
    assert [row["name"] for row in found] == ["work", "within", None]
    assert found[0]["process_name"] == "the worker"
