from collections.abc import Callable
from typing import Any, Self

CLOSED: str

class TimestampError(ValueError):
    """What is wrong with what a caller gave; the facade makes a UsageError of it."""

class PacketBuffer:
    """Whole packets on their way to the file."""

    size_limit: int
    total: int
    dropped: int
    in_flight: int

    def __new__(cls, event_limit: int, size_limit: int, wake_at: int) -> Self: ...
    def __len__(self) -> int: ...
    def put(self, packet: bytes, empties: bool = True) -> bool: ...
    def has_room(self, size: int) -> bool: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...
    def take(self) -> bytes: ...
    def written(self, total: int) -> None: ...
    def lose(self, events: int) -> None: ...

class Track:
    """Where events go: a process, a thread, a track of its own, or a counter."""

    uuid: int
    name: str | None
    is_counter: bool
    writer: object

    def __init__(self, writer: object, uuid: int, name: str | None, is_counter: bool) -> None: ...

class Sequence:
    """A packet sequence: the names it has interned, and whether what went before was lost."""

    id: int
    clock: int

    def __init__(self, buffer: PacketBuffer, id: int, clock: int) -> None: ...
    def begin(self) -> None: ...

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

class EventWriter:
    """Puts events into the buffer."""

    def __init__(
        self, buffer: PacketBuffer, resolve: Callable[[Any], EventClock], writer: object
    ) -> None: ...
    def instant(self, name: str, timestamp: int | None, clock: object, track: Track) -> bool: ...
    def begin(self, name: str, timestamp: int | None, clock: object, track: Track) -> bool: ...
    def end(self, timestamp: int | None, clock: object, track: Track) -> bool: ...
    def counter(self, value: float, timestamp: int | None, clock: object, track: Track) -> bool: ...
    def refusal(self, track: Track, kind: int) -> str: ...
