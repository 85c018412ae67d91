"""What the doctor says of events far from everything, at its limits and just beyond them."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, snapshot, trace
from kept import check_kept
from reading import opened
from test_kept_doctor import lines

from tracetime import ClockId, diagnose
from tracetime.analysis.event_distances import Span, Stray
from tracetime.doctor.far_events import _absolute, _beyond, _cause, _ended, _factor, _other_clock

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

S = 1_000_000_000
MINUTES = 600 * S
NIC = 0x9B02C3D4


def queried(clock: ClockId, unit_ns: int, incremental: bool) -> Any:
    return SimpleNamespace(infos={clock: SimpleNamespace(unit_ns=unit_ns, incremental=incremental)})


def just(chance: Random, value: int) -> int:
    return value + chance.choice([-1, 0, 0, 1])


def numbers(chance: Random) -> tuple[Any, ...]:
    """A clock, what it read in snapshots, and numbers of events that one cause would explain."""
    low = chance.choice([0, 1, 5 * S, 2_000 * S, 4_000 * S, 90_000 * S])
    own = Span(low, low + chance.choice([0, 1_000, S, 60 * S]), S, chance.choice([1, 3]))
    length = chance.choice([0, S, 700 * S])
    margin = max(own.length, length, min(MINUTES, low // 5))
    clock = chance.choice([ClockId(MONOTONIC), ClockId(64, 1), ClockId(64, 1), ClockId(200)])
    unit_ns = chance.choice([1, 1, 1_000, 7])
    factor = chance.choice([1_000, 10**6, 10**9])
    spread = chance.choice([0, 3, 30, 31, 100]) * own.length // 100
    events = chance.choice([0, 1, 2, 3, 20, 21])
    rises = chance.choice([0, events - 1, (9 * events) // 10, (9 * events) // 10 - 1])
    end = chance.choice([own.low - margin, own.high + margin - spread, own.low, own.high])
    first = just(chance, end)
    kind = chance.choice(["larger", "smaller", "deltas"])
    if kind == "larger":
        values = [first // factor, (first + spread) // factor]
        values = [value + chance.choice([0, 0, 1]) for value in values]
    elif kind == "smaller":
        values = [first * factor, (first + spread) * factor + chance.choice([0, factor - 1])]
    else:
        values = [chance.choice([0, 1, 1_000]), just(chance, low)]
    raw_low = chance.choice([-1, 0, 5])
    raw_sum = just(chance, max(low, 2 * margin) // unit_ns)
    there = Stray(events, 5, 9, min(values), max(values), raw_low, raw_sum, max(rises, 0), 4)
    return queried(clock, unit_ns, chance.random() < 0.05), clock, own, there, length


@pytest.mark.parametrize("group", range(6))
def test_what_numbers_say_that_they_are(group):
    expected = []
    for seed in range(150):
        cause = _cause(*numbers(Random(f"numbers {group} {seed}")))
        expected.append(None if cause is None else list(cause.code))
    assert len({str(code) for code in expected}) >= 6
    check_kept("doctor_far", f"numbers {group}", expected)


def cause_of(own: Span, there: Stray, length: int = 0, *, unit_ns: int = 1, clock: int = 64) -> Any:
    """What is reported; the clock counts 5,000 s and 10 s more in its snapshots."""
    id_ = ClockId(clock, 1 if clock == 64 else 0)
    cause = _cause(queried(id_, unit_ns, False), id_, own, there, length)
    return None if cause is None else cause.code


OWN = Span(5_000 * S, 5_010 * S, S, 11)
LEAST, MOST = 4_400, 5_610


@pytest.mark.parametrize(
    ("low", "high", "code"),
    [
        (LEAST * 10**6, MOST * 10**6, ("factor", 1_000, True)),
        (LEAST * 10**6 - 1, MOST * 10**6, None),
        (LEAST * 10**6, MOST * 10**6 + 1, None),
        (LEAST * 1_000, MOST * 1_000, ("factor", 10**6, True)),
        (LEAST - 1, MOST, None),
        (LEAST, MOST, ("factor", 10**9, True)),
        (LEAST * 10**12, MOST * 10**12 + 999, ("factor", 1_000, False)),
        (LEAST * 10**12 - 1, MOST * 10**12, None),
        (LEAST * 10**12, MOST * 10**12 + 1_000, None),
        (LEAST * 10**15, MOST * 10**15, ("factor", 10**6, False)),
        (LEAST * 10**18, MOST * 10**18 + 10**9 - 1, ("factor", 10**9, False)),
    ],
)
def test_values_in_another_unit_are_within_ten_minutes_of_the_snapshots(low, high, code):
    assert cause_of(OWN, Stray(1, 0, 0, low, high, low, high), clock=200) == code


@pytest.mark.parametrize(
    ("low", "length", "margin"),
    [
        (5_000, 0, 600),
        (3_000, 0, 600),
        (2_995, 0, 599),
        (100, 0, 20),
        (100, 30, 30),
        (5_000, 601, 601),
        (5_000, 599, 600),
    ],
)
def test_a_clock_may_be_off_by_as_long_as_it_ran_or_by_a_fifth_of_what_it_reads(
    low, length, margin
):
    own = Span(low * S, (low + 10) * S, S, 11)
    ends = [own.low - margin * S, own.high + margin * S]
    for by, code in ((0, ("factor", 1_000, False)), (1, None)):
        for one in (
            Stray(1, 0, 0, (ends[0] - by) * 1_000, ends[1] * 1_000),
            Stray(1, 0, 0, ends[0] * 1_000, (ends[1] + by) * 1_000),
        ):
            assert cause_of(own, one, length * S, clock=200) == code


@pytest.mark.parametrize(
    ("events", "spread", "is_reported"),
    [(3, 3_000_001, True), (3, 3_000_000, False), (2, 3_000_001, False), (4, 9_000_000, True)],
)
def test_of_a_clock_that_began_near_0_what_is_small_has_to_be_many_and_spread(
    events, spread, is_reported
):
    own = Span(0, 10 * S, S, 11)
    there = Stray(events, 0, 0, 0, spread)
    assert cause_of(own, there, clock=200) == (("factor", 1_000, True) if is_reported else None)
    at_one = Span(5 * S, 5 * S, 0, 1)
    assert cause_of(at_one, there, 6 * S, clock=200) is None


DELTAS = {
    "events": 21,
    "low": 5,
    "high": OWN.low - 1,
    "raw_low": 0,
    "raw_sum": OWN.low,
    "rises": 18,
}


@pytest.mark.parametrize(
    ("change", "is_reported"),
    [
        ({}, True),
        ({"events": 20, "rises": 17}, True),
        ({"events": 20, "rises": 18}, False),
        ({"rises": 19}, False),
        ({"raw_sum": OWN.low + 1}, False),
        ({"raw_low": -1}, False),
        ({"high": OWN.low}, False),
        ({"events": 3, "rises": 1}, True),
        ({"events": 2, "rises": 0}, False),
        ({"events": 3, "rises": 2}, False),
    ],
)
def test_deltas_are_small_add_up_to_the_trace_and_do_not_rise(change, is_reported):
    there = Stray(**(DELTAS | change))
    assert cause_of(OWN, there) == (("deltas",) if is_reported else None)
    assert cause_of(OWN, there, clock=200) is None


@pytest.mark.parametrize(
    ("raw_sum", "length", "is_reported"),
    [
        (5 * 10**9, 0, True),
        (5 * 10**9 + 1, 0, False),
        (6 * 10**9, 3_000 * S, True),
        (6 * 10**9 + 1, 3_000 * S, False),
    ],
)
def test_deltas_are_in_the_clock_s_unit(raw_sum, length, is_reported):
    there = Stray(**(DELTAS | {"raw_sum": raw_sum}))
    expected = cause_of(OWN, there, length, unit_ns=1_000)
    assert expected == (("deltas",) if is_reported else None)


@pytest.mark.parametrize("events", [2, 3])
@pytest.mark.parametrize("raw_low", [4_999_999_999, 5_000_000_000])
@pytest.mark.parametrize("incremental", [False, True])
def test_timestamps_that_are_no_less_than_a_reading_are_no_deltas(events, raw_low, incremental):
    clock = ClockId(64, 1)
    survey = queried(clock, 1_000, incremental)
    cause = _absolute(survey, clock, OWN, Stray(events, raw_low=raw_low))
    is_reported = events == 3 and raw_low == 5 * 10**9 and incremental
    assert (cause and cause.code) == (("absolute",) if is_reported else None)
    assert cause_of(OWN, Stray(0)) is None
    there = Stray(3, 0, 0, LEAST * 10**6, LEAST * 10**6)
    assert (_cause(survey, clock, OWN, there, 0) is None) == incremental


@pytest.mark.parametrize(
    ("unit_ns", "factor", "larger", "expected", "fix"),
    [
        (1, 1_000, True, "they are in us, its snapshots in ns", "one unit: ns, or the one"),
        (1, 10**6, True, "they are in ms, its snapshots in ns", "one unit: ns, or the one"),
        (1_000, 1_000, False, "they are in ns, its snapshots in us", "one unit: us, or the one"),
        (10**9, 1_000, False, "they are in ms, its snapshots in s", "one unit: s, or the one"),
        (10**6, 10**6, True, "they are 1,000,000 times too small", "one unit, the one"),
        (7, 1_000, True, "they are 1,000 times too small", "one unit, the one"),
        (7, 1_000, False, "they are 1,000 times too large", "one unit, the one"),
        (7_000, 10**3, False, "they are 1,000 times too large", "one unit, the one"),
        (1, 1_000, False, "they are 1,000 times too large", "one unit, the one"),
    ],
)
def test_another_unit_is_named_where_it_has_a_name(unit_ns, factor, larger, expected, fix):
    clock = ClockId(200)
    cause = _factor(queried(clock, unit_ns, False), clock, factor, larger=larger)
    assert cause.code == ("factor", factor, larger)
    assert cause.title == expected
    assert f"Write events and snapshots in {fix} that unit_multiplier_ns gives." == cause.fix
    assert cause.why.startswith("Multiplied by" if larger else "Divided by")
    assert f" by {factor:,}, the timestamps match" in cause.why


@pytest.mark.parametrize(
    ("low", "high", "names"),
    [
        (99 * S, 111 * S, "REALTIME"),
        (99 * S - 1, 111 * S, None),
        (99 * S, 111 * S + 1, None),
        (100 * S, 100 * S, "REALTIME"),
        (5_100 * S, 5_105 * S, "MONOTONIC or MONOTONIC_RAW"),
        (7_105 * S, 7_105 * S, None),
        (9_000 * S, 9_000 * S, None),
    ],
)
def test_the_clocks_that_read_such_values_are_named_if_they_are_two_at_most(low, high, names):
    read = {
        ClockId(REALTIME): (100, 110),
        ClockId(3): (5_100, 5_110),
        ClockId(5): (5_095, 5_120),
        ClockId(BOOTTIME): (9_000, 9_010),
        ClockId(4, machine=1): (5_100, 5_110),
        ClockId(REALTIME, machine=1): (9_000, 9_010),
        ClockId(3, machine=1): (100, 101),
        ClockId(200): (7_100, 7_110),
        ClockId(201): (7_100, 7_110),
        ClockId(202): (7_100, 7_110),
    }
    spans = {clock: Span(a * S, b * S, S, 3) for clock, (a, b) in read.items()}
    cause = _other_clock(spans, ClockId(BOOTTIME), Stray(1, 0, 0, low, high))
    assert (cause and cause.title) == (names and f"they were read in {names}")
    cause = _other_clock(spans, ClockId(0), Stray(1, 0, 0, 110 * S, 110 * S))
    assert cause.why.startswith(
        "The events are written without a clock, but their timestamps match the "
        "readings of REALTIME"
    )
    assert cause.code == ("clock", ClockId(REALTIME))
    cause = _other_clock(spans, ClockId(3), Stray(1, 0, 0, 110 * S, 110 * S))
    assert cause.why.startswith(
        "The events are written as read in MONOTONIC, but their timestamps match"
    )


def test_what_is_further_than_reached_counts_together():
    strays = [Stray(1, 5, 6, packet=3), Stray(2, 6, 9, packet=2), Stray(4, 7, 8, packet=1)]
    assert [_beyond(strays, reached).events for reached in (4, 5, 6, 7)] == [7, 6, 4, 0]


def test_a_recorder_has_ended_after_ten_steps_without_a_snapshot():
    ended = [
        _ended(Stray(near=near), Span(0, 9, 300, readings))
        for readings in (2, 3, 4)
        for near in (3_000, 3_001)
    ]
    assert ended == [False, False, False, True, False, True]


def strewn(chance: Random) -> bytes:
    """Snapshots in even steps, and events about as far from them as far begins."""
    n = chance.choice([1, 2, 3, 4])
    step = chance.choice([S // 2, S, 3 * S, 400 * S])
    start = chance.choice([2, 5_000, 40_000]) * S
    away = {BOOTTIME: 0, MONOTONIC: chance.choice([0, -S]), NIC: chance.choice([77, 99_000]) * S}
    packets = [
        snapshot({clock: start + by + k * step for clock, by in away.items()}) for k in range(n)
    ]
    end, reached, events = start + (n - 1) * step, {-1: start, 1: 0}, []
    reached[1] = end
    for _ in range(chance.choice([1, 2, 3])):
        side, clock = chance.choice([-1, 1, 1]), chance.choice(list(away))
        gap = chance.choice([S, S, step, 2 * step, 10 * step, MINUTES, MINUTES, 4 * MINUTES])
        at = reached[side] + side * (gap + chance.choice([0, 1]))
        if at + away[clock] > 0:
            reached[side] = at
            events += [event(at + away[clock] + k, clock) for k in range(chance.choice([1, 3]))]
    return trace(*packets, *events)


@pytest.mark.parametrize("group", range(8))
def test_what_is_far(group):
    expected = {}
    for seed in range(25):
        with opened(strewn(Random(f"strewn {group} {seed}"))) as made:
            found = [one for one in diagnose(made) if one.code == "events-far-from-trace"]
        expected[str(seed)] = list(lines(found, ""))
    check_kept("doctor_far", f"strewn {group}", expected)
