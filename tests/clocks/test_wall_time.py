"""Wall-clock time for REALTIME: exact to the nanosecond, both ways."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.wall_time import format_wall_time, looks_like_wall_time, parse_wall_time
from tracetime.errors import UsageError

int64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2026-08-22T14:48:40.123456789Z", 1787410120123456789),
        ("2026-08-22 14:48:40.123456789z", 1787410120123456789),
        ("2026-08-22T16:48:40.123456789+02:00", 1787410120123456789),
        ("2026-08-22T09:18:40.123456789-0530", 1787410120123456789),
        ("2026-08-22T14:48:40,5Z", 1787410120500000000),
        ("2026-08-22T14:48Z", 1787410080000000000),
        ("2024-02-29T00:00:00Z", 1709164800000000000),
        ("2262-04-11T23:47:16.854775807Z", 2**63 - 1),
        ("1677-09-21T00:12:43.145224192Z", -(2**63)),
    ],
)
def test_what_is_read(text, ns):
    assert parse_wall_time(text) == ns
    assert parse_wall_time(format_wall_time(ns)) == ns


@given(int64)
def test_every_reading_comes_back(ns):
    text = format_wall_time(ns)
    assert looks_like_wall_time(text)
    assert parse_wall_time(text) == ns


@given(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)))
def test_agrees_with_datetime_where_that_can_tell(moment):
    ns = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000
    assert parse_wall_time(moment.replace(tzinfo=UTC).isoformat()) == ns


@given(int64)
def test_a_time_without_a_zone_is_utc(ns):
    assert parse_wall_time(format_wall_time(ns).removesuffix("Z")) == ns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-02-29T00:00:00Z", "no day"),
        ("2026-13-01T00:00:00Z", "no day"),
        ("0000-01-01T00:00:00Z", "no day"),
        ("2026-08-22T24:00:00Z", "no time"),
        ("2026-08-22T23:59:60Z", "leap"),
        ("2026-08-22T14:48:40+01:60", "no time"),
        ("2026-08-22T14:48:40.1234567891Z", "nine decimals"),
        ("14:48:40Z", "cannot read"),
        ("yesterday", "cannot read"),
        ("٢٠٢٦-08-22T14:48:40Z", "cannot read"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_wall_time(text)
