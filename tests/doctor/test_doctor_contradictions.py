"""Messages that contradict a RemoteClockSync, or snapshots: one finding, and no steps."""

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, packet, remote_sync, snapshot, trace
from reading import opened
from test_doctor_orders import FAR, OFFSET, S, both_ways, every, found_in, of

from tracetime import diagnose
from tracetime.doctor.finding_events import finding_events

MS = 1_000_000
CODE = "messages-against-snapshots"
TOLD = {
    CODE,
    "wrong-order",
    "step-between-machines",
    "one-sided",
    "slow-messages",
    "uncovered",
    "wander",
    "snapshot-outlier",
    "clock-stepped",
}


def syncs(n=60, off=lambda at: 0):
    """A RemoteClockSync every 10 s; the fastest way there and back takes 0.27 ms."""
    for k in range(n):
        at, rounds = 11 * S + k * 10 * S, []
        for _ in range(2):
            client = {BOOTTIME: at + OFFSET + off(at)}
            rounds.append((client, {BOOTTIME: at + 150_000}))
            at += 270_000
        yield [packet(machine=FAR, remote_clock_sync=remote_sync(rounds))]


def messages(off, step=S, **options):
    return both_ways(600 * S // step, step=step, start=11 * S + 12_345, off=off, **options)


@pytest.mark.parametrize("step", [S, S // 5])
@pytest.mark.parametrize("ways", [slice(0, None, 2), slice(None)])
def test_messages_that_all_contradict_the_synchronisation(ways, step):
    found = found_in(*syncs(), *messages(lambda at: -3 * MS, step)[ways], codes=TOLD)
    assert set(found) == {CODE}
    one = found[CODE]
    assert one.severity == "error"
    assert 2.7 * MS < one.worst_ns < 3 * MS
    assert one.title.startswith("BOOTTIME and BOOTTIME@machine1: ")
    assert " messages contradict the RemoteClockSync by up to 2.83 ms" in one.title
    assert " or more too early." in one.why
    assert one.fix.endswith("the bars are those of the RemoteClockSync.")


def test_what_the_tolerance_allows_is_a_warning():
    world = (*syncs(), *messages(lambda at: -3 * MS)[::2])
    assert found_in(*world, codes=TOLD, tolerance_ns=3 * MS)[CODE].severity == "warning"


@pytest.mark.parametrize("ways", [slice(0, None, 2), slice(1, None, 2), slice(None)])
def test_messages_that_agree(ways):
    assert found_in(*syncs(), *messages(lambda at: 0)[ways], codes=TOLD) == {}


@pytest.mark.parametrize("size", [5 * MS, -5 * MS])
def test_a_step_that_both_show_is_a_step(size):
    def off(at):
        return size if at > 300 * S else 0

    found = found_in(*syncs(off=off), *messages(off), codes=TOLD)
    assert "step-between-machines" in found
    assert CODE not in found


def test_steps_that_both_show_are_steps_beside_a_wrong_message():
    def off(at):
        return 5 * MS if 300 * S < at < 500 * S else 0

    sent = messages(lambda at: off(at) - 3 * MS * (at // S == 101))
    found = found_in(*syncs(off=off), *sent, codes=TOLD)
    assert {"step-between-machines", "wrong-order"} <= set(found)
    assert CODE not in found


def test_messages_after_the_last_synchronisation_may_have_seen_a_step():
    late = [m for k, m in enumerate(messages(lambda at: -30 * MS)) if k > 55]
    found = found_in(*syncs(6), *late, codes=TOLD)
    assert "step-between-machines" in found
    assert CODE not in found


def test_a_few_wrong_synchronisations_are_left_out():
    off = syncs(off=lambda at: 3 * MS if at // S in (211, 411) else 0)
    found = found_in(*off, *messages(lambda at: 0, S // 5), codes=TOLD)
    assert set(found) == {"snapshot-outlier"}


def test_a_few_wrong_messages_contradict_no_synchronisation():
    some = messages(lambda at: -3 * MS if at // S in (101, 203, 301) else 0)
    found = found_in(*syncs(), *some, codes=TOLD)
    assert CODE not in found
    assert "wrong-order" in found


def test_events_are_those_of_the_messages_that_contradict():
    with opened(of(*syncs(), *messages(lambda at: -3 * MS)), orders="flows") as read:
        (one,) = (f for f in every(diagnose(read)) if f.code == CODE)
        n = sum(len(batch) for batch in finding_events(read, {0: one}))
    # Those to the far machine alone are early, and only near a synchronisation is that certain.
    assert 60 <= one.events // 2 < 300
    assert n == one.events
    assert one.title.startswith(f"BOOTTIME and BOOTTIME@machine1: {one.events // 2} of 600 ")


def test_orders_of_two_clocks_that_snapshots_hold():
    at = 10 * S + np.arange(60) * 10 * S
    data = trace(*(snapshot({BOOTTIME: t, MONOTONIC: t - S}, 1) for t in at.tolist()))
    with opened(data) as read:
        sent = at + 5 * MS
        read.clocks.add_order(before=(sent, "BOOTTIME"), after=(sent - S - 3 * MS, "MONOTONIC"))
        found = {f.code: f for f in every(diagnose(read))}
    assert " 60 of 60 messages contradict the snapshots by up to " in found[CODE].title
    assert found[CODE].severity == "warning"
    assert not TOLD & set(found) - {CODE}
