"""Options about clocks that a trace does not have: a warning, in every command that takes them."""

import json

import pytest
from building import event, snapshot, trace
from samples import BOOTTIME, MONOTONIC

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
