"""Events of one packet sequence in the order of the file, where error bars allow it.

The estimates of two clocks may reverse two events whose bars overlap: an end would come before its
begin. The loop over events is the kernel's (`_kernels/common/columns/order.pxi`).
"""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np

from tracetime._kernels.common.columns import Sequences
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import PLACED
from tracetime.trace.events_table import Columns

_PACKET: Final = 0
"""The kind of rows that are packets, in every vocabulary of Perfetto's."""


class KeptOrder:
    """A mover of track events' estimates forward to that of the event before them.

    Events of a packet sequence that floor places in the order of the file stay in that order, where
    the bar of the later one reaches so far.

    Args:
        payload: the code of track events.
    """

    def __init__(self, payload: int) -> None:
        self._payload = payload
        self._sequences = Sequences(secrets.randbits(64))

    @property
    def kept(self) -> int:
        """The number of events that were moved."""
        return self._sequences.kept

    @property
    def reversed(self) -> int:
        """The number of events whose bars exclude that they come where floor puts them."""
        return self._sequences.reversed

    def keep(self, floor: Columns, tube: Columns) -> Columns:
        """Return the rows with the order kept.

        Args:
            floor: a batch by Perfetto's rule.
            tube: the same rows with estimates and bounds.
        """
        which = (
            (floor["kind"] == _PACKET)
            & (floor["payload"] == self._payload)
            & is_any_of(floor["status"], PLACED)
            & is_any_of(tube["status"], PLACED)
            & (tube["earliest"] <= tube["latest"])
        )
        estimate = tube["trace_time"].copy()
        self._sequences.keep(
            which.view(np.uint8),
            floor["machine"],
            floor["packet_sequence"],
            floor["trace_time"],
            tube["latest"],
            estimate,
        )
        return {**tube, "trace_time": estimate}
