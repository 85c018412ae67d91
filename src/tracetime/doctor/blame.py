"""Whose jump it was: the other clocks of a snapshot are asked which of two clocks they went with.

The graph finds discontinuities between two clocks, and cannot tell which of them they are of.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from typing import Final

import numpy as np

from tracetime.clocks import BUILTIN_IDS, ClockId
from tracetime.doctor.survey import Survey, Values
from tracetime.domain import steadiness
from tracetime.graph.bounds import PairDiscontinuity
from tracetime.graph.values import difference

WALL: Final = (BUILTIN_IDS["REALTIME"], BUILTIN_IDS["REALTIME_COARSE"])
_STOPPED: Final = (BUILTIN_IDS["MONOTONIC"], BUILTIN_IDS["MONOTONIC_RAW"])
_BOOTTIME: Final = (BUILTIN_IDS["BOOTTIME"],)
_MOST_ASKED: Final = 15
_ALIKE: Final = 0.25
"""A clock went with another one where it differs by no more than this part of the jump."""

_ONE_RATE: Final = 0.01

BACK: Final = 0.03
"""A jump back differs from the jump away by no more than this part of it: that is drift."""


def blamed(survey: Survey) -> list[PairDiscontinuity]:
    """The jumps and outliers of all pairs, turned so that `dst` is the clock they are laid to.

    Most of the other clocks in those snapshots went with `src`. Where there are none, or as many
    went with each, it is the less steady one. Where the machine slept, every clock that stopped
    jumped against every one that went on: that is laid to the trace clock, if it is one of them.
    """
    votes = _Votes(survey)
    given = [d for d in survey.discontinuities if d.kind != "rate_change"]
    slept = {d: found for d in given if (found := votes.slept(d)) is not None}
    asleep = {(d.src, d.snapshots) for d, found in slept.items() if found.kind == "suspend"}
    # Clocks of snapshots that do not show it themselves slept with the machine.
    known = _Sleeps([d for d in slept.values() if d.kind == "suspend"])
    slept |= {d: d._replace(kind="suspend") for d in given if d not in slept and known.explain(d)}
    return [
        slept[d] if d in slept else d if (d.src, d.snapshots) in asleep else votes.jump(d)
        for d in given
    ]


def sleeps(found: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """The suspends of a machine, each once, by the two snapshots that are closest about it."""
    kept: list[PairDiscontinuity] = []
    zones: list[tuple[int, int]] = []
    for d in sorted(found, key=lambda d: (_zone(d)[1] - _zone(d)[0], d.snapshots)):
        start, end = _zone(d)
        at = bisect_left(zones, (start,))
        if not any(low < end and start < high for low, high in zones[max(at - 1, 0) : at + 1]):
            insort(zones, (start, end))
            kept.append(d)
    return sorted(kept, key=lambda d: d.snapshots)


class _Sleeps:
    """How long each machine slept, and between which snapshots."""

    def __init__(self, found: list[PairDiscontinuity]) -> None:
        by_machine = defaultdict(list)
        for d in found:
            by_machine[d.src.machine].append(d)
        self._zones: dict[int, tuple[list[int], list[int], list[int]]] = {}
        for machine, those in by_machine.items():
            told = sleeps(those)
            sums = np.cumsum([0, *(_middle(d) for d in told)]).tolist()
            self._zones[machine] = (
                [_zone(d)[0] for d in told], [_zone(d)[1] for d in told], sums
            )  # fmt: skip

    def explain(self, d: PairDiscontinuity) -> bool:
        """Whether a jump is by as much as the machine slept between its snapshots."""
        if d.kind == "outlier" or d.src.machine != d.dst.machine:
            return False
        starts, ends, sums = self._zones.get(d.src.machine, ([], [], [0]))
        start, end = _zone(d)
        slept = sums[bisect_left(starts, end)] - sums[bisect_right(ends, start)]
        return slept > 0 and abs(_middle(d) - slept) <= _slack(d)


def _middle(d: PairDiscontinuity) -> int:
    """How far a jump went, either way, ns."""
    return 0 if d.size_ns is None else abs(sum(d.size_ns)) // 2


def _slack(d: PairDiscontinuity) -> float:
    """How far from its middle the size of a jump may be, ns."""
    low, high = d.size_ns or (0, 0)
    return max((high - low) / 2, BACK * _middle(d))


def settled(found: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """What befell one clock, each thing once: several pairs tell of it.

    A jump away in one snapshot and back in the next is one reading that is off.
    """
    by_witness = defaultdict(list)
    for d in sorted(found, key=lambda d: d.snapshots):
        by_witness[d.src].append(d)
    every = [d for told in by_witness.values() for d in _healed(told)]
    off = {number: d.src for d in every if d.kind == "outlier" for number in d.snapshots}
    kept, seen = [], set()
    zones: dict[bool, list[tuple[int, int, ClockId]]] = {True: [], False: []}
    # The narrower zone is the better evidence.
    for d in sorted(every, key=lambda d: (_zone(d)[1] - _zone(d)[0], d.snapshots)):
        (start, end), told = _zone(d), zones[d.kind == "suspend"]
        if d.kind == "outlier":
            again = d.snapshots in seen
            seen.add(d.snapshots)
        else:
            at = bisect_left(told, (start,))
            again = any(
                witness != d.src and low < end and start < high
                for low, high, witness in told[max(at - 1, 0) : at + 1]
            ) or any(off.get(number, d.src) != d.src for number in d.snapshots)
            if not again:
                insort(told, (start, end, d.src))
        if not again:
            kept.append(d)
    return sorted(kept, key=lambda d: d.snapshots)


def _zone(d: PairDiscontinuity) -> tuple[int, int]:
    return min(d.snapshots), max(d.snapshots)


def _healed(told: list[PairDiscontinuity]) -> list[PairDiscontinuity]:
    """The jumps beside one clock, in order, with those away and back as the outliers they are."""
    found: list[PairDiscontinuity] = []
    for d in told:
        if found and _there_and_back(found[-1], d):
            found[-1] = found[-1]._replace(kind="outlier", snapshots=d.snapshots[:1])
        else:
            found.append(d)
    return found


def _there_and_back(one: PairDiscontinuity, other: PairDiscontinuity) -> bool:
    if one.size_ns is None or other.size_ns is None or "outlier" in (one.kind, other.kind):
        return False
    away, back = sum(one.size_ns) / 2, sum(other.size_ns) / 2
    return one.snapshots[-1] == other.snapshots[0] and abs(away + back) <= BACK * abs(away)


class _Votes:
    """Which of two clocks the others went with."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._asked: dict[tuple[ClockId, ClockId], list[ClockId]] = {}
        self._readings: dict[tuple[ClockId, ClockId], tuple[Values, Values, Values]] = {}
        self._usual: dict[tuple[ClockId, ClockId], float] = {}

    def jump(self, d: PairDiscontinuity) -> PairDiscontinuity:
        """A jump or an outlier, laid to one of its clocks."""
        with_src, with_dst = self._parties(d)
        if len(with_dst) <= len(with_src):
            return d
        return _turned(d, "outlier" if d.kind == "outlier" else "step")

    def slept(self, d: PairDiscontinuity) -> PairDiscontinuity | None:
        """A jump as the suspend that it is; None where it is none.

        Two clocks jump so by as much as BOOTTIME does against one that stops in sleep.
        """
        if d.kind == "suspend":
            return self.suspend(d)
        if d.size_ns is None or d.kind == "outlier" or d.src.machine != d.dst.machine:
            return None
        size, slack = _middle(d), _slack(d)
        for boottime in self._of_machine(_BOOTTIME, d.src.machine):
            for stopped in self._of_machine(_STOPPED, d.src.machine):
                pair = d._replace(src=stopped, dst=boottime, kind="suspend")
                moved = self._moved(pair, boottime)
                if moved is None or abs(moved - size) > slack:
                    continue
                pair = pair._replace(size_ns=(int(moved), int(moved)))
                if self.suspend(pair).kind == "suspend":
                    return self._asleep(d)
        return self._asleep(d) if self._stood_still(d) else None

    def _stood_still(self, d: PairDiscontinuity) -> bool:
        """Whether it is sleep by what few clocks show, where BOOTTIME or those that stop lack.

        Beside BOOTTIME: others stood still by as much, or to the other clock it was a time as
        between any two snapshots. Beside MONOTONIC: others that are not set rose with each other.
        """
        gaining = d.dst if sum(d.size_ns or (0, 0)) > 0 else d.src
        losing = d.src if gaining == d.dst else d.dst
        with_src, with_dst = self._parties(d)
        risen, stayed = (with_dst, with_src) if gaining == d.dst else (with_src, with_dst)
        stopped = self._of_machine(_STOPPED, d.src.machine)
        if gaining.clock in _BOOTTIME and not stopped:
            return bool(stayed) or self._as_usual(d, gaining, losing)
        if losing in stopped and not self._of_machine(_BOOTTIME, d.src.machine):
            risen = [gaining, *risen]
            return len(risen) > 1 and any(clock.clock not in WALL for clock in risen)
        return False

    def _as_usual(self, d: PairDiscontinuity, going: ClockId, still: ClockId) -> bool:
        """Whether `still` rose as between any two snapshots there, and only `going` by more."""
        numbers, longer, usual = self._together(going, still)
        if (going, still) not in self._usual:
            steps, others = (difference(c[1:], c[:-1]) for c in (usual, longer))
            # What counts something else than ns loses in every step.
            alike = np.abs(steps - others) <= np.abs(others) * _ONE_RATE
            self._usual[going, still] = float(np.median(steps)) if alike.any() else 0.0
        at = np.searchsorted(numbers, d.snapshots)
        if len(numbers) < 3 or at[-1] >= len(numbers):
            return False
        rose, by = int(longer[at[-1]] - longer[at[0]]), int(usual[at[-1]] - usual[at[0]])
        most = self._usual[going, still]
        return most > 0 and by > 0 and 3 * abs(by - most) < abs(rose - most)

    def _of_machine(self, numbers: tuple[int, ...], machine: int) -> list[ClockId]:
        known = self._survey.by_number
        return [clock for number in numbers for clock in known.get((number, machine), ())]

    def suspend(self, d: PairDiscontinuity) -> PairDiscontinuity:
        """A suspend, or a jump of one clock where the others contradict that the machine slept."""
        with_src, with_dst = self._parties(d)
        if len(with_dst) > len(with_src) and _any_of(with_dst, _STOPPED, d.src.machine):
            return _turned(d, "step")
        if len(with_src) > len(with_dst) and _any_of(with_src, WALL, d.dst.machine):
            return d._replace(kind="step")
        return self._asleep(d)

    def _asleep(self, d: PairDiscontinuity) -> PairDiscontinuity:
        """The jump as a suspend, seen from the trace clock where that is one of the two."""
        turned = d.src == self._survey.trace_clock
        return _turned(d, "suspend") if turned else d._replace(kind="suspend")

    def _parties(self, d: PairDiscontinuity) -> tuple[list[ClockId], list[ClockId]]:
        """The other clocks of the snapshots that went with src, and those that went with dst."""
        with_src: list[ClockId] = []
        with_dst: list[ClockId] = []
        size = 0.0 if d.size_ns is None else sum(d.size_ns) / 2
        for clock in self._others(d.src, d.dst) if size else ():
            moved = self._moved(d, clock)
            if moved is None:
                continue
            if abs(moved) <= _ALIKE * abs(size):
                with_src.append(clock)
            elif abs(moved - size) <= _ALIKE * abs(size):
                with_dst.append(clock)
        return with_src, with_dst

    def _moved(self, d: PairDiscontinuity, clock: ClockId) -> float | None:
        """How far a clock jumped against src there, ns; None where it was not read."""
        return _moved(d, *self._together(d.src, clock))

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


def read_ns(survey: Survey, d: PairDiscontinuity) -> int:
    """How far a jump went by what was read, ns, within what drift leaves open; 0 if not known."""
    if d.size_ns is None:
        return 0
    moved = _moved(d, *survey.together(d.src, d.dst))
    low, high = d.size_ns
    return _middle(d) if moved is None else abs(round(min(max(moved, low), high)))


def _moved(d: PairDiscontinuity, numbers: Values, ours: Values, theirs: Values) -> float | None:
    """How far a clock jumped against src in some snapshots; None where they do not have it."""
    at = np.searchsorted(numbers, d.snapshots)
    if at.max() >= len(numbers) or (numbers[at] != d.snapshots).any():
        return None
    first, last = int(at[0]), int(at[-1])

    def moved(k: int) -> float:
        """By how much more it went on than src, from the first of them."""
        return float(int(theirs[k]) - int(theirs[first]) - int(ours[k]) + int(ours[first]))

    if d.kind != "outlier":
        return moved(last)
    about = [k for k in (first - 1, last + 1) if 0 <= k < len(numbers)]
    if not about:
        return None
    since = [float(int(ours[k]) - int(ours[first])) for k in about]
    return -float(np.interp(0.0, since, [moved(k) for k in about]))


def _turned(d: PairDiscontinuity, kind: str) -> PairDiscontinuity:
    """The same as seen from the other clock."""
    size = None if d.size_ns is None else (-d.size_ns[1], -d.size_ns[0])
    return d._replace(src=d.dst, dst=d.src, kind=kind, size_ns=size)


def _any_of(clocks: list[ClockId], numbers: tuple[int, ...], machine: int) -> bool:
    return any(clock.clock in numbers and clock.machine == machine for clock in clocks)
