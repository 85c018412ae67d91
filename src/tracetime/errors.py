"""Errors, by whose fault they are, and the reason strings of conversions.

    TracetimeError
    ├── UsageError        the caller's: a wrong argument, clock, path or option
    ├── TraceError        the trace's: not a trace, cut off, corrupt (byte offset, packet)
    ├── ConversionError   the graph's: no path from one clock to the other (reason)
    └── SourceError       the machine's: no such clock source, or it cannot be read
        └── NoBoundError  nothing bounds how far its clock is from true time

Each message says what to do next. Each function's docstring says which errors it raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, TypedDict

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
        """This error with the trace's path, for where several traces are read."""
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
