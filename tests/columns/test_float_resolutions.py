"""Floats near a step: bars hold what was cut off or rounded, however the float was made."""

import numpy as np
import pyarrow as pa
import pytest

from tracetime.columns.resolutions import FloatResolutions
from tracetime.columns.time_columns import WrittenUnits, time_column

S, MS, US = 10**9, 10**6, 10**3
READ = 1_760_000_000 * S + np.sort(np.random.default_rng(1).integers(0, 3_600 * S, 2_000))
WAYS = {
    "of whole ns": ("s", lambda ns: ns / 1e9),
    "times 1e-9": ("s", lambda ns: ns * 1e-9),
    "of whole ms": ("s", lambda ns: ns // MS / 1000 if not (ns % MS).any() else ns / 1e9),
    "seconds and a part": ("s", lambda ns: ns // S + ns % S * 1e-9),
    "ms": ("ms", lambda ns: ns / 1e6),
    "us": ("us", lambda ns: ns * 1e-3),
}


def margins(floats, unit):
    given = time_column(pa.array(floats), "t", unit)
    units = WrittenUnits()
    read = units.read("t", given)
    before, after = read.margins_ns()
    return given.values, before, after, units


@pytest.mark.parametrize("step", [US, 10 * US, MS, 10 * MS, S])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rounds", [False, True])
def test_a_time_that_was_cut_off_or_rounded_is_within_its_margins(step, way, rounds):
    unit, made = WAYS[way]
    kept = (READ + (step // 2 if rounds else 0)) // step * step
    values, before, after, units = margins(made(kept), unit)
    assert (values - before <= READ).all()
    assert (values + after >= READ).all()
    assert units.longest_ns >= step


@pytest.mark.parametrize("way", WAYS)
def test_times_that_stand_on_no_step_have_no_margin_but_their_rounding(way):
    unit, made = WAYS[way]
    values, before, after, units = margins(made(READ), unit)
    half = time_column(pa.array(made(READ)), "t", unit).half_width_ns
    assert units.longest_ns == 0
    assert (before == half).all()
    assert (after == half).all()
    assert (np.abs(values - READ) <= half).all()


def test_one_writer_of_whole_ms_does_not_speak_for_the_others():
    mixed = np.where(np.arange(2_000) % 2, READ, READ // MS * MS)
    values, before, after, _ = margins(mixed / 1e9, "s")
    assert (values - before <= READ).all()
    assert (values + after >= READ).all()
    assert np.median(after[1::2]) < 1_000


def test_one_time_again_and_again_shows_no_step():
    given = np.repeat(READ[:1] // MS * MS, 500)
    assert margins(given / 1e9, "s")[3].longest_ns < MS


def test_fewer_than_sixteen_times_show_no_step():
    steps = FloatResolutions()
    steps.count(READ[:15] // MS * MS, np.full(15, 400))
    assert steps.longest_ns == 0
    steps.count(READ[15:40] // MS * MS, np.full(25, 400))
    assert steps.longest_ns == MS


def test_a_time_at_or_before_its_epoch_may_have_been_cut_off_toward_it():
    steps = FloatResolutions()
    values = np.arange(-20, 1) * MS
    steps.count(values, np.full(21, 1))
    before, after = steps.margins(values, np.full(21, 1))
    assert set(before.tolist()) <= {MS - 1, 10 * MS - 1}
    assert set(after.tolist()) <= {MS - 1, 10 * MS - 1}
