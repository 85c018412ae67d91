"""What bounds REALTIME in samples: it holds UTC, and is in the trace."""

from __future__ import annotations

import time

import pytest
from clockbound_bytes import memory
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import extensions_of
from simulated_time import MS, Machine, S, World

import tracetime as tt
from tracetime.capture import record as recording
from tracetime.capture.sample import WallBounds
from tracetime.clocks.kernel_clock import WallBound
from tracetime.errors import NoBoundError
from tracetime.sources.time_service.clockbound import ClockBound
from tracetime.sources.time_service.service import TimeService

REALTIME, BOOTTIME, RAW = tt.ClockId(1), tt.ClockId(6), tt.ClockId(5)


def snapshot_of(machine, reference):
    """REALTIME and MONOTONIC_RAW, each somewhere in a bracket by the reference; and UTC at each.

    The reference is one of the two, or BOOTTIME, which is slewed as MONOTONIC. None where REALTIME
    is set meanwhile: that breaks the bracket itself.
    """
    world, random = machine.world, machine.random
    reads = {REALTIME: machine.real, RAW: machine.raw, BOOTTIME: machine.mono}
    first_ns = reads[reference]()
    set_by = machine.real_less_mono_ns
    readings, halves, centres, true = {reference: first_ns}, {}, {}, {reference: world.true_ns}
    for clock in {REALTIME, RAW} - {reference}:
        before_ns = reads[reference]()
        world.advance(random.choice([20, 1_000, MS]))
        readings[clock], true[clock] = reads[clock](), world.true_ns
        world.advance(random.choice([20, 1_000, MS]))
        width_ns = reads[reference]() - before_ns
        if machine.real_less_mono_ns != set_by:
            return None
        centres[clock] = before_ns + width_ns // 2 - first_ns
        halves[clock] = width_ns - width_ns // 2 + 1
    snapshot = tt.Snapshot(readings, reference=reference, half_width_ns=halves, centre_ns=centres)
    return snapshot, true[REALTIME]


def check_bounds(seed, upset, reference):
    """How many bounds there are; they hold UTC."""
    world = World(seed)
    machine = Machine(world, upset=False)
    bounds = WallBounds(machine.service, [REALTIME, RAW])
    machine.upset = upset
    found = 0
    for _ in range(15):
        world.advance(world.random.choice([1_000, MS, 300 * MS, S]))
        taken = snapshot_of(machine, reference)
        if taken is None or (bound := bounds.of(taken[0])) is None:
            continue
        snapshot, true_ns = taken
        found += 1
        less_ns = true_ns - snapshot.readings[REALTIME].value
        assert bound.earliest_ns <= less_ns <= bound.latest_ns
        assert bound.source == "simulated"
    return found


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([RAW, REALTIME, BOOTTIME]))
def test_a_bound_holds_utc(seed, upset, reference):
    check_bounds(seed, upset, reference)


def test_most_snapshots_have_a_bound():
    assert sum(check_bounds(seed, False, RAW) for seed in range(10)) > 50


class Sure:
    """A service whose clock is 10 to 30 ns behind UTC."""

    def now(self):
        pass

    def at(self, raw_ns, realtime_ns):
        assert (raw_ns, realtime_ns) == (7, 1_000)
        return tt.TrueTime(1_010, 1_020, 1_030, "REALTIME", "chrony", 0)


@pytest.mark.parametrize(
    ("reference", "halves", "centres", "more_ns"),
    [
        (RAW, {}, {}, 1),
        (RAW, {REALTIME: 80}, {REALTIME: 0}, 91),
        (REALTIME, {RAW: 80}, {RAW: -160}, 271),
        (BOOTTIME, {RAW: 80, REALTIME: 16}, {RAW: 40, REALTIME: -40}, 199),
    ],
)
def test_a_bound_is_the_services_and_what_the_readings_are_apart(
    reference, halves, centres, more_ns
):
    """And an eighth of that: so much may the rates differ."""
    readings = {RAW: 7, REALTIME: 1_000, BOOTTIME: 3}
    snapshot = tt.Snapshot(readings, reference=reference, half_width_ns=halves, centre_ns=centres)
    bound = WallBounds(Sure(), readings).of(snapshot)
    assert bound == (10 - more_ns, 30 + more_ns, "chrony")


class Counting:
    """A service that states nothing."""

    asked = 0

    def now(self):
        self.asked += 1
        raise NoBoundError("not there; start it")

    def at(self, raw_ns, realtime_ns):
        return self.now()


@pytest.mark.parametrize("clocks", [[REALTIME], [RAW], [BOOTTIME, RAW]])
def test_without_both_clocks_nobody_is_asked(clocks):
    service = Counting()
    bounds = WallBounds(service, clocks)
    assert bounds.of(tt.Snapshot(dict.fromkeys([*clocks, BOOTTIME], 1))) is None
    assert service.asked == 0


def test_a_clock_that_could_not_be_read_is_not_bounded():
    service = Counting()
    bounds = WallBounds(service, [REALTIME, RAW])
    assert bounds.of(tt.Snapshot({RAW: 1, BOOTTIME: 1})) is None
    assert service.asked == 1


def test_where_nothing_bounds_the_clock_there_is_no_bound():
    bounds = WallBounds(Counting(), [REALTIME, RAW])
    assert bounds.of(tt.Snapshot({RAW: 1, REALTIME: 1})) is None


@pytest.fixture
def bounded(tmp_path, monkeypatch):
    """A ClockBound that a test plays bounds this machine's clock."""
    path = tmp_path / "shm0"
    path.write_bytes(memory(bound_ns=20_000))
    service = TimeService(sources=[ClockBound(str(path))])
    monkeypatch.setattr(recording, "TimeService", lambda: service)
    return path


def test_a_recording_has_the_bound_in_each_snapshot(tmp_path, bounded):
    path = tmp_path / "out.pftrace"
    with tt.record(path, ["REALTIME"], interval=None) as rec:
        rec.snapshot()
        bounded.unlink()
        time.sleep(0.01)  # A statement is used for 4 ms.
        rec.snapshot()
    extensions = [one for one in extensions_of(path.read_bytes()) if one.HasField("reference")]
    found = [one.HasField("wall_bound") for one in extensions]
    assert found == [True, True, False, False]
    with tt.open_trace(path) as trace:
        bounds = trace.wall_bounds()
        assert (bounds[2] <= -20_000).all()
        assert (bounds[3] >= 20_000).all()
        # The daemon that the test plays has said it less than a minute ago, at 50 ppm.
        assert bounds[2:4].min() > -10 * MS
        (told,) = trace.wall_clock_bounds
        assert (told.clock, told.source, told.snapshots) == (REALTIME, "clockbound", 2)
        assert told.within_ns == max(-bounds[2].min(), bounds[3].max())


def test_a_sampler_without_a_service_bounds_nothing(bounded):
    with tt.Sampler(["REALTIME"]) as sampler:
        assert sampler.sample().wall_bound is None


def test_a_sampler_with_a_service_does(bounded):
    with tt.Sampler(["REALTIME"], time_service=recording.TimeService()) as sampler:
        bound = sampler.sample().wall_bound
        assert isinstance(bound, WallBound)
        assert bound.earliest_ns < 0 < bound.latest_ns
