"""The estimate from orders: windows, the smoother, and how near the truth it comes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from message_bars import drift_bars
from message_worlds import PPM, Clocks, Model, S, both_ways

from tracetime._kernels.evidence import curve_values, fastest, knee, smooth_pings
from tracetime.graph.tube import order_estimate
from tracetime.graph.tube.evidence import WIDEST
from tracetime.graph.tube.order_estimate import estimate_curve

W = 1 * PPM
SHORT = Clocks(seconds=120.0)


def curve_of(world, **rest):
    bounds = world.bounds(**rest)
    curve = estimate_curve(*bounds.open_sides(WIDEST), W, drift_bars(bounds))
    assert curve is not None
    return curve


def missed(world, curve, margin=2.0):
    """By how much a curve misses the truth, ns, every 100 ms."""
    at = np.arange(margin, world.there.sent[-1] / S - margin, 0.1) * S
    at = at.astype(np.int64) + world.a_ns
    return curve.at(at) + (curve.origin_ns - world.origin_ns) - world.truth(at)


def rms(values):
    return np.sqrt(np.mean(values**2))


# What the median of these seeds gives, and a third more.
@pytest.mark.parametrize(
    ("rate", "kind", "load", "most_ns"),
    [
        (10, "lognormal", 0.1, 24),
        (10, "pareto", 0.9, 95),
        (100, "lognormal", 0.1, 5.5),
        (100, "lognormal", 0.9, 20),
        (100, "pareto", 0.9, 20),
    ],
)
def test_near_the_truth(rate, kind, load, most_ns):
    model = Model(rate, Clocks(seconds=300.0), **both_ways(kind, load))
    worlds = [model.world(seed) for seed in (1, 2, 3)]
    assert np.median([rms(missed(world, curve_of(world))) for world in worlds]) < most_ns


def test_windows_too_long_to_be_surer_are_not_tried(monkeypatch):
    """There may be tens of thousands of pairs of few messages each."""
    tried = []
    find = order_estimate.fastest

    def counted(*args):
        tried.append(args[5])
        return find(*args)

    monkeypatch.setattr(order_estimate, "fastest", counted)
    curve_of(Model(0.35, SHORT).world(3))
    assert tried[:: order_estimate.PASSES] == [19, 10]
    tried.clear()
    curve_of(Model(0.12, SHORT).world(3))
    assert tried[:: order_estimate.PASSES] == [3]


def test_its_deviation_is_what_it_misses_by():
    model = Model(20, Clocks(seconds=200.0), **both_ways(load=0.5))
    ratios = []
    for seed in range(1, 9):
        world = model.world(seed)
        curve = curve_of(world)
        ratios.append(rms(missed(world, curve)) / np.sqrt(np.median(curve.variance)))
    assert 0.7 < np.median(ratios) < 1.5


def test_a_rate_of_its_own_is_known_too():
    world = Model(100, SHORT).world(5)
    curve = curve_of(world)
    at = curve.x[5:-5].astype(float)
    true = (world.offset(at + S / 20) - world.offset(at - S / 20)) / (S / 10)
    wrong = (curve.rate[5:-5] - true) / np.sqrt(curve.rate_variance[5:-5])
    assert 0.5 < rms(wrong) < 2


def test_origins_do_not_matter():
    """An offset as of REALTIME and MONOTONIC, and readings at the end of int64."""
    near = Model(50, SHORT).world(2)
    far = Model(50, SHORT, a_ns=2**63 - 200 * S, b_ns=2**62).world(2)
    one, other = curve_of(near), curve_of(far)
    np.testing.assert_array_equal(other.x - far.a_ns, one.x)
    np.testing.assert_allclose(
        other.offset + (other.origin_ns - far.origin_ns), one.offset + one.origin_ns, atol=1e-3
    )
    np.testing.assert_allclose(other.rate, one.rate, atol=1e-12)


def test_where_it_begins_does_not_matter():
    """Bars whose middle is tilted by 50 ppm, and few windows."""
    for seed in range(1, 4):
        bounds = Model(10, Clocks(seconds=20.0)).world(seed).bounds()
        x, low, high = drift_bars(bounds)
        tilt = (x - x[0]) // 20_000
        sides = bounds.open_sides(WIDEST)
        one = estimate_curve(*sides, W, (x, low, high))
        other = estimate_curve(*sides, W, (x, low + tilt, high + tilt))
        assert one is not None and other is not None
        np.testing.assert_allclose(
            other.at(x) + other.origin_ns, one.at(x) + one.origin_ns, rtol=0, atol=20
        )


def test_an_asymmetric_path_shifts_it_by_half():
    delays = both_ways(load=0.5)
    slow = {"there": delays["there"], "back": both_ways(load=0.5, base_ns=30_000.0)["back"]}
    world, same = (Model(100, SHORT, **ways).world(1) for ways in (slow, delays))
    shift = missed(world, curve_of(world)).mean() - missed(same, curve_of(same)).mean()
    assert shift == pytest.approx(-5_000, abs=5)


def test_snapshots_are_messages_both_ways():
    at = np.arange(200, dtype=np.int64) * S // 2
    offset = 1_000 + at // 50_000
    curve = estimate_curve(at, offset - 300, offset + 300, W, (at, offset - 300, offset + 300))
    assert curve is not None
    np.testing.assert_allclose(curve.at(at) + curve.origin_ns, offset, atol=1)


def test_one_direction_has_no_curve():
    bounds = Model(50, SHORT).world(1).bounds()
    a, low, high = (column[bounds.above] for column in bounds.open_sides(WIDEST))
    assert estimate_curve(a, low, high, W, drift_bars(bounds)) is None


def test_no_orders_and_one_instant():
    none = np.empty(0, dtype=np.int64)
    assert estimate_curve(none, none, none, W, (none, none, none)) is None
    far = np.array([-(2**63), 2**63 - 1])
    assert estimate_curve(far, far * 0 - 5, far * 0 + 5, W, (far, far * 0 - 5, far * 0 + 5)) is None
    one = np.array([7], dtype=np.int64)
    assert estimate_curve(one, one - 5, one + 5, W, (one, one - 5, one + 5)) is None


def test_a_lone_exchange():
    a = np.array([0, S], dtype=np.int64)
    low, high = np.array([100 - WIDEST, -60]), np.array([100, WIDEST - 60])
    bars = (a, np.array([-60, -60]), np.array([100, 100]))
    curve = estimate_curve(a, low, high, W, bars)
    assert curve is not None
    assert curve.at(np.array([S // 2])) + curve.origin_ns == pytest.approx([20])


# ---- a rate that changes at once


def missed_near(world, curve, knees):
    """The worst instant, ns, of some seconds around each knee."""
    at = np.concatenate([knee_ns + np.linspace(-3, 3, 1201) * S for knee_ns, _ in knees])
    at = np.unique(at.astype(np.int64))
    return np.abs(curve.at(at) + curve.origin_ns - world.truth(at)).max()


@pytest.mark.parametrize("ppm", [2, -5, 20, 50])
def test_it_starts_anew_at_a_knee(ppm):
    knees = [(50.3 * S, ppm * PPM)]
    for seed in range(1, 4):
        world = Model(50, Clocks(seconds=120.0, walk=1e-9, knees=knees)).world(seed)
        curve = curve_of(world)
        assert np.abs(curve.knees - 50.3 * S).tolist() == [pytest.approx(0, abs=S / 20)]
        assert missed_near(world, curve, knees) < 50
        assert rms(missed(world, curve)) < 10


def test_a_knee_among_few_messages():
    knees = [(50.3 * S, 50 * PPM)]
    model = Model(10, Clocks(seconds=120.0, knees=knees), **both_ways("pareto", 0.9))
    for seed in range(1, 13):
        world = model.world(seed)
        assert missed_near(world, curve_of(world), knees) < 450


def test_three_knees():
    knees = [(30.0 * S, 20 * PPM), (60.0 * S, -30 * PPM), (90.0 * S, 5 * PPM)]
    world = Model(100, Clocks(seconds=120.0, knees=knees)).world(4)
    curve = curve_of(world)
    np.testing.assert_allclose(curve.knees, [30 * S, 60 * S, 90 * S], atol=S / 20)
    assert missed_near(world, curve, knees) < 100
    assert np.all(np.diff(curve.x) >= 0)


@pytest.mark.parametrize("walk", [1e-8, 3e-7])
def test_no_knee_is_invented(walk):
    for seed in (1, 2):
        world = Model(50, Clocks(seconds=200.0, walk=walk)).world(seed)
        assert len(curve_of(world).knees) == 0


# ---- the kernel against plain Python

times = st.lists(st.floats(0, 50), min_size=1, max_size=40).map(lambda t: np.sort(t) - min(t))
columns = st.tuples(times, st.integers(0, 2**32 - 1))


def plain_value(x, offset, rate, t):
    """Cubic Hermite between knots, in Newton's form."""
    if not len(x):
        return 0.0
    k = int(np.searchsorted(x, t, side="right")) - 1
    if k < 0 or k == len(x) - 1:
        end = max(k, 0)
        return offset[end] + rate[end] * (t - x[end])
    d, p = x[k + 1] - x[k], t - x[k]
    mean = (offset[k + 1] - offset[k]) / d
    bend = (mean - rate[k]) / d
    return (
        offset[k]
        + rate[k] * p
        + bend * p**2
        + (rate[k] + rate[k + 1] - 2 * mean) / d**2 * p**2 * (p - d)
    )


@settings(max_examples=100)
@given(columns, st.integers(0, 5), st.floats(0.3, 60))
def test_fastest_twin(given_columns, knots, window):
    t, seed = given_columns
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-5, 60, knots))
    offset, rate = rng.normal(0, 100, knots), rng.normal(0, 10, knots)
    high = np.where(rng.random(len(t)) < 0.5, np.inf, rng.normal(100, 50, len(t)))
    low = np.where(rng.random(len(t)) < 0.5, -np.inf, rng.normal(-100, 50, len(t)))
    curve = np.array([plain_value(x, offset, rate, at) for at in t])
    np.testing.assert_allclose(curve_values(x, offset, rate, t), curve, atol=1e-6)
    begin, windows = -window / 2, int(55 / window) + 1
    least, most = fastest(t, high, low, begin, window, windows, x, offset, rate)
    number = np.minimum(np.floor((t - begin) / window).astype(int), windows - 1)
    assert len(least) == len(most) == windows
    for k in range(len(least)):
        some = number == k
        expected = (high - curve)[some].min(initial=np.inf)
        assert least[k] == pytest.approx(expected, abs=1e-6)
        assert most[k] == pytest.approx((low - curve)[some].max(initial=-np.inf), abs=1e-6)


def test_smooth_is_least_squares():
    """Given the density and the noise, the smoother is the posterior of a Gaussian model."""
    rng = np.random.default_rng(3)
    n, wander = 40, 100.0
    x = np.cumsum(rng.uniform(0.5, 2, n))
    walk = np.cumsum(rng.normal(0, 30, n))
    y = np.cumsum(walk * np.diff(x, prepend=0)) + rng.normal(0, 5, n)
    state, density = smooth_pings(x, y, np.full(n, 25.0), wander)
    found = []
    for scale in (3.0, 1.0, 0.3):
        # A line of which nothing is known, and an integrated walk from the first ping on.
        d = x - x[0]
        early, late = np.minimum.outer(d, d), np.maximum.outer(d, d)
        walked = density * early**2 * (3 * late - early) / 6
        weight = np.linalg.inv(walked + np.diag(np.full(n, 25.0 * scale)))
        line = np.stack([np.ones(n), d], axis=1)
        fit = line @ np.linalg.solve(line.T @ weight @ line, line.T @ weight @ y)
        found.append(np.abs(fit + walked @ weight @ (y - fit) - state[:, 0]).max())
    assert min(found) < 1e-2
    assert 225 < density < 3600


def plain_likelihood(d, y, noise, density):
    """Of an integrated walk with a line of which nothing is known, up to a constant."""
    n = len(d)
    early, late = np.minimum.outer(d, d), np.maximum.outer(d, d)
    covariance = density * early**2 * (3 * late - early) / 6 + np.diag(noise)
    weight, line = np.linalg.inv(covariance), np.stack([np.ones(n), d], axis=1)
    inside = line.T @ weight @ line
    left = y - line @ np.linalg.solve(inside, line.T @ weight @ y)
    known = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inside)[1]
    return -0.5 * (known + left @ weight @ left)


def test_the_gain_of_a_knee():
    """Two lines that meet, of the walk that explains either best, against one walk for both."""
    rng = np.random.default_rng(8)
    x = np.arange(30.0)
    y = np.where(x > 14.3, 40 * (x - 14.3), 0.0) + rng.normal(0, 5, 30)
    gain, at = knee(x, y, np.full(30, 25.0), 100.0, 4)
    assert at == pytest.approx(14.3, abs=0.5)
    densities, scales = 1e4 * 10.0 ** -(np.arange(17) / 2), (3.0, 1.0, 0.3)
    noise = np.full(30, 25.0)

    def best(parts):
        return max(
            sum(plain_likelihood(x[p] - x[p][0], y[p], f * noise[p], q) for p in parts)
            for q in densities
            for f in scales
        )

    # Ping 14 is left out; that both lines meet adds the likelihood of one more difference.
    apart = best([slice(0, 14), slice(15, 30)]) - best([slice(0, 30)])
    assert gain == pytest.approx(apart, abs=6)
    assert gain > 20


def test_no_gain_without_a_knee():
    rng = np.random.default_rng(9)
    x, y = np.arange(60.0), rng.normal(0, 5, 60)
    assert knee(x, y, np.full(60, 25.0), 100.0, 4)[0] < 15
    assert knee(x[:8], y[:8], np.full(8, 25.0), 100.0, 4)[0] == -np.inf
