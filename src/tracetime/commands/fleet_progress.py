"""How far a run over many traces is: a line on a terminal, and in a log a line now and then."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tracetime.commands.terminal import echo
from tracetime.text import count

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from tracetime.fleet import Progress

_LOGGED_EVERY_S: Final = 10.0


class FleetProgress:
    """Shows how far a run is, on stderr, until its `with` ends; call it with each `Progress`."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._logged_s = 0.0

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, at: Progress) -> None:
        if self._bar is None:
            if at.seconds - self._logged_s >= _LOGGED_EVERY_S:
                self._logged_s = at.seconds
                echo(line(at), err=True)
        elif self._task is None:
            self._task = self._bar.add_task(line(at), total=at.total, completed=at.done)
        else:
            self._bar.update(self._task, description=line(at), completed=at.done)


def _bar() -> Bar:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def line(at: Progress) -> str:
    """Say how far a run is: traces, MB/s, rejections and the time that is left."""
    speed = at.bytes_done / at.seconds if at.seconds else 0.0
    parts = [f"{at.done:,}/{count(at.total, 'trace')}", f"{speed / 1e6:.1f} MB/s"]
    if at.failed:
        parts.append(f"{at.failed:,} rejected")
    if speed and at.done < at.total:
        parts.append(f"{_clock(round((at.bytes_total - at.bytes_done) / speed))} left")
    return ", ".join(parts)


def _clock(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
