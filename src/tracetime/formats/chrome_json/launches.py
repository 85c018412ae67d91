"""GPUs in files of PyTorch's profiler: what their work and the calls of the CPU say of the order.

The profiler writes one number (`correlation`) into a call of the runtime and into what that
launched. The GPU stamps its work by a clock of its own, which the profiler has put on the CPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.values import Values, difference
from tracetime.text import count, duration
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import KnownNames


_CALL, _WORK, _WAIT, _OPERATOR = range(4)
"""What a row is, as `KnownNames.launches` has it;"""
_DEVICE, _STREAM, _EVENT, _COPIES, _TO_HOST = range(1, 6)
"""and what it does."""

_MOST_DEVICES: Final = 64
_FEW: Final = 3
_FEW_OF: Final = 0.05
"""So few calls, or so small a part of them, can be wrongly matched."""
_NONE: Final = -1


class Launches:
    """The work of the GPUs of a file, with the calls that launched it.

    Args:
        names: of the file.
        resolution_ns: how far apart two readings can be that the file writes alike.
    """

    def __init__(self, names: KnownNames, resolution_ns: int) -> None:
        self._late_ns = 2 * resolution_ns
        every = _Rows(*np.ascontiguousarray(names.launches.T))
        # Of work at 0 the GPU's time was lost.
        is_work = (every.role == _WORK) & (every.begin != 0)
        self._calls, work = every.at(every.role == _CALL), every.at(is_work)
        self._waits = every.at(every.role == _WAIT)
        self._operators = every.at(every.role == _OPERATOR)
        self.devices: list[int] = np.unique(work.pid)[:_MOST_DEVICES].tolist()
        self._works = {device: work.at(work.pid == device) for device in self.devices}
        self._numbered = {pid: self._calls_of(pid) for pid in np.unique(self._calls.pid).tolist()}

    @property
    def are_launched(self) -> bool:
        """Whether calls say what work they launched."""
        return any(self._process(device) is not None for device in self.devices)

    def _calls_of(self, pid: int) -> _Rows:
        """The calls of a process by their numbers, those alone that no two calls have."""
        calls = self._calls.at((self._calls.pid == pid) & (self._calls.number >= 0))
        _, first, times = np.unique(calls.number, return_index=True, return_counts=True)
        return calls.at(first[times == 1])

    def _process(self, device: int) -> int | None:
        """The process whose calls launched the work of a device; None where two may have."""
        numbers = self._works[device].number
        shared = {pid: int(_has(own.number, numbers).sum()) for pid, own in self._numbered.items()}
        most = max(shared.values(), default=0)
        found = [pid for pid, n in shared.items() if n == most]
        return found[0] if most and len(found) == 1 else None

    def times(self, device: int) -> Values:
        """When the work of a device began and ended, ascending."""
        work = self._works[device]
        return np.sort(np.append(work.begin, work.end))

    def launched(self, device: int) -> tuple[_Rows, _Rows]:
        """The work of a device whose call is known, and these calls."""
        work, process = self._works[device], self._process(device)
        if process is None:
            return work.at(slice(0)), self._calls.at(slice(0))
        calls = self._numbered[process]
        work = work.at(_has(calls.number, work.number))
        return work, calls.at(np.searchsorted(calls.number, work.number))

    def waited(self, device: int) -> tuple[Values, Values]:
        """Ends of work of a device, and ends of the calls that returned after it, by their clocks.

        Those that wait for the device, a stream or an event, and copies to the host; of all work
        that a call waits for, what ends last.
        """
        work, calls = self.launched(device)
        copies = (work.act == _TO_HOST) & (calls.act == _COPIES)
        found = [(work.end[copies], calls.end[copies])]
        waits = list(self._waits_for(device))
        for stream in {wait.stream for wait in waits}:
            own = np.where(work.stream >= 0, work.stream, work.tid)
            chosen = np.flatnonzero((own == stream) | (stream == _NONE))
            chosen = chosen[np.argsort(calls.end[chosen], kind="stable")]
            mine = np.array([wait[1:] for wait in waits if wait.stream == stream])
            # Times that are rounded may seem in order that are not.
            until = np.maximum(mine[:, 0], INT64_MIN + self._late_ns) - self._late_ns + 2
            n = np.searchsorted(calls.end[chosen], until, side="right")
            last = np.maximum.accumulate(work.end[chosen])
            found.append((last[n[n > 0] - 1], mine[n > 0, 1]))
        ends, returned = zip(*found, strict=True)
        return np.concatenate(ends), np.concatenate(returned)

    def _waits_for(self, device: int) -> Iterator[_Wait]:
        """Yield what calls wait for work of a device, where they say of which stream it is."""
        process = self._process(device)
        if process is None:
            return
        alone = [one for one in self.devices if self._process(one) == process] == [device]
        said = {one.number: one for one in _each(self._waits)}
        own = self._calls
        waiting = (own.pid == process) & np.isin(own.act, (_DEVICE, _STREAM, _EVENT))
        begins = dict(zip(*(self._numbered[process][k].tolist() for k in (7, 3)), strict=True))
        for call in _each(own.at(waiting)):
            more = said.get(call.number) if call.number >= 0 else None
            on = call.device
            if on < 0 and more is not None:
                on = more.device if more.device >= 0 else more.pid
            if on != device and not (on < 0 and alone):
                continue
            told = [call] if more is None else [call, more]
            if call.act == _DEVICE:
                yield _Wait(_NONE, call.begin, call.end)
            elif call.act == _STREAM:
                stream = max(one.stream for one in told)
                if stream >= 0:
                    yield _Wait(stream, call.begin, call.end)
            else:
                stream = max(one.wait_stream for one in told)
                recorded = begins.get(max(one.record for one in told))
                if stream >= 0 and recorded is not None:
                    yield _Wait(stream, recorded, call.end)

    def early(self, clock: ClockId, moved: str) -> Iterator[Note]:
        """Yield the note about work that begins before its call, by more than times are rounded.

        clock: of the file; moved: by how much the tube moves which device.
        """
        pairs = [self.launched(device) for device in self.devices]
        if not pairs:
            return
        work, calls = (_Rows.joined(sides) for sides in zip(*pairs, strict=True))
        early = np.flatnonzero(difference(calls.begin, work.begin) > self._late_ns)
        early = early[np.argsort(work.packet[early])]
        if len(early):
            yield _note(clock, moved, len(work.pid), work.at(early), calls.at(early))

    def outside(self, clock: ClockId) -> Iterator[Note]:
        """Yield the note about calls that do not lie within the operator of their External id.

        Of one thread, by more than times are rounded; clock: of the file.
        """
        ids, first, times = np.unique(self._operators.outer, return_index=True, return_counts=True)
        operators = self._operators.at(first[(times == 1) & (ids >= 0)])
        calls = self._calls
        ids, times = np.unique(calls.outer, return_counts=True)
        # Calls of no operator have 0, as well as those of one that has it.
        calls = calls.at((calls.outer > 0) | ((calls.outer == 0) & (times[ids == 0].sum() == 1)))
        calls = calls.at(calls.end != INT64_MAX)
        calls = calls.at(_has(operators.outer, calls.outer))
        operators = operators.at(np.searchsorted(operators.outer, calls.outer))
        of_one = (operators.pid == calls.pid) & (operators.tid == calls.tid)
        calls, operators = calls.at(of_one), operators.at(of_one)
        early = difference(operators.begin, calls.begin)
        late = difference(calls.end, operators.end)
        rows = np.flatnonzero(np.maximum(early, late) > self._late_ns)
        if len(rows) < max(_FEW, len(calls.pid) * _FEW_OF):
            return
        # Numbers that two parts of the profiler gave for themselves match anything.
        low, high = np.quantile(difference(calls.begin, operators.begin)[rows], (0.1, 0.9))
        if high - low > difference(operators.end, operators.begin)[rows].max():
            return
        ends_late = np.median(late[rows]) > self._late_ns
        by = late if ends_late else early
        k = int(rows[np.argmax(by[rows])])
        yield Note(
            "effect-before-cause",
            "late" if ends_late else "early",
            (int(operators.packet[k]), int(calls.packet[k])),
            events=len(rows),
            size_ns=int(by[k]),
            clocks=(clock,),
            values={
                "calls": f"{len(rows):,}",
                "all_calls": count(len(calls.pid), "call"),
                "usual": duration(int(np.median(by[rows]))),
                "packet": int(calls.packet[k]),
                "outer_packet": int(operators.packet[k]),
            },
            places=(calls.begin[rows], calls.packet[rows]),
        )


class _Rows(NamedTuple):
    """Rows of `KnownNames.launches`: columns of one length."""

    role: Values
    act: Values
    packet: Values
    begin: Values
    end: Values
    pid: Values
    tid: Values
    number: Values
    device: Values
    stream: Values
    wait_stream: Values
    record: Values
    outer: Values

    def at(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> _Rows:
        return _Rows(*(column[rows] for column in self))

    @classmethod
    def joined(cls, parts: tuple[_Rows, ...]) -> _Rows:
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


class _Wait(NamedTuple):
    """A call that waits for all work of a stream, -1 for that of all, that was launched `until`."""

    stream: int
    until: int
    end: int


class _Row(NamedTuple):
    """One row."""

    role: int
    act: int
    packet: int
    begin: int
    end: int
    pid: int
    tid: int
    number: int
    device: int
    stream: int
    wait_stream: int
    record: int
    outer: int


def _each(rows: _Rows) -> Iterator[_Row]:
    return (_Row(*one) for one in zip(*(column.tolist() for column in rows), strict=True))


def _has(known: Values, numbers: Values) -> npt.NDArray[np.bool_]:
    """Which numbers are known; of these in order, each once."""
    if not len(known):
        return np.zeros(len(numbers), dtype=np.bool_)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    found: npt.NDArray[np.bool_] = known[at] == numbers
    return found


def _note(clock: ClockId, moved: str, launched: int, work: _Rows, calls: _Rows) -> Note:
    """Return the note about early kernels."""
    by = difference(calls.begin, work.begin)
    k = int(np.argmax(by))
    early = tuple(np.stack([one.packet, one.begin]) for one in (work, calls))
    return Note(
        "effect-before-cause",
        "launched",
        (int(work.packet[k]), int(calls.packet[k])),
        events=2 * len(by),
        size_ns=int(by[k]),
        clocks=(clock,),
        values={
            "kernels": f"{len(by):,}",
            "all_kernels": count(launched, "kernel"),
            "packet": work.packet[k],
            "ns": work.begin[k],
            "call_packet": calls.packet[k],
            "call_ns": calls.begin[k],
            "launched": launched,
            "moved": moved,
            "early": early,
        },
        places=(np.append(work.begin, calls.begin), np.append(work.packet, calls.packet)),
    )
