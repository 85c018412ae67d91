"""A reader of CTF traces by babeltrace2's Python module: it imports nothing of tracetime.

The module belongs to the system's Python, and babeltrace2 may abort where a file is damaged. So it
runs in a process of its own: one line of JSON comes in (`main`), frames go out. A frame is a line
of JSON; where it has "columns", the bytes of these arrays follow, in this order:

    {"trace": {...}}    a trace whose events may follow, numbered from 0: see `_facts`
    {"first": [i, ns]}  the first event of a stream: the number of its trace, and when it was
    {"dropped": [...]}  what its tracer says that it dropped: events, packets, whether it says how
                        many, event number
    {"backwards": [...]}  events earlier than one before them in their stream: how many, the number
                        of the first, the stream, by how many ns; only without "rows"
    {"columns": {...}}  events: see `Batch`
    {"error": text}     what is wrong in the trace in "folder"; the last frame
    {"end": n}          there is no more
"""

from __future__ import annotations

import json
import math
import mmap
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import bt2
except ImportError:
    sys.exit(77)

BATCH_ROWS = 1 << 16
MOST_TEXT = 16 << 20  # bytes of arguments in a batch
TURN = 4096  # messages that are read between two looks at what else there is to do
SECOND_NS = 10**9
METADATA = "metadata"
MAGICS = (b"\xc1\x1f\xfc\xc1", b"\xc1\xfc\x1f\xc1")  # of packets
MOST_DROPPED = 1 << 63
MOST_STARTS = 8  # of packets that are tried: the same bytes may be in events


class DamagedError(Exception):
    """An error of a damaged trace."""


DAMAGE = (bt2._Error, DamagedError, MemoryError, RecursionError)


class Batch:
    """Columns of events, with the texts that they index.

    timestamps: ns of their clock. traces: the number of the trace. events: index of `classes`, the
    names of events with their log level's domain. threads: index of `procnames`, -1 for none.
    known: 1 for a tid, 2 for a pid, 4 for a cpu. lengths: bytes of each of the arguments.
    """

    def __init__(self) -> None:
        self.timestamps = array("q")
        self.traces = array("I")
        self.events, self.threads = array("i"), array("i")
        self.tids, self.pids, self.cpus = array("q"), array("i"), array("i")
        self.known = array("B")
        self.lengths = array("I")
        self.args: list[bytes] = []
        self.n_text = 0
        self.classes: dict[str | None, int] = {}
        self.procnames: dict[str, int] = {}

    def drop_half_a_row(self) -> None:
        """Drop what was appended of an event that could not be read to its end."""
        n = len(self.traces)
        for column in vars(self).values():
            if isinstance(column, array | list):
                del column[n:]

    def frame(self, position: int) -> list[bytes]:
        """The frame of this batch. position: bytes of packets read so far."""
        columns = {
            name: column.tobytes()
            for name, column in vars(self).items()
            if isinstance(column, array)
        }
        columns["args"] = b"".join(self.args)
        head = {
            "columns": {name: len(data) for name, data in columns.items()},
            "classes": list(self.classes),
            "procnames": list(self.procnames),
            "position": position,
        }
        return [_line(head), *columns.values()]


def _line(head: dict[str, Any]) -> bytes:
    return json.dumps(head).encode() + b"\n"


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _text(value: object) -> str:
    """A text of the file, with what is no UTF-8 replaced."""
    return str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _real(value: Any) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number).replace("nan", "NaN")


def _label(value: Any) -> int | str:
    """The label of an enumeration's value, where it has one; else the value."""
    labels = list(value.labels)
    return _text(labels[0]) if len(labels) == 1 else int(value)


def _fields(value: Any) -> dict[str, Any]:
    return {_text(name): _plain(field) for name, field in value.items()}


_PLAIN: dict[type, Callable[[Any], Any]] = {
    bt2._StringFieldConst: _text,
    bt2._UnsignedIntegerFieldConst: int,
    bt2._SignedIntegerFieldConst: int,
    bt2._BoolFieldConst: bool,
    bt2._BitArrayFieldConst: lambda value: value.value_as_integer,
    bt2._UnsignedEnumerationFieldConst: _label,
    bt2._SignedEnumerationFieldConst: _label,
    bt2._SinglePrecisionRealFieldConst: _real,
    bt2._DoublePrecisionRealFieldConst: _real,
    bt2._StructureFieldConst: _fields,
    bt2._StaticArrayFieldConst: lambda value: [_plain(item) for item in value],
    bt2._DynamicArrayFieldConst: lambda value: [_plain(item) for item in value],
    bt2._VariantFieldConst: lambda value: _plain(value.selected_option),
    bt2._OptionFieldConst: lambda value: _plain(value.field) if value.has_field else None,
}


def _plain(value: Any) -> Any:
    """A field in the types of JSON."""
    return _PLAIN[type(value)](value)


def _facts(trace: Any, clock: Any) -> dict[str, Any]:
    """The facts of a trace and of a clock; the clock is None where it has none."""
    environment = {
        _text(name): int(value) if isinstance(value, bt2._IntegerValueConst) else _text(value)
        for name, value in trace.environment.items()
    }
    facts = {"environment": environment, "uuid": str(trace.uuid or ""), "clock": None}
    if clock is not None:
        facts["clock"] = {
            "name": _text(clock.name or ""),
            "uuid": str(clock.uuid or ""),
            "frequency": clock.frequency,
            "precision": clock.precision,
            "offset_s": clock.offset.seconds,
            "offset_cycles": clock.offset.cycles,
        }
    return facts


class Reader:
    """Takes the messages of traces, stream after stream, and writes frames.

    request: as `main` takes it.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.folder = ""
        self.batch = Batch()
        self.n_events = self.n_traces = self.bits = 0
        self._wants_rows, self._wants_names = request["rows"], request["names"]
        self.damage: dict[str, str] | None = None
        self._known: dict[str, int] = {}
        self._cpu: int | None = None
        self._frequency = SECOND_NS
        self._has_clock = False
        self._stream = ""
        self._trace = 0
        self._begins = False
        self._latest = self._backwards = self._backwards_at = self._most_early = 0
        self._take = {
            bt2._StreamBeginningMessageConst: self._begin_stream,
            bt2._PacketBeginningMessageConst: self._begin_packet,
            bt2._EventMessageConst: self._add_event,
            bt2._DiscardedEventsMessageConst: self._drop_events,
            bt2._DiscardedPacketsMessageConst: self._drop_packets,
        }

    def take(self, message: Any) -> None:
        """Take a message of the stream that is being read."""
        handle = self._take.get(type(message))
        if handle is not None:
            handle(message)

    def damaged(self, error: Exception) -> None:
        """Keep the fault of a trace; the first one counts."""
        self.batch.drop_half_a_row()
        if self.damage is None:
            self.damage = {"error": _message_of(error), "folder": self.folder}

    def flush(self) -> None:
        """Write the events that are waiting."""
        if self.batch.timestamps:
            _write(*self.batch.frame(self.bits // 8))
            self.batch = Batch()

    def end_stream(self) -> None:
        """Tell of the stream that has been read."""
        if self._backwards:
            size_ns = self._most_early * SECOND_NS // self._frequency
            told = [self._backwards, self._backwards_at, self._stream, size_ns]
            _write(_line({"backwards": told}))
        self._latest = self._backwards = self._most_early = 0

    def _begin_stream(self, message: Any) -> None:
        self.end_stream()
        stream = message.stream
        clock = stream.cls.default_clock_class
        self._has_clock = clock is not None
        self._frequency = clock.frequency if clock is not None else SECOND_NS
        self._stream, self._cpu, self._begins = _text(stream.name or stream.id), None, True
        facts = _facts(stream.trace, clock)
        key = json.dumps([self.folder, facts])
        if key not in self._known:
            self._known[key] = self.n_traces
            self.n_traces += 1
            _write(_line({"trace": facts | {"folder": self.folder}}))
        self._trace = self._known[key]

    def _begin_packet(self, message: Any) -> None:
        context = message.packet.context_field
        if context is None:
            return
        self._cpu = int(context["cpu_id"]) if "cpu_id" in context else None
        self.bits += int(context["packet_size"]) if "packet_size" in context else 0

    def _drop_events(self, message: Any) -> None:
        self._drop(message.count, 0)

    def _drop_packets(self, message: Any) -> None:
        self._drop(message.count, 1)

    def _drop(self, count: int | None, what: int) -> None:
        # A count that fell wraps.
        is_known = count is not None and count < MOST_DROPPED
        dropped: list[int] = [0, 0]
        dropped[what] = count if count is not None and is_known else 1
        _write(_line({"dropped": [*dropped, is_known, self.n_events]}))

    def _timestamp(self, message: Any) -> int:
        """ns of the stream's clock since its zero, rounded down; exact at 1 GHz."""
        if not self._has_clock:
            raise DamagedError(f"stream {self._stream} has no clock: its events have no time")
        cycles = message.default_clock_snapshot.value
        at_ns = int(cycles * SECOND_NS // self._frequency)
        if at_ns >= 1 << 63:
            raise DamagedError(
                f"stream {self._stream} has an event at {cycles} cycles of its clock"
            )
        return at_ns

    def _add_event(self, message: Any) -> None:
        if self.n_events >= self.request["most_events"]:
            raise DamagedError(
                f"stream {self._stream} has more than {self.n_events} events, more than its bits"
            )
        at_ns = self._timestamp(message)
        if self._begins:
            self._begins = False
            _write(_line({"first": [self._trace, at_ns]}))
        if self._wants_rows:
            self._add_row(message, at_ns)
        else:
            self._check_order(message)
        self.n_events += 1

    def _check_order(self, message: Any) -> None:
        cycles = message.default_clock_snapshot.value
        if cycles < self._latest:
            if not self._backwards:
                self._backwards_at = self.n_events
            self._backwards += 1
            self._most_early = max(self._most_early, self._latest - cycles)
        self._latest = max(self._latest, cycles)

    def _add_row(self, message: Any, at_ns: int) -> None:
        batch = self.batch
        if self._wants_names:
            self._add_names(message.event)
        batch.timestamps.append(at_ns)
        # The last column: a row is whole that it has.
        batch.traces.append(self._trace)
        if len(batch.timestamps) >= BATCH_ROWS or batch.n_text >= MOST_TEXT:
            self.flush()

    def _add_names(self, event: Any) -> None:
        # All that may fail comes before the columns are appended to.
        name = event.name
        name = None if name is None else _text(name)
        payload = event.payload_field
        args = b"" if payload is None else _encode(_plain(payload)).encode()
        context: dict[str, Any] = {}
        for fields in (event.common_context_field, event.specific_context_field):
            if fields is not None:
                context |= _fields(fields)
        batch = self.batch
        batch.events.append(batch.classes.setdefault(name, len(batch.classes)))
        batch.args.append(args)
        batch.lengths.append(len(args))
        batch.n_text += len(args)
        self._add_context(context)

    def _add_context(self, context: dict[str, Any]) -> None:
        tid, pid = (context.get(name, context.get(f"v{name}")) for name in ("tid", "pid"))
        tid, pid = _within(tid, 63), _within(pid, 31)
        cpu = _within(context.get("cpu_id", self._cpu), 31)
        batch = self.batch
        batch.tids.append(tid or 0)
        batch.pids.append(pid or 0)
        batch.cpus.append(cpu or 0)
        batch.known.append((tid is not None) | (pid is not None) << 1 | (cpu is not None) << 2)
        name = context.get("procname")
        code = -1
        if isinstance(name, str):
            code = batch.procnames.setdefault(name, len(batch.procnames))
        batch.threads.append(code)


def _within(value: Any, bits: int) -> int | None:
    """A number, where there is one of so many bits."""
    return value if isinstance(value, int) and -(1 << bits) <= value < 1 << bits else None


class Sink(bt2._UserSinkComponent):  # type: ignore[misc]
    """Reads all streams of a trace, one after another: no muxer, which wants clocks that agree."""

    def __init__(self, config: Any, params: Any, given: tuple[Reader, int]) -> None:
        self._reader, ports = given
        self._ports_in = [self._add_input_port(str(number)) for number in range(ports)]

    def _user_graph_is_configured(self) -> None:
        self._left = [self._create_message_iterator(port) for port in reversed(self._ports_in)]

    def _user_consume(self) -> None:
        if not self._left:
            raise bt2.Stop
        try:
            for _ in range(TURN):
                self._reader.take(next(self._left[-1]))
        except StopIteration:
            self._left.pop()
        except DAMAGE as error:
            # Raised from here, babeltrace2 would wrap it.
            self._reader.damaged(error)
            self._left.pop()
            if not self._reader.request["partial"]:
                raise bt2.Stop from None


def _open(folder: str) -> tuple[Any, Any]:
    """A graph, and the source of a trace in it."""
    graph = bt2.Graph()
    source = graph.add_component(
        bt2.find_plugin("ctf").source_component_classes["fs"],
        "trace",
        params={"inputs": [folder]},
        logging_level=bt2.LoggingLevel.ERROR,
    )
    return graph, source


def _read(reader: Reader, folder: str) -> None:
    """Read a trace that babeltrace2 can open."""
    graph, source = _open(folder)
    names = sorted(source.output_ports)
    if not names:
        return
    sink = graph.add_component(Sink, "events", obj=(reader, len(names)))
    for number, name in enumerate(names):
        graph.connect_ports(source.output_ports[name], sink.input_ports[str(number)])
    graph.run()


def _read_parts(reader: Reader, folder: str) -> None:
    """Read the streams of a trace that does not open, each alone, up to its last whole packet."""
    for stream in sorted(Path(folder).iterdir()):
        if stream.name == METADATA or not stream.is_file():
            continue
        with tempfile.TemporaryDirectory(dir=reader.request["scratch"]) as alone:
            Path(alone, METADATA).symlink_to(Path(folder, METADATA).resolve())
            part = Path(alone, stream.name)
            part.symlink_to(stream.resolve())
            for end in (None, *_packet_starts(stream)):
                if end is not None:
                    part.unlink(missing_ok=True)
                    _copy(stream, part, end)
                try:
                    _read(reader, alone)
                except DAMAGE as error:
                    reader.damaged(error)
                else:
                    break


def _packet_starts(stream: Path) -> list[int]:
    """The places where the last packets of a stream may begin, the last first: none at 0."""
    if not stream.stat().st_size:
        return []
    found: list[int] = []
    with stream.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        at = len(data)
        while len(found) < MOST_STARTS:
            at = max(data.rfind(magic, 0, at) for magic in MAGICS)
            if at <= 0:
                break
            found.append(at)
    return found


def _copy(stream: Path, part: Path, size: int) -> None:
    with stream.open("rb") as source, part.open("wb") as target:
        while size and (piece := source.read(min(size, 1 << 20))):
            target.write(piece)
            size -= len(piece)


def _read_all(reader: Reader) -> None:
    """Read the folders of the reader's request, up to the damage; with "partial", beyond it."""
    for folder in reader.request["folders"]:
        reader.folder = folder
        try:
            _read(reader, folder)
        except DAMAGE as error:
            reader.damaged(error)
            if reader.request["partial"]:
                _read_parts(reader, folder)
        if reader.damage is not None and not reader.request["partial"]:
            return


def _message_of(error: Exception) -> str:
    if isinstance(error, bt2._Error):
        return _text(error[0].message)
    return str(error) if isinstance(error, DamagedError) else f"it takes too much: {error!r}"


def _write(*parts: bytes) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)


def _end_with_input(scratch: str) -> None:
    while os.read(0, 1):
        pass
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)


def main() -> None:
    """Read the folders of the request on standard input.

    request: "folders" to read, "rows" and "names" (whether to write events, and what they are),
    "partial" (whether to go on after damage), "most_events" that there may be, "memory" (bytes) and
    "seconds" (of CPU time) that it may take, "scratch", a directory for files. Where standard input
    ends, so does it.
    """
    # Whoever started it ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, args=(request["scratch"],), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"],) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"],) * 2)
    reader = Reader(request)
    _read_all(reader)
    reader.end_stream()
    reader.flush()
    _write(_line(reader.damage or {"end": reader.n_events}))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
