"""CTF traces: a directory of streams, or several of them, as a `Trace`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.errors import TraceError, UsageError
from tracetime.formats.beginnings import CTF_2, CTF_METADATA
from tracetime.formats.ctf.clocks import Copies, TracedClock, file_clocks, identity_of
from tracetime.formats.ctf.process import Frame, Request, frames
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.source_times import backwards
from tracetime.formats.trace_file import TraceFile
from tracetime.formats.trace_folder import TraceFolder
from tracetime.text import count, printable
from tracetime.trace.abilities import Shared
from tracetime.trace.events_table import TYPES, Kind
from tracetime.trace.facts import TraceWarning
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

# The names of CTF events: columns of a batch from `worker`, as columns of names.

_INSTANT: Final = TYPES.index("instant")
_HAS: Final = {"tid": 1, "pid": 2, "cpu": 4}
"""The bits of the worker's column "known"."""


class Surroundings(NamedTuple):
    """The values that all events of a trace share.

    Attributes:
        domain: of the tracer, such as `kernel` or `ust`.
        process, pid: where it is of one process.
    """

    domain: str | None
    process: str | None
    pid: int | None

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> Surroundings:
        """The values in the environment of a trace."""
        domain, process, pid = (environment.get(name) for name in ("domain", "procname", "vpid"))
        fits = isinstance(pid, int) and -(1 << 31) <= pid < 1 << 31
        return cls(
            domain if isinstance(domain, str) else None,
            process if isinstance(process, str) else None,
            pid if fits else None,
        )


def names_of(frame: Frame, traces: list[Surroundings]) -> dict[str, pa.Array]:
    """Return columns as `name_columns` takes them.

    frame: of events with names. traces: by number.
    """
    facts, columns = frame
    which, n = columns["traces"], len(columns["traces"])
    names: list[str | None] = facts["classes"]
    found = {
        "name": _encode(columns["events"], names),
        "category": _categories(columns["events"], names, which, traces),
        "process_name": _encode(which, [trace.process for trace in traces]),
        "thread_name": _encode(columns["threads"], facts["procnames"]),
        "type": arrow_of(np.full(n, _INSTANT, np.int8)),
        "args": _texts(columns["lengths"], columns["args"]),
    }
    for name, bit in _HAS.items():
        missing = columns["known"] & bit == 0
        values = columns[f"{name}s"]
        if name == "pid":
            own = [trace.pid for trace in traces]
            values = np.where(missing, np.array([pid or 0 for pid in own], np.int32)[which], values)
            missing &= np.array([pid is None for pid in own], bool)[which]
        found[name] = arrow_of(np.ascontiguousarray(values), missing)
    return found


def _categories(
    events: npt.NDArray[np.int32],
    names: list[str | None],
    which: npt.NDArray[np.uint32],
    traces: list[Surroundings],
) -> pa.Array:
    """The provider in a name `provider:event`, else the domain of its trace."""
    providers = [name.split(":")[0] if name and ":" in name else None for name in names]
    domains = [trace.domain for trace in traces]
    named = np.array([provider is not None for provider in providers], bool)[events]
    codes = np.where(named, events, which.astype(np.int32) + np.int32(len(names)))
    return _encode(codes, [*providers, *domains])


def _encode(codes: npt.NDArray[Any], texts: Iterable[str | None]) -> pa.Array:
    """Texts by their codes; null for None, and for a negative code."""
    known = list(texts)
    missing = codes < 0
    nothing = np.array([text is None for text in known], bool)
    if nothing.any():
        missing |= nothing[codes]
    indices = arrow_of(np.where(missing, 0, codes).astype(np.int32), missing)
    return pa.DictionaryArray.from_arrays(indices, texts_of([text or "" for text in known]))


def _texts(lengths: npt.NDArray[np.uint32], data: npt.NDArray[np.uint8]) -> pa.Array:
    """Texts one after another; null for one of no length."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    missing = np.packbits(lengths != 0, bitorder="little")
    buffers = [pa.py_buffer(missing), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


_MOST_WARNINGS: Final = 100
_LONGEST_NAME: Final = 100
_CHANGED: Final = "there are traces that were not there before: read the directory when it is whole"


class _FirstPass:
    """The findings of the first pass over a directory.

    Attributes:
        clocks: by number of the trace; None where it has none.
        surroundings: likewise.
        identities: likewise, equal for traces of one session.
        dropped: how many events and packets the tracer dropped, with one for each unknown count.
        dropped_at: the number of the first event after some of them.
        missing, missing_at: of these the packets, and the number of the first event after some.
        uncounted, uncounted_at: how many counts are unknown, and likewise.
        backwards: of each stream whose time runs backwards: how many events are earlier than
            one before them, the number of the first, the stream, and by how many ns at most.
    """

    def __init__(self) -> None:
        self.clocks: list[TracedClock | None] = []
        self.surroundings: list[Surroundings] = []
        self.identities: list[str] = []
        self.dropped = 0
        self.dropped_at: int | None = None
        self.missing = self.uncounted = 0
        self.missing_at = self.uncounted_at = 0
        self.backwards: list[tuple[int, int, str, int]] = []

    def take(self, facts: Mapping[str, Any]) -> None:
        """Take a frame of the worker."""
        if "trace" in facts:
            self.clocks.append(TracedClock.of(facts["trace"]))
            self.surroundings.append(Surroundings.of(facts["trace"]["environment"]))
            self.identities.append(identity_of(facts["trace"]))
        elif "first" in facts:
            number, first_ns = facts["first"]
            clock = self.clocks[number]
            if clock is not None:
                clock.first_ns = min(first_ns, clock.first_ns or first_ns)
        elif "dropped" in facts:
            self._drop(*facts["dropped"])
        elif "backwards" in facts:
            events, at, stream, size_ns = facts["backwards"]
            name = printable(str(stream), _LONGEST_NAME)
            self.backwards.append((int(events), int(at), name, int(size_ns)))

    def _drop(self, events: int, packets: int, is_known: bool, at: int) -> None:
        self.dropped = min(self.dropped + events + packets, INT64_MAX)
        self.dropped_at = at if self.dropped_at is None else self.dropped_at
        if packets:
            self.missing_at = self.missing_at if self.missing else at
            self.missing = min(self.missing + packets, INT64_MAX)
        if not is_known:
            self.uncounted_at = self.uncounted_at if self.uncounted else at
            self.uncounted += 1

    def of_events(self, traces: npt.NDArray[np.uint32]) -> dict[str, npt.NDArray[Any]]:
        """The clock and the machine of events, by the numbers of their traces."""
        ids = [None if clock is None else clock.clock for clock in self.clocks]
        numbers = [(0, 0) if clock is None else (clock.clock, clock.machine) for clock in ids]
        clock, machine = np.array(numbers, np.uint32).reshape(-1, 2).T
        return {"clock": clock[traces], "machine": machine[traces]}

    def cut_off_ns(self, traces: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """The time by which the clock of events may have read more, by their traces."""
        found = [0 if clock is None else clock.cut_off_ns for clock in self.clocks]
        return np.array(found, np.int64)[traces]


class CtfTrace(RecordTrace):
    """The CTF traces of a directory, read by babeltrace2 in a process of its own."""

    KINDS: ClassVar[tuple[Kind, ...]] = (Kind("event"),)
    shares: ClassVar[frozenset[Shared]] = frozenset(("tcp",))
    FORMAT = "CTF trace"

    def __init__(self, folder: TraceFolder, options: OpenOptions) -> None:
        super().__init__(folder, options)
        folders = {path.parent for path in folder.files if path.name == CTF_METADATA}
        _refuse_links_out(folder, folders)
        self._folders = sorted(map(str, folders))
        self._folder = folder
        self.size = sum(size for path, size in folder.files.items() if path.parent in folders)
        self._first_pass = _FirstPass()
        self._copies: Copies | None = None

    def notes(self, code: str) -> Iterator[Note]:
        """Events that were dropped, run backwards, or are there twice; see `Trace`.

        Twice are those of snapshots of one session that overlap. Where the tracer does not say how
        many it dropped, one counts; so does a packet that is missing.
        """
        self.prepare(False)
        found = self._first_pass
        if code == "events-dropped" and found.dropped:
            yield Note(code, packets=(found.dropped_at or 0,), events=found.dropped)
        elif code == "stream-backwards":
            events = sum(one[0] for one in found.backwards)
            first = min((one[1] for one in found.backwards), default=None)
            size_ns = max((one[3] for one in found.backwards), default=None)
            streams = [f"stream {one[2]}" for one in found.backwards]
            yield from backwards(events, first, streams, size_ns)
        elif code == "parts-passed-over":
            if self._copies is None and Copies(found.identities).are_possible:
                for _ in self._until_damage(self._read_records(False)):
                    pass
            if self._copies is not None:
                yield from self._copies.told()

    @property
    def warnings(self) -> list[TraceWarning]:
        """Events dropped without a count, and streams that run backwards: the first hundred."""
        self.prepare(False)
        found = self._first_pass
        warnings = []
        if found.missing:
            warnings.append(
                TraceWarning(
                    f"{count(found.missing, 'packet')} missing: nobody knows how many events were "
                    "in them",
                    0,
                    found.missing_at,
                )
            )
        if found.uncounted:
            warnings.append(
                TraceWarning(
                    "the tracer dropped events or packets, and does not say how many "
                    f"({count(found.uncounted, 'time')}): each counts as one",
                    0,
                    found.uncounted_at,
                )
            )
        return warnings + [
            TraceWarning(
                f"time runs backwards in stream {stream}: {count(events, 'event')} earlier than "
                "what comes before",
                0,
                at,
            )
            for events, at, stream, _ in found.backwards[:_MOST_WARNINGS]
        ]

    def prepare(self, names: bool) -> None:
        """Read the clocks of the whole directory, unless they are known."""
        assert self.clocks is not None

    def _read_clocks(self) -> FileClocks:
        found = _FirstPass()
        for facts, _ in self._until_damage(self._frames()):
            found.take(facts)
        self._first_pass = found
        clocks = [clock for clock in found.clocks if clock is not None]
        return file_clocks(clocks, self.options.max_clocks)

    def _frames(self, *, rows: bool = False, names: bool = False) -> Generator[Frame, None, None]:
        request = Request(self._folders, self.size, self.options.partial, rows, names)
        try:
            yield from frames(request)
        except TraceError as error:
            newer = next(filter(_is_ctf_2, self._folders), None)
            if newer is None:
                raise
            raise TraceError(
                f"{newer}: CTF 2, which babeltrace2 reads from its version 2.1 on: install that, "
                "or trace as CTF 1.8 (lttng create --trace-format=ctf-1.8). The one that is "
                f"installed says: {error.message}"
            ) from None

    def _read_records(self, names: bool) -> Iterator[Records]:
        n_read = 0
        copies = Copies(self._first_pass.identities)
        with closing(self._frames(rows=True, names=names)) as found:
            for frame in found:
                if not frame.columns:
                    continue
                n = len(frame.columns["timestamps"])
                if n and frame.columns["traces"].max() >= len(self._first_pass.clocks):
                    raise self._damage or TraceError(_CHANGED)
                rows = {
                    "packet": np.arange(n_read, n_read + n, dtype=np.uint64),
                    "offset": np.zeros(n, np.uint64),
                    "timestamp": frame.columns["timestamps"],
                } | self._first_pass.of_events(frame.columns["traces"])
                copies.add(frame.columns["traces"], rows["timestamp"], n_read)
                n_read += n
                position = min(int(frame.facts["position"]), self.size)
                self._folder.reach(position)
                given = names_of(frame, self._first_pass.surroundings) if names else {}
                cut_off_ns = self._first_pass.cut_off_ns(frame.columns["traces"])
                yield Records(rows, given, position, cut_off_ns)
        self._copies = copies
        self._folder.reach(self.size)


def _refuse_links_out(folder: TraceFolder, traces: set[Path]) -> None:
    """Refuse links that babeltrace2 would follow to files that are not of the trace."""
    found = next((link for link in folder.links_out if link.parent in traces), None)
    if found is not None:
        raise UsageError(
            f"{printable(str(found))} is a link out of the directory of the trace, and those are "
            "not followed: copy there what it leads to, or remove it"
        )


def _is_ctf_2(folder: str) -> bool:
    try:
        with (Path(folder) / CTF_METADATA).open("rb") as file:
            return file.read(len(CTF_2)) == CTF_2
    except OSError:
        return False


def refuse_part(file: TraceFile, options: OpenOptions) -> NoReturn:
    """Refuse a file of a trace.

    Raises:
        UsageError: always.
    """
    file.close()
    raise UsageError(
        f"{file.path!r} is one file of a CTF trace, which is a directory: give "
        f"{str(Path(file.path).parent)!r}"
    )
