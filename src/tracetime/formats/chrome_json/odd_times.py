"""Times of Chrome's JSON that cannot be meant as they stand: 0, or of another unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from tracetime.text import count, duration
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import KnownNames

_FAR_NS: Final = 3_600_000_000_000
"""A trace that begins so long after 0 of its clock has nothing to do there."""
_SPANS: Final = 10
"""So many times its own length a trace is from 0, or from 0 of its unit."""
_GAP: Final = 4
"""Times of one unit leave no more than so many powers of two empty between them."""
_FEW: Final = 2
_UNITS: Final = (1_000, 1_000_000, 1_000_000_000)


class _Times(NamedTuple):
    """Events whose times are about as large: how many, from when to when, and the first."""

    events: int
    least_ns: int
    most_ns: int
    packet: int

    @property
    def is_far(self) -> bool:
        """Whether 0 is far from these."""
        return self.least_ns > _SPANS * (self.most_ns - self.least_ns)


def odd_times(names: KnownNames) -> list[Note]:
    """What of the times cannot be meant; those below 0 are not looked at."""
    every = [_Times(*one) for one in names.magnitudes]
    at_zero = [one for one in every if not one.most_ns]
    groups = list(_groups([one for one in every if one.most_ns]))
    return [*_zeros(at_zero, groups), *_other_units(groups)]


def _groups(every: Sequence[_Times]) -> Iterator[_Times]:
    """Those that follow each other without a gap, as one; every: by magnitude."""
    group: list[_Times] = []
    for one in every:
        if group and one.least_ns.bit_length() - group[-1].most_ns.bit_length() > _GAP:
            yield _joined(group)
            group = []
        group.append(one)
    if group:
        yield _joined(group)


def _joined(group: Sequence[_Times]) -> _Times:
    return _Times(
        sum(one.events for one in group),
        group[0].least_ns,
        group[-1].most_ns,
        min(one.packet for one in group),
    )


def _zeros(at_zero: Sequence[_Times], groups: Sequence[_Times]) -> Iterator[Note]:
    if not at_zero or not groups:
        return
    zero, others = at_zero[0], _joined(groups)
    if _FEW <= others.events >= zero.events and others.is_far and others.least_ns >= _FAR_NS:
        what = (
            f"{count(zero.events, 'event')} at 0, {duration(others.least_ns)} before the first of "
            "the others"
        )
        values = {"what": what}
        least_ns = others.least_ns
        yield Note("odd-times", "zero", (zero.packet,), 0, zero.events, least_ns, (), values)


def _other_units(groups: Sequence[_Times]) -> Iterator[Note]:
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
