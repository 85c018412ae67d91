"""Ctrl-C and the other signals that end a command: once, cleanly, whatever it is doing."""

import signal
import subprocess
import sys

import pytest

PREAMBLE = """
import os, signal, sys, time
from tracetime.commands import terminal

def press():
    os.kill(os.getpid(), signal.SIGINT)

terminal.install()
"""
END = """
terminal.ignore()
press()
"""


def outcome(program):
    """Run a program, and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program + END], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")[:-1]


def test_a_second_signal_does_not_break_off_the_cleaning_up():
    program = """
try:
    try:
        press()
    finally:
        for _ in range(5):
            press()
            time.sleep(0.03)
        print("clean")
except KeyboardInterrupt:
    press()
    print("interrupted")
"""
    assert outcome(PREAMBLE + program) == ["clean", "interrupted"]


def test_an_error_in_cleaning_up_changes_nothing():
    program = """
try:
    try:
        press()
    finally:
        try:
            raise OSError("cannot be removed")
        except OSError:
            time.sleep(0.1)
            print("clean")
except KeyboardInterrupt:
    print("interrupted")
"""
    assert outcome(PREAMBLE + program) == ["clean", "interrupted"]


def test_an_exception_that_python_drops_is_raised_again():
    program = """
class Dropping:
    def __del__(self):
        press()
        print("not dropped")

try:
    Dropping()
    time.sleep(30)
except KeyboardInterrupt:
    print("interrupted")
"""
    assert outcome(PREAMBLE + program) == ["interrupted"]


def test_after_one_that_was_accepted_the_next_one_counts():
    program = """
for n in range(2):
    try:
        press()
    except KeyboardInterrupt:
        terminal.accept()
        time.sleep(0.1)
        print("accepted")
"""
    assert outcome(PREAMBLE + program) == ["accepted", "accepted"]


def test_a_signal_that_is_ignored_stays_so():
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    program = """
press()
time.sleep(0.1)
print("here")
"""
    assert outcome(ignored + PREAMBLE + program) == ["here"]


LOADING = """
import os, signal, sys
from tracetime.__main__ import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
            {then}

sys.meta_path.insert(0, Finder())
sys.argv = ["tracetime", "completion", "bash"]
main()
"""


@pytest.mark.parametrize(
    ("name", "then"),
    [
        ("tracetime.commands", "pass"),
        ("tracetime.commands.completion", "pass"),
        # As extension modules do that import others while they load.
        ("tracetime.commands.completion", "raise ImportError('failed to import')"),
    ],
)
def test_ctrl_c_while_modules_load(name, then):
    done = subprocess.run(
        [sys.executable, "-c", LOADING.format(name=name, then=then)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGINT, "")
    assert done.stderr == "tracetime: interrupted\n"
