"""What `make test` leaves to `make test-all`: large files, and programs of others."""

import os
import subprocess
import sys
from pathlib import Path

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


def test_large_files_sweeps_and_browsers_are_left_out(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "large").write_bytes(bytes((1 << 20) + 1))
    (tmp_path / "small").write_bytes(bytes(1 << 20))
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "."]
    found = subprocess.run(
        [*command, "-m", "not sweep and not outside"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert "3 passed, 3 deselected" in found.stdout


def test_the_makefile_leaves_them_out_of_one_target_alone():
    assert (ROOT / "Makefile").read_text().count("-m 'not sweep and not outside'") == 1
