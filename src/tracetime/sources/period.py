"""The exact fraction that a 32-bit float of a period represents."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from tracetime.errors import SourceError


def exact_period(period_ns: float) -> Fraction:
    """The simplest fraction that a 32-bit float rounds to: 52.083332 is 625/12, 1.0 is 1.

    A device's period is one over its frequency, and the float that Vulkan gives
    (VkPhysicalDeviceLimits::timestampPeriod) is that, rounded. The result is the number of least
    denominator among all that round to the float (half a unit in the last place to either side,
    at most 0.06 ppm): the true one for every frequency in common use. Where it is not, it is no
    farther off than the float.

    Raises:
        SourceError: the period is no number above 0.
    """
    (value,) = struct.unpack("<f", struct.pack("<f", period_ns))
    if not (math.isfinite(value) and value > 0):
        raise SourceError(
            f"the device says that a tick lasts {period_ns} ns: its driver does not support "
            "timestamps; leave it out"
        )
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    exact = Fraction(value)
    below, above = (
        (exact + Fraction(struct.unpack("<f", struct.pack("<I", other))[0])) / 2
        if 0 < other < 0x7F80_0000
        else exact
        for other in (bits - 1, bits + 1)
    )
    denominator = simplest_between(below, above).denominator
    # Above 2^24 ns several have that denominator: take the one nearest to the float.
    return Fraction(round(exact * denominator), denominator)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in [low, high], 0 < low <= high (continued fractions)."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    down = Fraction(low.numerator // low.denominator)
    return down + 1 / simplest_between(1 / (high - down), 1 / (low - down))
