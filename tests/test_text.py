"""Numbers in words."""

import pytest

from tracetime.text import did_you_mean, duration


@pytest.mark.parametrize(
    ("ns", "short", "with_decimals"),
    [
        (0, "0 ns", "0 ns"),
        (999, "999 ns", "999 ns"),
        (1000, "1 us", "1.000 us"),
        (999_499, "999 us", "999.499 us"),
        (18_500_000, "18.5 ms", "18.500 ms"),
        (10_008_553_378, "10 s", "10.009 s"),
        (59_400_000_000, "59.4 s", "59.400 s"),
        (60_000_000_000, "1 min 0 s", "1 min 0 s"),
        (200 * 10**9, "3 min 20 s", "3 min 20 s"),
        (12_345 * 10**9, "3 h 25 min", "3 h 25 min"),
        (101_100 * 10**9, "1 d 4 h", "1 d 4 h"),
        (-5_000_000, "-5 ms", "-5.000 ms"),
        (-273_601 * 10**9, "-3 d 4 h", "-3 d 4 h"),
    ],
)
def test_durations(ns, short, with_decimals):
    assert duration(ns) == short
    assert duration(ns, decimals=True) == with_decimals


@pytest.mark.parametrize(
    ("ns", "text"),
    [(999.6, "1 us"), (999_600, "1 ms"), (-999_500, "-1 ms"), (999_999_999, "1 s")],
)
def test_what_rounds_up_to_the_next_unit_is_said_in_that(ns, text):
    assert duration(ns) == text


def test_decimals_too_go_on_to_the_next_unit():
    assert duration(999_999_999, decimals=True) == "1.000 s"
    assert duration(999.6, decimals=True) == "1.000 us"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("supend", ": did you mean suspend?"),
        ("MONOTONC", ": did you mean MONOTONIC?"),
        ("monotonic", ": did you mean MONOTONIC?"),
        ("xyz", ""),
        ("", ""),
    ],
)
def test_did_you_mean(text, said):
    assert did_you_mean(text, ["suspend", "MONOTONIC", "BOOTTIME"]) == said
