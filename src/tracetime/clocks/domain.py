"""ClockDomain: the properties of a clock, and the limits of its rate.

Limits are declarations, not measurements: error bars rest on them. Defaults are those of the kind
of clock; a trace or a caller may declare others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final

from tracetime.clocks.families import CRYSTAL_DRIFT_PPM, kind_of, posix_oscillator
from tracetime.clocks.ids import BUILTIN_IDS, FIRST_SEQUENCE_CLOCK, ClockId, ClockLike, hashed_name
from tracetime.errors import UsageError

LONGEST_NS: Final = 1 << 58
"""The longest tick or half-width (9 years): two of them stay within what a tube can hold."""

MOST_DRIFT_PPM: Final = 32_000
MOST_WANDER_PPM: Final = 5_000
"""The greatest limits: a tube holds any two clocks within them. A clock that needs more has
another rate (ns_per_tick)."""

# Any float is a fraction of fewer bits.
_MOST_RATE_BITS: Final = 2048

_TSC: Final = BUILTIN_IDS["TSC"]
_ONE: Final = Fraction(1)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _rate(clock: ClockId, ns_per_tick: Fraction | float | str) -> Fraction:
    """The nominal rate of a clock as a fraction, checked."""
    if ns_per_tick is _ONE:
        return _ONE
    try:
        rate = Fraction(ns_per_tick)
    except (TypeError, ValueError, ArithmeticError):
        raise UsageError(f"ns_per_tick of {clock} is not a fraction: {ns_per_tick!r}") from None
    if rate <= 0:
        raise UsageError(f"ns_per_tick of {clock} is {rate}: a tick lasts some time")
    if max(rate.as_integer_ratio()).bit_length() > _MOST_RATE_BITS:
        raise UsageError(
            f"ns_per_tick of {clock} has too many digits: use a fraction of smaller numbers "
            "(Fraction.limit_denominator)"
        )
    return rate


@dataclass(frozen=True, slots=True)
class ClockDomain:
    """The properties of one clock; those that are left out have the default of its kind.

    Args:
        id: the clock, anything `ClockId.parse` takes.
        name: the name of a clock whose id does not show it (a hash cannot be reversed); by default
            the name that the id was given by.
        tick_ns: the real step of the clock, ns; None for that of its kind.
        ns_per_tick: nominal rate as an exact fraction; None where it is unknown.
        valid_bits: how many bits count before it wraps, 1 to 64.
        max_drift_ppm: how far its rate may be from nominal: 500 where NTP slews it, 100 for a
            free-running crystal.
        wander_ppm: how far its rate may be from its mean over a run; None where undeclared.
        oscillator: what drives it: clocks of one oscillator do not wander against each other. The
            POSIX clocks of a machine have one.
        disciplined: whether something steers its rate.
        assumed_half_width_ns: the half-width of readings that are recorded without one; None to
            estimate it from the snapshots.
        is_placed: whether a program put its readings on the clock that snapshots tie it to: an
            estimate leaves them there, unless orders contradict that.

    Raises:
        UsageError: a value out of range.
    """

    id: ClockId
    name: str | None = None
    tick_ns: float | None = None
    ns_per_tick: Fraction | None = _ONE
    valid_bits: int = 64
    max_drift_ppm: float | None = None
    wander_ppm: float | None = None
    oscillator: str | None = None
    disciplined: bool | None = None
    assumed_half_width_ns: int | None = None
    is_placed: bool = False

    if TYPE_CHECKING:
        # Callers may give more types than the fields have.
        def __init__(  # noqa: PLR0913  the properties of a clock, by name
            self,
            id: ClockLike,
            name: str | None = None,
            tick_ns: float | None = None,
            ns_per_tick: Fraction | float | str | None = Fraction(1),
            valid_bits: int = 64,
            max_drift_ppm: float | None = None,
            wander_ppm: float | None = None,
            oscillator: str | None = None,
            disciplined: bool | None = None,
            assumed_half_width_ns: int | None = None,
            is_placed: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        clock = ClockId.parse(self.id)
        name = hashed_name(self.id) if self.name is None else self.name
        kind = kind_of(clock)
        disciplined = kind.in_base if self.disciplined is None else self.disciplined
        of_kind_ppm = CRYSTAL_DRIFT_PPM if self.disciplined is False else kind.drift_ppm
        drift_ppm = of_kind_ppm if self.max_drift_ppm is None else self.max_drift_ppm
        oscillator = self.oscillator
        if oscillator is None and kind.is_kernels:
            oscillator = posix_oscillator(clock.machine)
        tick_ns = kind.tick_ns if self.tick_ns is None else self.tick_ns
        rate = None if self.ns_per_tick is None else _rate(clock, self.ns_per_tick)
        if not (isinstance(tick_ns, Real) and 0 < tick_ns <= LONGEST_NS):
            raise UsageError(f"tick_ns of {clock} is {tick_ns!r}: it is above 0, ns")
        if not (_is_whole(self.valid_bits) and 1 <= self.valid_bits <= 64):
            raise UsageError(f"valid_bits of {clock} is {self.valid_bits!r}: use 1 to 64")
        assumed = self.assumed_half_width_ns
        if assumed is not None and not (_is_whole(assumed) and 0 <= assumed <= LONGEST_NS):
            raise UsageError(
                f"assumed_half_width_ns of {clock} is {assumed!r}: use 0 or more, whole ns"
            )
        for what, ppm, most in (
            ("max_drift_ppm", drift_ppm, MOST_DRIFT_PPM),
            ("wander_ppm", self.wander_ppm, MOST_WANDER_PPM),
        ):
            if ppm is not None and not (isinstance(ppm, Real) and 0 <= ppm <= most):
                raise UsageError(f"{what} of {clock} is {ppm!r}: use 0 to {most}")
        for what, text in (("name", name), ("oscillator", oscillator)):
            if not (text is None or isinstance(text, str)):
                raise UsageError(f"{what} of {clock} is {text!r}: it is a string")
        if not isinstance(disciplined, bool):
            raise UsageError(f"disciplined of {clock} is {disciplined!r}: it is True or False")
        for field, value in (
            ("id", clock),
            ("name", name),
            ("tick_ns", float(tick_ns)),
            ("disciplined", disciplined),
            ("valid_bits", int(self.valid_bits)),
            ("max_drift_ppm", float(drift_ppm)),
            ("wander_ppm", None if self.wander_ppm is None else float(self.wander_ppm)),
            ("oscillator", oscillator),
            ("ns_per_tick", rate),
            ("assumed_half_width_ns", None if assumed is None else int(assumed)),
        ):
            object.__setattr__(self, field, value)

    @staticmethod
    def of_kind(clock: ClockId) -> ClockDomain:
        """The domain of a clock that is not declared; the rate of a TSC is unknown."""
        return _of_kind(clock)

    @staticmethod
    def rate_of_kind(clock: ClockId) -> Fraction | None:
        """The `ns_per_tick` of a clock that is not declared."""
        return None if clock.clock == _TSC else _ONE

    def over(self, known: ClockDomain) -> ClockDomain:
        """This domain, filled from another where it says no more than the clock's kind does.

        A caller who gives one property leaves the others as the trace declares them.
        """
        usual = _of_kind(self.id)
        stated = {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != getattr(usual, field.name)
        }
        return replace(known, **stated)

    def of_another(self, clock: ClockId, name: str | None = None) -> ClockDomain:
        """This domain for another clock, of another machine's oscillator: checked already."""
        made = object.__new__(ClockDomain)
        for slot in _SLOTS:
            slot.__set__(made, slot.__get__(self))
        object.__setattr__(made, "id", clock)
        object.__setattr__(made, "name", name)
        if self.oscillator is not None:
            object.__setattr__(made, "oscillator", posix_oscillator(clock.machine))
        return made

    @property
    def drift_ppm(self) -> float:
        """The greatest drift in ppm, given or by kind."""
        assert self.max_drift_ppm is not None
        return self.max_drift_ppm


@lru_cache(maxsize=1 << 15)
def _of_kind(clock: ClockId) -> ClockDomain:
    """The domain of the same clock of the first machine, or of the first non-builtin clock."""
    return _usual(min(clock.clock, FIRST_SEQUENCE_CLOCK)).of_another(clock)


@cache
def _usual(number: int) -> ClockDomain:
    clock = ClockId(number)
    return ClockDomain(clock, ns_per_tick=ClockDomain.rate_of_kind(clock))


_SLOTS: Final = [vars(ClockDomain)[field.name] for field in fields(ClockDomain)]


def domain_facts(domain: ClockDomain, clock: object) -> dict[str, Any]:
    """A domain in the types of JSON; ns_per_tick as a fraction, None where unknown.

    clock: its id in these types.
    """
    facts = {field.name: getattr(domain, field.name) for field in fields(domain)}
    rate = domain.ns_per_tick
    ns_per_tick = None if rate is None else f"{rate.numerator}/{rate.denominator}"
    if not domain.is_placed:
        # As files of earlier versions have it.
        del facts["is_placed"]
    return facts | {"id": clock, "ns_per_tick": ns_per_tick}
