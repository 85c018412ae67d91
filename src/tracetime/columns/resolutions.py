"""The resolutions of times in a file: their writers kept no more of the clock's reading.

Among times that are exact to the ns, one in 1,000 is a whole us by chance. Where clearly more are,
somebody wrote whole us, and a time that is one may have been cut off or rounded to it. Each time is
judged by itself, so that one exact writer does not speak for the others of a file.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import StepCounts, margins_of

Values = npt.NDArray[np.int64]
Resolution = tuple[int, int, int]
"""In ns, and the powers of 2 and of 5 that it is made of; of a unit 0."""

LEAST_TIMES: Final = 16
"""So many different times a resolution needs: fewer may stand on it by chance, or by hand."""

_SIGMAS: Final = 5
_SHARE: Final = 0.5
"""By how much more times than by chance must have a resolution: real times are not random."""

_LEAST_DIGITS: Final = 4
"""So many digits a program keeps that keeps a constant number of them; `%g` keeps 6."""

_TYPED_DIGITS: Final = 15
"""So many digits a spreadsheet keeps of a number; the others are 0."""
_TYPED_LEAST: Final = 4
"""Zeros in all that are no chance: one time in ns of today has four behind those digits."""

_WALL_DIGITS: Final = 19
"""Of a time in ns of today."""
_SHORT_DIGITS: Final = 6
"""So many digits `%g` keeps: near today resolutions of 2 h 46 min, mostly the same time."""

_SHORT_UNIT_NS: Final = 1_000_000

_BITS: Final = 65
_TEXT_NS: Final = 50
"""What the shortest text of a double of us with one decimal is off, at most: near today."""

_WALL_BITS: Final = 60
"""Times of more bits are wall times, where a double has no room for ns."""


class TimeResolutions(NamedTuple):
    """The digits that the times of a group lack.

    Attributes:
        before, after: ns by cell, as `margins_of` takes them.
        slack: by bits of a time, what it may be off because it went through doubles.
        double_s, double_ms: whether wall times come from doubles of s, or of ms.
    """

    before: Values
    after: Values
    slack: Values
    double_s: bool
    double_ms: bool

    @classmethod
    def of(
        cls, counts: StepCounts, *, unit_ns: int = 1, of_unit: bool = False, doubles: bool = True
    ) -> Self:
        """The result for the times of a group, by their counts.

        Args:
            counts: of its times, ns.
            unit_ns: what its times are given in; they stand on that without a word.
            of_unit: whether margins hold what is lost by that unit, too.
            doubles: whether a program may have computed its times as floats.
        """
        resolutions = _longest_resolutions(counts.cells(), unit_ns)
        least = unit_ns - 1 if of_unit else unit_ns
        before = np.where(resolutions > least, resolutions // 2, 0).ravel()
        after = np.where(resolutions > least, resolutions - 1, 0).ravel()
        slack = _slack() if doubles else np.zeros(_BITS, np.int64)
        double_s, double_ms = (
            doubles and unit_ns == 1 and _is_clear(n, (counts.n_wall - n) * chance / (1 - chance))
            for n, chance in ((counts.n_double_s, 5 / 238), (counts.n_double_ms, 5 / 244))
        )
        return cls(before, after, slack, double_s, double_ms)

    @property
    def is_exact(self) -> bool:
        """Whether no digit is lacking."""
        return not (self.after.any() or self.double_s or self.double_ms)

    @property
    def longest_ns(self) -> int:
        """The longest resolution of the times; 0 where no digit is lacking."""
        most = int(self.after.max())
        return most + 1 if most else 0

    def slack_at(self, values: Values) -> Values:
        """The error that doubles may have caused in times of this size, ns."""
        slack: Values = self.slack[np.frexp(np.abs(values.astype(np.float64)))[1]]
        return slack

    def margins(self, values: Values) -> tuple[Values, Values]:
        """The margins below and above each time within which the clock may have read, ns.

        Who rounds is off by half a resolution either way, who cuts off by a whole one, less one ns:
        above 0 downwards, else perhaps towards 0. Margins hold all of these.
        """
        return margins_of(
            values, self.before, self.after, self.slack, self.double_s, self.double_ms
        )


def _slack() -> Values:
    """The error of times at most, by their bits, that a program computed as doubles.

    CPython's time.time() rounds whole ns to a double, and divides that into one of s; times a
    million, it is rounded again, and its shortest text once more.
    """
    slack = np.zeros(_BITS, np.int64)
    for bits in range(_WALL_BITS, _BITS):
        ns = 1 << (bits - 1)
        us, ms = math.ulp(ns / 1e3) * 1e3, math.ulp(ns / 1e6) * 1e6
        text = math.ulp(ns) + math.ulp(ns / 1e9) * 1e9 + max(us, ms)
        slack[bits] = math.ceil(text / 2) + _TEXT_NS
    return slack


def _longest_resolutions(cells: npt.NDArray[np.int64], unit_ns: int) -> Values:
    """The longest resolution of the times of each cell, at least the unit."""
    cells[0] = 0
    resolutions = np.full(cells.shape, unit_ns, np.int64)
    for resolution, twos, fives in _clear_resolutions(cells.sum(axis=0), unit_ns):
        _raise(resolutions[:, twos:, fives:], resolution)
    kept: list[tuple[int, int]] = []
    for digits in np.flatnonzero(cells.sum(axis=(1, 2)) >= LEAST_TIMES).tolist():
        found = _clear_resolutions(cells[digits], unit_ns)
        for resolution, twos, fives in found:
            _raise(resolutions[digits, twos:, fives:], resolution)
        zeros = max((min(twos, fives) for _, twos, fives in found), default=0)
        if zeros and digits - zeros >= _LEAST_DIGITS:
            kept.append((digits, digits - zeros))
    _keep_typed(resolutions, cells, unit_ns)
    _keep_short(resolutions, cells, unit_ns)
    # Zero is a multiple of all of them.
    resolutions[0] = resolutions[:, -1, -1].max()
    for digits, n in kept:
        _keep_digits(resolutions, cells, digits, n)
    return resolutions


def _raise(part: Values, resolution: int) -> None:
    """Raise resolutions, in place, to a least one."""
    np.maximum(part, resolution, out=part)


def _keep_digits(resolutions: Values, cells: Values, digits: int, kept: int) -> None:
    """Raise the resolutions of times of other lengths that have no more digits, zeros aside.

    As `%g` writes them.
    """
    for other in range(kept + 1, len(resolutions)):
        zeros = min(other - kept, resolutions.shape[1] - 1)
        n = cells[other].sum()
        if other < digits or (n and n == cells[other, zeros:, zeros:].sum()):
            _raise(resolutions[other, zeros:, zeros:], 10**zeros)


def _keep_typed(resolutions: Values, cells: Values, unit_ns: int) -> None:
    """Raise the resolutions of times of more digits than a spreadsheet keeps, if all others are 0.

    A few times show it, where each has zeros that it need not have. Whole ms are no such times:
    they do not use all the digits that are kept.
    """
    longer = [digits for digits in range(_TYPED_DIGITS + 1, len(cells)) if cells[digits].any()]
    given = math.ceil(math.log10(unit_ns))
    shown, is_used = 0, False
    for digits in longer:
        zeros, n = digits - _TYPED_DIGITS, int(cells[digits].sum())
        if n > cells[digits, zeros:, zeros:].sum():
            return
        shown += n * max(zeros - given, 0)
        is_used |= bool(n > cells[digits, zeros + 1 :, zeros + 1 :].sum())
    if is_used and shown >= _TYPED_LEAST:
        for digits in longer:
            zeros = digits - _TYPED_DIGITS
            _raise(resolutions[digits, zeros:, zeros:], 10**zeros)


def _keep_short(resolutions: Values, cells: Values, unit_ns: int) -> None:
    """Raise the resolutions of wall times if all have only the digits that `%g` keeps.

    They are too few different ones to show a resolution; but in ms one in 10^7 has so many zeros by
    chance. In whole s one in 10^4 has.
    """
    if unit_ns > _SHORT_UNIT_NS:
        return
    zeros = _WALL_DIGITS - _SHORT_DIGITS
    n = cells[_WALL_DIGITS].sum()
    if n and n == cells[_WALL_DIGITS, zeros:, zeros:].sum():
        _raise(resolutions[_WALL_DIGITS, zeros:, zeros:], 10**zeros)


def _clear_resolutions(cells: Values, unit_ns: int) -> list[Resolution]:
    """The resolutions that clearly more times have than by chance, the longest first.

    cells: how many times the powers of 2 and of 5 divide.
    """
    powers = range(len(cells))
    every = sorted((2**twos * 5**fives, twos, fives) for twos in powers for fives in powers)
    divided = _divisor_counts(cells)
    clear = [(unit_ns, 0, 0)]
    for resolution in every:
        if resolution[0] > unit_ns and _is_above_chance(divided, resolution, clear):
            clear.append(resolution)
    # Whole ms are whole us, and multiples of 2 ns: they say nothing of these.
    rest, found = cells.copy(), []
    for resolution in reversed(clear[1:]):
        if _is_above_chance(divided, resolution, clear):
            found.append(resolution)
            rest[resolution[1] :, resolution[2] :] = 0
            divided = _divisor_counts(rest)
    return found


def _divisor_counts(cells: Values) -> list[list[int]]:
    """The numbers of times that each power of 2, and of 5, divides."""
    sums: Values = cells[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    counts: list[list[int]] = sums.tolist()
    return counts


def _is_above_chance(
    divided: list[list[int]], resolution: Resolution, shorter: list[Resolution]
) -> bool:
    """Whether clearly more times have a resolution than have any shorter one, by chance."""
    length, twos, fives = resolution
    n = divided[twos][fives]
    if n < LEAST_TIMES:
        return False
    by_chance = max(
        (divided[two][five] - n) / (length / short - 1)
        for short, two, five in shorter
        if short < length and two <= twos and five <= fives
    )
    return _is_clear(n, by_chance)


def _is_clear(n: int, by_chance: float) -> bool:
    """Whether a number of times is clearly more than by chance."""
    return n - by_chance >= max(LEAST_TIMES, _SIGMAS * math.sqrt(by_chance), _SHARE * by_chance)


# The resolutions of times that are floats, within the error of their rounding.
#
# Whole ms that became a float of s by way of ns, or were multiplied by 1e-3, are often not the
# float nearest to what was read: their shortest text has all digits. So a time near a multiple
# of a resolution counts as one, where clearly more times are than by chance.

_RESOLUTIONS: Final = tuple(10**k for k in range(3, 11))
"""From 1 us to 10 s."""

_LEAST_TIMES: Final = 16
"""By how much more times than by chance must be near a resolution, as above of exact times."""


class FloatResolutions:
    """The numbers of times near each resolution, and the resolutions by them."""

    def __init__(self) -> None:
        self._n = 0
        self._near = np.zeros(len(_RESOLUTIONS))
        self._by_chance = np.zeros(len(_RESOLUTIONS))

    def count(self, values: Values, half_ns: Values) -> None:
        """Count times, ns, each of which may be off by so much because it was rounded."""
        self._n += len(values)
        for k, resolution in enumerate(_RESOLUTIONS):
            self._near[k] += np.count_nonzero(_is_near(values, half_ns, resolution))
            self._by_chance[k] += np.minimum((2 * half_ns + 1) / resolution, 1.0).sum()

    def margins(self, values: Values, half_ns: Values) -> tuple[Values, Values]:
        """The margins below and above each time within which the clock may have read, ns.

        Who rounds is off by half a resolution either way, who cuts off by a whole one, less one ns.
        """
        before, after = np.zeros_like(values), np.zeros_like(values)
        for resolution in self._clear():
            near = _is_near(values, half_ns, resolution)
            toward = near & (values <= half_ns)
            before[near], after[near] = resolution // 2, resolution - 1
            before[toward] = resolution - 1
        return before, after

    @property
    def longest_ns(self) -> int:
        """The longest resolution of the times; 0 without any."""
        return max(self._clear(), default=0)

    def _clear(self) -> list[int]:
        """The resolutions that clearly more times are near than by chance, ascending."""
        clear: list[int] = []
        shorter = 0.0
        for resolution, near, by_random in zip(
            _RESOLUTIONS, self._near, self._by_chance, strict=True
        ):
            # Whole ms are whole us, too, and one in ten is a multiple of 10 ms.
            by_chance = max(by_random, shorter / (resolution / clear[-1]) if clear else 0.0)
            rest = min(by_chance, self._n - by_chance)
            if near - by_chance >= max(_LEAST_TIMES, _SIGMAS * math.sqrt(by_chance), _SHARE * rest):
                clear.append(resolution)
                shorter = near
        return clear


def _is_near(values: Values, half_ns: Values, resolution: int) -> npt.NDArray[np.bool_]:
    past = values % resolution
    near: npt.NDArray[np.bool_] = np.minimum(past, resolution - past) <= half_ns
    return near
