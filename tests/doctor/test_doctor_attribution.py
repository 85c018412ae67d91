"""Which of two clocks jumped: which other clocks decide, and by how much they may differ."""

from __future__ import annotations

from typing import Any

import pytest
from surveyed import BOOT, COARSE, MONO, RAW, REAL, S, Survey, X, Y, Z, jump

from tracetime.clocks.ids import ClockId
from tracetime.doctor.attribution import attributed_jumps
from tracetime.graph.tube.results import PairDiscontinuity

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def attributed(survey: Survey) -> list[Any]:
    return [(d.src, d.dst, d.kind, d.size_ns) for d in attributed_jumps(survey)]


def alone(d: PairDiscontinuity) -> tuple[Any, ...]:
    return d.src, d.dst, d.kind, d.size_ns


def as_reversed(d: PairDiscontinuity, kind: str = "step") -> tuple[Any, ...]:
    low, high = d.size_ns
    return d.dst, d.src, kind, (-high, -low)


BY = 4_000_000


@pytest.mark.parametrize("size", [BY, -BY])
@pytest.mark.parametrize(
    ("others", "is_reversed"),
    [
        ([], False),
        ([0], False),
        ([BY], True),
        ([0, BY], False),
        ([BY, BY, 0], True),
        ([0, 0, BY], False),
        # Alike to a quarter of it; what lies between goes with neither.
        ([BY * 3 // 4], True),
        ([BY * 3 // 4 - 1], False),
        ([BY * 5 // 4], True),
        ([BY * 5 // 4 + 1], False),
        ([BY, BY // 4], False),
        ([BY, BY // 4 + 1], True),
        ([BY, -BY // 4], False),
        ([BY, -BY // 4 - 1], True),
        ([BY // 2], False),
        ([-BY], False),
    ],
)
@pytest.mark.parametrize("kind", ["step", "reset", "possible_step"])
def test_most_of_the_other_clocks_decide(size, others, is_reversed, kind):
    """One that went with dst says that src jumped, the other way."""
    sign = 1 if size > 0 else -1
    jumps = {REAL: {}, X: {4: size}}
    jumps |= {ClockId(300 + k): {4: sign * by} for k, by in enumerate(others)}
    d = jump(REAL, X, size, kind=kind)
    assert attributed(Survey(8, jumps, d)) == [as_reversed(d) if is_reversed else alone(d)]


@pytest.mark.parametrize(("size", "kind"), [(None, "step"), (0, "step"), ((-BY, BY), "step")])
def test_a_jump_of_which_nothing_is_known_is_turned_by_nobody(size, kind):
    d = jump(REAL, X, size, kind=kind)
    assert attributed(Survey(8, {REAL: {}, X: {4: BY}, Y: {4: BY}, Z: {}}, d)) == [alone(d)]


def test_changes_of_rate_are_nobodys_jump():
    rate = jump(REAL, X, BY, kind="rate_change")
    assert attributed(Survey(8, {REAL: {}, X: {4: BY}, Y: {4: BY}}, rate)) == []


@pytest.mark.parametrize(("y", "is_reversed"), [(BY, True), (0, False), (BY // 2, False)])
def test_an_outlier_stays_one_when_it_is_turned(y, is_reversed):
    d = jump(REAL, X, BY, 4, kind="outlier")
    once = {X: {4: BY, 5: -BY}, Y: {4: y, 5: -y}}
    reported = attributed(Survey(8, {REAL: {}, **once}, d))
    assert reported == [as_reversed(d, "outlier") if is_reversed else alone(d)]


@pytest.mark.parametrize(("with_dst", "is_reversed"), [(8, True), (7, False)])
def test_fifteen_clocks_are_compared_the_steadiest_first(with_dst, is_reversed):
    """The first of them went with dst; what the sixteenth says is not heard."""
    others = {ClockId(300 + k): {4: BY} if k < with_dst else {} for k in range(16)}
    d = jump(REAL, X, BY)
    assert attributed(Survey(8, {REAL: {}, X: {4: BY}, **others}, d)) == [
        as_reversed(d) if is_reversed else alone(d)
    ]


def test_clocks_are_compared_that_are_read_with_both_in_those_snapshots():
    d = jump(REAL, X, BY)
    jumps = {REAL: {}, X: {4: BY}, Y: {4: BY}}
    assert attributed(Survey(8, jumps, d)) == [as_reversed(d)]
    assert attributed(Survey(8, jumps, d, lacking={Y: {3}})) == [alone(d)]
    # Never in a snapshot with both.
    apart = {Y: set(range(0, 8, 2)), REAL: set(range(1, 8, 2))}
    assert attributed(Survey(8, jumps, d, lacking=apart)) == [alone(d)]
    apart = {Y: set(range(0, 8, 2)), X: set(range(1, 8, 2))}
    assert attributed(Survey(8, jumps, d, lacking=apart)) == [alone(d)]


def test_many_jumps_of_one_pair_are_laid_one_by_one():
    jumps = {REAL: {}, X: {2: BY, 4: BY, 6: BY}, Y: {2: BY, 6: BY}}
    found = [jump(REAL, X, BY, k, k + 1) for k in (1, 3, 5)]
    assert attributed(Survey(9, jumps, *found)) == [
        as_reversed(found[0]),
        alone(found[1]),
        as_reversed(found[2]),
    ]


# Suspends: BOOTTIME goes on by more than MONOTONIC.


@pytest.mark.parametrize("trace_clock", [BOOT, MONO, REAL])
@pytest.mark.parametrize(
    ("others", "kind"),
    [
        ({}, "suspend"),
        ({RAW: {}}, "suspend"),
        # MONOTONIC_RAW went with BOOTTIME: MONOTONIC lost time.
        ({RAW: {4: BY}}, "src"),
        ({RAW: {4: BY}, X: {4: BY}, Y: {}}, "src"),
        ({RAW: {4: BY}, X: {}, Y: {}}, "suspend"),
        # A device that did not stop says nothing.
        ({X: {4: BY}}, "suspend"),
        ({X: {4: BY}, Y: {4: BY}}, "suspend"),
        # REALTIME went with MONOTONIC: BOOTTIME jumped.
        ({REAL: {}}, "dst"),
        ({COARSE: {}}, "dst"),
        ({REAL: {}, X: {4: BY}}, "suspend"),
        ({REAL: {4: BY}, X: {}}, "suspend"),
        ({REAL: {4: BY}}, "suspend"),
        ({X: {}}, "suspend"),
        ({ClockId(5, machine=1): {4: BY}}, "suspend"),
        ({ClockId(1, machine=1): {}}, "suspend"),
    ],
)
def test_what_rises_in_sleep_is_a_suspend_unless_others_contradict_it(others, kind, trace_clock):
    d = jump(MONO, BOOT, BY, kind="suspend")
    (reported,) = attributed(
        Survey(8, {MONO: {}, BOOT: {4: BY}, **others}, d, trace_clock=trace_clock)
    )
    as_suspend = as_reversed(d, "suspend") if trace_clock == MONO else alone(d)
    assert (
        reported
        == {
            "suspend": as_suspend,
            "src": as_reversed(d),
            "dst": (MONO, BOOT, "step", (BY, BY)),
        }[kind]
    )


@pytest.mark.parametrize("trace_clock", [BOOT, X, Y])
@pytest.mark.parametrize(
    ("by", "distinct_suspends"),
    [
        (BY, True),
        (BY * 97 // 100, True),
        (BY * 97 // 100 - 1, False),
        (BY * 103 // 100, True),
        (BY * 103 // 100 + 2, False),
        (-BY, True),
        (BY // 2, False),
    ],
)
def test_others_jump_so_by_as_much_as_boottime_did(by, distinct_suspends, trace_clock):
    """X stands still as MONOTONIC does, Y advances as BOOTTIME does, to three percent."""
    sign = 1 if by > 0 else -1
    d = jump(X, Y, sign * BY)
    src, dst = (X, Y) if sign > 0 else (Y, X)
    d = jump(src, dst, sign * BY)
    jumps = {BOOT: {4: abs(by)}, MONO: {}, X: {}, Y: {4: BY}}
    (reported,) = attributed(Survey(8, jumps, d, trace_clock=trace_clock))
    if not distinct_suspends:
        assert reported[2] == "step"
    elif src == trace_clock:
        assert reported == as_reversed(d, "suspend")
    else:
        assert reported == (src, dst, "suspend", d.size_ns)


@pytest.mark.parametrize(
    ("size", "distinct_suspends"),
    [
        ((BY, BY), True),
        ((0, 2 * BY), True),
        ((BY // 2, BY), True),
        ((BY // 2, BY - 4), False),
        (None, False),
    ],
)
def test_how_far_a_jump_is_known_counts(size, distinct_suspends):
    """The middle of its bounds is compared, and may differ by as much as they are apart from it."""
    jumps = {BOOT: {4: BY}, MONO: {}, X: {}, Y: {4: BY}}
    (reported,) = attributed(Survey(8, jumps, jump(X, Y, size)))
    assert (reported[2] == "suspend") == distinct_suspends


def test_sleep_is_of_one_machine():
    there = ClockId(200, machine=1)
    jumps = {BOOT: {4: BY}, MONO: {}, there: {}, Y: {4: BY}}
    (reported,) = attributed(Survey(8, jumps, jump(there, Y, BY)))
    assert reported[2] == "step"


def test_what_others_contradict_is_no_sleep_though_boottime_rose():
    """MONOTONIC_RAW went on as BOOTTIME did, and MONOTONIC lost as much as X did."""
    jumps = {BOOT: {4: BY}, MONO: {}, RAW: {4: BY}, X: {}, Y: {4: BY}, REAL: {4: BY}}
    (reported,) = attributed(Survey(8, jumps, jump(Y, X, -BY)))
    assert reported == (Y, X, "step", (-BY, -BY))


def test_an_outlier_is_no_sleep():
    jumps = {BOOT: {4: BY}, MONO: {}, X: {}, Y: {4: BY}}
    d = jump(X, Y, BY, 4, kind="outlier")
    (reported,) = attributed(Survey(8, jumps, d))
    assert reported[2] == "outlier"


@pytest.mark.parametrize(
    ("clocks", "d", "kind"),
    [
        # Beside BOOTTIME, without those that stop: another one stood still by as much.
        ({BOOT: {4: BY}, X: {}, Y: {}}, jump(BOOT, X, -BY), "suspend"),
        ({BOOT: {4: BY}, X: {}, Y: {}}, jump(X, BOOT, BY), "suspend"),
        ({BOOT: {4: BY}, X: {}, Y: {4: BY}}, jump(BOOT, X, -BY), "suspend"),
        ({BOOT: {4: 1}, X: {}, Y: {}}, jump(X, BOOT, 1), "suspend"),
        # One that fell behind BOOTTIME is not known to have slept, if it lost of its own time.
        ({BOOT: {}, X: {4: -BY}}, jump(BOOT, X, -BY), "step"),
        # Nor is a rise of another clock a sleep of BOOTTIME.
        ({BOOT: {}, X: {4: BY}, Y: {4: BY}}, jump(BOOT, X, BY), "src"),
        ({BOOT: {4: -BY}, X: {}, Y: {}}, jump(BOOT, X, BY), "src"),
        # Beside MONOTONIC, without BOOTTIME: others that are not set rose with the other.
        ({MONO: {}, X: {4: BY}}, jump(MONO, X, BY), "step"),
        ({MONO: {}, X: {4: BY}, Y: {4: BY}}, jump(MONO, X, BY), "suspend"),
        ({MONO: {}, X: {4: BY}, Y: {4: BY}}, jump(X, MONO, -BY), "suspend"),
        ({MONO: {}, X: {4: BY}, REAL: {4: BY}}, jump(MONO, X, BY), "suspend"),
        ({MONO: {}, REAL: {4: BY}, COARSE: {4: BY}}, jump(MONO, REAL, BY), "src"),
        ({MONO: {}, REAL: {4: BY}, X: {4: BY}}, jump(MONO, REAL, BY), "suspend"),
        ({RAW: {}, REAL: {4: BY}, X: {4: BY}}, jump(REAL, RAW, -BY), "suspend"),
        ({MONO: {}, X: {4: -BY}, Y: {4: -BY}}, jump(MONO, X, -BY), "src"),
    ],
)
def test_sleep_that_few_clocks_show(clocks, d, kind):
    (reported,) = attributed(Survey(12, clocks, d, trace_clock=Z))
    assert reported == (as_reversed(d) if kind == "src" else (d.src, d.dst, kind, d.size_ns))


EVERY = range(1, 8)


@pytest.mark.parametrize("steady_first", [True, False])
@pytest.mark.parametrize(
    ("boot", "x", "kind"),
    [
        # A pause of both at the jump: by less than half of it to be a time as any other.
        ({4: BY + BY // 2 - 1}, {4: BY // 2 - 1}, "suspend"),
        ({4: BY + BY // 2}, {4: BY // 2}, "step"),
        ({4: BY - BY // 4 + 1}, {4: -BY // 4 + 1}, "suspend"),
        ({4: BY - BY // 4}, {4: -BY // 4}, "step"),
        # It has to rise.
        ({4: 9 * S}, {4: -S}, "step"),
        ({4: 9 * S}, {4: -S + 1}, "suspend"),
        ({4: 9 * S}, {4: -S - 1}, "step"),
        # To a hundredth it has to count ns.
        ({4: 50 * BY}, dict.fromkeys(EVERY, S // 100), "suspend"),
        ({4: 50 * BY}, dict.fromkeys(EVERY, S // 100 + 1), "step"),
        ({4: 50 * BY}, dict.fromkeys(EVERY, -S // 100), "suspend"),
        ({4: 50 * BY}, dict.fromkeys(EVERY, -S // 100 - 1), "step"),
        # Where it mostly stands, no time is usual.
        ({4: BY}, dict.fromkeys(EVERY, -S) | {4: -S + 1, 6: 0}, "step"),
        ({4: BY}, dict.fromkeys(EVERY, -S + 1) | {6: 0}, "suspend"),
        ({4: BY}, dict.fromkeys(EVERY, -S - 1) | {4: -S + 1, 6: 0}, "step"),
    ],
)
def test_sleep_is_a_time_as_any_other_to_what_stood_still(boot, x, kind, steady_first):
    by = boot[4] - x.get(4, 0)
    d = jump(BOOT, X, -by) if steady_first else jump(X, BOOT, by)
    assert attributed(Survey(8, {BOOT: boot, X: x}, d, trace_clock=Z)) == [
        (d.src, d.dst, kind, d.size_ns)
    ]


@pytest.mark.parametrize(("n", "kind"), [(2, "step"), (3, "suspend"), (4, "suspend")])
def test_of_two_snapshots_none_is_as_usual(n, kind):
    d = jump(BOOT, X, -BY, 0, 1)
    assert attributed(Survey(n, {BOOT: {1: BY}, X: {}}, d, trace_clock=Z))[0][2] == kind


def test_of_many_jumps_each_is_a_sleep_or_none():
    jumps = {BOOT: {2: BY, 6: BY}, X: {4: -BY}}
    found = [jump(BOOT, X, -BY, k, k + 1) for k in (1, 3, 5)]
    reported = attributed(Survey(9, jumps, *found, trace_clock=Z))
    assert [one[2] for one in reported] == ["suspend", "step", "suspend"]


@pytest.mark.parametrize("machines", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("size", [None, BY])
def test_what_did_not_rise_with_boottime_of_its_machine_is_no_sleep(machines, size):
    src, dst = (ClockId(200 + k, machine=machine) for k, machine in enumerate(machines))
    jumps = {BOOT: {4: BY} if size else {}, MONO: {}, src: {}, dst: {4: BY} if size else {}}
    assert attributed(Survey(8, jumps, jump(src, dst, size)))[0][2] == "step"


def test_a_suspend_of_which_no_size_is_known():
    d = jump(MONO, BOOT, None, kind="suspend")
    jumps = {MONO: {}, BOOT: {4: BY}}
    assert attributed(Survey(8, jumps, d)) == [alone(d)]
    assert attributed(Survey(8, jumps, d, trace_clock=MONO)) == [(BOOT, MONO, "suspend", None)]


@pytest.mark.parametrize(("on", "is_reversed"), [((3, 4), False), ((4, 5), True), (None, True)])
def test_the_clock_that_slept_there_did_not_step_as_well(on, is_reversed):
    """MONOTONIC slept in the same two snapshots: others that jumped by more do not turn it."""
    at = on[1] if on else 4
    jumps = {MONO: {}, BOOT: {at: BY}, **{key: {4: 2 * BY} for key in (X, Y, Z)}}
    slept = [jump(MONO, BOOT, BY, *on, kind="suspend")] if on else []
    d = jump(MONO, Z, 2 * BY)
    assert attributed(Survey(8, jumps, *slept, d))[-1] == (
        as_reversed(d) if is_reversed else alone(d)
    )


@pytest.mark.parametrize(
    ("on", "size", "kind"),
    [
        ((3, 4), BY, "suspend"),
        ((2, 5), BY, "suspend"),
        ((5, 2), BY, "suspend"),
        ((3, 7), 3 * BY, "suspend"),
        ((2, 8), 3 * BY, "suspend"),
        ((4, 8), 2 * BY, "suspend"),
        ((6, 7), 2 * BY, "suspend"),
        ((3, 6), BY, "suspend"),
        ((3, 6), -BY, "suspend"),
        ((3, 6), 3 * BY, "step"),
        ((4, 6), BY, "step"),
        ((2, 3), BY, "step"),
        ((7, 8), 2 * BY, "step"),
        ((4, 6), (-BY, BY), "step"),
        ((3, 6), (0, BY), "suspend"),
        ((3, 6), (0, BY - 2), "step"),
        ((3, 6), 1_000_000 * BY, "step"),
    ],
)
def test_what_slept_with_its_machine(on, size, kind):
    """Clocks never read with those that showed the suspend, BY and then 2 BY."""
    slept = [
        jump(MONO, BOOT, BY, 3, 4, kind="suspend"),
        jump(MONO, BOOT, 2 * BY, 6, 7, kind="suspend"),
    ]
    d = jump(X, Y, size, *on)
    nowhere = {key: set(range(9)) for key in (MONO, BOOT)}
    for found in ([*slept, d], [d, *slept]):
        reported = attributed(
            Survey(9, {MONO: {}, BOOT: {}, X: {}, Y: {}}, *found, lacking=nowhere)
        )
        assert (d.src, d.dst, kind, d.size_ns) in reported
    src, dst = ClockId(200, machine=1), ClockId(201, machine=1)
    there = d._replace(src=src, dst=dst)
    jumps = {MONO: {}, BOOT: {}, src: {}, dst: {}}
    assert attributed(Survey(9, jumps, *slept, there, lacking=nowhere))[-1][2] == "step"


def test_a_jump_of_unknown_size_is_no_sleep_where_boottime_did_not_rise():
    d = jump(X, Y, None)
    assert attributed(Survey(8, {BOOT: {}, MONO: {}, X: {}, Y: {}}, d)) == [alone(d)]


def test_the_machines_of_many_are_distinguished_by_their_numbers():
    x, y, boot, mono = (ClockId(k, machine=int("1000")) for k in (200, 201, 6, 3))
    slept = jump(mono, boot, BY, 3, 4, kind="suspend")
    survey = Survey(9, {mono: {}, boot: {}, x: {}, y: {}}, slept, jump(x, y, BY, 3, 4))
    assert [one[2] for one in attributed(survey)] == ["suspend", "suspend"]
    jumps = {boot: {4: BY}, mono: {}, x: {}, y: {4: BY}}
    assert attributed(Survey(9, jumps, jump(x, y, BY)))[0][2] == "suspend"


def test_what_is_turned_has_its_bounds_turned():
    d = jump(REAL, X, (BY - 20, BY + 2))
    reported = attributed(Survey(8, {REAL: {}, X: {4: BY}, Y: {4: BY}}, d))
    assert reported == [(X, REAL, "step", (-BY - 2, -BY + 20))]


def test_a_jump_that_may_go_either_way_is_no_rise():
    d = jump(X, BOOT, (-BY, BY))
    assert attributed(Survey(8, {BOOT: {4: BY}, X: {}}, d, trace_clock=Z)) == [alone(d)]
