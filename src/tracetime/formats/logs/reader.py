"""A log as a trace: an event for each line that has a time, on the clock of these times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import arrow_of
from tracetime.errors import TraceError
from tracetime.formats.logs.lines import PROGRAMS, program_of
from tracetime.formats.name_columns import texts_at
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.source_times import BackwardStreams, backwards
from tracetime.formats.trace_file import TraceFile, blocks
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.values import Values
from tracetime.text import count
from tracetime.trace.events_table import TYPES, Kind
from tracetime.trace.facts import TraceWarning
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

LONGEST_LINE: Final = 16 << 20
"""Bytes of a line."""

_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_LOCAL_TIME: Final = "log.local_time"
"""The clock of times that do not say their zone."""

_MONTHS: Final = [
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
]
_INSTANT: Final = TYPES.index("instant")
_DIGITS: Final = 9
"""Of a fraction in ns."""
_S: Final = 10**_DIGITS
_LAST_S: Final = 2**63 // _S - 1
"""From 1970, before int64 ns end."""


class _Lines(NamedTuple):
    """Lines that have a time, and what they say.

    Attributes:
        groups: of the pattern, as bytes; empty where a line lacks one.
        columns: the number of each among all lines, and its byte in the file.
        times: in ns; beyond int64 ns they are 0.
        position: the byte of the file that has been reached.
        others: how many lines have no time.
    """

    groups: dict[str, pa.Array]
    columns: dict[str, npt.NDArray[np.uint64]]
    times: _Times
    position: int
    others: int


class _Times(NamedTuple):
    """The times of lines: ns, how much later they may have been, and which are beyond int64."""

    ns: Values
    cut_off_ns: Values
    beyond: npt.NDArray[np.bool_]


class LogTrace(RecordTrace):
    """A log of text."""

    KINDS: ClassVar = (Kind("line"),)
    ROW = "line"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        found = program_of(file.beginning())
        assert found is not None
        self._program = PROGRAMS[found]
        self._has_zone: bool | None = None
        self._others = 0
        self._backward = BackwardStreams()

    def _read_clocks(self) -> FileClocks:
        for lines in self._until_damage(self._lines()):
            self._others += lines.others
            ns = lines.times.ns
            self._backward.add(np.zeros_like(ns), ns, lines.columns["packet"].astype(np.int64))
        name = self._program.clock or (None if self._has_zone is not False else _LOCAL_TIME)
        graph = ClockGraph()
        clock = _REALTIME if name is None else ClockId.parse(name)
        if name is not None:
            graph.declare(ClockDomain(clock, name=name))
        return FileClocks(graph, clock, [0])

    def _read_records(self, names: bool) -> Iterator[Records]:
        for lines in self._lines():
            n = len(lines.times.ns)
            yield Records(
                lines.columns
                | {
                    "clock": np.full(n, self.trace_clock.clock, np.uint32),
                    "timestamp": lines.times.ns,
                },
                _names(lines.groups, n) if names else {},
                lines.position,
                lines.times.cut_off_ns,
                beyond=lines.times.beyond,
            )

    def _lines(self) -> Iterator[_Lines]:
        """Yield the lines of each block.

        Raises:
            TraceError: the file is cut off or corrupt, or a line is too long.
        """
        pending = b""
        offset = number = 0
        for fresh, position, is_end in blocks(self._file, self.options.max_expansion):
            data = pending + fresh
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
            if is_end and data and not data.endswith(b"\n"):
                ends = np.r_[ends, len(data)]
            bounds = np.r_[0, ends]
            whole = int(bounds[-1])
            if len(data) - whole > LONGEST_LINE:
                raise TraceError(f"a line is longer than {LONGEST_LINE >> 20} MiB", offset + whole)
            yield self._of_block(data, bounds, offset, number, position)
            pending, offset, number = data[whole:], offset + whole, number + len(ends)

    def _of_block(
        self, data: bytes, bounds: Values, offset: int, number: int, position: int
    ) -> _Lines:
        n = len(bounds) - 1
        buffers = [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(data)]
        texts = pa.Array.from_buffers(pa.binary(), n, buffers)
        found = pc.extract_regex(texts, pattern=self._program.pattern())
        rows = np.flatnonzero(found.is_valid())
        groups = _groups_of(found.take(pa.array(rows)))
        times, is_time = _times_of(groups)
        if "zone" in groups:
            has_zone = _lengths(groups["zone"]) > 0
            if self._has_zone is None and is_time.any():
                self._has_zone = bool(has_zone[is_time][0])
            is_time &= has_zone == self._has_zone
        rows, kept = rows[is_time], pa.array(is_time)
        return _Lines(
            {name: values.filter(kept) for name, values in groups.items()},
            {
                "packet": (rows + number).astype(np.uint64),
                "offset": (bounds[rows] + offset).astype(np.uint64),
            },
            _Times(times.ns[is_time], times.cut_off_ns[is_time], times.beyond[is_time]),
            position,
            n - len(rows),
        )

    @property
    def format(self) -> str:
        """What its users call such a log."""
        return self._program.name

    @property
    def warnings(self) -> list[TraceWarning]:
        """What the lines do not say."""
        self.prepare(names=False)
        found = []
        if self._has_zone is False:
            text = (
                "the times do not say their zone: they are on the clock log.local_time, and no "
                "other is tied to it; let the program write the zone"
            )
            found.append(TraceWarning(text, 0, 0))
        if self._others:
            text = f"{count(self._others, 'line')} without such a time: no event"
            found.append(TraceWarning(text, 0, 0))
        return found

    def notes(self, code: str) -> Iterator[Note]:
        """Lines over 1 s before one before them; see `Trace`."""
        if code == "stream-backwards":
            self.prepare(names=False)
            found = self._backward
            yield from backwards(found.events, found.first, ["the log"], found.size_ns)

    def prepare(self, names: bool) -> None:
        """Read the file for its clock, unless it is known."""
        _ = self.clocks


def _groups_of(found: pa.StructArray) -> dict[str, pa.Array]:
    return {found.type.field(k).name: found.field(k) for k in range(found.type.num_fields)}


def _lengths(texts: pa.Array) -> Values:
    lengths: Values = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _number(digits: pa.Array) -> Values:
    """The numbers that texts of digits are; 0 of an empty one."""
    texts = pc.utf8_lpad(digits.cast(pa.string()), 1, "0")
    values: Values = texts.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return values


def _times_of(groups: dict[str, pa.Array]) -> tuple[_Times, npt.NDArray[np.bool_]]:
    """The time of each line, and whether there is such a time."""
    n = len(next(iter(groups.values())))
    is_time = np.ones(n, np.bool_)
    if "seconds" in groups:
        seconds = _number(groups["seconds"])
    else:
        seconds, is_time = _wall_seconds(groups)
    fraction, cut_off_ns = np.zeros(n, np.int64), np.full(n, _S - 1)
    if "fraction" in groups:
        digits = groups["fraction"].cast(pa.string())
        fraction = _number(pc.utf8_rpad(digits, _DIGITS, "0"))
        cut_off_ns = 10 ** (_DIGITS - _lengths(digits)) - 1
    beyond = (seconds > _LAST_S) | (seconds < -_LAST_S)
    ns = np.where(beyond, 0, seconds) * _S + np.where(beyond, 0, fraction)
    return _Times(ns, cut_off_ns, beyond), is_time


def _wall_seconds(groups: dict[str, pa.Array]) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Seconds since 1970, UTC (of times without a zone as if they were), and which days exist."""
    names = groups["month"].cast(pa.string())
    named = pc.index_in(names, pa.array(_MONTHS)).fill_null(-1).to_numpy(zero_copy_only=False)
    is_number = pc.utf8_is_digit(names).to_numpy(zero_copy_only=False)
    month = np.where(is_number, _number(pc.if_else(pa.array(is_number), names, "0")) - 1, named)
    day = _number(groups["day"]) - 1
    is_month = (month >= 0) & (month < len(_MONTHS))
    months = (_number(groups["year"]) - 1970) * 12 + np.where(is_month, month, 0)
    begins = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    ends = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    of_day = sum(_number(groups[name]) * by for name, by in _OF_DAY.items())
    seconds = (begins + day) * 86_400 + of_day - _zone_seconds(groups["zone"])
    return seconds, is_month & (day >= 0) & (begins + day < ends)


_OF_DAY: Final = {"hour": 3600, "minute": 60, "second": 1}


def _zone_seconds(zones: pa.Array) -> Values:
    """How far zones are ahead of UTC: `Z` and none are not."""
    found = _groups_of(pc.extract_regex(zones, pattern=r"^(?P<sign>[+-])(?P<h>\d\d):?(?P<m>\d\d)$"))
    hours, minutes = (_number(pc.fill_null(found[name], b"")) for name in ("h", "m"))
    is_behind = pc.equal(found["sign"], b"-").fill_null(False).to_numpy(zero_copy_only=False)
    seconds: Values = np.where(is_behind, -1, 1) * (hours * 3600 + minutes * 60)
    return seconds


def _names(groups: dict[str, pa.Array], n: int) -> dict[str, pa.Array]:
    """The columns of names: texts, numbers where a line has them, the rest as an argument."""
    named: dict[str, pa.Array] = {
        name: _text(groups[name]) for name in ("name", "category", "process_name") if name in groups
    }
    named["type"] = arrow_of(np.full(n, _INSTANT, np.int8))
    for name, kind in (
        ("value", np.float64),
        ("cpu", np.int32),
        ("pid", np.int32),
        ("tid", np.int64),
    ):
        if name in groups:
            digits = _lengths(groups[name])
            missing = (digits == 0) | (digits > 9)
            shown = pc.if_else(pa.array(missing), b"", groups[name])
            named[name] = arrow_of(_number(shown).astype(kind), missing)
    if "text" in groups:
        texts = _text(groups["text"]).to_pylist()
        rest = [json.dumps({"text": text}, ensure_ascii=False) if text else None for text in texts]
        named["args"] = pa.array(rest, pa.string())
    return named


def _text(texts: pa.Array) -> pa.Array:
    """Texts as valid UTF-8, null where there is none."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4).astype(np.int64)
    content = b"" if data is None else data.to_pybytes()
    return texts_at(content, np.where(bounds[1:] > bounds[:-1], bounds[:-1], -1), bounds[1:])
