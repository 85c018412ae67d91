"""Many files on one graph: what ties them, against worlds whose truth is known."""

from __future__ import annotations

import json
import re
import zipfile

import numpy as np
import pytest
from corpus import DATA, NO_DATA
from merge_worlds import BOOTS, kineto_ranks, trace_of
from scp import SOURCE, expected, packets

import tracetime as tt
from tracetime.merging.joined import JoinedTraces

pytest_plugins = ["cli"]

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


def test_an_untied_file_tells_what_was_looked_for_and_an_example_that_ties_it(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    found = tt.merge([one, other], None).files[1]
    assert [text.split(":")[0] for text in found.looked_for] == [
        "one boot",
        "collectives",
        "messages",
    ]
    assert "--same a.pftrace,b.pftrace" in found.advice
    sync = re.search(r"--sync (\S+)", found.advice)[1]
    assert sync == "a.pftrace:REALTIME=b.pftrace:REALTIME+0ms+-10ms"
    tied = tt.merge([one, other], None, sync=[sync]).files[1]
    assert tied.offset_ns == 0
    assert not tied.looked_for
    assert tied.advice is None


def test_a_file_given_twice_is_one_file(tmp_path):
    one = trace_of(tmp_path / "a.pftrace")
    (tmp_path / "link.pftrace").symlink_to(one)
    for again in (one, tmp_path / "link.pftrace"):
        with pytest.raises(tt.UsageError, match="are one file"):
            tt.merge([one, again], None)


def test_too_few_partners_are_told(tmp_path):
    one, other = talk(tmp_path, 5_000)
    report = tt.merge(
        [one, other], None, match=["send=ask recv=none key=id"], together=["name=ask"]
    )
    assert "--sync a.json:org.chromium.trace=b.json:org.chromium" in report.files[1].advice
    said = report.files[1].looked_for
    assert "slices ask: 40 in a.json, 0 in b.json; it takes 12 in each" in said[2]
    assert "40 ask in a.json, 0 none in a.json, 0 ask in b.json, 0 none in b.json" in said[3]


def test_a_name_with_quotes_and_backslashes_is_found(tmp_path):
    name = "'all\"\\"
    for file in ("a.json", "b.json"):
        slices = [{"ph": "X", "pid": 1, "tid": 1, "ts": t, "dur": 1, "name": name} for t in (5, 9)]
        (tmp_path / file).write_text(json.dumps({"traceEvents": slices}))
    report = tt.merge([tmp_path / "a.json", tmp_path / "b.json"], None, together=[f"name={name}"])
    assert "2 in a.json, 2 in b.json; it takes 12 in each" in report.files[1].looked_for[2]


def talk(folder, early_us):
    """Two files that send messages to each other each way; one is received too early."""
    asked = [1_000_000 + 10_000 * k for k in range(40)]
    heard = [at + 300 - (early_us if k == 20 else 0) for k, at in enumerate(asked)]
    paths = folder / "a.json", folder / "b.json"
    events = (
        [("ask", asked), ("hear_back", [at + 900 for at in asked])],
        [("hear", heard), ("answer", [at + 600 for at in asked])],
    )
    for path, kinds in zip(paths, events, strict=True):
        made = [
            {"ph": "X", "name": name, "ts": at, "dur": 1, "pid": 1, "tid": 1, "args": {"id": k}}
            for name, times in kinds
            for k, at in enumerate(times)
        ]
        path.write_text(json.dumps(made))
    return paths


@pytest.mark.parametrize("early_us", [0, 5_000])
def test_messages_that_are_received_before_they_were_sent_contradict(tmp_path, early_us):
    match = ["send=ask recv=hear key=id", "send=answer recv=hear_back key=id"]
    report = tt.merge(talk(tmp_path, early_us), None, match=match)
    assert len(report.wrong_orders) == bool(early_us)
    for wrong in report.wrong_orders:
        assert wrong.kind == "wrong_order"
        assert {str(wrong.src), str(wrong.dst)} == {str(file.clock) for file in report.files}
    assert len(report.to_dict()["wrong_orders"]) == bool(early_us)


def test_the_command_prints_the_report_before_its_error(tmp_path, tracetime):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    for more in ((), ("-o", tmp_path / "merged.zip")):
        code, out, err = tracetime("merge", one, other, *more)
        assert code == 2
        assert "not by collectives" in out
        assert "--same a.pftrace,b.pftrace" in err
    assert not (tmp_path / "merged.zip").exists()


def test_the_command_prints_contradicting_messages(tmp_path, tracetime):
    match = ["--match", "send=ask recv=hear key=id"]
    match += ["--match", "send=answer recv=hear_back key=id"]
    code, out, _ = tracetime("merge", *talk(tmp_path, 5_000), *match)
    assert code == 0
    assert "contradiction: between a.json and b.json" in " ".join(out.split())


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
