"""Options and arguments that subcommands share, and the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.commands.limits import named_clock, time_ns
from tracetime.errors import UsageError

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.graph import ClockGraph
    from tracetime.graph.tube import Bars

F = TypeVar("F", bound=Callable[..., Any])

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)


class Size(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """A number of bytes, such as 4G, 512M or 1000."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        if match is None:
            self.fail(f"{value!r} is no size: write bytes, or 512M, 4G, 1T", param, ctx)
        return int(match[1]) * _UNITS[match[2].upper()]


class Seconds(click.FloatRange):
    """A time within limits: a number of seconds, or one with its unit, such as 100ms.

    nan, which compares with none, is not.
    """

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(_seconds(value), param, ctx))
        if not isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


def _seconds(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return time_ns(value) / 1e9


class Clock(click.ParamType):  # type: ignore[type-arg]
    """A clock, in the forms that `ClockId.parse` takes, or by a --clock-name."""

    name = "clock"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> ClockId:
        if isinstance(value, ClockId):
            return value
        try:
            return named_clock(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        known = [name for name in BUILTIN_IDS if name.startswith(incomplete.upper())]
        return [CompletionItem(name) for name in known]


def output_option(help: str, *, required: bool = False) -> Callable[[F], F]:
    """Add -o, the file to write; the command takes it as `out`.

    What writes the file checks the path: `file_target`, for all commands alike.
    """
    return click.option(
        "-o",
        "--output",
        "--out",
        "out",
        required=required,
        type=click.Path(),
        metavar="FILE",
        help=help,
    )


def time_option(*names: str, default: str | None = None, help: str) -> Callable[[F], F]:
    """An option that is a time with its unit, in ns; None where it is not given."""
    return click.option(
        *names,
        metavar="TIME",
        default=default,
        show_default=default is not None,
        callback=lambda ctx, param, text: None if text is None else time_ns(text),
        help=help,
    )


tolerance_option = time_option(
    "--tolerance",
    default="1ms",
    help="Events may be misplaced by so much without that being an error.",
)

reference_option = click.option(
    "--reference", metavar="CLOCK", help="The clock that the others are bracketed by."
)


def clocks_option(verb: str, default: str = "all if not given.") -> Callable[[F], F]:
    """Add --clock, for clocks of this machine; `default` says which are taken if none is named."""
    return click.option(
        "--clock",
        "clocks",
        multiple=True,
        metavar="CLOCK",
        help=f"A clock to {verb}: MONOTONIC, TSC, vulkan:0. Repeatable; {default}",
    )


_PARTIAL: Final = click.option(
    "--partial",
    is_flag=True,
    help="Keep what comes before the place where the trace is cut off or corrupt.",
)
_LIMITS: Final = (
    click.option(
        "--max-expansion",
        type=Size(),
        default="4G",
        show_default=True,
        help="Stop at a trace that decompresses to more than this.",
    ),
    click.option(
        "--max-clocks",
        type=click.IntRange(min=1),
        default=1 << 17,
        show_default=True,
        help="Stop at a trace whose snapshots name more clocks than this.",
    ),
    click.option(
        "--max-tubes",
        type=click.IntRange(min=1),
        default=3000,
        show_default=True,
        help="Stop where more pairs of clocks than this need error bars; a thousand take a second.",
    ),
)


def limits_of_reading(function: F) -> F:
    """Add the limits of `open_trace`; the command takes them as `reading`."""
    return _as_reading(function, _LIMITS)


def reading_options(function: F) -> F:
    """Add --partial and the limits of `open_trace`; the command takes them as `reading`."""
    return _as_reading(function, (_PARTIAL, *_LIMITS))


def _as_reading(function: F, options: Sequence[Callable[[Any], Any]]) -> F:
    """Add options whose values the command takes as one dictionary, `reading`."""
    names = ("partial", "max_expansion", "max_clocks", "max_tubes")

    @wraps(function)
    def command(*args: Any, **values: Any) -> Any:
        reading = {name: values.pop(name) for name in names if name in values}
        return function(*args, reading=reading, **values)

    decorated: Any = command
    for option in reversed(options):
        decorated = option(decorated)
    return cast("F", decorated)


def trace_options(function: F) -> F:
    """Add TRACE and `reading_options`, which every subcommand that reads one trace takes."""
    return click.argument("trace", type=click.Path(allow_dash=True))(reading_options(function))


def policy_options(function: F) -> F:
    """Add --policy and --bars; the command takes `policy` and `bars`.

    The command raises UsageError for bars of a policy that has none.
    """

    @click.option(
        "--policy",
        type=click.Choice(["floor", "tube"]),
        default="floor",
        show_default=True,
        help="Perfetto's rule, or one that follows drift and gives error bars.",
    )
    @click.option(
        "--bars",
        type=click.Choice(["estimated", "guaranteed"]),
        help="Error bars of the tube: from rates that held (the default), or from limits only.",
    )
    @wraps(function)
    def command(*args: Any, policy: PolicyName, bars: Bars | None, **values: Any) -> Any:
        if bars is not None and policy != "tube":
            raise UsageError("only the tube has error bars: give --policy tube with --bars")
        return function(*args, policy=policy, bars=bars or "estimated", **values)

    return cast("F", command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")


def clock_in(graph: ClockGraph, clock: ClockId, sequence: int | None = None) -> ClockId:
    """Return `clock`, with `sequence` where it is sequence-scoped and says none.

    Raises:
        UsageError: a sequence-scoped clock, and no sequence is said.
    """
    if not clock.is_sequence_scoped or clock.sequence:
        return clock
    if sequence:
        return ClockId(clock.clock, sequence, clock.machine, clock.file)
    found = [str(info.clock.sequence) for info in graph.clocks() if info.clock.clock == clock.clock]
    more = f" and {len(found) - 12} more" if len(found) > 12 else ""
    raise UsageError(
        f"clock {clock} belongs to a packet sequence: say which with --sequence, or as "
        f"{clock}@seq7; this trace has it on "
        + (f"{', '.join(found[:12])}{more}" if found else "none")
    )
