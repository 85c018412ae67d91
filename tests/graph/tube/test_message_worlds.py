"""The worlds of messages that other tests use: they are what they say."""

import numpy as np
import pytest
from message_worlds import PPM, US, Clocks, Delays, Model, S, both_ways

NEAR = Clocks(seconds=20.0, knees=[(8e9, 20 * PPM)], steps=[(12e9, 300.0 * US)])


@pytest.mark.parametrize("kind", ["lognormal", "pareto"])
def test_no_message_contradicts_the_truth(kind):
    model = Model(50, NEAR, **both_ways(kind, 0.9), a_ns=7 * S, b_ns=10**18)
    world = model.world(3)
    evidence = world.bounds(tick_ns=2)
    truth = world.truth(evidence.a)
    bound = (evidence.bound - world.origin_ns).astype(float)
    assert np.all(np.where(evidence.above, bound - truth, truth - bound) > 0)
    # The fastest take the base delay and little more.
    assert np.abs(bound - truth).min() < 20.1 * US


def test_a_step_and_a_knee_are_in_the_offset():
    offset = NEAR.draw(np.random.default_rng(1))
    at = np.array([7.0, 9.0, 11.9, 12.1]) * S
    flat = Clocks(seconds=20.0).draw(np.random.default_rng(1))
    np.testing.assert_allclose(offset(at) - flat(at), [0, 20_000, 78_000, 382_000], atol=1e-6)


def test_ticks_and_lost_messages():
    model = Model(100, Clocks(seconds=10.0), share_back=0.1, tick_a_ns=100, tick_b_ns=1_000)
    world = model.world(1)
    assert len(world.back.sent) < 0.2 * len(world.there.sent)
    assert not np.any(world.there.sent % 100) and not np.any(world.there.got % 1_000)
    assert np.any(world.there.got % 10_000)


def test_a_kind_that_does_not_exist():
    with pytest.raises(ValueError, match="no such kind of delay: normal"):
        Delays(kind="normal").draw(np.random.default_rng(1), 3)
