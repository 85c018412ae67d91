"""The offset's bar holds the truth, whatever the delays are, of a machine whose clock drifts."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_network import MS, US, Network, S, pinged, steady

from tracetime.errors import NoBoundError
from tracetime.hosts.messages import Epoch, OffsetBounds
from tracetime.hosts.ping import BURST, Pinging, estimate, pause_s
from tracetime.hosts.rounds import Round

DRIFT = 0.001502

delays = st.sampled_from((0, 1, 500, 20 * US, 300 * US, 5 * MS, 80 * MS))


@given(
    st.integers(-(10**11), 10**15),
    st.floats(-480, 480),
    st.lists(st.tuples(delays, st.integers(0, 50 * US)), min_size=2, max_size=20),
    st.integers(1, 6),
    st.sampled_from((0, 10 * MS, S, 60 * S)),
)
def test_the_bar_holds_the_truth(offset_ns, drift_ppm, waits, bursts, pause_ns):
    random = Random(len(waits))

    def delay():
        least, more = random.choice(waits)
        return least + more

    network = Network(offset_ns, drift_ppm, delay)
    pinging = pinged(network, bursts, pause_ns)
    assert len(pinging.rounds.kept) == bursts
    found = estimate(pinging.rounds.kept, network.now)
    assert found.earliest_ns <= network.truth() <= found.latest_ns
    assert found.earliest_ns <= found.offset_ns <= found.latest_ns


@pytest.mark.parametrize("pause_ns", [10 * MS, S, 60 * S])
def test_the_bar_is_half_the_delay_and_the_drift_since(pause_ns):
    network = Network(5 * S, 100, lambda: 20 * US)
    rounds = pinged(network, 3, pause_ns).rounds.kept
    found = estimate(rounds, network.now)
    since_ns = network.now - rounds[-1].sent_ns
    half = (found.latest_ns - found.earliest_ns) / 2
    assert 20 * US <= half <= 20 * US + since_ns * DRIFT + 10


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda network, k: setattr(network, "offset_ns", k * MS), "by 7.* us"),
        (lambda network, k: setattr(network, "offset_ns", -k * 5 * MS), "by 4.* ms"),
        # The other clock stands still, or runs at half the rate.
        (lambda network, k: setattr(network, "drift_ppm", -1_000_000), "by 100 ms"),
        (lambda network, k: setattr(network, "drift_ppm", -500_000), "by 50.* ms"),
    ],
)
def test_rounds_that_contradict_each_other_bound_nothing(change, says):
    network = Network(5 * S, 0, lambda: 20 * US)
    pinging = Pinging(network, epoch=Epoch(steady))
    for k in range(3):
        change(network, k)
        pinging.burst()
        network.now += 100 * MS
    with pytest.raises(NoBoundError, match=f"contradict each other {says}: a clock of the two"):
        estimate(pinging.rounds.kept, network.now)


def test_an_asymmetric_delay_is_within_the_bar():
    waits = iter([MS, 0] * BURST)
    network = Network(7 * S, 0, lambda: next(waits))
    found = estimate(pinged(network, 1, 0).rounds.kept, network.now)
    assert found.earliest_ns <= network.truth() <= found.latest_ns
    # A round's middle is off by half the delay.
    assert abs(found.offset_ns - network.truth()) >= 400 * US


def test_a_suspend_there_ends_what_was_known():
    """BOOTTIME went on by less than it took: the rounds before would deny what is true now."""
    ahead = [0]
    network = Network(5 * S, 0, lambda: MS, lambda: OffsetBounds(0, ahead[0] - 100, ahead[0] + 100))
    pinging = pinged(network, 2, 10 * MS)
    network.offset_ns -= 900 * US
    ahead[0] = 10 * S
    # The first request is left without a reply: it may have come in before.
    pinging.burst()
    assert (pinging.rounds.counts.lost, pinging.rounds.counts.restarts) == (1, 0)
    pinging.burst()
    assert pinging.rounds.counts.restarts == 1
    assert len(pinging.rounds.kept) == 1
    found = estimate(pinging.rounds.kept, network.now)
    assert found.earliest_ns <= network.truth() <= found.latest_ns


def test_a_suspend_here_ends_what_was_known():
    ahead = [0]
    network = Network(5 * S, 0, lambda: MS)
    pinging = pinged(network, 2, 10 * MS, Epoch(lambda: OffsetBounds(0, ahead[0], ahead[0] + 100)))
    network.offset_ns += 900 * US
    ahead[0] = 10 * S
    pinging.burst()
    assert (pinging.rounds.counts.void, pinging.rounds.counts.restarts) == (1, 1)
    found = estimate(pinging.rounds.kept, network.now)
    assert len(pinging.rounds.kept) == 1
    assert found.earliest_ns <= network.truth() <= found.latest_ns


def test_without_rounds_nothing_is_known():
    assert estimate([], 5) is None


@pytest.mark.parametrize(
    ("target_ns", "pause"),
    [(None, 0.1), (10 * US, 0.01), (170 * US, 0.1), (S, 60.0), (1, 0.01)],
)
def test_the_time_between_bursts_follows_the_bar_that_is_wanted(target_ns, pause):
    rounds = [Round(0, 0, 0, 40 * US)]
    assert pause_s(rounds, target_ns) == pytest.approx(pause)
    assert pause_s([], target_ns) == 0.1
