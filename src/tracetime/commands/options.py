"""Options and arguments that subcommands share, and the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from tracetime.clocks.ids import BUILTIN_IDS, ClockId, ClockLike
from tracetime.commands.limits import given_names, time_ns
from tracetime.commands.terminal import echo
from tracetime.errors import TracetimeError, UsageError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

F = TypeVar("F", bound=Callable[..., Any])

_MOST_COMPLETED: Final = 32 << 20
"""Bytes of a trace whose clocks a shell completes: they are read in about a second."""

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
            self.fail(
                f"{value!r} is not a size: give bytes, or a number with a unit: 512M, 4G, 1T",
                param,
                ctx,
            )
        return int(match[1]) * _UNITS[match[2].upper()]


class Seconds(click.FloatRange):
    """A time within limits, in seconds: a number, or one with its unit, such as 100ms.

    nan is refused: it passes every limit.
    """

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(_seconds(value), param, ctx))
        if not isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


def _seconds(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return time_ns(value) / 1e9


class Clock(click.ParamType):  # type: ignore[type-arg]
    """A clock: by a --clock-name as its id, else as text, which `clock_in` finds in a trace."""

    name = "clock"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> ClockLike:
        return value if isinstance(value, ClockId) else given_names().get(value, value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # Arguments before an option without its value are still there.
        words = (ctx.params.get("trace"), *ctx.args)
        path = next((word for word in words if word and Path(word).is_file()), None)
        known = _clocks_of(path) or list(BUILTIN_IDS)
        typed = incomplete.casefold()
        return [CompletionItem(name) for name in known if name.casefold().startswith(typed)]


def _clocks_of(path: str | None) -> list[str]:
    """Return the clocks of a trace to complete; none of a large one, which takes long to read."""
    from tracetime.formats import open_trace

    try:
        if path is None or Path(path).stat().st_size > _MOST_COMPLETED:
            return []
        with open_trace(path, partial=True) as trace:
            return [trace.clocks.name(info.clock) for info in trace.clocks.clocks()]
    except (OSError, ValueError, TracetimeError):
        return []


def time_option(*names: str, default: str | None = None, help: str) -> Callable[[F], F]:
    """Add an option that is a time with its unit; the command takes it in ns, or None."""
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
    help="By how much events may be misplaced before that is an error.",
)

reference_option = click.option(
    "--reference", metavar="CLOCK", help="The clock to read before and after each other clock."
)


def clocks_option(verb: str, default: str = "By default all.") -> Callable[[F], F]:
    """Add --clock, for clocks of this machine; `default` says which are used if none is given."""
    return click.option(
        "--clock",
        "clocks",
        multiple=True,
        metavar="CLOCK",
        help=f"A clock to {verb}: MONOTONIC, TSC, vulkan:0. Repeatable. {default}",
    )


_PARTIAL: Final = click.option(
    "--partial",
    is_flag=True,
    help="Keep what comes before where it is cut off or corrupt.",
)
_LIMITS: Final = (
    click.option(
        "--max-expansion",
        type=Size(),
        default="4G",
        show_default=True,
        help="Refuse a trace that decompresses to more bytes than this.",
    ),
    click.option(
        "--max-clocks",
        type=click.IntRange(min=1),
        default=1 << 14,
        show_default=True,
        help="Refuse a trace whose snapshots or rows name more clocks than this.",
    ),
    click.option(
        "--max-tubes",
        type=click.IntRange(min=1),
        default=3000,
        show_default=True,
        help="Compute error bars of at most this many pairs of clocks; 1,000 take about a second.",
    ),
    click.option(
        "--orders",
        type=click.Choice(["flows"]),
        help="Let error bars use what happened before what: events of one flow on two machines.",
    ),
)


partial_anyway = click.option(
    "--partial",
    "partial_anyway",
    is_flag=True,
    expose_value=False,
    help="Nothing: what comes before a cut is read without it.",
)


def limits_of_reading(function: F) -> F:
    """Add the limits of `open_trace`; the command takes them as `reading`."""
    return _as_reading(function, _LIMITS)


def reading_options(function: F) -> F:
    """Add --partial and the limits of `open_trace`; the command takes them as `reading`."""
    return _as_reading(function, (_PARTIAL, *_LIMITS))


def _as_reading(function: F, options: Sequence[Callable[[Any], Any]]) -> F:
    """Add options whose values the command takes as one dictionary, `reading`."""
    names = ("partial", "max_expansion", "max_clocks", "max_tubes", "orders")

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


apart_option = click.option(
    "--apart",
    is_flag=True,
    help="Take the traces of an archive with a manifest one by one, as from a pipe.",
)


def policy_options(function: F) -> F:
    """Add --policy and --bars; the command takes `policy` and `bars`.

    The command raises UsageError for bars of a policy that has none.
    """

    @click.option(
        "--policy",
        type=click.Choice(["floor", "tube"]),
        default="floor",
        show_default=True,
        help="Perfetto's rule, or one that follows drift and has error bars.",
    )
    @click.option(
        "--bars",
        type=click.Choice(["estimated", "guaranteed"]),
        help="By measured rates (default), or by limits alone.",
    )
    @wraps(function)
    def command(*args: Any, policy: PolicyName, bars: Bars | None, **values: Any) -> Any:
        if bars is not None and policy != "tube":
            raise UsageError("only the tube has error bars: give --policy tube, too")
        return function(*args, policy=policy, bars=bars or "estimated", **values)

    return cast("F", command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def lacks_sequence(given: ClockLike | None) -> ClockId | None:
    """Return the clock, if it is one of a packet sequence and does not say of which."""
    try:
        clock = None if given is None else ClockId.parse(given)
    except UsageError:  # It may be a name in the trace.
        return None
    return clock if clock and clock.is_sequence_scoped and not clock.sequence else None


def clock_in(graph: ClockGraph, given: ClockLike, sequence: int | None = None) -> ClockId:
    """Return the clock of a graph that is given, with `sequence` if it is one of a sequence.

    Raises:
        UsageError: it is no clock; a sequence-scoped clock, and no sequence is given.
        ConversionError: no snapshot has the name.
    """
    clock = lacks_sequence(given)
    if clock is None:
        return graph.clock(given, known=True)
    if sequence:
        return ClockId(clock.clock, sequence, clock.machine, clock.file)
    found = [str(info.clock.sequence) for info in graph.clocks() if info.clock.clock == clock.clock]
    more = f" and {len(found) - 12} more" if len(found) > 12 else ""
    raise UsageError(
        f"clock {clock} belongs to a packet sequence: give --sequence, or write {clock}@seq7; "
        "this trace has it on " + (f"{', '.join(found[:12])}{more}" if found else "no sequence")
    )


# Traces of the command line: a file is one, an archive has several.


def traces_in(
    paths: Iterable[str],
    options: dict[str, Any],
    *,
    apart: bool = False,
    with_damage: bool = False,
) -> Iterator[tuple[str, Callable[[], Trace]]]:
    """Yield the path of each trace, and what opens it until the next is asked for.

    An archive that cannot be read is yielded, too: what opens it raises why.

    Args:
        paths: of traces and archives.
        options: of `open_trace`.
        apart: yield each trace of an archive with a manifest, which are one on one timeline.
        with_damage: yield an archive of which a part can be read, too, after its members: what
            opens it raises why the others cannot. Without, a warning says so.
    """
    from tracetime.formats import open_archive

    for path in paths:
        try:
            archive, opens = open_archive(path, **options)
        except TracetimeError as error:
            yield path, partial(_raise, error)
            continue
        if archive is None:
            yield path, opens
            continue
        with archive:
            # Standard input is read once.
            if archive.manifests and not apart and path != "-":
                yield path, partial(_open_as_one, path, options)
                continue
            try:
                archive.check_traces()
                archive.check_sizes()
            except TracetimeError as error:
                yield path, partial(_raise, error)
                continue
            for name, why in archive.left_out.items():
                echo(f"note: {printable(path)}: {printable(name)} is left out: {why}", err=True)
            if archive.damage is not None and not with_damage:
                echo(f"warning: {printable(path)}: {archive.damage}", err=True)
            for name in archive.members:
                yield f"{path}:{name}", partial(archive.open, name)
            if archive.damage is not None and with_damage:
                yield path, partial(_raise, archive.damage)


def _open_as_one(path: str, options: dict[str, Any]) -> Trace:
    try:
        return open_as_one(path, **options)
    except UsageError as error:
        raise UsageError(f"{error}; --apart takes its traces one by one") from error


def open_as_one(*paths: str, **options: Any) -> Trace:
    """Open a trace; several paths, or an archive with a perfetto_manifest, as one trace.

    options: of `open_trace`.
    """
    from tracetime.formats import open_archive, open_trace

    is_one = len(paths) == 1
    if is_one:
        archive, _ = open_archive(paths[0]) if paths[0] != "-" else (None, None)
        if archive is not None:
            with archive:
                is_one = not archive.manifests
    if is_one:
        return open_trace(paths[0], **options)
    from tracetime.merging.one_trace import open_traces

    return open_traces(paths, **options)


def _raise(error: TracetimeError) -> NoReturn:
    raise error
