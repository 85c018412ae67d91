"""The plugin of pytest, in a run of its own."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT

import tracetime as tt
from tracetime import open_trace
from tracetime.pytest_plugin import _Recording

TESTS = """
import pytest

@pytest.fixture(scope="module")
def database():
    yield 5

@pytest.fixture
def broken():
    raise OSError("not there")

def test_passes(database):
    assert database == 5

def test_fails(database):
    assert database == 6

def test_has_no_fixture(broken):
    pass

@pytest.mark.skip
def test_is_skipped():
    pass
"""


def run(folder: Path, *options: str, tests: str = TESTS) -> subprocess.CompletedProcess[str]:
    (folder / "test_them.py").write_text(tests)
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tracetime.pytest_plugin", "-q"),
            *("-p", "no:cacheprovider", f"--rootdir={folder}", "test_them.py", *options),
        ],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def spans(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The spans in the order of their ends, each by its path, with all arguments."""
    with open_trace(path) as trace:
        rows = trace.read_all(names=True).to_pylist()
    found, stack = [], []
    for row in rows:
        args = json.loads(row["args"] or "{}")
        if row["type"] == "slice_begin":
            stack.append((row["name"], {"category": row["category"], **args}))
        else:
            found.append((" > ".join(name for name, _ in stack), stack[-1][1] | args))
            stack.pop()
    assert not stack
    return found


def test_each_test_and_fixture_is_a_span(tmp_path):
    result = run(tmp_path, "--tracetime", "run.pftrace")
    assert "1 failed, 1 passed, 1 skipped, 1 error" in result.stdout
    test, fixture = {"category": "test"}, {"category": "fixture"}
    assert spans(tmp_path / "run.pftrace") == [
        ("test_them.py::test_passes > database", fixture | {"scope": "module"}),
        ("test_them.py::test_passes", test | {"outcome": "passed"}),
        ("test_them.py::test_fails", test | {"outcome": "failed"}),
        (
            "test_them.py::test_has_no_fixture > broken",
            fixture | {"scope": "function", "exception": "OSError"},
        ),
        ("test_them.py::test_has_no_fixture", test | {"outcome": "failed"}),
        (
            "test_them.py::test_is_skipped > database teardown",
            fixture | {"scope": "module"},
        ),
        ("test_them.py::test_is_skipped", test | {"outcome": "skipped"}),
    ]


AS_WORKER = """
import pickle
from pathlib import Path

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.workerinput = {"workerid": "gw1", **pickle.loads(Path("input").read_bytes())}
"""


def test_a_worker_of_xdist_has_a_part_of_the_recording(tmp_path):
    """In a process that has what a worker has: xdist need not be installed."""
    path = tmp_path / "run.pftrace"
    node = SimpleNamespace(workerinput={})
    with tt.record(path, interval=None) as rec:
        _Recording(rec).pytest_configure_node(node)
        (tmp_path / "input").write_bytes(pickle.dumps(node.workerinput))
        (tmp_path / "as_worker.py").write_text(AS_WORKER)
        result = run(tmp_path, "-p", "as_worker", "--tracetime", "run.pftrace")
        assert "1 failed, 1 passed, 1 skipped, 1 error" in result.stdout
    with open_trace(path) as trace:
        found = trace.slices().read_all().to_pylist()
    assert len([row for row in found if row["category"] == "test"]) == 4
    assert {row["process_name"] for row in found} == {"gw1"}
    assert not list(tmp_path.glob("*.part"))


def test_without_the_option_nothing_is_recorded(tmp_path):
    result = run(tmp_path)
    assert "1 failed, 1 passed" in result.stdout
    assert [one.name for one in tmp_path.glob("*.pftrace*")] == []


EXPECTED = """
import pytest

@pytest.mark.xfail
def test_fails_as_expected():
    assert False

@pytest.mark.xfail
def test_passes_all_the_same():
    pass
"""


def test_a_failure_that_is_expected_is_no_skipped_test(tmp_path):
    (tmp_path / "test_expected.py").write_text(EXPECTED)
    run(tmp_path, "test_expected.py", "--tracetime", "run.pftrace", "-k", "expected or same")
    assert [args["outcome"] for _, args in spans(tmp_path / "run.pftrace")] == [
        "xfailed",
        "xpassed",
    ]


def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path):
    result = run(tmp_path, "--tracetime", "missing/run.pftrace")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = (result.stdout + result.stderr).strip().splitlines()
    assert "--tracetime: cannot write 'missing/run.pftrace': No such file" in line


def test_the_option_is_explained(tmp_path):
    assert "--tracetime=FILE" in run(tmp_path, "--help").stdout


@pytest.mark.parametrize("module", ["numpy", "tracetime.capture.recorder"])
def test_the_plugin_alone_imports_little(module):
    code = f"import sys, tracetime.pytest_plugin; assert {module!r} not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


CHECKS = f"""
import pathlib
import pytest

FOLDER = pathlib.Path({str(ROOT / "demo")!r})

@pytest.mark.parametrize("severity", ["error", "warning"])
@pytest.mark.parametrize("name", ["rank1.json.gz", "demo.pftrace"])
def test_trace(check_trace, name, severity):
    check_trace(FOLDER / name, severity)
"""


def test_the_fixture_fails_where_the_clocks_of_a_trace_are_broken(tmp_path):
    ran = run(tmp_path, tests=CHECKS)
    assert ran.returncode == 1
    assert "2 failed, 2 passed" in ran.stdout
    assert "error: REALTIME was set back once, by 1.2 s [realtime-set-back]" in ran.stdout
    assert "test_them.py:5" not in ran.stdout
