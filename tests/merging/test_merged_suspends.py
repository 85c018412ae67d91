"""Merges of machines that slept: BOOTTIME counts that by whole seconds, and bars hold the truth."""

from __future__ import annotations

import pytest
from suspended_machines import MS, Machine, S
from suspended_recordings import file_of, sleeper

import tracetime as tt
from tracetime.merging.merged_traces import MergedTraces


def joined(tmp_path, *files):
    paths = [tmp_path / f"{k}.pftrace" for k in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return MergedTraces(paths)


def misses(graph, src, dst, times):
    """At how many true times the bar of the other clock misses it, and how many have a bar.

    src, dst: (clock, machine).
    """
    times = [at for at in times if src[1].awake(at) and dst[1].awake(at)]
    read = [src[1].boottime_ns(at) for at in times]
    truth = [dst[1].boottime_ns(at) for at in times]
    bars = graph.convert(
        read, src[0], dst[0], policy="tube", bounds=True, bars="guaranteed", errors="mask"
    )
    rows = list(zip(truth, bars.earliest.to_pylist(), bars.latest.to_pylist(), strict=True))
    known = [row for row in rows if row[1] is not None and row[2] is not None]
    return sum(not low <= true <= high for true, low, high in known), len(known)


TIMES = range(S, 119 * S, 250 * MS)
BEFORE, AFTER = range(1, 60, 10), range(61, 120, 10)
OFFS = [0, 4 * MS, -4 * MS, 8 * MS, 700 * MS]


@pytest.mark.parametrize("off_ns", OFFS)
def test_a_peer_that_slept_and_its_own_file(tmp_path, off_ns):
    """Its file runs across the suspend as one clock; the other one has two machines of it."""
    here, there = Machine(0), sleeper(off_ns)
    files = file_of(here, [(there, BEFORE), (there, AFTER)]), file_of(there)
    with joined(tmp_path, *files) as found:
        clocks = (found.home(0), here), (found.home(1), there)
        for src, dst in (clocks, clocks[::-1]):
            missed, known = misses(found.clocks, src, dst, TIMES)
            assert missed == 0
            assert known > 450


@pytest.mark.parametrize("off_ns", OFFS)
def test_a_peer_that_slept_between_two_files_that_asked_it(tmp_path, off_ns):
    """Nothing says that BOOTTIME of it went on: what is before is no help after."""
    here, there, third = Machine(0), sleeper(off_ns), Machine(2, boot_ns=-7 * S)
    files = (
        file_of(here, [(there, BEFORE), (there, AFTER)], monotonic=False),
        file_of(third, [(there, BEFORE), (there, AFTER)], monotonic=False),
    )
    with joined(tmp_path, *files) as found:
        clocks = (found.home(0), here), (found.home(1), third)
        for src, dst in (clocks, clocks[::-1]):
            assert misses(found.clocks, src, dst, TIMES) == (0, len(TIMES))
        here_of = [found.boots.machine(0, machine) for machine in (1, 2)]
        assert here_of[0] != here_of[1]
        assert [found.boots.machine(1, machine) for machine in (1, 2)] == here_of


def test_peers_of_one_boot_at_other_times_are_not_tied(tmp_path):
    """It may have slept between the two recordings."""
    here, there, third = Machine(0), sleeper(8 * MS), Machine(2, boot_ns=-7 * S)
    files = file_of(here, [(there, BEFORE)]), file_of(third, [(there, AFTER)])
    with joined(tmp_path, *files) as found:
        assert found.boots.machine(0, 1) != found.boots.machine(1, 1)
        assert found.ties == []
    report = tt.merge([tmp_path / "0.pftrace", tmp_path / "1.pftrace"], None)
    assert any(
        "machine 1 of 0.pftrace and machine 1 of 1.pftrace are of one boot, but of other times"
        in line
        for line in report.files[1].looked_for
    )


@pytest.mark.parametrize("off_ns", OFFS)
def test_the_machine_that_records_slept(tmp_path, off_ns):
    """And asked as one machine all the time, as a relay does."""
    here, there = sleeper(off_ns), Machine(0)
    times = [at for at in [*BEFORE, *AFTER] if here.awake(at * S)]
    with joined(tmp_path, file_of(here, [(there, times)]), file_of(there)) as found:
        clocks = (found.home(0), here), (found.home(1), there)
        for src, dst in (clocks, clocks[::-1]):
            missed, known = misses(found.clocks, src, dst, TIMES)
            assert missed == 0
            assert known > 450


def test_the_report_says_that_it_slept(tmp_path):
    here, there = Machine(0), sleeper(8 * MS)
    paths = [tmp_path / "a.pftrace", tmp_path / "b.pftrace"]
    paths[0].write_bytes(file_of(here, [(there, BEFORE), (there, AFTER)]))
    paths[1].write_bytes(file_of(there))
    (slept,) = tt.merge(paths, None).suspends
    assert slept.file == 1
    assert slept.from_ns == there.boottime_ns(55 * S)
    assert slept.to_ns == there.boottime_ns(65 * S)


def test_without_a_suspend_epochs_of_a_restart_are_one_clock(tmp_path):
    """Its own file says that it did not sleep: bars are as narrow as if `serve` had gone on."""
    here, there = Machine(0), Machine(1)
    halves = []
    for peers in ([(there, BEFORE), (there, AFTER)], [(there, [*BEFORE, *AFTER])]):
        with joined(tmp_path, file_of(here, peers), file_of(there)) as found:
            bars = found.clocks.convert(
                [there.boottime_ns(at) for at in TIMES],
                found.home(1), found.home(0), policy="tube", bounds=True, bars="guaranteed",
            )  # fmt: skip
            halves.append((bars.latest - bars.earliest).tolist())
    assert halves[0] == halves[1]
