"""`span` and `trace`: what runs as spans, whatever it is and however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import threading
import types
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from live import Live

import tracetime as tt
from tracetime import Recorder, UsageError, open_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


@pytest.fixture
def rec(path: Path) -> Iterator[Recorder]:
    with tt.record(path, interval=None, sampler=Live()) as recorder:
        yield recorder


def rows(rec: Recorder) -> list[dict[str, Any]]:
    rec.close()
    with open_trace(rec.path) as trace:
        return trace.read_all(names=True).to_pylist()


def spans(rec: Recorder) -> list[str]:
    """The spans as text: `+name` where one begins, `-` where one ends, with arguments."""
    found = []
    for row in rows(rec):
        sign = {"slice_begin": "+", "slice_end": "-", "instant": "!"}[row["type"]]
        found.append(sign + (row["name"] or "") + (row["args"] or ""))
    return found


def test_a_span_is_what_its_with_takes(rec):
    with rec.span("load", category="io", rows=3) as span:
        rec.instant("within")
        span.set(bytes=10)
        span.set(files=2)
    found = rows(rec)
    assert [row["category"] for row in found] == ["io", None, None]
    assert [row["args"] for row in found] == ['{"rows":3}', None, '{"bytes":10,"files":2}']
    first, _, last = (row["trace_time"] for row in found)
    assert first < last


def test_what_raises_ends_its_span_with_its_type(rec):
    with contextlib.suppress(ValueError), rec.span("parse"):
        json.loads("{")
    with contextlib.suppress(KeyError), rec.span("look up") as span:
        span.set(key="k")
        raise KeyError
    assert spans(rec) == [
        "+parse",
        '-{"exception":"json.decoder.JSONDecodeError"}',
        "+look up",
        '-{"key":"k","exception":"KeyError"}',
    ]


def test_a_span_ends_on_the_track_on_which_it_began(rec):
    span = rec.span("handed over")
    span.__enter__()
    thread = threading.Thread(target=span.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    begin, end = rows(rec)
    assert begin["track"] == end["track"]


def test_a_span_begins_once(rec):
    span = rec.span("outer")
    with span, pytest.raises(UsageError, match="has begun already"):
        span.__enter__()
    with span:
        pass
    assert spans(rec) == ["+outer", "-", "+outer", "-"]


def test_a_span_after_the_end_records_nothing(rec, path):
    with rec.span("lasts too long"):
        rec.close()
    with rec.span("too late"):
        pass
    assert rec.trace(lambda: 5)() == 5
    assert spans(rec) == ["+lasts too long"]


def test_a_span_with_what_is_wrong_raises_where_it_begins(rec):
    with pytest.raises(UsageError, match="a category is"), rec.span("e", category=1):  # type: ignore[arg-type]
        raise AssertionError
    with pytest.raises(UsageError, match="name is a string"), rec.span(5):  # type: ignore[arg-type]
        raise AssertionError


def test_functions_and_methods_are_traced(rec):
    class Store:
        @rec.trace
        def load(self, n: int, *, twice: bool = False) -> int:
            """Load."""
            return n * (1 + twice)

        @rec.trace(name="make", category="io")
        @classmethod
        def made(cls) -> Store:
            return cls()

        @staticmethod
        @rec.trace
        def fail() -> None:
            raise OSError("broken")

    store = Store.made()
    assert store.load(2, twice=True) == 4
    with pytest.raises(OSError, match="broken"):
        store.fail()
    assert Store.load.__doc__ == "Load."
    prefix = "test_functions_and_methods_are_traced.<locals>.Store."
    found = rows(rec)
    assert [row["name"] for row in found if row["name"]] == [
        "make",
        prefix + "load",
        prefix + "fail",
    ]
    assert found[0]["category"] == "io"
    assert found[-1]["args"] == '{"exception":"OSError"}'


def test_generators_are_spans_from_yield_to_yield(rec):
    closed = []

    @rec.trace(name="step")
    def numbers() -> Iterator[Any]:
        try:
            got = yield 1
            try:
                yield got
            except ValueError:
                yield "caught"
            return "done"
        finally:
            closed.append(True)

    assert inspect.isgeneratorfunction(numbers)
    running = numbers()
    assert next(running) == 1
    rec.instant("between")
    assert running.send("sent") == "sent"
    assert running.throw(ValueError) == "caught"
    with pytest.raises(StopIteration) as end:
        next(running)
    assert end.value.value == "done"
    unfinished = numbers()
    next(unfinished)
    unfinished.close()
    assert closed == [True, True]
    assert spans(rec) == ["+step", "-", "!between"] + ["+step", "-"] * 5


def test_a_generator_that_raises_says_so(rec):
    @rec.trace(name="step")
    def numbers() -> Iterator[int]:
        yield 1
        raise LookupError

    with pytest.raises(LookupError):
        list(numbers())
    assert spans(rec) == ["+step", "-", "+step", '-{"exception":"LookupError"}']


def test_coroutines_last_until_they_return(rec):
    @rec.trace(name="fetch")
    async def fetch(n: int) -> int:
        await asyncio.sleep(0)
        rec.instant("there")
        if n == 0:
            raise ConnectionError
        return n

    async def main() -> None:
        assert await fetch(5) == 5
        with pytest.raises(ConnectionError):
            await fetch(0)

    assert inspect.iscoroutinefunction(fetch)
    asyncio.run(main())
    assert spans(rec) == [
        "+fetch",
        "!there",
        "-",
        "+fetch",
        "!there",
        '-{"exception":"ConnectionError"}',
    ]


def test_a_generator_that_is_a_coroutine_is_awaited(rec):
    @rec.trace(name="turn")
    @types.coroutine
    def turn() -> Iterator[None]:
        yield

    async def main() -> None:
        await turn()

    asyncio.run(main())
    assert spans(rec) == ["+turn", "-", "+turn", "-"]


def test_asynchronous_generators_are_spans_from_yield_to_yield(rec):
    closed = []

    @rec.trace(name="step")
    async def numbers() -> AsyncIterator[Any]:
        try:
            got = yield 1
            await asyncio.sleep(0)
            try:
                yield got
            except ValueError:
                yield "caught"
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def main() -> None:
        running: Any = numbers()
        assert await anext(running) == 1
        rec.instant("between")
        assert await running.asend("sent") == "sent"
        assert await running.athrow(ValueError) == "caught"
        with pytest.raises(StopAsyncIteration):
            await anext(running)
        unfinished: Any = numbers()
        await anext(unfinished)
        await unfinished.aclose()

    assert inspect.isasyncgenfunction(numbers)
    asyncio.run(main())
    assert closed == [True, True]
    assert spans(rec) == ["+step", "-", "!between"] + ["+step", "-"] * 5


def test_what_is_no_function_is_refused(rec):
    for wrong in (5, int, "name"):
        with pytest.raises(UsageError, match="trace takes a function"):
            rec.trace(wrong)


def depths(rec: Recorder) -> list[tuple[str, int, bool]]:
    """Of the slices: the name, the depth, and whether it ended."""
    rec.close()
    with open_trace(rec.path) as trace:
        found = trace.slices().read_all().to_pylist()
    return [(row["name"], row["depth"], row["dur"] >= 0) for row in found]


@pytest.mark.parametrize("size", [1 << 14, 1 << 15, 40_000])
def test_every_span_of_a_full_file_ends(path, size):
    """Room is kept for the ends of what has begun, and what did not begin does not end."""
    with tt.record(path, interval=None, sampler=Live(), max_size=size) as rec:
        with contextlib.ExitStack() as outer:
            for _ in range(20):
                outer.enter_context(rec.span("outer")).set(text="x" * 1_000)
            for i in range(2_000):
                with rec.span("middle", i=i), rec.span("inner") as inner:
                    inner.set(text="y" * (i % 100))
        assert rec.events_dropped > 0
    found = depths(rec)
    assert all(ended for _, _, ended in found)
    places = {name: {depth for one, depth, _ in found if one == name} for name, _, _ in found}
    assert places["middle"] == {20}
    assert places["inner"] <= {21}
    assert places["outer"] == {*range(20)}
    assert path.stat().st_size <= size


@contextlib.contextmanager
def pair(rec: Recorder, name: str, **args: object) -> Iterator[None]:
    rec.begin(name, args=args)
    yield
    rec.end()


@pytest.mark.parametrize("span", [Recorder.span, pair])
def test_spans_nest_where_some_were_dropped(path, span):
    """What is within a span whose beginning was dropped is within the one around that."""
    with tt.record(path, interval=None, sampler=Live(), buffer_bytes=1 << 13) as rec:
        with span(rec, "outer"):
            for i in range(1_000):
                with span(rec, "middle", i=i):
                    if i % 197 == 196:
                        rec.flush()
                    with span(rec, "inner"):
                        pass
        assert rec.events_dropped > 0
        rec.flush()
        with span(rec, "after"):
            pass
    found = depths(rec)
    assert all(ended for _, _, ended in found)
    assert {one for one in found if one[0] in {"outer", "after"}} == {
        ("outer", 0, True),
        ("after", 0, True),
    }
    assert {depth for name, depth, _ in found if name == "middle"} == {1}
    assert {depth for name, depth, _ in found if name == "inner"} == {1, 2}


def test_beginnings_without_ends_do_not_use_up_the_buffer(path):
    with tt.record(path, interval=None, sampler=Live(), buffer_bytes=1 << 18) as rec:
        for i in range(5_000):
            rec.begin("never ends", i=i)
            if i % 100 == 0:
                rec.flush()
        for _ in range(6_000):
            rec.end()
        rec.instant("after")
        assert rec.events_dropped == 0
    assert ("after", 0, True) in depths(rec)
