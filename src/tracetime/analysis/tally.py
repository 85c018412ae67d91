"""Counts of events, batch by batch: by kind and status, and by clock and status.

Done in columns; what is kept grows with the number of clocks, never with the number of events.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.arrays import known_of, values_of
from tracetime.errors import REASONS
from tracetime.graph.values import distances

Values = npt.NDArray[np.int64]

_GROUPS_MAX: Final = 1 << 18


class Group(NamedTuple):
    """Events of one clock with one status (a code of `errors.REASONS`).

    first_ns, last_ns: their least and greatest trace time; anything where they have none.
    """

    clock: int
    sequence: int
    machine: int
    status: int
    events: int
    first_ns: int
    last_ns: int


class _Groups(NamedTuple):
    """Many groups: a column for each of the four that are a group's key, and for its counts."""

    keys: list[npt.NDArray[Any]]
    events: Values
    first_ns: Values
    last_ns: Values


@dataclass(slots=True)
class Tally:
    """Counts of the batches of an events table, as they come.

    Attributes:
        rows: how many there were.
        to_unresolved: rows with a trace_time, but without a to_time.
        to_cost_ns: how far to_time is at most from where the tube puts that trace time; None where
            nothing was compared.
        to_uncompared: rows whose to_time was not compared, because the tube has no answer.
        kinds: events by kind and status.
    """

    rows: int = 0
    to_unresolved: int = 0
    to_cost_ns: int | None = None
    to_uncompared: int = 0
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    _groups: list[_Groups] = field(default_factory=list)
    _n_groups: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of `batch`, of the events table's columns."""
        self.rows += batch.num_rows
        if "to_time" in batch.schema.names:
            self.to_unresolved += batch["to_time"].null_count - batch["trace_time"].null_count
        kinds, statuses = batch["kind"], batch["status"]
        reasons = statuses.dictionary.to_pylist()
        names = [(kind, reason) for kind in kinds.dictionary.to_pylist() for reason in reasons]
        status = _indices(statuses)
        counts = np.bincount(_indices(kinds) * len(reasons) + status)
        for index in np.flatnonzero(counts):
            self.kinds[names[index]] += int(counts[index])
        keys = [values_of(batch[name])[0] for name in ("clock", "sequence", "machine")]
        keys.append(np.array([REASONS.index(reason) for reason in reasons])[status])
        times = values_of(batch["trace_time"])[0]
        self._keep(_alike(_Groups(keys, np.ones(batch.num_rows, np.int64), times, times)))

    def add_to_cost(self, floor: pa.Array, tube: pa.Array) -> None:
        """Compare one batch of to_time with what the tube makes of the same trace times."""
        (at, here), (estimate, there) = known_of(floor), known_of(tube)
        both = here & there
        self.to_uncompared += int(np.count_nonzero(here & ~there))
        if both.any():
            largest = int(distances(at[both], estimate[both]).max())
            self.to_cost_ns = max(self.to_cost_ns or 0, largest)

    def groups(self) -> list[Group]:
        """Counts by clock (as in the table, machine_id included) and status."""
        if not self._groups:
            return []
        keys, *counted = self._merge()
        return [Group(*row) for row in zip(*(c.tolist() for c in (*keys, *counted)), strict=True)]

    def _keep(self, groups: _Groups) -> None:
        self._groups.append(groups)
        self._n_groups += len(groups.events)
        if self._n_groups > _GROUPS_MAX:
            self._merge()

    def _merge(self) -> _Groups:
        keys, *counted = zip(*self._groups, strict=True)
        columns = [np.concatenate(column) for column in zip(*keys, strict=True)]
        merged = _alike(_Groups(columns, *map(np.concatenate, counted)))
        self._groups, self._n_groups = [merged], 0
        return merged


def _indices(column: pa.DictionaryArray) -> npt.NDArray[np.intp]:
    return values_of(column.indices)[0].astype(np.intp)


def _alike(rows: _Groups) -> _Groups:
    """Take rows together that have the same keys; of those that follow each other one is sorted."""
    keys, *counted = _runs(rows)
    order = np.lexsort(keys)
    return _runs(
        _Groups([column[order] for column in keys], *(column[order] for column in counted))
    )


def _runs(rows: _Groups) -> _Groups:
    begins = np.zeros(len(rows.events), dtype=bool)
    begins[:1] = True
    for column in rows.keys:
        begins[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(begins)
    if not len(firsts):
        return rows
    return _Groups(
        [column[firsts] for column in rows.keys],
        np.add.reduceat(rows.events, firsts),
        np.minimum.reduceat(rows.first_ns, firsts),
        np.maximum.reduceat(rows.last_ns, firsts),
    )
