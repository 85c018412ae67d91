"""`Recorder.profile`: the calls of chosen modules as spans, by `sys.monitoring`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Final, Self

from tracetime._kernels.perfetto.writer import EventCalls, Span, type_name
from tracetime.errors import SourceError, UsageError

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
        self._here = _Spans()
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
        # What an earlier profile was not interested in.
        self._monitoring.restart_events()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, and what this thread is in; nothing if it has ended."""
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
        """The module that was chosen and has this code; None for all other code."""
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
        # What began before the profile has no span.
        if self._here.open:
            span = self._here.open.pop()
            if args:
                span.set(**args)
            span.__exit__(None, None, None)


class _Spans(threading.local):
    """The spans that a thread is in."""

    def __init__(self) -> None:
        self.open: list[Span] = []
