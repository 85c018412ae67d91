"""Which of two clocks jumped, decided by the other clocks of their snapshots.

The graph finds discontinuities between two clocks, and does not know which of the two jumped. The
clock jumped that most other clocks disagree with. All jumps of a pair are decided at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.families import STOPS_IN_SUSPEND, WALL, steadiness
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import median
from tracetime.doctor.incidents import BACK, distinct_suspends
from tracetime.doctor.jump_columns import JumpSnapshots, Pair, moved
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.values import Floats, Mask, Values, difference

_BOOTTIME: Final = (BUILTIN_IDS["BOOTTIME"],)
_MOST_OTHERS: Final = 15
"""A majority of so many clocks is enough; snapshots can have thousands."""
_ALIKE: Final = 0.25
"""A clock agrees with another one that it differs from by at most this part of the jump."""

_ONE_RATE: Final = 0.01
"""A clock whose gaps differ by less from those of another one counts ns, too."""


def attributed_jumps(survey: Survey) -> PairDiscontinuities:
    """Return the jumps and outliers of all pairs, with `dst` as the clock that jumped.

    Most of the other clocks in those snapshots agree with `src`. If there are none, or as many
    agree with each, the less steady clock jumped. In a suspend every clock that stopped jumps
    against every one that ran: these jumps are the trace clock's, if it is one of the two.
    """
    attribution, found = _Attribution(survey), survey.discontinuities
    given = found.take(~found.kind_is("rate_change")).by_pair()
    told = [attribution.slept(_Jumps(*one)) for one in given.items()]
    asleep: dict[ClockId, set[tuple[int, ...]]] = defaultdict(set)
    sleeping = []
    for those in told:
        slept = those.found.take(those.found.kind_is("suspend"))
        sleeping.append(slept)
        asleep[those.src].update(slept.snapshots)
    # A suspend that one pair shows stops the clocks of all pairs.
    known = _Sleeps(PairDiscontinuities.joined(sleeping))
    every = []
    for those in told:
        is_asleep = known.explain(those) & ~those.told
        of_src = attribution.is_of_src(those) & ~(is_asleep | those.told)
        rows = np.flatnonzero(of_src)
        on = those.found.snapshots.take(rows)
        of_src[rows] = [numbers not in asleep[those.src] for numbers in on]
        steps = of_src & ~those.snapshots.outlier
        turned = those.found.as_kind(is_asleep, "suspend").as_kind(steps, "step")
        every.append(turned.reversed(of_src))
    return PairDiscontinuities.joined(every)


class _Jumps:
    """The jumps between two clocks, as columns.

    Attributes:
        src, dst: the clocks; those of other pairs can be compared at the same snapshots.
        found: the jumps and outliers themselves.
        told: which of them are surely suspends, or surely none.
        snapshots: their snapshots.
        size: how far dst jumped, ns, float64; 0 where nothing is known.
        middle, slack: the absolute size, and its half-width, ns, float64.
        agreement: with which of the two the other clocks agree; None until it is computed.
    """

    def __init__(self, pair: Pair, found: PairDiscontinuities) -> None:
        self.src, self.dst = pair
        self.found = found
        self.told: Mask = np.zeros(len(found), dtype=bool)
        self.agreement: _Agreement | None = None
        self.snapshots = JumpSnapshots(found)
        self.size: Floats = ((found.low + found.high) / 2).astype(np.float64)
        self.middle: Floats = found.mean_ns.astype(np.float64)
        widths = ((found.high - found.low) / 2).astype(np.float64)
        self.slack: Floats = np.maximum(widths, BACK * self.middle)


class _Sleeps:
    """How long each machine slept, and between which snapshots."""

    def __init__(self, found: PairDiscontinuities) -> None:
        self._zones: dict[int, tuple[Values, Values, Floats]] = {}
        for machine, those in found.by_machine().items():
            result = distinct_suspends(those)
            snapshots = JumpSnapshots(result)
            sums = np.cumsum(np.append(0.0, result.mean_ns.astype(np.float64)))
            self._zones[machine] = snapshots.lows, snapshots.highs, sums

    def explain(self, those: _Jumps) -> Mask:
        """Return which jumps are as large as the time the machine slept between their snapshots."""
        machine = those.src.machine
        if machine != those.dst.machine or machine not in self._zones:
            return np.zeros(len(those.found), dtype=bool)
        starts, ends, sums = self._zones[machine]
        before_end = np.searchsorted(starts, those.snapshots.highs)
        slept = sums[before_end] - sums[np.searchsorted(ends, those.snapshots.lows, side="right")]
        alike = np.abs(those.middle - slept) <= those.slack
        explained: Mask = (slept > 0) & alike & ~those.snapshots.outlier
        return explained


class _Agreement:
    """Which of the other clocks of the snapshots agree with src, and which with dst.

    Attributes:
        clocks: the other clocks.
        with_src, with_dst: bool[clocks, jumps].
    """

    def __init__(self, clocks: list[ClockId], with_src: Mask, with_dst: Mask) -> None:
        self.clocks, self.with_src, self.with_dst = clocks, with_src, with_dst
        n_src, n_dst = with_src.sum(axis=0), with_dst.sum(axis=0)
        self.more_with_src: Mask = n_src > n_dst
        self.more_with_dst: Mask = n_dst > n_src

    def any_of(self, went: Mask, numbers: Collection[int], machine: int) -> Mask:
        """Return for which jumps a clock with one of the numbers is among those that agree."""
        chosen = [clock.clock in numbers and clock.machine == machine for clock in self.clocks]
        return _any(went[np.array(chosen, dtype=bool)])


class _Attribution:
    """Compares jumps between two clocks with the other clocks of their snapshots."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._others_of: dict[Pair, list[ClockId]] = {}
        self._readings: dict[Pair, tuple[Values, Values, Values]] = {}

    def is_of_src(self, those: _Jumps) -> Mask:
        """Return which jumps and outliers are those of src."""
        return self._agreement(those).more_with_dst

    def slept(self, those: _Jumps) -> _Jumps:
        """Return the same, jumps that are suspends as such, suspends that are none as steps.

        In a suspend, two clocks jump by as much as BOOTTIME does against one that stops.
        """
        risen = those.found.kind_is("suspend")
        suspended, back, on = self._suspends(those)
        asleep = risen & suspended
        is_open = those.found.sized & ~risen & ~those.snapshots.outlier
        if those.src.machine == those.dst.machine and is_open.any():
            as_others = self._as_boottime(those, is_open)
            asleep |= as_others | (is_open & ~as_others & self._stood_still(those))
        steps = risen & (back | on)
        # With the trace clock as dst, if it is one of the two.
        turned = asleep if those.src == self._survey.trace_clock else np.zeros_like(asleep)
        those.told = asleep | steps
        those.found = (
            those.found.as_kind(asleep, "suspend")
            .as_kind(steps, "step")
            .reversed(turned | (steps & ~on))
        )
        return those

    def _as_boottime(self, those: _Jumps, is_open: Mask) -> Mask:
        """Return which jumps are as large as the rise of BOOTTIME against a clock that stops."""
        found = np.zeros(len(those.found), dtype=bool)
        for boottime in self._of_machine(_BOOTTIME, those.src.machine):
            for stopped in self._of_machine(STOPS_IN_SUSPEND, those.src.machine):
                rose = moved(those.snapshots, self._together(stopped, boottime))
                alike = is_open & (np.abs(rose - those.middle) <= those.slack)
                if alike.any():
                    those_two = _Jumps((stopped, boottime), those.found)
                    those_two.size = np.where(alike, rose, 0.0)
                    found |= alike & self._suspends(those_two)[0]
        return found

    def _stood_still(self, those: _Jumps) -> Mask:
        """Return which jumps are suspends where BOOTTIME, or every clock that stops, is missing.

        With BOOTTIME alone: other clocks stood still by as much, or the other clock advanced by
        the usual time between two snapshots. With MONOTONIC alone: other clocks, which nobody
        sets, advanced together.
        """
        agreement = self._agreement(those)
        machine = those.src.machine
        stopped = self._of_machine(STOPS_IN_SUSPEND, machine)
        boottimes = self._of_machine(_BOOTTIME, machine)
        rises = those.size > 0
        found = np.zeros(len(those.found), dtype=bool)
        for gaining, losing, way, risen, stayed in (
            (those.dst, those.src, rises, agreement.with_dst, agreement.with_src),
            (those.src, those.dst, ~rises, agreement.with_src, agreement.with_dst),
        ):
            if gaining.clock in _BOOTTIME and not stopped:
                found |= way & (_any(stayed) | self._as_usual(those.snapshots, gaining, losing))
            elif losing in stopped and not boottimes:
                unset = np.array(
                    [clock.clock not in WALL for clock in agreement.clocks], dtype=bool
                )
                found |= way & (_any(risen) if gaining.clock not in WALL else _any(risen[unset]))
        return found

    def _as_usual(self, snapshots: JumpSnapshots, going: ClockId, still: ClockId) -> Mask:
        """Return where `still` rose by the usual time between snapshots, and `going` by more."""
        numbers, longer, usual = self._together(going, still)
        nowhere = np.zeros(len(snapshots), dtype=bool)
        if len(numbers) < 3:
            return nowhere
        steps, others = (difference(c[1:], c[:-1]) for c in (usual, longer))
        # A clock that does not count ns loses in every step.
        alike = np.abs(steps - others) <= np.abs(others) * _ONE_RATE
        most = median(steps) if alike.any() else 0.0
        if most <= 0:
            return nowhere
        first, last = snapshots.outer(snapshots.rows_in(numbers)[0])
        rose, by = (difference(c[last], c[first]) for c in (longer, usual))
        as_usual: Mask = (by > 0) & (3 * np.abs(by - most) < np.abs(rose - most))
        return as_usual

    def _of_machine(self, numbers: Collection[int], machine: int) -> list[ClockId]:
        known = self._survey.by_number
        return [clock for number in sorted(numbers) for clock in known.get((number, machine), ())]

    def _suspends(self, those: _Jumps) -> tuple[Mask, Mask, Mask]:
        """Return which jumps are suspends, and which other clocks show to be src's, or dst's."""
        agreement = self._agreement(those)
        back = agreement.more_with_dst & agreement.any_of(
            agreement.with_dst, STOPS_IN_SUSPEND, those.src.machine
        )
        on = agreement.more_with_src & agreement.any_of(agreement.with_src, WALL, those.dst.machine)
        return ~(back | on), back, on

    def _agreement(self, those: _Jumps) -> _Agreement:
        if those.agreement is None:
            those.agreement = self._compare(those)
        return those.agreement

    def _compare(self, those: _Jumps) -> _Agreement:
        clocks = self._others(those.src, those.dst)
        with_src = np.zeros((len(clocks), len(those.found)), dtype=bool)
        with_dst = with_src.copy()
        near = np.where(those.size, _ALIKE * np.abs(those.size), np.nan)
        for row, clock in enumerate(clocks):
            went = moved(those.snapshots, self._together(those.src, clock))
            with_src[row] = np.abs(went) <= near
            with_dst[row] = np.abs(went - those.size) <= near
        return _Agreement(clocks, with_src, with_dst)

    def _together(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        if (one, other) not in self._readings:
            self._readings[one, other] = self._survey.together(one, other)
        return self._readings[one, other]

    def _others(self, src: ClockId, dst: ClockId) -> list[ClockId]:
        """Return the steadiest clocks that snapshots hold with both."""
        if (src, dst) not in self._others_of:
            others = {
                clock for clocks in self._survey.series_of(dst) if src in clocks for clock in clocks
            } - {src, dst}
            self._others_of[src, dst] = sorted(others, key=steadiness)[:_MOST_OTHERS]
        return self._others_of[src, dst]


def _any(went: Mask) -> Mask:
    """Return for each jump whether any clock agrees."""
    return np.asarray(went.any(axis=0))
