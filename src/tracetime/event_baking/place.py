"""Where packets go: several traces in one file keep their numbers apart."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The numbers that the packets of one trace have.

    Attributes:
        sequence: their packet sequence.
        first: the number before that of its first track, and of its first flow.
        machine: its machine_id; 0 for the host.
        clock: the number of the clock that timestamps are in; None for that of the trace.
        snapshot: whether packets say what the trace clock is, what REALTIME read, and that the
            trace is baked.
    """

    sequence: int = 1
    first: int = 0
    machine: int = 0
    clock: int | None = None
    snapshot: bool = True
