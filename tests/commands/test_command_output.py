"""-o of commands that print: the file has what is printed, or there is none."""

import os
import subprocess

import pytest
from json_output import fault, parsed
from samples import CLOCK_SYNC, UNRESOLVED

pytest_plugins = ["cli"]


@pytest.mark.parametrize(
    "words",
    [
        ["sql", "from clocks"],
        ["sql", "from clocks", "--json"],
        ["sql", "from clocks", "-o", "-", "--format", "parquet"],
        ["convert", "-o", "-", "--format", "csv"],
        ["report", "-o", "-"],
        ["doctor", "--json"],
    ],
    ids=" ".join,
)
def test_standard_output_may_be_closed(spawn, write, words):
    words = [words[0], write(CLOCK_SYNC), *words[1:]]
    child = spawn(*words, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert child.communicate(timeout=600) == (None, b"")
    assert child.returncode == 0


COMMANDS = [
    ("clocks",),
    ("clocks", "--json"),
    ("clocks", "--dot"),
    ("at", 1104, "--from", "MONOTONIC"),
    ("at", 1104, "--from", "MONOTONIC", "--json"),
    ("doctor",),
    ("doctor", "--verbose", "--json"),
    ("doctor", "--events", "clock-without-snapshot"),
]


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: " ".join(map(str, args)))
def test_the_file_has_what_is_printed(tracetime, write, tmp_path, args):
    command, *more = args
    path, out = write(CLOCK_SYNC), tmp_path / "kept"
    printed = tracetime(command, path, *more)
    assert printed[0] == 0 and printed[1]
    assert tracetime(command, path, *more, "-o", "-") == printed
    code, text, err = tracetime(command, path, *more, "--output", out)
    assert (code, text, err) == (0, "", "")
    assert out.read_text() == printed[1]
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_check_that_fails_leaves_its_result(tracetime, write, tmp_path):
    out = tmp_path / "kept"
    args = ("doctor", write(UNRESOLVED), "--fail-on", "error")
    code, text, _ = tracetime(*args)
    assert code == 1
    assert tracetime(*args, "-o", out)[:2] == (1, "")
    assert out.read_text() == text


@pytest.mark.parametrize("command", ["clocks", "doctor"])
def test_the_trace_is_not_written_over(tracetime, write, tmp_path, command):
    path = write(CLOCK_SYNC)
    (tmp_path / "link").symlink_to(path)
    for out in (path, tmp_path / "link"):
        code, _, err = tracetime(command, path, "-o", out)
        assert code == 2
        assert "that is what is read" in err
    assert (tmp_path / "t.pftrace").read_bytes() == CLOCK_SYNC


def test_an_error_leaves_what_was_there(tracetime, write, tmp_path):
    out = tmp_path / "kept"
    out.write_text("before")
    assert tracetime("clocks", write(b"no trace"), "-o", out)[0] == 3
    assert out.read_text() == "before"
    code, _, err = tracetime("clocks", write(CLOCK_SYNC), "-o", tmp_path / "none" / "kept")
    assert code == 2
    assert "cannot write" in err


def test_the_report_goes_to_standard_output(tracetime, write):
    path = write(CLOCK_SYNC)
    code, text, err = tracetime("report", path, "-o", "-")
    assert (code, err) == (0, "")
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    code, _, err = tracetime("report", path, "-o", "-", "--json")
    assert code == 2
    assert "--json writes the summary to standard output" in err


def test_clocks_of_this_machine_are_kept(tracetime, tmp_path):
    out = tmp_path / "kept.json"
    args = ("calibrate", "--clock", "MONOTONIC", "-n", 2, "--duration", "0", "--json")
    assert tracetime(*args, "-o", out) == (0, "", "")
    assert fault("calibrate", parsed(out.read_text())) is None
