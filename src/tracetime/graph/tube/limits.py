"""The limits of a pair of clocks: how far their rates differ, and how far they stray.

Slopes go to the kernels as whole numbers of 2^-52 ns per ns, rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from tracetime.errors import UsageError

ONE: Final = 1 << 52
"""A slope of 1 ns per ns, as the kernels count."""

MOST_DRIFT: Final = 0.1
"""D at most: with it, every product of the kernels fits in 128 bits."""

_ALL_PPM: Final = 1_000_000

SHARED_WANDER_PPM: Final = 0.001
"""W between two clocks that one oscillator drives, until snapshots contradict it."""

UNDECLARED_WANDER_PPM: Final = 0.5
"""Wander of a clock that declares none."""

MOST_UNDECLARED_WANDER_PPM: Final = 16.0
"""How far W of undeclared clocks may be doubled where the snapshots require it."""

Rise = Literal["step", "suspend"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a pair of clocks.

    Args:
        drift: D, how far the rates of the two clocks may differ, ns per ns.
        wander: W, how far the difference strays from its mean over a run, ns per ns.
        wander_declared: False lets W be doubled where too many snapshots lie in knee zones.
        rise: the kind of a jump of the offset to a higher value.
        shared: whether one oscillator is taken to drive both clocks; `wander` holds for all of a
            segment then unless its snapshots contradict it, strays among them left out.
        if_confirmed: W where the snapshots of a segment, 8 or more, confirm that it is shared;
            None where no confirmation is needed.
        one_rate: whether the shared oscillator runs both at one rate.
        may_jump: whether the offset may have jumped where no single change of rate explains it.
        wraps: whether clock b may read each value again and again, as one of few bits does.
        placed_ns: the ticks of both where a program put one clock on the other: the offset is 0
            until orders contradict it by more; None where none did.

    Raises:
        UsageError: drift is not in 0..0.1, or wander not in 0..0.01.
    """

    drift: float
    wander: float
    wander_declared: bool = True
    rise: Rise = "step"
    shared: bool = False
    if_confirmed: float | None = None
    one_rate: bool = False
    may_jump: bool = False
    wraps: bool = False
    placed_ns: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.drift <= MOST_DRIFT:
            raise UsageError(
                f"a drift of {self.drift * 1e6:g} ppm is outside 0 to {MOST_DRIFT * 1e6:g} ppm: "
                "say the clock's rate (ns_per_tick), and how far off that it may be"
            )
        if not 0 <= self.wander <= 0.01:
            raise UsageError(f"a wander of {self.wander * 1e6:g} ppm is outside 0 to 10000 ppm")

    @property
    def tick_alike(self) -> bool:
        """Whether the clocks surely run at one rate: between jumps their offset is constant."""
        return self.shared and self.one_rate and self.if_confirmed is None

    @property
    def least_wander(self) -> float:
        """W where the snapshots confirm a shared oscillator, ns per ns."""
        return self.wander if self.if_confirmed is None else self.if_confirmed

    def spread(self, span_ns: int) -> int:
        """How far the offset may drift over a span, ns, rounded up."""
        return self.spreads([span_ns])[0]

    def spreads(self, spans_ns: Iterable[int]) -> list[int]:
        """The same of several spans."""
        slope = slope_up(self.drift)
        return [-(-span_ns * slope // ONE) for span_ns in spans_ns]

    @classmethod
    def of(  # noqa: PLR0913  what two clocks declare, and what their kinds say
        cls,
        drift_a_ppm: float,
        drift_b_ppm: float,
        wander_ppm: tuple[float | None, float | None] = (None, None),
        *,
        shared_oscillator: bool = False,
        may_differ: bool = False,
        rise: Rise = "step",
        one_rate: bool = False,
        may_jump: bool = False,
    ) -> Limits:
        """Limits of a pair from what each clock declares.

        Args:
            drift_a_ppm, drift_b_ppm: max_drift_ppm of the two.
            wander_ppm: wander of each, None where undeclared.
            shared_oscillator: one oscillator drives both: they do not wander against each other.
            may_differ: whether the shared oscillator needs a confirmation by the snapshots.
            rise, one_rate, may_jump: as in `Limits`.

        Raises:
            UsageError: as `Limits`.
        """
        drift, shared = _drift(drift_a_ppm, drift_b_ppm), SHARED_WANDER_PPM * 1e-6
        wander = sum(UNDECLARED_WANDER_PPM if ppm is None else ppm for ppm in wander_ppm) * 1e-6
        if shared_oscillator:
            wander = UNDECLARED_WANDER_PPM * 1e-6 if may_differ else shared
        return cls(
            drift,
            wander,
            wander_declared=not shared_oscillator and None not in wander_ppm,
            rise=rise,
            shared=shared_oscillator,
            if_confirmed=shared if shared_oscillator and may_differ else None,
            one_rate=shared_oscillator and one_rate,
            may_jump=may_jump,
        )


def _drift(a_ppm: float, b_ppm: float) -> float:
    """(a + b) / (1 - max(a, b)), ns per ns, rounded up to a whole number of 2^-52.

    One clock is fastest when the other is slowest: so much more does it count per ns of the other.
    """
    if not (0 <= a_ppm < _ALL_PPM and 0 <= b_ppm < _ALL_PPM):
        raise UsageError(f"drifts of {a_ppm:g} and {b_ppm:g} ppm: use 0 or more")
    (a, of_a), (b, of_b) = a_ppm.as_integer_ratio(), b_ppm.as_integer_ratio()
    total, whole = a * of_b + b * of_a, _ALL_PPM * of_a * of_b
    slope = -(-total * ONE // (whole - max(a * of_b, b * of_a)))
    # No float has more: a drift this large is beyond what a tube holds.
    return slope / ONE if slope <= ONE else 1.0


def slope_up(slope: float) -> int:
    """A slope in 2^-52, rounded up."""
    return math.ceil(slope * ONE)
