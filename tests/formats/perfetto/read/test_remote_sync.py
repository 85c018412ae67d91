"""RemoteClockSync messages, broken and hostile ones too: what is read of them, and what bounds."""

from __future__ import annotations

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, packet, remote_sync, snapshot, trace, varint
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import opened, read
from twin.between import bounds_of
from twin.wire import Message

from tracetime import ClockId, TraceError

CLIENT = 7
HOST = packet(seq=1)


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def clocks_of(readings: list[tuple[int, int]]) -> bytes:
    return b"".join(field(1, field(1, clock) + field(2, ns)) for clock, ns in readings)


def rounds_of(rounds: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]) -> bytes:
    return b"".join(
        field(1, field(2, clocks_of(client)) + field(3, clocks_of(host))) for client, host in rounds
    )


def synced(message: bytes, machine: int = CLIENT) -> bytes:
    return field(1, field(98, machine) + field(107, message))


def bounds(data: bytes, machine: int = 1):
    """(clock, snapshot, host, client) of all bounds, and by clock how many make no sense."""
    with opened(data) as t:
        found = []
        between = t.clocks._graph.state.between
        for host, client in between.pairs():
            boxes = between.of(host, client)
            assert (host.clock, host.machine) == (client.clock, 0)
            if client.machine == machine:
                found += [(client.clock, *map(int, row)) for row in zip(*boxes, strict=True)]
        unused = {b.clock.clock: b.unused for b in t.unused_bounds if b.clock.machine == machine}
        return sorted(found), unused


NS = st.sampled_from([0, 1, 2, 3, 5, 8, 10**9, 10**9 + 1, 29 * 10**9, 31 * 10**9, 1 << 55,
                      (1 << 55) + 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 3, (1 << 64) - 1])  # fmt: skip
READINGS = st.lists(st.tuples(st.integers(1, 6), NS), max_size=7)
ROUNDS = st.lists(st.tuples(READINGS, READINGS), max_size=6)


@settings(max_examples=120)
@given(st.lists(ROUNDS, min_size=1, max_size=3))
def test_rounds_bound_what_their_twin_says(syncs):
    check(trace(HOST) + b"".join(synced(rounds_of(rounds)) for rounds in syncs), syncs)


def check(data, syncs):
    """Compare bounds, and which snapshots were worked out, with what plain code makes of rounds."""
    expected, unused = [], {}
    with opened(data) as t:
        worked_out = set(t.clocks._graph.state.between.worked_out.tolist())
    first = 0
    for rounds in syncs:
        used, wrong = bounds_of(rounds)
        instant = first + len(rounds)
        # Of the clocks that have a mean, in order, each has a snapshot after those of the rounds.
        means = mean_clocks(rounds)
        for b in used:
            number = instant + means.index(b.clock) if b.clock in means else first + b.round
            expected.append((b.clock, number, *b.host, *b.client))
        for clock, n in wrong.items():
            unused[clock] = unused.get(clock, 0) + n
        first = instant + len(means)
        assert worked_out >= set(range(instant, first))
    assert bounds(data) == (sorted(expected), unused)


def parsed(data: bytes):
    """The rounds as protozero reads them; None where a message cannot be read to its end."""
    sync = Message(data)
    whole, rounds = sync.complete, []
    for synced_clocks in sync.messages(1):
        whole &= synced_clocks.complete
        sides = []
        for side in (2, 3):
            snapshot = synced_clocks.message(side)
            clocks = snapshot.messages(1)
            whole &= snapshot.complete and all(clock.complete for clock in clocks)
            sides.append([(number_of(c, 1) % (1 << 32), number_of(c, 2)) for c in clocks])
        rounds.append(tuple(sides))
    return rounds if whole else None


def number_of(message: Message, field: int) -> int:
    """The last number of a field: what is none does not count."""
    found = [value for _, value in message.by_id.get(field, []) if isinstance(value, int)]
    return found[-1] if found else 0


MUTATIONS = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(["set", "cut", "add"]), st.binary(max_size=3)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=250)
@given(ROUNDS, MUTATIONS)
def test_whatever_the_bytes_they_are_read_as_protozero_reads_them(rounds, mutations):
    message = bytearray(rounds_of(rounds))
    for at, kind, new in mutations:
        at = min(at, len(message))
        message[at : at + (0 if kind == "add" else len(new))] = b"" if kind == "cut" else new
    data = trace(HOST) + synced(bytes(message))
    expected = parsed(bytes(message))
    if expected is None:
        with pytest.raises(TraceError, match="a RemoteClockSync cannot be parsed"):
            read(data)
    else:
        check(data, [expected])


def mean_clocks(rounds):
    """The clocks that Perfetto takes a mean of: any two neighbouring rounds have all four."""
    found = set()
    for (client1, host1), (client2, host2) in zip(rounds, rounds[1:], strict=False):
        sides = [dict(side) for side in (client1, host1, client2, host2)]
        apart = sides[2].get(BOOTTIME, 0) - sides[0].get(BOOTTIME, 0)
        if apart % (1 << 64) < 30 * 10**9:
            found |= {c for c in sides[0] if all(side.get(c) for side in sides)}
    return sorted(found)


SOUND = [
    ([(BOOTTIME, 100), (REALTIME, 7)], [(BOOTTIME, 1000), (REALTIME, 70)]),
    ([(BOOTTIME, 130), (REALTIME, 8)], [(BOOTTIME, 1020), (REALTIME, 90)]),
]


def test_each_cut_of_a_message_is_an_error_or_whole():
    """Where it is cut between two rounds, the first of them is a message itself."""
    whole = rounds_of(SOUND)
    first = len(rounds_of(SOUND[:1]))
    for size in range(len(whole)):
        data = trace(HOST) + synced(whole[:size])
        if size in (0, first):
            assert bounds(data) == ([], {})
        else:
            with pytest.raises(TraceError, match=r"cannot be parsed \(byte \d+, packet 1\)"):
                read(data)
    assert len(bounds(trace(HOST) + synced(whole))[0]) == 4


@pytest.mark.parametrize(
    "broken",
    [
        field(1, b"\x0b\x0c"),  # a group, which Perfetto's reader does not know
        field(1, field(2, b"\x0a\x05\x08")),  # a clock longer than its snapshot
        field(1, field(3, field(1, b"\x08"))),  # a clock that ends in mid-field
        field(1, field(2, field(1, b"\x10" + b"\x80" * 10 + b"\x01"))),  # an endless number
        b"\x00\x01",  # field 0
    ],
)
def test_what_cannot_be_read_to_its_end_is_an_error(broken):
    for message in (broken, rounds_of(SOUND) + broken, broken + rounds_of(SOUND)):
        with pytest.raises(TraceError, match="a RemoteClockSync cannot be parsed"):
            read(trace(HOST) + synced(message))


def test_unknown_fields_are_passed_over():
    odd = field(9, b"\xff\xff") + field(1 << 20, 7) + varint(77 << 3 | 1) + bytes(8)
    clock = field(1, BOOTTIME) + odd + field(2, 100)
    message = odd + field(1, odd + field(2, odd + field(1, clock)) + field(3, field(1, clock)))
    plain = rounds_of([([(BOOTTIME, 100)], [(BOOTTIME, 100)]), SOUND[1]])
    assert bounds(trace(HOST) + synced(message + rounds_of(SOUND[1:]))) == bounds(
        trace(HOST) + synced(plain)
    )


def test_of_two_lists_of_one_side_the_last_counts():
    """protozero's decoder keeps the last value of a field that is not repeated."""
    other = field(2, clocks_of([(BOOTTIME, 5), (MONOTONIC, 6)]))
    one, two = (field(2, clocks_of(c)) + field(3, clocks_of(h)) for c, h in SOUND)
    message = field(1, other + one) + field(1, other + two)
    assert bounds(trace(HOST) + synced(message)) == bounds(trace(HOST) + synced(rounds_of(SOUND)))


def test_no_rounds_and_empty_rounds():
    assert bounds(trace(HOST) + synced(b"")) == ([], {})
    assert bounds(trace(HOST) + synced(field(1, b"") * 3)) == ([], {})
    spaced = rounds_of(SOUND[:1]) + field(1, b"") + rounds_of(SOUND[1:])
    assert bounds(trace(HOST) + synced(spaced)) == ([], {})


def test_thousands_of_rounds_in_one_message():
    rounds = [([(BOOTTIME, 100 + 20 * k)], [(BOOTTIME, 1000 + 20 * k)]) for k in range(3000)]
    found, unused = bounds(trace(HOST) + synced(rounds_of(rounds)))
    assert len(found) == 2 * 2999
    assert unused == {}
    assert found[-1][2:] == (1000 + 20 * 2998, 1000 + 20 * 2999, 100 + 20 * 2999, 100 + 20 * 2999)


def test_a_message_of_more_readings_than_clocks_are_allowed_is_refused():
    rounds = [([(BOOTTIME, k + 1)], [(BOOTTIME, k + 1)]) for k in range(50)]
    data = trace(snapshot({BOOTTIME: 5})) + synced(rounds_of(rounds))
    with opened(data, max_clocks=100) as t:
        t.read_all()
    with (
        opened(data, max_clocks=99) as t,
        pytest.raises(TraceError, match=r"more than 99 clocks.*\(max_clocks, --max-clocks\)"),
    ):
        t.read_all()


def test_a_message_of_the_host_itself_bounds_nothing():
    with opened(trace(HOST) + synced(rounds_of(SOUND), machine=0)) as t:
        assert t.clocks._graph.state.between.pairs() == []
        assert len(t.clocks._graph.state.between.worked_out) == 2


def test_bounds_come_in_the_order_in_which_their_clocks_first_appear():
    later = [([(MONOTONIC, 5)], [(MONOTONIC, 5)]), ([(MONOTONIC, 6)], [(MONOTONIC, 6)])]
    data = trace(HOST, packet(machine=8), packet(machine=CLIENT)) + b"".join(
        synced(rounds_of(rounds), machine)
        for machine, rounds in ((CLIENT, later), (8, SOUND), (CLIENT, SOUND), (8, later))
    )
    with opened(data) as t:
        assert [client for _, client in t.clocks._graph.state.between.pairs()] == [
            ClockId(MONOTONIC, machine=2),
            ClockId(REALTIME, machine=1),
            ClockId(BOOTTIME, machine=1),
            ClockId(REALTIME, machine=2),
            ClockId(BOOTTIME, machine=2),
            ClockId(MONOTONIC, machine=1),
        ]


def test_messages_built_by_the_library_and_by_hand_are_the_same():
    by_library = remote_sync([(dict(client), dict(host)) for client, host in SOUND])
    assert by_library.SerializeToString() == rounds_of(SOUND)
