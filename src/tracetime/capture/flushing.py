"""The flushes of a recording into its file: by a thread, or on request."""

from __future__ import annotations

import contextlib
from functools import partial
from queue import Empty, SimpleQueue

from tracetime.capture.calls import Calls
from tracetime.capture.problems import THE_FILE, Problems
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.writer import TraceWriter

# A request to end, which threads wait for.


class Ending:
    """An event like `threading.Event`, but safe for a signal's handler.

    A handler that interrupts a method of an Event, or raises there, may leave its lock locked.
    """

    def __init__(self) -> None:
        self._set = False
        self._queue: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        """Whether the end was requested."""
        return self._set

    def set(self) -> None:
        """Request the end."""
        self._set = True
        self._queue.put(None)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the end is requested, or so long."""
        with contextlib.suppress(Empty):
            self._queue.get(timeout=seconds)
            # For the other threads that wait.
            self._queue.put(None)


class Flushing:
    """The flushes of a recording.

    Args:
        writer: what is flushed.
        calls: the recording's.
        problems: gets what fails.

    Attributes:
        error: why nothing gets into the file at the moment; None while all is well.
        in_background: whether a thread runs `keep_flushing`.
    """

    def __init__(self, writer: TraceWriter, calls: Calls, problems: Problems) -> None:
        self._writer = writer
        self._calls = calls
        self._problems = problems
        # A signal's handler may request a flush: this queue's put may interrupt itself.
        self._requests: SimpleQueue[None] = SimpleQueue()
        self.error: UsageError | None = None
        self.in_background = False

    def request(self) -> None:
        """Flush soon: in the background if a thread does that, else now."""
        if self.in_background:
            self.wake()
        else:
            self.try_flush(wait=False)

    def wake(self) -> None:
        """Let the thread flush, or see that it is to end."""
        self._requests.put(None)

    def flush(self) -> None:
        """Flush now.

        Raises:
            UsageError: the file cannot be written.
        """
        self.try_flush()
        if self.error is not None:
            raise self.error

    def try_flush(self, *, wait: bool = True) -> None:
        """Flush now; a failure is a problem, and is kept in `error`."""
        try:
            self._calls.run(partial(self._writer.flush, wait=wait))
        except UsageError as error:
            self.fail(error)
        else:
            self.error = None

    def fail(self, error: UsageError) -> None:
        """Keep the error for which the file cannot be written."""
        self.error = error
        self._problems.note(THE_FILE, str(error))

    def keep_flushing(self, interval_s: float, stop: Ending) -> None:
        """Flush after every interval, and on request, until `stop` is set."""
        while not stop.is_set():
            with contextlib.suppress(Empty):
                self._requests.get(timeout=interval_s)
            if not stop.is_set():
                self.try_flush()
                if self.error is not None:
                    # More requests do not make a full disk be tried more often.
                    stop.wait(interval_s)
