"""Rates and drift: what is drift, what is a count of something else, and which clock has it."""

from fractions import Fraction
from random import Random

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    event,
    snapshot,
    trace,
)
from diagnosed import every, findings
from faults import FAULTS, GPU, NIC, SEQUENCE, START, Model, S, drifting
from reading import opened

from tracetime import (
    ClockDomain,
    diagnose,
)


@pytest.mark.parametrize("behind", [0x8A00_0001, 0xFA00_0001])
@pytest.mark.parametrize("beyond", [0, 3])
def test_where_a_clock_drifts_only_events_that_go_by_it_then_count(beyond, behind):
    """Its own one event is just after a snapshot; those of a clock behind it may be anywhere."""
    times = [5000 * S + k * S + (10 * S if k > 20 else 0) for k in range(40)]
    nics = [t + (t - times[0]) // 20_000 for t in times]
    packets = [snapshot({BOOTTIME: t, NIC: nic}) for t, nic in zip(times, nics, strict=True)]
    packets += [snapshot({NIC: nic, behind: nic}) for nic in nics]
    packets += [event(nics[30] + k, behind, SEQUENCE) for k in range(beyond)]
    packets.append(event(nics[30] + 10, NIC, SEQUENCE))
    found = {one.code: one for one in findings(trace(*packets), tolerance_ns=100_000)}
    sparse = found["snapshots-too-sparse"]
    assert (sparse.severity, sparse.events) == ("error" if beyond else "info", beyond)


def test_events_that_floor_reorders_are_reported_with_why_it_is_off():
    model = Model()
    FAULTS["sparse"](model, Random(1))
    # Just before the next snapshot: NIC, then a BOOTTIME event 100 us later.
    at = model.time(11) + 900_000_000
    nic = model.reads[NIC]
    drift = nic(at) - nic(model.time(0)) - (at - model.time(0))
    first, second = (at, at + 100_000) if drift > 0 else (at + 100_000, at)
    model.extra[12] = [event(nic(first), NIC, SEQUENCE), event(second, BOOTTIME, SEQUENCE)]
    (found,) = findings(model.build())
    assert found.code == "snapshots-too-sparse"
    # The last snapshot is as far from the end as it is from the one before.
    assert {c.code for c in found.consequences} == {"events-reordered", "used-after-last-snapshot"}
    assert {c.code: c.events for c in found.consequences}["events-reordered"] == 1


def test_a_clock_that_counts_seldom_does_not_stand_still():
    model = Model()
    model.reads[NIC] = lambda t: t // S
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("rate-not-nominal", "error")


@pytest.mark.parametrize(("snapshots", "a_second"), [(2, 1), (8, 10), (3, 1000)])
def test_the_tsc_counts_ticks_however_few_snapshots_say_so(snapshots, a_second):
    model = Model()
    model.n = snapshots
    model.time = lambda k: START + k * S // a_second
    expected = FAULTS["tsc"](model, Random(1))
    assert [finding.code for finding in findings(model.build())] == [expected.code]


def test_the_time_of_the_file_does_not_drift_from_boottime():
    model = Model()
    # An event before the first snapshot: trace time is TRACE_FILE, which BOOTTIME equals by rule.
    model.extra[0] = [event(model.time(0), MONOTONIC, 3, machine=5)]
    model.event_clocks = [BOOTTIME]
    assert [f for f in findings(model.build()) if f.severity != "info"] == []


def test_two_snapshots_do_not_distinguish_a_step_from_a_count_of_something_else():
    """A counter at 2.445 GHz in two snapshots: its rate, once said, is no step."""
    said = {"why": [], "codes": []}
    for rate in (Fraction(1), Fraction(1000, 2445)):
        data = trace(
            snapshot({BOOTTIME: 1000 * S, NIC: 5000 * S}),
            snapshot({BOOTTIME: 1010 * S, NIC: 5000 * S + 24_450_000_000}),
        )
        with opened(data, domains=[ClockDomain(NIC, ns_per_tick=rate)]) as read:
            found = diagnose(read)
        said["codes"].append([finding.code for finding in found])
        said["why"].append(" ".join(finding.why for finding in found))
    assert said["codes"] == [["clock-stepped", "no-realtime"], ["no-realtime", "rate-unproven"]]
    assert "--clock-rate" in said["why"][0]


def test_the_title_gives_a_change_of_rate_by_the_middle_of_its_bounds():
    model = Model()
    model.n = 20
    model.reads[NIC] = lambda t: t + 77 * S + max(t - model.time(10), 0) * 80 // 1_000_000
    (found,) = findings(model.build())
    assert found.code == "rate-changed"
    assert float(found.title.split()[-2]) == pytest.approx(80, rel=0.1)


@pytest.mark.parametrize(("ppm", "code"), [(700, "drift-beyond-healthy"), (400, "ticks-apart")])
def test_what_ntp_slews_together_drifts_apart_by_no_more_than_one_slew(ppm, code):
    model = Model()
    model.reads[REALTIME] = drifting(ppm, 1_700_000_000 * S)
    assert [f.code for f in findings(model.build())] == [code]


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("ppm", [-900, 900])
def test_a_trace_clock_that_drifts_is_one_finding_and_not_one_a_clock_next_to_it(primary, ppm):
    model = Model()
    del model.reads[64]
    model.event_clocks.remove(64)
    model.primary = dict.fromkeys(range(model.n), primary)
    read = model.reads[primary]
    model.reads[primary] = lambda t: read(t) + (t - START) * ppm // 1_000_000
    (found,) = findings(model.build())
    assert (found.code, found.clocks[0].clock) == ("drift-beyond-healthy", primary)
    assert float(found.title.split()[2]) == pytest.approx(ppm, abs=40)


@pytest.mark.parametrize("ppm", [-1500, 1500])
def test_clocks_that_drift_together_are_named_where_others_keep_time(ppm):
    model = Model()
    model.reads = {
        BOOTTIME: model.reads[BOOTTIME],
        MONOTONIC: model.reads[MONOTONIC],
        5: drifting(1, -90 * S),
        GPU: drifting(ppm, -4000 * S),
        NIC: drifting(ppm, 77 * S),
    }
    model.event_clocks = [BOOTTIME, GPU, NIC]
    found = [f for f in findings(model.build()) if f.code == "drift-beyond-healthy"]
    assert sorted(f.clocks[0].clock for f in found) == [GPU, NIC]


def test_the_tick_of_a_coarse_clock_is_no_drift():
    """It lags by 0 to 4 ms, another time in each snapshot."""
    model = Model()
    model.reads[4] = lambda t: (t - 100 * S + t // S * 700_000) // 4_000_000 * 4_000_000
    model.event_clocks.append(4)
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("coarse-clock", "info")


def test_a_clock_of_long_units_neither_drifts_nor_steps_by_them():
    """10 ms a unit, read at any moment: its offset strays by as much."""
    model = Model()
    model.time = lambda k: START + k * S + (k * 7_300_000) % 10_000_000
    read = model.reads[NIC]
    model.reads[NIC], model.units[NIC] = (lambda t: read(t) // 10_000_000), 10_000_000
    assert findings(model.build()) == []


def unproven(packets):
    return [one for one in every(findings(trace(*packets))) if one.code == "rate-unproven"]


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_two_snapshots_prove_no_rate_and_one_finding_names_all_clocks_of_such(n):
    read = [START + k * 10 * S for k in range(n)]
    packets = [
        snapshot({BOOTTIME: t, MONOTONIC: t - S, NIC: t + t // 50_000, GPU: t - t // 70_000})
        for t in read
    ]
    packets += [event(START + k, clock) for k, clock in enumerate((BOOTTIME, NIC, NIC, GPU))]
    found = unproven(packets)
    assert len(found) == (n == 2)
    for one in found:
        assert (one.severity, one.events) == ("info", 3)
        assert [clock.clock for clock in one.clocks] == [GPU, NIC]
        assert "guaranteed bars hold any within 1,001 ppm" in one.title
        assert "three snapshots or more" in one.fix
        assert "--max-drift-ppm" in one.fix


def test_machines_of_two_snapshots_are_one_finding():
    packets = [snapshot({BOOTTIME: START + k * S, NIC: START + k * S + k * 9_000}) for k in (0, 1)]
    packets += [
        snapshot({BOOTTIME: START + k * S, NIC: START + k * S - k * 9_000}, machine=7)
        for k in (0, 1)
    ]
    (one,) = unproven(packets)
    assert [(clock.clock, clock.machine) for clock in one.clocks] == [(NIC, 0), (NIC, 1)]


def test_a_rate_that_two_snapshots_show_beside_a_jump_follows_from_it():
    times = [START + k * S for k in range(20)]
    packets = [
        snapshot({BOOTTIME: t, NIC: t + k * 9_000 + (3600 * S if k >= 18 else 0)})
        for k, t in enumerate(times)
    ]
    found = findings(trace(*packets))
    (jump,) = [one for one in found if one.consequences]
    assert [one.code for one in every(jump.consequences)] == ["rate-unproven"]


@pytest.mark.parametrize(("ppm", "expected"), [(0, []), (40, ["REALTIME"]), (-300, ["REALTIME"])])
def test_a_wall_clock_that_is_slewed_alone_does_not_tick_like_the_others(ppm, expected):
    """As macOS does; Linux slews MONOTONIC alike."""
    model = Model()
    model.reads[REALTIME] = drifting(ppm, 1_700_000_000 * S)
    found = findings(model.build())
    assert [one.code for one in found] == ["ticks-apart" for _ in expected]
    for one in found:
        assert one.severity == "info"
        assert [str(clock) for clock in one.clocks] == [*expected, "BOOTTIME"]
        assert "their offset changes in 59 of 59 gaps between snapshots" in one.title
