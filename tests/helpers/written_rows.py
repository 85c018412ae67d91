"""Snapshots as a file has them, from rows of plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracetime.trace.trace import WrittenSnapshots


def as_written(rows: list[tuple[int, ...]], signs: Any = ()) -> WrittenSnapshots:
    """The snapshots of a file: rows of packet, clock, sequence, machine, timestamp, unit, named."""
    readings = np.array(rows, dtype=np.int64).reshape(-1, 7).T.copy()
    return WrittenSnapshots(
        readings,
        np.array(signs, dtype=np.int64).reshape(-1, 4).T.copy(),
        0,
        np.empty((3, 0), np.int64),
    )
