"""Events before the first and after the last snapshot, and events without any."""

import pytest
from building import (
    BOOTTIME,
    event,
)
from diagnosed import findings
from faults import NIC, SEQUENCE, Model, S, drifting


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
