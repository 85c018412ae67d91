"""`tracetime calibrate` and `tracetime watch`, on this machine's own clocks."""

import json
import os
import pty
import select
import signal
import subprocess
import termios

import pytest

from tracetime.capture import calibrate
from tracetime.sources.fake import FakeClock, FakeDevice, FakeSource, FakeTime

pytest_plugins = ["cli"]

QUICK = ("-n", "5", "--clock", "MONOTONIC", "--clock", "REALTIME")


def test_calibrate_describes_each_clock(tracetime):
    code, text, err = tracetime("calibrate", *QUICK, "--seconds", "0")
    assert (code, err) == (0, "")
    assert text.startswith("5 snapshots in 0 s, against MONOTONIC")
    assert "REALTIME" in text
    assert max(map(len, text.splitlines())) <= 80


def test_calibrate_as_json_has_the_fields_of_the_interface(tracetime):
    result = json.loads(tracetime("calibrate", *QUICK, "--seconds", "0", "--json")[1])
    assert {"reference", "clocks", "unavailable"} <= result.keys()
    for clock in result["clocks"]:
        assert {"name", "id", "tick_ns", "read_ns", "offset_ns", "drift_ppm"} <= clock.keys()
        assert clock["half_width_ns"].keys() == {"min", "median", "p99", "max"}


def test_calibrate_lists_the_time_domains_of_devices(tracetime, monkeypatch):
    time = FakeTime(10**9)
    raw = FakeClock("MONOTONIC_RAW")
    gpu = FakeClock("dev.tracetime.vulkan.fake", valid_bits=36)
    made = [FakeSource(time, [raw]), FakeDevice(time, gpu, [raw], unknown_domains=(77,))]
    result = calibrate.calibrate(n=2, seconds=0, sources=made)
    monkeypatch.setattr(calibrate, "calibrate", lambda *_, **__: result)
    code, text, _ = tracetime("calibrate")
    assert code == 0
    listed = text.partition("Time domains of devices\n")[2].splitlines()
    assert [line.split(maxsplit=2) for line in listed] == [
        ["device", "number", "domain"],
        [gpu.name, "0", "DEVICE"],
        [gpu.name, "2", "CLOCK_MONOTONIC_RAW"],
        [gpu.name, "77", "unknown: not used"],
    ]
    assert "Time domains" not in tracetime("calibrate", "--json")[1]


@pytest.mark.parametrize("command", ["calibrate", "watch"])
def test_a_clock_that_is_not_there_is_exit_4(tracetime, command):
    code, _, err = tracetime(command, "-n", "1", "--clock", "vulkan:77")
    assert code == 4
    assert "no clock vulkan:77 here: " in err
    assert tracetime(command, "-n", "1", "--clock", "no clock")[0] == 2


def test_watch_prints_a_line_a_snapshot_where_nobody_looks(tracetime):
    code, text, _ = tracetime("watch", "-n", "3", "--interval", "0.01", *QUICK[2:], "--json")
    assert code == 0
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == 3
    names = [clock["name"] for clock in lines[0]["clocks"]]
    assert "REALTIME" in names
    assert all(clock["half_width_ns"] > 0 for clock in lines[-1]["clocks"])
    plain = tracetime("watch", "-n", "1", *QUICK[2:])[1]
    assert "REALTIME +" in plain


def test_watch_ends_with_ctrl_c(spawn):
    child = spawn(
        "watch", "--interval", "0.05", *QUICK[2:], "--json", stdout=subprocess.PIPE, text=True
    )
    assert json.loads(child.stdout.readline())
    child.send_signal(signal.SIGINT)
    assert child.wait(600) == 0


def test_watch_gives_the_terminal_back(spawn):
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    before = termios.tcgetattr(slave)
    child = spawn("watch", "--interval", "50ms", *QUICK[2:], stdout=slave, env=env)
    output = b""
    while b"REALTIME" not in output:
        assert select.select([master], [], [], 20)[0]
        output += os.read(master, 65536)
    child.send_signal(signal.SIGINT)
    while child.poll() is None:
        if select.select([master], [], [], 0.05)[0]:
            output += os.read(master, 65536)
    while select.select([master], [], [], 0)[0]:
        output += os.read(master, 65536)
    assert child.returncode == 0
    assert output.count(b"\x1b[?25l") == output.count(b"\x1b[?25h") == 1
    assert output.endswith((b"\n\x1b[?25h", b"\x1b[?25h\r\n"))
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize("columns", ["80", "30"])
def test_watch_draws_on_a_terminal_without_unicode(spawn, columns):
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": columns, "PYTHONIOENCODING": "iso-8859-1"}
    child = spawn("watch", "-n", "2", *QUICK[2:], "--interval", "10ms", stdout=slave, env=env)
    assert child.wait(600) == 0
    assert b"REALTIME" in os.read(master, 65536)
    os.close(master)
    os.close(slave)


def test_times_may_have_units(tracetime):
    code, text, _ = tracetime("calibrate", *QUICK, "--seconds", "20ms")
    assert (code, text.partition(",")[0]) == (0, "5 snapshots in 0.02 s")
    assert tracetime("watch", "-n", "2", "--interval", "10ms", *QUICK[2:])[0] == 0
    for interval, says in (("1ms", "0.01<=x<=3600"), ("2d", "100us, 5s or 2min")):
        code, _, err = tracetime("watch", "-n", "2", "--interval", interval)
        assert code == 2
        assert "Invalid value for '--interval'" in err
        assert says in err


def test_one_clock_alone_cannot_be_watched(tracetime):
    code, _, err = tracetime("watch", "--clock", "MONOTONIC_RAW", "-n", "1")
    assert code == 2
    assert "give another --clock" in err
