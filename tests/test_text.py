"""Numbers in words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.text import did_you_mean, duration, html_text, json_text, printable, table


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


@pytest.mark.parametrize(
    ("text", "shown", "on_a_page"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07", "␛]0;title␇"),
        ("\x9b31m\x85", r"\x9b31m\x85", r"\x9b31m\x85"),
        ("\x00\x7f", r"\x00\x7f", "␀␡"),
        ("a\nb\rc\td", r"a\nb\rc\td", "a␊b␍c␉d"),
        ("\u2028\u2029", r"\u2028\u2029", r"\u2028\u2029"),
        ("\u202eabc\u202c", r"\u202eabc\u202c", r"\u202eabc\u202c"),
        ("\u2066\u2069\u061c\u200f", r"\u2066\u2069\u061c\u200f", r"\u2066\u2069\u061c\u200f"),
        ("\u200b\u200d\u2060\ufeff", r"\u200b\u200d\u2060\ufeff", r"\u200b\u200d\u2060\ufeff"),
        ("\ud800\udc80", r"\ud800\udc80", r"\ud800\udc80"),
        ("\U000e0041", r"\U000e0041", r"\U000e0041"),
        ("grüß 日本 שלום 🙂", "grüß 日本 שלום 🙂", "grüß 日本 שלום 🙂"),
    ],
)  # fmt: skip
def test_what_acts_on_text_is_shown_instead(text, shown, on_a_page):
    assert printable(text) == shown
    assert html_text(text) == on_a_page
    assert f'<td style="text-align:left">{on_a_page}</td>' in table(["name"], [[text]])


def test_html_has_no_tags_of_a_name():
    assert html_text("""<b>&"'""") == "&lt;b&gt;&amp;&quot;&#x27;"


@given(st.text(st.characters()))
def test_json_is_printable_ascii_and_says_the_same(text):
    written = json_text({"name": text, text: [text]})
    assert written.isascii() and written.isprintable()
    assert json.loads(written) == {"name": text, text: [text]}


@given(st.text(st.characters()))
def test_html_is_printable(text):
    assert html_text(text).isprintable()
