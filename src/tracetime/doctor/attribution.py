"""Whose jump it was: the other clocks of a snapshot are asked which of two clocks they went with.

The graph finds discontinuities between two clocks, and cannot tell which of them they are of. All
jumps of a pair are asked about at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey, Values
from tracetime.clocks.families import STOPS_IN_SUSPEND, WALL, steadiness
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.doctor.incidents import BACK, sleeps
from tracetime.doctor.jump_readings import Floats, Mask, Pair, Places, by_pair, middle_ns, moved
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.graph.values import difference
from tracetime.quantiles import median

_BOOTTIME: Final = (BUILTIN_IDS["BOOTTIME"],)
_MOST_ASKED: Final = 15
_ALIKE: Final = 0.25
"""A clock went with another one where it differs by no more than this part of the jump."""

_ONE_RATE: Final = 0.01

_Turn = Callable[[PairDiscontinuity], PairDiscontinuity]


def blamed(survey: Survey) -> list[PairDiscontinuity]:
    """The jumps and outliers of all pairs, turned so that `dst` is the clock they are laid to.

    Most of the other clocks in those snapshots went with `src`. Where there are none, or as many
    went with each, it is the less steady one. Where the machine slept, every clock that stopped
    jumped against every one that went on: that is laid to the trace clock, if it is one of them.
    """
    votes = _Votes(survey)
    given = by_pair(d for d in survey.discontinuities if d.kind != "rate_change")
    jumps = {pair: _Jumps(pair, found) for pair, found in given.items()}
    slept = {pair: votes.slept(those) for pair, those in jumps.items()}
    told: list[PairDiscontinuity] = []
    asleep: dict[ClockId, set[tuple[int, ...]]] = defaultdict(set)
    for (src, _), those in jumps.items():
        for d, as_sleep in zip(those.found, slept[src, those.dst], strict=True):
            if as_sleep is not None and as_sleep.kind == "suspend":
                told.append(as_sleep)
                asleep[src].add(d.snapshots)
    # Clocks of snapshots that do not show it themselves slept with the machine.
    known = _Sleeps(told)
    every: list[PairDiscontinuity] = []
    for pair, those in jumps.items():
        asleep_there = asleep[those.src]
        explained, turned = known.explain(those).tolist(), votes.of_src(those).tolist()
        for k, (d, as_sleep) in enumerate(zip(those.found, slept[pair], strict=True)):
            if as_sleep is not None:
                every.append(as_sleep)
            elif explained[k]:
                every.append(d._replace(kind="suspend"))
            elif turned[k] and d.snapshots not in asleep_there:
                every.append(_turned(d, "outlier" if d.kind == "outlier" else "step"))
            else:
                every.append(d)
    return every


class _Jumps:
    """The jumps between two clocks, as columns.

    Attributes:
        src, dst: the clocks; another two may be asked about at the same places.
        found: the jumps and outliers themselves.
        places: their snapshots.
        size: how far dst jumped, ns, float64; 0 where nothing is known.
        middle, slack: how far it went either way, and how far from that it may be, ns, float64.
        parties: with which of the two others went, once asked for.
    """

    def __init__(self, pair: Pair, found: Sequence[PairDiscontinuity]) -> None:
        self.src, self.dst = pair
        self.found = found
        self.parties: _Parties | None = None
        self.places = Places(found)
        sizes = [d.size_ns or (0, 0) for d in found]
        self.size: Floats = np.array([(low + high) / 2 for low, high in sizes], dtype=np.float64)
        self.middle: Floats = np.array(list(map(middle_ns, found)), dtype=np.float64)
        widths = np.array([(high - low) / 2 for low, high in sizes], dtype=np.float64)
        self.slack: Floats = np.maximum(widths, BACK * self.middle)

    def kind_is(self, kind: str) -> Mask:
        """Which of them are of a kind."""
        return np.array([d.kind == kind for d in self.found], dtype=bool)


class _Sleeps:
    """How long each machine slept, and between which snapshots."""

    def __init__(self, found: list[PairDiscontinuity]) -> None:
        by_machine = defaultdict(list)
        for d in found:
            by_machine[d.src.machine].append(d)
        self._zones: dict[int, tuple[Values, Values, Floats]] = {}
        for machine, those in by_machine.items():
            told = sleeps(those)
            places = Places(told)
            sums = np.cumsum([0.0, *map(middle_ns, told)])
            self._zones[machine] = places.lows, places.highs, sums

    def explain(self, those: _Jumps) -> Mask:
        """Which jumps are by as much as the machine slept between their snapshots."""
        machine = those.src.machine
        if machine != those.dst.machine or machine not in self._zones:
            return np.zeros(len(those.found), dtype=bool)
        starts, ends, sums = self._zones[machine]
        before_end = np.searchsorted(starts, those.places.highs)
        slept = sums[before_end] - sums[np.searchsorted(ends, those.places.lows, side="right")]
        alike = np.abs(those.middle - slept) <= those.slack
        explained: Mask = (slept > 0) & alike & ~those.places.outlier
        return explained


class _Parties:
    """Which of the other clocks of the snapshots went with src, and which with dst.

    Attributes:
        clocks: those asked.
        with_src, with_dst: bool[clocks, jumps].
    """

    def __init__(self, clocks: list[ClockId], with_src: Mask, with_dst: Mask) -> None:
        self.clocks, self.with_src, self.with_dst = clocks, with_src, with_dst
        n_src, n_dst = with_src.sum(axis=0), with_dst.sum(axis=0)
        self.more_with_src: Mask = n_src > n_dst
        self.more_with_dst: Mask = n_dst > n_src

    def any_of(self, went: Mask, numbers: Collection[int], machine: int) -> Mask:
        """Whether clocks of some numbers are among those that went with one."""
        asked = [clock.clock in numbers and clock.machine == machine for clock in self.clocks]
        return _any(went[np.array(asked, dtype=bool)])


class _Votes:
    """Which of two clocks the others went with."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._asked: dict[Pair, list[ClockId]] = {}
        self._readings: dict[Pair, tuple[Values, Values, Values]] = {}

    def of_src(self, those: _Jumps) -> Mask:
        """Which jumps and outliers are to be laid to src."""
        return self._parties(those).more_with_dst

    def slept(self, those: _Jumps) -> list[PairDiscontinuity | None]:
        """Suspends as what they are, jumps as the suspends that they are; None where they are none.

        Two clocks jump so by as much as BOOTTIME does against one that stops in sleep.
        """
        told: list[PairDiscontinuity | None] = [None] * len(those.found)
        risen = those.kind_is("suspend")
        suspended, back, on = self._suspends(those)
        self._put(told, those, risen & suspended, self._asleep)
        self._put(told, those, risen & back, lambda d: _turned(d, "step"))
        self._put(told, those, risen & on, lambda d: d._replace(kind="step"))
        sized = np.array([d.size_ns is not None for d in those.found], dtype=bool)
        is_open = sized & ~risen & ~those.places.outlier
        if those.src.machine == those.dst.machine and is_open.any():
            as_others = self._as_boottime(those, is_open)
            still = is_open & ~as_others
            self._put(told, those, as_others | (still & self._stood_still(those)), self._asleep)
        return told

    @staticmethod
    def _put(told: list[PairDiscontinuity | None], those: _Jumps, which: Mask, turn: _Turn) -> None:
        for k in np.flatnonzero(which).tolist():
            told[k] = turn(those.found[k])

    def _as_boottime(self, those: _Jumps, is_open: Mask) -> Mask:
        """Which jumps are by as much as BOOTTIME rose against a clock that stops in sleep."""
        found = np.zeros(len(those.found), dtype=bool)
        for boottime in self._of_machine(_BOOTTIME, those.src.machine):
            for stopped in self._of_machine(STOPS_IN_SUSPEND, those.src.machine):
                rose = moved(those.places, self._together(stopped, boottime))
                alike = is_open & (np.abs(rose - those.middle) <= those.slack)
                if alike.any():
                    those_two = _Jumps((stopped, boottime), those.found)
                    those_two.size = np.where(alike, rose, 0.0)
                    found |= alike & self._suspends(those_two)[0]
        return found

    def _stood_still(self, those: _Jumps) -> Mask:
        """Which are sleep by what few clocks show, where BOOTTIME or those that stop lack.

        Beside BOOTTIME: others stood still by as much, or to the other clock it was a time as
        between any two snapshots. Beside MONOTONIC: others that are not set rose with each other.
        """
        parties = self._parties(those)
        machine = those.src.machine
        stopped = self._of_machine(STOPS_IN_SUSPEND, machine)
        boottimes = self._of_machine(_BOOTTIME, machine)
        rises = those.size > 0
        found = np.zeros(len(those.found), dtype=bool)
        for gaining, losing, way, risen, stayed in (
            (those.dst, those.src, rises, parties.with_dst, parties.with_src),
            (those.src, those.dst, ~rises, parties.with_src, parties.with_dst),
        ):
            if gaining.clock in _BOOTTIME and not stopped:
                found |= way & (_any(stayed) | self._as_usual(those.places, gaining, losing))
            elif losing in stopped and not boottimes:
                unset = np.array([clock.clock not in WALL for clock in parties.clocks], dtype=bool)
                found |= way & (_any(risen) if gaining.clock not in WALL else _any(risen[unset]))
        return found

    def _as_usual(self, places: Places, going: ClockId, still: ClockId) -> Mask:
        """Where `still` rose as between any two snapshots there, and only `going` by more."""
        numbers, longer, usual = self._together(going, still)
        nowhere = np.zeros(len(places), dtype=bool)
        if len(numbers) < 3:
            return nowhere
        steps, others = (difference(c[1:], c[:-1]) for c in (usual, longer))
        # What counts something else than ns loses in every step.
        alike = np.abs(steps - others) <= np.abs(others) * _ONE_RATE
        most = median(steps) if alike.any() else 0.0
        if most <= 0:
            return nowhere
        first, last = places.outer(places.rows_in(numbers)[0])
        rose, by = (difference(c[last], c[first]) for c in (longer, usual))
        as_usual: Mask = (by > 0) & (3 * np.abs(by - most) < np.abs(rose - most))
        return as_usual

    def _of_machine(self, numbers: Collection[int], machine: int) -> list[ClockId]:
        known = self._survey.by_number
        return [clock for number in sorted(numbers) for clock in known.get((number, machine), ())]

    def _suspends(self, those: _Jumps) -> tuple[Mask, Mask, Mask]:
        """Which are suspends, and which jumps of src, or of dst, as others contradict a sleep."""
        parties = self._parties(those)
        back = parties.more_with_dst & parties.any_of(
            parties.with_dst, STOPS_IN_SUSPEND, those.src.machine
        )
        on = parties.more_with_src & parties.any_of(parties.with_src, WALL, those.dst.machine)
        return ~(back | on), back, on

    def _asleep(self, d: PairDiscontinuity) -> PairDiscontinuity:
        """The jump as a suspend, seen from the trace clock where that is one of the two."""
        if d.src == self._survey.trace_clock:
            return _turned(d, "suspend")
        return d._replace(kind="suspend")

    def _parties(self, those: _Jumps) -> _Parties:
        if those.parties is None:
            those.parties = self._went(those)
        return those.parties

    def _went(self, those: _Jumps) -> _Parties:
        clocks = self._others(those.src, those.dst)
        with_src = np.zeros((len(clocks), len(those.found)), dtype=bool)
        with_dst = with_src.copy()
        near = np.where(those.size, _ALIKE * np.abs(those.size), np.nan)
        for row, clock in enumerate(clocks):
            went = moved(those.places, self._together(those.src, clock))
            with_src[row] = np.abs(went) <= near
            with_dst[row] = np.abs(went - those.size) <= near
        return _Parties(clocks, with_src, with_dst)

    def _together(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        if (one, other) not in self._readings:
            self._readings[one, other] = self._survey.together(one, other)
        return self._readings[one, other]

    def _others(self, src: ClockId, dst: ClockId) -> list[ClockId]:
        """The steadiest clocks that snapshots have with both."""
        if (src, dst) not in self._asked:
            others = {
                clock for clocks in self._survey.series_of(dst) if src in clocks for clock in clocks
            } - {src, dst}
            self._asked[src, dst] = sorted(others, key=steadiness)[:_MOST_ASKED]
        return self._asked[src, dst]


def _any(went: Mask) -> Mask:
    """Of each jump, whether any clock went so."""
    return np.asarray(went.any(axis=0))


def _turned(d: PairDiscontinuity, kind: str) -> PairDiscontinuity:
    """The same as seen from the other clock."""
    size = None if d.size_ns is None else (-d.size_ns[1], -d.size_ns[0])
    return d._replace(src=d.dst, dst=d.src, kind=kind, size_ns=size)
