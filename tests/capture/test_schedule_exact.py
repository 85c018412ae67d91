"""The interval to the next snapshot, and what floor is off by, to the ns."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tracetime import ClockDomain, ClockId, Snapshot, UsageError
from tracetime.capture.schedule import Schedule
from tracetime.capture.snapshots import FloorError

S = 10**9
RAW, BOOTTIME = ClockId(5), ClockId(6)
OWN = ClockId.parse("a.b")
# D of two clocks of 100 ppm each, rounded up to whole 2^-52.
D = -(-2 * 2**52 // 9_999) / 2**52


def domains(wander_ppm=None, **more):
    return {
        RAW: ClockDomain(RAW),
        OWN: ClockDomain("a.b", max_drift_ppm=100, wander_ppm=wander_ppm, **more),
    }


def schedule(target_ns=1_000, interval_ns=S, wander_ppm=None, **limits):
    limits = {"shortest_ns": 1, "longest_ns": 10**15} | limits
    return Schedule(
        domains(wander_ppm), interval_ns=interval_ns, target_error_ns=target_ns, **limits
    )


def seen(at_ns, ahead_ns, half_ns=40, centre_ns=None):
    """RAW at `at_ns`, and the other as far ahead of it, its reading some ns later."""
    late_ns = centre_ns or 0
    return Snapshot(
        {RAW: at_ns, OWN: at_ns + late_ns + ahead_ns},
        reference=RAW,
        half_width_ns={OWN: half_ns},
        centre_ns=None if centre_ns is None else {OWN: centre_ns},
    )


def intervals(made, *snapshots):
    found = []
    for snapshot in snapshots:
        made.observe(snapshot)
        found.append(made.interval_ns)
    return found


def ns(left_ns, wander):
    """h + w T / 2 = target."""
    return int(2 * left_ns / wander)


@pytest.mark.parametrize("centre_ns", [None, 0, 700])
def test_what_stands_for_the_wander_from_snapshot_to_snapshot(centre_ns):
    """At first the drift; then how well the rate is known; then what it really strayed."""
    assert intervals(
        schedule(),
        seen(10 * S, 5, centre_ns=centre_ns),
        # 40 + 40 ns in 0.01 s are 8 ppm.
        seen(10 * S + 10_000_000, 5, centre_ns=centre_ns),
        # 60 ppm within 8 + 8: 44 ppm are a change.
        seen(10 * S + 20_000_000, 605, centre_ns=centre_ns),
        # None: nine tenths are left of it, and again.
        seen(10 * S + 30_000_000, 1_205, centre_ns=centre_ns),
        seen(10 * S + 40_000_000, 1_805, centre_ns=centre_ns),
    ) == [
        ns(960, D),
        min(2 * ns(960, D), ns(960, 8e-6)),
        pytest.approx(ns(960, 44e-6) if ns(960, 44e-6) < 4 * ns(960, D) else 4 * ns(960, D), abs=1),
        pytest.approx(min(8 * ns(960, D), ns(960, 0.9 * 44e-6)), abs=1),
        pytest.approx(min(16 * ns(960, D), ns(960, 0.81 * 44e-6)), abs=1),
    ]


def test_a_wander_that_was_measured_calms_down_by_a_tenth_a_snapshot():
    rates = [0, 0, 0, 200, 200, 200, 200]  # ppm
    ahead, snapshots = 0, []
    for k, rate in enumerate(rates):
        ahead += rate * 10_000
        snapshots.append(seen(10 * S + k * 10**10, ahead, half_ns=0))
    found = intervals(schedule(target_ns=10**6, interval_ns=10**12), *snapshots)
    # Undeclared, the two are taken to wander by 0.5 ppm each; 200 ppm were really seen.
    assert found[0] == ns(10**6, D)
    assert found[1] == 2 * found[0]
    assert found[2] == 4 * found[0]
    for n, kept in zip((3, 4, 5, 6), (1, 0.9, 0.81, 0.729), strict=True):
        assert found[n] == pytest.approx(ns(10**6, kept * 200e-6), rel=1e-9)


@pytest.mark.parametrize(("wander_ppm", "total"), [(2.0, 2.5e-6), (None, 1e-6)])
def test_what_is_declared_holds_where_less_is_measured(wander_ppm, total):
    calm = [seen(10 * S + k * 10**10, 0, half_ns=0) for k in range(9)]
    found = intervals(schedule(10**6, 10**13, wander_ppm), *calm)
    assert found[0] == ns(10**6, D)
    many = [seen(10 * S + k * 10**10, 0, half_ns=0) for k in range(9, 30)]
    assert intervals(schedule(10**6, 10**13, wander_ppm), *calm, *many)[-1] == pytest.approx(
        ns(10**6, total), rel=1e-9
    )


@pytest.mark.parametrize(("moved_ns", "is_step"), [(2_081, False), (2_082, True), (-2_082, True)])
def test_more_than_drift_and_half_widths_is_a_step(moved_ns, is_step):
    """In 10 ms: 2,001 ns, and 40 of each snapshot."""
    made = schedule(target_ns=10**6, interval_ns=10**12)
    before = intervals(made, seen(10 * S, 0), seen(10 * S + 10_000_000, moved_ns))
    # After a step nothing is known but the drift, the next time either.
    after = intervals(made, seen(10 * S + 20_000_000, moved_ns))
    drift = ns(10**6 - 40, D)
    if is_step:
        assert (before, after[0]) == ([drift, drift], 2 * drift)
    else:
        assert before == [drift, 2 * drift]
        # From 208 ppm to none: of it 16 ppm may be the half-widths.
        assert after[0] == pytest.approx(ns(10**6 - 40, (208.1 - 16) * 1e-6), rel=1e-6)


@pytest.mark.parametrize("later_ns", [0, -5])
def test_a_reference_that_does_not_go_on_says_nothing(later_ns):
    made = schedule(target_ns=10**6, interval_ns=10**12)
    drift = ns(10**6 - 40, D)
    assert intervals(made, seen(10 * S, 0), seen(10 * S + later_ns, 7)) == [drift, drift]


@pytest.mark.parametrize(("half_ns", "reached"), [(999, True), (1_000, False), (1_001, False)])
def test_a_half_width_of_the_target_is_out_of_reach(half_ns, reached):
    made = schedule(target_ns=1_000)
    assert made.out_of_reach == set()
    found = intervals(made, seen(10 * S, 0, half_ns=half_ns))
    assert made.out_of_reach == (set() if reached else {OWN})
    # What does not help nobody waits for: twice as long as before.
    assert found == [ns(1, D) if reached else 2 * S]
    # Once within it stays so.
    intervals(made, seen(11 * S, 0, half_ns=10), seen(12 * S, 0, half_ns=5_000))
    assert made.out_of_reach == set()


def test_the_interval_grows_by_twice_at_most_and_shrinks_at_once():
    made = schedule(target_ns=10**9, interval_ns=S, longest_ns=5 * S)
    assert intervals(made, *(seen((10 + k) * S, 0) for k in range(4))) == [
        2 * S,
        4 * S,
        5 * S,
        5 * S,
    ]
    assert intervals(made, seen(15 * S, 0, half_ns=10**9 - 200)) == [400 * 10**6]
    made = schedule(target_ns=10**9, interval_ns=S, shortest_ns=3 * S, longest_ns=5 * S)
    assert made.interval_ns == 3 * S
    made = schedule(target_ns=10**9, interval_ns=9 * S, shortest_ns=3 * S, longest_ns=5 * S)
    assert made.interval_ns == 5 * S


def test_clocks_that_cannot_differ_leave_the_longest():
    one = {RAW: ClockDomain(RAW, max_drift_ppm=0), OWN: ClockDomain("a.b", max_drift_ppm=0)}
    made = Schedule(one, interval_ns=60 * S, target_error_ns=100, longest_ns=100 * S)
    assert intervals(made, seen(10 * S, 0)) == [100 * S]


def test_without_limits_they_are_10_ms_and_a_minute():
    made = Schedule(domains(), interval_ns=1_000_000, target_error_ns=100)
    assert made.interval_ns == 10_000_000
    made = Schedule(domains(), interval_ns=3_600 * S, target_error_ns=100)
    assert made.interval_ns == 60 * S
    # They are of an interval that adapts.
    assert Schedule(domains(), interval_ns=1_000_000).interval_ns == 1_000_000
    assert Schedule(domains(), interval_ns=3_600 * S).interval_ns == 3_600 * S


@pytest.mark.parametrize(
    "limits",
    [
        {"interval_ns": 999_999},
        {"interval_ns": S, "shortest_ns": 0},
        {"interval_ns": S, "shortest_ns": -1},
        {"interval_ns": S, "shortest_ns": 6, "longest_ns": 5},
        {"interval_ns": S, "target_error_ns": 0},
    ],
)
def test_numbers_out_of_range_are_refused(limits):
    with pytest.raises(UsageError):
        Schedule({}, **limits)


def test_numbers_at_their_limits_are_taken():
    Schedule({}, interval_ns=1_000_000, shortest_ns=1, longest_ns=1, target_error_ns=1)


@pytest.mark.parametrize(
    ("bits", "rate", "longest_ns"),
    # A quarter of a wrap.
    [(32, Fraction(1), 1 << 30), (24, Fraction(625, 12), 218_453_333), (1, Fraction(1, 9), 1)],
)
def test_counters_are_read_four_times_a_wrap(bits, rate, longest_ns):
    counting = domains(ns_per_tick=rate, valid_bits=bits)
    assert Schedule(counting, interval_ns=3_600 * S).interval_ns == longest_ns
    made = Schedule(counting, interval_ns=3_600 * S, target_error_ns=10**12)
    assert made.interval_ns == longest_ns
    assert intervals(made, seen(10 * S, 0)) == [longest_ns]


@pytest.mark.parametrize(("bits", "rate"), [(64, Fraction(1, 10**12)), (32, None)])
def test_what_does_not_wrap_within_a_life_is_left_alone(bits, rate):
    counting = domains(ns_per_tick=rate, valid_bits=bits)
    assert Schedule(counting, interval_ns=3_600 * S).interval_ns == 3_600 * S


def test_snapshots_that_say_nothing_of_a_clock_change_nothing():
    made = schedule()
    made.observe(Snapshot({RAW: 10 * S, OWN: 5}))
    assert made.interval_ns == S
    # Read, but with no half-width.
    made.observe(Snapshot({RAW: 10 * S, OWN: 5}, reference=RAW))
    assert (made.interval_ns, made.out_of_reach) == (2 * S, set())


# What floor is off by


def floors(*rows, drift_ppm=100):
    """Rows: what RAW, BOOTTIME (trace time) and another clock show, their centres and half-widths."""
    known = {
        RAW: ClockDomain(RAW),
        BOOTTIME: ClockDomain(BOOTTIME, max_drift_ppm=100),
        OWN: ClockDomain("a.b", max_drift_ppm=drift_ppm),
    }
    made = FloorError(known)
    for raw_ns, boot, own in rows:
        made.observe(
            Snapshot(
                {RAW: raw_ns, BOOTTIME: boot[0], OWN: own[0]},
                reference=RAW,
                centre_ns={BOOTTIME: boot[1], OWN: own[1]},
                half_width_ns={BOOTTIME: boot[2], OWN: own[2]},
            ),
            BOOTTIME,
        )
    return made.errors_ns


def test_floor_is_off_by_what_the_offset_changed_and_the_later_half_widths():
    # 30 + 90 ns ahead of trace time, then 290: by 200, and 3 + 20 of the later ones.
    found = floors(
        (1_000, (2_010, 10, 2), (2_130, 40, 4)),
        (1_001_000, (1_002_005, 5, 3), (1_002_360, 70, 20)),
    )
    assert found == {OWN: 200 + 3 + 20, RAW: 3}
    assert floors((1_000, (2_010, 10, 2), (2_130, 40, 4))) == {}


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_so_far_is_kept_and_a_step_is_none(sign):
    """In 1 ms two clocks of 100 ppm drift by 201 ns; the half-widths are 4 and 6."""
    at = [(0, 100), (1, 300), (2, 290), (3, 290 + 212), (4, 290 + 212 + 211)]

    def rows(n):
        return [
            (
                k * 1_000_000,
                (k * 1_000_000 + 5_000, 0, 1),
                (k * 1_000_000 + 5_000 + sign * by, 0, 5),
            )
            for k, by in at[:n]
        ]

    assert floors(*rows(2))[OWN] == 206
    assert floors(*rows(3))[OWN] == 206
    # 212 is within 201 + 12; then 214 is not.
    assert floors(*rows(4))[OWN] == 212 + 6
    at[4] = (4, 290 + 212 + 214)
    assert floors(*rows(5))[OWN] == 212 + 6
    at[4] = (4, 290 + 212 + 213)
    assert floors(*rows(5))[OWN] == 213 + 6


def test_a_snapshot_without_reference_or_trace_time_says_nothing_of_floor():
    made = FloorError({})
    for k in range(3):
        made.observe(Snapshot({BOOTTIME: k * S, OWN: k * S + k * 100}), BOOTTIME)
        made.observe(Snapshot({RAW: k * S, OWN: k * S + k * 100}, reference=RAW), BOOTTIME)
    assert made.errors_ns == {}
    # Of clocks that nobody declares the usual drift of their kind is taken: 500 ppm.
    for k in range(3):
        made.observe(
            Snapshot({RAW: k * S, BOOTTIME: k * S, OWN: k * S + k * 900_000}, reference=RAW),
            BOOTTIME,
        )
    assert made.errors_ns == {RAW: 0, OWN: 900_000}


def test_where_the_reference_goes_back_nothing_may_have_drifted():
    assert floors((5_000_000, (5, 0, 1), (9, 0, 5)), (1_000, (5, 0, 1), (21, 0, 5)))[OWN] == 18
    assert OWN not in floors((5_000_000, (5, 0, 1), (9, 0, 5)), (1_000, (5, 0, 1), (22, 0, 5)))
