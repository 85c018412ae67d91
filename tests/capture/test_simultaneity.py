"""Recorded snapshots as others take them: all readings of one instant, and none ever falls."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from platforms import LINUX
from recorded import extensions_of, packets_of
from test_sampling import GPU, MONOTONIC, RAW, WALL, delays, machine, rates, true_ns

import tracetime as tt
from tracetime import ClockDomain, ClockId, Sampler, Snapshot
from tracetime.graph.simultaneity import Aligned, Aligner
from tracetime.sources.fake import FakeClock, FakeTime

COARSE = ClockId(4)


def snapshots_of(path: Path) -> list[dict[ClockId, tuple[int, int, int]]]:
    """By clock, reading, centre and half-width in each snapshot that has an extension."""
    data = path.read_bytes()
    taken = [p.clock_snapshot for p in packets_of(data) if p.HasField("clock_snapshot")]
    of_snapshots = [one for one in extensions_of(data) if not one.HasField("boot_id")]
    return [
        {
            ClockId(clock.clock_id): (clock.timestamp, centre, half)
            for clock, centre, half in zip(
                one.clocks, extension.centre_ns, extension.half_width_ns, strict=True
            )
        }
        for one, extension in zip(taken, of_snapshots, strict=True)
        if extension.HasField("reference")
    ]


@settings(max_examples=60)
@given(
    delays,
    rates,
    rates,
    rates,
    rates,
    st.sampled_from([1, 10, 100]),
    st.sampled_from([Fraction(1), Fraction(625, 12), Fraction(1, 3)]),
    st.integers(1, 4),
)
def test_what_is_written_is_of_one_instant_and_never_falls(
    delays_ns, raw_ppb, mono_ppb, wall_ppb, gpu_ppb, step, ns_per_tick, tries
):
    """Whatever the machine does between the readings: to within the half-widths."""
    now = FakeTime(10**12, delays_ns)
    raw = FakeClock("MONOTONIC_RAW", 77, raw_ppb, step_ticks=step)
    mono = FakeClock("MONOTONIC", 5_000, mono_ppb, step_ticks=step)
    wall = FakeClock("REALTIME", WALL, wall_ppb)
    gpu = FakeClock(GPU, 10**9, gpu_ppb, ns_per_tick)
    sampler = Sampler(tries=tries, sources=machine(now, raw=raw, mono=mono, wall=wall, gpu=gpu))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.pftrace"
        with tt.record(path, interval=None, sampler=sampler) as rec:
            for _ in range(4):
                rec.snapshot()
        found = snapshots_of(path)
    assert len(found) == 6
    for snapshot in found:
        at_ns = true_ns(snapshot[RAW][0], raw)
        for fake in (mono, wall, gpu):
            value_ns, centre_ns, half_ns = snapshot[fake.clock]
            assert centre_ns == 0
            assert abs(value_ns - fake.truth(at_ns)) <= half_ns
    for before, after in zip(found, found[1:], strict=False):
        assert all(before[clock][0] <= after[clock][0] for clock in before)


def test_readings_are_taken_back_by_their_centres(tmp_path: Path):
    """Fine clocks and those that count; a COARSE one does not advance in between, and stays."""
    path = tmp_path / "out.pftrace"
    writer = tt.formats.perfetto.write.writer.TraceWriter(path)
    writer.declare(ClockDomain(GPU, ns_per_tick=Fraction(125, 3), max_drift_ppm=100))
    writer.declare(ClockDomain("com.example.ms", ns_per_tick=10**6))
    halves = {"BOOTTIME": 30, "MONOTONIC_COARSE": 4_000_050, GPU: 900}
    centres = {"BOOTTIME": -2_000, "MONOTONIC_COARSE": 5_000, GPU: 100_000, "com.example.ms": 9}
    writer.snapshot(
        Snapshot(
            {
                "MONOTONIC_RAW": 10**9,
                "BOOTTIME": 3 * 10**9,
                "MONOTONIC_COARSE": 7,
                GPU: 24 * 10**6,
                "com.example.ms": 5,
            },
            reference="MONOTONIC_RAW",
            half_width_ns=halves,
            centre_ns=centres,
        ),
        main=True,
    )
    writer.close()
    (found,) = snapshots_of(path)
    # D is 600 ppm / (1 - 500 ppm) with BOOTTIME, and 200 ppm with the device.
    assert found[ClockId(6)] == (3 * 10**9 + 2_000, 0, 30 + 2)
    assert found[COARSE] == (7, 5_000, 4_000_050)
    assert found[ClockId(tt.clock_id("com.example.ms"))] == (5 * 10**6, 9, -1)
    assert found[ClockId(tt.clock_id(GPU))] == (10**9 - 100_000, 0, 900 + 21)
    (extension,) = extensions_of(path.read_bytes())
    # The ticks that it read are in the extension all the same.
    assert 24 * 10**6 - (10**9 - 100_000) in extension.raw_minus_reading


def test_floor_places_events_by_readings_of_one_instant(tmp_path: Path):
    """Without their centres these clocks look 700 us apart."""
    path = tmp_path / "out.pftrace"
    readings = {"MONOTONIC_RAW": 10**9, "BOOTTIME": 2 * 10**9 + 700_000, "MONOTONIC": 3 * 10**9}
    writer = tt.formats.perfetto.write.writer.TraceWriter(path)
    writer.snapshot(
        Snapshot(readings, reference="MONOTONIC_RAW", centre_ns={"BOOTTIME": 700_000}), main=True
    )
    track = writer.tracks.custom("t")
    for clock, ns in (("MONOTONIC_RAW", 10**9), ("MONOTONIC", 3 * 10**9), ("BOOTTIME", 2 * 10**9)):
        writer.events.instant("e", ns + 50, clock, track)
    writer.close()
    with tt.open_trace(path) as trace:
        assert trace.read_all()["trace_time"].to_pylist() == [2 * 10**9 + 50] * 3


@pytest.mark.parametrize(
    ("centre_ns", "value_ns", "written_ns", "half_ns"),
    [
        pytest.param(0, 5_000, 5_000, 100, id="later"),
        pytest.param(900, 5_000, 4_990, 991, id="below what is in the file"),
        pytest.param(900, 4_000, 3_100, 101, id="set back"),
    ],
)
def test_what_is_written_falls_only_where_the_clock_did(
    tmp_path: Path, centre_ns, value_ns, written_ns, half_ns
):
    path = tmp_path / "out.pftrace"
    writer = tt.formats.perfetto.write.writer.TraceWriter(path)
    for mono_ns, centre in ((4_990, 0), (value_ns, centre_ns)):
        writer.snapshot(
            Snapshot(
                {"MONOTONIC_RAW": 10**9 + mono_ns, "MONOTONIC": mono_ns},
                reference="MONOTONIC_RAW",
                half_width_ns={"MONOTONIC": 100},
                centre_ns={"MONOTONIC": centre},
            ),
            main=True,
        )
    writer.close()
    assert snapshots_of(path)[1][MONOTONIC] == (written_ns, 0, half_ns)


def test_a_clock_that_has_just_begun_stays_as_read(tmp_path: Path):
    path = tmp_path / "out.pftrace"
    writer = tt.formats.perfetto.write.writer.TraceWriter(path)
    read = {"MONOTONIC_RAW": 10**9, "com.example.young": 40}
    writer.snapshot(
        Snapshot(read, reference="MONOTONIC_RAW", centre_ns={"com.example.young": 41}), main=True
    )
    writer.close()
    assert snapshots_of(path)[0][ClockId(tt.clock_id("com.example.young"))] == (40, 41, -1)


@LINUX
def test_of_this_machines_clocks_none_ever_falls(tmp_path: Path):
    """And what BOOTTIME is ahead of MONOTONIC, which is constant, is within both half-widths."""
    path = tmp_path / "out.pftrace"
    with tt.record(path, interval=None) as rec:
        for _ in range(300):
            rec.snapshot()
    columns: dict[ClockId, list[tuple[int, int, int]]] = {}
    for snapshot in snapshots_of(path):
        for clock, read in snapshot.items():
            columns.setdefault(clock, []).append(read)
    read = {clock: np.array(column).T for clock, column in columns.items()}
    for clock, (values_ns, centres_ns, _) in read.items():
        assert (np.diff(values_ns) >= 0).all(), clock
        assert clock in (COARSE, ClockId(2)) or not centres_ns.any(), clock
    (mono_ns, _, mono_half), (boot_ns, _, boot_half) = read[MONOTONIC], read[ClockId(6)]
    apart_ns = boot_ns - mono_ns
    sure = mono_half + boot_half
    # Two snapshots bound the constant each: all bounds have something in common.
    assert (apart_ns - sure).max() <= (apart_ns + sure).min()


def test_a_users_reading_of_long_ago_does_not_let_the_sampled_ones_fall(tmp_path: Path):
    path = tmp_path / "out.pftrace"
    writer = tt.formats.perfetto.write.writer.TraceWriter(path)

    def sampled(mono_ns: int, centre_ns: int) -> None:
        writer.snapshot(
            Snapshot(
                {"MONOTONIC_RAW": 10**9 + mono_ns, "MONOTONIC": mono_ns},
                reference="MONOTONIC_RAW",
                centre_ns={"MONOTONIC": centre_ns},
            ),
            main=True,
        )

    sampled(5_000, 0)
    writer.snapshot(Snapshot({"MONOTONIC": 3_000, "com.example.frames": 7}))
    sampled(5_100, 200)
    writer.close()
    packets = [p.clock_snapshot for p in packets_of(path.read_bytes())]
    written = [c.timestamp for p in packets for c in p.clocks if c.clock_id == MONOTONIC.clock]
    assert written == [5_000, 3_000, 5_000]
    # Where no half-width is known, none is made up.
    assert snapshots_of(path)[-1][MONOTONIC][2] == -1


@pytest.mark.parametrize(
    ("value_ns", "centre_ns", "given_on"),
    [
        (100, 100, (0, 0, 9)),
        (100, 101, (100, 101, 8)),
        (2**63 - 101, -100, (2**63 - 1, 0, 9)),
        (2**63 - 100, -100, (2**63 - 100, -100, 8)),
    ],
)
def test_what_no_clock_can_read_is_not_given_on(value_ns, centre_ns, given_on):
    raw, mono = ClockDomain("MONOTONIC_RAW"), ClockDomain("MONOTONIC")
    read = Aligned(value_ns, centre_ns, 8)
    assert Aligner().align(read, mono, raw, main=True) == given_on


@pytest.mark.parametrize(("tick_ns", "is_coarse"), [(100_000, False), (100_001, True)])
def test_a_clock_is_coarse_by_its_tick(tick_ns, is_coarse):
    raw = ClockDomain("MONOTONIC_RAW")
    for domain in (
        ClockDomain("com.example.a", tick_ns=tick_ns),
        ClockDomain("com.example.a", ns_per_tick=tick_ns),
    ):
        aligned = Aligner().align(Aligned(10**9, 1_000, 8), domain, raw, main=True)
        assert aligned == ((10**9, 1_000, 8) if is_coarse else (10**9 - 1_000, 0, 9))
