"""Options about clocks that a trace does not have: a warning, in every command that takes them."""

import json
import sys

import click
import pytest
from building import event, snapshot, trace
from click.shell_completion import ShellComplete
from samples import BOOTTIME, MONOTONIC

import tracetime as tt
from tracetime import commands
from tracetime.commands import options
from tracetime.commands.limits import time_ns
from tracetime.commands.merge import command as merge_command

pytest_plugins = ["cli"]

GPU = 0x8A01B2C3
TRACE = trace(
    *(snapshot({BOOTTIME: k * 10**9, MONOTONIC: k * 10**9, 64: k * 10**9}, 7) for k in range(3)),
    event(10**9, MONOTONIC),
    event(10**9, GPU),
)
COMMANDS = {
    "convert": lambda path: ("convert", path, "-o", f"{path}.csv"),
    "at": lambda path: ("at", path, 5, "--from", "MONOTONIC", "--policy", "tube"),
    "doctor": lambda path: ("doctor", path),
    "report": lambda path: ("report", path, "-o", f"{path}.html"),
    "sql": lambda path: ("sql", path, "from clocks"),
    "clocks": lambda path: ("clocks", path),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_clock_that_is_not_there_is_warned_of(tracetime, write, command):
    args = COMMANDS[command](write(TRACE))
    absent = ("--clock-name", "NOPE.x=nope")
    if command != "clocks":
        absent += ("--max-drift-ppm", "NOPE.x=5", "--clock-rate", "TSC=2GHz")
    code, text, err = tracetime(*args, *absent, "--json")
    assert code == 0
    json.loads(text)
    absent = "NOPE.x" if command == "clocks" else "TSC, NOPE.x"
    has = "MONOTONIC, BOOTTIME, 64@seq7"
    has += ", 0x8a01b2c3" if command == "convert" else ""
    assert err == (f"warning: no snapshot has {absent}, which options name; the clocks are {has}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_clocks_that_are_there_are_not(tracetime, write, command):
    args = COMMANDS[command](write(TRACE))
    there = [f"{clock}=name{i}" for i, clock in enumerate(("MONOTONIC", "64", "64@seq7"))]
    assert tracetime(*args, *(word for one in there for word in ("--clock-name", one)))[2] == ""


def test_a_clock_of_events_alone_is_there_where_events_are_counted(tracetime, write):
    path = write(TRACE)
    assert tracetime(*COMMANDS["convert"](path), "--valid-bits", f"{GPU}=36")[2] == ""
    assert "no snapshot has" in tracetime(*COMMANDS["doctor"](path), "--valid-bits", f"{GPU}=36")[2]


def test_the_warning_names_a_few_clocks_of_many(tracetime, write):
    many = write(trace(snapshot({BOOTTIME: 5} | {200 + k: 5 for k in range(50)})))
    err = tracetime("doctor", many, "--wander-ppm", "TSC=1")[2]
    assert err.endswith("206 and 43 more\n")
    assert err.count("\n") == 1
    err = tracetime("doctor", write(trace(event(5))), "--wander-ppm", "TSC=1")[2]
    assert err.endswith("there are no snapshots\n")


def test_of_several_traces_one_may_have_it(tracetime, write):
    one, other = write(TRACE), write(trace(snapshot({BOOTTIME: 5, 9: 5})), "b.pftrace")
    for command in (("doctor", one, other), ("sql", one, other, "from clocks")):
        assert tracetime(*command, "--wander-ppm", "TSC=1")[2] == ""


def test_a_time_without_unit_is_in_seconds():
    assert time_ns("0.1") == time_ns("100ms") == 100_000_000
    assert time_ns("2") == time_ns("2s")
    for text in ("-1", "1e3", "nan", "", "5 parsecs"):
        with pytest.raises(click.BadParameter, match="a number is in seconds"):
            time_ns(text)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("convrt",), "there is no command, and no file, 'convrt': did you mean convert?"),
        (("xyzzy",), "there is no command, and no file, 'xyzzy': there are clocks, at, "),
        (
            ("at", TRACE, "5", "--to", "MONOTONC"),
            "'MONOTONC' is not a clock: did you mean MONOTONIC? the graph has",
        ),
        (("at", TRACE, "5", "--to", "xyzzy"), "'xyzzy' is not a clock: the graph has MONOTONIC, "),
    ],
)
def test_what_was_meant(tracetime, write, args, message):
    code, _, err = tracetime(*(write(arg) if arg is TRACE else arg for arg in args))
    assert code == 2
    assert message in err


def completed(incomplete, *args):
    """What a shell offers for the last argument of a command."""
    found = ShellComplete(commands.cli, {}, "tracetime", "_TRACETIME_COMPLETE")
    return [item.value for item in found.get_completions([str(arg) for arg in args], incomplete)]


def test_completion_offers_the_clocks_of_the_trace(write, monkeypatch):
    path = write(TRACE)
    assert completed("", "at", path, "5", "--to") == ["MONOTONIC", "BOOTTIME", "64@seq7"]
    assert completed("m", "at", path, "5", "--from") == ["MONOTONIC"]
    assert "TSC" in completed("", "at", "none.pftrace", "5", "--to")
    assert completed("ts", "at", write(b"no trace", "x"), "5", "--to") == ["TSC"]
    monkeypatch.setattr(options, "_MOST_COMPLETED", 10)
    assert completed("ts", "at", path, "5", "--to") == ["TSC"]


@pytest.mark.skipif(sys.platform != "linux", reason="TAI is a clock of Linux")
def test_short_names_are_clocks_of_a_recording(tracetime, tmp_path):
    path, out = str(tmp_path / "r.pftrace"), tmp_path / "o.csv"
    tai = "dev.tracetime.tai"
    with tt.record(path, ["BOOTTIME", "TAI"], interval=None) as rec:
        rec.snapshot()
        rec.instant("there", clock="BOOTTIME")
    with tt.open_trace(path) as opened:
        start = next(i.first_ns for i in opened.clocks.clocks() if i.clock.clock == BOOTTIME)
        expected = opened.clocks.convert(start, "BOOTTIME", tai)
    code, text, err = tracetime("at", path, "0s", "--to", "TAI")
    assert (code, err) == (0, "")
    assert text.startswith(f"BOOTTIME {start} -> TAI {expected} ns")
    code, _, err = tracetime("convert", path, "-o", out, "--to", "tai")
    assert (code, err) == (0, "")
    query = f"select name, to_clock({start}, 'BOOTTIME', 'TAI') as ns from clocks where clock > 99"
    code, text, err = tracetime("sql", path, query, "--format", "csv")
    assert (code, err) == (0, "")
    assert text.splitlines() == ['"name","ns"', f'"TAI",{expected}']


def test_a_name_that_no_snapshot_has_is_answered_with_those_of_the_trace(tracetime, write):
    named = ["--clock-name", f"{GPU}=com.example.gpu"]
    path = write(trace(snapshot({BOOTTIME: 100, GPU: 5})))
    code, _, err = tracetime("at", path, "5", "--to", "com.exmaple.gpu", *named)
    assert code == 1
    assert "no snapshot has com.exmaple.gpu: did you mean com.example.gpu? the graph has" in err


@pytest.mark.parametrize("option", ["--match", "--together", "--sync", "--same", "--at"])
@pytest.mark.parametrize("following", ["-o", "--json", "--help"])
def test_an_option_is_no_value_of_another(tracetime, tmp_path, option, following):
    out = tmp_path / "m.pftrace"
    code, _, err = tracetime("merge", "a", "b", option, following, out)
    assert code == 2
    merge = next(one for one in merge_command.params if option in one.opts)
    assert f"{option} needs a value, and {following} is an option: {merge.help}" in err


def test_a_value_may_begin_with_a_dash(tracetime, write):
    assert tracetime("convert", write(TRACE), "-o", "-", "--format", "csv")[0] == 0
    assert "needs a value" not in tracetime("merge", "--", "--match", "-o")[2]
