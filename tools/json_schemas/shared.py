"""The shapes that several commands print."""

from __future__ import annotations

from typing import Final, get_args

from tools.json_schemas.notation import (
    Schema,
    by_name,
    count,
    int64,
    listed,
    one_of,
    or_null,
    record,
    shared,
    text,
)
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.doctor import SEVERITIES
from tracetime.doctor.catalogue import CATALOGUE
from tracetime.errors import (
    ConversionError,
    SourceError,
    TraceError,
    TracetimeError,
    UsageError,
)
from tracetime.graph.arguments import PolicyName
from tracetime.graph.ticks import Unit
from tracetime.graph.tube.bars import Bars
from tracetime.verbs.event_baking.reasons import REASONS

_NUMBER: Final = rf"({'|'.join(BUILTIN_IDS)}|0x[0-9a-f]{{8}}|[0-9]+)"
_CLOCK: Final = rf"^{_NUMBER}(@seq[0-9]+)?(@machine[0-9]+)?(@file[0-9]+)?$"
_ERRORS: Final = (UsageError, TraceError, ConversionError, SourceError, TracetimeError)
SIDES: Final = ("", "before first", "after last")


def clock(says: str) -> Schema:
    """A clock, as `str(ClockId)` writes it."""
    return shared("clock", says)


def policy(says: str = "How events came to trace time.") -> Schema:
    """The policy of a conversion."""
    return one_of(says, get_args(PolicyName))


def bars(says: str) -> Schema:
    """The kind of error bars."""
    return one_of(says, get_args(Bars))


def unit(says: str) -> Schema:
    """The unit of a value."""
    return one_of(says, get_args(Unit))


def scope() -> Schema:
    """Where a clock's number has a meaning."""
    return one_of("Where the clock's number has a meaning.", ("builtin", "sequence", "global"))


def side() -> Schema:
    """On which side of the snapshots a value is."""
    return one_of(
        "On which side of the snapshots the value is; empty where it is among them.", SIDES
    )


READING: Final[dict[str, Schema]] = {
    "warnings": listed(
        "What is wrong in the trace and did not end its reading: the first of them.",
        shared("warning", "One of them."),
    ),
    "n_warnings": count("How many warnings there are in all."),
    "events_dropped": count("Events that the recorder says it dropped: they are not in the trace."),
    "truncated": or_null(
        shared(
            "error",
            "With --partial, the error after which the rest was not read; null if all was read.",
        )
    ),
}
"""How the reading of a trace went."""

LEFT_OUT_BY: Final = by_name("How much of that for each reason.", count("How much."), REASONS)
"""Why events of other formats are not in what `bake` and `merge` write."""

SHARED: Final[dict[str, Schema]] = {
    "clock": text(
        "A clock: a builtin name, a number (in hex where it is the hash of a name), and where they "
        "are not 0 its packet sequence, the index of its machine and of its file.",
        pattern=_CLOCK,
        examples=["BOOTTIME", "64@seq7", "0x8a01b2c3@machine1"],
    ),
    "warning": record(
        "Something wrong in a trace that does not end its reading.",
        {
            "message": text("What is wrong."),
            "offset": count("The byte of the uncompressed trace where it is."),
            "packet": count("The index of its packet, counted as in the events table."),
        },
    ),
    "error": record(
        "Why a command, or the reading of a trace, ended.",
        {
            "code": one_of("Whose fault it is.", (error.code for error in _ERRORS)),
            "message": text("What is wrong, and what to do next."),
            "offset": or_null(
                count("The byte of the uncompressed trace where the fault begins; null: unknown.")
            ),
            "packet": or_null(count("The index of the packet with the fault; null: unknown.")),
        },
    ),
    "finding": record(
        "Something about the clocks of a trace.",
        {
            "code": shared("finding_code", "Its kind."),
            "severity": one_of("How bad it is.", SEVERITIES),
            "title": text("What was seen, in one line."),
            "clocks": listed("The clocks concerned.", clock("One of them.")),
            "packets": listed(
                "The indexes of the first few packets where it is, ascending.",
                count("The index of a packet."),
            ),
            "events": count("How many events it touches."),
            "worst_ns": or_null(
                int64("By how much time at most, ns; null where there is no such figure.")
            ),
            "why": text("Its cause."),
            "fix": text("What to do."),
            "consequences": listed(
                "Findings that this one leads to.", shared("finding", "One of them.")
            ),
        },
    ),
    "finding_code": one_of(
        "The kind of a finding: the name of its page under Findings.", sorted(CATALOGUE)
    ),
    "fault": record(
        "A fault of a clock of this machine.",
        {
            "code": text("Its kind.", pattern="^[a-z_]+$"),
            "clock": text("The name of the clock."),
            "message": text("What happened, with numbers, and what to do."),
            "severity": one_of(
                "error: what uses this clock is wrong; or a warning.", ("error", "warning")
            ),
        },
    ),
    "unavailable": record(
        "A clock that cannot be read.",
        {"name": text("The name of the clock."), "reason": text("Why it cannot be read.")},
    ),
}
"""By the name that `shared` takes."""
