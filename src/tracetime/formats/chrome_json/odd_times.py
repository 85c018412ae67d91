"""The resolutions of times that are decimal text: the digits that they were written with.

A file in which all times are whole microseconds had them cut off or rounded. With three decimals
somewhere those that have them are exact to the ns; what clearly has a longer resolution does not.
The same holds of durations; the lines of systrace are cut off. What counts is the whole file:
programs drop zeros at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.known_offsets import UNIX_NS
from tracetime.clocks.wall_time import format_wall_time
from tracetime.columns.resolutions import TimeResolutions
from tracetime.graph.values import Values
from tracetime.text import count, duration
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import KnownNames

# Times of Chrome's JSON that cannot be meant as they stand: 0, or of another unit.

_FAR_NS: Final = 3_600_000_000_000
"""A trace that begins so long after 0 of its clock has nothing to do there."""
_SPANS: Final = 10
"""So many times its own length a trace is from 0, or from 0 of its unit."""
_GAP: Final = 4
"""Times of one unit leave no more than so many powers of two empty between them."""
_FEW: Final = 2
_UNITS: Final = (1_000, 1_000_000, 1_000_000_000)
_NUMBER: Final = re.compile(rb"\d{1,22}(?:\.\d+)?(?:[eE]\+?\d{1,2})?")


class _Magnitude(NamedTuple):
    """Events whose times have about one magnitude: their number, their span, and the first."""

    events: int
    least_ns: int
    most_ns: int
    packet: int

    @property
    def is_far(self) -> bool:
        """Whether 0 is far from these times."""
        return self.least_ns > _SPANS * (self.most_ns - self.least_ns)


def odd_times(names: KnownNames, began: int | None) -> list[Note]:
    """Notes on times that cannot be right; times below 0 are not looked at.

    began: what a compiler gives as `beginningOfTime`, us since 1970; None where there is none.
    """
    every = [_Magnitude(*one) for one in names.magnitudes]
    at_zero = [one for one in every if not one.most_ns]
    groups = list(_groups([one for one in every if one.most_ns]))
    return [
        *_zeros(at_zero, groups),
        *_other_units(groups),
        *_beyond(names),
        *_in_ns(names, began),
    ]


def _in_ns(names: KnownNames, began: int | None) -> Iterator[Note]:
    """The note that a compiler wrote ns, where us are counted."""
    if began is not None and began in UNIX_NS:
        what = (
            "times are 1,000 times too long: beginningOfTime is in ns, so `ts` and `dur` are, too, "
            "and the format counts us"
        )
        yield Note("odd-times", "in_ns", events=names.n_timed, values={"what": what})


def _beyond(names: KnownNames) -> Iterator[Note]:
    """Notes on times beyond int64 ns whose digits say what they are."""
    found: dict[str, list[tuple[int, int]]] = {}
    for index, text in names.overflowing:
        us = Decimal(text.decode(errors="replace")) if _NUMBER.fullmatch(text) else Decimal(0)
        wrapped_ns = int(us * 1000) - (1 << 64)
        near = names.first_ns - _FAR_NS <= wrapped_ns <= names.last_ns + _FAR_NS
        if wrapped_ns in UNIX_NS or (near and wrapped_ns >= 0):
            found.setdefault("wrapped", []).append((index, wrapped_ns))
        elif int(us) in UNIX_NS:
            found.setdefault("as_us", []).append((index, int(us)))
    for kind, those in found.items():
        packet, ns = those[0]
        at = format_wall_time(ns) if ns in UNIX_NS else f"{ns:,} ns"
        events = count(len(those), "event")
        what = (
            f"{events} 2^64 ns too late: a time below 0 was taken for one without sign; less 2^64 "
            f"ns, the first is at {at}"
            if kind == "wrapped"
            else f"{events} in ns since 1970, where the format counts us: the first is at {at}"
        )
        yield Note("odd-times", kind, (packet,), events=len(those), values={"what": what})


def _groups(every: Sequence[_Magnitude]) -> Iterator[_Magnitude]:
    """The groups of magnitudes that follow each other without a gap; every: by magnitude."""
    group: list[_Magnitude] = []
    for one in every:
        if group and one.least_ns.bit_length() - group[-1].most_ns.bit_length() > _GAP:
            yield _join(group)
            group = []
        group.append(one)
    if group:
        yield _join(group)


def _join(group: Sequence[_Magnitude]) -> _Magnitude:
    return _Magnitude(
        sum(one.events for one in group),
        group[0].least_ns,
        group[-1].most_ns,
        min(one.packet for one in group),
    )


def _zeros(at_zero: Sequence[_Magnitude], groups: Sequence[_Magnitude]) -> Iterator[Note]:
    if not at_zero or not groups:
        return
    zero, others = at_zero[0], _join(groups)
    if _FEW <= others.events >= zero.events and others.is_far and others.least_ns >= _FAR_NS:
        what = (
            f"{count(zero.events, 'event')} at 0, {duration(others.least_ns)} before the first of "
            "the others"
        )
        values = {"what": what}
        least_ns = others.least_ns
        yield Note("odd-times", "zero", (zero.packet,), 0, zero.events, least_ns, (), values)


def _other_units(groups: Sequence[_Magnitude]) -> Iterator[Note]:
    for low, high in pairwise(groups):
        if min(low.events, high.events) < _FEW or not (low.is_far and high.is_far):
            continue
        for factor in _UNITS:
            if low.least_ns * factor <= high.most_ns and high.least_ns <= low.most_ns * factor:
                odd = min(low, high, key=lambda one: one.events)
                what = (
                    f"times of two units: those of {count(high.events, 'event')} are {factor:,} "
                    f"times those of {count(low.events, 'event')}"
                )
                apart_ns = high.least_ns - low.most_ns
                first, values = (odd.packet,), {"what": what}
                yield Note("odd-times", "units", first, 0, odd.events, apart_ns, (), values)


_ONE_DECIMAL: Final = 100
"""The resolution of times with one decimal, ns."""


class Resolutions(NamedTuple):
    """The margins below and above each time of the file within which the clock may have read.

    Attributes:
        times, durations: the resolutions of events, and of durations of complete events.
        unit_ns: what all times of events are multiples of: 1000, 100, 10 or 1.
        slack_ns: what the last time may be off where it went through doubles.
        line_late: more than the time of a line.
    """

    times: TimeResolutions
    durations: TimeResolutions
    unit_ns: int
    slack_ns: int
    line_late: int

    @classmethod
    def of(cls, names: KnownNames) -> Resolutions:
        """The resolutions of a file that has been read."""
        unit_ns, duration_ns, line_ns = (
            max(step, 1)
            for step in (names.time_step_ns, names.duration_step_ns, names.line_step_ns)
        )
        times = TimeResolutions.of(names.times, unit_ns=unit_ns, of_unit=True)
        durations = TimeResolutions.of(
            names.durations, unit_ns=duration_ns, of_unit=True, doubles=False
        )
        farthest = np.array([max(abs(names.first_ns), abs(names.last_ns))])
        return cls(times, durations, unit_ns, int(times.slack_at(farthest)[0]), line_ns - 1)

    @property
    def is_exact(self) -> bool:
        """Whether the times are exact."""
        return self.times.is_exact and self.durations.is_exact and not self.line_late

    @property
    def resolution_ns(self) -> int:
        """The greatest distance of two readings that the file writes alike, and one ns more."""
        # A program that read the file as doubles has written it anew.
        doubled = 2 * self.slack_ns if self.unit_ns == _ONE_DECIMAL else 0
        return max(self.unit_ns + doubled, 1 + self.line_late)

    def margins(self, times: Values, is_line: npt.NDArray[np.bool_]) -> tuple[Values, Values]:
        """The margins below and above some times within which the clock may have read; ns."""
        early, late = self.times.margins(times)
        return np.where(is_line, 0, early), np.where(is_line, self.line_late, late)

    def duration_margins(self, times: Values, durations: Values) -> tuple[Values, Values]:
        """The margins below and above the durations of complete events, ns.

        times, durations: when they begin, and how long they last, ns.
        """
        shorter, longer = self.durations.margins(durations)
        slack = np.where(longer > 0, self.times.slack_at(times), 0)
        return np.minimum(shorter + slack, np.maximum(durations, 0)), longer + slack
