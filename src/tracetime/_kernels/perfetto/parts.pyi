from tracetime._kernels.perfetto.writer import PacketBuffer

class Part:
    """The packets of one part: first all of them are scanned, and then they are put.

    Args:
        first: what is added to the number of each packet sequence.
        sampled: snapshots of these clocks alone are left out: the recording has its own.

    Attributes:
        first: as given.
        highest: the last of its packet sequences, as the recording has it.
        done: bytes that were put.
        snapshots: (reading of BOOTTIME at about that time, packet); to be put before the rest of
            any part.
        clocks: the numbers of those of the snapshots, but what is of a packet sequence.
        dropped: events that the process dropped, and `finish` has not counted yet.
    """

    first: int
    highest: int
    done: int
    snapshots: list[tuple[int, bytes]]
    clocks: set[int]
    dropped: int
    def __init__(self, first: int, sampled: set[int]) -> None: ...
    def scan(self, data: bytes) -> int:
        """Look at the next whole packets; returns how many bytes they are."""

    def put(self, buffer: PacketBuffer, data: bytes) -> int:
        """Put the next whole packets, but snapshots, into the buffer; returns their bytes.

        They begin at `done`. No signal's handler comes between the packets and their count.
        """

    def finish(self, buffer: PacketBuffer) -> None:
        """Count the events that the process dropped."""
