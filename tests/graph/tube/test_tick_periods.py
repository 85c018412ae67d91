"""Ticks that nobody declares: learnt from readings, held by bars, and not learnt of what has none."""

import json
from fractions import Fraction

import numpy as np
import pytest
from building import event, snapshot, trace
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, Snapshot, clock_id, diagnose, open_trace
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.lattice import find_lattices

pytest_plugins = ["cli"]

S = 1_000_000_000
BOOTTIME = 6
APP = clock_id("com.example.app")
START = 5_000 * S
WALL = 1_700_000_000 * S + 123_456_789
TICKS = {
    "16 us": Fraction(16_000),
    "100 us": Fraction(100_000),
    "1 ms": Fraction(1_000_000),
    "10 ms": Fraction(10_000_000),
    "a frame of 60 Hz": Fraction(S, 60),
    "4 ms slewed by 20 ppm": 4_000_000 * (1 + Fraction(20, 1_000_000)),
    "48 kHz": Fraction(S, 48_000),
    "32,768 Hz": Fraction(S, 32_768),
}


def ticking(ns, tick):
    """Readings of a clock that ticks: the last multiple, rounded down to whole ns."""
    return np.array(
        [
            n * tick.denominator // tick.numerator * tick.numerator // tick.denominator
            for n in ns.tolist()
        ]
    )


def app_ns(boottime, ppm=31):
    """What the application's clock would show if it did not tick."""
    return WALL + (boottime - START) + (boottime - START) * ppm // 1_000_000


def snapshots(n=60, every=S, jitter=S // 5, seed=1):
    random = np.random.default_rng(seed)
    return START + np.arange(n) * every + random.integers(0, jitter + 1, n)


def instants(n=1_000, span=60 * S, seed=2):
    return START + np.sort(np.random.default_rng(seed).integers(0, span, n))


def graph_of(boottime, app, **more):
    graph = ClockGraph("BOOTTIME", **more)
    graph.add_snapshot({"BOOTTIME": boottime, APP: app})
    return graph


def trace_of(boottime, app, at, read):
    """A file with snapshots and events of the application in order of time."""
    packets = [
        (when, snapshot({BOOTTIME: when, APP: reading}, seq=1))
        for when, reading in zip(boottime.tolist(), app.tolist(), strict=True)
    ]
    packets += [
        (when, event(reading, APP))
        for when, reading in zip(at.tolist(), read.tolist(), strict=True)
    ]
    return trace(*(packet for _, packet in sorted(packets, key=lambda one: one[0])))


def outside(graph, at, read, bars):
    """How many instants are outside of their bars, from the clock that ticks and to it."""
    missed = 0
    for source, target, given_ns, truth in (
        (APP, "BOOTTIME", read, at),
        ("BOOTTIME", APP, at, read),
    ):
        _, earliest, latest = graph.convert(
            given_ns, source, target, policy="tube", bounds=True, bars=bars
        )
        missed += int(np.sum((truth < earliest) | (truth > latest)))
    return missed


def tick_of(graph, clock=APP):
    tick = graph._graph.tubes.pairs.observed_tick(ClockId.parse(clock))
    return None if tick is None else tick.period_ns


def lattice(readings):
    return next((found.period for found in find_lattices(readings)), None)


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("name", TICKS)
def test_bars_hold_a_tick_that_snapshots_show(name, bars):
    tick, boottime, at = TICKS[name], snapshots(), instants()
    graph = graph_of(boottime, ticking(app_ns(boottime), tick))
    assert tick_of(graph) == pytest.approx(float(tick), rel=1e-6)
    assert outside(graph, at, ticking(app_ns(at), tick), bars) == 0
    assert graph.discontinuities() == []


@pytest.mark.parametrize(
    ("every_ns", "jitter_ns"), [(27 * 10**6, 0), (27 * 10**6, 8 * 10**6), (85 * 10**7, 8 * 10**6)]
)
def test_the_time_between_snapshots_is_not_taken_for_the_tick(every_ns, jitter_ns):
    """Readings a few ticks more or less than that apart lie on its lattice, too, roughly."""
    random = np.random.default_rng(5)
    boottime = START + np.arange(199) * every_ns + random.integers(0, jitter_ns + 1, 199)
    graph = graph_of(boottime, ticking(app_ns(boottime), Fraction(10**7)))
    assert tick_of(graph) == 10**7
    at = instants()
    assert outside(graph, at, ticking(app_ns(at), Fraction(10**7)), "estimated") == 0


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("name", TICKS)
def test_bars_hold_a_tick_that_events_show(name, bars, write):
    """Of snapshots at whole seconds nothing can be learnt."""
    tick, boottime, at = TICKS[name], snapshots(20, 3 * S, 0), instants()
    read = ticking(app_ns(at, 0), tick)
    path = write(trace_of(boottime, ticking(app_ns(boottime, 0), tick), at, read))
    with open_trace(path) as opened:
        graph = opened.clocks
        assert tick_of(graph) == pytest.approx(float(tick), rel=1e-6)
        assert outside(graph, at, read, bars) == 0
        table = opened.read_all("tube", bars=bars)
    placed = np.array(table["trace_time"])[np.array(table["status"].cast("string")) == "resolved"]
    assert len(placed) == len(at)
    assert (np.array(table["earliest"]) <= at).all()
    assert (at <= np.array(table["latest"])).all()


def test_the_estimate_is_the_middle_of_the_tick():
    tick, boottime, at = TICKS["1 ms"], snapshots(), instants()
    graph = graph_of(boottime, ticking(app_ns(boottime), tick))
    off = graph.convert(ticking(app_ns(at), tick), APP, "BOOTTIME", policy="tube") - at
    assert abs(np.mean(off)) < 100_000
    assert np.abs(off).max() < 700_000


@pytest.mark.parametrize("name", TICKS)
@pytest.mark.parametrize("jump", ["a step", "a step of whole ticks", "an outlier"])
def test_a_clock_that_ticks_and_jumps(name, jump):
    tick, boottime, at = TICKS[name], snapshots(), instants()
    app, read = ticking(app_ns(boottime), tick), ticking(app_ns(at), tick)
    if jump == "an outlier":
        app[20] += 777_777_777
    else:
        size = 10 * S if jump == "a step of whole ticks" else 1_234_567_891
        app[30:] += size
        read[at > boottime[29]] += size
    sure = (at < boottime[29]) | (at > boottime[30])
    graph = graph_of(boottime, app)
    assert tick_of(graph) == pytest.approx(float(tick), rel=1e-6)
    assert outside(graph, at[sure], read[sure], "estimated") == 0
    assert [d.kind for d in graph.discontinuities()] == [jump.split()[1]]


def test_a_clock_that_ticks_against_another_that_does():
    boottime, at = snapshots(), instants()
    frames, ms = TICKS["a frame of 60 Hz"], TICKS["1 ms"]
    graph = ClockGraph()
    graph.add_snapshot(
        {"com.example.frames": ticking(boottime, frames), APP: ticking(app_ns(boottime), ms)}
    )
    _, earliest, latest = graph.convert(
        ticking(at, frames), "com.example.frames", APP, policy="tube", bounds=True
    )
    truth = ticking(app_ns(at), ms)
    assert ((earliest <= truth) & (truth <= latest)).all()
    assert tick_of(graph) == 1_000_000


def test_a_measured_half_width_below_the_tick_does_not_hold_it():
    tick, boottime, at = TICKS["1 ms"], snapshots(), instants()
    for half_ns in (50, 999_999, 1_000_100):
        graph = ClockGraph()
        graph.add_snapshot(
            Snapshot(
                {"BOOTTIME": boottime, APP: ticking(app_ns(boottime), tick)},
                reference="BOOTTIME",
                half_width_ns={APP: half_ns},
            )
        )
        assert outside(graph, at, ticking(app_ns(at), tick), "guaranteed") == 0
        explanation = graph.explain(WALL + S, APP, "BOOTTIME", policy="tube", bars="guaranteed")
        assert explanation.basis == "guaranteed"
    assert explanation.steps[0].half_width_ns == 1_000_100


def test_a_declared_width_below_the_tick_does_not_hide_it():
    tick, boottime, at = TICKS["1 ms"], snapshots(), instants()
    domain = ClockDomain(APP, assumed_half_width_ns=1_000)
    graph = graph_of(boottime, ticking(app_ns(boottime), tick), domains=[domain])
    assert outside(graph, at, ticking(app_ns(at), tick), "estimated") == 0


def test_explain_and_at_tell_the_tick(write, tracetime):
    tick, boottime, at = TICKS["a frame of 60 Hz"], snapshots(), instants(50)
    read = ticking(app_ns(at), tick)
    path = write(trace_of(boottime, ticking(app_ns(boottime), tick), at, read))
    arguments = ["at", path, read[7], "--from", hex(APP), "--policy", "tube"]
    assert f"{hex(APP)} ticks by 16.7 ms as its readings show" in tracetime(*arguments)[1]
    step = json.loads(tracetime(*arguments, "--json")[1])["steps"][0]
    assert step["src_tick_ns"] == pytest.approx(S / 60)
    assert step["dst_tick_ns"] is None


@pytest.mark.parametrize("name", TICKS)
def test_the_doctor_takes_ticks_for_no_jumps(name, write):
    tick, boottime, at = TICKS[name], snapshots(), instants()
    read = ticking(app_ns(at), tick)
    with open_trace(write(trace_of(boottime, ticking(app_ns(boottime), tick), at, read))) as opened:
        found = {finding.code: finding for finding in diagnose(opened)}
    assert set(found) == {"coarse-clock", "no-realtime"}
    assert found["coarse-clock"].worst_ns == round(tick)
    assert found["coarse-clock"].events == len(at)


def test_a_graph_that_is_saved_keeps_what_events_showed(write, tmp_path):
    tick, boottime, at = TICKS["1 ms"], snapshots(20, 3 * S, 0), instants()
    read = ticking(app_ns(at, 0), tick)
    with open_trace(
        write(trace_of(boottime, ticking(app_ns(boottime, 0), tick), at, read))
    ) as opened:
        graph = opened.clocks
    graph.save(tmp_path / "graph.npz")
    kept = ClockGraph.load(tmp_path / "graph.npz")
    assert tick_of(kept) == tick_of(graph) == 1_000_000
    assert outside(kept, at, read, "estimated") == 0


# What has no tick


def widths(graph):
    pair = graph._graph.tubes.pair(ClockId.parse("BOOTTIME"), ClockId.parse(APP))
    return pair.half_width_ns, dict(pair.ticks)


@pytest.mark.parametrize("every", [S, S // 10, S // 1_000])
@pytest.mark.parametrize("ppm", [0, 20])
def test_snapshots_merely_taken_on_a_grid_teach_nothing(every, ppm):
    boottime = snapshots(60, every, 0)
    app = boottime + (boottime - START) * ppm // 1_000_000
    assert widths(graph_of(boottime, app)) == (2_000, {})


def test_nor_do_they_where_they_were_read_with_noise():
    """Whole seconds of one clock, and the other 300 us late or less."""
    boottime = snapshots(60, S, 0)
    app = boottime + np.random.default_rng(1).integers(0, 300_000, 60)
    assert widths(graph_of(boottime, app))[1] == {}


def test_a_counter_that_wraps_is_no_witness_of_ticks():
    """Of 24 bits, in us: it wraps several times between two snapshots."""
    boottime = 1_000 * S + np.arange(100) * 100 * S
    counted = boottime * 1_000_020 // 10**9 % (1 << 24)
    assert tick_of(graph_of(boottime, counted), "BOOTTIME") is None


def test_a_clock_that_jumps_at_every_snapshot_does_not_tick():
    boottime = snapshots(60, S, 0)
    app = np.cumsum(np.where(np.arange(60) % 2, 2, 4)) * S
    assert tick_of(graph_of(boottime, app)) is None


def test_what_scatters_by_the_tick_of_another_clock_is_no_tick():
    """Whole even microseconds, next to MONOTONIC and a COARSE clock."""
    boottime = snapshots(60, S, 0)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot(
        {
            "BOOTTIME": boottime + np.arange(60),
            APP: boottime // 2_000 * 2_000,
            "com.example.coarse": ticking(boottime + 700_000 * np.arange(60), TICKS["10 ms"]),
        }
    )
    assert tick_of(graph, "com.example.coarse") == 10_000_000
    assert tick_of(graph) is None


def test_events_between_the_lines_of_a_grid_show_that_it_is_none(write):
    boottime, at = snapshots(60, S, 0), instants()
    with open_trace(write(trace_of(boottime, boottime + 7 * S, at, at + 7 * S))) as opened:
        assert widths(opened.clocks) == (2_000, {})


@pytest.mark.parametrize("pattern", [(4,), (1, 2, 3, 4, 5, 6), (2, 3, 7)])
def test_events_taken_on_a_grid_teach_nothing_either(pattern, write):
    """At eighths of each second, of a clock that is read at whole ones."""
    boottime = snapshots(60, S, 0)
    at = np.sort(np.concatenate([boottime + eighth * S // 8 for eighth in pattern]))
    with open_trace(write(trace_of(boottime, boottime + 7 * S, at, at + 7 * S))) as opened:
        assert widths(opened.clocks) == (2_000, {})


@pytest.mark.parametrize("n", [15, 16, 50])
def test_sixteen_events_show_a_tick(n, write):
    boottime = snapshots(60, S, 0)
    at = np.unique(np.random.default_rng(4).integers(0, 60_000, n)) * 1_000_000 + START
    with open_trace(write(trace_of(boottime, boottime + 7 * S, at, at + 7 * S))) as opened:
        assert tick_of(opened.clocks) == (1_000_000 if n >= 16 else None)


def test_events_at_every_tick_show_it_where_several_have_one(write):
    boottime, at = snapshots(60, S, 0), START + np.arange(12_000) * 499_979
    read = ticking(at, Fraction(10_000_000))
    with open_trace(write(trace_of(boottime, boottime, at, read))) as opened:
        assert tick_of(opened.clocks) == 10_000_000


def test_fifteen_readings_show_no_tick():
    tick = TICKS["1 ms"]
    for n, learnt in ((15, None), (16, 1_000_000.0)):
        boottime = snapshots(n)
        assert tick_of(graph_of(boottime, ticking(app_ns(boottime), tick))) == learnt


def test_two_snapshots_teach_nothing():
    assert widths(graph_of(START + np.array([0, S]), np.array([0, S])))[1] == {}


def test_a_tick_below_a_microsecond_is_within_what_is_assumed():
    boottime = snapshots()
    assert widths(graph_of(boottime, ticking(app_ns(boottime), Fraction(100)))) == (2_000, {})


def test_a_unit_is_no_tick_to_be_learnt(write):
    boottime, at = snapshots(), instants()
    packets = [snapshot({BOOTTIME: int(b), 64: (int(b) // 1000, 1000)}, seq=3) for b in boottime]
    packets += [event(int(t) // 1000, 64, 3) for t in at]
    with open_trace(write(trace(*packets))) as opened:
        clock = next(c.clock for c in opened.clocks.clocks() if c.clock.clock == 64)
        assert tick_of(opened.clocks, clock) is None


# The lattice itself


@settings(max_examples=60)
@given(
    period=st.fractions(2_000, 50_000_000, max_denominator=1_000),
    seed=st.integers(0, 1 << 32),
    n=st.integers(20, 200),
)
def test_a_lattice_is_found_whatever_its_period(period, seed, n):
    random = np.random.default_rng(seed)
    times = np.unique(random.integers(0, 2_000, n)) + random.integers(0, 1 << 36)
    readings = np.array([int(t * period) for t in times.tolist()])
    found = lattice(readings)
    if len(readings) < 16:
        assert found is None
    else:
        assert found is not None
        parts = found / float(np.gcd.reduce(np.diff(times)) * period)
        assert parts == pytest.approx(1, rel=1e-3)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 32),
    n=st.integers(16, 300),
    span=st.integers(10**5, 10**13),
    even=st.booleans(),
)
def test_readings_at_random_are_on_no_lattice(seed, n, span, even):
    random = np.random.default_rng(seed)
    readings = random.integers(0, span, n)
    if even:
        readings = np.arange(n) * (span // n) + random.integers(0, span // n // 4 + 100, n)
    assert lattice(np.unique(readings)) is None


def test_a_reading_in_twenty_may_be_off_the_lattice():
    random = np.random.default_rng(3)
    readings = np.unique(random.integers(0, 100_000, 200)) * 1_000_000
    off = np.append(readings, [readings[50] + 400_123, readings[120] + 777_777])
    assert lattice(np.sort(off)) == pytest.approx(1_000_000)
    many = readings.copy()
    many[::8] += 1_234
    assert lattice(np.sort(many)) is None


def test_readings_over_all_of_int64():
    readings = np.array([-(2**63), *range(0, 10**9, 10**7), 2**63 - 1])
    assert lattice(readings) == 10_000_000


def test_events_are_sampled_in_blocks_over_all_of_the_file(write):
    at = START + np.arange(40_000) * 1_001
    with open_trace(
        write(trace_of(START + np.arange(2) * S, START + np.arange(2) * S, at, at))
    ) as t:
        read = t.clocks._graph.state.events[ClockId.parse(APP)].some_ns
    assert len(read) <= 512
    assert np.sum(np.diff(read) == 1_001) >= 7 * len(read) // 8
    assert read[-1] - read[0] > 0.8 * (at[-1] - at[0])
