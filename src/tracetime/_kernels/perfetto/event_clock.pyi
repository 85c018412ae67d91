from tracetime._kernels.perfetto.packet_buffer import Sequence

class EventClock:
    """A clock that events can be in."""

    sequence: Sequence
    clock: int
    name: str
    scaled: bool
    bits: int
    last_ticks: int

    def __init__(
        self,
        sequence: Sequence,
        clock: int,
        name: str,
        explicit: bool,
        posix: int,
        rate: tuple[int, int],
        bits: int,
    ) -> None: ...
    def read(self, raw: int, elapsed_ns: int) -> int: ...
    def follow(self, raw: int, ticks: int) -> None: ...
    def convert(self, raw: int) -> int: ...
