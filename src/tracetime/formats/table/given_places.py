"""Trace times, statuses and bars that a table has already, as `tracetime convert` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrow_tables import CLOCK_KEY
from tracetime.errors import BARRED, ONE_SIDED, PLACED, REASONS, UNKNOWN_SOURCE_CLOCK
from tracetime.formats.table.row_columns import Rows
from tracetime.graph.arguments import PolicyName
from tracetime.graph.values import Values
from tracetime.text import count
from tracetime.trace.events_table import Columns
from tracetime.trace.notes import Note

# Rows of a table that are not the events, or the slice, that they should be.


class OddRows:
    """A count of rows of one kind.

    Args:
        code, kind: of the note about them.
        what: what is wrong with them.
    """

    def __init__(self, code: str, kind: str, what: str) -> None:
        self._note = code, kind
        self._what = what
        self._count = self._first = 0

    def add(self, which: npt.NDArray[np.bool_], first_row: int) -> None:
        """Count those of a batch, whose first row is that one of its table."""
        found = int(np.count_nonzero(which))
        if found and not self._count:
            self._first = first_row + int(which.argmax())
        self._count += found

    def notes(self) -> Iterator[Note]:
        """Yield what is to be told of them, if there are any."""
        if self._count:
            what = f"{count(self._count, 'row')} {self._what}"
            values = {"what": what, "first": self._first}
            yield Note(*self._note, events=self._count, values=values)


class Tally:
    """The numbers of rows of one reading without a time, and with an end before their begin."""

    def __init__(self) -> None:
        timeless = "without a time: no events"
        self.timeless = OddRows("events-without-time", "null", timeless)
        back = "whose end is before their begin: no slices"
        self.reversed = OddRows("ends-before-begins", "", back)


GIVEN: Final = "given "
"""Before the names of columns of rows that the table places itself."""

BARS: Final = ("earliest", "latest")
_POLICY_KEY: Final = b"tracetime.policy"
_STATUSES: Final = {reason: code for code, reason in enumerate(REASONS)}


def is_placed(names: Sequence[str]) -> bool:
    """Whether the columns of events give their places on trace time."""
    return {"trace_time", "status"} <= set(names)


def has_bars(names: Sequence[str]) -> bool:
    """Whether the columns give error bars, too."""
    return is_placed(names) and set(BARS) <= set(names)


def is_converted(schema: pa.Schema, clocks: Mapping[str, str]) -> bool:
    """Whether `convert --map` wrote a table: all of its columns of times are on one clock."""
    return is_mapped(schema) and len(set(clocks.values())) == 1


def is_mapped(schema: pa.Schema) -> bool:
    """Whether `convert --map` wrote a table."""
    return _POLICY_KEY in (schema.metadata or {})


def bars_of(schema: pa.Schema, clocks: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The columns of earliest and latest of each of some columns of times that has them."""
    pairs = {name: (f"{name}_earliest", f"{name}_latest") for name in clocks}
    return {name: pair for name, pair in pairs.items() if all(map(partial(_is_bar, schema), pair))}


def _is_bar(schema: pa.Schema, name: str) -> bool:
    return name in schema.names and CLOCK_KEY in (schema.field(name).metadata or {})


def policy_of(schema: pa.Schema, bars: bool) -> PolicyName:
    """The policy of a table, by its metadata; without any, only the tube has bars."""
    policy = (schema.metadata or {}).get(_POLICY_KEY, b"").decode(errors="replace")
    known: tuple[PolicyName, ...] = get_args(PolicyName)
    return next((one for one in known if one == policy), "tube" if bars else "floor")


def given_places(rows: Rows) -> Columns:
    """The columns `GIVEN` of rows with a trace time and a status, and bars if there are any."""
    times, missing = _known(rows, "trace_time")
    status = rows.codes("status", _STATUSES, UNKNOWN_SOURCE_CLOCK)
    status = np.where(missing & is_any_of(status, PLACED), UNKNOWN_SOURCE_CLOCK, status)
    given: Columns = {
        f"{GIVEN}trace_time": np.where(missing, 0, times),
        f"{GIVEN}status": status.astype(np.uint8),
    }
    if all(side in rows for side in BARS):
        (earliest, no_earliest), (latest, no_latest) = (_known(rows, side) for side in BARS)
        may_be_open = status == ONE_SIDED
        none = ~is_any_of(status, BARRED) | (no_earliest & no_latest)
        none |= ~may_be_open & (no_earliest | no_latest)
        earliest = np.where(no_earliest, INT64_MIN, earliest)
        latest = np.where(no_latest, INT64_MAX, latest)
        given[f"{GIVEN}earliest"] = np.where(none, 1, earliest)
        given[f"{GIVEN}latest"] = np.where(none, 0, latest)
    return given


def placed(columns: Columns) -> Columns:
    """The rows with trace times and statuses as the table has them, where it has."""
    there = [name for name in ("trace_time", "status") if GIVEN + name in columns]
    return columns | {name: columns.pop(GIVEN + name) for name in there}


def barred(columns: Columns) -> Columns:
    """The rows with the bars of the table, where it has some."""
    if GIVEN + BARS[0] not in columns:
        return columns
    given = [columns.pop(GIVEN + side) for side in BARS]
    has_bar = given[0] <= given[1]
    sides = zip(BARS, given, strict=True)
    return columns | {side: np.where(has_bar, one, columns[side]) for side, one in sides}


def _known(rows: Rows, name: str) -> tuple[Values, npt.NDArray[np.bool_]]:
    given = rows.times(name)
    return given.values, given.is_missing()
