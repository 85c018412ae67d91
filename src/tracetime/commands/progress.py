"""The progress of a command: a line on stderr, on terminals, after a second without output.

A thread of its own draws it, so that it goes on whatever the command is doing. Output clears it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from tracetime.text import of_file, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from tracetime.trace.trace import Trace

PATIENCE_S: Final = 1.0
"""Commands that take less stay without it, and do not load what draws it."""

_REFRESH_S: Final = 0.2
_REFRESH_SLOWLY_S: Final = 0.5
"""While clocks are read, which drawing would disturb."""

_IDLE_S: Final = 2.0
"""A trace that was not read for so long is not being read any more."""

_NAME_LENGTH: Final = 30

_shown: Progress | None = None


def clear_progress() -> None:
    """Clear the line, if there is one: output follows."""
    if _shown is not None:
        _shown.clear()


class _ReadState(NamedTuple):
    """The progress of reading a trace, whether it is read again, and when that was."""

    trace: Trace
    at: int
    is_again: bool
    when_s: float


class _Measure(NamedTuple):
    """The progress to draw: a text, and the part that is done (nothing where that is unknown)."""

    text: str
    done: float = 0
    total: float | None = None
    amount: str = ""


class Progress:
    """The progress of a command on the terminal, until its `with` ends.

    Args:
        doing: what the command does while it reads no trace.
        seconds: how long that takes, where it is known.
    """

    def __init__(self, doing: str, seconds: float | None = None) -> None:
        self._doing = doing
        self._seconds = seconds
        self._started = time.monotonic()
        self._is_over = False
        self._to_clear = threading.Event()
        self._drawing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._followed: list[tuple[Trace, Callable[[int], None]]] = []
        self._reading: _ReadState | None = None

    def __enter__(self) -> Self:
        global _shown
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()
            _shown = self
        return self

    def __exit__(self, *_: object) -> None:
        global _shown
        for trace, watch in self._followed:
            trace.on_read.remove(watch)
        if self._thread is not None:
            self._is_over = True
            self._to_clear.set()
            self._thread.join()
            _shown = None

    @contextmanager
    def follow(self, trace: Trace) -> Iterator[Trace]:
        """Show the progress of reading this trace, which is closed at the end; errors name it."""
        self.watch(trace)
        with trace, of_file(trace.path):
            yield trace

    def watch(self, trace: Trace) -> None:
        """Show the progress of reading this trace."""
        watch = partial(self._reach, trace)
        trace.on_read.append(watch)
        self._followed.append((trace, watch))

    def clear(self) -> None:
        """Clear the line, which comes back after a second without output."""
        self._to_clear.set()
        # The thread may have forgotten it, and begun to draw, before it could see it.
        while not self._drawing.acquire(timeout=_REFRESH_S):
            self._to_clear.set()
        self._drawing.release()

    def _reach(self, trace: Trace, at: int) -> None:
        last = self._reading
        is_again = last is not None and last.trace is trace and (last.is_again or at <= last.at)
        self._reading = _ReadState(trace, at, is_again, time.monotonic())

    def _run(self) -> None:
        while True:
            self._to_clear.clear()
            if self._is_over:
                return
            if not self._to_clear.wait(PATIENCE_S):
                with self._drawing:
                    self._show()

    def _show(self) -> None:
        from rich import progress
        from rich.console import Console

        screen = Console(stderr=True)
        if screen.is_dumb_terminal or self._to_clear.is_set():
            self._to_clear.wait()
            return
        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[amount]}", markup=False),
            progress.TimeRemainingColumn(elapsed_when_finished=True),
        )
        with progress.Progress(
            *columns,
            console=screen,
            auto_refresh=False,
            transient=True,
            # Output clears the line, and goes where it belongs.
            redirect_stdout=False,
            redirect_stderr=False,
        ) as bar:
            self._draw(bar)

    def _draw(self, bar: Bar) -> None:
        def add() -> TaskID:
            return bar.add_task(
                now.text, total=now.total, completed=int(now.done), amount=now.amount
            )

        now = self._measure()
        task = add()
        every_s = _REFRESH_S if self._seconds is None else _REFRESH_SLOWLY_S
        while not self._to_clear.wait(every_s):
            before, now = now, self._measure()
            if now.text == before.text and now.done >= before.done:
                bar.update(task, completed=now.done, amount=now.amount)
            else:
                # Something else: it has a speed of its own.
                bar.remove_task(task)
                task = add()
            bar.refresh()

    def _measure(self) -> _Measure:
        now = time.monotonic()
        last = self._reading
        if last is not None and last.at < last.trace.size and now - last.when_s < _IDLE_S:
            size = last.trace.size
            again = " again" if last.is_again else ""
            text = f"reading {printable(Path(last.trace.path).name, _NAME_LENGTH)}{again}"
            return _Measure(text, last.at, size, f"{last.at / 1e6:.1f}/{size / 1e6:.1f} MB")
        if self._seconds is not None:
            done = min(now - self._started, self._seconds)
            return _Measure(self._doing, done, self._seconds, f"{done:.0f}/{self._seconds:g} s")
        return _Measure(self._doing)
