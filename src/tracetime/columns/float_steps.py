"""The resolutions of times that are floats, within the error of their rounding.

Whole ms that became a float of s by way of ns, or were multiplied by 1e-3, are often not the float
nearest to what was read: their shortest text has all digits. So near a step counts as on it, where
clearly more times are than by chance.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

_STEPS: Final = tuple(10**k for k in range(3, 11))
"""From 1 us to 10 s."""

_LEAST_TIMES: Final = 16
_SIGMAS: Final = 5
_SHARE: Final = 0.5
"""By how much more times than by chance must be near a step; time_steps.py has the same."""


class FloatSteps:
    """The numbers of times near each resolution, and the resolutions by them."""

    def __init__(self) -> None:
        self._n = 0
        self._near = np.zeros(len(_STEPS))
        self._by_chance = np.zeros(len(_STEPS))

    def count(self, values: Values, half_ns: Values) -> None:
        """Count times, ns, each of which may be off by so much because it was rounded."""
        self._n += len(values)
        for k, step in enumerate(_STEPS):
            self._near[k] += np.count_nonzero(_is_near(values, half_ns, step))
            self._by_chance[k] += np.minimum((2 * half_ns + 1) / step, 1.0).sum()

    def margins(self, values: Values, half_ns: Values) -> tuple[Values, Values]:
        """The margins below and above each time within which the clock may have read, ns.

        Who rounds is off by half a step either way, who cuts off by a whole one, less one ns.
        """
        before, after = np.zeros_like(values), np.zeros_like(values)
        for step in self._clear():
            near = _is_near(values, half_ns, step)
            toward = near & (values <= half_ns)
            before[near], after[near] = step // 2, step - 1
            before[toward] = step - 1
        return before, after

    @property
    def longest_ns(self) -> int:
        """The longest resolution of the times; 0 without any."""
        return max(self._clear(), default=0)

    def _clear(self) -> list[int]:
        """The resolutions that clearly more times are near than by chance, ascending."""
        clear: list[int] = []
        shorter = 0.0
        for step, near, by_random in zip(_STEPS, self._near, self._by_chance, strict=True):
            # Whole ms are whole us, too, and one in ten is a multiple of 10 ms.
            by_chance = max(by_random, shorter / (step / clear[-1]) if clear else 0.0)
            rest = min(by_chance, self._n - by_chance)
            if near - by_chance >= max(_LEAST_TIMES, _SIGMAS * math.sqrt(by_chance), _SHARE * rest):
                clear.append(step)
                shorter = near
        return clear


def _is_near(values: Values, half_ns: Values, step: int) -> npt.NDArray[np.bool_]:
    past = values % step
    near: npt.NDArray[np.bool_] = np.minimum(past, step - past) <= half_ns
    return near
