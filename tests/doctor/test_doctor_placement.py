"""Events before the first and after the last snapshot, and events without any."""

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    android_log,
    event,
    packet,
    snapshot,
    trace,
)
from diagnosed import findings
from faults import NIC, SEQUENCE, START, Model, S, drifting


def test_events_of_no_machine_are_counted_next_to_a_first_one_that_has_a_name():
    model = Model()
    model.extra[0] = [event(model.time(0), BOOTTIME, 3, machine=5)]
    model.without = set(range(1, model.n))
    model.event_clocks = [NIC]
    found = {finding.code: finding for finding in findings(model.build())}
    assert found["used-after-last-snapshot"].events > 50


@pytest.mark.parametrize(("ppm", "severity"), [(-12, "error"), (0, None)])
def test_beyond_the_last_snapshot_floor_is_off_by_the_drift_and_not_by_the_bar(ppm, severity):
    """The tube knows the rate after a minute; Perfetto's rule leaves it out."""
    model = Model()
    model.reads = {BOOTTIME: model.reads[BOOTTIME], NIC: drifting(ppm, 77 * S)}
    model.event_clocks = [BOOTTIME]
    last, after = model.time(model.n - 1), 400 * S
    model.extra[model.n - 1] = [event(model.reads[NIC](last + after), NIC, SEQUENCE)]
    found = [f for f in findings(model.build()) if f.code != "no-realtime"]
    assert [f.severity for f in found] == ([severity] if severity else [])
    if severity:
        assert found[0].code == "used-after-last-snapshot"
        assert found[0].worst_ns == pytest.approx(after * abs(ppm) / 1e6, rel=0.2)


def test_a_bar_at_the_time_of_the_file_does_not_grow_from_its_zero():
    """An event before the first snapshot: trace time is TRACE_FILE, and BOOTTIME at 0."""
    model = Model()
    model.reads = {BOOTTIME: model.reads[BOOTTIME], NIC: model.reads[NIC]}
    model.event_clocks = [BOOTTIME, NIC]
    model.extra[0] = [event(model.time(0), BOOTTIME, SEQUENCE)]
    model.without = {model.n - 1, model.n - 2}
    assert [f.code for f in findings(model.build()) if f.severity != "info"] == []


def test_that_boottime_is_the_time_of_the_file_is_no_snapshot():
    model = Model()
    model.without, model.event_clocks = set(range(model.n)), [BOOTTIME, NIC]
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("no-snapshots", "error")
    assert [f.code for f in found.consequences] == ["clock-without-snapshot"]


@pytest.mark.parametrize(("after_s", "far"), [(2, False), (9, False), (60, True)])
def test_clocks_of_one_oscillator_stay_near_for_as_long_as_perfetto_takes_no_snapshot(after_s, far):
    readings = {BOOTTIME: START, MONOTONIC_RAW: START - 5 * S, REALTIME: 10**18}
    one = event(START - 5 * S + after_s * S, MONOTONIC_RAW)
    codes = [found.code for found in findings(trace(snapshot(readings), one))]
    assert codes == (["used-after-last-snapshot"] if far else [])


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_trace_clock_named_late_matters_where_events_are_lost(is_lost):
    """Snapshots after all events: those of BOOTTIME stay where they are, others are lost."""
    events = [event(START + k, BOOTTIME) for k in range(5)]
    # Lines of a log are placed when they are read, by REALTIME.
    events += [packet(START + 9, BOOTTIME, android_log=android_log([10**18]))] if is_lost else []
    readings = {BOOTTIME: START, MONOTONIC: START - 5 * S, REALTIME: 10**18}
    last = snapshot(readings, primary=BOOTTIME)
    found = findings(trace(*events, last))
    assert [one.code for one in found] == ["trace-clock-changed-late"]
    assert (found[0].severity == "info") is not is_lost
    assert found[0].title.startswith("the snapshots stand after all events")
