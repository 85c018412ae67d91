"""Where exactly a promise of calibrated timestamps is broken: each limit from both of its sides."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from types import SimpleNamespace

import pytest
from promised import check_promises

from tracetime import ClockDomain, ClockId, Snapshot
from tracetime.capture import deviation_bounds, promise_checks
from tracetime.capture.promise_checks import PROMISES
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.names import named
from tracetime.sources.source import ClockSource

MS = 1_000_000
NAME = "dev.tracetime.vulkan.scripted"
RAW, MONO = ClockId(5), ClockId(3)
BEGINNING = "scripted device: "


class Scripted(CalibratedDevice):
    """A device with a list of answers; the last one is repeated."""

    def __init__(self, *answers, stamps=((0,),), hosts=(RAW,), bits=64, tick=Fraction(1), step=1):
        self.name, self.clock, self.label = NAME, named(NAME), "scripted device"
        self.ns_per_tick, self.valid_bits = tick, bits
        self.has_device_domain, self.host_clocks, self.unknown_domains = True, hosts, ()
        self.answers, self.stamps = deque(answers), deque(stamps)
        self.requests, self.stamped = [], []
        self.step = step

    def step_ticks(self):
        return self.step

    def calibrate(self, clocks):
        self.requests.append(tuple(clocks))
        values, deviation_ns = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
        return list(values), deviation_ns

    def stamp(self, count=1):
        self.stamped.append(count)
        return list(self.stamps.popleft() if len(self.stamps) > 1 else self.stamps[0])


class Hosts(ClockSource):
    """The host's clocks, with a list of readings."""

    def __init__(self, *reads, tick_ns=1.0, drift_ppm=100):
        self.reads, self.tick_ns, self.drift_ppm = deque(reads), tick_ns, drift_ppm
        self.requests = []

    @property
    def clocks(self):
        return {"MONOTONIC_RAW": RAW, "MONOTONIC": MONO}

    def domain(self, clock):
        return ClockDomain(clock, tick_ns=self.tick_ns, max_drift_ppm=self.drift_ppm)

    def read(self, clock):
        self.requests.append(clock)
        return self.reads.popleft() if len(self.reads) > 1 else self.reads[0]


def summary(findings):
    return [(one.code, one.severity, one.message.removeprefix(BEGINNING)) for one in findings]


@pytest.mark.parametrize(
    ("deviation_ns", "expected"),
    [
        (0, [("deviation_zero", "warning", "it claims no deviation at all between two clocks")]),
        (1, []),
        (50 * MS, []),
        (
            50 * MS + 1,
            [("deviation_long", "warning", "its deviation of 50000001 ns is over 50 ms")],
        ),
        (100 * MS, [("deviation_long", "warning", "its deviation of 100000000 ns is over 50 ms")]),
        (
            100 * MS + 1,
            [
                (
                    "deviation_long",
                    "error",
                    "its deviation of 100000001 ns is over 100 ms: it says nothing",
                )
            ],
        ),
    ],
)
def test_deviations_are_above_0_and_up_to_50_or_100_ms(deviation_ns, expected):
    found = promise_checks.check_claims(Scripted(((7, 9), deviation_ns)))
    assert summary(found) == expected
    assert all(one.clock == NAME for one in found)


def test_claims_are_looked_at_16_times_with_each_clock_of_the_host():
    good = ((7, 9), 30)
    made = Scripted(*[good] * 31, ((7, 9), 0), hosts=(RAW, MONO))
    assert [one.code for one in promise_checks.check_claims(made)] == ["deviation_zero"]
    assert made.requests == [(made.clock, RAW)] * 16 + [(made.clock, MONO)] * 16
    # Each kind is reported once, as it was first seen.
    made = Scripted(((7, 9), 60 * MS), ((7, 9), 70 * MS), ((7, 9), 0))
    found = promise_checks.check_claims(made)
    assert [one.code for one in found] == ["deviation_long", "deviation_zero"]
    assert "60000000 ns" in found[0].message


@pytest.mark.parametrize(("ticks", "found"), [(255, False), (256, True), (511, True)])
def test_readings_have_their_valid_bits_alone(ticks, found):
    assert summary(promise_checks.check_claims(Scripted(((ticks, 9), 30), bits=8))) == (
        [("bits_above", "error", f"{ticks:#x} has bits set above the 8 valid ones")]
        if found
        else []
    )


@pytest.mark.parametrize(
    ("deviation_ns", "host_tick_ns", "of"),
    [
        (52, 1.0, 53),
        (53, 1.0, None),
        (53, 53.5, 54),
        (54, 53.5, None),
        (0, 100.0, None),  # which is another fault
        (1, 1.0, 53),
    ],
)
def test_a_deviation_is_no_less_than_the_larger_tick(deviation_ns, host_tick_ns, of):
    made = Scripted(((7, 9), deviation_ns), tick=Fraction(625, 12))
    found = promise_checks.check_tick(made, Hosts(0, tick_ns=host_tick_ns))
    assert [(one.code, one.clock, one.severity, one.message) for one in found] == (
        []
        if of is None
        else [
            (
                "deviation_below_tick",
                NAME,
                "warning",
                f"it claims a deviation of {deviation_ns} ns from {RAW}, where the larger of their "
                f"ticks is {of} ns",
            )
        ]
    )


def test_the_least_of_16_deviations_counts_with_each_clock_of_the_host():
    good = ((7, 9), 30)
    made = Scripted(*[good] * 31, ((7, 9), 9), hosts=(RAW, MONO), step=10)
    (finding,) = promise_checks.check_tick(made, Hosts(0))
    assert f"9 ns from {MONO}" in finding.message
    assert len(made.requests) == 32


@pytest.mark.parametrize(
    ("stamps", "fall"),
    [
        ([5, 5, 6, 6], None),
        ([5, 7, 6, 8], (7, 6)),
        ([250, 255, 3, 3], None),  # 8 bits: it wraps
        ([3, 3, 2, 9], (3, 2)),
        ([0, 128], None),  # just half a wrap ahead
        ([0, 129], (0, 129)),
    ],
)
def test_stamps_of_one_submission_do_not_fall(stamps, fall):
    found = promise_checks.check_order(Scripted(((0, 0), 1), stamps=[stamps], bits=8))
    assert summary(found) == (
        []
        if fall is None
        else [
            (
                "stamps_fall",
                "error",
                f"within one submission it wrote {fall[0]} and then {fall[1]}: durations of its "
                "work cannot be relied on",
            )
        ]
    )


def test_eight_submissions_of_16_stamps_are_looked_at():
    rising = list(range(16))
    made = Scripted(((0, 0), 1), stamps=[*[rising] * 7, [*range(15), 13]])
    assert [one.code for one in promise_checks.check_order(made)] == ["stamps_fall"]
    assert made.stamped == [16] * 8


def grouped(*groups, coarse_ns=4_000_000):
    """A stand-in for a Sampler: (deviation, MONOTONIC, its coarse form, REALTIME, its) a group."""
    clocks = [3, 4, 1, 2]
    names = ["MONOTONIC", "MONOTONIC_COARSE", "REALTIME", "REALTIME_COARSE"]
    left = deque(groups)
    requests = []

    def sample_group():
        requests.append(1)
        deviation_ns, *readings = left.popleft() if len(left) > 1 else left[0]
        return Snapshot(dict(zip(clocks, readings, strict=True))), deviation_ns

    return SimpleNamespace(
        sample_group=sample_group,
        names={ClockId(clock): name for clock, name in zip(clocks, names, strict=True)},
        domains={
            ClockId(clock): ClockDomain(clock, tick_ns=coarse_ns if name.endswith("COARSE") else 1)
            for clock, name in zip(clocks, names, strict=True)
        },
        requests=requests,
    )


def test_a_groups_deviation_is_no_less_than_the_largest_tick():
    level = (100, 100, 100, 100)
    assert promise_checks.check_group(grouped((4_000_000, *level))) == []
    (finding,) = promise_checks.check_group(grouped((3_999_999, *level)))
    assert finding == (
        "deviation_below_tick",
        "REALTIME_COARSE",
        "the group's deviation is 3999999 ns, below a tick of 4000000 ns",
        "error",
    )
    # A tick is rounded up.
    assert promise_checks.check_group(grouped((8, *level), coarse_ns=7.5)) == []
    assert len(promise_checks.check_group(grouped((7, *level), coarse_ns=7.5))) == 1


def test_coarse_clocks_are_no_farther_from_the_fine_ones_than_the_group_says():
    for fine, coarse in ((1_000, 500), (500, 1_000)):
        assert promise_checks.check_group(grouped((500, fine, coarse, 9, 9), coarse_ns=10)) == []
        for readings, name in (
            ((fine, coarse, 9, 9), "MONOTONIC_COARSE"),
            ((9, 9, fine, coarse), "REALTIME_COARSE"),
        ):
            (finding,) = promise_checks.check_group(grouped((499, *readings), coarse_ns=10))
            assert finding == (
                "deviation_across_coarse",
                name,
                "it was 500 ns from the clock that it is the coarse form of, where the group's "
                "deviation is 499 ns",
                "error",
            )


def test_sixteen_groups_are_looked_at():
    good, bad = (500, 9, 9, 9, 9), (0, 9, 9, 9, 9)
    sampler = grouped(*[good] * 15, bad, coarse_ns=1)
    (finding,) = promise_checks.check_group(sampler)
    assert finding.message == "the group's deviation is 0 ns, below a tick of 1 ns"
    sampler = grouped(*[good] * 16, bad, coarse_ns=1)
    assert promise_checks.check_group(sampler) == []
    assert len(sampler.requests) == 16


@pytest.mark.parametrize(
    ("before", "written", "after", "found"),
    [
        (100, 100, 110, False),
        (100, 110, 110, False),
        (100, 111, 110, True),
        (100, 99, 110, True),
        (250, 253, 4, False),  # of 8 bits: it wraps
        (250, 2, 4, False),
        (250, 5, 4, True),
    ],
)
def test_what_a_device_writes_lies_between_the_calibrations_around_it(
    before, written, after, found
):
    made = Scripted(((before,), 1), ((after,), 1), stamps=[[written]], bits=8)
    assert summary(promise_checks.check_device_domain(made)) == (
        [
            (
                "stamps_differ",
                "error",
                f"it wrote {written} between readings of {before} and {after}: its work is stamped "
                "in another clock than the one that is calibrated, and cannot be converted",
            )
        ]
        if found
        else []
    )
    assert made.requests == [(made.clock,), (made.clock,)]


def test_what_a_device_writes_has_its_valid_bits_alone():
    made = Scripted(((1,), 1), ((9,), 1), stamps=[[256 + 5]], bits=8)
    assert [one.code for one in promise_checks.check_device_domain(made)] == ["bits_above"]


@pytest.mark.parametrize(
    ("took_ns", "found"), [(2_000_000_000, []), (2_000_000_001, ["slow_batch"])]
)
def test_little_work_takes_no_more_than_two_seconds(monkeypatch, took_ns, found):
    made = Scripted(((1,), 1), ((9,), 1), stamps=[[5]])
    clock = iter((1_000, 1_000 + took_ns))
    monkeypatch.setattr(promise_checks.time, "perf_counter_ns", lambda: next(clock))
    assert [one.code for one in promise_checks.check_device_domain(made)] == found


@pytest.mark.parametrize(
    ("before", "through_device", "after", "found"),
    [(5, 5, 9, False), (5, 9, 9, False), (5, 4, 9, True), (5, 10, 9, True)],
)
def test_the_hosts_clock_of_the_device_is_the_hosts(before, through_device, after, found):
    made = Scripted(((7,), 1), ((through_device,), 1), hosts=(RAW, MONO))
    hosts = Hosts(7, 7, before, after)
    assert summary(promise_checks.check_host_domains(made, hosts)) == (
        [
            (
                "host_clock_differs",
                "error",
                f"{MONO} was {through_device} for the device, between {before} and {after} for the host: "
                "its driver reads another clock; do not rely on it",
            )
        ]
        if found
        else []
    )
    assert made.requests == [(RAW,), (MONO,)]
    assert hosts.requests == [RAW, RAW, MONO, MONO]


@pytest.mark.parametrize(
    ("deviations", "tolerance_ns"), [((5, 6), 100 * MS), ((60 * MS, 70 * MS), 130 * MS)]
)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("excess", [0, 1])
@pytest.mark.parametrize("late", [False, True])
def test_both_clocks_go_on_by_what_the_host_waits(deviations, tolerance_ns, which, excess, late):
    """From the host's second reading to its third 200 ms, from its first to its fourth 200.7."""
    hosts = Hosts(1_000, 1_400, 200 * MS + 1_400, 200 * MS + 1_700)
    least_ns, most_ns = 200 * MS, 200 * MS + 700
    passed = [200 * MS, 200 * MS]
    passed[which] = most_ns + tolerance_ns + excess if late else least_ns - tolerance_ns - excess
    # Two ticks a ns.
    first = ((77, 1_200), deviations[0])
    second = ((77 + 2 * passed[0], 1_200 + passed[1]), deviations[1])
    waited = []
    made = Scripted(first, second, tick=Fraction(1, 2))
    found = promise_checks.check_calibration(made, hosts, waited.append)
    assert waited == [200 * MS]
    codes = [one.code for one in found]
    assert codes == ([("device_rate", "host_rate")[which]] if excess else [])
    for one in found:
        what = "its clock" if which == 0 else str(RAW)
        assert one.message == (
            f"{BEGINNING}in 200000000 to 200000700 ns {what} went on by {passed[which]} ns"
        )


def changing(*offsets, apart_ns=0, deviation_ns=10):
    """A device of 1 ns a tick whose clock is ahead of RAW by these, apart_ns from each other."""
    return Scripted(
        *(
            ((5_000 + k * apart_ns + ahead, 1_000 + k * apart_ns), deviation_ns)
            for k, ahead in enumerate(offsets)
        ),
    )


@pytest.mark.parametrize(
    ("apart_ns", "allowed_ns"),
    # D of two clocks of 100 ppm is 200.02 ppm: 10 ns of deviation are 10 + 1 and two ticks of 1.
    [(0, 26), (10_000, 26 + 3), (1_000_000, 26 + 201)],
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_an_offset_changes_by_no_more_than_drift_and_deviations_allow(apart_ns, allowed_ns, sign):
    waited = []

    def found(by_ns):
        made = changing(0, sign * by_ns, apart_ns=apart_ns)
        made.stamps = deque([[5_000 + sign * by_ns + apart_ns]])
        hosts = Hosts(1_000 + apart_ns)
        return deviation_bounds.check_across(made, hosts, wait=waited.append, rounds=2)

    assert found(allowed_ns) == []
    assert waited == [100_000] * 2
    (finding,) = found(allowed_ns + 1)
    assert finding.code == "deviation_across"
    assert (
        finding.message
        == f"{BEGINNING}its offset from {RAW} changed by {allowed_ns + 1} ns within {apart_ns} ns, "
        "1 ns more than drift and the deviations claimed allow: they are too small; do not rely on "
        "its bars"
    )


def test_a_clock_that_wraps_between_calibrations_is_followed():
    # Of 8 bits, 200 ns a tick: 50 ticks a round.
    made = Scripted(
        *(((k * 50 % 256, k * 10_000), 200) for k in range(12)),
        stamps=[[11 * 50 % 256]],
        bits=8,
        tick=Fraction(200),
    )
    hosts = Hosts(11 * 10_000)
    assert deviation_bounds.check_across(made, hosts, wait=lambda ns: None, rounds=12) == []


@pytest.mark.parametrize(
    # From 40 ns before the host's first reading on: 10 + 1 + 2, 1 ns of drift in 100 ns, and 1.
    ("at", "found"),
    [(1_040 - 15, False), (1_040 - 16, True), (1_100 + 15, False), (1_100 + 16, True)],
)
def test_work_is_stamped_within_its_bar_of_when_it_was_done(at, found):
    # Ticks of 1 ns, 4 us ahead of the host; calibrated at 1,000 of it.
    made = Scripted(((5_000, 1_000), 10), stamps=[[4_000 + at]])
    hosts = Hosts(1_040, 1_100)
    assert summary(deviation_bounds.check_across(made, hosts, wait=lambda ns: None, rounds=1)) == (
        [
            (
                "work_outside",
                "error",
                f"work done between 1040 and 1100 of {RAW} was stamped at what is {at}, more than "
                "its bar of 15 ns away: stamps or calibrations are of another clock",
            )
        ]
        if found
        else []
    )


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("excess", [0, 1])
def test_two_clocks_of_the_host_are_as_far_apart_as_the_host_reads_them(sign, excess):
    """Brackets of 101 ns, 700 ns before the device's call."""
    # 51 of the bracket, its drift 1, two ticks, 1; 10 and its drift, two ticks; drift since, 1.
    bar_ns = 51 + 1 + 2 + 1 + 10 + 1 + 2 + 1
    known = 9_000 - (1_000 + 1_101) // 2
    through_device = (1_700, 1_700 + known + sign * (bar_ns + excess))
    still = ((5_000, 1_000), 10)
    made = Scripted(
        still, still, still, still, (through_device, 10), stamps=[[5_000]], hosts=(RAW, MONO)
    )
    hosts = Hosts(1_000, 1_000, 1_000, 1_000, 1_000, 9_000, 1_101)
    found = deviation_bounds.check_across(made, hosts, wait=lambda ns: None, rounds=1)
    assert made.requests[-1] == (RAW, MONO)
    assert summary(found) == (
        [
            (
                "deviation_across_hosts",
                "error",
                f"{MONO} less {RAW} was {through_device[1] - through_device[0]} ns for the device and {known} ns for "
                f"the host, farther apart than {bar_ns} ns: the deviation claimed, 10 ns, is too "
                "small",
            )
        ]
        if excess
        else []
    )


@pytest.mark.parametrize(
    ("ticks_ns", "expected"), [((1.0, 1.0), 100 + 1 + 2), ((0.4, 0.4), 102), ((52.083, 10.0), 164)]
)
def test_the_half_width_of_two_clocks_read_together(ticks_ns, expected):
    one, other = (ClockDomain(5, tick_ns=tick_ns) for tick_ns in ticks_ns)
    assert deviation_bounds.half_width_ns(100, 0.0003, one, other) == expected


def test_the_promises_by_name():
    assert [one.name for one in PROMISES] == [
        "domains",
        "claims",
        "tick",
        "device_clock",
        "stamp_order",
        "host_clocks",
        "rates",
        "across",
    ]
    slept = []
    good = Scripted(((7, 9), 30), stamps=[[7]])
    by_name = {one.name: one for one in PROMISES}
    by_name["rates"].check(good, Hosts(9), slept.append, 5)
    assert slept == [200 * MS]
    by_name["across"].check(good, Hosts(9), slept.append, 5)
    assert slept == [200 * MS] + [100_000] * 5
    bad = Scripted(((7, 9), 0), stamps=[[7]])
    assert [one.code for one in by_name["claims"].check(bad, Hosts(9), slept.append, 5)] == [
        "deviation_zero"
    ]


def test_a_device_without_its_domains_has_both_findings_and_no_more_checks():
    made = Scripted(((7, 9), 0), hosts=())
    made.has_device_domain = False
    assert summary(check_promises(made, Hosts(9))) == [
        ("no_device_domain", "error", "its own clock is not calibrated"),
        ("no_host_domain", "error", "no clock of the host is calibrated"),
    ]
    assert made.requests == []


def test_sixty_four_calibrations_are_compared_where_nobody_says():
    waited = []
    made = Scripted(((9, 9), 30), stamps=[[9]])
    assert deviation_bounds.check_across(made, Hosts(9), wait=waited.append) == []
    assert len(waited) == 64
    waited.clear()
    assert check_promises(made, Hosts(9), wait=waited.append) == []
    assert waited == [200 * MS] + [100_000] * 64


def test_waiting_takes_so_many_ns(monkeypatch):
    slept = []
    monkeypatch.setattr(deviation_bounds.time, "sleep", slept.append)
    deviation_bounds.sleep(250_000_000)
    assert slept == [0.25]
