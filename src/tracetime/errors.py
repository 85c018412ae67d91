"""Errors, by whose fault they are; the reason strings of conversions, with advice on each.

    TracetimeError
    ├── UsageError        the caller's: a wrong argument, clock, path or option
    ├── TraceError        the trace's: not a trace, cut off, corrupt (byte offset, packet)
    ├── ConversionError   the graph's: no path from one clock to the other (reason)
    └── SourceError       the machine's: no such clock source, or it cannot be read
        └── NoBoundError  nothing bounds how far its clock is from true time

Each message says what to do next. Each function's docstring says which errors it raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, NamedTuple, TypedDict

if TYPE_CHECKING:
    from msgspec import Meta

REASONS: Final[tuple[str, ...]] = (
    "resolved",
    "as_is",
    "unknown_source_clock",
    "unknown_target_clock",
    "no_path",
    "non_monotonic_source",
    "ambiguous_source",
    "overflow",
    "skipped_incremental_state",
    "one_sided",
)
"""Every value of the status column and of `ConversionError.reason`.

The order is fixed: the kernels' status code is the index in this tuple.
"""

(
    RESOLVED,
    AS_IS,
    UNKNOWN_SOURCE_CLOCK,
    UNKNOWN_TARGET_CLOCK,
    NO_PATH,
    NON_MONOTONIC_SOURCE,
    AMBIGUOUS_SOURCE,
    OVERFLOW,
    SKIPPED_INCREMENTAL_STATE,
    ONE_SIDED,
) = range(len(REASONS))

PLACED: Final = (RESOLVED, AS_IS, ONE_SIDED)
"""The codes of events that have a trace time."""

BARRED: Final = (RESOLVED, AMBIGUOUS_SOURCE, ONE_SIDED)
"""The codes of conversions that have an error bar."""

OPEN_ENDED: Final = (ONE_SIDED, AMBIGUOUS_SOURCE)
"""The codes of bars that nothing may bound on a side, which then is an end of int64."""


ErrorCode = Literal["usage", "trace", "conversion", "source", "error"]


class ErrorFacts(TypedDict):
    """The error that ended a command, or the reading of a trace.

    Attributes:
        code: whose fault it is.
        message: what is wrong, and what to do next.
        offset: the byte of the uncompressed trace where the fault begins; null: unknown.
        packet: the index of the packet with the fault; null: unknown.
    """

    code: ErrorCode
    message: str
    offset: Annotated[int, Meta(ge=0)] | None
    packet: Annotated[int, Meta(ge=0)] | None


class TracetimeError(Exception):
    """Root of all errors that tracetime raises on purpose."""

    code: ClassVar[ErrorCode] = "error"
    """The kind of error, as one word: `usage`, `trace`, `conversion` or `source`."""

    def to_dict(self) -> ErrorFacts:
        """The error in the types of JSON."""
        return {"code": self.code, "message": str(self), "offset": None, "packet": None}


class UsageError(TracetimeError):
    """The caller gave something invalid: an unknown name, a value out of range."""

    code = "usage"


class TraceError(TracetimeError):
    """The trace is not one, is cut off, or is corrupt.

    Args:
        message: what is wrong, and what to do next.
        offset: the byte of the uncompressed file where the fault begins, where known.
        packet: index of the packet with the fault (counted as in the events table), where known.
    """

    code = "trace"
    offset: int | None
    packet: int | None

    def __init__(self, message: str, offset: int | None = None, packet: int | None = None) -> None:
        # All three go to `args`, so that the error survives pickling.
        super().__init__(message, offset, packet)
        self.message = message
        self.offset = offset
        self.packet = packet

    def of(self, path: str) -> TraceError:
        """This error with the trace's path, unless its message begins with it."""
        if self.message.startswith(f"{path}:"):
            return self
        return TraceError(f"{path}: {self.message}", self.offset, self.packet)

    def to_dict(self) -> ErrorFacts:
        """The facts as of other errors; the message does not repeat offset and packet."""
        return {
            "code": self.code,
            "message": self.message,
            "offset": self.offset,
            "packet": self.packet,
        }

    def __str__(self) -> str:
        places = []
        if self.offset is not None:
            places.append(f"byte {self.offset}")
        if self.packet is not None:
            places.append(f"packet {self.packet}")
        return f"{self.message} ({', '.join(places)})" if places else self.message


class ConversionError(TracetimeError):
    """A timestamp cannot be converted from one clock to another.

    Args:
        message: which value, which clocks, and what to do next.
        reason: one of `REASONS`, other than `resolved` and `as_is`.
    """

    code = "conversion"
    reason: str

    def __init__(self, message: str, reason: str) -> None:
        if reason not in REASONS:
            raise ValueError(f"{reason!r} is not a reason string; known: {', '.join(REASONS)}")
        super().__init__(message, reason)
        self.message = message
        self.reason = reason

    def __str__(self) -> str:
        return self.message


class SourceError(TracetimeError):
    """A clock of this machine does not exist, or cannot be read here."""

    code = "source"


class NoBoundError(SourceError):
    """No time service of this machine says how far its clock is from true time at most."""


# Advice on events that have no trace time: one piece for each status.
#
# `tracetime convert`, the doctor's findings and the documentation all take it from here.


class Advice(NamedTuple):
    """The meaning of a status, and the advice on it."""

    why: str
    fix: str


ADVICE: Final[Mapping[str, Advice]] = {
    "unknown_source_clock": Advice(
        "No snapshot in the trace holds the clock these events were read in.",
        "Record ClockSnapshots that hold this clock and the trace clock; for clocks 64 to 127, on "
        "the packet sequence of the events.",
    ),
    "unknown_target_clock": Advice(
        "No snapshot in the trace holds the trace clock.",
        "Record ClockSnapshots that hold the trace clock and the clocks of the events, or set "
        "primary_trace_clock to a clock that they hold.",
    ),
    "no_path": Advice(
        "Snapshots hold this clock, but do not lead from it to the trace clock within 4 hops.",
        "Record a ClockSnapshot that holds both this clock and the trace clock "
        "(primary_trace_clock, else BOOTTIME); `tracetime clocks` shows which clocks snapshots "
        "connect.",
    ),
    "non_monotonic_source": Advice(
        "This clock ran backwards between two snapshots (it was set, its counter wrapped, or the "
        "trace joins several recordings), so one reading can mean two instants, and Perfetto stops "
        "converting from it.",
        "Time the events with a clock that only goes forward, and keep each recording in a trace "
        "of its own.",
    ),
    "ambiguous_source": Advice(
        "The clock was set back, so it read these values more than once.",
        "Time the events with a clock that only goes forward, such as BOOTTIME or MONOTONIC.",
    ),
    "overflow": Advice(
        "The result does not fit in int64 nanoseconds.",
        "Check the raw timestamps, the clock's unit_multiplier_ns and its readings in the "
        "snapshots: one of them is wrong.",
    ),
    "skipped_incremental_state": Advice(
        "These packets need state that was lost (packets were dropped, or the trace begins in "
        "mid-stream), and Perfetto skips them as well.",
        "Use a larger buffer, flush more often, or clear incremental state more often.",
    ),
    "one_sided": Advice(
        "What happened before what ties these clocks from one side only: the other end of the bar "
        "is open, and the time is the end that is known.",
        "One message back, or the longest that a message can take (`max_delay_ns`), closes the "
        "bar.",
    ),
}
"""For events that stayed unresolved, by status."""

READ_LATER: Final = Advice(
    "No snapshot before these events holds the clock they were read in: Perfetto reads the file in "
    "order, and does not place them by the snapshots that come later.",
    "Write a snapshot of this clock and the trace clock before the first of its events, or convert "
    "with `--policy tube`, which uses all snapshots of the file. Slices that these events begin or "
    "end are missing by either policy: only what `bake --policy tube` writes has them.",
)
"""For those with the status unknown_source_clock whose clock a later snapshot holds."""
