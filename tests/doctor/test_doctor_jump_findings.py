"""Findings about jumps: their clocks, places, events, sizes and severities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from surveyed import BOOT, MONO, RAW, REAL, S, Survey, X, Y, counter, jump

from tracetime.clocks.ids import ClockId
from tracetime.doctor.catalogue import told
from tracetime.doctor.finding import Finding
from tracetime.doctor.jumps import jumps as found_by

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
MS = 1_000_000
BASE = 50 * S


def jumps(survey: Survey) -> Iterator[Finding]:
    return map(told, found_by(survey))


def reported(survey: Survey) -> list[tuple[Any, ...]]:
    return [
        (f.code, f.severity, f.title, f.clocks, f.packets, f.events, f.worst_ns)
        for f in jumps(survey)
    ]


def test_nothing_happened():
    assert reported(Survey(5, {BOOT: {}, X: {}}, events={X: [BASE]})) == []


# A device is set ahead by 7 s between the third and the fourth snapshot of six.


def stepped(by=7 * S, bounds=None, **options) -> Survey:
    d = jump(BOOT, X, bounds or by, 2, 3, kind=options.pop("kind", "step"))
    return Survey(6, {BOOT: {}, X: {3: by}}, d, **options)


@pytest.mark.parametrize(
    ("at", "events"),
    [
        (BASE + 2 * S - 1, 0),
        (BASE + 2 * S, 1),
        (BASE + 5 * S, 1),
        (BASE + 10 * S, 1),
        (BASE + 10 * S + 1, 0),
    ],
)
def test_events_between_the_snapshots_of_a_jump_are_touched(at, events):
    assert reported(stepped(events={X: [at]})) == [
        (
            "clock-stepped",
            "warning" if events else "info",
            "200 was stepped once, by 7 s",
            (X,),
            (103,),
            events,
            7 * S,
        )
    ]


@pytest.mark.parametrize("tolerance_ns", [7 * S - 1, 7 * S])
def test_a_jump_within_the_tolerance_is_a_note(tolerance_ns):
    (found,) = reported(stepped(events={X: [BASE + 3 * S]}, tolerance_ns=tolerance_ns))
    beyond = tolerance_ns < 7 * S
    assert (found[1], found[5]) == (("warning", 1) if beyond else ("info", 0))


def test_the_title_gives_what_was_read_and_the_worst_is_what_it_may_be():
    (found,) = reported(stepped(bounds=(6 * S, 9 * S)))
    assert (found[2], found[6]) == ("200 was stepped once, by 7 s", 9 * S)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("step", "clock-stepped"),
        ("possible_step", "clock-stepped"),
        ("reset", "clock-reset"),
        ("outlier", "snapshot-outlier"),
    ],
)
def test_each_kind_of_jump_has_a_code(kind, code):
    (found,) = reported(stepped(kind=kind, events={X: [BASE + 3 * S]}))
    assert found[0] == code


def test_events_of_the_trace_clock_are_not_counted_and_of_the_others_all_are():
    """The jump is BOOTTIME's: X and Y, which are placed by it, agree with each other."""
    found = [jump(BOOT, clock, 7 * S, 2, 3) for clock in (X, Y)]
    events = {BOOT: [BASE + 3 * S] * 5, X: [BASE + 3 * S] * 2, Y: [BASE + 3 * S, BASE]}
    survey = Survey(
        6, {BOOT: {}, X: {3: 7 * S}, Y: {3: 7 * S}, REAL: {3: 7 * S}}, *found, events=events
    )
    assert reported(survey) == [
        ("clock-stepped", "warning", "BOOTTIME was stepped once, by 7 s", (BOOT,), (103,), 3, 7 * S)
    ]


def test_what_two_clocks_show_of_one_is_one_jump():
    found = [jump(BOOT, X, 7 * S, 2, 3), jump(Y, X, 7 * S, 2, 4), jump(BOOT, X, 3 * S, 4, 5)]
    survey = Survey(
        6,
        {BOOT: {}, Y: {}, X: {3: 7 * S, 5: 3 * S}},
        *found,
        events={X: [BASE + 3 * S], Y: [BASE + 3 * S]},
    )
    assert reported(survey) == [
        (
            "clock-stepped",
            "warning",
            "200 was stepped 2 times, by up to 7 s",
            (X,),
            (103, 105),
            2,
            7 * S,
        )
    ]


@pytest.mark.parametrize("n", [2, 3])
def test_of_two_snapshots_the_reason_may_be_another(n):
    survey = Survey(n, {BOOT: {}, X: {1: 7 * S}}, jump(BOOT, X, 7 * S, 0, 1))
    (found,) = jumps(survey)
    assert ("With only two snapshots" in found.why) == (n == 2)
    reset = Survey(n, {BOOT: {}, X: {1: 7 * S}}, jump(BOOT, X, 7 * S, 0, 1, kind="reset"))
    (found,) = jumps(reset)
    assert "With only two snapshots" not in found.why


# Sleep: BOOTTIME goes on by 7 s more.


def slept(by=7 * S, trace_clock=BOOT, machine=0, **options) -> Survey:
    boot, mono = ClockId(6, machine=machine), ClockId(3, machine=machine)
    d = jump(mono, boot, by, 2, 3, kind="suspend")
    clocks = {boot: {3: by}, mono: {}, BOOT: {}} if machine else {BOOT: {3: by}, MONO: {}}
    return Survey(6, clocks, d, trace_clock=trace_clock, **options)


@pytest.mark.parametrize(
    ("by", "at", "severity", "events"),
    [
        (7 * S, BASE + 2 * S - 1, "info", 0),
        (7 * S, BASE + 2 * S, "warning", 1),
        (7 * S, BASE + 3 * S, "warning", 1),
        (7 * S, BASE + 3 * S + 1, "info", 0),
        (MS + 1, BASE + 3 * S, "warning", 1),
        (MS, BASE + 3 * S, "info", 0),
    ],
)
def test_events_while_the_machine_slept(by, at, severity, events):
    title = f"the machine slept once, for {'7 s' if by == 7 * S else '1 ms'}"
    assert reported(slept(by, events={MONO: [at], BOOT: [at]})) == [
        ("suspend", severity, title, (MONO, BOOT), (103,), events, by)
    ]


@pytest.mark.parametrize("trace_clock", [BOOT, MONO])
def test_what_to_do_about_sleep(trace_clock):
    (found,) = jumps(slept(trace_clock=trace_clock))
    needs = "Events timed by BOOTTIME do not even need that."
    avoids = "With BOOTTIME as the trace clock, events timed by BOOTTIME are never off."
    assert found.fix == "Nothing, as long as a snapshot follows each resume. " + (
        needs if trace_clock == BOOT else avoids
    )


def test_the_sleep_of_another_machine_has_its_name():
    (found,) = reported(slept(machine=3))
    assert found[2] == "machine 3 slept once, for 7 s"


def test_sleeps_are_reported_once_for_all_clocks():
    found = [
        jump(MONO, BOOT, 7 * S, 2, 3, kind="suspend"),
        jump(RAW, BOOT, 7 * S, 2, 4, kind="suspend"),
        jump(MONO, BOOT, 2 * S, 4, 5, kind="suspend"),
    ]
    events = {MONO: [BASE + 2 * S], RAW: [BASE + 3 * S, BASE + 4 * S], BOOT: [BASE + 3 * S]}
    survey = Survey(
        7, {BOOT: {3: 7 * S, 5: 2 * S}, MONO: {}, RAW: {}}, *found, trace_clock=MONO, events=events
    )
    assert reported(survey) == [
        (
            "suspend",
            "warning",
            "the machine slept 2 times, for up to 7 s",
            (MONO, RAW, BOOT),
            (103, 105),
            3,
            7 * S,
        )
    ]


# Clocks that ran backwards.


def set_back(clock=X, by=7 * S, **options) -> Survey:
    d = jump(BOOT, clock, -by, 2, 3)
    return Survey(6, {BOOT: {}, clock: {3: -by}}, d, **options)


@pytest.mark.parametrize(
    ("clock", "code", "title"),
    [
        (X, "clock-ran-backwards", "200 ran backwards once, by 7 s"),
        (REAL, "realtime-set-back", "REALTIME was set back once, by 7 s"),
    ],
)
@pytest.mark.parametrize(("lost", "touched"), [(0, 0), (0, 2), (3, 0), (3, 2)])
def test_a_clock_that_was_set_back(clock, code, title, lost, touched):
    """As severe as the events that are lost by it; else it affects the events next to it."""
    survey = set_back(clock, events={clock: [BASE] * touched}, lost={clock: lost})
    if touched:
        survey.events[clock][0] = BASE - 4 * S
    severity = "error" if lost else "warning" if touched else "info"
    assert reported(survey) == [(code, severity, title, (clock,), (103,), lost or touched, 7 * S)]
    (found,) = jumps(survey)
    assert "Perfetto stops converting from it" in found.why


def test_a_clock_that_was_set_back_and_stepped_has_both_findings():
    """Of where it fell, how far back it was; of the other jump, how far ahead."""
    found = [jump(BOOT, REAL, 9 * S, 0, 1), jump(BOOT, REAL, -7 * S, 2, 3)]
    events = {REAL: [BASE + 5 * S]}
    survey = Survey(
        6, {BOOT: {}, REAL: {1: 9 * S, 3: -7 * S}}, *found, events=events, lost={REAL: 4}
    )
    assert reported(survey) == [
        (
            "realtime-set-back",
            "error",
            "REALTIME was set back once, by 7 s",
            (REAL,),
            (103,),
            4,
            7 * S,
        ),
        (
            "clock-stepped",
            "warning",
            "REALTIME was stepped once, by 9 s",
            (REAL,),
            (101,),
            1,
            9 * S,
        ),
    ]
    back, step = jumps(survey)
    assert "Perfetto stops converting from it" in back.why
    assert "Perfetto stops converting from it" not in step.why


def test_a_clock_that_fell_in_snapshots_of_its_own():
    """Nothing says for how long: by what it fell."""
    survey = Survey(6, {BOOT: {}, X: {3: -7 * S}}, lacking={BOOT: set(range(6))})
    assert reported(survey) == [
        ("clock-ran-backwards", "info", "200 ran backwards once, by 6 s", (X,), (103,), 0, 6 * S)
    ]


@pytest.mark.parametrize("lost", [0, 5])
def test_a_counter_that_wrapped_says_its_bits(lost):
    survey = Survey(6, {BOOT: {}, X: {3: -(2**33)}}, lost={X: lost})
    start = 2**33 - BASE - 3 * S
    survey.reads[X] = {k: at + start for k, at in survey.reads[X].items()}
    assert reported(survey) == [
        (
            "counter-wraps",
            "error" if lost else "info",
            "200 wraps: it restarted once",
            (X,),
            (103,),
            lost,
            2**33,
        )
    ]
    (found,) = jumps(survey)
    assert found.why.startswith("The counter has 33 bits and restarts at 0")
    assert "--valid-bits 200=33" in found.fix


@pytest.mark.parametrize("lost", [0, 5])
def test_a_counter_declared_to_wrap_is_a_note(lost):
    survey = Survey(6, {BOOT: {}, X: {3: -7 * S, 5: -7 * S}}, lost={X: lost})
    survey.domains[X] = counter(X, 34)
    survey.counters[X] = np.arange(6) * S
    assert reported(survey) == [
        ("counter-wraps", "info", "200 wraps: it restarted 2 times", (X,), (103, 105), lost, 7 * S)
    ]
    (found,) = jumps(survey)
    assert found.why.startswith("The counter has 34 bits")
    assert "Perfetto stops converting from it" in found.why
    # What fell though that is known was set.
    survey.counters[X] = np.array([10, 11, 12, 13, 11, 12]) * S
    assert reported(survey) == [
        (
            "clock-ran-backwards",
            "error" if lost else "info",
            "200 ran backwards once, by 3 s",
            (X,),
            (104,),
            lost,
            3 * S,
        )
    ]


@pytest.mark.parametrize("used", [0, 4])
@pytest.mark.parametrize(
    ("boot", "packets"), [({}, (100, 101)), ({2: S}, (101, 102)), ({4: 1}, (103, 104))]
)
def test_a_counter_whose_wraps_are_open(used, boot, packets):
    """The longest time between two snapshots is where one is needed."""
    survey = Survey(5, {BOOT: boot, X: {3: -7 * S}}, events={X: [BASE] * used} if used else {})
    survey.open_wraps[X] = ValueError("it wraps every 4 s")
    title = "200 wraps, and it is unknown how often between two snapshots"
    assert reported(survey) == [
        ("counter-wraps", "error" if used else "info", title, (X,), packets, used, None)
    ]
    assert next(jumps(survey)).why == "it wraps every 4 s."


def test_a_counter_whose_wraps_are_open_in_few_snapshots():
    survey = Survey(1, {BOOT: {}, X: {}, Y: {}}, lacking={Y: {0}})
    survey.open_wraps[X] = survey.open_wraps[Y] = ValueError("open")
    assert [(f.clocks, f.packets) for f in jumps(survey)] == [((X,), (100,)), ((Y,), ())]


# Snapshots that are off.


def outlier(by=7 * S, k=2, **options) -> Survey:
    d = jump(BOOT, X, by, k, kind="outlier")
    return Survey(6, {BOOT: {}, X: {k: by, k + 1: -by}}, d, **options)


@pytest.mark.parametrize(
    ("at", "events"),
    [
        (BASE + 2 * S + 5 * MS - 1, 0),
        (BASE + 2 * S + 5 * MS, 1),
        (BASE + 3 * S - 1, 1),
        (BASE + 3 * S, 0),
    ],
)
def test_events_up_to_the_next_snapshot_are_placed_by_one_that_is_off(at, events):
    assert reported(outlier(5 * MS, events={X: [at]})) == [
        (
            "snapshot-outlier",
            "error" if events else "warning",
            "200: 1 snapshot off by 5 ms, against the others",
            (X,),
            (102,),
            events,
            5 * MS,
        )
    ]


@pytest.mark.parametrize(("by", "severity"), [(MS, "info"), (MS + 1, "error")])
def test_an_outlier_within_the_tolerance_misplaces_nothing(by, severity):
    (found,) = reported(outlier(by, events={X: [BASE + 2 * S + S // 2]}))
    assert (found[1], found[5]) == (severity, int(severity == "error"))


def test_an_outlier_of_the_trace_clock_misplaces_what_is_placed_by_it():
    found = [jump(BOOT, clock, -5 * MS, 2, kind="outlier") for clock in (X, Y)]
    events = {BOOT: [BASE + 2 * S + S // 2] * 9, X: [BASE + 2 * S], Y: [BASE + 2 * S] * 2}
    survey = Survey(
        6, {BOOT: {2: 5 * MS, 3: -5 * MS}, X: {}, Y: {}, REAL: {}}, *found, events=events
    )
    assert reported(survey) == [
        (
            "snapshot-outlier",
            "error",
            "BOOTTIME: 1 snapshot off by 5 ms, against the others",
            (BOOT,),
            (102,),
            3,
            5 * MS,
        )
    ]


def test_an_outlier_by_which_a_clock_fell_loses_its_events():
    """Its reading was 7 s too high, and Perfetto stops converting from the clock."""
    events = {X: [BASE + 9 * S + S // 2]}
    assert reported(outlier(events=events, lost={X: 6})) == [
        (
            "snapshot-outlier",
            "error",
            "200: 1 snapshot off by 7 s, against the others",
            (X,),
            (102,),
            6,
            7 * S,
        )
    ]
    (found,) = jumps(outlier(lost={X: 6}))
    assert "Perfetto stops converting from it" in found.why


def test_outliers_and_falls_name_the_snapshots_that_are_off():
    found = [jump(BOOT, X, 5 * MS, k, kind="outlier") for k in (6, 2, 4)]
    survey = Survey(9, {BOOT: {}, X: {k: (-1) ** k * 5 * MS for k in range(2, 8)}}, *found[:2])
    (told_of,) = reported(survey)
    assert (told_of[0], told_of[2], told_of[4]) == (
        "clock-id-collision",
        "200 is written by two clocks, 5 ms apart",
        (102, 106),
    )
    sizes = [(0, 5 * MS), (0, 50 * MS)]
    found = [d._replace(size_ns=size) for d, size in zip(found, sizes, strict=False)]
    (told_of,) = reported(Survey(9, {BOOT: {}, X: {2: 5 * MS, 3: -5 * MS}}, *found))
    assert (told_of[0], told_of[4]) == ("snapshot-outlier", (102, 106))


# Two clocks of one number.


@pytest.mark.parametrize("used", [0, 3])
def test_two_clocks_of_one_number_touch_all_events(used):
    by = [5 * MS, -5 * MS, 5 * MS]
    found = [jump(BOOT, X, size, 2 * k, 2 * k + 1)._replace(a_from=k) for k, size in enumerate(by)]
    survey = Survey(
        6,
        {BOOT: {}, X: {1: by[0], 3: by[1], 5: by[2]}},
        *found,
        events={X: [BASE - S] * used} if used else {},
    )
    assert reported(survey) == [
        (
            "clock-id-collision",
            "warning",
            "200 is written by two clocks, 5 ms apart",
            (X,),
            (101, 103, 105),
            used,
            5 * MS,
        )
    ]


def test_findings_of_several_clocks_and_machines():
    """The suspend first, then the clocks in the order of their jumps."""
    found = [
        jump(BOOT, Y, 3 * S, 1, 2),
        jump(MONO, BOOT, 7 * S, 3, 4, kind="suspend"),
        jump(BOOT, X, -2 * S, 1, 2),
    ]
    clocks = {BOOT: {4: 7 * S}, MONO: {}, X: {2: -2 * S, 4: 7 * S}, Y: {2: 3 * S, 4: 7 * S}}
    events = {Y: [BASE + S], X: [BASE, BASE + S // 2], MONO: [BASE + 3 * S]}
    survey = Survey(6, clocks, *found, events=events)
    assert reported(survey) == [
        ("suspend", "warning", "the machine slept once, for 7 s", (MONO, BOOT), (104,), 1, 7 * S),
        ("clock-stepped", "warning", "201 was stepped once, by 3 s", (Y,), (102,), 1, 3 * S),
        (
            "clock-ran-backwards",
            "warning",
            "200 ran backwards once, by 2 s",
            (X,),
            (102,),
            2,
            2 * S,
        ),
    ]


@pytest.mark.parametrize(("size", "severity"), [(None, "info"), (1, "warning")])
def test_without_tolerance_an_outlier_of_a_nanosecond_is_a_warning(size, severity):
    d = jump(BOOT, X, size, 2, kind="outlier")
    (found,) = reported(Survey(6, {BOOT: {}, X: {2: 1, 3: -1}}, d, tolerance_ns=0))
    assert (found[0], found[1], found[6]) == ("snapshot-outlier", severity, size)


@pytest.mark.parametrize("other", [ClockId(150), Y])
def test_clocks_that_show_a_jump_in_snapshots_of_their_own(other):
    """X is read with BOOTTIME in every other snapshot, with the other clock in those between."""
    lacking = {BOOT: {1, 3, 5, 7}, other: {0, 2, 4, 6}}
    found = [jump(BOOT, X, 7 * S, 2, 4), jump(other, X, 7 * S, 1, 5)]
    events = {X: [BASE + 2 * S, BASE + 11 * S], other: [BASE + 3 * S]}
    survey = Survey(8, {BOOT: {}, other: {}, X: {3: 7 * S}}, *found, lacking=lacking, events=events)
    assert reported(survey) == [
        ("clock-stepped", "warning", "200 was stepped once, by 7 s", (X,), (104,), 2, 7 * S)
    ]


@pytest.mark.parametrize("tolerance_ns", [MS - 1, MS])
def test_how_bad_sleep_is_its_closest_evidence_says(tolerance_ns):
    """RAW shows more of it, over a longer time."""
    found = [
        jump(MONO, BOOT, MS, 2, 3, kind="suspend"),
        jump(RAW, BOOT, MS + 1, 1, 4, kind="suspend"),
    ]
    clocks = {BOOT: {3: MS, 4: 1}, MONO: {4: 1}, RAW: {}}
    survey = Survey(6, clocks, *found, events={RAW: [BASE + 2 * S]}, tolerance_ns=tolerance_ns)
    severity = "warning" if tolerance_ns < MS else "info"
    assert reported(survey) == [
        ("suspend", severity, "the machine slept once, for 1 ms", (MONO, RAW, BOOT), (103,), 1, MS)
    ]


def test_events_after_a_step_are_not_placed_by_an_outlier():
    found = [jump(BOOT, X, 5 * MS, 1, kind="outlier"), jump(BOOT, X, 7 * S, 3, 4)]
    events = {X: [BASE + 11 * S, BASE + 11 * S + 1]}
    survey = Survey(6, {BOOT: {}, X: {1: 5 * MS, 2: -5 * MS, 4: 7 * S}}, *found, events=events)
    assert reported(survey) == [
        (
            "snapshot-outlier",
            "warning",
            "200: 1 snapshot off by 5 ms, against the others",
            (X,),
            (101,),
            1,
            5 * MS,
        ),
        ("clock-stepped", "warning", "200 was stepped once, by 7 s", (X,), (104,), 1, 7 * S),
    ]


def test_two_clocks_of_one_number_that_are_far_apart_lose_events():
    by = [7 * S, -7 * S, 7 * S]
    found = [jump(BOOT, X, size, 2 * k, 2 * k + 1)._replace(a_from=k) for k, size in enumerate(by)]
    clocks = {BOOT: {}, X: {1: by[0], 3: by[1], 5: by[2]}}
    survey = Survey(6, clocks, *found, events={X: [BASE] * 4}, lost={X: 3})
    assert reported(survey) == [
        (
            "clock-id-collision",
            "error",
            "200 is written by two clocks, 7 s apart",
            (X,),
            (101, 103, 105),
            4,
            7 * S,
        )
    ]


def test_where_a_counter_fell_is_all_that_is_reported():
    """Beside a clock of another rate it seems to jump elsewhere, too."""
    found = [jump(BOOT, X, 9 * S, 0, 1), jump(BOOT, X, -7 * S, 2, 3, kind="reset")]
    survey = Survey(6, {BOOT: {}, X: {3: -53 * S}}, *found)
    assert reported(survey) == [
        ("clock-reset", "info", "200 was reset once", (X,), (103,), 0, 53 * S)
    ]


def test_a_clock_that_fell_where_nothing_shows_it():
    survey = Survey(6, {BOOT: {}, X: {}})
    survey.infos[X] = survey.infos[X]._replace(monotonic=False)
    assert reported(survey) == [
        ("clock-ran-backwards", "info", "200 ran backwards once", (X,), (), 0, None)
    ]
