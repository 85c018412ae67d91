"""The tube's rules one by one, on snapshots small enough to follow by hand."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from tracetime.errors import AMBIGUOUS_SOURCE, RESOLVED, ConversionError, UsageError
from tracetime.graph.ticks import learn_rate, nominal_ns
from tracetime.graph.tube.discontinuities import Discontinuity
from tracetime.graph.tube.evidence import (
    NOT_RECORDED,
    Evidence,
)
from tracetime.graph.tube.findings import _rate_change
from tracetime.graph.tube.joint_readings import JointReadings
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.measurements import Read
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
PPM = 1e-6
STEADY = Limits(100 * PPM, 0.001 * PPM)


def tube(a: list[int], r: list[int], h: int | list[int] = 10, limits: Limits = STEADY) -> Tube:
    halves = h if isinstance(h, int) else ints(h)
    return Tube(Evidence.of(ints(a), ints(r), halves), limits)


def ints(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def bar(made: Tube, t: int, bars: str = "estimated") -> tuple[int, int, int]:
    """Offsets at t: estimate, low, high."""
    got = made.convert(ints([t]), bars=bars)  # type: ignore[arg-type]
    return (int(got.estimate[0]) - t, int(got.earliest[0]) - t, int(got.latest[0]) - t)


def only(made: Tube) -> Discontinuity:
    assert len(made.discontinuities) == 1
    return made.discontinuities[0]


def test_one_snapshot_opens_at_the_drift_limit() -> None:
    made = tube([0], [500])
    assert bar(made, 0) == (500, 490, 510)
    # 100 ppm is no whole number of 2^-52: it is rounded up, and so is the bar, to the next ns.
    assert bar(made, S) == bar(made, -S) == (500, 490 - 100_001, 510 + 100_001)


def test_a_snapshot_of_half_width_0_is_exact() -> None:
    made = tube([0, 10 * S, 20 * S], [500, 700, 901], 0)
    for a, r in ((0, 500), (10 * S, 700), (20 * S, 901)):
        assert bar(made, a) == (r, r, r)
        assert bar(made, a, "guaranteed") == (r, r, r)


def test_between_snapshots_the_bar_is_where_their_cones_meet() -> None:
    assert bar(tube([0, 10 * S], [0, 0], 0), 5 * S, "guaranteed") == (0, -500_001, 500_001)


def test_a_suspend_is_a_zone_with_the_size_it_must_have_had() -> None:
    a = [k * 10 * S for k in range(8)]
    made = tube(a, [0] * 4 + [3_600 * S] * 4, limits=Limits(100 * PPM, 1e-9, rise="suspend"))
    found = only(made)
    assert (found.kind, found.a_from, found.a_to) == ("suspend", 30 * S, 40 * S)
    assert found.size_ns is not None
    assert found.size_ns[0] <= 3_600 * S <= found.size_ns[1]
    assert found.size_ns[1] - found.size_ns[0] < 2_100_000
    assert found.snapshots == (3, 4)
    estimate, low, high = bar(made, 35 * S)
    assert abs(estimate) <= 20
    assert low < 0
    assert high > 3_600 * S
    assert bar(made, 40 * S)[1] >= 3_600 * S - 10


def test_a_counter_that_falls_to_near_zero_is_a_reset() -> None:
    a = [(1_000 + k * 10) * S for k in range(8)]
    b = a[:4] + [k * 10 * S + 3 * S for k in range(4)]
    assert only(tube(a, [y - x for x, y in zip(a, b, strict=True)])).kind == "reset"


def test_a_host_that_was_restarted_was_reset_and_one_set_back_was_not() -> None:
    a = [(1_000 + k * 10) * S for k in range(8)]
    for after, kind in ((100, "reset"), (200_000, "step")):
        b = [650_000 * S + t for t in a[:4]] + [(after + k * 10) * S for k in range(4)]
        assert only(tube(a, [y - x for x, y in zip(a, b, strict=True)])).kind == kind


def test_an_outlier_is_dropped_and_reported() -> None:
    a = [k * 10 * S for k in range(8)]
    made = tube(a, [0, 0, 0, 50_000_000, 0, 0, 0, 0])
    found = only(made)
    assert (found.kind, found.snapshots) == ("outlier", (3,))
    assert found.size_ns is not None
    assert found.size_ns[0] <= 50_000_000 <= found.size_ns[1]
    assert bar(made, 30 * S)[2] < 100


def test_without_two_snapshots_on_each_side_an_outlier_is_a_step() -> None:
    a = [k * 10 * S for k in range(8)]
    made = tube(a, [0, 50_000_000, 0, 0, 0, 0, 0, 0])
    assert [d.kind for d in made.discontinuities] == ["step", "step"]


def test_estimated_bars_drop_a_snapshot_that_three_on_each_side_contradict() -> None:
    a = [k * 10 * S for k in range(8)]
    made = tube(a, [0, 0, 0, 5_000, 0, 0, 0, 0])
    assert only(made).kind == "outlier"
    assert bar(made, 30 * S)[2] < 50
    assert bar(made, 30 * S, "guaranteed")[2] == 5_010


def test_a_knee_is_found_where_the_two_lines_meet() -> None:
    a = [k * 10 * S for k in range(12)]
    truth = [0 if t <= 55 * S else (t - 55 * S) // 50_000 for t in a]
    made = tube(a, truth)
    found = only(made)
    assert (found.kind, found.a_from, found.a_to) == ("rate_change", 50 * S, 60 * S)
    assert found.rate_ppm is not None
    assert found.rate_ppm[0] <= 20 <= found.rate_ppm[1]
    estimate, low, high = bar(made, 55 * S)
    assert low <= 0 <= high
    assert abs(estimate) <= 20
    assert abs(bar(made, 57 * S)[0] - 40_000) <= 20


def test_a_rate_that_changed_by_the_jump_after_it_is_found_across_the_jump() -> None:
    """The two snapshots between change and jump prove no rate of their own."""
    a = [k * 10 * S for k in range(12)]
    rising = [max(0, t - 45 * S) // 50_000 for t in a]
    jumped = [r + 60_000_000 * (t > 65 * S) for t, r in zip(a, rising, strict=True)]
    for r, zone in (
        (jumped, (40 * S, 70 * S)),
        ([r - x for r, x in zip(jumped, rising, strict=True)], None),
    ):
        changes = [d for d in tube(a, r).discontinuities if d.kind == "rate_change"]
        assert [(d.a_from, d.a_to) for d in changes] == ([zone] if zone else [])
        assert all(d.rate_ppm is not None and d.rate_ppm[0] <= 20 <= d.rate_ppm[1] for d in changes)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_change_of_rate_is_found_whichever_way_the_clock_drifts(sign: int) -> None:
    """Where so much wander is declared that a run's tube is as wide as the drift that may be."""
    a = [k * 10 * S for k in range(7)]
    r = [sign * (78 * t if t <= 25 * S else 78 * 30 * S - 44 * (t - 30 * S)) // 10**6 for t in a]
    r = [x + 60_000_000 * (t > 25 * S) for t, x in zip(a, r, strict=True)]
    found = tube(a, r, 50_000, Limits(100 * PPM, 50 * PPM)).discontinuities
    zones = [(d.a_from, d.a_to) for d in found if d.kind == "rate_change"]
    assert zones == [(20 * S, 30 * S)]


def test_a_possible_step_has_the_size_that_its_two_lines_leave_open() -> None:
    """Exact readings: what the lines at either end miss by, and 1 ns of rounding on each side."""
    a = [k * 10 * S for k in range(12)]
    (found,) = tube(a, [0] * 6 + [5_000] * 6, 0, Limits(100 * PPM, 0.0)).discontinuities
    assert (found.kind, found.size_ns) == ("possible_step", (4_998, 5_002))


@pytest.mark.parametrize("start", [1_000 * S, 10**18])
def test_a_clock_was_reset_where_it_has_come_no_farther_since_than_the_zone_is_long(
    start: int,
) -> None:
    """However long the other clock has run, it may be 10 s and what 100 ppm add to them."""
    a = [start + k * 10 * S for k in range(8)]
    for after, kind in ((10 * S + 1_000_001 + 1, "reset"), (10 * S + 1_000_001 + 2, "step")):
        b = [500 * S + k * 10 * S for k in range(4)] + [after + k * 10 * S for k in range(4)]
        assert only(tube(a, [y - x for x, y in zip(a, b, strict=True)], 0)).kind == kind


def test_what_lies_behind_a_jump_is_as_it_is_alone() -> None:
    """Runs, their rates and the snapshots between them: of each segment by itself."""
    a = [k * 10 * S for k in range(30)]
    bent = [0 if k < 10 else 2_000_000 if k == 10 else 400_000 * (k - 10) for k in range(24)]
    alone, behind = tube(a[6:], bent), tube(a, [10**12] * 6 + bent)
    assert {d.kind for d in behind.discontinuities} - {d.kind for d in alone.discontinuities} == {
        "step"
    }
    for t in range(65 * S, 290 * S, 3 * S):
        assert bar(alone, t) == bar(behind, t)


def test_two_lines_that_never_meet_are_a_possible_step() -> None:
    a = [k * 10 * S for k in range(12)]
    made = tube(a, [0] * 6 + [5_000] * 6)
    assert [d.kind for d in made.discontinuities] == ["possible_step"]
    assert bar(made, 55 * S)[1] <= 0
    assert bar(made, 55 * S)[2] >= 5_000


def test_a_value_that_two_instants_had_is_ambiguous() -> None:
    a = [k * 10 * S for k in range(8)]
    made = tube(a, [0] * 4 + [-20 * S] * 4)
    got = made.convert(ints([5 * S, 25 * S, 70 * S]), inverse=True)
    assert got.status.tolist() == [RESOLVED, AMBIGUOUS_SOURCE, RESOLVED]
    assert got.earliest[1] <= 25 * S
    assert got.latest[1] >= 45 * S


def test_a_jump_forward_is_not_ambiguous() -> None:
    a = [k * 10 * S for k in range(8)]
    made = tube(a, [0] * 4 + [20 * S] * 4)
    got = made.convert(ints([25 * S, 45 * S, 65 * S]), inverse=True)
    assert got.status.tolist() == [RESOLVED] * 3
    assert 30 * S <= got.earliest[1] <= got.latest[1] <= 40 * S
    assert got.earliest[2] <= 45 * S <= got.latest[2]


def test_snapshots_of_one_reading_that_agree_are_one() -> None:
    made = tube([0, 0, 10 * S], [0, 15, 0], [10, 10, 10])
    assert bar(made, 0, "guaranteed")[1:] == (5, 10)


def test_snapshots_of_one_reading_that_disagree_on_the_correction_record_none() -> None:
    a, r = ints([0, 0, 10 * S, 10 * S]), ints([0, 0, 5, 5])
    made = Evidence.of(a, r, 10, correction=ints([7, 7, 7, 8]))
    assert made.correction is not None
    assert made.correction.tolist() == [7, NOT_RECORDED]


@pytest.mark.parametrize(
    ("corrections", "most"),
    [((7, 7), 1000), ((7, NOT_RECORDED), 1000), ((7, 307), 301)],
    ids=["the same", "one unknown", "changed"],
)
def test_a_change_of_rate_is_narrowed_by_what_was_recorded_of_it(
    corrections: tuple[int, int], most: int
) -> None:
    """Only where that says that the rate changed: else something else has changed it."""
    slopes = {"slope_low": ints([0, 0]), "slope_high": ints([0, 1000])}
    runs = SimpleNamespace(**slopes, correction=ints(list(corrections)))
    assert _rate_change(runs, 0, 1, 0) == (0 if most == 1000 else 299, most)  # type: ignore[arg-type]


def test_two_brackets_are_as_far_apart_as_both_half_widths_and_the_drift_between_them() -> None:
    b = ints([5_000])
    reads = Read(ints([0]), ints([7])), Read(ints([400]), ints([8]))
    two = JointReadings(ints([0]), b, b + 500, *reads, np.array([False]))
    assert [int(x[0]) for x in two.offsets(0.01)] == [100, 7 + 8 + 4]


def test_a_rate_is_learnt_from_the_ends_or_refused() -> None:
    rate = learn_rate(ints([0, 2_445, 24_450]), ints([7, 1_007, 10_007]))
    assert rate == Fraction(1_000, 2_445)
    assert nominal_ns(ints([2_445, -2_445, 2_446]), rate).tolist() == [1_000, -1_000, 1_000]
    assert nominal_ns(ints([1 << 62]), Fraction(1, 3)).tolist() == [(1 << 62) // 3]
    with pytest.raises(ConversionError, match="rate"):
        learn_rate(ints([5]), ints([5]))
    with pytest.raises(ConversionError, match="fit"):
        nominal_ns(ints([1 << 62]), Fraction(4))


def test_an_undeclared_wander_grows_until_few_snapshots_lie_in_knees() -> None:
    rng = np.random.default_rng(3)
    rate = 3_000 * np.sin(np.arange(400) / 9.0)
    a = np.arange(400, dtype=np.int64) * 10 * S
    r = np.rint(np.cumsum(rate * 10) + rng.uniform(-10, 10, 400)).astype(np.int64)
    made = Tube(Evidence.of(a, r, 11), Limits.of(100, 100))
    assert made.wander[0] > 1.9e-6
    fixed = Tube(Evidence.of(a, r, 11), Limits.of(100, 100, (0.5, 0.5)))
    assert fixed.wander[0] == pytest.approx(1e-6)


def test_limits_of_a_pair() -> None:
    made = Limits.of(500, 100)
    assert made.drift == pytest.approx(600e-6 / (1 - 500e-6), rel=1e-12)
    assert made.wander == pytest.approx(1e-6)
    assert not made.wander_declared
    assert Limits.of(0, 0, shared_oscillator=True).wander == pytest.approx(1e-9)
    with pytest.raises(UsageError, match="ppm"):
        Limits(0.5, 0)


@pytest.mark.parametrize(
    ("a", "r", "h"), [([], [], 1), ([1], [1, 2], 1), ([1], [1], -1), ([1.5], [1], 1)]
)
def test_snapshots_that_are_none_are_refused(a: list[int], r: list[int], h: int) -> None:
    with pytest.raises(UsageError):
        Evidence.of(np.array(a), np.array(r), h)


def test_bars_are_estimated_or_guaranteed() -> None:
    with pytest.raises(UsageError, match="sure"):
        tube([0], [0]).convert(ints([0]), bars="sure")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="earliest"):
        tube([0], [0]).convert(ints([0]), within=(ints([1]), ints([0])))
