"""The line that says how far a command is: on terminals, after a second, never mixed with output."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from building import event, snapshot, trace
from samples import CLOCK_SYNC

from tracetime import open_trace
from tracetime.commands import progress
from tracetime.commands.progress import Progress

pytest_plugins = ["cli"]

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class Screen:
    """A terminal: what was written to it, as text."""

    def __init__(self, master, stderr, monkeypatch):
        self._master, self._stderr, self._monkeypatch = master, stderr, monkeypatch
        self.written = ""

    def shown(self, *args):
        """The line, shown here."""
        # Not before the test runs: pytest sets sys.stderr for each of its phases.
        self._monkeypatch.setattr("sys.stderr", self._stderr)
        return Progress(*args)

    def read(self, until="", seconds=600):
        """Read what comes, until a text does; return what was read."""
        read, end = "", time.monotonic() + seconds
        while not (until and until in read) and time.monotonic() < end:
            if select.select([self._master], [], [], 0.02)[0]:
                read += os.read(self._master, 65536).decode()
            elif not until:
                break
        self.written += read
        assert until in read
        return re.sub(r"\x1b\[[0-9;]*m", "", read)


@pytest.fixture
def screen(monkeypatch):
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "PATIENCE_S", 0.05)
    with os.fdopen(slave, "w") as stderr:
        yield Screen(master, stderr, monkeypatch)
    os.close(master)


def test_it_says_how_far_a_trace_has_been_read(screen, write):
    with (
        screen.shown("thinking") as shown,
        shown.follow(open_trace(write(CLOCK_SYNC, "a.pftrace"))) as opened,
    ):
        assert screen.read("thinking")
        for reach in opened.on_read:
            reach(opened.size // 2)
        half, whole = opened.size // 2 / 1e6, opened.size / 1e6
        assert "reading a.pftrace \u2501" in screen.read(f"{half:.1f}/{whole:.1f} MB")
        for reach in opened.on_read:
            reach(0)
        assert screen.read("reading a.pftrace again")
        # At its end it is no longer read.
        for reach in opened.on_read:
            reach(opened.size)
        assert screen.read("thinking")
    assert opened.on_read == []


def test_it_says_how_long_what_has_a_time_takes(screen):
    with screen.shown("recording", 1000):
        assert screen.read("recording")
        assert screen.read("/1000 s")


def test_nothing_is_left_of_it(screen):
    with pytest.raises(KeyboardInterrupt), screen.shown("thinking"):
        screen.read("thinking")
        raise KeyboardInterrupt
    screen.read()
    assert screen.written.count(HIDE) == screen.written.count(SHOW) == 1
    assert screen.written.endswith("\x1b[1A\x1b[2K")


def test_output_clears_it_and_it_comes_back(screen):
    with screen.shown("thinking"):
        for _ in range(2):
            screen.read("thinking")
            progress.clear_progress()
            # On a slow machine it is back by now.
            screen.read("\x1b[1A\x1b[2K")


def test_what_is_quick_stays_clean(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_S", 24 * 3600)
    with screen.shown("thinking"):
        progress.clear_progress()
    assert screen.read() == ""


@pytest.mark.parametrize("terminal", ["dumb", None])
def test_it_is_for_terminals_that_can_clear_it(screen, monkeypatch, tmp_path, terminal):
    with (tmp_path / "err").open("w") as err:
        shown = screen.shown("thinking")
        if terminal is None:
            monkeypatch.setattr("sys.stderr", err)
        else:
            monkeypatch.setenv("TERM", terminal)
        with shown:
            time.sleep(0.3)
    assert screen.read() == (tmp_path / "err").read_text() == ""


def test_names_do_not_act_on_the_terminal(screen, write):
    name = "[red]x\x1b]0;title\x07" + "y" * 100
    with (
        screen.shown("thinking") as shown,
        shown.follow(open_trace(write(CLOCK_SYNC, name))) as opened,
    ):
        for reach in opened.on_read:
            reach(1)
        line = screen.read("reading")
    assert "[red]x\\x1b]0;title" in line
    assert "\x07" not in screen.written
    assert "y" * 40 not in line


LONG = trace(snapshot({6: 2000, 3: 1000}), *(event(n, 3) for n in range(1000, 20_000)))

# However fast the machine is, the line is drawn before the command begins to read.
PROGRAM = """
import threading
from tracetime.commands import main, progress

progress.PATIENCE_S = 0
drawn = threading.Event()
follow, draw = progress.Progress.follow, progress.Progress._draw

def followed(self, trace):
    assert drawn.wait(600)
    return follow(self, trace)

def seen(self, bar):
    drawn.set()
    draw(self, bar)

progress.Progress.follow, progress.Progress._draw = followed, seen
main()
"""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "words",
    [
        ("convert", "-o", "o.csv"),
        ("convert", "-o", "o.csv", "--json"),
        ("doctor",),
        ("clocks",),
        ("report", "-o", "r.html"),
        ("sql", "select count(*) from events a, events b where a.packet > b.packet"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_commands_show_it_and_leave_the_terminal_clean(write, tmp_path, words):
    path = write(LONG)
    master, slave = pty.openpty()
    command, *more = words
    with (tmp_path / "stdout").open("wb") as stdout:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, command, path, *more],
            stdout=stdout,
            stderr=slave,
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
    os.close(slave)
    drawn = b""
    # Linux ends a terminal that nobody writes to any more by an error.
    with contextlib.suppress(OSError):
        while data := os.read(master, 65536):
            drawn += data
    os.close(master)
    child.wait(600)
    drawn, out = drawn.decode(), (tmp_path / "stdout").read_bytes()
    assert child.returncode == 0
    assert b"\x1b" not in out
    assert drawn.count(HIDE) == drawn.count(SHOW) >= 1
    assert drawn.rpartition(SHOW)[2].replace("\r", "") in ("\x1b[1A\x1b[2K", "")
