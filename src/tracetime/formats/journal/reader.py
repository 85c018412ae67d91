"""A journal as a trace: an event for each entry, by MONOTONIC of its boot, to REALTIME."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.journal import write_args
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import arrow_of
from tracetime.formats.journal.clocks import (
    Entries,
    JournalClocks,
    boots_of,
    describe_clocks,
    entries,
    read_clocks,
)
from tracetime.formats.name_columns import joined_texts, texts_at
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.source_times import backwards
from tracetime.formats.trace_file import TraceFile
from tracetime.trace.events_table import TYPES, Columns, Kind
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

_CUT_OFF_NS: Final = 999
"""Times are whole us."""

_INSTANT: Final = TYPES.index("instant")


class JournalTrace(RecordTrace):
    """A journal of systemd, of one machine or of several."""

    KINDS: ClassVar = (Kind("entry"),)
    FORMAT = "journal of systemd"
    ROW = "message"
    UNSAID: ClassVar = "a journal does not say how far apart its two clocks were read"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        self._journal: JournalClocks | None = None

    def _read_clocks(self) -> FileClocks:
        batches = self._until_damage(entries(self._file, self.options.max_expansion))
        self._journal = read_clocks(batches, self.options.max_clocks)
        return self._journal.of_file

    @property
    def snapshot_packets(self) -> npt.NDArray[np.uint64]:
        """The entry that each snapshot of `clocks` is, by its number."""
        self.prepare(names=False)
        assert self._journal is not None
        return self._journal.packets

    @property
    def metadata(self) -> Mapping[str, object]:
        """Under "boots", the machine and the boot of entries, and the clocks that these have."""
        self.prepare(names=False)
        assert self._journal is not None
        return describe_clocks(self._journal)

    def notes(self, code: str) -> Iterator[Note]:
        """Entries over 1 s before the end of a boot that began before theirs; see `Trace`."""
        if code == "stream-backwards":
            self.prepare(names=False)
            assert self._journal is not None
            found = self._journal.backwards
            first = int(found[0]) if len(found) else None
            yield from backwards(len(found), first, self._journal.boots_backwards, None)

    def _assumed(self) -> dict[ClockId, ClockId]:
        """MONOTONIC of each boot."""
        self.prepare(names=False)
        assert self._journal is not None
        boots = self._journal.boots.values()
        return {boot.monotonic: boot.monotonic for boot in boots if boot.monotonic is not None}

    def prepare(self, names: bool) -> None:
        """Read the clocks, unless they are known."""
        _ = self.clocks

    def _read_records(self, names: bool) -> Iterator[Records]:
        assert self._journal is not None
        for batch in entries(self._file, self.options.max_expansion):
            columns = self._times(batch, self._journal)
            cut_off_ns = np.full(len(columns["timestamp"]), _CUT_OFF_NS)
            yield Records(columns, _names(batch) if names else {}, batch.position, cut_off_ns)

    def _times(self, batch: Entries, journal: JournalClocks) -> Columns:
        """MONOTONIC of each entry where it has one, else REALTIME; ns."""
        n = len(batch.columns["start"])
        numbers = {boot: k for k, boot in enumerate(journal.boots)}
        clocks = [
            (one.realtime.machine, one.realtime.clock, (one.monotonic or one.realtime).clock)
            for one in journal.boots.values()
        ]
        of_boots = np.array(clocks, np.uint32).reshape(-1, 3)
        machine, wall, steady = of_boots[boots_of(batch.columns, numbers)].T
        monotonic_us, realtime_us = batch.columns["monotonic_us"], batch.columns["realtime_us"]
        is_timed = (monotonic_us >= 0) & (steady != wall)
        return {
            "packet": np.arange(batch.first, batch.first + n, dtype=np.uint64),
            "offset": (batch.columns["start"] + batch.offset).astype(np.uint64),
            "clock": np.where(is_timed, steady, wall),
            "timestamp": np.where(is_timed, monotonic_us, realtime_us) * 1000,
            "machine": machine.copy(),
        }


def _names(batch: Entries) -> dict[str, pa.Array]:
    """The names of each entry: its message, its writer, and all other fields as arguments."""
    columns = batch.columns
    n = len(columns["start"])
    args_ends, args = write_args(batch.data, columns["start"], columns["end"])
    return {
        "name": _text_at(batch, "message"),
        "category": _text_at(batch, "identifier"),
        "process_name": _text_at(batch, "comm"),
        "type": arrow_of(np.full(n, _INSTANT, np.int8)),
        "value": _number_column(columns["priority"], np.float64, 2**53),
        "pid": _number_column(columns["pid"], np.int32, 2**31),
        "args": joined_texts(args_ends, args),
    }


def _text_at(batch: Entries, name: str) -> pa.Array:
    return texts_at(batch.data, batch.columns[name], batch.columns[f"{name}_end"])


def _number_column(values: npt.NDArray[np.int64], kind: type[np.generic], end: int) -> pa.Array:
    """Numbers from 0 up to an end; others are missing."""
    missing = (values < 0) | (values >= end)
    return arrow_of(np.where(missing, 0, values).astype(kind), missing)
