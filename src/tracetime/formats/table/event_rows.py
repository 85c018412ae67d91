"""A table whose rows are events: each has a timestamp, and names the clock that it is of.

What `tracetime convert` writes is one. Trace times that are in the table stay: it has no snapshots.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from tracetime.clocks.ids import UINT32_MAX, ClockId, hashed_name, is_clock
from tracetime.columns.arrays import arrow_of, known_of, texts_of
from tracetime.columns.time_columns import TimeColumn
from tracetime.errors import TraceError, UsageError
from tracetime.formats.perfetto.schema import KINDS
from tracetime.formats.record_trace import FileClocks, Records
from tracetime.formats.table.event_names import NAMES, names_of
from tracetime.formats.table.given_places import (
    BARS,
    GIVEN,
    Tally,
    bars_of,
    given_places,
    has_bars,
    is_converted,
    is_placed,
    policy_of,
)
from tracetime.formats.table.layouts import EventColumns
from tracetime.formats.table.row_columns import EARLIER, Rows, margins_of
from tracetime.formats.table.slices import TableSlices
from tracetime.formats.table.snapshot_tables import preferred_clock
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.text import printable
from tracetime.trace.event_clocks import distinct, machine_indexes
from tracetime.trace.events_table import CUT_OFF, TYPES, Columns, Kind, Vocabulary

# A table whose columns are times of events, each column of one clock.
#
# A column is of a clock by its name (``begin:MONOTONIC``) or by the metadata of its field.

_MOST_TIMES: Final = 100


class EventColumnTable:
    """Events by column: a row has one of each, in the order of the columns.

    Attributes:
        placed_by: the policy by which its times came to one clock; None where they did not.
    """

    def __init__(self, schema: pa.Schema, layout: EventColumns) -> None:
        if len(layout.clocks) > _MOST_TIMES:
            raise TraceError(f"there are more than {_MOST_TIMES} columns of times")
        self._layout = layout
        self._bars = bars_of(schema, layout.clocks)
        converted = is_converted(schema, layout.clocks)
        self.placed_by = policy_of(schema, bool(self._bars)) if converted else None
        self._names = [name for name in schema.names if name in NAMES]
        self._ids = {name: _clock(name, text) for name, text in layout.clocks.items()}

    def columns(self, names: bool) -> list[str]:
        """The columns that are read."""
        bars = [side for sides in self._bars.values() for side in sides]
        return [*self._ids, *bars, *(one for one in self._names if names and one not in self._ids)]

    def learn(self, rows: Rows) -> None:
        """Note nothing: the schema says it all."""

    @property
    def vocabulary(self) -> Vocabulary:
        """A kind for each column."""
        kinds = tuple(Kind(kind) for kind in self._layout.kinds.values())
        return Vocabulary(kinds, np.array([-1], np.int16), texts_of([]))

    def clocks(self) -> FileClocks:
        """The clocks of the columns; nothing ties them."""
        trace_clock = preferred_clock(list(self._ids.values()))
        graph = ClockGraph(trace_clock)
        inner(graph).state.take_names(*self._layout.clocks.values())
        return FileClocks(graph, trace_clock, [0])

    def records(self, rows: Rows, names: bool, position: int, tally: Tally) -> Records:
        """The events of a batch; a null is none."""
        given = [rows.times(name) for name in self._ids]
        clocks = list(self._ids.values())
        n, each = len(rows), len(clocks)
        row = np.repeat(np.arange(n), each)
        columns: Columns = {
            "packet": row.astype(np.uint64) + np.uint64(rows.first_row),
            "item": np.tile(np.arange(each, dtype=np.uint32), n),
            "kind": np.tile(np.arange(each, dtype=np.uint8), n),
            "clock": np.tile(np.array([one.clock for one in clocks], np.uint32), n),
            "sequence": np.tile(np.array([one.sequence for one in clocks], np.uint32), n),
            "timestamp": np.stack([one.values for one in given], axis=1).ravel(),
            "offset": np.zeros(n * each, np.uint64),
        }
        margins = [margins_of(one) for one in given]
        for side in (EARLIER, CUT_OFF):
            columns[side] = np.stack([one[side] for one in margins], axis=1).ravel()
        if self._bars:
            columns |= self._given_bars(rows, given)
        beyond = np.stack([one.is_beyond() for one in given], axis=1).ravel()
        there = ~np.stack([one.is_missing() for one in given], axis=1).ravel()
        kept = np.flatnonzero(there)
        columns = {name: column[kept] for name, column in columns.items()}
        self._count(given, rows.first_row, tally)
        named = self._named(rows, row[kept], columns) if names else {}
        return Records(columns, named, position, beyond=beyond[kept])

    def _given_bars(self, rows: Rows, given: list[TimeColumn]) -> Columns:
        """The bars that the table has: earliest after latest where it has none."""
        sides = [
            [rows.times(side) for side in self._bars[name]] if name in self._bars else [own, own]
            for name, own in zip(self._ids, given, strict=True)
        ]
        missing = [one.is_missing() | other.is_missing() for one, other in sides]
        missing = [
            none | (name not in self._bars) for none, name in zip(missing, self._ids, strict=True)
        ]
        return {
            GIVEN + name: np.stack(
                [
                    np.where(none, no_bar, pair[which].values)
                    for pair, none in zip(sides, missing, strict=True)
                ],
                axis=1,
            ).ravel()
            for which, (name, no_bar) in enumerate(zip(BARS, (1, 0), strict=True))
        }

    def _count(self, given: list[TimeColumn], first_row: int, tally: Tally) -> None:
        missing = [one.is_missing() for one in given]
        begin, end = self._layout.begin, self._layout.end
        if begin is None or end is None:
            tally.timeless.add(np.logical_and.reduce(missing), first_row)
            return
        order = list(self._ids)
        first, last = order.index(begin), order.index(end)
        tally.timeless.add(missing[first], first_row)
        if self._ids[begin] == self._ids[end]:
            there = ~missing[first] & ~missing[last]
            tally.reversed.add(there & (given[last].values < given[first].values), first_row)

    def slices(self) -> TableSlices | None:
        """The slices of the rows, to be added; None where a row has no begin and end."""
        begin, end = self._layout.begin, self._layout.end
        if begin is None or end is None:
            return None
        trace_clock = preferred_clock(list(self._ids.values()))
        return TableSlices(
            begin, end, (self._ids[begin] == trace_clock, self._ids[end] == trace_clock)
        )

    def slice_clocks(self) -> tuple[str, str]:
        """The clocks of begin and end, of a table that has them."""
        begin, end = str(self._layout.begin), str(self._layout.end)
        return self._layout.clocks[begin], self._layout.clocks[end]

    def _named(
        self, rows: Rows, row: np.ndarray[tuple[int], np.dtype[np.int64]], columns: Columns
    ) -> dict[str, pa.Array]:
        named = {name: column.take(arrow_of(row)) for name, column in names_of(rows).items()}
        begin, end = self._layout.begin, self._layout.end
        if "type" not in named and begin is not None and end is not None:
            codes = np.full(len(self._ids), TYPES.index("instant"), np.int8)
            order = list(self._ids)
            codes[order.index(begin)] = TYPES.index("slice_begin")
            codes[order.index(end)] = TYPES.index("slice_end")
            named["type"] = arrow_of(codes[columns["kind"]])
        return named


def _clock(column: str, text: str) -> ClockId:
    try:
        clock = ClockId.parse(text)
    except UsageError as error:
        raise TraceError(f"column {column!r} names its clock: {error}") from error
    if clock.machine or clock.file:
        raise TraceError(f"column {column!r} is of clock {text}: clocks of one machine are read")
    return clock


TRACE_CLOCK_KEY: Final = b"tracetime.trace_clock"

_BOOTTIME: Final = ClockId.parse("BOOTTIME")
_MOST_MACHINES: Final = 10_000
_MOST_KINDS: Final = 127
_MOST_PAYLOADS: Final = 32_767
_WHOLE: Final = {
    "packet": (np.uint64, 2**63 - 1),
    "item": (np.uint32, UINT32_MAX),
    "packet_sequence": (np.uint32, UINT32_MAX),
    "offset": (np.uint64, 2**63 - 1),
}
_KNOWN_KINDS: Final = {kind.name: kind for kind in KINDS}
_PLACED_COLUMNS: Final = ("trace_time", "status", *BARS)


class EventRowTable:
    """Events by row; `learn` is called with all of them before the rest.

    Args:
        schema: of the table.
        most_clocks: so many its rows may name.

    Attributes:
        placed_by: the policy by which the table has placed its events; None where it has not.
    """

    def __init__(self, schema: pa.Schema, most_clocks: int) -> None:
        self._is_placed = is_placed(schema.names)
        bars = has_bars(schema.names)
        self.placed_by = policy_of(schema, bars) if self._is_placed else None
        self._names = schema.names
        self._most_clocks = most_clocks
        self._kinds: dict[str, int] = {}
        self._payloads: dict[str, int] = {}
        self._clocks: set[tuple[int, int, int]] = set()
        self._moved: set[tuple[int, int, int]] = set()
        self._parsed: dict[str, ClockId] = {}
        named = (schema.metadata or {}).get(TRACE_CLOCK_KEY)
        self._said = None if named is None else _clock_in_metadata(named)

    def columns(self, names: bool) -> list[str]:
        """The columns that are read."""
        used = {"clock", "timestamp", "sequence", "machine", "kind", "payload", *_WHOLE}
        used |= set(_PLACED_COLUMNS) if self._is_placed else set()
        used |= set(NAMES) if names else set()
        return [name for name in self._names if name in used]

    def learn(self, rows: Rows) -> None:
        """Note which kinds, clocks and machines there are."""
        for name, known, most in (
            ("kind", self._kinds, _MOST_KINDS),
            ("payload", self._payloads, _MOST_PAYLOADS),
        ):
            column = rows.text(name)
            for text in () if column is None else column.dictionary.to_pylist():
                known.setdefault(text, len(known))
            if len(known) > most:
                raise TraceError(f"column {name!r} has more than {most} texts")
        clocks = rows.clocks("clock", parsed=self._parsed)
        triples, which = distinct(*clocks)
        self._clocks.update(triples)
        if len(self._clocks) > self._most_clocks:
            raise TraceError(
                f"the rows name more than {self._most_clocks} clocks; if they really do, raise the "
                "limit (max_clocks, --max-clocks)"
            )
        if len({machine for _, _, machine in self._clocks}) > _MOST_MACHINES:
            raise TraceError(f"there are more than {_MOST_MACHINES} machines")
        if self._is_placed and self._said is None:
            there, is_there = known_of(self._trace_times(rows))
            moved = is_there & (rows.times("timestamp").values != there)
            counts = np.bincount(which[moved], minlength=len(triples))
            self._moved.update(triples[n] for n in np.flatnonzero(counts))

    @property
    def vocabulary(self) -> Vocabulary:
        """The kinds and payloads that have been learnt."""
        names = self._kinds or ["event"]
        kinds = tuple(_KNOWN_KINDS.get(name, Kind(name)) for name in names)
        index = np.arange(-1, len(self._payloads), dtype=np.int16)
        return Vocabulary(kinds, index, texts_of(self._payloads))

    def clocks(self) -> FileClocks:
        """The clocks of the events; nothing ties them."""
        machines = sorted({0, *(machine for _, _, machine in self._clocks)})
        trace_clock = self._said or self._trace_clock(machines)
        graph = ClockGraph(trace_clock)
        inner(graph).state.baked = self._is_placed
        given = inner(graph).state.given
        for text, clock in self._parsed.items():
            if hashed_name(text) is not None:
                given[clock] = printable(text.strip())
            elif text and not is_clock(text):
                given[clock] = printable(text, 60)
        return FileClocks(graph, trace_clock, machines)

    def _trace_clock(self, machines: list[int]) -> ClockId:
        """The clock whose timestamps are trace times, where the file does not say."""
        indexes = machine_indexes(machines)
        able = [
            ClockId.of_trace(clock, sequence, indexes[machine], 0)
            for clock, sequence, machine in self._clocks - self._moved
            if clock
        ]
        return preferred_clock(able) if able else _BOOTTIME

    def records(self, rows: Rows, names: bool, position: int, tally: Tally) -> Records:
        """The events of a batch; those without a timestamp are left out."""
        given = rows.times("timestamp")
        clock, sequence, machine = rows.clocks("clock", parsed=self._parsed)
        columns: Columns = {
            name: rows.whole(name, most).astype(kind) for name, (kind, most) in _WHOLE.items()
        }
        if "packet" not in rows:
            columns["packet"] = np.arange(len(rows), dtype=np.uint64) + np.uint64(rows.first_row)
        columns |= {"clock": clock, "sequence": sequence, "machine": machine}
        columns["timestamp"] = given.values
        columns["kind"] = rows.codes("kind", self._kinds, 0).astype(np.uint8)
        payloads = {name: code + 1 for name, code in self._payloads.items()}
        columns["payload"] = rows.codes("payload", payloads, 0).astype(np.uint16)
        columns |= margins_of(given)
        beyond = given.is_beyond()
        if self._is_placed:
            columns |= given_places(rows)
        named = names_of(rows) if names else {}
        tally.timeless.add(given.is_missing(), rows.first_row)
        if given.missing is not None and given.missing.any():
            kept = np.flatnonzero(~given.missing)
            columns, beyond = {n: column[kept] for n, column in columns.items()}, beyond[kept]
            named = {name: column.take(arrow_of(kept)) for name, column in named.items()}
        return Records(columns, named, position, beyond=beyond)

    def _trace_times(self, rows: Rows) -> pa.Array:
        given = rows.times("trace_time")
        return arrow_of(given.values, given.missing)


def _clock_in_metadata(text: bytes) -> ClockId:
    try:
        return ClockId.parse(text.decode())
    except (UnicodeDecodeError, UsageError) as error:
        raise TraceError(f"the metadata of the table names no trace clock: {error}") from error
