"""Where packets go: several traces in one file keep their numbers apart."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Output(Protocol):
    """What packets are written to."""

    def write(self, packets: bytes, /) -> int:
        """Write whole packets; returns how many bytes these became."""


class Place(NamedTuple):
    """The numbers that the packets of one trace have.

    Attributes:
        sequence: their packet sequence.
        first: the number before that of its first track, and of its first flow.
        machine: its machine_id; 0 for the host.
        clock: the number of the clock that timestamps are in; None for that of the trace.
        snapshot: whether packets say what the trace clock is, what REALTIME read, and that the
            trace is baked.
        free_pid: the first pid or tid for what has none that fits: above all of Linux.
    """

    sequence: int = 1
    first: int = 0
    machine: int = 0
    clock: int | None = None
    snapshot: bool = True
    free_pid: int = (1 << 22) + 1
