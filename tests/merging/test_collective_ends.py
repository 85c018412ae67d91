"""Collectives that the caller says end everywhere within a time."""

from __future__ import annotations

import numpy as np
import pytest
from merge_worlds import kineto_ranks

import tracetime as tt
from tracetime.merging.merged_traces import MergedTraces

pytest_plugins = ["cli"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Ranks that leave each all-reduce within 10 us."""
    return kineto_ranks(tmp_path_factory.mktemp("ranks"), 3, ranks=3)


def bars(world, number, **options):
    """Half-widths of one rank's bars on the first rank's clock, and whether they hold the truth."""
    times = np.linspace(world.firsts_ns[number] + 10**9, world.firsts_ns[number] + 25 * 10**9, 200)
    times = times.astype(np.int64)
    with MergedTraces(world.paths, **options) as traces:
        found = traces.clocks.convert(
            times, traces.home(number), traces.home(0), policy="tube", bounds=True
        )
    truth = world.on_first(number, times)
    return (found.latest - found.earliest) / 2, (found.earliest <= truth) & (truth <= found.latest)


@pytest.mark.parametrize("number", [1, 2])
def test_bars_are_of_that_size_beside_how_well_each_gpu_is_placed(world, number):
    wide, _ = bars(world, number)
    half, held = bars(world, number, collective_ends="50us")
    assert held.all()
    # Each profiler puts its GPU within 100 us.
    assert np.median(half) < 300_000 < np.median(wide)


@pytest.mark.parametrize("number", [1, 2])
def test_bars_between_gpus_are_of_that_size(world, number):
    """Where the caller vouches for the placement, nothing is added."""
    well = tt.ClockDomain("org.pytorch.gpu.0", assumed_half_width_ns=0)
    half, held = bars(world, number, collective_ends="50us", reading={"domains": (well,)})
    assert held.all()
    assert np.median(half) < 60_000


def test_it_is_never_assumed_and_said_where_it_is(world, tracetime):
    plain = tt.merge(world.paths, None)
    assert not any("assumed" in tie.said for file in plain.files for tie in file.ties)
    report = tt.merge(world.paths, None, collective_ends="50us")
    ties = [tie for file in report.files for tie in file.ties]
    assert all("assumed to end everywhere within 50 us" in tie.said for tie in ties)
    assert ties
    code, out, _ = tracetime("merge", *world.paths, "--collective-ends", "50us")
    assert code == 0
    assert "assumed to end everywhere within 50 us" in " ".join(out.split())


def test_what_is_no_time_is_refused(world):
    with pytest.raises(tt.UsageError, match="half-width"):
        tt.merge(world.paths, None, collective_ends="soon")
