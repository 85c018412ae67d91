"""`tracetime ping` and `tracetime serve`: what they print, and how they end."""

import json
import re
import subprocess
import sys
import threading
import time

import pytest
from replying import until_it_is_there

from tools.json_schemas import SHAPES
from tracetime import ClockId, open_trace
from tracetime.commands.ping import _print
from tracetime.hosts.messages import boottime_ns
from tracetime.hosts.ping import PingResult
from tracetime.hosts.servers import UdpServer

pytest_plugins = ["cli"]


@pytest.fixture
def address():
    """Where this process replies."""
    server = UdpServer("127.0.0.1:0")

    def serve():
        try:
            server.serve()
        except (OSError, ValueError):
            return  # It was closed.

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return server.address


def test_ping_prints_the_bounds_of_the_offset(tracetime, address):
    code, text, err = tracetime("ping", address, "--bursts", 1)
    assert (code, err) == (0, "")
    *lines, said = text.splitlines()
    names, values, units = zip(*(line.split() for line in lines), strict=True)
    assert names == ("earliest", "estimate", "latest")
    assert set(units) == {"ns"}
    earliest, estimate, latest = (int(value.replace(",", "")) for value in values)
    assert earliest <= estimate <= latest
    assert earliest <= 0 <= latest
    assert said.startswith(f"BOOTTIME of {address} is ahead by the estimate, within ")


def test_ping_as_json(tracetime, address):
    code, text, err = tracetime("ping", address, "--json", "--bursts", 2, "--target-error", "1ms")
    assert (code, err) == (0, "")
    found = json.loads(text)
    assert list(found) == list(SHAPES["ping"]["properties"])
    assert found["earliest_ns"] <= 0 <= found["latest_ns"]
    assert (found["host"], found["rounds"], found["sent"]) == (address, 2, 16)


def test_ping_writes_a_trace_that_ties_the_two(tracetime, address, tmp_path):
    path = tmp_path / "ping.pftrace"
    code, text, _ = tracetime("ping", address, "--bursts", 3, "-o", path, "--json")
    assert code == 0
    said = json.loads(text)
    here, there, at_ns = ClockId(6), ClockId(6, machine=1), said["at_ns"]
    with open_trace(path) as trace:
        found = trace.clocks.convert(
            at_ns, here, there, policy="tube", bars="guaranteed", bounds=True
        )
    assert said["earliest_ns"] <= found.earliest - at_ns <= 0 <= found.latest - at_ns
    assert found.latest - at_ns <= said["latest_ns"]


def test_a_trace_that_cannot_be_written_does_not_take_what_was_measured(
    tracetime, address, tmp_path
):
    path = tmp_path / "missing" / "ping.pftrace"
    code, text, err = tracetime("ping", address, "--bursts", 1, "-o", path)
    assert code == 2
    assert "is ahead by the estimate" in text
    assert "cannot write" in err


def test_as_many_rounds_are_lost_as_messages_ignored(capsys):
    _print(PingResult("worker7", 0, 0, 0, 0, 0, 1, 8, 2, 2, 2, 0))
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "2 rounds without a reply in time",
        "2 messages came in that the request did not ask for",
        "2 rounds left out: their readings cannot be",
    ]


def test_a_bar_wider_than_was_wanted_ends_with_1(tracetime, address):
    assert tracetime("ping", address, "--bursts", 1, "--target-error", "1ns")[0] == 1


def test_no_reply_ends_with_1(tracetime):
    code, text, err = tracetime("ping", "127.0.0.1:1", "--bursts", 1, "--timeout", "10ms")
    assert (code, text) == (1, "")
    assert err.startswith("tracetime: error: no reply from 127.0.0.1:1: does `tracetime serve` run")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ping", "worker7"), "ssh://worker7"),
        (("ping", "ssh://-v"), "is no ssh://"),
        (("serve",), "give --bind ADDRESS:PORT, or --stdio"),
        (("serve", "--stdio", "--bind", "127.0.0.1:0"), "give --bind ADDRESS:PORT, or --stdio"),
        (("serve", "--stdio", "--key-file", "key"), "--stdio takes no key"),
        (("serve", "--bind", "0.0.0.0:0"), "give --key-file"),
        (("serve", "--bind", "127.0.0.1:0", "--key-file", "none"), "No such file"),
    ],
)
def test_wrong_usage_ends_with_2(tracetime, words, says):
    code, _, err = tracetime(*words)
    assert code == 2
    assert says in err


def test_record_ties_its_peers(tracetime, address, tmp_path):
    path = tmp_path / "run.pftrace"
    given = ("record", "-o", path, "--interval", "10ms", "--clock", "MONOTONIC", "--peer", address)
    code, text, err = tracetime(*given, "--json", *until_it_is_there(address, path))
    assert (code, err) == (0, "")
    found = json.loads(text)
    assert list(found) == list(SHAPES["record"]["properties"])
    (peer,) = found["peers"]
    assert (peer["name"], peer["machines"], found["problems"]) == (address, [1], [])
    assert peer["exchanges"] > 0
    with open_trace(path) as trace:
        here, there = ClockId(6), ClockId(6, machine=1)
        at_ns = boottime_ns()
        bounds = trace.clocks.convert(at_ns, here, there, policy="tube", bounds=True)
        assert bounds.earliest <= at_ns <= bounds.latest


def test_record_says_what_became_of_its_peers(tracetime, address, tmp_path):
    path = tmp_path / "run.pftrace"
    given = ("record", "-o", path, "--clock", "MONOTONIC", "--peer", address)
    wait = until_it_is_there(address, path)
    code, _, err = tracetime(*given, "--peer", "127.0.0.1:1", *wait)
    assert code == 0
    assert re.search(rf"^{address}: [1-9]\d* exchanges?$", err, re.MULTILINE)
    assert "\n127.0.0.1:1: 0 exchanges\n" in err
    assert "warning: 127.0.0.1:1: no reply: does `tracetime serve` run there" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--peer", "worker7"), "ssh://worker7"),
        (("--peer", "a:1", "--peer", "a:1"), "the peer a:1 is given twice"),
        (("--peer", "ssh://a", "--key-file", "key"), "--key-file is for a --peer"),
        (("--key-file", "key"), "--key-file is for a --peer"),
        (("--peer", "a:1", "--key-file", "none"), "No such file"),
    ],
)
def test_peers_that_cannot_be_recorded(tracetime, tmp_path, words, says):
    path = tmp_path / "run.pftrace"
    code, text, err = tracetime("record", "-o", path, "--duration", "1s", *words)
    assert (code, text) == (2, "")
    assert says in err
    assert not path.exists()


def test_a_recording_with_peers_that_is_killed_is_a_whole_trace(address, tmp_path):
    path = tmp_path / "run.pftrace"
    words = ("record", "-o", path, "--interval", "10ms", "--clock", "MONOTONIC", "--peer", address)
    process = subprocess.Popen([sys.executable, "-m", "tracetime", *map(str, words)])
    end = time.monotonic() + 600
    while not (path.exists() and path.read_bytes().count(address.encode())):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.wait(600)
    with open_trace(path) as trace:
        assert trace.machines == [0, 1]
        assert trace.clocks.orders()
