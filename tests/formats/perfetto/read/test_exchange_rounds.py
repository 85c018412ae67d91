"""Rounds in the extension of a RemoteClockSync: which are orders, and what counts without them."""

from __future__ import annotations

import pytest
from building import BOOTTIME, MONOTONIC, snapshot, trace, varint
from hypothesis import given
from hypothesis import strategies as st
from reading import opened

from tracetime import ClockDomain, ClockId, open_trace
from tracetime._kernels.perfetto.packets import boot_packet, remote_sync_packet

CLIENT = 7
SYNCED = [(5_000, 1_000), (5_020, 1_050)]
ROUND = (990, 4_990, 5_000, 1_000)
LATER = (1_050, 5_020, 5_025, 1_060)
HERE, THERE = ClockId(BOOTTIME), ClockId(BOOTTIME, machine=1)
HOST = trace(snapshot({BOOTTIME: 500, MONOTONIC: 500}))
LATEST = 1 << 60


def zigzagged(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def with_extension(content: bytes, machine: int = CLIENT) -> bytes:
    """A RemoteClockSync whose extension is these bytes."""
    plain = remote_sync_packet(machine, BOOTTIME, SYNCED, [])
    assert plain[0] == 1 << 3 | 2
    assert plain[1] == len(plain) - 2 < 128
    return field(1, plain[2:] + field(9876, content))


def evidence(data: bytes, **options):
    """What bounds the client: its orders as (host's reading, client's, host first), and boxes."""
    with opened(HOST + data, **options) as t:
        state = t.clocks._graph.state
        orders = state.orders.of(HERE, THERE)
        columns = () if orders is None else (orders.one_ts, orders.other_ts, orders.one_first)
        boxes = state.between.of(HERE, THERE)
        return sorted(
            zip(*(c.tolist() for c in columns), strict=True)
        ), 0 if boxes is None else len(boxes.snapshots)


def of_rounds(*rounds):
    return sorted(
        order
        for sent, received, replied, returned in rounds
        for order in ((sent, received, True), (returned, replied, False))
    )


def test_a_round_is_two_orders_and_the_message_s_own_readings_do_not_count():
    assert evidence(remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [ROUND, LATER])) == (
        of_rounds(ROUND, LATER),
        0,
    )
    assert evidence(remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [])) == ([], 2)


def test_perfetto_s_reading_is_the_same_with_rounds_and_without():
    found = []
    for rounds in ([], [ROUND, LATER]):
        with opened(HOST + remote_sync_packet(CLIENT, BOOTTIME, SYNCED, rounds)) as t:
            found.append(t.clocks.convert(5_020, THERE, HERE))
    assert found[0] == found[1]


def test_each_client_has_its_own():
    data = remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [ROUND])
    assert evidence(remote_sync_packet(3, BOOTTIME, SYNCED, [LATER]) + data) == (
        of_rounds(LATER),
        0,
    )
    assert evidence(remote_sync_packet(0, BOOTTIME, SYNCED, [ROUND])) == ([], 0)


@pytest.mark.parametrize(
    "wrong",
    [
        (991, 4_990, 5_000, 990),  # It returns before it was sent.
        (990, 5_000, 4_990, 1_000),  # It leaves before it came.
        (990, 4_990, 5_010, 1_000),  # The client keeps it for longer than it took.
        (-1, 4_990, 5_000, 1_000),
        (990, 4_990, LATEST, LATEST + 1),
        (990, 4_990, 5_000, LATEST),
    ],
)
def test_none_counts_where_one_makes_no_sense(wrong):
    data = remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [ROUND, wrong, LATER])
    assert evidence(data) == ([], 2)


def test_as_long_as_the_rates_allow_a_client_keeps_a_request():
    """A thousandth longer than it took, and the ticks."""
    for more, taken in ((1_005, True), (1_006, False)):
        one = (1_000, 10_000, 10_000 + 1_000_000 - 1 + more, 1_000 + 1_000_000 - 1)
        found = evidence(remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [one]))
        assert found == ((of_rounds(one), 0) if taken else ([], 2))


def test_of_more_than_64_rounds_none_counts():
    for n, taken in ((64, True), (65, False)):
        orders, boxes = evidence(remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [ROUND] * n))
        assert (len(orders), boxes) == ((2 * n, 0) if taken else (0, 2))


def test_rounds_need_the_message_s_first_readings_of_boottime():
    for synced in ([(0, 1_000), (5_020, 1_050)], [(5_000, 0), (5_020, 1_050)]):
        assert evidence(remote_sync_packet(CLIENT, BOOTTIME, synced, [ROUND]))[0] == []
    assert evidence(remote_sync_packet(CLIENT, MONOTONIC, SYNCED, [ROUND])) == ([], 0)


def test_a_clock_that_is_declared_to_count_otherwise_has_no_rounds():
    data = remote_sync_packet(CLIENT, BOOTTIME, SYNCED, [ROUND])
    for domain in (
        ClockDomain(THERE, ns_per_tick=100, tick_ns=100),
        ClockDomain(HERE, valid_bits=40),
    ):
        assert evidence(data, domains=[domain])[0] == []


def test_boots_are_those_of_machines_and_the_first_that_is_said_counts(tmp_path):
    boots = [bytes([n]) * 16 for n in range(3)]
    path = tmp_path / "boots.pftrace"
    path.write_bytes(
        boot_packet(boots[0])
        + HOST
        + boot_packet(b"too short", CLIENT)
        + boot_packet(boots[1], CLIENT)
        + boot_packet(boots[2], CLIENT)
    )
    with open_trace(path) as t:
        assert t.boots == {0: boots[0], 1: boots[1]}


NUMBERS = st.sampled_from([0, 1, -1, 9, 10, -10, 1 << 50, -(1 << 50), (1 << 50) + 1, (1 << 63) - 1])


def plain_rounds(numbers: list[int]) -> list[tuple[int, int, int, int]]:
    """The rounds of these numbers; none where they are not rounds that can be."""
    if len(numbers) % 4 or len(numbers) > 64 * 4 or any(abs(n) > 1 << 50 for n in numbers):
        return []
    (client, host), found = SYNCED[0], []
    for k in range(0, len(numbers), 4):
        sent, received, kept, away = numbers[k : k + 4]
        one = (host + sent, client + received, client + received + kept, host + sent + away)
        if any(not 0 <= ns < LATEST for ns in one) or away < 0:
            return []
        if not 0 <= kept <= away + away // 999 + 4:
            return []
        found.append(one)
    return found


@given(st.lists(NUMBERS, max_size=12))
def test_any_numbers_are_rounds_or_count_for_nothing(numbers):
    rounds = plain_rounds(numbers)
    content = field(11, b"".join(map(zigzagged, numbers)))
    assert evidence(with_extension(content)) == (of_rounds(*rounds), 0 if rounds else 2)


@given(st.binary(max_size=40), st.booleans())
def test_any_bytes_leave_the_message_as_it_is(content, packed):
    found, boxes = evidence(with_extension(field(11, content) if packed else content))
    assert boxes == (0 if found else 2)


def test_an_extension_that_is_cut_off_or_goes_on_as_none_can_is_none():
    rounds = field(11, b"".join(map(zigzagged, (-10, -10, 10, 10))))
    whole = rounds + field(9, b"0123")
    taken, none = (of_rounds(ROUND), 0), ([], 2)
    for end in range(len(whole) + 1):
        ends_a_field = end in (len(rounds), len(whole))
        assert evidence(with_extension(whole[:end])) == (taken if ends_a_field else none)
    assert evidence(with_extension(whole + b"\x0b")) == none
