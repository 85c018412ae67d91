"""Changes of rate that half-widths may hide: when estimated bars hold, and when they are reported."""

import numpy as np
import pytest
from simulated import GPU, Machine, usual_clocks

from benchmarks.clocks import START_NS, knees, nanoseconds, snapshots
from benchmarks.rivals import outside, queries
from tracetime import ClockId, diagnose, open_trace, record
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.findings import VISIBLE_HALVES
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
D = 500e-6


def changing(seed, share, wander=1e-9, declared=True):
    """A rate that changes every three snapshots or more, by `share` of a visible change or more."""
    random = np.random.default_rng(seed)
    n, spacing = int(random.choice([30, 60])), float(random.choice([1.0, 10.0]))
    half_ns = float(random.choice([50.0, 1_000.0, 10_000.0]))
    gaps = np.cumsum(3 + random.integers(0, 6, n // 4))
    gaps = gaps[gaps < n - 4]
    times = (gaps + random.uniform(0, 1, len(gaps))) * spacing
    least = share * (2 * wander + VISIBLE_HALVES * half_ns / (spacing * S))
    rates = [random.uniform(-40e-6, 40e-6)]
    for size in least * 10 ** random.uniform(0, 0.5, len(gaps)):
        turn = random.choice([-1, 1]) * size
        rates.append(rates[-1] + (turn if abs(rates[-1] + turn) < 0.9 * D else -turn))
    pair = knees(random, n * spacing, np.array(rates), times)
    a = nanoseconds(np.arange(n) * spacing)
    half = np.full(n, half_ns)
    tube = Tube(
        Evidence.of(a, *snapshots(pair, a, half, random.uniform(-half, half))),
        Limits(D, wander, wander_declared=declared),
    )
    at = queries(random, 0, (a[-1] - START_NS) * 1e-9, 500)
    return tube, at, pair.at(at)


@pytest.mark.parametrize("wander", [1e-9, 1e-6])
def test_bars_hold_changes_of_rate_that_show(wander):
    for seed in range(60):
        assert outside(*changing(seed, 2, wander)) == 0, seed


def test_hidden_changes_can_leave_estimated_bars_and_are_reported():
    """As docs/error-bars.md says; the guaranteed bars hold."""
    missed = untold = 0
    for seed in range(60):
        tube, at, truth = changing(seed, 0.2)
        assert outside(tube, at, truth, "guaranteed") == 0
        out = outside(tube, at, truth)
        missed += out > 0
        untold += out > 0 and tube.nearly_hidden is None
        bar = tube.convert(at)
        beyond = np.maximum(bar.earliest - truth, truth - bar.latest).max()
        assert beyond <= 5 * np.median(tube.evidence.half)
    assert missed > 10
    assert untold == 0


def test_clearly_visible_changes_are_not_reported_as_hidden():
    hidden = [changing(seed, 20)[0].nearly_hidden for seed in range(30)]
    assert hidden == [None] * 30


def test_assumed_widths_and_one_rate_hide_nothing():
    a = nanoseconds(np.arange(60) * 1.0)
    straight = np.random.default_rng(1).integers(-50, 51, 60)
    assert Tube(Evidence.of(a, straight, 51), Limits(D, 1e-9)).nearly_hidden is None
    bent = straight + np.maximum(a - a[30], 0) // 2_000_000
    assert Tube(Evidence.of(a, bent, 51), Limits(D, 1e-9)).nearly_hidden is not None
    assumed = Evidence.of(a, bent, 51, assumed=True)
    assert Tube(assumed, Limits(D, 1e-9)).nearly_hidden is None


@pytest.mark.parametrize(("ppb", "near"), [(6_000, True), (90_000, False)])
def test_the_doctor_reports_changes_of_rate_that_are_hardly_visible(tmp_path, ppb, near):
    machine = Machine(usual_clocks())
    clock = machine.clocks[ClockId.parse(GPU)]
    with record(tmp_path / "t.pftrace", interval=None, sampler=machine) as recorder:
        for k in range(60):
            if k % 15 == 0:
                # From here on faster, or slower again, without a jump.
                change = ppb if k % 30 else -ppb
                clock.rate_ppb += change
                clock.offset_ns -= machine.now_ns * change // 10**9
            recorder.snapshot()
            machine.now_ns += S
    with open_trace(tmp_path / "t.pftrace") as opened:
        found = [f for f in diagnose(opened) if f.code == "rate-changed"]
    assert found
    assert ("estimated error bars may miss" in found[0].why) == near
    assert ("--bars guaranteed" in found[0].fix) == near
