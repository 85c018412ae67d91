"""Instants as people write them become whole nanoseconds, exactly, or are refused."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.wall_time import (
    NS_OF_UNIT,
    format_wall_time,
    parse_instant,
    parse_time_of_day,
)
from tracetime.errors import UsageError

DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("text", "kind", "ns"),
    [
        ("1104", "reading", 1104),
        ("-5", "reading", -5),
        ("868_258_201_186", "reading", 868258201186),
        ("12.5s", "elapsed", 12_500_000_000),
        ("12.5 s", "elapsed", 12_500_000_000),
        ("0.000000001s", "elapsed", 1),
        ("0.0000000010s", "elapsed", 1),
        ("100ms", "elapsed", 100_000_000),
        ("1.5us", "elapsed", 1500),
        ("7NS", "elapsed", 7),
        ("2min", "elapsed", 120_000_000_000),
        ("1.5h", "elapsed", 5_400_000_000_000),
        ("9007199254.740993001s", "elapsed", 9007199254740993001),
        ("14:48", "time_of_day", 53280 * 10**9),
        ("14:48:40.5", "time_of_day", 53320_500_000_000),
        ("14:48:40,123456789Z", "time_of_day", 53320_123_456_789),
        ("0:00", "time_of_day", 0),
        ("23:59:59.999999999", "time_of_day", DAY - 1),
        ("2026-08-22T14:48:40.123456789Z", "wall_time", 1787410120123456789),
        (" 2026-08-22 16:48:40.123456789+02:00 ", "wall_time", 1787410120123456789),
    ],
)
def test_what_is_read(text, kind, ns):
    assert parse_instant(text) == (kind, ns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "12.5s"),
        ("soon", "12.5s"),
        ("5.5", "whole number"),
        ("12.5 parsecs", "whole number"),
        ("-1s", "whole number"),
        ("1e3s", "whole number"),
        ("12.s", "whole number"),
        ("٣s", "whole number"),
        ("9" * 5000 + "s", "whole number"),
        ("0.5ns", "no whole number of nanoseconds"),
        ("1.0000000001s", "no whole number of nanoseconds"),
        ("24:00", "hours go to 23"),
        ("14:60", "hours go to 23"),
        ("14:48:60", "leap"),
        ("14:48:40.1234567891", "nine decimals"),
        ("14:48+02:00", "UTC"),
        ("14:48:40:5", "time of day"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_instant(text)


@given(st.integers(0, 2**63 - 1), st.sampled_from(sorted(NS_OF_UNIT)))
def test_every_whole_number_of_ns_comes_back_from_its_decimals(ns, unit):
    text = format(Decimal(ns) / NS_OF_UNIT[unit], "f")
    if Fraction(text) * NS_OF_UNIT[unit] == ns:
        assert parse_instant(f"{text}{unit}") == ("elapsed", ns)
    else:
        # A third of a minute has no last decimal.
        assert unit in ("min", "h")


@given(st.integers(0, DAY - 1))
def test_every_time_of_day_comes_back(ns):
    text = format_wall_time(ns)
    assert text.startswith("1970-01-01T")
    assert parse_time_of_day(text[11:]) == ns
    assert parse_instant(text[11:-1]) == ("time_of_day", ns)


@given(st.text(max_size=40))
def test_any_text_is_an_instant_or_an_error(text):
    try:
        assert isinstance(parse_instant(text).ns, int)
    except UsageError as error:
        assert str(error)
