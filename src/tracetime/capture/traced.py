"""`Recorder.trace` and `profile`: functions whose calls are spans."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
from collections.abc import AsyncIterator, Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any, Final, Self, TypeVar, overload
from weakref import WeakKeyDictionary

from tracetime._kernels.perfetto.writer import EventCalls, Span, Track, type_name
from tracetime.clocks.ids import ClockLike
from tracetime.errors import SourceError, UsageError
from tracetime.formats.perfetto.write.details import Category
from tracetime.formats.perfetto.write.writer import TraceWriter

# `Recorder.profile`: the calls of chosen modules as spans, by `sys.monitoring`.

_TOOLS: Final = range(6)
"""The numbers of tools that `sys.monitoring` has."""


class Profile:
    """Spans of the calls of modules, from its creation to `stop`, in all threads.

    Each call of a Python function of the modules is a span on the track of its thread or task; a
    generator or a coroutine is one each time that it runs.

    Args:
        events: of the recording.
        modules: names of modules, and of packages with all that is in them.

    Raises:
        SourceError: this Python has no `sys.monitoring` (before 3.12), or other tools use it up.
        UsageError: a module that is not found, or is not written in Python.
    """

    def __init__(self, events: EventCalls, modules: tuple[str, ...]) -> None:
        if not hasattr(sys, "monitoring"):
            raise SourceError(
                "profile needs sys.monitoring, of Python 3.12 and later: use @rec.trace here"
            )
        self._monitoring: Any = sys.monitoring
        self._events = events
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._chosen: dict[str, str | None] = {}
        for module in modules:
            self._add(module)
        self._here = _OpenSpans()
        self._tool: int | None = self._free_tool()
        self._monitoring.use_tool_id(self._tool, "tracetime")
        kinds = self._monitoring.events
        begin, end, unwind = self._begin, self._end, self._unwind
        callbacks: dict[int, Callable[..., Any]] = {
            kinds.PY_START: begin,
            kinds.PY_RESUME: begin,
            kinds.PY_THROW: self._throw,
            kinds.PY_RETURN: end,
            kinds.PY_YIELD: end,
            kinds.PY_UNWIND: unwind,
        }
        for kind, callback in callbacks.items():
            self._monitoring.register_callback(self._tool, kind, callback)
        self._monitoring.set_events(self._tool, sum(callbacks))
        # The events that an earlier profile disabled.
        self._monitoring.restart_events()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the profile, and the spans that this thread is in; nothing if it has ended."""
        if self._tool is None:
            return
        self._monitoring.set_events(self._tool, 0)
        self._monitoring.free_tool_id(self._tool)
        self._tool = None
        while self._here.open:
            self._finish()

    def _free_tool(self) -> int:
        for tool in (self._monitoring.PROFILER_ID, *_TOOLS):
            if self._monitoring.get_tool(tool) is None:
                return int(tool)
        raise SourceError("other tools use up sys.monitoring: end one of them first")

    def _add(self, module: str) -> None:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError, AttributeError):
            spec = None
        main = getattr(sys.modules.get(module), "__file__", None)
        if spec is None and main is None:
            raise UsageError(f"there is no module {module!r} to profile")
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        file = main if spec is None else spec.origin
        if not folders and not (file and file.endswith(".py")):
            raise UsageError(f"{module} is not written in Python: its calls cannot be profiled")
        if file:
            self._files[file] = module
        for folder in folders:
            self._folders[str(Path(folder)) + "/"] = module

    def _module(self, code: CodeType) -> str | None:
        """The chosen module that has this code; None for all other code."""
        name = code.co_filename
        try:
            return self._chosen[name]
        except KeyError:
            inside = (one for folder, one in self._folders.items() if name.startswith(folder))
            found = self._files.get(name) or next(inside, None)
            self._chosen[name] = found
            return found

    def _begin(self, code: CodeType, offset: int) -> Any:
        module = self._module(code)
        if module is None:
            return self._monitoring.DISABLE
        self._start(code, module)
        return None

    def _throw(self, code: CodeType, offset: int, error: BaseException) -> None:
        module = self._module(code)
        if module is not None:
            self._start(code, module)

    def _end(self, code: CodeType, offset: int, value: object) -> Any:
        if self._module(code) is None:
            return self._monitoring.DISABLE
        self._finish()
        return None

    def _unwind(self, code: CodeType, offset: int, error: BaseException) -> None:
        if self._module(code) is not None:
            self._finish(exception=type_name(type(error)))

    def _start(self, code: CodeType, module: str) -> None:
        if self._events.ended:
            self.stop()
            return
        span = self._events.span(code.co_qualname, category=module)
        self._here.open.append(span)
        span.__enter__()

    def _finish(self, **args: str) -> None:
        # A call that began before the profile has no span.
        if self._here.open:
            span = self._here.open.pop()
            if args:
                span.set(**args)
            span.__exit__(None, None, None)


class _OpenSpans(threading.local):
    """The spans that a thread is in."""

    def __init__(self) -> None:
        self.open: list[Span] = []


class Events(EventCalls):
    """The events of a recording, and their tracks.

    Args:
        writer: of the trace.
        request_flush: called when so much waits that it is time to flush.
    """

    def __init__(self, writer: TraceWriter, request_flush: Callable[[], None]) -> None:
        self._writer = writer
        self._local = threading.local()
        self._tasks: WeakKeyDictionary[Any, Track] = WeakKeyDictionary()
        super().__init__(
            writer.events,
            request_flush,
            self._track_of,
            self._counter_of,
            self._track_of_task,
            self._local,
        )

    # Tracks

    def track(self, name: str, parent: Track | None = None) -> Track:
        """A track by its own name, within `parent` if given; the same one for the same name."""
        return self._writer.tracks.custom(name, parent)

    def counter_track(
        self, name: str, unit: str | None = None, parent: Track | None = None
    ) -> Track:
        """The track of a counter; `unit` is the unit of its values."""
        return self._writer.tracks.counter(name, unit, parent)

    def process_track(self, pid: int | None = None, name: str | None = None) -> Track:
        """The track of a process, of this one without pid; its first name stays."""
        return self._writer.tracks.process(pid, name)

    def thread_track(
        self, tid: int | None = None, name: str | None = None, *, pid: int | None = None
    ) -> Track:
        """The track of a thread, of the calling one without tid; its first name stays."""
        return self._writer.tracks.thread(tid, name, pid=pid)

    def _track_of(self, track: Any) -> Track:
        if track is None:
            self._name_process()
            found: Track = self._writer.tracks.thread()
            self._local.track = found
            return found
        if isinstance(track, str):
            return self._writer.tracks.custom(track)
        raise UsageError(f"a track is a name or what track() gave, not {track!r}")

    def _name_process(self) -> None:
        """Name the process before its first thread or task; a name that the caller gave stays."""
        self._writer.tracks.process(name=_process_name())

    def _counter_of(self, name: Any) -> Track:
        if not isinstance(name, str):
            raise UsageError(f"a counter is a name or what counter_track() gave, not {name!r}")
        return self._writer.tracks.counter(name)

    def _track_of_task(self, task: Any) -> Track:
        """The track of a task of asyncio, by its name, in that of the process."""
        track = self._tasks.get(task)
        if track is None:
            name = task.get_name()
            if name.startswith("Task-"):
                # asyncio's own names say nothing.
                name += " " + getattr(task.get_coro(), "__qualname__", "")
            self._name_process()
            track = self._tasks[task] = self._writer.tracks.separate(name.strip() or "task")
        return track


def _process_name() -> str:
    """The name of this process: that of multiprocessing, or the program's."""
    process: Any = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return str(process.current_process().name)
    program = Path(sys.argv[0] if sys.argv else "")
    # python -m package
    found = program.parent.name if program.name == "__main__.py" else program.name
    return "python" if found in {"", "-c", "-m"} else found


_F = TypeVar("_F", bound=Callable[..., Any])
_MakeSpan = Callable[[], Span]


class Traced(Events):
    """The events of a recording, and functions whose calls are spans."""

    @overload
    def trace(self, function: _F, /) -> _F: ...

    @overload
    def trace(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        category: Category | None = None,
        clock: ClockLike | None = None,
    ) -> Callable[[_F], _F]: ...

    def trace(
        self,
        function: _F | None = None,
        /,
        *,
        name: str | None = None,
        category: Category | None = None,
        clock: ClockLike | None = None,
    ) -> _F | Callable[[_F], _F]:
        """Make each call of a function a span: `@rec.trace`, or `@rec.trace(category="io")`.

        The span of a coroutine lasts until that returns, what it waits for included. A generator,
        asynchronous or not, is a span each time that it runs, from one `yield` to the next: in
        between its caller runs.

        Args:
            function: a function, a method, also a static or a class method.
            name: of the spans; None for the function's, with its class.
            category, clock: as in `span`.

        Raises:
            UsageError: what is no function.
        """
        if function is None:
            return functools.partial(self._traced, name=name, category=category, clock=clock)
        traced: _F = self._traced(function, name=name, category=category, clock=clock)
        return traced

    def profile(self, *modules: str) -> Profile:
        """Make each call of the modules' functions a span: `with rec.profile("package"):`.

        Python 3.12 and later. Without a `with` it lasts until its `stop`, or the end of the
        recording.

        Args:
            modules: names of modules, and of packages with all that is in them.

        Raises:
            SourceError: this Python is older, or other tools use up `sys.monitoring`.
            UsageError: a module that is not found, or is not written in Python.
        """
        return Profile(self, modules)

    def _traced(
        self, function: Any, *, name: str | None, category: Any, clock: ClockLike | None
    ) -> Any:
        if isinstance(function, staticmethod | classmethod):
            inner = self._traced(function.__func__, name=name, category=category, clock=clock)
            return type(function)(inner)
        if isinstance(function, type) or not callable(function):
            raise UsageError(f"trace takes a function or a method, not {function!r}")
        name = name or getattr(function, "__qualname__", None) or repr(function)
        make = functools.partial(self.span, name, category=category, clock=clock)
        return functools.wraps(function)(_wrapper(function, make))


def _wrapper(function: Callable[..., Any], span: _MakeSpan) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, span)
    if inspect.isgeneratorfunction(function):
        made = _generator(function, span)
        # One that `types.coroutine` has made is awaited.
        return types.coroutine(made) if _is_awaited(function) else made
    if inspect.iscoroutinefunction(function):

        async def traced_coroutine(*args: Any, **kwargs: Any) -> Any:
            with span():
                return await function(*args, **kwargs)

        return traced_coroutine

    def traced(*args: Any, **kwargs: Any) -> Any:
        with span():
            return function(*args, **kwargs)

    return traced


def _is_awaited(function: Callable[..., Any]) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)


def _generator(function: Callable[..., Any], span: _MakeSpan) -> Callable[..., Any]:
    def traced(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        running = function(*args, **kwargs)
        resume = functools.partial(next, running)
        while True:
            with span():
                try:
                    item = resume()
                except StopIteration as end:
                    return end.value
            try:
                sent = yield item
            except GeneratorExit:
                with span():
                    running.close()
                raise
            except BaseException as error:
                resume = functools.partial(running.throw, error)
            else:
                resume = functools.partial(running.send, sent)

    return traced


def _async_generator(function: Callable[..., Any], span: _MakeSpan) -> Callable[..., Any]:
    async def traced(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        running = function(*args, **kwargs)
        resume = anext(running)
        while True:
            with span():
                try:
                    item = await resume
                except StopAsyncIteration:
                    return
            try:
                sent = yield item
            except GeneratorExit:
                with span():
                    await running.aclose()
                raise
            except BaseException as error:
                resume = running.athrow(error)
            else:
                resume = running.asend(sent)

    return traced
