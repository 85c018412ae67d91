"""Events of asyncio's tasks are on a track of the task, whichever thread and order they run in."""

from __future__ import annotations

import asyncio
import contextvars
import random
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live import Live
from recorded import packets_of

import tracetime as tt
from tracetime import Recorder, open_trace


@pytest.fixture
def rec(tmp_path: Path) -> Iterator[Recorder]:
    with tt.record(tmp_path / "out.pftrace", interval=None, sampler=Live()) as recorder:
        yield recorder


def rows(rec: Recorder) -> list[dict[str, Any]]:
    rec.close()
    with open_trace(rec.path) as trace:
        return trace.read_all(names=True).to_pylist()


def nested(rows: list[dict[str, Any]]) -> dict[str, list[tuple[str, ...]]]:
    """By track's name: the path of each slice that ends, as Perfetto nests them."""
    stacks: dict[int, list[str]] = defaultdict(list)
    found = defaultdict(list)
    for row in rows:
        stack = stacks[row["track"]]
        if row["type"] == "slice_begin":
            stack.append(row["name"])
        elif row["type"] == "slice_end":
            found[row["track_name"] or row["thread_name"]].append(tuple(stack))
            stack.pop()
    assert not any(stacks.values())
    return found


def test_tasks_that_take_turns_nest_each_on_its_own(rec):
    async def work(name: str) -> None:
        with rec.span(f"outer {name}"):
            await asyncio.sleep(0)
            with rec.span(f"inner {name}"):
                await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def main() -> None:
        with rec.span("main"):
            tasks = [asyncio.create_task(work(one), name=f"task {one}") for one in "ab"]
            await asyncio.gather(*tasks)

    asyncio.run(main())
    with rec.span("after"):
        pass
    found = nested(rows(rec))
    (main_task,) = (name for name in found if name.endswith(".main"))
    assert found == {
        "task a": [("outer a", "inner a"), ("outer a",)],
        "task b": [("outer b", "inner b"), ("outer b",)],
        main_task: [("main",)],
        "MainThread": [("after",)],
    }


def test_a_thousand_tasks_nest_right(rec):
    """In an order that nobody foresees, with spans of spans, and tasks that begin others."""
    chance = random.Random(7)

    @rec.trace(name="leaf")
    async def leaf() -> None:
        await asyncio.sleep(0)

    async def work(n: int) -> None:
        for _ in range(3):
            with rec.span("outer", n=n):
                for _ in range(chance.randrange(3)):
                    await asyncio.sleep(0)
                await leaf()
                if n < 100 and chance.random() < 0.2:
                    await asyncio.create_task(work(1_000 + n))
        rec.instant("end")

    async def main() -> None:
        await asyncio.gather(*(work(n) for n in range(1_000)))

    asyncio.run(main())
    found = rows(rec)
    paths = [path for paths in nested(found).values() for path in paths]
    assert set(paths) == {("outer",), ("outer", "leaf")}
    ended = [row["track"] for row in found if row["type"] == "instant"]
    assert len(ended) == len(set(ended)) >= 1_000
    assert len(paths) == 6 * len(ended)


def test_tasks_of_one_name_or_one_context_are_apart(rec):
    async def work() -> None:
        for _ in range(3):
            with rec.span("work"):
                await asyncio.sleep(0)

    async def main() -> None:
        shared = contextvars.copy_context()
        tasks = [asyncio.create_task(work(), name="twin", context=shared) for _ in range(2)]
        await asyncio.gather(*tasks)

    asyncio.run(main())
    found = rows(rec)
    assert len({row["track"] for row in found}) == 2
    assert nested(found) == {"twin": [("work",)] * 6}


def test_each_threads_loop_has_its_own_tasks(rec):
    async def work() -> None:
        with rec.span("work"):
            await asyncio.sleep(0.001)

    def run() -> None:
        rec.instant("before the loop")
        asyncio.run(work())

    threads = [threading.Thread(target=run, name=f"thread {n}") for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = rows(rec)
    begun = {row["track"] for row in found if row["type"] == "slice_begin"}
    assert len(begun) == 3
    named = {row["thread_name"] for row in found if row["type"] == "instant"}
    assert named == {"thread 0", "thread 1", "thread 2"}


def test_a_callback_of_the_loop_is_on_the_threads_track(rec):
    async def main() -> None:
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: (rec.instant("callback"), done.set()))
        await done.wait()
        await asyncio.to_thread(rec.instant, "worker")

    asyncio.run(main())
    callback, worker = rows(rec)
    assert callback["thread_name"] == "MainThread"
    assert worker["thread_name"].startswith("asyncio_")


def test_a_tasks_track_is_the_processes(rec):
    async def main() -> None:
        rec.instant("e")

    asyncio.run(main())
    rec.close()
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in packets_of(Path(rec.path).read_bytes())
        if packet.HasField("track_descriptor")
    }
    (task,) = (one for one in tracks.values() if one.name.startswith("Task-"))
    assert task.name.endswith(".main")
    assert tracks[task.parent_uuid].HasField("process")


def test_a_recording_does_not_import_asyncio(tmp_path):
    code = (
        f"import sys, tracetime as tt\n"
        f"with tt.record({str(tmp_path / 'out.pftrace')!r}, ['MONOTONIC'], interval=None) as rec:\n"
        f"    rec.instant('e')\n"
        f"assert 'asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
