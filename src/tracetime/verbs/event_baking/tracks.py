"""Processes, threads, tracks and counters of a trace that is written, a packet each.

Several traces in one file keep their numbers apart, by a `OutputNumbers` each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tracetime._kernels.perfetto import packets

_MOST_PID: Final = (1 << 31) - 1

_ALL: Final = -1
"""The scope of pids; that of tids is their pid."""

_NO_SEQUENCE: Final = 0
"""trace_processor makes the thread that a sequence describes an argument of its other events."""


class OutputNumbers(NamedTuple):
    """The numbers in the packets of one trace.

    Attributes:
        sequence: their packet sequence.
        first: the number before that of its first track, and of its first flow.
        machine: its machine_id; 0 for the host.
        clock: the number of the clock that timestamps are in; None for that of the trace.
        snapshot: whether packets say what the trace clock is, what REALTIME read, and that the
            trace is baked.
        free_pid: the first pid or tid for what has none that fits: above all of Linux.
    """

    sequence: int = 1
    first: int = 0
    machine: int = 0
    clock: int | None = None
    snapshot: bool = True
    free_pid: int = (1 << 22) + 1


class Owner(NamedTuple):
    """The owner of a track; None for each part that is not known.

    cpu: only where there is neither a process nor a thread.
    """

    pid: int | None = None
    process: str | None = None
    tid: int | None = None
    thread: str | None = None
    cpu: int | None = None


class Tracks:
    """A maker of tracks; `take` gives their packets."""

    def __init__(self, place: OutputNumbers) -> None:
        self._place = place
        self._next = place.first + 1
        self._uuids: dict[tuple[object, ...], int] = {}
        self._pids: dict[int, int] = {}
        self._any: dict[int, int] = {}
        self._unnamed: dict[int, int] = {}
        self._used: set[tuple[int, int]] = set()
        self._free_pid = place.free_pid
        self._pending: list[bytes] = []

    @property
    def free_pid(self) -> int:
        """The first pid or tid that is free for a process or thread whose own does not fit."""
        return self._free_pid

    def take(self) -> bytes:
        """The packets made since the last call."""
        made = b"".join(self._pending)
        self._pending.clear()
        return made

    def of(self, owner: Owner) -> int:
        """The track of a thread, else of a process, else of a CPU; 0 for none."""
        if owner.tid is not None or owner.thread is not None:
            return self._thread(owner)
        if owner.pid is not None or owner.process is not None:
            return self._process(owner.pid, owner.process)[0]
        return 0 if owner.cpu is None else self.within(0, f"CPU {owner.cpu}")

    def within(self, parent: int, name: str) -> int:
        """The track of a name within another; the same number at each call."""
        return self._find_or_add(packets.CUSTOM, parent, name)

    def new(self, count: int) -> int:
        """The first of `count` new numbers in a row, for tracks that the caller writes."""
        first = self._next
        self._next += count
        return first

    def counter(self, parent: int, name: str) -> int:
        """The counter of a name within another track."""
        return self._find_or_add(packets.COUNTER, parent, name)

    def _find_or_add(self, kind: int, parent: int, name: str) -> int:
        key = (kind, parent, name)
        found = self._uuids.get(key)
        if found is None:
            found = self._uuids[key] = self.new(1)
            self._put(found, parent, kind, name)
        return found

    def _process(self, pid: int | None, name: str | None) -> tuple[int, int]:
        """The track of a process, and the pid that it has in the output.

        Two of one pid that have different names are two.
        """
        key = (packets.PROCESS, pid, name)
        found = self._uuids.get(key)
        if found is None and pid is not None:
            # Its name may be known only later, or only elsewhere.
            found = self._any.get(pid) if name is None else self._unnamed.pop(pid, None)
            if found is not None and name is not None:
                self._put(found, 0, packets.PROCESS, name, self._pids[found])
        if found is None:
            found = self.new(1)
            self._pids[found] = self._free(pid, _ALL)
            self._put(found, 0, packets.PROCESS, name, self._pids[found])
            if pid is not None:
                self._any.setdefault(pid, found)
                if name is None:
                    self._unnamed[pid] = found
        self._uuids[key] = found
        return found, self._pids[found]

    def _thread(self, owner: Owner) -> int:
        process, pid = self._process(owner.pid, owner.process)
        key = (packets.THREAD, process, owner.tid, owner.thread)
        found = self._uuids.get(key)
        if found is None:
            found = self._uuids[key] = self.new(1)
            tid = self._free(owner.tid, pid)
            self._put(found, 0, packets.THREAD, owner.thread, pid, tid)
        return found

    def _free(self, number: int | None, scope: int) -> int:
        """The number, where it fits and is free in the scope; else a new one.

        Thread 0 is the kernel's idle one, and is called so.
        """
        least = 0 if scope == _ALL else 1
        one = -1 if number is None else number
        while not least <= one <= _MOST_PID or (scope, one) in self._used:
            one = self._free_pid
            self._free_pid += 1
        self._used.add((scope, one))
        return one

    def _put(
        self, uuid: int, parent: int, kind: int, name: str | None, pid: int = 0, tid: int = 0
    ) -> None:
        self._pending.append(
            packets.track_packet(
                _NO_SEQUENCE, uuid, parent, kind, name, pid, tid, None, self._place.machine
            )
        )
