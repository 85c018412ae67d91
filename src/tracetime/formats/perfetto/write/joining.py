"""`Joining`: adds the parts that other processes have written to a recording, piece by piece."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, Final

from tracetime._kernels.perfetto.parts import Part
from tracetime._kernels.perfetto.writer import PacketBuffer

_PIECE: Final = 1 << 20
"""Bytes that are read at once; more where a packet is longer."""


class Joining:
    """Adds parts to a recording; where something breaks it off, the next `run` goes on with it.

    The snapshots come first, in the order of time: the clocks of a trace do not go back.

    Attributes:
        joined: the parts that are in the recording, whole.
        left_out: those that do not fit into it.
        sequences: how many packet sequences the parts have.

    Args:
        buffer: takes the packets.
        paths: of the parts.
        first: the number of packet sequences that the recording has.
        sampled: snapshots of these clocks alone are left out.
        room: bytes that the recording may still grow by; None for any.

    Raises:
        OSError: a part cannot be read.
    """

    def __init__(
        self,
        buffer: PacketBuffer,
        paths: Iterable[str],
        first: int,
        sampled: set[int],
        room: int | None,
    ) -> None:
        self._buffer = buffer
        self._by_path: dict[str, Part] = {}
        self.joined: list[str] = []
        self.left_out: list[str] = []
        last = first
        for path in paths:
            # Renumbered, a packet grows by a few bytes.
            size = 2 * Path(path).stat().st_size
            if room is not None and size > room:
                self.left_out.append(path)
                continue
            room = None if room is None else room - size
            self._by_path[path] = part = Part(last, sampled)
            with Path(path).open("rb") as file:
                scan(file, part)
            last = part.highest
        self.sequences = last - first
        by_time = sorted(
            (one for part in self._by_path.values() for one in part.snapshots),
            key=operator.itemgetter(0),
        )
        self._snapshots = deque(packet for _, packet in by_time)

    def run(self, flush: Callable[[], None]) -> None:
        """Add what is not there yet; `flush` is called after each piece.

        Raises:
            OSError: a part cannot be read.
            Exception: what `flush` raises.
        """
        while self._snapshots:
            self._buffer.put(self._snapshots[0], False)
            self._snapshots.popleft()
        for path, part in self._by_path.items():
            if path in self.joined:
                continue
            with Path(path).open("rb") as file:
                put = partial(part.put, self._buffer)
                while _next_piece(file, part.done, put):
                    flush()
            part.finish(self._buffer)
            self.joined.append(path)


def scan(file: IO[bytes], part: Part) -> int:
    """Look at all packets of a file; returns how many bytes they are."""
    at = 0
    while done := _next_piece(file, at, part.scan):
        at += done
    return at


def _next_piece(file: IO[bytes], at: int, take: Callable[[bytes], int]) -> int:
    """Give the packets at a place of a file to `take`; returns how many bytes it took."""
    size = _PIECE
    while True:
        file.seek(at)
        data = file.read(size)
        taken = take(data)
        if taken or len(data) < size:
            return taken
        size *= 2
