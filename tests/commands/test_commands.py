"""The command line as a whole: help, errors, signals, and how numbers look."""

import os
import re
import signal
import subprocess
import sys
import time

import click
import pytest
from building import event, trace
from samples import CLOCK_SYNC, EMPTY, MANY, UNRESOLVED

from tracetime import __version__, commands
from tracetime.commands import run
from tracetime.commands.show import size

pytest_plugins = ["cli"]


def test_version(tracetime):
    assert tracetime("--version") == (0, f"tracetime {__version__}\n", "")


COMMANDS = [
    *((name,) for name in commands.SUBCOMMANDS),
    *(("fleet", name) for name in ("convert", "slices", "doctor", "summary")),
    ("./FILE",),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_on_one_screen(tracetime, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = tracetime(*name, "--help")
    assert code == 0
    assert out.count(f"tracetime {' '.join(name)}" if name != ("./FILE",) else "tracetime ") >= 2
    assert len(out.splitlines()) <= 40
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != ("fleet",)])
def test_all_options_are_in_the_whole_help(tracetime, name):
    whole, short = (tracetime(*name, option)[1] for option in ("--help-all", "--help"))
    command = commands.cli
    for part in name:
        part = commands.OVERVIEW if part == "./FILE" else part
        command = command.get_command(click.Context(command), part)
    for param in command.params:
        if isinstance(param, click.Option):
            assert any(f"{option} " in whole for option in param.opts)
    # What --help leaves out is named by it: there is more.
    assert ("--help-all" in short) == (whole != short)


def test_the_commands_fit_a_screen_and_are_all_named(tracetime):
    code, out, _ = tracetime("--help")
    assert code == 0
    assert len(out.splitlines()) <= 30
    assert "..." not in out.partition("Look:\n")[2]
    for name in commands.SUBCOMMANDS:
        assert re.search(rf"\b{name}\b", out)


@pytest.mark.parametrize(
    "args",
    [
        ["nope"],
        ["convert"],
        ["convert", "t"],
        ["convert", "t", "-o", "t.csv", "--nope"],
        ["convert", "t", "-o", "t.csv", "--max-expansion", "4X"],
        ["convert", "t", "-o", "t.csv", "--clock-rate", "NOPE=1GHz"],
        ["at", "t", "5", "--valid-bits", "6@seq7=3"],
        ["completion", "tcsh"],
    ],
)
def test_wrong_usage_is_code_2_and_says_where_help_is(tracetime, args):
    code, out, err = tracetime(*args)
    assert (code, out) == (2, "")
    assert err.startswith("tracetime: error: ")
    assert re.search(r"Try 'tracetime.* --help'", err)


@pytest.mark.parametrize("command", ["clocks", "at", "convert"])
def test_a_trace_that_is_not_there_is_code_2(tracetime, tmp_path, command):
    more = {"at": ["5", "--to", "MONOTONIC"], "convert": ["-o", tmp_path / "o.csv"]}
    code, out, err = tracetime(command, tmp_path / "none", *more.get(command, []))
    assert (code, out) == (2, "")
    assert "No such file or directory" in err


@pytest.mark.parametrize("command", ["clocks", "at", "convert"])
def test_a_bad_trace_is_code_3_and_says_where(tracetime, write, tmp_path, command):
    more = {"at": ["5", "--to", "MONOTONIC"], "convert": ["-o", tmp_path / "o.csv"]}
    path = write(CLOCK_SYNC[:-3])
    code, out, err = tracetime(command, path, *more.get(command, []))
    assert (code, out) == (3, "")
    assert re.fullmatch(
        r"tracetime: error: .*\(byte \d+, packet 8\)\nGive --partial to keep .*\n", err
    )
    assert [p.name for p in tmp_path.iterdir()] == ["t.pftrace"]


def test_completion_prints_a_script_and_completes(tracetime, monkeypatch, capsys):
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = tracetime("completion", shell)
        assert code == 0
        assert "_TRACETIME_COMPLETE" in out
    monkeypatch.setenv("_TRACETIME_COMPLETE", "bash_complete")
    for words, expected in (
        ("tracetime con", ["convert"]),
        ("tracetime at t 5 --to mono", ["MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW"]),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        with pytest.raises(SystemExit) as raised:
            run([])
        assert raised.value.code == 0
        out = capsys.readouterr().out
        assert [line.partition(",")[2] for line in out.splitlines()] == expected


@pytest.mark.parametrize("data", [CLOCK_SYNC, UNRESOLVED, MANY, EMPTY, trace(event(5))])
@pytest.mark.parametrize("command", ["convert", "clocks"])
def test_text_reads_well_on_80_columns(tracetime, write, tmp_path, monkeypatch, data, command):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    write(data)
    more = ["-o", "o.csv"] if command == "convert" else []
    code, text, err = tracetime(command, "t.pftrace", *more)
    assert (code, err) == (0, "")
    for line in text.splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()
        assert "…" not in line


@pytest.mark.parametrize(
    ("number", "code", "says"),
    [
        (signal.SIGINT, 130, b"interrupted"),
        (signal.SIGTERM, 143, b"terminated"),
        (signal.SIGHUP, 129, b"hung up"),
    ],
)
def test_a_signal_leaves_nothing_half_done(spawn, write, tmp_path, number, code, says):
    path = write(CLOCK_SYNC * 200_000)
    with spawn("convert", path, "-o", tmp_path / "o.csv", stderr=subprocess.PIPE) as child:
        end = time.monotonic() + 600
        while not list(tmp_path.glob(".*.part")) and time.monotonic() < end:
            time.sleep(0.005)
        # Twice: as by one who does not want to wait.
        for _ in range(2):
            child.send_signal(number)
            time.sleep(0.002)
        err = child.stderr.read()
    assert (child.returncode, err) == (code, b"tracetime: " + says + b"\n")
    assert [p.name for p in tmp_path.iterdir()] == ["t.pftrace"]


def test_a_broken_pipe_is_quiet(spawn, write):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with spawn("clocks", write(MANY), "--json", stdout=write_end, stderr=subprocess.PIPE) as child:
        os.close(write_end)
        err = child.stderr.read()
    assert child.returncode == 141
    assert err == b""


def test_sizes():
    assert [size(n) for n in (7, 52_058, 3_550_998, 2 * 10**9)] == [
        "7 bytes",
        "52.1 kB",
        "3.6 MB",
        "2.0 GB",
    ]


def test_numpy_loads_without_threads_of_its_own_unless_they_are_asked_for(tmp_path):
    name = "OPENBLAS_NUM_THREADS"
    says = f"import os; print(os.environ.get({name!r}), len(os.listdir(f'/proc/{{os.getppid()}}/task')))"
    environ = {key: value for key, value in os.environ.items() if key != name}
    said = []
    for more in ({}, {name: "1"}, {name: "3"}):
        args = ["record", "-o", tmp_path / "r.pftrace", "--force", "--", sys.executable, "-c", says]
        done = subprocess.run(
            [sys.executable, "-m", "tracetime", *args],
            env=environ | more,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.split()[:2])
    (unset, alone), (one, of_one), (three, of_three) = said
    assert (unset, one, three) == ("None", "1", "3")
    assert int(alone) == int(of_one) == int(of_three) + 1 - min(3, len(os.sched_getaffinity(0)))
