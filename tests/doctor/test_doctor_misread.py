"""Wrong readings and clocks set: one finding, about the clock that was misread or set."""

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
)
from diagnosed import findings
from faults import NIC, START, Model, S, misread
from hypothesis import given, settings
from hypothesis import strategies as st


def test_a_reading_off_in_the_second_snapshot_is_no_second_clock():
    model = Model()
    model.edit(1, lambda readings: readings.update({NIC: readings[NIC] + 400_000_000}))
    (finding,) = findings(model.build())
    assert finding.code == "snapshot-outlier"
    assert finding.packets[0] in model.at_snapshot(1)


SIZES = st.integers(S // 200, 100 * S).flatmap(lambda size: st.sampled_from([size, -size]))


@pytest.mark.parametrize("clock", Model().reads)
@settings(max_examples=8)
@given(k=st.integers(0, Model().n - 1), size=SIZES)
def test_one_wrong_reading_is_one_finding_about_its_clock(clock, k, size):
    model = Model()
    # Far enough from 0 to be read too low.
    model.reads[64] = lambda t: (t - START) // 1000 + 10**9
    misread(model, clock, k, size)
    (found,) = findings(model.build())
    assert [c.clock for c in found.clocks] == [clock]
    # What rises too far falls in the next snapshot.
    after = model.at_snapshot(min(k + 1, model.n - 1))
    assert set(found.packets) & {*model.at_snapshot(k), *after}
    if 0 < k < model.n - 1:
        # At either end a step looks the same.
        refused = clock == BOOTTIME and found.code == "trace-clock-ran-backwards"
        assert refused or found.code == "snapshot-outlier"


@pytest.mark.parametrize(("from_end", "size"), [(2, -S - 1), (1, -2 * S - 1)])
def test_a_reading_below_the_one_before_it_at_the_end_is_told_of_its_clock_alone(from_end, size):
    model = Model()
    misread(model, MONOTONIC, model.n - from_end, size)
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("snapshot-outlier", [MONOTONIC])


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, REALTIME])
def test_of_three_clocks_two_say_which_one_was_misread(clock, primary):
    model = Model()
    kept = BOOTTIME, MONOTONIC, REALTIME
    model.reads = {c: read for c, read in model.reads.items() if c in kept}
    model.event_clocks = [BOOTTIME, MONOTONIC]
    model.primary = dict.fromkeys(range(model.n), primary)
    misread(model, clock, 20, 20_000_000)
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("snapshot-outlier", [clock])


@pytest.mark.parametrize(("clock", "events"), [(NIC, 1), (MONOTONIC, 1), (REALTIME, 0)])
def test_what_a_misread_clock_puts_elsewhere_is_reported_with_it(clock, events):
    """One event of each clock but REALTIME follows each snapshot: the drift there is no drift."""
    model = Model()
    misread(model, clock, 20, 20_000_000)
    (found,) = findings(model.build())
    assert (found.code, found.events, found.consequences) == ("snapshot-outlier", events, ())
    assert found.severity == ("error" if events else "warning")


def test_of_two_clocks_the_less_steady_one_is_named():
    for clock in (BOOTTIME, NIC):
        model = Model()
        model.reads = {c: model.reads[c] for c in (BOOTTIME, NIC)}
        model.event_clocks = [BOOTTIME, NIC]
        misread(model, clock, 20, 20_000_000)
        found = {f.code: f for f in findings(model.build())}
        assert [c.clock for c in found["snapshot-outlier"].clocks] == [NIC]


def test_a_suspend_of_the_clocks_that_stop_is_no_jump_of_one():
    """MONOTONIC alone loses time: the machine did not sleep, MONOTONIC_RAW says."""
    model = Model()
    read, begin = model.reads[MONOTONIC], model.time(20) - S // 3
    model.reads[MONOTONIC] = lambda t: read(t) - (t > begin) * 50_000_000
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("clock-stepped", [MONOTONIC])


@pytest.mark.parametrize(
    ("clock", "cause"), [(REALTIME, "realtime-set-back"), (NIC, "clock-ran-backwards")]
)
def test_how_often_a_clock_was_set_back_does_not_count_its_other_jumps(clock, cause):
    """Forward by 50 s, a wrong reading, and back by 3 s, in this order."""
    model = Model()
    model.event_clocks.append(clock)
    read, forward, back = model.reads[clock], model.time(20) - S // 3, model.time(40) - S // 3
    model.reads[clock] = lambda t: read(t) + (t > forward) * 50 * S - (t > back) * 3 * S
    misread(model, clock, 30, 100_000_000)
    found = {finding.code: finding for finding in findings(model.build())}
    assert set(found) == {cause, "clock-stepped", "snapshot-outlier"}
    assert "once, by 3 s" in found[cause].title
    assert found[cause].packets[0] in model.at_snapshot(40)
    assert (found[cause].severity, found["clock-stepped"].severity) == ("error", "warning")
    assert "once, by 50 s" in found["clock-stepped"].title
    assert found["clock-stepped"].packets[0] in model.at_snapshot(20)
    assert found["snapshot-outlier"].packets[0] in model.at_snapshot(30)


@pytest.mark.parametrize("size", [5_000_000, -5_000_000])
def test_the_title_gives_a_jump_by_what_was_read(size):
    """The bounds of a jump leave all drift open that the clocks are allowed: 1.5 ms a second."""
    model = Model()
    model.n, read, begin = 20, model.reads[REALTIME], model.time(10) - S // 3
    model.reads[REALTIME] = lambda t: read(t) + (t > begin) * size
    (found,) = findings(model.build())
    assert (found.code, "by 5 ms" in found.title) == ("clock-stepped", True)
    assert found.worst_ns >= abs(size)


@settings(max_examples=10)
@given(
    who=st.lists(st.booleans(), min_size=20, max_size=60),
    apart=st.sampled_from([200_000_000, -200_000_000, 50 * S, -4000 * S]),
)
def test_two_clocks_under_one_number_are_reported_in_whatever_order_they_write(who, apart):
    who = [True, True, False, False, True, False, *who]
    model = Model()
    model.n = len(who)
    for k in range(model.n):
        model.edit(k, lambda readings, k=k: readings.update({NIC: readings[NIC] + who[k] * apart}))
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("clock-id-collision", [NIC])
    # Nothing says which of the two an event was read in.
    assert found.events == model.n
