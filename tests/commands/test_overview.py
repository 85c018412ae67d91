"""`tracetime FILE...`: what is in it, whether its time is right, and what comes next."""

import json
import shlex
import zipfile
from importlib import import_module
from random import Random

import pytest
from broken_files import CAPTURES
from broken_traces import KINDS, Recording
from building import BOOTTIME, MONOTONIC, event, packet, pb, snapshot, trace
from corpus import DATA, NO_DATA
from places import ROOT
from samples import CLOCK_SYNC, UNRESOLVED

from tracetime.commands import run

pytest_plugins = ["cli"]

DEMO = ROOT / "demo" / "demo.pftrace"
TIED = trace(
    *(snapshot({BOOTTIME: t, MONOTONIC: t - 5}) for t in (1000, 2000, 3000)),
    event(1500, MONOTONIC),
)


def test_a_file_alone_is_told_in_at_most_twelve_lines(tracetime, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, out, err = tracetime("demo/demo.pftrace")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) <= 12
    assert out.startswith(
        "demo/demo.pftrace: Perfetto trace, 1,317 events of 6 clocks over 1.4 s\n"
    )
    assert "Is its time right? No: 2 errors.\n" in out
    assert "[clock-without-snapshot]" in out
    assert "The widest error bar is ± 600 ms (REALTIME).\n" in out


def test_a_healthy_file_is_said_to_be_right(tracetime, write):
    _, out, _ = tracetime(write(TIED))
    assert "Is its time right? Yes: the clocks are in order.\n" in out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            trace(
                *(snapshot({BOOTTIME: t, MONOTONIC: t - 5}) for t in (1000, 2000, 3000)),
                event(1500, MONOTONIC),
                packet(trace_stats=pb.TraceStats(buffer_stats=[{"chunks_overwritten": 40}])),
            ),
            "Mostly: no errors or warnings, but a ring buffer overwrote 40 chunks",
        ),
        (CAPTURES["packets_jump_56_d"].make(40), "Perhaps: no errors or warnings, but interface 0"),
    ],
)
def test_of_lost_events_and_odd_times_the_answer_tells_and_the_doctor_why(
    tracetime, write, data, said
):
    path = write(data)
    _, out, _ = tracetime(path)
    assert f"Is its time right? {said}" in out
    assert f"tracetime doctor {path} -v\n" in out
    assert "  why: " in tracetime("doctor", path, "-v")[1]


@pytest.mark.parametrize("kind", ["app_ahead_tai", "gpu_ticks_19_2_mhz"])
def test_a_wrong_clock_or_unit_is_not_said_to_be_better_baked(tracetime, write, kind):
    recording = Recording(Random(1), 12)
    KINDS[kind].make(recording)
    _, out, _ = tracetime(write(recording.bytes()))
    assert "bake" not in out
    assert "  in Perfetto          tracetime open " in out
    of_another_clock = "; none holds for the events of another clock." in out
    assert of_another_clock == (KINDS[kind].code == "events-of-another-clock")


def test_a_baked_file_is_not_to_be_baked_again(tracetime, tmp_path):
    baked = tmp_path / "demo-baked.pftrace"
    assert tracetime("bake", DEMO, "-o", baked)[0] == 0
    assert "baked-baked" not in tracetime(baked)[1]


def test_what_took_longest_has_a_name_on_80_columns(tracetime, monkeypatch):
    shown = json.loads(tracetime(DEMO, "--json")[1])
    (query,) = (one["command"] for one in shown["next"] if " sql " in one["command"])
    lines = tracetime(*shlex.split(query)[1:])[1].splitlines()
    assert lines[0].split() == ["name", "dur", "track_name"]
    assert max(map(len, lines)) <= 80


def test_a_broken_manifest_is_refused_as_by_the_other_commands(tracetime, tmp_path):
    path = tmp_path / "a.zip"
    to = {"clock": "BOOTTIME", "sync_to": {"file": "ghost"}}
    manifest = {"perfetto_manifest": {"version": 1, "files": [{"path": "a", "clocks": to}]}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", TIED)
        archive.writestr("manifest.json", json.dumps(manifest))
    code, out, err = tracetime(path)
    assert (code, out) == (3, "")
    assert "names unknown file 'ghost'" in err
    assert tracetime("doctor", path)[::2] == (code, err)


def test_a_file_of_one_clock_is_not_said_to_be_right(tracetime, write):
    _, out, _ = tracetime(
        write(b'[{"ph": "X", "ts": 1, "dur": 2, "name": "a", "pid": 1}]', "t.json")
    )
    assert "it has no second clock to check it by" in out


def test_a_file_of_snapshots_alone_says_of_how_many_clocks(tracetime, write):
    _, out, _ = tracetime(write(b"BOOTTIME,MONOTONIC\n1000,900\n2000,1900\n", "t.csv"))
    assert out.split("\n")[0].endswith("/t.csv: table, snapshots, no events, of 2 clocks")


def test_the_verdict_is_that_of_the_doctor(tracetime, write):
    for data in (TIED, CLOCK_SYNC, UNRESOLVED, UNRESOLVED[:-3], DEMO.read_bytes()):
        path = write(data)
        found = json.loads(tracetime("doctor", path, "--json")[1])["traces"][0]["findings"]
        shown = json.loads(tracetime(path, "--json")[1])
        assert shown["findings"] == found
        worst = min(
            ("error", "warning", "info").index(one["severity"])
            for one in found or [{"severity": "info"}]
        )
        assert shown["verdict"] == ("wrong", "doubtful", "right")[worst]


@pytest.mark.parametrize("command", ["report", "bake"])
@pytest.mark.parametrize("ending", ["pdf", "parquet"])
def test_a_file_is_not_named_after_a_format_that_it_is_not(
    tracetime, write, tmp_path, command, ending
):
    out = tmp_path / f"x.{ending}"
    code, _, err = tracetime(command, write(TIED), "-o", out)
    assert code == 2
    assert f"would not be {ending}: let it end in ." in err
    assert not out.exists()


@pytest.mark.parametrize("data", [TIED, DEMO.read_bytes(), UNRESOLVED, DEMO.read_bytes()[:-9]])
def test_the_commands_that_come_next_work(tracetime, write, tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    shown = json.loads(tracetime(write(data, "with space.pftrace"), "--json")[1])
    assert len(shown["next"]) == 3
    for one in shown["next"]:
        tool, *words = shlex.split(one["command"])
        assert tool == "tracetime"
        if words[0] != "open":
            assert run(words) == 0, words


def test_of_a_broken_file_the_doctor_comes_first(tracetime, write):
    shown = json.loads(tracetime(write(UNRESOLVED), "--json")[1])
    assert shown["next"][0]["command"].startswith("tracetime doctor ")


def test_clocks_are_called_by_their_names_in_all_lines(tracetime):
    """The verdict quotes a finding, too."""
    path = DATA / "other" / "xdf" / "clock_resets.xdf"
    if not path.exists():
        pytest.skip(NO_DATA)
    out = tracetime(path)[1]
    assert "but lsl.BP-LP-022@machine1 was reset once." in out
    assert "0x" not in out


def test_several_files_lie_to_each_other(tracetime, write):
    paths = [write(TIED, "a.pftrace"), write(TIED, "b.pftrace")]
    code, out, _ = tracetime(*paths)
    assert code == 0
    assert out.startswith("a.pftrace: on the clock of the first file\nb.pftrace: nothing ties it")
    assert "why not, and what would tie them  tracetime merge " in out
    assert len(out.splitlines()) <= 12


def test_a_name_of_a_command_is_the_command(tracetime, write, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write(TIED, "clocks")
    assert tracetime("clocks")[0] == 2
    code, out, _ = tracetime("./clocks")
    assert (code, out.partition(":")[0]) == (0, "./clocks")


def test_an_argument_with_a_dot_or_a_slash_is_meant_as_a_file(tracetime, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("nope.json", "nope/nope"):
        code, _, err = tracetime(name)
        assert code == 2
        assert "No such file or directory" in err


def test_another_argument_is_a_command_that_does_not_exist(tracetime):
    code, _, err = tracetime("konvert")
    assert code == 2
    assert err.startswith("tracetime: error: there is no command, and no file, 'konvert': did you")


def test_without_arguments_there_is_help(tracetime):
    code, out, err = tracetime()
    assert (code, err) == (0, "")
    assert out == tracetime("--help")[1]


FORMATS = {
    "chrome_json": "trace in Chrome's JSON, ",
    "ctf": "CTF trace, ",
    "journal": "journal of systemd, 8 messages of 1 clock",
    "pcapng": "capture of packets, ",
    "perfetto": "Perfetto trace, ",
    "spans": "file of spans, ",
    "table": "table, ",
    "xdf": "XDF recording, ",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_each_format_is_told_in_the_words_of_its_users(tracetime, write, tmp_path, name):
    form = import_module(f"fuzz.formats.{name}")
    data = form.samples()[0]
    path = form.write(tmp_path, data) if hasattr(form, "write") else write(data)
    code, out, err = tracetime(path)
    if name == "ctf" and "babeltrace2" in err:
        pytest.skip("babeltrace2 is not here")
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: {FORMATS[name]}")
    assert len(out.splitlines()) <= 12


def test_an_archive_of_several_is_several_files(tracetime, tmp_path):
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.writestr("a.pftrace", TIED)
        archive.writestr("b.pftrace", TIED)
    _, out, _ = tracetime(tmp_path / "both.zip")
    assert out.count("nothing ties it to") == 1
    assert "tracetime clocks" not in out  # it takes one trace


@pytest.mark.parametrize("name", ["hta_nccl_data.json.gz"])
def test_of_a_job_of_pytorch_the_rank_and_the_devices_are_told(tracetime, name):
    path = DATA / "other" / "json" / name
    if not path.exists():
        pytest.skip(NO_DATA)
    _, out, _ = tracetime(path)
    assert out.startswith(f"{path}: PyTorch profile, 40,573 events of 2 clocks over 729 ms\n")
    assert "It is of rank 0 of 2 (nccl), 8 x NVIDIA A100-PG509-200.\n" in out


def test_a_title_takes_two_lines_rather_than_being_cut(tracetime, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = tracetime(ROOT / "demo" / "rank0.json.gz")
    assert code == 0
    assert "kernels begin up to 10 us before\n    the call that launched them [" in out


def test_events_of_no_time_are_not_where_a_trace_begins(tracetime, write):
    named = b'{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a"}}'
    event = b'{"ph": "i", "name": "b", "ts": 9000000000, "pid": 1}'
    _, out, _ = tracetime(write(b"[%b, %b]" % (named, event), "t.json"))
    assert "2 events of 1 clock over 0 ns\n" in out


def test_of_a_recording_of_clocks_its_clocks_come_next(tracetime, write):
    path = write(b"BOOTTIME,MONOTONIC\n1000,900\n2000,1900\n", "t.csv")
    shown = json.loads(tracetime(path, "--json")[1])
    assert [one["command"].split()[1] for one in shown["next"]] == ["clocks", "report", "convert"]


def test_a_file_is_ahead_of_the_first_one_or_behind(tracetime):
    ranks = [ROOT / "demo" / f"rank{n}.json.gz" for n in (0, 1)]
    assert "rank1.json.gz: its clock is 40 ms ahead of rank0.json.gz, ± " in tracetime(*ranks)[1]
    assert (
        "rank0.json.gz: its clock is 40 ms behind rank1.json.gz, ± " in tracetime(*ranks[::-1])[1]
    )


def test_what_comes_next_does_not_write_over_the_file(tracetime, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tracetime("convert", write(TIED), "-o", "e.parquet")[0] == 0
    shown = json.loads(tracetime("e.parquet", "--json")[1])
    (convert,) = (one["command"] for one in shown["next"] if " convert " in one["command"])
    assert tracetime(*shlex.split(convert)[1:])[0] == 0
