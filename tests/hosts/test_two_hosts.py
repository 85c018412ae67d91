"""Two network namespaces on one wire: `serve` in one, `ping` in the other, both as commands."""

import json
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from platforms import LINUX

from benchmarks.namespaces import joined_namespaces

MS = 1_000_000


@pytest.fixture
def sides():
    if shutil.which("ip") is None:
        pytest.skip("ip is missing (apt-get install iproute2)")
    with ExitStack() as stack:
        try:
            made = stack.enter_context(joined_namespaces())
        except OSError as error:
            pytest.skip(f"no privilege to make network namespaces: {error}")
        yield made


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "ping.key"
    path.write_bytes(b"a key of the tests, no secret")
    path.chmod(0o600)
    return path


def tracetime(side, *arguments):
    """The command, in a namespace."""
    return ["ip", "netns", "exec", side.name, sys.executable, "-m", "tracetime", *arguments]


@contextmanager
def serving(side, *options):
    command = tracetime(side, "serve", "--bind", f"{side.address}:0", *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.match(r"replying on (\S+);", process.stderr.readline())[1]
        finally:
            process.terminate()


@LINUX
def test_the_other_side_of_a_wire_is_not_ahead(sides, key_file, tmp_path):
    """They have one BOOTTIME: the truth is 0."""
    here, there = sides
    output = tmp_path / "ping.pftrace"
    with serving(there, "--key-file", key_file) as address:
        assert address.startswith(there.address)
        asked = ["ping", address, "--key-file", key_file, "--bursts", "2", "--json", "-o", output]
        done = subprocess.run(tracetime(here, *asked), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["earliest_ns"] <= 0 <= found["latest_ns"]
    assert abs(found["offset_ns"]) <= found["half_width_ns"]
    assert (found["rounds"], found["sent"]) == (2, 16)
    assert output.stat().st_size > 200


@LINUX
def test_without_the_key_nobody_replies(sides, key_file):
    here, there = sides
    with serving(there, "--key-file", key_file) as address:
        asked = tracetime(here, "ping", address, "--bursts", "1", "--timeout", "0.1")
        done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 1
    assert "with the same key" in done.stderr
