"""What happens in a recording: events, and the tracks that they are on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from tracetime._kernels.perfetto.writer import EventCalls, Track
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.writer import TraceWriter


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
        """The track of a counter; `unit` is what its values are called."""
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
        """Before its first thread or task; a name that the caller has given stays."""
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
    """What this process is called: by multiprocessing, or as the program is."""
    process: Any = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return str(process.current_process().name)
    program = Path(sys.argv[0] if sys.argv else "")
    # python -m package
    found = program.parent.name if program.name == "__main__.py" else program.name
    return "python" if found in {"", "-c", "-m"} else found
