"""Events of one packet sequence in the order of the file, where error bars allow it.

The estimates of two clocks may reverse two events whose bars overlap: an end would come before its
begin. Nothing is done per event in Python.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.errors import PLACED
from tracetime.events_table import Columns

Values = npt.NDArray[np.int64]

_PACKET: Final = 0
"""The kind of rows that are packets, in every vocabulary of Perfetto's."""


class KeptOrder:
    """Moves estimates of track events forward to that of the event before them.

    Events of a packet sequence that floor places in the order of the file stay in that order, where
    the bar of the later one reaches so far.

    Args:
        payload: the code of track events.

    Attributes:
        kept: events that were moved.
        reversed: events that come before one which floor puts before them: their bars exclude it.
    """

    def __init__(self, payload: int) -> None:
        self._payload = payload
        self._latest: dict[int, tuple[int, int]] = {}
        self.kept = self.reversed = 0

    def keep(self, floor: Columns, tube: Columns) -> Columns:
        """Return the rows with the order kept.

        Args:
            floor: a batch by Perfetto's rule.
            tube: the same rows with estimates and bounds.
        """
        rows = np.flatnonzero(
            (floor["kind"] == _PACKET)
            & (floor["payload"] == self._payload)
            & np.isin(floor["status"], PLACED)
            & np.isin(tube["status"], PLACED)
            & (tube["earliest"] <= tube["latest"])
        )
        sequences = _sequences(floor, rows)
        order = np.argsort(sequences, kind="stable")
        rows, sequences = rows[order], sequences[order]
        cuts = np.flatnonzero(sequences[1:] != sequences[:-1]) + 1
        estimate = tube["trace_time"].copy()
        for those in np.split(rows, cuts) if len(rows) else ():
            self._keep_one(those, floor, tube, estimate)
        return {**tube, "trace_time": estimate}

    def _keep_one(self, rows: Values, floor: Columns, tube: Columns, estimate: Values) -> None:
        """Keep the order of the rows of one packet sequence."""
        sequence = int(_sequences(floor, rows[:1])[0])
        last_floor, last_tube = self._latest.get(sequence, (_LOWEST, _LOWEST))
        before = np.maximum.accumulate(np.append(last_floor, floor["trace_time"][rows]))
        ordered = rows[floor["trace_time"][rows] >= before[:-1]]
        if not len(ordered):
            return
        reached = np.maximum.accumulate(np.append(last_tube, estimate[ordered]))
        behind = estimate[ordered] < reached[1:]
        allowed = behind & (reached[1:] <= tube["latest"][ordered])
        estimate[ordered[allowed]] = reached[1:][allowed]
        self.kept += int(np.count_nonzero(allowed))
        self.reversed += int(np.count_nonzero(behind & ~allowed))
        self._latest[sequence] = int(before[-1]), int(reached[-1])


def _sequences(columns: Columns, rows: Values) -> Values:
    """A number for the packet sequence of each row, which has its own machine."""
    machines = columns["machine"][rows].astype(np.int64)
    return machines << 32 | columns["packet_sequence"][rows].astype(np.int64)


_LOWEST: Final = np.iinfo(np.int64).min
