"""Where files are written: never over what is read, whole or not at all, nothing left behind."""

import os
import signal
import time
from importlib import import_module
from pathlib import Path

import click
import pytest
from samples import CLOCK_SYNC

import tracetime as tt
from tracetime.atomic_file import Part, whole_file
from tracetime.commands import SUBCOMMANDS, run

pytest_plugins = ["cli"]

WRITERS = {
    "convert": lambda trace, out: ("convert", trace, "-o", out),
    "report": lambda trace, out: ("report", trace, "-o", out),
    "bake": lambda trace, out: ("bake", trace, "-o", out),
    "clocks": lambda trace, out: ("clocks", trace, "-o", out),
    "at": lambda trace, out: ("at", trace, 1104, "--from", "MONOTONIC", "-o", out),
    "doctor": lambda trace, out: ("doctor", trace, "-o", out),
    "sql": lambda trace, out: ("sql", trace, "select 1 as n", "-o", out, "--format", "csv"),
}
"""Every command that reads a trace and writes a file."""
READ_NONE = {"record", "calibrate", "now", "ping", "serve"}
WRITE_ARCHIVES = {"merge"}
WRITE_DIRECTORIES = {"split"}


ENDINGS = {"report": ".html", "bake": ".pftrace"}
"""What the outputs of commands end in; those of the others, in .csv."""


@pytest.fixture
def command():
    return "convert"


@pytest.fixture
def ending(command):
    return ENDINGS.get(command, ".csv")


@pytest.fixture
def path(write, ending):
    # A name that the command takes for an output, too.
    return Path(write(CLOCK_SYNC, f"t{ending}"))


def same(path):
    return path


def another_path(path):
    (path.parent / "sub").mkdir()
    return path.parent / "sub" / ".." / path.name


def symlink(path):
    link = path.with_name(f"link{path.suffix}")
    (path.parent / "a").symlink_to(path.name)
    link.symlink_to("a")
    return link


def symlinked_directory(path):
    (path.parent / "dir").symlink_to(path.parent)
    return path.parent / "dir" / path.name


def hard_link(path):
    hard = path.with_name(f"hard{path.suffix}")
    os.link(path, hard)
    return hard


NAMES = [same, another_path, symlink, symlinked_directory, hard_link]


def options_that_write(name):
    params = import_module(f"tracetime.commands.{name}").command.params
    return [p for p in params if isinstance(p, click.Option) and isinstance(p.type, click.Path)]


def test_every_command_that_writes_is_tried_here():
    assert {name for name in SUBCOMMANDS if options_that_write(name)} == (
        WRITERS.keys() | READ_NONE | WRITE_ARCHIVES | WRITE_DIRECTORIES
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", WRITERS)
def test_no_command_writes_over_its_input(tracetime, path, command, name):
    out = name(path)
    code, _, err = tracetime(*WRITERS[command](path, out))
    assert code == 2
    assert "that is what is read" in err
    assert path.read_bytes() == out.read_bytes() == CLOCK_SYNC


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", WRITERS)
def test_nor_over_standard_input(tracetime, monkeypatch, path, command, name):
    out = name(path)
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code, _, err = tracetime(*WRITERS[command]("-", out))
    assert code == 2
    assert "that is what is read" in err
    assert path.read_bytes() == CLOCK_SYNC


def test_nor_over_that_of_a_process(spawn, path):
    with path.open("rb") as stream, spawn(*WRITERS["convert"]("-", path), stdin=stream) as child:
        assert child.wait() == 2
    assert path.read_bytes() == CLOCK_SYNC


def test_nor_over_the_input_by_the_name_of_a_report_that_nobody_named(tracetime, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    (path.parent / "t.csv.html").symlink_to(path)
    assert tracetime("report", path)[0] == 2
    assert path.read_bytes() == CLOCK_SYNC


def test_nor_over_any_of_several_inputs(tracetime, write, path):
    other = write(CLOCK_SYNC, "b.csv")
    assert tracetime("sql", path, other, "select 1 as n", "-o", other)[0] == 2
    assert Path(other).read_bytes() == CLOCK_SYNC


def test_nor_over_any_of_several_that_are_merged(tracetime, write):
    one, other = write(CLOCK_SYNC, "a.zip"), write(CLOCK_SYNC, "b.zip")
    code, _, err = tracetime("merge", one, other, "-o", other, "--same", f"{one},{other}")
    assert code == 2
    assert "that is what is read" in err
    assert Path(other).read_bytes() == CLOCK_SYNC


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{}'", "copy (select 1) to \"{}\"", "copy (select 1) to $${}$$",
        "create table t as select 1; copy t to '{}' (format parquet)",
        "COPY/* to 'x' */(select 1) -- to\n To '{}'", "copy (select 1) to $a${}$a$",
    ],
)  # fmt: skip
def test_nor_by_a_statement(tracetime, path, name, sql):
    out = name(path)
    code, _, err = tracetime("sql", path, sql.format(out), "--allow-files")
    assert code == 2
    assert "that is what is read" in err
    assert path.read_bytes() == CLOCK_SYNC


def test_a_statement_may_write_other_files_and_a_query_name_the_trace(tracetime, path):
    out = path.parent / "it's.csv"
    sql = f"copy (select '{path}' as p) to '{path.parent}/it''s.csv'"
    assert tracetime("sql", path, sql.replace(f"'{path}'", "7"), "--allow-files")[0] == 0
    assert out.read_text() == "p\n7\n"
    assert tracetime("sql", path, f"select '{path}' as p", "--allow-files")[0] == 0


def test_nor_over_a_trace_that_is_open_in_python(path):
    with tt.open_trace(path) as trace, pytest.raises(tt.UsageError, match="what is read"):
        trace.clocks.save(path)
    assert path.read_bytes() == CLOCK_SYNC


def test_a_trace_that_is_closed_may_be_written_over(path):
    with tt.open_trace(path) as trace:
        graph = trace.clocks
    graph.save(path)
    assert tt.ClockGraph.load(path).clocks() == graph.clocks()


@pytest.mark.parametrize("command", WRITERS)
def test_what_a_killed_run_left_goes_with_the_next(spawn, write, tmp_path, command, ending):
    trace = write(CLOCK_SYNC * 100_000, "t.pftrace")
    out = tmp_path / f"o{ending}"
    kill_while_writing(spawn, tmp_path, ("convert", trace, "-o", out, "--format", "csv"))
    assert len(parts(tmp_path)) == 1
    assert run([str(word) for word in WRITERS[command](write(CLOCK_SYNC), out)]) == 0
    assert parts(tmp_path) == []


def kill_while_writing(spawn, directory, words):
    with spawn(*words) as child:
        end = time.monotonic() + 600
        while not parts(directory) and time.monotonic() < end:
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)


def parts(directory):
    return [path for path in directory.iterdir() if path.suffix == ".part"]


def test_a_live_run_with_the_same_target_keeps_its_part(tmp_path):
    target = tmp_path / "o.csv"
    first, second = Part(target), Part(target)
    first.make().write_bytes(b"first")
    second.make().write_bytes(b"second")
    assert len(parts(tmp_path)) == 2
    first.take_name()
    first.discard()
    second.take_name()
    second.discard()
    assert target.read_bytes() == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]


def test_leftovers_of_another_target_stay(tmp_path):
    left = Part(tmp_path / "a.csv")
    made = left.make()
    os.close(left._lock)
    with whole_file(tmp_path / "b.csv"):
        pass
    assert made.exists()
    with whole_file(tmp_path / "a.csv"):
        pass
    assert not made.exists()


def test_a_part_that_is_taken_for_a_leftover_is_made_anew(tmp_path, monkeypatch):
    from tracetime import atomic_file as module

    taken = []
    flock = module.fcntl.flock

    def race(file, how):
        # Another run looks between the making of the file and the locking of it.
        if not taken:
            taken.extend(parts(tmp_path))
            taken[0].unlink()
        flock(file, how)

    monkeypatch.setattr(module.fcntl, "flock", race)
    with whole_file(tmp_path / "a.csv") as part:
        part.write_bytes(b"whole")
    assert (tmp_path / "a.csv").read_bytes() == b"whole"
    assert len(taken) == 1
