from collections.abc import Callable
from typing import Any

from tracetime._kernels.perfetto.event_clock import EventClock
from tracetime._kernels.perfetto.packet_buffer import PacketBuffer

_Details = tuple[Any, Any, Any, Any]

class Track:
    """Where events go: a process, a thread, a track of its own, or a counter."""

    uuid: int
    name: str | None
    is_counter: bool
    writer: object

    def __init__(self, writer: object, uuid: int, name: str | None, is_counter: bool) -> None: ...

class EventWriter:
    """Puts events into the buffer."""

    def __init__(
        self,
        buffer: PacketBuffer,
        resolve: Callable[[Any], EventClock],
        plain: Callable[[_Details], _Details],
        refusal: Callable[[Exception, object], Exception],
        writer: object,
    ) -> None: ...
    def abandon(self, forked: Callable[[], EventWriter | None]) -> None: ...
    def instant(
        self,
        name: str,
        timestamp: int | None,
        clock: object,
        track: Track,
        details: _Details | None = None,
    ) -> bool: ...
    def begin(
        self,
        name: str,
        timestamp: int | None,
        clock: object,
        track: Track,
        details: _Details | None = None,
    ) -> bool: ...
    def end(
        self, timestamp: int | None, clock: object, track: Track, details: _Details | None = None
    ) -> bool: ...
    def counter(
        self,
        value: float,
        timestamp: int | None,
        clock: object,
        track: Track,
        details: _Details | None = None,
    ) -> bool: ...
    def complete(
        self,
        name: str,
        start: int,
        duration: int,
        clock: object,
        track: Track,
        details: _Details | None = None,
    ) -> bool: ...
