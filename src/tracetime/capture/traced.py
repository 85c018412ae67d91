"""`Recorder.trace` and `profile`: functions whose calls are spans."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, TypeVar, overload

from tracetime._kernels.perfetto.writer import Span
from tracetime.capture.events import Events
from tracetime.capture.profiling import Profile
from tracetime.clocks.ids import ClockLike
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.details import Category

_F = TypeVar("_F", bound=Callable[..., Any])
_MakeSpan = Callable[[], Span]


class Traced(Events):
    """Events, and functions whose calls are spans."""

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
