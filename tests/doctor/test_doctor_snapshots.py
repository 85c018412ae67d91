"""What snapshots hold: rejected ones, long paths, paths that disagree, coarse clocks, REALTIME."""

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
from faults import FAULTS, GPU, NIC, SEQUENCE, START, Model, S
from simulated import Clock, Machine, usual_clocks

from tracetime import (
    ClockDomain,
    ClockId,
    diagnose,
    open_trace,
    record,
)


def test_a_trace_clock_that_never_counted_nanoseconds():
    model = Model()
    for k in range(model.n):
        model.edit(k, lambda readings: readings.update({6: (readings[6] // 1000, 1000)}))
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("trace-clock-unit", "error")


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_a_path_is_long_from_three_hops_on(hops):
    chain = [BOOTTIME, *range(0x8A00_0001, 0x8A00_0001 + hops)]
    packets = [
        snapshot({one: START + k * S, other: START + k * S})
        for k in range(20)
        for one, other in zip(chain, chain[1:], strict=False)
    ]
    packets.append(event(START + 10 * S, chain[-1], SEQUENCE))
    expected = [one for one in every(findings(trace(*packets))) if one.code == "long-path"]
    assert [f" in {hops} hops: " in one.title for one in expected] == [True] * (hops >= 3)


@pytest.mark.parametrize("has_realtime", [False, True])
def test_a_recording_says_that_realtime_was_not_synchronised_where_it_has_it(
    tmp_path, has_realtime
):
    clocks = [c for c in usual_clocks() if has_realtime or str(c.domain.id) != "REALTIME"]
    path = tmp_path / "recorded.pftrace"
    with record(path, interval=None, sampler=Machine(clocks)) as rec:
        rec.snapshot()
    with open_trace(path) as trace:
        found = {finding.code: finding for finding in diagnose(trace)}
    assert ("realtime-unsynchronised" in found, "no-realtime" in found) == (
        has_realtime,
        not has_realtime,
    )
    (expected,) = (one for code, one in found.items() if "realtime" in code)
    assert (expected.severity, expected.events, expected.packets, expected.worst_ns) == (
        "info",
        0,
        (),
        None,
    )
    assert expected.clocks == ((ClockId(REALTIME),) if has_realtime else ())


@pytest.mark.parametrize(
    ("clocks", "expected"), [([NIC], "140 snapshots"), ([NIC, GPU], "at least 50 snapshots")]
)
def test_lost_snapshots_are_counted_beyond_the_warnings_that_are_kept(clocks, expected):
    model = Model()
    model.n = 150
    for k in range(10, model.n):
        clock = clocks[k % len(clocks)]
        model.edit(k, lambda readings, clock=clock: readings.update({clock: (readings[clock], 7)}))
    found = [f for f in findings(model.build()) if f.code == "clock-properties-changed"]
    assert [f.title.endswith(f": {expected} rejected") for f in found] == [True] * len(clocks)


def test_paths_that_disagree_are_reported_with_a_place_and_the_events_they_place():
    model = Model()
    FAULTS["disagree"](model, Random(1))
    model.event_clocks = [BOOTTIME, MONOTONIC, NIC]
    found = [f for f in every(findings(model.build())) if f.code == "paths-disagree"]
    assert found
    for finding in found:
        ends = {clock.clock for clock in finding.clocks} & {MONOTONIC, NIC}
        assert len(finding.packets) == 1
        # Those of the trace clock are not converted.
        assert finding.events <= model.n * len(ends)


def test_a_long_path_is_reported_with_the_first_event_that_takes_it():
    model = Model()
    FAULTS["long_path"](model, Random(1))
    (found,) = findings(model.build())
    assert found.packets[0] in range(3, 3 + 1 + len(model.event_clocks))


def test_a_recording_says_by_what_its_coarse_clocks_step(tmp_path):
    path = tmp_path / "recorded.pftrace"
    coarse = Clock(ClockDomain("MONOTONIC_COARSE", tick_ns=4_000_000), 77, 12_000)
    with record(path, interval=None, sampler=Machine([*usual_clocks(), coarse])) as rec:
        rec.instant("here", timestamp=10**9, clock="MONOTONIC_COARSE")
    with open_trace(path) as read:
        (found,) = [f for f in diagnose(read) if f.code == "coarse-clock"]
    assert found.worst_ns == 4_000_000


@pytest.mark.parametrize("last", [40, 59])
def test_events_placed_by_snapshots_from_before_the_trace_clock_fell_are_reported(last):
    model = Model()
    for k in range(30, last + 1):
        model.edit(k, lambda readings: readings.update({BOOTTIME: readings[BOOTTIME] - 100 * S}))
    found = findings(model.build())[0]
    assert (found.code, found.severity) == ("trace-clock-ran-backwards", "error")
    assert found.title.endswith(
        f"went backwards by up to 1 min 39 s: {last - 29} snapshots rejected"
    )
    assert found.worst_ns == 99 * S
    each = len(model.event_clocks)
    beyond = last - 30 + (last == 59)
    # Those of the trace clock stay where they are.
    assert found.events == beyond * (each - 1)


def test_one_snapshot_that_the_trace_clock_fell_in_misplaces_nothing():
    model = Model()
    model.edit(30, lambda readings: readings.update({BOOTTIME: readings[BOOTTIME] - 100 * S}))
    (found,) = findings(model.build())
    assert (found.code, found.severity, found.events) == ("trace-clock-ran-backwards", "warning", 0)
    assert found.title.endswith("went backwards by 1 min 39 s: 1 snapshot rejected")


def test_snapshots_that_come_late_misplace_nothing_where_good_ones_are_between():
    model = Model()
    for k in (10, 50):
        readings = {clock: read(model.time(k - 1)) for clock, read in model.reads.items()}
        readings[64] = (readings[64], 1000)
        model.extra.setdefault(k + 1, []).append(snapshot(readings, SEQUENCE))
    (root,) = findings(model.build())
    assert (root.code, root.severity) == ("file-out-of-order", "warning")
    found = next(f for f in every([root]) if f.code == "trace-clock-ran-backwards")
    assert (found.severity, found.events) == ("warning", 0)
    assert "by up to 1 s: 2 snapshots rejected" in found.title
