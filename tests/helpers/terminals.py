"""The command line on a pseudo-terminal: a pytest plugin, for `pytest_plugins = ["cli", "terminals"]`."""

from __future__ import annotations

import errno
import os
import pty
import sys
from typing import NoReturn

import pytest

from tracetime.__main__ import main

ENVIRONMENT = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "XDG_STATE_HOME": "/none"}


@pytest.fixture
def terminal(tmp_path):
    """Run the command line with a terminal for stdout and stderr; returns what the terminal got.

    In a fork of the test: what the command imports is there already.
    """

    def run(*args, code=None):
        ours, theirs = pty.openpty()
        child = os.fork()
        if child == 0:
            os.close(ours)
            _run_command(args, theirs, tmp_path)
        os.close(theirs)
        text = read_all(ours)
        return checked(text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), code)

    return run


@pytest.fixture
def prompt(spawn, tmp_path):
    """As `terminal`, in a process of its own, with a terminal for stdin where something is typed."""

    def run(*args, typed, code=None, more=None):
        ours, theirs = pty.openpty()
        env = {**ENVIRONMENT, **(more or {})}
        with spawn(
            *args, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=env
        ) as child:
            os.close(theirs)
            os.write(ours, typed)
            text = read_all(ours)
        return checked(text, child.returncode, code)

    return run


def checked(text: str, ended: int, code: int | None) -> str:
    assert code is None or ended == code, text
    assert "Traceback" not in text
    return text


def read_all(ours: int) -> str:
    """All that a terminal gets until nothing holds its other end, which is then closed."""
    data = bytearray()
    try:
        while piece := os.read(ours, 1 << 16):
            data += piece
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    os.close(ours)
    return data.decode()


def _run_command(args: tuple[str, ...], terminal: int, folder: os.PathLike[str]) -> NoReturn:
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(terminal, 1)
        os.dup2(terminal, 2)
        os.close(terminal)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(ENVIRONMENT)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
        sys.argv = ["tracetime", *map(str, args)]
        main()
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(99)
