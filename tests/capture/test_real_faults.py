"""Clocks of this machine that really step while they are recorded, and what is found of it.

Each in a process of its own, tests/helpers/faulting.py: by a time namespace that it enters, by a
shim over clock_gettime, and by libfaketime.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import faulting
import pytest

from tracetime import ClockId, open_trace

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="faults are made as Linux lets them be made"
)

SCRIPT = Path(faulting.__file__)
S = faulting.S
REALTIME, MONOTONIC, RAW, BOOTTIME = ClockId(1), ClockId(3), ClockId(5), ClockId(6)
TAI = ClockId.parse("dev.tracetime.tai")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.pftrace"


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """clock_shim.c, built; gives what is preloaded."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the shim")
    library = tmp_path_factory.mktemp("shim") / "clock_shim.so"
    source = SCRIPT.with_name("clock_shim.c")
    subprocess.run(
        [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"],
        check=True,
        timeout=600,
    )
    return library


@pytest.fixture
def libfaketime():
    spec = find_spec("libfaketime")
    found = [] if spec is None else sorted(Path(spec.origin).parent.rglob("libfaketime.so*"))
    if not found:
        pytest.skip("no libfaketime: pip install libfaketime")
    return found[0]


def recorded(path, mode, interval, *, preload=None, **environment):
    """Record, with the steps of a mode; returns what was done."""
    file = path.with_name("steps")
    if mode == "shim":
        file.write_bytes(bytes(8 * (1 + faulting.ROWS * 16)))
        environment["CLOCK_SHIM"] = str(file)
    if mode == "faketime":
        file.write_text("+0")
        environment["FAKETIME_TIMESTAMP_FILE"] = str(file)
    if preload is not None:
        # Other libraries that are preloaded (AddressSanitizer's has to come first) stay.
        before = os.environ.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = f"{before}:{preload}" if before else str(preload)
    done = subprocess.run(
        [sys.executable, SCRIPT, mode, path, interval, file],
        # NumPy's threads would keep the process out of a namespace.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode == faulting.NO_PRIVILEGE:
        pytest.skip(f"no privilege to make a time namespace: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found_in(path):
    """By pair of clocks: kind, which snapshots it lies between, and the bounds of its size."""
    with open_trace(path) as trace:
        assert trace.trace_clock == BOOTTIME
        trace.read_all()
        found = {}
        for one in trace.clocks.discontinuities():
            found.setdefault((one.src, one.dst), []).append(one)
    return found


def assert_found(found, expected):
    """`expected`: (snapshots before it, size in ns), in the order of time."""
    assert [one.snapshots for one in found] == [(n - 1, n) for n, _ in expected]
    for one, (_, size_ns) in zip(found, expected, strict=True):
        low, high = one.size_ns
        assert low <= size_ns <= high, one


def test_a_suspend_without_a_thread(path):
    """setns between two calls of rec.snapshot(): BOOTTIME goes on by an hour."""
    found = recorded(path, "setns", "none")
    ((before, size_ns, _),) = found["steps"]
    assert (before, size_ns, found["snapshots"]) == (6, 3_600 * S, 12)
    found = found_in(path)
    for clock in (MONOTONIC, RAW):
        assert [one.kind for one in found[clock, BOOTTIME]] == ["suspend"]
        assert_found(found[clock, BOOTTIME], [(before, size_ns)])
        # Known within what the clocks may drift apart in the milliseconds between two snapshots.
        low, high = found[clock, BOOTTIME][0].size_ns
        assert high - low < 10_000_000
    # REALTIME, unlike after a real one, stays behind.
    assert [one.kind for one in found[BOOTTIME, REALTIME]] == ["step"]
    assert_found(found[BOOTTIME, REALTIME], [(before, -size_ns)])
    assert set(found) == {
        (MONOTONIC, BOOTTIME),
        (RAW, BOOTTIME),
        (BOOTTIME, REALTIME),
        (BOOTTIME, TAI),
    }


@pytest.mark.parametrize("interval", ["0.01", "none"])
def test_suspends_and_steps_with_and_without_a_thread(path, shim, interval):
    steps = recorded(path, "shim", interval, preload=shim)["steps"]
    found = found_in(path)
    suspends = [(n, boot) for n, boot, _ in steps if boot]
    sets = [(n, real - boot) for n, boot, real in steps if real != boot]
    assert len(suspends) == 2 and len(sets) == 3
    for clock in (MONOTONIC, RAW):
        assert {one.kind for one in found[clock, BOOTTIME]} == {"suspend"}
        assert_found(found[clock, BOOTTIME], suspends)
    for clock in (REALTIME, TAI):
        assert {one.kind for one in found[BOOTTIME, clock]} == {"step"}
        assert_found(found[BOOTTIME, clock], sets)


def test_a_step_made_by_libfaketime(path, libfaketime):
    steps = recorded(
        path,
        "faketime",
        "0.02",
        preload=libfaketime,
        FAKETIME_NO_CACHE="1",
        DONT_FAKE_MONOTONIC="1",
    )["steps"]
    found = found_in(path)
    ((before, _, size_ns),) = steps
    # MONOTONIC, BOOTTIME and MONOTONIC_RAW are left alone; TAI moves with REALTIME.
    assert set(found) == {(BOOTTIME, REALTIME), (BOOTTIME, TAI)}
    for clock in (REALTIME, TAI):
        assert [one.kind for one in found[BOOTTIME, clock]] == ["step"]
        assert_found(found[BOOTTIME, clock], [(before, size_ns)])
