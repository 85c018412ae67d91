"""The side that replies: to whom, to what, how often, and not after a suspend."""

import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.hosts.messages import LENGTH, Epoch, OffsetBounds, Reply, read_reply, write_request
from tracetime.hosts.servers import Counts, RateLimit, Responder

KEY = b"0123456789abcdef"
NONCE = bytes(range(16))
S = 1_000_000_000


class Suspends:
    """How far BOOTTIME is ahead of MONOTONIC: `ahead`, read within `width` ns."""

    def __init__(self, width=100):
        self.ahead, self.width = 0, width

    def __call__(self):
        return OffsetBounds(0, self.ahead - self.width, self.ahead + self.width)


def test_a_reply_has_the_nonce_the_epoch_and_both_readings():
    epoch = Epoch(Suspends())
    responder = Responder(KEY, epoch=epoch)
    assert responder.take(write_request(NONCE, KEY), "here", 0) == NONCE
    data = responder.reply(NONCE, 10, 20, (b"0123456789abcdef", 5))
    assert read_reply(data, KEY) == Reply(NONCE, epoch.id, 10, 20, b"01234567", 5)
    assert responder.counts == Counts(replied=1)


def test_a_reply_says_the_boot_where_that_is_known():
    for boot in (b"", bytes(range(16))):
        data = Responder(boot=boot).reply(NONCE, 10, 20, None)
        assert read_reply(data).boot == (boot or bytes(16))


@pytest.mark.parametrize("data", [b"", write_request(NONCE), write_request(NONCE, KEY)[:-1]])
def test_what_is_no_signed_request_is_counted_and_gets_nothing(data):
    responder = Responder(KEY)
    assert responder.take(data, "here", 0) is None
    assert responder.counts == Counts(malformed=1)


def test_a_suspend_between_a_request_and_its_reply_ends_the_epoch():
    suspends = Suspends()
    epoch = Epoch(suspends)
    responder = Responder(epoch=epoch)
    first = epoch.id
    assert responder.take(write_request(NONCE), "here", 0) == NONCE
    suspends.ahead += S
    assert responder.reply(NONCE, 10, 20, None) is None
    assert responder.counts == Counts(suspended=1)
    after = read_reply(responder.reply(NONCE, 10, 20, None))
    assert after.epoch == epoch.id != first


def test_readings_that_are_not_sure_do_not_end_an_epoch():
    suspends = Suspends(width=100)
    epoch = Epoch(suspends)
    suspends.ahead = 150
    assert not epoch.has_ended()
    # What was seen so far leaves 50 to 100.
    suspends.ahead = 0
    assert not epoch.has_ended()
    suspends.ahead = -60
    assert epoch.has_ended()


def test_two_processes_have_two_epochs():
    assert Epoch(Suspends()).id != Epoch(Suspends()).id


def test_a_source_gets_its_burst_and_then_its_rate():
    limit = RateLimit(per_second=10, burst=3, max_sources=8)
    assert [limit.allows("a", 0) for _ in range(5)] == [True] * 3 + [False] * 2
    assert limit.allows("b", 0)
    assert not limit.allows("a", S // 10 - 1)
    assert limit.allows("a", S // 10)
    assert not limit.allows("a", S // 10)
    assert [limit.allows("a", 9 * S) for _ in range(5)] == [True] * 3 + [False] * 2


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 10**8)), max_size=300))
def test_no_source_gets_more_than_its_rate_while_it_is_remembered(calls):
    limit = RateLimit(per_second=20, burst=5, max_sources=300)
    now, got = 0, {}
    for source, pause in calls:
        now += pause
        if limit.allows(source, now):
            got.setdefault(source, []).append(now)
    for times in got.values():
        for k, first in enumerate(times):
            for n, last in enumerate(times[k:], 1):
                assert n <= 5 + (last - first) * 20 / S


def test_sources_are_bounded():
    limit = RateLimit(per_second=1, burst=1, max_sources=100)
    for source in range(10_000):
        assert limit.allows(source, source)
    assert len(limit) == 100


def test_random_datagrams_get_nothing_and_take_no_memory():
    """Random bytes, and requests with a few bytes changed, cut off, or longer."""
    random = Random(1)
    responder = Responder(KEY, RateLimit(1000, 100, 64), Epoch(Suspends()))
    good = write_request(NONCE, KEY)

    def send(n):
        for _ in range(n):
            data = bytearray(good if random.random() < 0.8 else random.randbytes(LENGTH))
            for _ in range(random.randint(1, 4)):
                data[random.randrange(LENGTH)] ^= random.randint(1, 255)
            if random.random() < 0.2:
                data = data[: random.randrange(LENGTH)] + random.randbytes(random.randrange(100))
            if data != good:
                assert responder.take(bytes(data), random.random(), 0) is None

    tracemalloc.start()
    try:
        send(5000)
        before = tracemalloc.get_traced_memory()[0]
        send(20_000)
        assert tracemalloc.get_traced_memory()[0] < before + 10_000
    finally:
        tracemalloc.stop()
    assert responder.counts.replied == responder.counts.limited == 0
    assert responder.counts.malformed > 20_000
