"""Clocks that one oscillator drives: taken to be so where snapshots bear it out."""

from __future__ import annotations

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, packet, pb, snapshot, trace
from reading import opened

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot
from tracetime.sources.local import HostSource

S = 1_000_000_000
START = 1000 * S
WALL_NS = 1_700_000_000 * S


def wandering(rate=31e-6, accel=0.7e-9):
    """How far a clock has strayed, ns, at times; its rate changes by `accel` each second."""

    def strayed(t):
        since = (np.asarray(t) - START) / S
        return np.rint((rate * since + accel * since * since / 2) * S).astype(np.int64)

    return strayed


class World:
    """A reference and another clock, read each `gap` within some 150 ns of each other."""

    def __init__(
        self,
        strayed,
        n=60,
        gap=10 * S,
        clock="REALTIME",
        reference="MONOTONIC",
        seed=1,
        half=(50, 250),
        **domain,
    ):
        self.random = np.random.default_rng(seed)
        self.strayed, self.names = strayed, (reference, clock)
        self.times = START + np.arange(n, dtype=np.int64) * gap + self.random.integers(0, 10**6, n)
        halves = self.random.integers(*half, n)
        read = self.read(self.times + self.random.integers(-halves, halves + 1))
        self.edit(read)
        domains = [ClockDomain(clock, **domain)] if domain else []
        self.graph = ClockGraph(domains=domains)
        self.graph.add_snapshot(
            Snapshot(
                {reference: self.times, clock: read},
                reference=reference,
                half_width_ns={clock: halves + 2},
            )
        )

    def edit(self, read):
        """Readings that are wrong."""

    def read(self, t):
        return np.asarray(t) + WALL_NS + self.strayed(t)

    def bars(self, bars="estimated"):
        at = np.sort(self.random.integers(self.times[0], self.times[-1], 2000))
        found = self.graph.convert(at, *self.names, policy="tube", bounds=True, bars=bars)
        truth = self.read(at)
        return float(((truth < found.earliest) | (truth > found.latest)).mean()), found

    def outside(self):
        return self.bars()[0]

    @property
    def wander_ppm(self):
        pair = self.graph._graph.tubes.pair(*map(ClockId.parse, self.names))
        return (pair.tube.wander * 1e6).round(4).tolist()


def together(t):
    return np.zeros(len(t), dtype=np.int64)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("n", "gap", "half"),
    [
        (60, 10 * S, (50, 250)),
        (600, S, (50, 250)),
        (60, 60 * S, (50, 250)),
        (60, 10 * S, (1_000, 5_000)),
        (12, 10 * S, (50, 250)),
        (8, 10 * S, (50, 250)),
        (7, 10 * S, (50, 250)),
        (3, 10 * S, (50, 250)),
    ],
)
def test_a_wall_clock_that_wanders_alone_stays_in_its_bars(n, gap, half, seed):
    """31 ppm, and 0.7 ppb a second: a third of all was outside."""
    world = World(wandering(), n, gap, half=half, seed=seed)
    assert world.outside() == 0
    assert min(world.wander_ppm) >= 0.5


@pytest.mark.parametrize("clock", ["BOOTTIME", "MONOTONIC_COARSE"])
def test_clocks_that_snapshots_contradict_wander_as_any(clock):
    world = World(wandering(), clock=clock, tick_ns=1)
    assert world.outside() == 0
    assert 0.002 <= min(world.wander_ppm) <= 0.5


@pytest.mark.parametrize("reference", ["MONOTONIC", "BOOTTIME", "MONOTONIC_RAW"])
def test_eight_snapshots_bear_out_that_a_wall_clock_shares_the_oscillator(reference):
    for n, ppm in ((60, 0.001), (8, 0.001), (7, 0.5), (1, 0.5)):
        world = World(together, n, reference=reference)
        assert world.wander_ppm == [ppm]
        if n > 1:
            assert world.outside() == 0


def test_of_a_rate_of_its_own_no_number_of_snapshots_does():
    """31 ppm, and steady so far: Linux gives REALTIME and MONOTONIC one rate."""
    assert World(wandering(accel=0)).wander_ppm == [0.5]
    assert World(wandering(accel=0), reference="MONOTONIC_RAW").wander_ppm == [0.001]


def test_each_stretch_between_steps_is_borne_out_by_itself():
    def stepped(t):
        return (np.asarray(t) > START + 100 * S) * 5 * S + (np.asarray(t) > START + 150 * S) * 5 * S

    world = World(stepped, n=40)
    assert world.wander_ppm == [0.001, 0.5, 0.001]


def test_one_snapshot_that_is_off_contradicts_nothing():
    class Off(World):
        def edit(self, read):
            read[len(read) // 2] += 3_000

    for n in (12, 60):
        assert Off(together, n).wander_ppm == [0.001]


def test_other_clocks_share_it_until_snapshots_contradict():
    for n in (1, 3, 60):
        world = World(together, n, clock="BOOTTIME")
        assert world.wander_ppm == [0.001]


def test_a_change_of_rate_by_ntp_is_no_contradiction():
    """Of MONOTONIC against MONOTONIC_RAW, once or twice in an hour."""

    def slewed(t):
        since = np.asarray(t) - START
        return since // 100_000 + np.maximum(since - 300 * S, 0) // 50_000

    world = World(slewed, n=120, clock="MONOTONIC", reference="MONOTONIC_RAW")
    assert world.wander_ppm == [0.001]
    assert world.outside() == 0


@pytest.mark.parametrize("strayed", [together, wandering()])
def test_guaranteed_bars_do_not_rest_on_it(strayed):
    """They are what they are where the clock has an oscillator of its own."""
    sharing, alone = World(strayed), World(strayed, oscillator="its own")
    one, other = sharing.bars("guaranteed"), alone.bars("guaranteed")
    assert one[0] == other[0] == 0
    assert (one[1].earliest == other[1].earliest).all()
    assert (one[1].latest == other[1].latest).all()


# What runs on a machine


def system(name):
    return {"system_info": pb.SystemInfo(utsname=pb.Utsname(sysname=name))}


def chrome(name, *before):
    bundle = pb.ChromeEventBundle()
    for key, value in (*before, ("os-arch", "x86_64"), ("os-name", name)):
        bundle.metadata.add(name=key, string_value=value)
    return {"chrome_events": bundle}


def etw():
    return {"etw_events": pb.EtwTraceEventBundle()}


def wander_of(*about, clock=REALTIME, machine=0, options=()):
    """W of a clock against BOOTTIME in a trace of a minute with a declared oscillator."""
    packets = [
        snapshot({BOOTTIME: t, REALTIME: t + WALL_NS, MONOTONIC: t - S}, machine=machine or None)
        for t in range(START, START + 60 * S, S)
    ]
    said = [packet(**one) for one in about]
    with opened(trace(snapshot({BOOTTIME: 5}), *said, *packets), domains=options) as read:
        index = 1 if machine else 0
        pair = read.clocks._graph.tubes.pair(
            ClockId(BOOTTIME, machine=index), ClockId(clock, machine=index)
        )
        return (pair.tube.wander * 1e6).round(4).max()


@pytest.mark.parametrize(
    "about",
    [system("Linux"), chrome("Android"), chrome("Linux"), chrome("CrOS"), system(""), {}],
)
def test_linux_and_android_share_it(about):
    assert wander_of(*([about] if about else [])) == 0.001


@pytest.mark.parametrize(
    "about",
    [system("Windows"), system("Darwin"), chrome("Windows NT"), chrome("Mac OS X"), etw(),
     chrome("Windows NT", ("os-name-not", "Linux"), ("os", "Linux"))],
)  # fmt: skip
def test_other_systems_slew_the_wall_clock_alone(about):
    """60 snapshots bear out what may end at the next."""
    assert wander_of(about) == 1
    # Others go on as before.
    assert wander_of(about, clock=MONOTONIC) == 0.001


def test_each_machine_has_a_system_of_its_own():
    assert wander_of(system("Linux") | {"machine": 7}, system("Windows")) == 1
    assert wander_of(system("Linux"), system("Windows") | {"machine": 7}) == 0.001
    assert wander_of(system("Linux"), system("Windows") | {"machine": 7}, machine=7) == 1


def test_what_a_caller_declares_counts():
    mine = ClockDomain(REALTIME, max_drift_ppm=50)
    assert wander_of(system("Windows"), options=[mine]) == 1
    both = [ClockDomain(clock, oscillator="one") for clock in (REALTIME, BOOTTIME)]
    assert wander_of(system("Windows"), options=both) == 0.001


def test_systems_but_linux_are_recorded_so():
    source = HostSource({name: iter(range(10**9)).__next__ for name in ("REALTIME", "MONOTONIC")})
    found = {str(clock): source.domain(clock).oscillator for clock in source.clocks.values()}
    assert found == {"REALTIME": "wall@machine0", "MONOTONIC": "posix@machine0"}
