"""The domain of a clock that is not declared."""

import pytest

from tracetime import ClockDomain
from tracetime.clocks.ids import ClockId

NUMBERS = [*range(13), 63, 64, 127, 128, 200, 0x8000_0005]


@pytest.mark.parametrize("machine", [0, 3])
@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_the_one_that_says_nothing_but_the_clock(number, machine):
    """The rate of a TSC alone is open."""
    clock = ClockId(number, machine=machine)
    plain = ClockDomain(clock, ns_per_tick=ClockDomain.rate_of_kind(clock))
    assert ClockDomain.of_kind(clock) == plain
    assert ClockDomain.of_kind(clock).over(plain) == plain


@pytest.mark.parametrize("machine", [0, 3])
def test_one_like_another_has_its_own_name_and_its_machine_s_oscillator(machine):
    clock = ClockId(3, machine=machine)
    more = {"tick_ns": 1000, "max_drift_ppm": 0, "assumed_half_width_ns": 5}
    usual = ClockDomain("MONOTONIC", name="the host's", **more)
    assert usual.of_another(clock) == ClockDomain(clock, **more)
    assert usual.of_another(clock, "another") == ClockDomain(clock, "another", **more)
