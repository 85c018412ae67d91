"""Options by which a caller says what clocks are and may do, and how they become ClockDomains."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.graph.graph import ClockGraph

F = TypeVar("F", bound=Callable[..., Any])

_NAMES: Final = "tracetime.clock_names"
_TYPED: Final = "tracetime.typed_clocks"
_TOLD: Final = 8
"""How many clocks a warning names at most."""

_QUANTITY: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?) ?([a-zµ]*)", re.IGNORECASE | re.ASCII)
_HERTZ: Final = {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}
_NS: Final = {
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip


def named_clock(text: str) -> ClockId:
    """Return the clock that `text` names, by a --clock-name of this command line or by itself.

    Raises:
        UsageError: no clock.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return ClockId.parse(text)
    names: Mapping[str, ClockId] = context.meta.get(_NAMES, {})
    clock = names[text] if text in names else ClockId.parse(text)
    context.meta.setdefault(_TYPED, {}).setdefault(clock, text)
    return clock


class Setting(click.ParamType):  # type: ignore[type-arg]
    """CLOCK=VALUE; gives (clock, value).

    Args:
        parse: makes the value of its text; raises ValueError where it is none.
        form: an example of the whole.
    """

    name = "setting"

    def __init__(self, parse: Callable[[str], Any], form: str) -> None:
        self._parse = parse
        self._form = form

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[ClockId, Any]:
        if isinstance(value, tuple):
            return value
        clock, equals, text = value.partition("=")
        try:
            if not equals:
                raise ValueError
            return named_clock(clock.strip()), self._parse(text.strip())
        except ValueError:
            self.fail(f"cannot read {value!r}: write it as {self._form}", param, ctx)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def _ppm(text: str) -> float:
    ppm = float(text)
    if not math.isfinite(ppm):
        raise ValueError(text)
    return ppm


def _rate(text: str) -> Fraction:
    """ns per tick, exactly, of a frequency such as 2.445GHz."""
    hertz = _quantity(text, _HERTZ)
    if hertz == 0:
        raise ValueError(text)
    return 10**9 / hertz


def _width_ns(text: str) -> int:
    """Whole ns, rounded up, of a duration such as 1us."""
    return -int(-_quantity(text, _NS) // 1)


def time_ns(text: str) -> int:
    """Whole ns, rounded up, of a duration such as 1us on a command line."""
    try:
        return _width_ns(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time: write it as 100us, 5s or 2min") from None


def _quantity(text: str, units: Mapping[str, int]) -> Fraction:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise ValueError(text)
    return Fraction(match[1]) * units[match[2].lower()]


def _name(text: str) -> str:
    if not (text and text.isprintable()):
        raise ValueError(text)
    return text


def _learn_names(
    ctx: click.Context, param: click.Parameter, given: tuple[tuple[ClockId, str], ...]
) -> tuple[tuple[ClockId, str], ...]:
    names: dict[str, ClockId] = ctx.meta.setdefault(_NAMES, {})
    for clock, name in given:
        if names.setdefault(name, clock) != clock:
            raise UsageError(f"{name} is the name of one clock, not of {names[name]} and {clock}")
    return given


_SETTINGS: Final = (
    ("--max-drift-ppm", "max_drift_ppm", Setting(_ppm, "MONOTONIC=500"), "CLOCK=PPM",
     "How far the clock's rate may be from nominal."),
    ("--wander-ppm", "wander_ppm", Setting(_ppm, "MONOTONIC_RAW=0.5"), "CLOCK=PPM",
     "How far the clock's rate strays from its mean over a run."),
    ("--assume-half-width", "assumed_half_width_ns", Setting(_width_ns, "BOOTTIME=1us"),
     "CLOCK=TIME", "How far off the clock's snapshots are, where they do not say: 1us."),
    ("--clock-rate", "ns_per_tick", Setting(_rate, "TSC=2.445GHz"), "CLOCK=RATE",
     "The nominal rate of a clock that counts ticks: 2.445GHz."),
    ("--valid-bits", "valid_bits", Setting(int, "0x8a01b2c3=36"), "CLOCK=BITS",
     "How many bits the clock counts before it wraps."),
)  # fmt: skip


def limit_options(function: F) -> F:
    """Add the options that say what clocks are; the command takes them as `**limits`."""
    for option, field, kind, metavar, told in reversed(_SETTINGS):
        function = click.option(
            option, field, type=kind, metavar=metavar, multiple=True, help=f"{told} Repeatable."
        )(function)
    return name_option(function)


def name_option(function: F) -> F:
    """Add --clock-name; the command takes it as `name`."""
    # Read before all others, so that they can use the names.
    return click.option(
        "--clock-name",
        "name",
        type=Setting(_name, "0x8a01b2c3=com.example.gpu"),
        metavar="CLOCK=NAME",
        multiple=True,
        is_eager=True,
        callback=_learn_names,
        help="What to call a clock, here and in what is printed. Repeatable.",
    )(function)


def domains_of(limits: Mapping[str, tuple[tuple[ClockId, Any], ...]]) -> list[ClockDomain]:
    """Put together what `limit_options` were given: one domain a clock, in order of clocks.

    Raises:
        UsageError: a value out of range, or two different ones for one clock.
    """
    fields: dict[ClockId, dict[str, Any]] = {}
    for field, settings in limits.items():
        for clock, value in settings:
            if fields.setdefault(clock, {}).setdefault(field, value) != value:
                raise UsageError(f"{field} of {clock} is given twice, and not the same")
    return [replace(ClockDomain.of_kind(clock), **fields[clock]) for clock in sorted(fields)]


def labels(domains: list[ClockDomain]) -> dict[ClockId, str]:
    """The names given to clocks, as they are to be shown."""
    return {domain.id: domain.name for domain in domains if domain.name is not None}


def warn_of_absent(
    domains: Iterable[ClockDomain], present: Collection[ClockId], names: Mapping[ClockId, str]
) -> None:
    """Warn, on one line of stderr, of clocks that options name and a trace does not have.

    Args:
        domains: as `domains_of` put them together.
        present: the clocks of the trace, or of all traces.
        names: what these are called, where that is known.
    """
    from tracetime.graph.clock_names import fold

    every = {replace(clock, sequence=0) for clock in present if clock.is_sequence_scoped}
    absent = [d.id for d in domains if d.id not in present and d.id not in every]
    if not absent:
        return
    context = click.get_current_context(silent=True)
    typed: Mapping[ClockId, str] = {} if context is None else context.meta.get(_TYPED, {})
    told = _listed(typed.get(clock, str(clock)) for clock in absent)
    there = fold(sorted(present), lambda clock: names.get(clock) or str(clock))
    have = f"the clocks are {_listed(dict.fromkeys(there.values()))}"
    echo(
        f"warning: no snapshot has {told}, which options name; "
        f"{have if there else 'there are no snapshots'}",
        err=True,
    )


def warn_of_absent_in(graph: ClockGraph, domains: list[ClockDomain]) -> None:
    """`warn_of_absent`, of the clocks that a trace's snapshots have."""
    if domains:
        warn_of_absent(domains, {info.clock for info in graph.clocks()}, graph.names)


def warn_of_unused(limits: Mapping[str, Collection[Any]]) -> None:
    """Warn, on one line of stderr, of options whose limits the policy asked for takes no part in.

    Args:
        limits: as `limit_options` gives them to a command.
    """
    given = [option for option, field, *_ in _SETTINGS if limits.get(field)]
    if given:
        echo(
            f"warning: the floor policy uses no {' and no '.join(given)}: give --policy tube",
            err=True,
        )


def _listed(words: Iterable[str]) -> str:
    every = list(words)
    more = f" and {len(every) - _TOLD} more" if len(every) > _TOLD else ""
    return ", ".join(map(printable, every[:_TOLD])) + more
