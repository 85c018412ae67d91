"""Entries of a journal in batches of columns, and errors for what is no entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.journal import read_entries
from tracetime.errors import TraceError
from tracetime.formats.blocks import blocks
from tracetime.formats.trace_file import TraceFile

LONGEST_ENTRY: Final = 64 << 20
"""Bytes of one entry; systemd cuts a core dump in a field at 32 MiB unless told otherwise."""

_INCOMPLETE: Final = 1
_TOO_LONG: Final = 3
_BEYOND: Final = 7
FAULTS: Final = {
    _INCOMPLETE: "the journal is cut off within an entry: export it again, or read what comes "
    "before the cut (--partial)",
    2: "no field of a journal stands here, NAME=text or NAME and a length: the file is damaged, "
    "or not from `journalctl -o export`",
    _TOO_LONG: f"an entry is longer than {LONGEST_ENTRY >> 20} MiB: the file is damaged, or has "
    "data that is no log; export fewer fields (journalctl --output-fields)",
    4: "no line end follows a field with a length: the file is damaged",
    5: "a timestamp or an id is not one: __REALTIME_TIMESTAMP and __MONOTONIC_TIMESTAMP are "
    "whole us, _BOOT_ID and _MACHINE_ID 32 hexadecimal digits",
    6: "an entry has no __REALTIME_TIMESTAMP: export the journal with `journalctl -o export`",
    _BEYOND: "a timestamp is beyond the year 2262: it does not fit in int64 ns",
}
"""What is wrong, by the kernel's number; the last is found here."""

_MOST_US: Final = (2**63 - 1) // 1000


Columns = dict[str, npt.NDArray[np.int64]]


class Entries(NamedTuple):
    """Entries that follow each other.

    Attributes:
        data: the bytes that hold them.
        columns: as the kernel's `read_entries` returns them.
        first: the index of the first of them in the file.
        offset: of the first byte of data.
        position: the byte of the file that has been reached.
    """

    data: bytes
    columns: Columns
    first: int
    offset: int
    position: int


def entries(file: TraceFile, max_expansion: int) -> Iterator[Entries]:
    """Yield the entries of a file; those before a fault come before its error.

    Raises:
        TraceError: it is cut off or damaged.
    """
    pending = b""
    first = offset = 0
    for fresh, position, is_end in blocks(file, max_expansion):
        data = pending + fresh
        columns, whole, at, fault = read_entries(data, LONGEST_ENTRY)
        if fault == _INCOMPLETE and not is_end:
            fault = _TOO_LONG if len(data) - whole > LONGEST_ENTRY else 0
        columns, at, fault = _within_int64(columns, at, fault)
        n = len(columns["start"])
        if n:
            yield Entries(data, columns, first, offset, position)
        first += n
        if fault:
            raise TraceError(FAULTS[fault], offset + at, first)
        pending, offset = data[whole:], offset + whole


def _within_int64(columns: Columns, at: int, fault: int) -> tuple[Columns, int, int]:
    """Entries up to the first whose times in ns do not fit."""
    beyond = (columns["realtime_us"] > _MOST_US) | (columns["monotonic_us"] > _MOST_US)
    if not beyond.any():
        return columns, at, fault
    end = int(beyond.argmax())
    at = int(columns["start"][end])
    return {name: column[:end] for name, column in columns.items()}, at, _BEYOND
