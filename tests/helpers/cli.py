"""Running the command line in tests: a pytest plugin, for `pytest_plugins = ["cli"]`."""

import subprocess
import sys

import pytest
from json_output import check

from tracetime.commands import run


@pytest.fixture
def write(tmp_path):
    def write(data, name="t.pftrace"):
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write


@pytest.fixture
def tracetime(capsys):
    """Run the command line; returns (exit code, stdout, stderr).

    What it prints with --json is checked against its schema.
    """

    def call(*args):
        words = tuple(map(str, args))
        code = run(words)
        printed = capsys.readouterr()
        check(words, code, *printed)
        return code, *printed

    return call


@pytest.fixture
def spawn():
    """Start the command line as a process of its own."""
    children = []

    def spawn(*args, **more):
        command = [sys.executable, "-m", "tracetime", *map(str, args)]
        children.append(subprocess.Popen(command, **more))
        return children[-1]

    yield spawn
    for child in children:
        child.kill()
        child.wait()
