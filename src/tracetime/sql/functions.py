"""The functions of SQL that convert timestamps, by whole columns, on the graphs of traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.analysis.trace_instants import trace_time_of
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import arrow_of, known_of
from tracetime.errors import UsageError
from tracetime.graph.clock_graph import inner
from tracetime.graph.ticks import refuse_floor_of_ticks
from tracetime.sql.streams import Faults
from tracetime.text import printable

if TYPE_CHECKING:
    import duckdb

    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.sql.streams import View
    from tracetime.trace.trace import Trace

# The types of DuckDB whose values are returned as text, in its own format.
#
# Arrow has no type for UHUGEINT, TIMETZ, BIGNUM, BIT, and INTERVAL in files, Python none for dates
# before year 1, infinite dates, and times with ns. Everything else keeps its type.

_EXACT: Final = frozenset(
    (
        "boolean",
        "tinyint",
        "smallint",
        "integer",
        "bigint",
        "hugeint",
        "utinyint",
        "usmallint",
        "uinteger",
        "ubigint",
        "float",
        "double",
        "decimal",
        "varchar",
        "blob",
        "enum",
        "uuid",
        "null",
    )
)
"""Types, by DuckDB's name, that are the same in Arrow, in Python and in a file."""

_TIMES: Final = frozenset(
    (
        "date",
        "time",
        "time_ns",
        "timestamp",
        "timestamp_ms",
        "timestamp_ns",
        "timestamp with time zone",
        "timestamptz_ns",
    )
)
"""Types that are the same in Arrow and in a file."""

_TEXT: Final = "VARCHAR"


def cast(relation: duckdb.DuckDBPyRelation, *, times_as_text: bool) -> duckdb.DuckDBPyRelation:
    """Return the relation with columns cast to text whose type would change or lose values.

    Args:
        times_as_text: cast dates and times, too, for output without a type for all of them.
    """
    kept = _EXACT if times_as_text else _EXACT | _TIMES
    targets = [_target(kind, kept) for kind in relation.types]
    if all(target is None for target in targets):
        return relation
    return relation.project(
        ", ".join(
            f"#{i}" + ("" if target is None else f"::{target}") + f" AS {_quoted(name)}"
            for i, (name, target) in enumerate(zip(relation.columns, targets, strict=True), 1)
        )
    )


def _target(kind: Any, kept: frozenset[str]) -> str | None:
    """Return the type to cast a DuckDBPyType to; None if it can stay."""
    if kind.id in kept:
        return None
    if kind.id == "timestamp_s":
        # Parquet has no type with seconds.
        return "TIMESTAMP" if "timestamp" in kept else _TEXT
    if kind.id in ("list", "array"):
        # An array becomes a list: Arrow cannot write nulls among arrays to a file.
        (_, child), *_ = kind.children
        target = _target(child, kept)
        if target is None and kind.id == "list":
            return None
        return f"{target or child}[]"
    if kind.id == "struct" and kind.children:
        fields = [(name, child, _target(child, kept)) for name, child in kind.children]
        if all(target is None for *_, target in fields):
            return None
        columns = (f"{_quoted(name)} {target or child}" for name, child, target in fields)
        return f"STRUCT({', '.join(columns)})"
    if kind.id == "map":
        (_, key), (_, value) = kind.children
        targets = _target(key, kept), _target(value, kept)
        if targets == (None, None):
            return None
        return f"MAP({targets[0] or key}, {targets[1] or value})"
    return _TEXT


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_Column: TypeAlias = pa.Array | pa.ChunkedArray

FUNCTIONS: Final = ("to_clock", "earliest", "latest")


class _OfClocks:
    """A function of SQL that finds clocks of traces.

    Args:
        traces: by path.
        faults: keeps errors.
    """

    def __init__(self, traces: Mapping[str, Trace], view: View, faults: Faults) -> None:
        self._traces = traces
        self._view = view
        self._faults = faults
        self._named = {name: clock for clock, name in view.labels.items()}

    def _find(
        self, path: str | None, call: str, one: str, other: str
    ) -> tuple[ClockGraph, ClockId, ClockId]:
        graph = trace_of(self._traces, path, call).clocks
        return graph, self._clock(graph, one), self._clock(graph, other)

    def _clock(self, graph: ClockGraph, text: str) -> ClockId:
        """The clock of a name, or of a number as the column `clock` has it: that of any machine."""
        if text in self._named:
            return self._named[text]
        if not text.isdecimal():
            return graph.clock(text)
        alike = [info.clock for info in graph.clocks() if str(info.clock.clock) == text]
        if len(alike) > 1:
            names = ", ".join(printable(graph.name(clock)) for clock in alike)
            raise UsageError(f"clock {text} is one of several: give a name, {names}")
        return alike[0] if alike else graph.clock(text)


class Convert(_OfClocks):
    """One function of SQL: (ts, from, to, trace) columns to a column of ns.

    Args:
        which: `to_clock`, by the policy of the view; `earliest` or `latest`, by the tube.
        traces, faults: see `_OfClocks`.
    """

    def __init__(self, which: str, traces: Mapping[str, Trace], view: View, faults: Faults) -> None:
        super().__init__(traces, view, faults)
        self._which = which
        self._admitted: set[tuple[str | None, ClockId, ClockId]] = set()

    def __call__(self, ts: _Column, src: _Column, dst: _Column, trace: _Column) -> pa.Array:
        """Convert; null if a row does not convert, or one of its arguments is null.

        Raises:
            UsageError: an unknown clock or trace, or floor to a clock that counts ticks.
        """
        try:
            return self._convert_rows(*map(_whole, (ts, src, dst, trace)))
        except BaseException as error:
            self._faults.add(error)
            raise

    def _convert_rows(
        self, ts: pa.Array, src: pa.Array, dst: pa.Array, trace: pa.Array
    ) -> pa.Int64Array:
        values, known = known_of(ts)
        out, missing = np.zeros(len(values), dtype=np.int64), np.ones(len(values), dtype=bool)
        for (start, end, path), rows in _group_rows(src, dst, trace):
            if start is None or end is None:
                continue
            rows = rows[known[rows]]
            got = self._graph_convert(values[rows], start, end, path)
            there, placed = known_of(got)
            out[rows] = np.where(placed, there, 0)
            missing[rows] = ~placed
        return arrow_of(out, missing)

    def _graph_convert(self, values: Any, start: str, end: str, path: str | None) -> Any:
        call = f"{self._which}(timestamp, 'MONOTONIC', 'BOOTTIME', trace)"
        graph, src, dst = self._find(path, call, start, end)
        policy, bars = self._view.policy, self._view.bars
        if self._which == "to_clock":
            if policy == "floor" and (path, src, dst) not in self._admitted:
                refuse_floor_of_ticks(inner(graph), src, dst)
                self._admitted.add((path, src, dst))
            return graph.convert(values, src, dst, policy=policy, bars=bars, errors="mask")
        bounds = graph.convert(
            values, src, dst, policy="tube", bars=bars, bounds=True, errors="mask"
        )
        return getattr(bounds, self._which)


BEFORE: Final = "STRUCT(answer VARCHAR, least_ns BIGINT, most_ns BIGINT)"
_ANSWERS: Final = {-1: "yes", 0: "undecided", 1: "no"}


class Before(_OfClocks):
    """The function of SQL that says whether one reading was before another.

    (ts, clock, ts, clock, trace) columns to a column of `BEFORE`.
    """

    def __call__(
        self, one: _Column, clock: _Column, other: _Column, its_clock: _Column, trace: _Column
    ) -> pa.Array:
        """Compare; null if a row does not convert, or one of its arguments is null.

        Raises:
            UsageError: an unknown clock or trace.
        """
        try:
            return self._compare_rows(*map(_whole, (one, clock, other, its_clock, trace)))
        except BaseException as error:
            self._faults.add(error)
            raise

    def _compare_rows(
        self, one: pa.Array, clock: pa.Array, other: pa.Array, its_clock: pa.Array, trace: pa.Array
    ) -> pa.StructArray:
        (ones, known), (others, also) = known_of(one), known_of(other)
        found: list[dict[str, Any] | None] = [None] * len(ones)
        call = "came_before(ts, 'BOOTTIME', ts, 'MONOTONIC', trace)"
        for (first, second, path), rows in _group_rows(clock, its_clock, trace):
            if first is None or second is None:
                continue
            rows = rows[known[rows] & also[rows]]
            graph, src, dst = self._find(path, call, first, second)
            margins = graph.order(
                (ones[rows], src),
                (others[rows], dst),
                bars=self._view.bars,
                margin=True,
                errors="mask",
            )
            columns = (column.to_pylist() for column in margins)
            for row, order, least, most in zip(rows.tolist(), *columns, strict=True):
                if order is not None:
                    answer = _ANSWERS[order]
                    found[row] = {"answer": answer, "least_ns": least, "most_ns": most}
        fields = {"answer": pa.string(), "least_ns": pa.int64(), "most_ns": pa.int64()}
        return pa.array(found, pa.struct(fields))


class TraceTime:
    """The function of SQL that finds the trace time of an instant: (text, trace) columns to ns.

    Args:
        traces: by path.
        faults: keeps errors.
    """

    def __init__(self, traces: Mapping[str, Trace], view: View, faults: Faults) -> None:
        self._traces = traces
        self._view = view
        self._faults = faults
        self._known: dict[tuple[str, str | None], int] = {}

    def __call__(self, text: _Column, trace: _Column) -> pa.Array:
        """Return trace times; null where the text is.

        Raises:
            UsageError: a text that says no instant, or an unknown trace.
            ConversionError: an instant without a trace time.
        """
        try:
            rows = zip(_whole(text).to_pylist(), _whole(trace).to_pylist(), strict=True)
            return pa.array([self._trace_time(*row) for row in rows], pa.int64())
        except BaseException as error:
            self._faults.add(error)
            raise

    def _trace_time(self, text: str | None, path: str | None) -> int | None:
        if text is None:
            return None
        if (text, path) not in self._known:
            trace = trace_of(self._traces, path, "trace_time('12.5s', trace)")
            found = trace_time_of(trace, text, self._view.policy, self._view.bars)
            self._known[text, path] = found
        return self._known[text, path]


def trace_of(traces: Mapping[str, Trace], path: str | None, call: str) -> Trace:
    """Return the trace with a path, or the only one.

    Raises:
        UsageError: no path, and there are several, of which `call` says how to give one; no such
            trace.
    """
    if path is None and len(traces) > 1:
        raise UsageError(f"there are several traces: give the trace, as in {call}")
    if path is None:
        return next(iter(traces.values()))
    if path not in traces:
        raise UsageError(f"no trace {path!r} is open: the traces are {', '.join(traces)}")
    return traces[path]


def _whole(column: _Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _group_rows(*columns: pa.Array) -> Iterator[tuple[list[Any], npt.NDArray[np.intp]]]:
    """Yield each combination of strings in the columns, and its rows."""
    texts = [column.dictionary_encode("encode") for column in columns]
    if all(len(text.dictionary) == 1 for text in texts):
        # Literals, the usual case.
        yield [text.dictionary[0].as_py() for text in texts], np.arange(len(texts[0]))
        return
    codes = np.zeros(len(texts[0]), dtype=np.int64)
    for text in texts:
        codes = codes * len(text.dictionary) + np.asarray(text.indices)
    _, firsts, groups = np.unique(codes, return_index=True, return_inverse=True)
    for number, first in enumerate(firsts):
        yield [text[int(first)].as_py() for text in texts], np.flatnonzero(groups == number)
