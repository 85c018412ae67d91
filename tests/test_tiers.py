"""What `make test` leaves to `make test-all`: large files, programs of others, most of many cases."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

TESTS = """
from pathlib import Path
import pytest

@pytest.fixture
def chrome(): pass

@pytest.mark.parametrize("path", [Path("large"), Path("small"), Path("none"), 1 << 30])
def test_file(path): pass

def test_page(chrome): pass

@pytest.mark.sweep
def test_all(): pass
"""

CASES = """
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.parametrize("case", range(9))
def test_of_many_cases(case): pass

class TestThat:
    @pytest.mark.parametrize("case", [0, 1, pytest.param(2, marks=pytest.mark.sweep), 3])
    def test_of_three_cases_and_a_sweep(self, case): pass

@given(st.integers())
def test_draws(value): print("drawn by itself")

@settings(max_examples=200)
@given(st.integers())
def test_draws_so_many(value): print("drawn of many")

@settings(max_examples=7)
@pytest.mark.parametrize("case", range(3))
@given(st.integers())
def test_draws_few(case, value): print("drawn of few")
"""


def ran(path, text, *more):
    """What pytest says of a file of tests."""
    (path / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "."]
    found = subprocess.run(
        [*command, *more],
        cwd=path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout
    return found.stdout


@pytest.mark.sweep
def test_of_many_cases_three_are_left_and_no_other_test_is_left_out(tmp_path):
    told = ran(tmp_path, CASES, "-m", "not sweep", "-v", "-k", "cases")
    left = [line.split("]")[0][-1] for line in told.splitlines() if "PASSED" in line]
    assert left == ["0", "4", "8", "0", "1", "3"]
    assert "13 passed" in ran(tmp_path, CASES, "-k", "cases")


@pytest.mark.sweep
def test_a_quarter_of_the_examples_is_drawn_the_first_of_the_same(tmp_path):
    few = ran(tmp_path, CASES, "-k", "draws", "-s", "--hypothesis-profile=few")
    every = ran(tmp_path, CASES, "-k", "draws", "-s")
    counts = [
        [told.count(said) for said in ("by itself", "of many", "of few")] for told in (few, every)
    ]
    assert counts == [[25, 50, 21], [100, 200, 21]]


def test_large_files_sweeps_and_browsers_are_left_out(tmp_path):
    (tmp_path / "large").write_bytes(bytes((1 << 20) + 1))
    (tmp_path / "small").write_bytes(bytes(1 << 20))
    assert "3 passed, 3 deselected" in ran(tmp_path, TESTS, "-m", "not sweep and not outside")


def test_the_makefile_leaves_them_out_of_one_target_alone():
    makefile = (ROOT / "Makefile").read_text()
    assert makefile.count("-m 'not sweep and not outside' --hypothesis-profile=few") == 1
    assert makefile.count("not sweep") == makefile.count("profile=few") == 1
