"""Stamps of REALTIME as BOOTTIME: within what two readings leave, and not across a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.hosts.messages import OffsetBounds
from tracetime.hosts.stamps import KernelClock, StampedTimes

REAL = 1_700_000_000_000_000_000


class Machine:
    """Clocks at `now` of BOOTTIME, REALTIME `real` ahead; a reading takes `read_ns`."""

    def __init__(self, now=1_000_000, real=REAL, read_ns=100):
        self.now, self.real, self.read_ns = now, real, read_ns
        self.tells, self.set_back = True, False

    def step(self, by_ns):
        self.real += by_ns
        self.set_back = self.tells

    def ahead(self):
        before, there = self.now, self.now + self.read_ns // 3 + self.real
        self.now += self.read_ns
        return OffsetBounds(self.now, before - there, self.now - there)

    def was_set(self):
        told, self.set_back = self.set_back, False
        return told

    def stamp(self):
        return self.now + self.real

    def times(self):
        return StampedTimes(KernelClock(self.ahead, self.was_set))


def test_a_stamp_is_boottime_within_the_readings():
    machine = Machine()
    times = machine.times()
    machine.now += 5000
    stamp, truth = machine.stamp(), machine.now
    machine.now += 7000
    times.update()
    low, high = times.bounds(stamp)
    assert low <= truth <= high <= low + 100 + 4
    assert truth <= times.came_in(stamp, machine.now) <= truth + 104
    assert truth - 104 <= times.left(stamp, truth - 3000, machine.now) <= truth


def test_without_a_stamp_the_own_readings_are_taken():
    times = Machine().times()
    assert times.came_in(None, 77) == 77
    assert times.left(None, 55, 77) == 55


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("by_ns", [-3_600_000_000_000, -2000, 2000, 3_600_000_000_000])
def test_a_stamp_before_a_step_never_says_too_much(by_ns, tells):
    """The kernel tells of the step, or the readings alone show it."""
    machine = Machine()
    machine.tells = tells
    times = machine.times()
    machine.now += 50_000
    stamp, truth = machine.stamp(), machine.now
    machine.step(by_ns)
    machine.now += 10_000
    times.update()
    read = machine.now
    assert truth <= times.came_in(stamp, read) <= read
    assert times.left(stamp, truth - 500, truth + 500) <= truth


def test_a_step_there_and_back_that_the_kernel_tells_of_is_seen():
    machine = Machine()
    times = machine.times()
    machine.now += 50_000
    machine.step(-20_000)
    stamp, truth = machine.stamp(), machine.now
    machine.step(20_000)
    machine.now += 1000
    times.update()
    assert times.bounds(stamp) is None
    assert times.came_in(stamp, machine.now) >= truth


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from((0, 0, 0, -(10**7), -900, 900, 10**7))),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5000),
)
def test_no_step_makes_a_datagram_come_in_too_early(moments, read_ns):
    machine = Machine(read_ns=read_ns)
    times = machine.times()
    for pause, by_ns in moments:
        machine.now += pause
        stamp, truth = machine.stamp(), machine.now
        if by_ns:
            machine.step(by_ns)
        machine.now += 300
        read = machine.now
        times.update()
        assert truth <= times.came_in(stamp, read) <= read
