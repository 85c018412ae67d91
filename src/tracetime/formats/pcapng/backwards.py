"""Where the time of a capture runs backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.snapshot import INT64_MIN

USUAL_NS: Final = 10**9
"""Queues of a network card write packets of one interface out of order, by ms."""


class StepsBack:
    """Packets that are earlier than the one before them on their interface, by more than is usual.

    Interfaces are apart: one may be written after another one, as `mergecap -a` does.

    Attributes:
        packets: how many there are.
        first: the number of the first of them.
    """

    def __init__(self) -> None:
        self.packets = 0
        self.first: int | None = None
        self._last: dict[int, int] = {}

    def add(self, columns: Mapping[str, npt.NDArray[np.int64]]) -> None:
        """Look at the packets that follow; columns as the kernel's `Packets.read` returns them."""
        (rows,) = np.nonzero(columns["fits"])
        rows = rows[np.argsort(columns["interface"][rows], kind="stable")]
        ns, on = columns["ns"][rows], columns["interface"][rows]
        begins = np.flatnonzero(np.r_[True, on[1:] != on[:-1]][: len(on)])
        before = np.r_[INT64_MIN, ns[:-1]][: len(ns)]
        numbers = on[begins].tolist()
        before[begins] = [self._last.get(number, INT64_MIN) for number in numbers]
        ends = np.r_[begins[1:], len(on)][: len(begins)] - 1
        self._last.update(zip(numbers, ns[ends].tolist(), strict=True))
        found = rows[ns < np.maximum(before, INT64_MIN + USUAL_NS) - USUAL_NS]
        if len(found):
            self.packets += len(found)
            if self.first is None:
                self.first = int(columns["number"][found].min())
