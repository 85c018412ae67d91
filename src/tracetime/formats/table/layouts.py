"""The layout of a table by the names of its columns: events, or snapshots of clocks."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tracetime.clocks.ids import BUILTIN_IDS

PARQUET: Final = b"PAR1"
ARROW_FILE: Final = b"ARROW1"
ARROW_STREAM: Final = b"\xff\xff\xff\xff"
"""What files of these begin with."""

DELIMITERS: Final = (",", ";", "\t")

TICKS: Final = "_ticks"
WIDTHS: Final = ("half_width_ns", "deviation_ns")
"""Columns of half-widths: how far off the others are from the reference clock, at most; and within
what time all of a row was read."""

_READINGS: Final = ("reading_ns", "reading", "value")
_CLOCK_COLUMN: Final = re.compile(r"(.+?)(_ns|_ticks)?")
_BEGINS: Final = ("begin", "start", "ts")
_ENDS: Final = ("end", "stop", "finish")


@dataclass(frozen=True, slots=True)
class EventRows:
    """A row is an event: `clock` names the clock of its `timestamp`."""


@dataclass(frozen=True, slots=True)
class EventColumns:
    """A row has a time or more, each in a column of its own.

    Attributes:
        clocks: the clock of each column.
        kinds: what the events of each column are called.
        begin, end: the columns of the times at which what a row tells of began and ended, if there
            are such.
    """

    clocks: dict[str, str]
    kinds: dict[str, str]
    begin: str | None
    end: str | None


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """A row is a snapshot: `clocks` has the clock of each column of readings."""

    clocks: dict[str, str]
    width: str | None


@dataclass(frozen=True, slots=True)
class ReadingRows:
    """A row is a reading: `clock` names its clock, and `snapshot` what it was read with."""

    clock: str
    reading: str
    width: str | None


Layout: TypeAlias = EventRows | EventColumns | SnapshotRows | ReadingRows


def is_table(beginning: bytes) -> bool:
    """Whether a file is a table, of CSV only one whose header names what a trace has."""
    if beginning.startswith((PARQUET, ARROW_FILE, ARROW_STREAM)):
        return True
    return layout_of(_header(beginning)) is not None


def layout_of(
    names: Sequence[str], clocks: Mapping[str, str] | None = None, *, mapped: bool = False
) -> Layout | None:
    """The layout of columns of these names; None where nothing tells.

    clocks: of columns, where the file says so in another way than by their names.
    mapped: whether these are all: `convert --map` put the times of the others on their clock.
    """
    there = set(names)
    if {"clock", "timestamp"} <= there:
        return EventRows()
    reading = next((name for name in _READINGS if name in there), None)
    clock: str | None = next((name for name in ("clock", "name") if name in there), None)
    width = next((name for name in WIDTHS if name in there), None)
    if "snapshot" in there and clock is not None and reading is not None:
        return ReadingRows(clock, reading, width if width == WIDTHS[0] else None)
    clock_of = dict(clocks or {})
    if not (mapped and clock_of):
        clock_of = {name: read_in for name in names if (read_in := _suffix_clock(name))} | clock_of
    if clock_of:
        return _event_columns(clock_of)
    read = {name: read_in for name in names if (read_in := _name_clock(name))}
    return SnapshotRows(read, width) if len(read) > 1 else None


def _event_columns(clocks: dict[str, str]) -> EventColumns:
    kinds = {name: name.removesuffix(f":{clock}") for name, clock in clocks.items()}
    begin, end = (
        next((name for name, kind in kinds.items() if _is_one_of(kind, words)), None)
        for words in (_BEGINS, _ENDS)
    )
    if begin is None or end is None:
        begin = end = None
    return EventColumns(clocks, kinds, begin, end)


def _is_one_of(name: str, words: Sequence[str]) -> bool:
    """Whether a name is one of these words, alone or with what follows it: end, end_ts, end_ns."""
    return name.lower().partition("_")[0] in words


def _suffix_clock(name: str) -> str:
    """The clock in ``ts:MONOTONIC``, or nothing."""
    head, _, clock = name.rpartition(":")
    return clock if head and (clock.upper() in BUILTIN_IDS or _is_dotted(clock)) else ""


def _name_clock(name: str) -> str:
    """The clock whose readings are in a column: monotonic_ns, BOOTTIME, com.example.gpu_ticks."""
    match = _CLOCK_COLUMN.fullmatch(name)
    if match is None:
        return ""
    clock, unit = match.groups()
    if clock.upper() in BUILTIN_IDS:
        return clock.upper()
    return clock if unit and _is_dotted(clock) else ""


def _is_dotted(name: str) -> bool:
    """Whether a text is a name of words with dots between, as clocks have."""
    return re.fullmatch(r"[A-Za-z][\w-]*(\.[\w-]+)+", name) is not None


def _header(beginning: bytes) -> list[str]:
    """The names in the first line of CSV, as far as they are there."""
    line, end, _ = beginning.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    delimiter = delimiter_of(beginning)
    if not end:
        # The last name may be cut off.
        line = line.rpartition(delimiter.encode())[0]
    try:
        text = line.decode().rstrip("\r")
        return next(csv.reader([text], strict=True, delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error):
        return []


def delimiter_of(beginning: bytes) -> str:
    """The delimiter of the columns of CSV: a comma, or a semicolon or tab where there is none."""
    bare = re.sub(rb'"[^"]*"', b"", beginning.partition(b"\n")[0])
    return next((one for one in DELIMITERS if one.encode() in bare), ",")
