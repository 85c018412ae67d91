"""`profile`: the calls of chosen modules as spans."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live import Live

import tracetime as tt
from tracetime import Recorder, SourceError, UsageError, open_trace

NEW = pytest.mark.skipif(sys.version_info < (3, 12), reason="needs Python 3.12")

INNER = """
import asyncio

class Thing:
    def method(self):
        return sorted([3, 1])

def steps():
    yield 1
    yield 2

def fails():
    raise KeyError("k")

def calls(outside):
    Thing().method()
    outside()
    try:
        fails()
    except KeyError:
        pass
    return list(steps())

async def waits(n):
    await asyncio.sleep(0)
    return Thing().method()
"""


@pytest.fixture
def rec(tmp_path: Path) -> Iterator[Recorder]:
    with tt.record(tmp_path / "out.pftrace", interval=None, sampler=Live()) as recorder:
        yield recorder


@pytest.fixture
def inner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "profiled_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "inner.py").write_text(INNER)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("profiled_package.inner")
    for name in ("profiled_package", "profiled_package.inner"):
        del sys.modules[name]


def events(rec: Recorder) -> list[dict[str, Any]]:
    rec.close()
    with open_trace(rec.path) as trace:
        return trace.read_all(names=True).to_pylist()


def texts(rows: list[dict[str, Any]]) -> list[str]:
    return [
        ("+" + row["name"] if row["type"] == "slice_begin" else "-") + (row["args"] or "")
        for row in rows
    ]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="has sys.monitoring")
def test_an_older_python_says_what_to_use(rec):
    with pytest.raises(SourceError, match=r"3\.12 and later: use @rec\.trace"):
        rec.profile("json")


@NEW
@pytest.mark.parametrize("module", ["profiled_package", "profiled_package.inner"])
def test_calls_of_a_module_are_spans(rec, inner, module):
    def outside() -> None:
        sorted([2, 1])

    inner.calls(outside)
    with rec.profile(module):
        inner.calls(outside)
    inner.calls(outside)
    rows = events(rec)
    assert texts(rows) == [
        "+calls",
        *("+Thing.method", "-"),
        *("+fails", '-{"exception":"KeyError"}'),
        *["+steps", "-"] * 3,
        "-",
    ]
    assert rows[0]["category"] == module


@NEW
def test_threads_and_tasks_are_profiled_on_their_tracks(rec, inner):
    async def main() -> None:
        await asyncio.gather(*(inner.waits(n) for n in range(3)))

    with rec.profile("profiled_package"):
        # Kept: as garbage it would be closed, which is another run of it.
        steps = inner.steps()
        thread = threading.Thread(target=steps.__next__, name="other")
        thread.start()
        thread.join()
        asyncio.run(main())
    rows = events(rec)
    by_track: dict[str, list[str]] = {}
    for row, text in zip(rows, texts(rows), strict=True):
        by_track.setdefault(row["thread_name"] or row["track_name"], []).append(text)
    assert by_track.pop("other") == ["+steps", "-"]
    assert len(by_track) == 3
    for track in by_track.values():
        assert track == ["+waits", "-", "+waits", "+Thing.method", "-", "-"]


@NEW
def test_it_ends_with_the_recording_and_leaves_no_tool(rec, inner):
    profile = rec.profile("profiled_package")
    inner.Thing().method()
    rec.close()
    inner.Thing().method()
    assert "tracetime" not in map(sys.monitoring.get_tool, range(6))  # type: ignore[attr-defined,unused-ignore]
    profile.stop()
    assert texts(events(rec)) == ["+Thing.method", "-"]


@NEW
def test_what_cannot_be_profiled_is_refused(rec):
    for module in ("no_such_module", "no_such.module", "time"):
        with pytest.raises(UsageError, match=r"no module|not written in Python"):
            rec.profile(module)
    with rec.profile("json"):
        assert "tracetime" in map(sys.monitoring.get_tool, range(6))  # type: ignore[attr-defined,unused-ignore]
