"""Threads, tasks and processes in one recording: every span is there, nests as it ran, in its bar."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from live import TRACE_TIME

import tracetime as tt
from tracetime import Recorder, diagnose, open_trace

THREADS, TASKS, PROCESSES, SPANS = 16, 1_000, 8, 40
KILLED = 3
CLOCKS = ["BOOTTIME", "MONOTONIC", "REALTIME"]
INNER_CLOCKS = ["BOOTTIME", "MONOTONIC", "REALTIME", "MONOTONIC_RAW"]


def now() -> int:
    return time.clock_gettime_ns(TRACE_TIME)


def spans(rec: Recorder, who: str, n: int) -> None:
    """Pairs of spans; what they say of themselves is read around their beginnings and ends."""
    for i in range(n):
        before = now()
        with rec.span("outer", who=who, i=i, before=before) as outer:
            middle = now()
            clock = INNER_CLOCKS[i % len(INNER_CLOCKS)]
            with rec.span("inner", clock=clock, who=who, i=i, before=middle) as inner:
                inner.set(begun=now())
                last = now()
            outer.set(begun=middle, inner_ends=[last, now()])


def work(rec: Recorder, number: int) -> None:
    threads = [
        threading.Thread(target=spans, args=(rec, name, SPANS), name=name)
        for name in (f"process {number} thread {n}" for n in range(2))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if number == KILLED:
        rec.begin("flushed open")
        rec.flush()
        rec.begin("not flushed")
        os.kill(os.getpid(), signal.SIGKILL)


async def task(rec: Recorder, n: int) -> None:
    before = now()
    with rec.span("outer", who=f"task {n}", i=0, before=before) as outer:
        outer.set(begun=now())
        await asyncio.sleep(0)
        before = now()
        with rec.span("inner", who=f"task {n}", i=0, before=before) as inner:
            inner.set(begun=now())
            await asyncio.sleep(0)
            last = now()
        outer.set(inner_ends=[last, now()])
        await asyncio.sleep(0)


async def tasks(rec: Recorder) -> None:
    async with asyncio.TaskGroup() as group:
        for n in range(TASKS):
            group.create_task(task(rec, n), name=f"task {n}")


def record(path: Path) -> dict[int, str]:
    """Record all of them at once; returns the names of the processes."""
    context = multiprocessing.get_context("fork")
    with tt.record(path, CLOCKS, interval=0.05) as rec:
        rec.process_track(name="the parent")
        processes = [
            context.Process(target=work, args=(rec, n), name=f"worker {n}")
            for n in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        names = (f"thread {n}" for n in range(THREADS))
        threads = [
            threading.Thread(target=spans, args=(rec, name, SPANS), name=name) for name in names
        ]
        for thread in threads:
            thread.start()
        asyncio.run(tasks(rec))
        for one in [*threads, *processes]:
            one.join()
    exits = [process.exitcode for process in processes]
    assert exits == [-signal.SIGKILL if n == KILLED else 0 for n in range(PROCESSES)]
    return {os.getpid(): "the parent"} | {one.pid or 0: one.name for one in processes}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, str]]:
    path = tmp_path_factory.mktemp("together") / "all.pftrace"
    return path, record(path)


def rows(path: Path, policy: Any) -> list[dict[str, Any]]:
    """The slices, by their ids; args as a dict."""
    with open_trace(path) as trace:
        found = trace.slices(policy).read_all().to_pylist()
    assert [row["id"] for row in found] == [*range(len(found))]
    for row in found:
        row["args"] = json.loads(row["args"] or "{}")
    return found


def test_every_span_is_there_once_and_nests(recorded):
    path, processes = recorded
    found = rows(path, "floor")
    spans = [row for row in found if row["name"] in {"outer", "inner"}]
    whos = [f"thread {n}" for n in range(THREADS)]
    whos += [f"process {n} thread {m}" for n in range(PROCESSES) for m in range(2)]
    expected = {(name, who, i) for who in whos for i in range(SPANS) for name in ("outer", "inner")}
    expected |= {(name, f"task {n}", 0) for n in range(TASKS) for name in ("outer", "inner")}
    assert Counter((row["name"], row["args"]["who"], row["args"]["i"]) for row in spans) == Counter(
        expected
    )
    for row in spans:
        who = row["args"]["who"]
        assert row["dur"] >= 0
        if row["name"] == "outer":
            assert (row["depth"], row["parent"]) == (0, None)
        else:
            outer = found[row["parent"]]
            assert row["depth"] == 1
            assert (outer["name"], outer["args"]["who"]) == ("outer", who)
            assert outer["args"]["i"] == row["args"]["i"]
            assert outer["track"] == row["track"]
        if who.startswith("task"):
            assert (row["track_name"], row["tid"]) == (who, None)
        else:
            assert row["thread_name"] == who
        process = f"worker {who.split()[1]}" if who.startswith("process") else "the parent"
        assert row["process_name"] == processes[row["pid"]] == process
    assert len({row["track"] for row in spans}) == len(whos) + TASKS
    rest = [row for row in found if row not in spans]
    assert [(row["name"], row["dur"], row["process_name"]) for row in rest] == [
        ("flushed open", -1, f"worker {KILLED}")
    ]


def test_no_span_is_outside_of_its_bars(recorded):
    path, _ = recorded
    found = rows(path, "tube")
    checked = 0
    for row in found:
        args = row["args"]
        if row["name"] == "flushed open":
            continue
        assert row["earliest"] <= args["begun"]
        assert row["latest"] >= args["before"]
        if row["name"] == "inner":
            first, last = found[row["parent"]]["args"]["inner_ends"]
            assert row["end_earliest"] <= last
            assert row["end_latest"] >= first
            checked += 1
    assert checked == THREADS * SPANS + TASKS + PROCESSES * 2 * SPANS
    with open_trace(path) as trace:
        assert {one.severity for one in diagnose(trace)} <= {"info"}
