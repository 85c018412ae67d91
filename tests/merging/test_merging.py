"""Many files on one graph: what ties them, against worlds whose truth is known."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from corpus import DATA, NO_DATA
from merge_worlds import BOOTS, kineto_ranks, trace_of
from scp import SOURCE, expected, packets

import tracetime as tt
from tracetime.merging.joined import JoinedTraces

SYNCTRACES = DATA / "other" / "ctf" / "tracecompass" / "synctraces"


def truth_inside(joined, number, world, times):
    bounds = joined.graph.convert(
        times, joined.home(number), joined.home(0), policy="tube", bounds=True
    )
    truth = world.on_first(number, times)
    return bounds, truth, (bounds.earliest <= truth) & (truth <= bounds.latest)


@pytest.mark.parametrize("seed", range(4))
def test_ranks_are_tied_by_their_collectives(tmp_path, seed):
    world = kineto_ranks(tmp_path, seed)
    with JoinedTraces(world.paths) as joined:
        for number in range(1, len(world.paths)):
            times = np.linspace(*joined.files[number].span, 500).astype(np.int64)
            bounds, truth, inside = truth_inside(joined, number, world, times)
            assert inside.all()
            error = np.median(np.abs(bounds.estimate - truth))
            by_minimum = np.abs(world.by_minimum(number, times) - truth)
            by_wall_clock = np.abs(times - truth)
            assert error <= np.median(by_minimum) / 20
            assert error <= np.median(by_wall_clock) / 20


def test_steps_that_are_all_alike_are_refused(tmp_path):
    world = kineto_ranks(tmp_path, 1, jitter=False)
    assert not tt.merge(world.paths, None).files[1].ties


def test_an_offset_that_is_given(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", BOOTS)
    sync = "a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+250ms+-1ms"
    report = tt.merge([one, other], None, sync=[sync])
    assert report.files[1].offset_ns == 250_000_000
    assert 1_000_000 <= report.files[1].half_width_ns < 1_100_000
    with zipfile_of(tmp_path, [one, other], sync=[sync]) as archive:
        files = json.loads(archive.read("perfetto_manifest.json"))["perfetto_manifest"]["files"]
        assert files[1]["clocks"]["offset_ns"] == 250_000_000
        assert archive.read("a.pftrace") == one.read_bytes()


def zipfile_of(folder, inputs, **options):
    tt.merge(inputs, folder / "merged.zip", **options)
    return zipfile.ZipFile(folder / "merged.zip")


@pytest.mark.parametrize("apart_ns", [0, 500_000_000])
def test_files_of_one_boot_by_the_instant_it_booted(tmp_path, apart_ns):
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1")
    other = trace_of(
        tmp_path / "b.pftrace", kernel="6.1", later_ns=100_000_000_000, booted_ns=apart_ns
    )
    report = tt.merge([one, other], None)
    assert report.boots[0].same == (not apart_ns)
    assert (report.files[1].offset_ns == 0) == (not apart_ns)


@pytest.mark.parametrize("boot", [b"0" * 16, b"1" * 16])
def test_the_boot_id_decides_first(tmp_path, boot):
    one = trace_of(tmp_path / "a.pftrace", boot_id=b"0" * 16)
    other = trace_of(tmp_path / "b.pftrace", boot_id=boot, booted_ns=500_000_000)
    assert tt.merge([one, other], None).boots[0].same == (boot == b"0" * 16)


def test_another_kernel_is_another_machine(tmp_path):
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1")
    other = trace_of(tmp_path / "b.pftrace", kernel="6.2")
    assert not tt.merge([one, other], None).boots[0].same
    report = tt.merge([one, other], None, same=["a.pftrace,b.pftrace"])
    assert report.boots[0].same
    assert report.files[1].offset_ns == 0


def test_files_that_nothing_ties_are_not_written(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    assert tt.merge([one, other], None).files[1].why_not
    with pytest.raises(tt.UsageError, match=r"nothing ties b\.pftrace to a\.pftrace"):
        tt.merge([one, other], tmp_path / "merged.zip")
    assert not (tmp_path / "merged.zip").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sync": ["a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+1ms"]}, "is no offset"),
        ({"sync": ["x:BOOTTIME=b.pftrace:BOOTTIME+1ms+-1ms"]}, "none of the files"),
        ({"sync": ["a.pftrace:TSC=b.pftrace:BOOTTIME+1ms+-1ms"]}, "has no clock TSC"),
        ({"match": ["send=a"]}, "is no rule"),
        ({"together": ["key=a"]}, "is no rule"),
        ({"same": ["a.pftrace"]}, "is not a pair"),
        ({"same": ["a.pftrace,b.pftrace"], "different": ["b.pftrace,a.pftrace"]}, "said to be"),
    ],
)
def test_options_that_cannot_be_read(tmp_path, options, said):
    inputs = [trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")]
    with pytest.raises(tt.UsageError, match=said):
        tt.merge(inputs, None, **options)


@pytest.mark.skipif(not SYNCTRACES.exists(), reason=NO_DATA)
def test_two_machines_that_copy_a_file():
    with JoinedTraces([SYNCTRACES / "scp_src", SYNCTRACES / "scp_dest"]) as joined:
        assert sum(tie.ties for tie in joined.ties) == 46
        sent = packets(SOURCE, "out").ns
        wall = [
            next(
                int(shared[2][0] - shared[1][0])
                for shared in [
                    joined.graph._parts.shared(home, tt.ClockId(1, machine=home.machine))
                ]
            )
            for home in (joined.home(0), joined.home(1))
        ]
        bar = joined.graph.convert(
            sent - wall[0], joined.home(0), joined.home(1), policy="tube", bounds=True
        )
        line = expected(sent) - wall[1]
        assert ((bar.earliest <= line) & (line <= bar.latest)).all()
