"""Exchanges with a peer of a recording, over a simulated network: what is written, and when."""

from __future__ import annotations

from itertools import count
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import opened
from simulated_network import MS, US, Network, S, steady

from tracetime import ClockId
from tracetime._kernels.perfetto.packets import snapshot_packet
from tracetime.capture.peers import PeerRecording
from tracetime.hosts import peer
from tracetime.hosts.messages import Epoch, OffsetBounds
from tracetime.hosts.peer import NO_REPLY, RESTARTED, PeerExchanges, Waits
from tracetime.hosts.ping import Pinging
from tracetime.hosts.servers import Responder

HERE = ClockId(6)


class Recording:
    """Keeps what a peer puts, up to a number of packets."""

    def __init__(self, target_error_ns=None, most=1 << 30):
        self.data, self.notes, self.most = b"", [], most
        numbers = count(1)
        self.given = PeerRecording(
            0.5, target_error_ns, lambda: next(numbers), self.put, self.notes.append
        )

    def put(self, packets):
        self.most -= 1
        if self.most >= 0:
            self.data += packets
        return self.most >= 0

    def trace(self):
        return opened(snapshot_packet(1, 6, [(6, 999 * S, 1)], b"") + self.data)


class Suspends:
    """How far BOOTTIME is ahead of MONOTONIC."""

    def __init__(self):
        self.ahead = 0

    def __call__(self):
        return OffsetBounds(0, self.ahead - 100, self.ahead + 100)


def exchanging(network, recording, epoch=None):
    pinging = Pinging(network, epoch=epoch or Epoch(steady))
    return PeerExchanges("worker7", pinging, recording.given, Waits())


def test_each_burst_is_written_at_once_as_a_machine_with_its_name():
    recording = Recording()
    exchanges = exchanging(Network(5 * S, 90, lambda: 20 * US), recording)
    for n in (1, 2, 3):
        assert exchanges.burst() == 0.5
        assert exchanges.written == n
        with recording.trace() as trace:
            assert trace.machines == [0, 1]
            assert all(n <= one.orders <= 3 * n for one in trace.clocks.orders())
    assert exchanges.machines == [1]
    assert recording.notes == []


@pytest.mark.parametrize("side", ["here", "there"])
def test_a_suspend_of_either_side_is_told_and_makes_another_machine(side):
    suspends = Suspends()
    network = Network(5 * S, 0, lambda: 20 * US, suspends if side == "there" else steady)
    recording = Recording()
    epoch = Epoch(suspends) if side == "here" else None
    exchanges = exchanging(network, recording, epoch)
    exchanges.burst()
    suspends.ahead += S
    network.offset_ns += 100 * MS
    for _ in range(2):
        exchanges.burst()
    assert exchanges.machines == [1, 2]
    # Who was suspended has not replied to the request of before.
    assert recording.notes == [NO_REPLY, RESTARTED][side == "here" :]
    with recording.trace() as trace:
        at = network.now
        for machine, apart in ((1, 5 * S), (2, 5 * S + 100 * MS)):
            there = ClockId(6, machine=machine)
            found = trace.clocks.convert(at, HERE, there, policy="tube", bounds=True)
            assert found.earliest <= at + apart <= found.latest


def test_a_peer_that_begins_a_new_epoch_with_each_burst_is_asked_ever_less(monkeypatch):
    """Each is another machine in the file."""
    now_s = 0.0
    monkeypatch.setattr(peer.time, "monotonic", lambda: now_s)
    network = Network(0, 0, lambda: 20 * US)
    exchanges = exchanging(network, Recording())
    pauses = []
    for _ in range(9):
        pauses.append(exchanges.burst())
        now_s += pauses[-1]
        network.responder = Responder(epoch=Epoch(steady))
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert exchanges.machines == [*range(1, 10)]
    # One that lasts is waited for no longer than any.
    exchanges.burst()
    now_s += 120
    network.responder = Responder(epoch=Epoch(steady))
    assert exchanges.burst() == 1


def test_a_peer_that_does_not_reply_is_told_and_nothing_is_written():
    network = Network(0, 0, lambda: 20 * US)
    network.exchange = lambda *_: None
    recording = Recording()
    exchanges = exchanging(network, recording)
    assert exchanges.burst() == exchanges.burst() == 0.5
    assert (recording.data, recording.notes) == (b"", [NO_REPLY] * 2)
    assert exchanges.machines == []


def test_a_file_that_is_full_ends_it():
    recording = Recording(most=2)
    exchanges = exchanging(Network(0, 0, lambda: 20 * US), recording)
    assert exchanges.burst() == 0.5
    assert exchanges.burst() is None
    assert exchanges.written == 1


@pytest.mark.parametrize(
    ("target_ns", "pause_s", "notes"),
    [(25 * US, 0.01, 0), (1_520 * US, 1.0, 0), (S, 60.0, 0), (20 * US, 0.5, 1), (1, 0.5, 1)],
)
def test_the_interval_follows_the_target_where_a_round_can_reach_it(target_ns, pause_s, notes):
    recording = Recording(target_error_ns=target_ns)
    exchanges = exchanging(Network(0, 0, lambda: 20 * US), recording)
    for _ in range(3):
        assert exchanges.burst() == pytest.approx(pause_s, rel=0.01)
    assert len(recording.notes) == notes
    assert all("no interval brings the error below the target" in one for one in recording.notes)


def test_memory_does_not_grow_with_a_recording():
    recording = Recording()
    pinging = Pinging(Network(0, 0, lambda: 20 * US), epoch=Epoch(steady))
    exchanges = PeerExchanges("worker7", pinging, recording.given, Waits())
    for _ in range(50):
        exchanges.burst()
    assert (len(pinging.rounds.kept), len(pinging.rounds.exchanges)) == (1, 0)


@given(
    st.integers(0, 2**32),
    st.floats(-480, 480),
    st.integers(-(10**11), 10**15),
    st.sampled_from((10 * MS, S, 60 * S)),
)
def test_bars_hold_the_truth_and_never_lose_a_burst_s_fastest_round(seed, drift, offset, pause_ns):
    """Slow one way in some bursts, with replies that are lost."""
    random = Random(seed)
    network = Network(
        offset,
        drift,
        lambda: 20 * US + int(random.expovariate(1 / (300 * US))) * random.choice((0, 1)),
    )
    exchange = network.exchange
    network.exchange = lambda *a: None if random.random() < 0.1 else exchange(*a)
    recording = Recording()
    exchanges = exchanging(network, recording)
    times, truths = [], []
    for _ in range(5):
        exchanges.burst()
        times.append(network.now)
        truths.append(network.there())
        network.now += pause_ns
    if not exchanges.written:
        return
    with recording.trace() as trace:
        for bars in ("estimated", "guaranteed"):
            found = trace.clocks.convert(
                np.array(times), HERE, ClockId(6, machine=1), policy="tube", bars=bars, bounds=True
            )
            assert np.all((found.earliest <= truths) & (truths <= found.latest))
