"""A clock of another unit than it says is reported as that, also with few snapshots."""

from fractions import Fraction

import pytest
from building import MONOTONIC
from faults import GPU, START, Model, S
from reading import opened

import tracetime as tt
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


def rates_of(path, **options):
    """The findings about rates in a file."""
    with tt.open_trace(path, **options) as trace:
        found = [
            one for one in diagnose(trace) if one.code in ("rate-not-nominal", "tsc-without-rate")
        ]
        assert not [one for one in diagnose(trace) if one.code.startswith("drift")]
        return found


def ticking(ticks_per_s, snapshots=30, clock="com.mcu_ticks"):
    rows = (f"{1_700_000_000 * S + k * S},{5_000_000 + k * ticks_per_s}" for k in range(snapshots))
    return "\n".join([f"realtime_ns,{clock}", *rows, ""])


def domain_of(clock, ns_per_tick):
    return tt.ClockDomain(clock, ns_per_tick=ns_per_tick)


@pytest.mark.parametrize("snapshots", [2, 3, 30])
@pytest.mark.parametrize("ticks_per_s", [1_000_000, 19_200_000, 662_700_000, 10**9 + 10**8])
def test_a_column_of_ticks_is_told_until_its_rate_is_declared(tmp_path, ticks_per_s, snapshots):
    (path := tmp_path / "t.csv").write_text(ticking(ticks_per_s, snapshots))
    (found,) = rates_of(path)
    assert f" counts {ticks_per_s / S:.6g} units a ns of REALTIME, not 1" in found.title
    assert "the floor policy takes each for 1 ns" in found.why
    as_said = Fraction(1) / Fraction(f"{ticks_per_s / S:.6g}")
    assert rates_of(path, domains=[domain_of("com.mcu", as_said)]) == []


def test_two_calibrations_microseconds_apart_tell_of_ticks_too(tmp_path):
    (path := tmp_path / "t.csv").write_text("monotonic_ns,com.gpu_ticks\n42,1234\n10086,7890\n")
    (found,) = rates_of(path)
    assert " counts 0.662684 units a ns of MONOTONIC, not 1" in found.title


def test_a_rate_that_is_declared_wrong_is_told(tmp_path):
    (path := tmp_path / "t.csv").write_text(ticking(1_000_000))
    (found,) = rates_of(path, domains=[domain_of("com.mcu", 500)])
    assert " counts 0.001 units a ns of REALTIME, not 0.002" in found.title


def test_a_column_of_ticks_that_last_1_ns_is_in_order(tmp_path):
    (path := tmp_path / "t.csv").write_text(ticking(S))
    assert rates_of(path) == []


def test_a_tsc_whose_rate_is_declared_is_in_order_as_well(tmp_path):
    (path := tmp_path / "t.csv").write_text(ticking(2_400_000_000, clock="TSC"))
    (found,) = rates_of(path)
    assert found.code == "tsc-without-rate"
    assert rates_of(path, domains=[domain_of("TSC", Fraction(5, 12))]) == []
