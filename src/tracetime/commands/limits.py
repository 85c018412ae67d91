"""Options that describe clocks (limits, rates, names), and the ClockDomains made of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.wall_time import NS_OF_UNIT
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.graph.clock_graph import ClockGraph

F = TypeVar("F", bound=Callable[..., Any])

_NAMES: Final = "tracetime.clock_names"
_TYPED: Final = "tracetime.typed_clocks"
_MOST_NAMED: Final = 8
"""Clocks that a warning names: about three lines."""

_QUANTITY: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?) ?([a-zµ]*)", re.IGNORECASE | re.ASCII)
_SECONDS: Final = re.compile(r"\d{1,30}(?:\.\d{1,30})?", re.ASCII)
_HERTZ: Final = {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}


def given_names() -> Mapping[str, ClockId]:
    """Return the clocks of each --clock-name of this command line, by their names."""
    context = click.get_current_context(silent=True)
    names: Mapping[str, ClockId] = {} if context is None else context.meta.get(_NAMES, {})
    return names


def named_clock(text: str) -> ClockId:
    """Return the clock that `text` names: by a --clock-name of this command line, or as an id.

    Raises:
        UsageError: `text` is no clock.
    """
    clock = given_names().get(text) or ClockId.parse(text)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(_TYPED, {}).setdefault(clock, text)
    return clock


class Setting(click.ParamType):  # type: ignore[type-arg]
    """CLOCK=VALUE, as (clock, value).

    Args:
        parse: makes the value from its text, or raises ValueError.
        form: an example of the whole setting, for the error.
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
    """Return the exact ns per tick of a frequency such as 2.445GHz."""
    hertz = _quantity(text, _HERTZ)
    if hertz == 0:
        raise ValueError(text)
    return 10**9 / hertz


def _width_ns(text: str) -> int:
    """Return the whole ns, rounded up, of a duration such as 1us."""
    return -int(-_quantity(text, NS_OF_UNIT) // 1)


def time_ns(text: str) -> int:
    """Return the whole ns, rounded up, of an option's time such as 1us; a number is in seconds."""
    try:
        return _width_ns(f"{text}s" if _SECONDS.fullmatch(text) else text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a time: write it as 100us, 5s or 2min; a number is in seconds"
        ) from None


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
            raise UsageError(
                f"{name} is given as the name of two clocks: {names[name]} and {clock}"
            )
    return given


class _Option(NamedTuple):
    """An option that takes a `Setting`, and the field of ClockDomain that it sets."""

    option: str
    field: str
    parse: Callable[[str], Any]
    example: str
    metavar: str
    help: str


_SETTINGS: Final = (
    _Option(
        "--max-drift-ppm",
        "max_drift_ppm",
        _ppm,
        "MONOTONIC=500",
        "CLOCK=PPM",
        "How far the clock's rate may be from nominal.",
    ),
    _Option(
        "--wander-ppm",
        "wander_ppm",
        _ppm,
        "MONOTONIC_RAW=0.5",
        "CLOCK=PPM",
        "How far the clock's rate may be from its mean over a run.",
    ),
    _Option(
        "--assume-half-width",
        "assumed_half_width_ns",
        _width_ns,
        "BOOTTIME=1us",
        "CLOCK=TIME",
        "How far off readings in the clock's snapshots are, if these do not say: 1us.",
    ),
    _Option(
        "--clock-rate",
        "ns_per_tick",
        _rate,
        "TSC=2.445GHz",
        "CLOCK=RATE",
        "The nominal rate of a clock that counts ticks: 2.445GHz.",
    ),
    _Option(
        "--valid-bits",
        "valid_bits",
        int,
        "0x8a01b2c3=36",
        "CLOCK=BITS",
        "How many bits the clock counts before it wraps.",
    ),
)


def limit_options(function: F) -> F:
    """Add the options that describe clocks; the command takes them as `**limits`."""
    for setting in reversed(_SETTINGS):
        function = click.option(
            setting.option,
            setting.field,
            type=Setting(setting.parse, setting.example),
            metavar=setting.metavar,
            multiple=True,
            help=f"{setting.help} Repeatable.",
        )(function)
    return name_option(function)


def name_option(function: F) -> F:
    """Add --clock-name; the command takes it as `name`."""
    # Eager, so that all other options can use the names.
    return click.option(
        "--clock-name",
        "name",
        type=Setting(_name, "0x8a01b2c3=com.example.gpu"),
        metavar="CLOCK=NAME",
        multiple=True,
        is_eager=True,
        callback=_learn_names,
        help="Give a clock a name, for other options and for the output. Repeatable.",
    )(function)


def domains_of(limits: Mapping[str, tuple[tuple[ClockId, Any], ...]]) -> list[ClockDomain]:
    """Return one domain for each clock of `limit_options`, ordered by clock.

    Raises:
        UsageError: a value out of range, or two different values for one clock.
    """
    fields: dict[ClockId, dict[str, Any]] = {}
    for field, settings in limits.items():
        for clock, value in settings:
            if fields.setdefault(clock, {}).setdefault(field, value) != value:
                raise UsageError(f"{field} of {clock} is given twice, with different values")
    return [replace(ClockDomain.of_kind(clock), **fields[clock]) for clock in sorted(fields)]


def labels(domains: list[ClockDomain]) -> dict[ClockId, str]:
    """Return the names given to clocks."""
    return {domain.id: domain.name for domain in domains if domain.name is not None}


def warn_of_absent(
    domains: Iterable[ClockDomain], present: Collection[ClockId], names: Mapping[ClockId, str]
) -> None:
    """Warn, on one line of stderr, of clocks that options name and no snapshot has.

    Args:
        domains: as `domains_of` returns them.
        present: the clocks of the trace, or of all traces.
        names: names of these, where known.
    """
    from tracetime.graph.clock_names import fold

    every = {replace(clock, sequence=0) for clock in present if clock.is_sequence_scoped}
    absent = [d.id for d in domains if d.id not in present and d.id not in every]
    if not absent:
        return
    context = click.get_current_context(silent=True)
    typed: Mapping[ClockId, str] = {} if context is None else context.meta.get(_TYPED, {})
    missing = _list(typed.get(clock, str(clock)) for clock in absent)
    known = fold(sorted(present), lambda clock: names.get(clock) or str(clock))
    have = f"the clocks are {_list(dict.fromkeys(known.values()))}"
    echo(
        f"warning: no snapshot has {missing}, which options name; "
        f"{have if known else 'there are no snapshots'}",
        err=True,
    )


def warn_of_absent_in(graph: ClockGraph, domains: list[ClockDomain]) -> None:
    """Call `warn_of_absent` with the clocks of a trace's snapshots."""
    if domains:
        warn_of_absent(domains, {info.clock for info in graph.clocks()}, graph.names)


def warn_of_unused(limits: Mapping[str, Collection[Any]]) -> None:
    """Warn, on one line of stderr, of options that the floor policy does not use.

    Args:
        limits: as `limit_options` gives them to a command.
    """
    unused = [setting.option for setting in _SETTINGS if limits.get(setting.field)]
    if unused:
        echo(
            f"warning: the floor policy does not use {', '.join(unused)}: give --policy tube",
            err=True,
        )


def _list(words: Iterable[str]) -> str:
    every = list(words)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(map(printable, every[:_MOST_NAMED])) + more
