"""Threads that run before they are woken: the CPUs' clocks disagree."""

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, snapshot, trace
from diagnosed import findings
from faults import Model
from reading import opened
from scheduling import Switch, Waking, bundle, bundles, woken_late

from tracetime import diagnose
from tracetime.doctor.finding_events import finding_events

S = 10**9
CODE = "effect-before-cause"


def with_bundles(packets):
    return trace(*(snapshot({BOOTTIME: k * S, MONOTONIC: k * S}, 1) for k in (1, 2)), *packets)


def late_in(events, **fields):
    return [f for f in findings(with_bundles(bundles(events, **fields))) if f.code == CODE]


@pytest.mark.parametrize("compact", [True, False])
def test_wakings_that_come_after_their_switch(compact):
    (found,) = late_in(woken_late(start=S), compact=compact)
    assert found.severity == "warning"
    assert found.title == "CPUs disagree: threads run up to 30 us before they are woken (4 times)"
    assert (found.worst_ns, found.events, found.packets) == (30_000, 8, (2, 3))
    assert [str(clock) for clock in found.clocks] == ["BOOTTIME"]
    assert (
        "Thread 7 runs on CPU 0 from 1004000000 ns (packet 2), and the waking on CPU 1 has "
        "1004030000 ns (packet 3)" in found.why
    )


def test_beyond_the_tolerance_it_is_an_error():
    data = with_bundles(bundles(woken_late(start=S)))
    (found,) = (f for f in findings(data, tolerance_ns=29_999) if f.code == CODE)
    assert found.severity == "error"


@pytest.mark.parametrize("compact", [True, False])
def test_wakings_before_the_switch_are_in_order(compact):
    assert late_in(woken_late(start=S, late_ns=0), compact=compact) == []
    assert late_in(woken_late(start=S, late_ns=-1), compact=compact) == []
    assert len(late_in(woken_late(start=S, late_ns=1), compact=compact)) == 1


def test_two_without_proof_may_be_coincidence():
    assert late_in(woken_late(2, start=S)) == []
    assert len(late_in(woken_late(3, start=S))) == 1


@pytest.mark.parametrize("compact", [True, False])
def test_one_that_names_another_cpu_is_proof(compact):
    """The scheduler knew the thread on CPU 2: it did not run on CPU 0 yet."""
    (found,) = late_in(woken_late(1, start=S, target=2), compact=compact)
    assert (found.events, found.worst_ns) == (2, 30_000)
    assert found.title.endswith("(once)")


def test_a_thread_woken_while_it_runs_was_woken_before():
    """It decides to sleep, is woken, and goes on: no switch follows from that waking."""
    events = woken_late(start=S, late_ns=-100)
    events += [Waking(one.ns + 1000, 1, 7, 0) for one in events if isinstance(one, Switch)]
    assert late_in(sorted(events)) == []


def test_a_thread_that_stayed_runnable_needs_no_waking():
    events = [
        one._replace(state=0x100) if isinstance(one, Switch) else one for one in woken_late(start=S)
    ]
    assert late_in(events) == []


def test_wakings_of_the_same_cpu_do_not_count():
    events = [
        one._replace(cpu=0) if isinstance(one, Waking) else one for one in woken_late(start=S)
    ]
    assert late_in(sorted(events, key=lambda one: one.ns)) == []


def split(events, at_ns, **fields):
    """CPU 0's events, all of CPU 1's in two bundles, the second one with these fields."""
    first = [one for one in events if one.cpu == 1 and one.ns < at_ns]
    second = [one for one in events if one.cpu == 1 and one.ns >= at_ns]
    return [
        bundle(0, [one for one in events if one.cpu == 0]),
        bundle(1, first),
        bundle(1, second, **fields),
    ]


def test_where_a_cpu_lost_events_the_waking_may_be_among_them():
    """CPU 1 lost what it had between its first event and its last."""
    events = woken_late(3, start=S)
    late = [f for f in findings(with_bundles(split(events, S + 7_000_000))) if f.code == CODE]
    assert len(late) == 1
    lossy = split(events, S + 7_000_000, lost_events=True)
    assert [f for f in findings(with_bundles(lossy)) if f.code == CODE] == []


def test_dropped_packets_are_lost_events():
    events = woken_late(3, start=S)
    packets = split(events, S + 7_000_000)
    packets[2].previous_packet_dropped = 1
    assert [f for f in findings(with_bundles(packets)) if f.code == CODE] == []


def test_before_a_cpu_begins_its_wakings_are_unknown():
    events = [*woken_late(start=S), Switch(S + 60_000_000, 2, 0, 11)]
    assert late_in(events) == []


def test_where_a_cpu_ends_its_wakings_are_unknown():
    assert late_in([*woken_late(start=S), Switch(S + 1, 2, 0, 11)]) == []
    assert len(late_in([*woken_late(start=S), *(Switch(S + t, 2, 0, 11) for t in (0, 10**8))])) == 1


def test_wakings_of_a_cpu_that_is_named_and_has_no_event_are_unknown():
    """Whoever recorded left it out."""
    assert late_in([*woken_late(start=S), Waking(S + 10**8, 1, 12, 2)]) == []
    assert len(late_in([*woken_late(start=S), Waking(S + 10**8, 1, 12, 1)])) == 1


@pytest.mark.parametrize("lost", [True, False])
def test_what_a_cpu_runs_is_unknown_once_it_lost_events(lost):
    """Thread 7 left CPU 0, ran on CPU 2 and was woken there; CPU 0 goes on with any event."""
    packets = [
        bundle(0, [Switch(S + 1_000, 0, 0, 7)], compact=True),
        bundle(1, [Switch(S, 1, 0, 9), Waking(S + 1_100, 1, 7, 2)], compact=True),
        bundle(0, [Waking(S + 3_000, 0, 9, 1), Switch(S + 4_000, 0, 0, 7)], compact=True, lost_events=lost),
    ]  # fmt: skip
    found = [f for f in findings(with_bundles(packets)) if f.code == CODE]
    assert len(found) == (not lost)


def test_machines_are_apart():
    packets = bundles(woken_late(start=S))
    packets[1].machine_id = 5
    data = trace(snapshot({BOOTTIME: S}, 1), *packets, snapshot({BOOTTIME: S}, 1, machine=5))
    assert [f for f in findings(data) if f.code == CODE] == []


def test_the_events_are_named():
    with opened(with_bundles(bundles(woken_late(start=S)))) as read:
        (found,) = (f for f in diagnose(read) if f.code == CODE)
        rows = [row for batch in finding_events(read, {0: found}) for row in batch.to_pylist()]
    assert len(rows) == found.events == 8
    times = {row["timestamp"] for row in rows}
    assert {S + 4_000_000, S + 4_030_000} <= times


def test_a_healthy_minute_with_scheduling_has_no_findings():
    model = Model()
    for k in range(0, 60, 5):
        events = woken_late(20, late_ns=-50_000, start=model.time(k))
        # No two are a multiple of a coarse tick apart.
        events = [one._replace(ns=one.ns + 13 * i) for i, one in enumerate(events)]
        model.extra[k] = bundles(events)
    assert findings(model.build()) == []


def test_times_at_the_ends_of_int64():
    """Half of int64 from the switch to the waking, and more from there to the end of the run."""
    low, high = -(2**63) + 10, 2**63 - 20
    events = [
        Switch(low, 1, 0, 9),
        Switch(low + 1, 0, 0, 7),
        Waking(low + 2**63 - 100, 1, 7, 2),
        Switch(high, 0, 7, 0, state=1),
    ]
    (found,) = late_in(events)
    assert found.worst_ns == pytest.approx(2**63)


@pytest.mark.sweep
def test_many_threads_and_bundles():
    """More events than are replayed at once; bundles come as recorders read them, CPU by CPU."""
    packets, n = [], 0
    for k in range(60):
        late = 40_000 if k == 59 else -60_000
        events = woken_late(5_000, late_ns=late, start=S + k * 20 * S)
        packets += bundles(events, compact=True)
        n += len(events)
    assert n > 1 << 19
    data = with_bundles(packets)
    (found,) = (f for f in findings(data) if f.code == CODE)
    assert (found.worst_ns, found.events) == (40_000, 10_000)
    assert np.all(np.array(found.packets) > 118)
