"""Checks of callers' arguments to a graph, and the messages of refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.int_arrays import IntArray
from tracetime.errors import ConversionError, UsageError
from tracetime.text import printable

PolicyName: TypeAlias = Literal["floor", "tube"]
"""How a conversion is made: by Perfetto's rule, or corrected for drift, with bars."""

OnError: TypeAlias = Literal["raise", "mask"]
"""What becomes of a value that does not convert: an error, or null."""

Time: TypeAlias = int | np.integer[Any] | str | date | np.datetime64
"""A timestamp: a whole number, or of a wall clock a date and time."""

TimeArray: TypeAlias = (
    IntArray | npt.NDArray[np.datetime64] | list[str] | Sequence[date] | Sequence[np.datetime64]
)
"""Timestamps: a list, or a 1-d array of NumPy or another library."""

Times: TypeAlias = Time | TimeArray
"""A timestamp, or an array of them."""

ClockTimes: TypeAlias = tuple[Times, ClockLike]
"""Timestamps, and their clock."""

MAX_HOPS: Final = 4
"""Of a path of floor: as many as Perfetto's clock_synchronizer.cc allows."""

SNAPSHOT_FAULTS: Final = (
    "",
    "{clock} is incremental, which only sequence-scoped clocks (64 to 127) can be",
    "{clock} has another unit or incremental flag than in its first snapshot",
    "{clock} is the trace clock, which must count nanoseconds (unit_ns=1)",
    "{clock} is in the snapshot twice",
    "{clock} is the trace clock, and went backwards",
    "the reading of {clock} does not fit in int64 nanoseconds",
    "a RemoteClockSync ties {clock}, of the trace clock's machine, to itself",
)
"""Why a snapshot is refused or taken in part; the kernels' code is the index."""


def is_cpu_time(clock: ClockId) -> bool:
    """Whether a clock is PROCESS_CPUTIME or THREAD_CPUTIME; builtin_clock.proto reserves both."""
    return clock.clock in (7, 8)


def check_policy(policy: str) -> None:
    if policy not in ("floor", "tube"):
        raise UsageError(f"there is no policy {policy!r}: use 'floor' or 'tube'")


def check_errors(errors: str) -> None:
    if errors not in ("raise", "mask"):
        raise UsageError(f"errors is 'raise' or 'mask', not {errors!r}")


def check_tube_only(policy: PolicyName, bounds: bool, near: ClockTimes | None) -> None:
    if policy != "tube" and (bounds or near is not None):
        what = "bounds" if bounds else "near"
        raise UsageError(f"only the tube has {what}: convert with policy='tube'")


def checked_domain(domain: ClockDomain) -> ClockDomain:
    if not isinstance(domain, ClockDomain):
        raise UsageError(f"a domain is a ClockDomain, as in ClockDomain('TSC'), not {domain!r}")
    return domain


def clock_of_caller(clock: ClockLike) -> ClockId:
    parsed = ClockId.parse(clock)
    if parsed.is_sequence_scoped and not parsed.sequence:
        raise UsageError(
            f"clock {parsed} belongs to a packet sequence: say which, as in {parsed}@seq7"
        )
    return parsed


def refusal(
    reason: str,
    source: ClockId,
    target: ClockId,
    clocks: Sequence[ClockId],
    ordered: Collection[ClockId],
) -> ConversionError:
    """The error for a source that floor does not convert to target in a graph of these clocks.

    ordered: those that have orders, which floor does not use.
    """
    unknown = {"unknown_source_clock": source, "unknown_target_clock": target}.get(reason)
    there = "" if unknown is None else clock_list(clocks)
    if unknown in ordered:
        there = "orders alone tie it to others, and floor does not use them: use policy='tube'"
    more = ", or policy='tube', which uses orders, too" if ordered else ""
    text = {
        "unknown_source_clock": f"no snapshot has {source}: {there}",
        "unknown_target_clock": f"no snapshot has {target}: {there}",
        "non_monotonic_source": f"{source} ran backwards in the snapshots, so that one reading "
        f"of it can mean two instants: it can be converted to, not from",
        "no_path": f"the snapshots do not lead from {source} to {target} in {MAX_HOPS} hops: "
        f"take one that has both, or a clock that each is tied to{more}",
    }[reason]
    return ConversionError(text, reason)


def clock_list(clocks: Sequence[ClockId], called: Callable[[ClockId], str] = str) -> str:
    """The list of a graph's clocks, by their names, in words."""
    named = ", ".join(printable(called(clock)) for clock in clocks[:12]) or "no clocks"
    more = f" and {len(clocks) - 12} more" if len(clocks) > 12 else ""
    return f"the graph has {named}{more}"
