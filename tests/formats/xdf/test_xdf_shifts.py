"""Offsets that shift as no clock drifts; two computers of one name; samples that go back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdf_files import XdfFile

from tracetime import ClockDomain, diagnose, open_trace

AHEAD_S = 20.0
PINGS = 120


def clock(seconds, ppm=15.0):
    """What the host's clock reads at a time of the recorder's."""
    return seconds * (1 + ppm * 1e-6) - AHEAD_S


def recording(extra, seed=0, noise_s=3e-5, ppm=15.0, pings=PINGS):
    """A ping every 5 s, each off by `extra(k)`, and a sample each second; their true times."""
    random, file, truth = np.random.default_rng(seed), XdfFile(), []
    file.stream(1)
    for k in range(pings):
        at = 5.0 * k + 50
        file.offset(1, clock(at, ppm), at - clock(at, ppm) + random.normal(0, noise_s) + extra(k))
        stamps = [at + j for j in range(5)]
        file.samples(1, [clock(stamp, ppm) for stamp in stamps], range(5))
        truth += stamps
    return file, np.rint(np.array(truth) * 1e9)


def read(path, file, **options):
    path.write_bytes(file.content)
    with open_trace(path, **options) as trace:
        table = trace.read_all("tube")
        return table, [one for one in diagnose(trace) if one.code != "no-realtime"]


def misses(table, truth):
    earliest, latest = (table[name].to_numpy() for name in ("earliest", "latest"))
    return int(((truth < earliest) | (truth > latest)).sum())


@settings(max_examples=12)
@given(
    first=st.integers(0, PINGS - 8),
    n=st.integers(2, 60),
    shift_s=st.sampled_from([-8e-3, -1.2e-3, -5e-4, 2.5e-4, 5e-4, 8e-4, 3e-3, 9e-3]),
    seed=st.integers(0, 3),
)
def test_bars_hold_the_truth_through_pings_that_are_slow_one_way(
    tmp_path_factory, first, n, shift_s, seed
):
    """Wherever they begin and however long they last; of four on each side there is a line."""
    first = max(4, first)
    last = first + n if first + n <= PINGS - 4 else PINGS
    file, truth = recording(lambda k: shift_s if first <= k < last else 0.0, seed)
    path = tmp_path_factory.mktemp("shift") / "t.xdf"
    table, found = read(path, file)
    assert misses(table, truth) == 0
    codes = {one.code: one for one in found}
    if abs(shift_s) > 3.5e-4:
        # A line through four pings that scatter says no better how far off the others are.
        size_ns = abs(shift_s) * 1e9
        assert 0.6 * size_ns <= codes["offsets-shifted"].worst_ns <= 1.4 * size_ns + 300_000
    assert "clock-id-collision" not in codes


@settings(max_examples=12)
@given(
    ramp_s=st.sampled_from([20, 40, 80]),
    first_s=st.integers(100, 400),
    after=st.sampled_from(["stays", "falls", "falls at once"]),
    by_s=st.sampled_from([-5e-4, 5e-4, 1e-3]),
    ppm=st.sampled_from([-50.0, 0.0, 50.0]),
    seed=st.integers(0, 3),
)
def test_bars_hold_the_truth_while_a_way_gets_slower_and_slower(
    tmp_path_factory, ramp_s, first_s, after, by_s, ppm, seed
):
    """Of 1 ms more one way, offsets are off by half."""

    def extra(k):
        part = (5.0 * k - first_s) / ramp_s
        later = {"stays": 1.0, "falls": max(0.0, 2 - part), "falls at once": 0.0}[after]
        return by_s * (max(0.0, part) if part <= 1 else later)

    file, truth = recording(extra, seed, ppm=ppm)
    table, found = read(tmp_path_factory.mktemp("ramp") / "t.xdf", file)
    assert misses(table, truth) == 0
    codes = {one.code: one for one in found}
    assert codes["offsets-shifted"].worst_ns == pytest.approx(abs(by_s) * 1e9, rel=0.4)


def test_only_the_host_whose_way_gets_slower_has_wider_bars(tmp_path):
    file, random = XdfFile(), np.random.default_rng(0)
    for number in (1, 2):
        file.stream(number, hostname=f"host{number}")
    for k in range(PINGS):
        for number in (1, 2):
            at = 5.0 * k + 50
            extra = 5e-4 * min(1.0, max(0.0, (at - 300) / 40)) if number == 2 else 0.0
            file.offset(number, at - 900, 900 + random.normal(0, 3e-5) + extra)
            file.samples(number, [at - 900], [0])
    table, (found,) = read(tmp_path / "t.xdf", file)
    assert found.code == "offsets-shifted"
    assert [clock.machine for clock in found.clocks] == [2]
    assert misses(table, np.repeat(5.0 * np.arange(PINGS) + 50, 2) * 1e9) == 0
    widths = table["latest"].to_numpy() - table["earliest"].to_numpy()
    of_one = table["machine"].to_numpy() == 1
    assert np.median(widths[of_one]) < 500_000 < 1_000_000 < np.median(widths[~of_one])


@pytest.mark.parametrize("hours", [0.5, 2])
def test_a_rate_that_wanders_with_the_temperature_is_no_shift(tmp_path, hours):
    """By 2 ppm, once an hour."""
    at = 5.0 * np.arange(int(hours * 720))
    wander = 2e-6 * 3600 / (2 * np.pi) * np.sin(2 * np.pi * at / 3600)
    file, _ = recording(lambda k: wander[k], pings=len(at))
    assert read(tmp_path / "t.xdf", file)[1] == []


def test_a_minute_of_congestion_is_told_and_where_it_begins(tmp_path):
    file, truth = recording(lambda k: 5e-4 if 30 <= k < 42 else 0.0)
    table, (found,) = read(tmp_path / "t.xdf", file)
    assert misses(table, truth) == 0
    assert (found.code, found.severity) == ("offsets-shifted", "info")
    # By the next ping or two the shift may be larger yet.
    assert any(0 <= found.packets[0] - 2 - 2 * k <= 4 for k in (30, 42))
    assert found.events == len(truth)
    file, _ = recording(lambda k: 3e-3 if 30 <= k < 42 else 0.0)
    _, (found,) = read(tmp_path / "t.xdf", file)
    assert found.code == "offsets-shifted"
    # What floor makes of it follows from it.
    assert found.consequences[0].code == "snapshots-too-sparse"


@pytest.mark.parametrize("ppm", [0.0, 50.0, 200.0, 1000.0])
def test_another_rate_is_no_shift(tmp_path, ppm):
    file, _ = recording(lambda k: ppm * 1e-6 * 5 * max(0, k - 60))
    _, found = read(tmp_path / "t.xdf", file)
    assert "offsets-shifted" not in {one.code for one in found}


@pytest.mark.parametrize("noise_s", [1e-6, 1e-4, 1e-3])
def test_scatter_is_no_shift(tmp_path, noise_s):
    for seed in range(5):
        file, _ = recording(lambda k: 0.0, seed, noise_s)
        _, found = read(tmp_path / "t.xdf", file)
        assert "offsets-shifted" not in {one.code for one in found}


def test_a_half_width_that_is_given_counts(tmp_path):
    file, _ = recording(lambda k: 5e-4 if 30 <= k < 42 else 0.0)
    own, _ = read(tmp_path / "t.xdf", file)
    domain = ClockDomain("MONOTONIC", assumed_half_width_ns=200_000)
    given_, _ = read(tmp_path / "t.xdf", file, domains=[domain])
    widths = [
        np.median(table["latest"].to_numpy() - table["earliest"].to_numpy())
        for table in (own, given_)
    ]
    assert widths[0] > 1_000_000 > 600_000 > widths[1]


@pytest.mark.parametrize("apart_s", [0.003, 0.009])
@pytest.mark.parametrize("ppm", [0.0, 30.0])
def test_two_computers_of_one_name_have_a_clock_each(tmp_path, apart_s, ppm):
    """They were started within some ms of each other."""
    file, truth = XdfFile(), []
    random = np.random.default_rng(0)
    for number in (1, 2):
        file.stream(number)
    for k in range(60):
        for number, offset in ((1, 1000.0), (2, 1000.0 + apart_s)):
            at = 5.0 * k + 50 + 0.3 * number
            drifted = offset + (ppm * 1e-6 * at if number == 2 else 0)
            file.offset(number, at - drifted, drifted + random.normal(0, 2e-5))
            file.samples(number, [at - drifted], [0])
            truth.append(at)
    table, found = read(tmp_path / "t.xdf", file)
    assert found == []
    assert set(table["machine"].to_pylist()) == {1, 2}
    assert misses(table, np.rint(np.array(truth) * 1e9)) == 0
    widths = table["latest"].to_numpy() - table["earliest"].to_numpy()
    assert np.median(widths) < 600_000


def test_noisy_streams_of_one_host_share_its_clock(tmp_path):
    """Over Wi-Fi the offsets of both scatter by some ms."""
    file = XdfFile()
    random = np.random.default_rng(0)
    for number in (1, 2):
        file.stream(number)
    for k in range(60):
        for number in (1, 2):
            at = 5.0 * k + 50 + 0.3 * number
            file.offset(number, at, 1000.0 + random.normal(0, 2e-3))
            file.samples(number, [at], [0])
    table, _ = read(tmp_path / "t.xdf", file)
    assert set(table["machine"].to_pylist()) == {1}


def test_samples_that_go_back_while_the_clock_does_not_are_told(tmp_path):
    file = XdfFile()
    file.stream(1)
    file.stream(2, "Device")
    for k in range(40):
        at = 5.0 * k + 50
        file.offset(1, at, 1000.0 + 1e-5 * (k % 3))
        file.samples(1, [at, at + 1], [0, 0])
        back = 30.0 if k >= 20 else 0.0
        chunk = file.samples(2, [at - back, at - back + 1], [0, 0])
        if k == 20:
            begins = chunk
    path = tmp_path / "t.xdf"
    _, (found,) = read(path, file)
    assert (found.code, found.severity, found.events) == ("stream-backwards", "error", 10)
    assert found.title == (
        "time runs backwards in stream 2 (Device): 10 events up to 26 s earlier than what comes before"
    )
    with open_trace(path) as trace:
        assert trace.backwards_packet == found.packets[0]
        rows = trace.read_all().to_pylist()
        assert {row["offset"] for row in rows if row["packet"] == found.packets[0]} == {begins}


@pytest.mark.parametrize("pings", [30, 120, 400])
@pytest.mark.parametrize("noise_ms", [2, 7, 40])
def test_jitter_of_the_network_is_no_drift(tmp_path, noise_ms, pings):
    """The bars hold it, so that it is no error; without a clock's drift there is nothing else."""
    file, truth = recording(lambda k: 0.0, noise_ms, noise_ms * 1e-3, pings=pings)
    table, (found,) = read(tmp_path / "t.xdf", file)
    assert (found.code, found.severity) == ("offsets-scatter", "warning")
    assert noise_ms * 1e6 < found.worst_ns < noise_ms * 5e6
    assert {one.code for one in found.consequences} <= {"used-after-last-snapshot"}
    assert misses(table, truth) <= 0.001 * len(truth)


def test_drift_that_is_clearer_than_jitter_is_told(tmp_path):
    file, _ = recording(lambda k: 0.0, 1, 2e-3, ppm=400.0)
    _, found = read(tmp_path / "t.xdf", file)
    assert {"snapshots-too-sparse", "drift-beyond-healthy"} & {one.code for one in found}


def test_samples_that_are_a_little_out_of_order_are_not_told(tmp_path):
    file = XdfFile()
    file.stream(1)
    for k in range(20):
        at = 5.0 * k + 50
        file.offset(1, at, 1000.0 + 1e-5 * (k % 3))
        file.samples(1, [at, at + 1.0, at + 0.1], [0, 0, 0])
    _, found = read(tmp_path / "t.xdf", file)
    assert found == []
