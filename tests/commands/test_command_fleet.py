"""`tracetime fleet`: what it prints, its exit codes, and how it is interrupted."""

import json
import re
import signal
import subprocess
import time

import pytest
from fleets import all_ended, assert_complete, children_of, drifting_trace, parts, write_fleet

from tracetime import fleet
from tracetime.commands.fleet import FleetProgress, line
from tracetime.fleet import Progress

pytest_plugins = ["cli"]


@pytest.fixture
def here(monkeypatch):
    """Traces are done in this process, which starts at once."""
    monkeypatch.setattr(fleet, "run_in_pool", lambda function, uris, *_, **__: map(function, uris))


@pytest.fixture
def traces(tmp_path):
    return write_fleet(tmp_path / "traces", 5, corrupt=(3,))


@pytest.mark.parametrize(
    ("options", "code"), [((), 1), (("--max-failures", 0), 1), (("--max-failures", 1), 0)]
)
def test_the_exit_code_says_whether_too_many_were_rejected(
    here, tracetime, traces, tmp_path, options, code
):
    found, out, err = tracetime("fleet", "convert", traces, "-o", tmp_path / "out", *options)
    assert (found, err) == (code, "")
    text = " ".join(out.split())
    assert text.startswith("5 traces: 4 new, 1 rejected; ")
    assert f"rejected: {traces}/003.pftrace: " in text.replace(" /", " /")
    assert_complete(tmp_path / "out", traces, [str(traces / "003.pftrace")])


def test_options_reach_every_trace(here, tracetime, traces, tmp_path):
    words = ("--policy", "tube", "--with-names", "--partial", "--to", "MONOTONIC")
    assert tracetime("fleet", "convert", traces, "-o", tmp_path / "out", *words)[0] == 0
    (schema,) = {tuple(columns(path)) for path in parts(tmp_path / "out")}
    assert {"trace", "earliest", "to_time", "name"} <= set(schema)
    assert len(parts(tmp_path / "out")) == 5


def columns(path):
    import pyarrow.parquet as pq

    return pq.read_schema(path).names


@pytest.mark.parametrize(("name", "table"), [("doctor", "findings"), ("slices", "slices")])
def test_the_other_tables(here, tracetime, traces, tmp_path, name, table):
    code, out, _ = tracetime("fleet", name, traces, "-o", tmp_path / "out", "--max-failures", 1)
    assert code == 0
    assert out.startswith("5 traces: ")
    assert ("tracetime fleet summary" in out) == (name == "doctor")
    assert len(parts(tmp_path / "out", table)) == (5 if name == "doctor" else 4)


def test_other_options_are_wrong_usage(here, tracetime, traces, tmp_path):
    words = ("fleet", "convert", traces / "000.pftrace", "-o", tmp_path / "out")
    assert tracetime(*words)[0] == 0
    code, _, err = tracetime(*words, "--policy", "tube")
    assert code == 2
    assert "made with other options: policy 'floor'" in err


def test_nothing_to_read_is_wrong_usage(tracetime, tmp_path):
    code, _, err = tracetime("fleet", "convert", tmp_path / "*.x", "-o", tmp_path / "out")
    assert code == 2
    assert "there is no file in" in err
    assert not (tmp_path / "out").exists()


def test_json_has_what_came_of_a_run(here, tracetime, traces, tmp_path):
    words = ("fleet", "convert", traces, "-o", tmp_path / "out", "--json")
    code, out, err = tracetime(*words)
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert (found["traces"], found["converted"], found["rejected"]) == (5, 4, 1)
    assert found["errors"][0]["trace"] == str(traces / "003.pftrace")


@pytest.fixture
def fleets(here, tracetime, tmp_path):
    """Two data sets: a calm one, and one whose clocks drift more and step."""
    made = []
    for name, drifts in (("calm", (10, 11)), ("wild", (10, 900))):
        paths = [tmp_path / f"{name}_{ppm}.pftrace" for ppm in drifts]
        for ppm, path in zip(drifts, paths, strict=True):
            path.write_bytes(drifting_trace(ppm, "A55"))
        assert tracetime("fleet", "doctor", *paths, "-o", tmp_path / name)[0] == 0
        made.append(tmp_path / name)
    return made


def test_a_summary_lists_pairs_findings_and_what_is_worse(tracetime, fleets):
    calm, wild = fleets
    code, out, err = tracetime("fleet", "summary", wild, "--against", calm)
    text = " ".join(out.split())
    assert (code, err) == (0, "")
    assert text.startswith(f"{wild}: 1 of 2 traces with ")
    assert "drift-beyond-healthy" in text
    # A long path is folded inside.
    assert f"Worsethanin{calm}" in "".join(out.split())
    assert "wild_900.pftrace" in text
    assert "A55: median (5 % to 95 %) over 2 traces" in text


def test_a_summary_begins_with_what_is_odd(here, tracetime, tmp_path):
    paths = [tmp_path / f"{n}.pftrace" for n in range(7)]
    for n, path in enumerate(paths):
        path.write_bytes(drifting_trace(900 if n == 3 else 10 + n % 2, "A55"))
    assert tracetime("fleet", "doctor", *paths, "-o", tmp_path / "out")[0] == 0
    out = tracetime("fleet", "summary", tmp_path / "out")[1]
    places = [out.index(text) for text in ("Outliers", "Errors and warnings", "A55: median")]
    assert places == sorted(places)


def test_a_summary_with_a_page_is_told_in_five_lines(tracetime, fleets, tmp_path):
    calm, wild = fleets
    page = tmp_path / "page.html"
    words = ("fleet", "summary", wild, "--against", calm, "-o", page)
    lines = tracetime(*words)[1].splitlines()
    assert len(lines) == 5
    assert lines[0].startswith(f"{wild}: 1 of 2 traces with ")
    assert "drift-beyond-healthy" in lines[2]
    assert lines[3] == "1 model: A55 (2)"
    assert lines[4].startswith(f"report: {page}")


def test_what_a_trace_calls_its_machine_does_not_act_on_a_terminal(here, tracetime, tmp_path):
    path = tmp_path / "x.pftrace"
    path.write_bytes(drifting_trace(900, "\x1b]0;title\x07"))
    assert tracetime("fleet", "doctor", path, "-o", tmp_path / "out")[0] == 0
    out = tracetime("fleet", "summary", tmp_path / "out")[1]
    assert "\\x1b]0;title\\x07" in out
    assert not {"\x1b", "\x07"} & set(out)


def test_a_nightly_job_fails_by_the_exit_code(tracetime, fleets):
    calm, wild = fleets
    for words, code in (
        ((calm, "--fail-on", "warning"), 0),
        ((calm, "--fail-on", "worse", "--against", wild), 0),
        ((wild,), 0),
        ((wild, "--fail-on", "warning"), 1),
        ((wild, "--fail-on", "worse", "--against", calm), 1),
        ((wild, "--fail-on", "worse"), 2),
        ((wild, "-o", "-", "--json"), 2),
        (("nowhere",), 2),
    ):
        assert tracetime("fleet", "summary", *words)[0] == code, words


def test_a_summary_is_a_page_or_json_too(tracetime, fleets, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = tracetime("fleet", "summary", fleets[1], "-o", page, "--json")
    found = json.loads(out)
    assert (code, found["report"], found["bytes"]) == (0, str(page), page.stat().st_size)
    assert found["traces"] == 2
    assert tracetime("fleet", "summary", fleets[1], "-o", "-")[1] == page.read_text()
    assert f"report: {page}" in " ".join(
        tracetime("fleet", "summary", fleets[1], "-o", page)[1].split()
    )


def test_a_line_says_how_far_it_is():
    at = Progress(2000, 2_000_000_000, 120, 3, 120_000_000, 60.0)
    assert line(at) == "120/2,000 traces, 2.0 MB/s, 3 rejected, 0:15:40 left"
    small_first = Progress(65, 50_000_000, 1, 0, 5_000, 10.0)
    assert line(small_first) == "1/65 traces, 0.0 MB/s, 0:21:22 left"
    assert line(Progress(1, 10)) == "0/1 trace, 0.0 MB/s"
    assert line(Progress(1, 10, 1, 0, 10, 1.0)) == "1/1 trace, 0.0 MB/s"


def test_traces_without_a_command_are_told_which(tracetime, tmp_path):
    code, _, err = tracetime("fleet", tmp_path)
    assert code == 2
    expected = (
        f"give a command before {str(tmp_path)!r}: tracetime fleet convert {tmp_path} -o DATASET"
    )
    assert expected in err


def test_a_log_has_a_line_now_and_then(capsys):
    with FleetProgress() as progress:
        for n in range(25):
            progress(Progress(25, 25_000_000, n, 0, n * 1_000_000, float(n)))
    assert [text.partition(",")[0] for text in capsys.readouterr().err.splitlines()] == [
        "10/25 traces",
        "20/25 traces",
    ]


@pytest.mark.sweep
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_whole_parts_and_no_process(spawn, tmp_path, number, code):
    traces = write_fleet(tmp_path / "traces", 300)
    out = tmp_path / "out"
    with spawn("fleet", "convert", traces, "-o", out, stderr=subprocess.PIPE) as child:
        end = time.monotonic() + 600
        while not list(out.glob("log/events/*")) and time.monotonic() < end:
            time.sleep(0.01)
        workers = children_of(child.pid)
        child.send_signal(number)
        err = child.stderr.read().decode()
    assert child.returncode == code
    assert re.fullmatch(r"tracetime: (interrupted|terminated)\n", err)
    assert workers
    assert all_ended(workers)
    assert not list(out.glob(".work/*"))
    assert 0 < len(parts(out)) < 300
