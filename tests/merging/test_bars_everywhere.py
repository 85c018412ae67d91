"""Files merged to a trace, to an archive, and opened together: one bar for each event in SQL."""

from __future__ import annotations

from collections import Counter

import pytest
from ctf_files import simple
from merge_worlds import kineto_ranks, set_back, two_recordings
from suspended_machines import MS, Machine
from suspended_recordings import file_of, sleeper
from test_merged_flows import two_files
from xdf_files import two_streams

import tracetime as tt
from tracetime.commands.options import open_as_one
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.placing import FilePlacing, target_of
from tracetime.verbs.convert import convert

S = 1_000_000_000


def eight_ranks(folder):
    return kineto_ranks(folder, 5, ranks=8, steps=60).paths, {}


def three_ranks(folder):
    """The clock of the third is set back in the middle."""
    world = kineto_ranks(folder, 5, ranks=3, steps=60)
    set_back(world.paths[2], 214e6)
    return world.paths, {}


def four_recordings(folder):
    """With peers; one sleeps, and after that nobody asks it: bars to it are open there."""
    here, there, third, fourth = Machine(0), sleeper(8 * MS), Machine(2, boot_ns=-7 * S), Machine(3)
    before, always = range(1, 50, 7), range(2, 118, 9)
    files = (
        file_of(here, [(there, before), (third, always)]),
        file_of(there),
        file_of(third, [(there, before), (fourth, always)]),
        file_of(fourth),
    )
    paths = [folder / f"{name}.pftrace" for name in "abcd"]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return paths, {}


def three_of_xdf(folder):
    paths = [folder / f"{name}.xdf" for name in "abc"]
    for path in paths:
        path.write_bytes(two_streams().content)
    with tt.open_trace(paths[0]) as one:
        clock = one.clocks.name(one.trace_clock)
    ties = [f"a.xdf:{clock}={path.name}:{clock}+{n}s+-1ms" for n, path in enumerate(paths[1:], 5)]
    return paths, {"sync": ties}


def two_of_ctf(folder):
    paths = [
        simple(*range(first, first + 10**9, 10**7)).write(folder / str(first)) for first in (5, 9)
    ]
    with tt.open_trace(paths[0]) as one:
        clock = one.clocks.name(one.trace_clock)
    return paths, {"sync": [f"5:{clock}=9:{clock}+3s+-1us"]}


def by_flows(folder):
    return two_files(folder), {"orders": "flows"}


WORLDS = {
    "ranks": eight_ranks,
    "a rank set back": three_ranks,
    "recordings": four_recordings,
    "two recordings": two_recordings,
    "flows": by_flows,
    "xdf": three_of_xdf,
    "ctf": two_of_ctf,
}


def of_sources(paths, options):
    """The bars of the events of files as the graph of all has them."""
    options = dict(options)
    reading = {"orders": options.pop("orders", None)}
    found = Counter()
    with MergedTraces(paths, **options, reading=reading) as traces:
        for file in traces.files:
            file.trace.placing = FilePlacing(traces, file.number, target_of(traces))
            found += in_sql(file.trace)
    return found


def in_sql(trace):
    """The bars of all events, by what their clocks read."""
    table = trace.sql("select timestamp, earliest, latest from events", policy="tube")
    return Counter(map(tuple, zip(*table.to_pydict().values(), strict=True)))


@pytest.mark.parametrize("world", WORLDS)
def test_a_merged_trace_an_archive_and_files_have_the_bars_of_their_sources(tmp_path, world):
    paths, options = WORLDS[world](tmp_path)
    report = tt.merge(paths, tmp_path / "m.pftrace", **options)
    assert (world == "a rank set back") == bool(report.steps)
    with tt.open_trace(tmp_path / "m.pftrace") as merged:
        found, names = in_sql(merged), merged.clocks.names
        assert not merged.warnings
    assert (world == "recordings") == any(None in bar for bar in found)
    with tt.open_traces(paths, **options) as together:
        assert in_sql(together) == found
        assert together.clocks.names == names
    if world in ("ranks", "a rank set back", "two recordings", "flows"):
        tt.merge(paths, tmp_path / "m.zip", **options)
        with open_as_one(str(tmp_path / "m.zip")) as archive:
            assert in_sql(archive) == found
            assert archive.clocks.names == names
    assert not of_sources(paths, options) - found


def test_a_file_that_is_cut_off_is_told_of_what_is_made_of_it(tmp_path):
    paths, options = two_recordings(tmp_path)
    paths[0].write_bytes(paths[0].read_bytes()[:-5])
    tt.merge(paths, tmp_path / "m.pftrace", partial=True, **options)
    tt.merge(paths, tmp_path / "m.zip", partial=True, **options)
    for opened in (
        tt.open_trace(tmp_path / "m.pftrace"),
        tt.open_traces(paths, partial=True, **options),
        open_as_one(str(tmp_path / "m.zip"), partial=True),
    ):
        with opened as one:
            assert "a.pftrace: the trace is cut off in mid-packet" in str(one.truncated)
            assert convert(one, tmp_path / "o.parquet").truncated is not None
            assert "trace-truncated" in {found.code for found in tt.diagnose(one)}
