"""A plain twin of the times that are read from Chrome's JSON: by fractions, and by doubles."""

import math
import re
from fractions import Fraction

INT64 = 1 << 63
_NUMBER = re.compile(r"(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def exact_ns(text):
    """The ns of so many us, halves away from zero; None beyond int64."""
    ns = Fraction(text) * 1000
    whole = math.floor(abs(ns) + Fraction(1, 2)) * (-1 if ns < 0 else 1)
    return whole if -INT64 <= whole < INT64 else None


def floor_ns(text):
    """What trace_processor makes of it; None beyond what it can hold."""
    sign, whole, part, exponent = _NUMBER.fullmatch(text).groups()
    if part is None and exponent is None:
        ns = int(text) * 1000
        return ns if -INT64 <= ns < INT64 else None
    value = float(int(whole))
    if part:
        value += float(int(part)) / float(10 ** len(part))
    power = int(exponent or 0)
    try:
        value = value / math.pow(10, -power) if power < 0 else value * math.pow(10, power)
    except OverflowError:
        return None
    value = -value if sign else value
    if value == math.trunc(value):
        return math.trunc(value) * 1000
    # llround: halves away from zero, of the product as a double.
    product = Fraction(value * 1000.0)
    return math.floor(abs(product) + Fraction(1, 2)) * (-1 if product < 0 else 1)
