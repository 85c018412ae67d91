"""The threads of a recording: one takes its snapshots, one flushes events into the file."""

from __future__ import annotations

import threading
import time
from typing import Final

from tracetime.capture.flushing import Ending, Flushing
from tracetime.capture.schedule import Schedule
from tracetime.capture.snapshots import Snapshots
from tracetime.capture.steps import StepWatch

_S: Final = 1_000_000_000


class Background:
    """The threads of a recording; they run until `end`.

    Args:
        snapshots, flushing, schedule: the recording's.
        flush_interval_s: from one flush to the next at most.
        first_s: when the first snapshot was begun, by time.monotonic.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        flushing: Flushing,
        schedule: Schedule,
        flush_interval_s: float,
        first_s: float,
    ) -> None:
        self._snapshots = snapshots
        self._flushing = flushing
        self._schedule = schedule
        self._flush_interval_s = flush_interval_s
        self._first_s = first_s
        self._stop = Ending()
        self._steps = StepWatch()
        self._threads = [
            threading.Thread(target=work, name=f"tracetime {name}", daemon=True)
            for name, work in (("snapshots", self._keep_sampling), ("flush", self._keep_flushing))
        ]

    def start(self) -> None:
        """Start the threads."""
        self._flushing.in_background = True
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let the threads end, and wait for that; may be repeated where it was broken off."""
        self._stop.set()
        self._flushing.wake()
        self._steps.wake()
        for thread in self._threads:
            thread.join()
        self._steps.close()

    def _keep_flushing(self) -> None:
        self._flushing.keep_flushing(self._flush_interval_s, self._stop)

    def _keep_sampling(self) -> None:
        due_s = self._first_s
        while True:
            now_s, interval_s = time.monotonic(), self._schedule.interval_ns / _S
            if due_s <= now_s:
                # A snapshot that comes late is made up for up to the next one; several are not.
                due_s = max(due_s, now_s - interval_s) + interval_s
            else:
                # The last one came early, because a clock was set.
                due_s = min(due_s, now_s + interval_s)
            while not (stopped := self._stop.is_set()):
                left_s = due_s - time.monotonic()
                if left_s <= 0 or self._steps.wait(left_s):
                    break
            if stopped:
                return
            if self._snapshots.note_full():
                # The room that is left is for the end.
                self._stop.wait()
                return
            self._snapshots.try_to_take("snapshots")
