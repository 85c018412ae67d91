"""A clock of another unit than it says is reported as that, also with few snapshots."""

from fractions import Fraction

import pytest
from building import MONOTONIC
from faults import GPU, START, Model, S
from reading import opened

from tracetime import diagnose

RATES = [
    Fraction(1000),
    Fraction(1, 1000),
    Fraction(192, 10_000),
    Fraction(12, 5),
    Fraction(49, 50),
]


def findings(model, **options):
    with opened(model.build()) as trace:
        return diagnose(trace, **options)


def counting(clock, rate, snapshots, gap_ns):
    model = Model()
    model.n, model.time = snapshots, lambda k: START + k * gap_ns
    read, zero = model.reads[clock], model.reads[clock](START)
    more = 10**15 // model.units.get(clock, 1)
    model.reads[clock] = lambda t: more + int((read(t) - zero) * rate)
    return model


@pytest.mark.parametrize("snapshots", [3, 4, 6, 60])
@pytest.mark.parametrize("gap_ns", [S // 10, S, 10 * S])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("clock", [GPU, 64, MONOTONIC])
def test_a_wrong_unit_is_no_step(clock, rate, gap_ns, snapshots):
    (found,) = findings(counting(clock, rate, snapshots, gap_ns))
    assert (found.code, found.severity) == ("rate-not-nominal", "error")
    assert found.clocks[0].clock == clock
    assert found.worst_ns >= abs(rate - 1) * gap_ns * Fraction(99, 100)


def test_the_tolerance_decides_here_too():
    model = counting(GPU, Fraction(49, 50), 6, S // 10)
    (found,) = findings(model, tolerance_ns=10 * S)
    assert (found.code, found.severity) == ("rate-not-nominal", "warning")
