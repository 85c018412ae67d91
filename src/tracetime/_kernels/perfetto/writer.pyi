from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from tracetime.clocks.ids import ClockLike
from tracetime.formats.perfetto.write.details import Category, Flow

_Details = tuple[Any, Any, Any, Any]

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
    def go_back(self, total: int) -> None: ...
    def lose(self, events: int) -> None: ...

class Sequence:
    """A packet sequence: the text it has interned, and whether what went before was lost."""

    id: int
    machine: int
    clock: int

    def __init__(self, buffer: PacketBuffer, id: int, clock: int, machine: int = 0) -> None: ...
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

class EventCalls:
    """Writes events; none of them is an object."""

    def __init__(
        self,
        events: EventWriter,
        request_flush: Callable[[], None],
        tracks: Callable[[Any], Track],
        counters: Callable[[Any], Track],
        tasks: Callable[[Any], Track],
        local: object,
    ) -> None: ...
    @property
    def ended(self) -> bool: ...
    def forget_places(self, local: object) -> None: ...
    def instant(
        self,
        name: str,
        /,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
        category: Category | None = None,
        flow: Flow | None = None,
        end_flow: Flow | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Record that something happened: `rec.instant("sent", category="net", size=n)`.

        Args:
            name: of the event. Each different name is kept once: use few.
            timestamp: when, as the clock read it; None for now, of a builtin clock.
            clock: which clock: a name (`MONOTONIC`, `vulkan:0`), a number, a ClockId; None for the
                clock of trace time.
            track: where; a name stands for `track(name)`, None for the running task's of
                asyncio, else the calling thread's.
            category: one, or several in a tuple.
            flow: an int, or several in a tuple: an arrow goes from each event with that flow to the
                next one.
            end_flow: as `flow`, where the arrows end.
            args, more: arguments of the event: strings (each different one is kept once), ints,
                floats, bools, None, and dicts and lists of them; other objects as `str` shows them.
                `args` is for names that are parameters here.

        Raises:
            UsageError: a timestamp that is no whole number, a clock that is not recorded, a
                category or flow that is none, or the recording is closed.
        """

    def begin(
        self,
        name: str,
        /,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
        category: Category | None = None,
        flow: Flow | None = None,
        end_flow: Flow | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Record that something began, which `end` on the same track ends; as `instant`."""

    def end(
        self,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
        category: Category | None = None,
        flow: Flow | None = None,
        end_flow: Flow | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Record that what began last on a track has ended; as `instant`.

        Arguments are added to those that it began with.
        """

    def counter(
        self,
        name: str | Track,
        value: float,
        /,
        *,
        timestamp: int | None = None,
        clock: ClockLike | None = None,
        category: Category | None = None,
        flow: Flow | None = None,
        end_flow: Flow | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Record a counter's value, an int within int64 or a float.

        Args:
            name: of the counter, or what `counter_track` made.
            value: of the counter from then on.
            timestamp, clock, category, flow, end_flow, args, more: as in `instant`.
        """

    def complete(
        self,
        name: str,
        start: int,
        duration: int,
        /,
        *,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
        category: Category | None = None,
        flow: Flow | None = None,
        end_flow: Flow | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Record a span that was measured elsewhere; both of its ends, or neither.

        Spans of one track lie within each other or apart, else Perfetto cuts one: give others a
        track of their own.

        Args:
            name: of the span.
            start: when it began, as the clock read it.
            duration: how long it took, in the same unit: ns, or the ticks of a device.
            clock, track, category, flow, end_flow, args, more: as in `instant`.
        """
    def span(
        self,
        name: str,
        /,
        *,
        clock: ClockLike | None = None,
        track: Track | str | None = None,
        category: Category | None = None,
        flow: Flow | None = None,
        end_flow: Flow | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Span:
        """Record what a `with` takes: `with rec.span("load", category="io", rows=n):`.

        It ends on the track on which it began, by exceptions, too: then it has an argument
        `exception`, the type of what was raised. After the end of the recording a span records
        nothing, and raises nothing.

        Args:
            name: of the span.
            clock: a builtin clock, read at both ends; None for the clock of trace time.
            track, category, flow, end_flow, args, more: as in `instant`.
        """

class Span:
    """What `Recorder.span` returns; for one `with` at a time."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def set(self, **args: Any) -> None:
        """Add arguments that are known only now; they are written at the end of the span."""

def type_name(kind: type) -> str:
    """What a type is called, with its module but for builtins."""
