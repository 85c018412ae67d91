"""Frequencies of adjtimex in snapshots: when the kernel changed the rate of its clocks."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import seeds
from simulated import Machine, usual_clocks

from tracetime import ClockGraph, ClockId, Snapshot, UsageError, open_trace, record
from tracetime.graph.tube.corrections import SCALED_PPM, correction_of
from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
START = 1000 * S
GPU = 0x8A01B2C3
KNEE_S = 304.0


def scaled(ppm):
    return round(ppm * 65_536)


def slewed(t, changes):
    """BOOTTIME when MONOTONIC_RAW reads t: changes of its rate are (second, ppm)."""
    seconds = (np.asarray(t) - START) * 1e-9
    off = sum(1e3 * ppm * np.clip(seconds - when, 0, None) for when, ppm in changes)
    return t + 5 * S + np.rint(off).astype(np.int64)


def frequencies(raw, changes):
    seconds = (raw - START) * 1e-9
    return sum((np.where(seconds >= when, scaled(ppm), 0) for when, ppm in changes), 0 * raw)


def graph_of(changes, half, *, error=None, record=True, unrecorded=(), n=120, seed=1):
    """Snapshots every 10 s, off by up to `error` (`half` if not given)."""
    raw = START + np.arange(n, dtype=np.int64) * 10 * S
    most = half if error is None else error
    boottime = slewed(raw, [*changes, *unrecorded]) + np.random.default_rng(seed).integers(
        -most, most + 1, n
    )
    graph = ClockGraph()
    frequency = {"BOOTTIME": frequencies(raw, changes)} if record else None
    graph.add_snapshot(
        Snapshot(
            {"MONOTONIC_RAW": raw, "BOOTTIME": boottime},
            reference="MONOTONIC_RAW",
            half_width_ns={"BOOTTIME": half},
            frequency_scaled_ppm=frequency,
        )
    )
    return graph


def bounds(graph, at, bars="estimated"):
    return graph.convert(at, "MONOTONIC_RAW", "BOOTTIME", policy="tube", bars=bars, bounds=True)


def outside(graph, changes, seed=2, last=1190):
    at = np.random.default_rng(seed).integers(START, START + last * S, 2_000)
    truth, bar = slewed(at, changes), bounds(graph, at)
    return int(np.sum((truth < bar.earliest) | (truth > bar.latest)))


def changes_of(graph) -> list[PairDiscontinuity]:
    found = graph.discontinuities()
    assert {d.kind for d in found} <= {"rate_change"}
    return found


@pytest.mark.parametrize("seed", seeds(8))
def test_a_change_that_noise_hides_is_found_in_its_gap_with_the_record_and_not_without(seed):
    """Over 600 s one line comes within 17 us of 0.2 ppm more; each offset is known to 17.5 us."""
    hidden = [(KNEE_S, 0.2)]
    alone, recorded = (
        graph_of(hidden, 17_500, error=2_000, record=record, n=60, seed=seed)
        for record in (False, True)
    )
    assert changes_of(alone) == []
    assert outside(alone, hidden, last=590) > 0
    (found,) = changes_of(recorded)
    assert (found.a_from, found.a_to) == (START + 300 * S, START + 310 * S)
    assert found.rate_ppm[0] <= 0.2 <= found.rate_ppm[1]
    assert found.rate_ppm[1] - found.rate_ppm[0] < 0.001
    assert outside(recorded, hidden, last=590) == 0


def test_bars_without_the_record_miss_what_they_hold_with_it():
    """A small change just before a large one: the sweep sees one knee, in the later gap."""
    both = [(428.36, 0.2), (454.91, -50.0)]
    missed = [outside(graph_of(both, 20_000, record=False, seed=k), both) for k in range(20)]
    assert sum(map(bool, missed)) >= 5
    assert [outside(graph_of(both, 20_000, seed=k), both) for k in range(20)] == [0] * 20


def test_guaranteed_bars_rest_on_no_record():
    both = [(300.0, 0.2), (454.91, -50.0)]
    at = np.arange(START - 60 * S, START + 1250 * S, 7 * S + 13)
    one, two = (bounds(graph_of(both, 2_000, record=r), at, "guaranteed") for r in (True, False))
    assert one.earliest.tolist() == two.earliest.tolist()
    assert one.latest.tolist() == two.latest.tolist()


def test_the_rate_of_a_short_slew_is_its_neighbours_plus_the_recorded_change():
    """15 s of +400 ppm leave one or two snapshots: by themselves they prove no rate."""
    slew = [(602.0, 400.0), (617.0, -400.0)]
    at = START + np.array([605, 609, 611, 615]) * S
    wide, narrow = (bounds(graph_of(slew, 100, record=r), at) for r in (False, True))
    assert (narrow.earliest <= slewed(at, slew)).all()
    assert (slewed(at, slew) <= narrow.latest).all()
    # What is left open is when, in its gap, each change came.
    assert (narrow.latest - narrow.earliest <= 400_000 * 8 + 2_000).all()
    assert (narrow.latest - narrow.earliest < wide.latest - wide.earliest).all()
    changes = changes_of(graph_of(slew, 100))
    assert [round(sum(d.rate_ppm) / 2) for d in changes] == [400, -400]


def test_changes_that_went_unrecorded_tell_nothing_of_the_rate_between_them():
    """Two snapshots of one height, and a rise and fall between them that nobody recorded."""
    recorded, not_so = [(300.0, 5.0)], [(75.0, 300.0), (85.0, -600.0), (95.0, 300.0)]
    graph = graph_of(recorded, 100, unrecorded=not_so)
    assert outside(graph, [*recorded, *not_so]) == 0


@pytest.mark.parametrize("ppm", [0.001, 1.0])
def test_corrections_that_change_at_every_snapshot_leave_a_rate(ppm):
    """No run is longer than one snapshot: the rate they share follows from all of them together."""
    rng = np.random.default_rng(4)
    changes = [(10.0 * k + 3, ppm * s) for k, s in enumerate(rng.choice([-1, 1], 119))]
    graph = graph_of(changes, 100)
    assert outside(graph, changes) == 0
    at = START + np.arange(5, 1190, 10) * S
    bar = bounds(graph, at)
    assert np.median(bar.latest - bar.earliest) < 2 * (200 + 10_000 * ppm)


def test_recorded_changes_give_rates_up_to_a_jump():
    """Changes at every snapshot, then a jump: what was recorded before it still counts."""
    n, a = 20, np.arange(40) * 10 * S
    ppm = np.cumsum(np.random.default_rng(4).choice([-20, 20], len(a)))
    off = np.append(0, np.cumsum((ppm[:-1] + ppm[1:]) * 5_000)) + np.where(
        a < n * 10 * S, 0, 10**12
    )
    correction = np.where(a < n * 10 * S, np.rint(ppm * 1e-6 * ONE).astype(np.int64), NOT_RECORDED)
    alone, before = (
        Tube(Evidence.of(a[:m], off[:m], 50, correction=correction[:m]), Limits(2e-4, 1e-9))
        for m in (n, len(a))
    )
    at = np.arange(5 * S, 185 * S, 7 * S)
    one, two = alone.convert(at), before.convert(at)
    assert one.earliest.tolist() == two.earliest.tolist()
    assert one.latest.tolist() == two.latest.tolist()


def test_clocks_steered_by_the_same_do_not_change_against_each_other():
    both = [(300.0, 50.0), (700.0, -80.0)]
    raw = START + np.arange(120, dtype=np.int64) * 10 * S
    monotonic = slewed(raw, both)
    graph = ClockGraph()
    scaled_ppm = frequencies(raw, both)
    graph.add_snapshot(
        Snapshot(
            {"MONOTONIC": monotonic, "BOOTTIME": monotonic + 7 * S},
            frequency_scaled_ppm={"MONOTONIC": scaled_ppm, "BOOTTIME": scaled_ppm},
        )
    )
    assert graph.discontinuities() == []


def test_a_device_shows_the_recorded_change_too():
    """BOOTTIME against a counter that nothing steers: the other way round, and no less."""
    hidden = [(KNEE_S, 3.0)]
    raw = START + np.arange(120, dtype=np.int64) * 10 * S
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": slewed(raw, hidden), GPU: raw},
            reference="BOOTTIME",
            half_width_ns={GPU: 2_000_000},
            frequency_scaled_ppm={"BOOTTIME": frequencies(raw, hidden)},
        )
    )
    (found,) = changes_of(graph)
    assert (found.src, found.dst) == (ClockId(6), ClockId(GPU))
    assert found.rate_ppm[0] <= -3 <= found.rate_ppm[1]
    assert found.a_to - found.a_from < 11 * S


def test_snapshots_that_record_nothing_leave_open_when_it_changed():
    changes = [(KNEE_S, 0.02)]
    raw = START + np.arange(120, dtype=np.int64) * 10 * S
    scaled_ppm = frequencies(raw, changes)
    for silent, due in (((30, 31), 0), ((29, 30), 0), ((20, 21), 1), ((50, 60), 1)):
        graph = ClockGraph()
        for part in (
            slice(0, silent[0]),
            slice(silent[0], silent[1] + 1),
            slice(silent[1] + 1, 120),
        ):
            says = part.start != silent[0]
            graph.add_snapshot(
                Snapshot(
                    {"MONOTONIC_RAW": raw[part], "BOOTTIME": slewed(raw, changes)[part]},
                    reference="MONOTONIC_RAW",
                    half_width_ns={"BOOTTIME": 20_000},
                    frequency_scaled_ppm={"BOOTTIME": scaled_ppm[part]} if says else None,
                )
            )
        assert len(changes_of(graph)) == due


def test_a_record_needs_no_reference_and_is_part_of_the_snapshot():
    one = Snapshot({3: [5, 6], 5: [5, 6]}, frequency_scaled_ppm={"MONOTONIC": [scaled(-7.25), 0]})
    assert one.frequency_scaled_ppm[ClockId(3)].tolist() == [-475_136, 0]
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != Snapshot({3: [5, 6], 5: [5, 6]}, frequency_scaled_ppm={3: 0})
    assert one != Snapshot({3: [5, 6], 5: [5, 6]})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({6: 1}, "not read"),
        ({3: [1, 2, 3]}, "3 values"),
        ({3: 1.5}, "whole number"),
        ({3: 100_000 * 65_536 + 1}, "10 %"),
        ({3: -(1 << 63)}, "10 %"),
    ],
)
def test_what_a_record_refuses(given, message):
    with pytest.raises(UsageError, match=message):
        Snapshot({3: [1, 2], 5: [1, 2]}, frequency_scaled_ppm=given)


@st.composite
def steered(draw: st.DrawFn):
    """Snapshots, their frequencies, and the truth: at most one change of rate in a gap.

    Errors are at the edge of their intervals as often as not, and changes of any size.
    """
    n = draw(st.integers(2, 24))
    gaps = draw(st.lists(st.integers(1, 10**10), min_size=n, max_size=n))
    size = draw(st.sampled_from([0, 1, 40, 4_000, 100_000, 30_000_000]))
    scaled_ppm = [draw(st.integers(-30_000_000, 30_000_000))]
    knots, a, r, h = [(0, Fraction(0))], [], [], []
    t, offset = draw(st.integers(-(10**18), 10**18)), Fraction(0)
    knots = [(t, offset, scaled_ppm[0])]
    for k in range(n):
        if k:
            here = scaled_ppm[-1]
            change = draw(st.sampled_from([0, 0, 1])) * draw(st.integers(-size, size))
            there = max(-30_000_000, min(30_000_000, here + change))
            at = draw(st.integers(0, gaps[k])) if there != here else gaps[k]
            offset += Fraction(here * at, SCALED_PPM)
            knots.append((t + at, offset, there))
            offset += Fraction(there * (gaps[k] - at), SCALED_PPM)
            t += gaps[k]
            scaled_ppm.append(there)
        half = draw(st.sampled_from([1, 50, 2_000, 50_000]))
        error = draw(st.sampled_from([-1, 1]) | st.fractions(-1, 1)) * (half - 1)
        a.append(t)
        r.append(round(offset + error))
        h.append(half)
    return a, r, h, scaled_ppm, knots


def truth_at(knots, t: int) -> Fraction:
    start, offset, rate = [k for k in knots if k[0] <= t][-1]
    return offset + Fraction(rate * (t - start), SCALED_PPM)


@settings(max_examples=400)
@given(steered(), st.data())
def test_bars_hold_a_clock_whose_every_change_of_rate_is_recorded(drawn, data: st.DataObject):
    a, r, h, scaled_ppm, knots = drawn
    frequency = np.array(scaled_ppm, dtype=np.int64)
    tube = Tube(
        Evidence.of(
            np.array(a),
            np.array(r),
            np.array(h),
            correction=correction_of(np.zeros_like(frequency), frequency),
        ),
        Limits(600e-6, 1e-9),
    )
    at = data.draw(st.lists(st.integers(a[0], a[-1]), min_size=1, max_size=20)) + a
    for bars in ("estimated", "guaranteed"):
        got = tube.convert(np.array(at), bars=bars)
        for t, estimate, early, late in zip(at, *(c.tolist() for c in got[:3]), strict=True):
            assert early - t <= truth_at(knots, t) <= late - t
            assert early <= estimate <= late
    assert {d.kind for d in tube.discontinuities} <= {"rate_change"}


ends = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from([-(1 << 63), (1 << 63) - 1, 0])


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(
            ends,
            st.integers(-(1 << 59), 1 << 59),
            st.integers(0, 1 << 59) | st.integers(0, 9),
            st.sampled_from([NOT_RECORDED, 0, 1, -6_553_600_000, 6_553_600_000]),
        ),
        min_size=1,
        max_size=14,
    ),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_no_record_overflows_and_the_order_of_snapshots_does_not_matter(
    snapshots, declared, random
):
    shuffled = list(snapshots)
    random.shuffle(shuffled)
    results: list[object] = []
    at = np.unique(
        [a for a, *_ in snapshots] + [b // 2 + c // 2 for (b, *_), (c, *_) in pairwise(snapshots)]
    )
    for given_as in (snapshots, shuffled):
        a, r, h, f = (np.array(column, dtype=np.int64) for column in zip(*given_as, strict=True))
        correction = correction_of(np.zeros_like(f), f)
        tube = Tube(Evidence.of(a, r, h, correction=correction), Limits(0.1, 1e-6, declared))
        got = tube.convert(at)
        assert (got.earliest <= got.latest).all()
        results.append(
            [[c.tolist() for c in got], [d[:5] for d in map(_plain, tube.discontinuities)]]
        )
    assert results[0] == results[1]


def _plain(d):
    return (d.kind, d.a_from, d.a_to, d.size_ns, d.rate_ppm)


def test_the_frequency_in_a_recording_is_read_back(tmp_path):
    """Any machine that NTP steers has one that is not 0."""
    frequencies_scaled = iter([1_234_567, -2_000_000, 0])

    class Steered(Machine):
        def sample(self):
            taken = super().sample()
            frequency_scaled = next(frequencies_scaled)
            taken.adjtimex = taken.adjtimex._replace(frequency_scaled=frequency_scaled)
            return taken

    path = tmp_path / "steered.pftrace"
    with record(path, interval=None, sampler=Steered(usual_clocks())) as rec:
        rec.snapshot()
    with open_trace(path) as trace:
        frequency = trace.clocks._graph.state.measured.frequency(ClockId(3), np.arange(3))
    assert frequency.tolist() == [1_234_567, -2_000_000, 0]
