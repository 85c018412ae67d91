"""The side that asks: which reply counts, and what ends what is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.hosts.messages import Reply, read_request, write_reply, write_request
from tracetime.hosts.rounds import Round, Rounds, _exchange

KEY = b"0123456789abcdef"
EPOCH = b"epoch__1"


def replied(request, received=1000, left=1100, key=None, **more):
    nonce = read_request(request, key)
    return write_reply(Reply(nonce, more.pop("epoch", EPOCH), received, left, **more), key)


def test_a_round_is_four_readings():
    rounds = Rounds()
    reply = rounds.take(replied(rounds.request()))
    rounds.add(reply, 10, 150)
    assert rounds.kept == [Round(10, 1000, 1100, 150)]
    assert rounds.kept[0].delay_ns == 40


def test_a_reply_counts_once():
    rounds = Rounds()
    data = replied(rounds.request())
    assert rounds.take(data) is not None
    assert rounds.take(data) is None
    assert rounds.counts.ignored == 1


def test_a_late_reply_of_an_earlier_request_is_ignored():
    rounds = Rounds()
    late = replied(rounds.request())
    rounds.lose()
    assert rounds.take(late) is None
    second = replied(rounds.request())
    assert rounds.take(late) is None
    assert rounds.take(second) is not None
    assert (rounds.counts.lost, rounds.counts.ignored) == (1, 2)


@pytest.mark.parametrize("forged", ["unsigned", "another nonce", "another key", "our own request"])
def test_a_forged_reply_is_ignored(forged):
    rounds = Rounds(KEY)
    request = rounds.request()
    nonce = read_request(request, KEY)
    data = {
        "unsigned": write_reply(Reply(nonce, EPOCH, 1, 2)),
        "another nonce": write_reply(Reply(bytes(16), EPOCH, 1, 2), KEY),
        "another key": write_reply(Reply(nonce, EPOCH, 1, 2), KEY[::-1]),
        "our own request": write_request(nonce, KEY),
    }[forged]
    assert rounds.take(data) is None
    assert rounds.take(replied(request, key=KEY)) is not None


def test_another_epoch_drops_the_rounds_before():
    rounds = Rounds()
    for epoch in (EPOCH, EPOCH, b"epoch__2"):
        rounds.add(rounds.take(replied(rounds.request(), epoch=epoch)), 10, 150)
    assert len(rounds.kept) == 1
    assert rounds.counts.restarts == 1


def test_a_suspend_of_this_machine_drops_the_rounds_before():
    rounds = Rounds()
    rounds.add(rounds.take(replied(rounds.request())), 10, 150)
    rounds.request()
    rounds.drop()
    assert rounds.kept == []
    assert (rounds.counts.void, rounds.counts.restarts) == (1, 1)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (Round(10, 1100, 1000, 150), "the other clock ran back"),
        (Round(150, 1000, 1100, 10), "this clock ran back"),
        (Round(10, 1000, 1200, 150), "kept longer than it took"),
        (Round(10, -5, 20, 150), "before the boot"),
        (Round(10, 1 << 62, (1 << 62) + 5, 150), "centuries after"),
    ],
)
def test_readings_that_cannot_be_are_left_out(made, why):
    rounds = Rounds()
    data = replied(rounds.request(), made.received_ns, made.replied_ns)
    rounds.add(rounds.take(data), made.sent_ns, made.returned_ns)
    assert rounds.kept == [], why
    assert rounds.counts.void == 1


def test_a_reply_says_when_the_one_before_left():
    rounds = Rounds()
    first = rounds.request()
    rounds.add(rounds.take(replied(first)), 10, 150)
    before = read_request(first)[:8]
    second = replied(rounds.request(), 2000, 2100, before=before, before_replied_ns=1120)
    rounds.add(rounds.take(second), 1010, 1150)
    assert rounds.kept == [Round(10, 1000, 1120, 150), Round(1010, 2000, 2100, 1150)]


@pytest.mark.parametrize(
    ("before_ns", "same"), [(1099, True), (1141, False), (1145, True), (5000, True)]
)
def test_what_it_says_of_the_one_before_must_be_possible(before_ns, same):
    rounds = Rounds()
    first = rounds.request()
    rounds.add(rounds.take(replied(first)), 10, 150)
    before = read_request(first)[:8]
    second = replied(rounds.request(), 2000, 2100, before=before, before_replied_ns=before_ns)
    rounds.add(rounds.take(second), 1010, 1150)
    assert rounds.kept[0].replied_ns == (1100 if same else before_ns)


def test_a_burst_keeps_its_fastest_round():
    rounds = Rounds()
    for returned in (150, 130, 170):
        rounds.add(rounds.take(replied(rounds.request())), 10, returned)
    rounds.end_burst(0)
    assert [made.returned_ns for made in rounds.kept] == [130]
    rounds.add(rounds.take(replied(rounds.request())), 10, 190)
    rounds.end_burst(1)
    assert [made.returned_ns for made in rounds.kept] == [130, 190]


@pytest.mark.parametrize("wait", [0, 30, 100, 300])
@pytest.mark.parametrize("ahead", [0, 10**9])
def test_perfettos_mean_of_an_exchange_is_the_offset_however_long_both_wait(wait, ahead):
    """A message takes 2, this machine waits 40 between the rounds and the other one `wait`."""
    replied, back = 44 + wait, 46 + wait
    one = Round(-32, ahead - 30, ahead, 2)
    other = Round(42, ahead + 44, ahead + replied, back)
    c1, h1, c2, h2 = _exchange(one, other)[:4]
    assert (c1, h2) == (ahead, back)
    assert 2 <= h1 <= 42
    assert 44 <= c2 - ahead <= replied
    assert abs((c1 + c2) / 2 - h1 + c2 - (h1 + h2) / 2 - 2 * ahead) <= 3


@given(st.lists(st.binary(max_size=100), max_size=30))
def test_whatever_comes_is_ignored(datagrams):
    rounds = Rounds()
    request = rounds.request()
    assert [rounds.take(data) for data in datagrams] == [None] * len(datagrams)
    assert rounds.take(replied(request)) is not None
