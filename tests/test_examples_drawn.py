"""Tests draw the same examples everywhere, however slow; a deep search draws others, by its seed."""

import os
import subprocess
import sys

import pytest
from places import ROOT

DRAWING = """
import importlib, os, time
from hypothesis import given, settings, strategies as st

importlib.import_module(os.environ["LOADED"])

@given(st.lists(st.integers()))
@settings(max_examples=20)
def test_drawn(values):
    time.sleep(float(os.environ["SLOW_S"]))
    with open("drawn", "a") as file:
        print(values, file=file)
"""


def ran(path, *command, **environment):
    """The exit code and the output of Python in a directory."""
    tests = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests/helpers")))
    return subprocess.run(
        [sys.executable, "-m", *command, "-p", "conftest", "-p", "no:cacheprovider"],
        cwd=path,
        env=os.environ | {"PYTHONPATH": tests} | environment,
        capture_output=True,
        text=True,
    )


def drawn(path, *more, loaded="os", slow_s="0", **environment):
    """What a test draws in a process of its own."""
    path.mkdir()
    (path / "constants.py").write_text(f"MANY = {[7_000_003 * k for k in range(200)]}\n")
    (path / "test_it.py").write_text(DRAWING)
    done = ran(path, "pytest", *more, LOADED=loaded, SLOW_S=slow_s, **environment)
    assert done.returncode == 0, done.stdout
    return (path / "drawn").read_text()


@pytest.mark.sweep
@pytest.mark.parametrize("more", [{"loaded": "constants"}, {"slow_s": "0.25"}])
def test_examples_are_the_same_whatever_is_loaded_and_however_slow(tmp_path, more):
    assert drawn(tmp_path / "a", **more) == drawn(tmp_path / "b")


@pytest.mark.sweep
def test_those_of_a_deep_search_are_its_seeds(tmp_path):
    a, b, c = (
        drawn(tmp_path / name, f"--hypothesis-seed={seed}", TRACETIME_SEED=seed)
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    assert a == b != c


SEARCHED = """
import pytest
from pathlib import Path
from hypothesis import given, strategies as st
from seeds import seeds

def test_that_draws_nothing(): assert False

@pytest.mark.parametrize("seed", [0])
def test_of_a_fixed_seed(seed): assert False

@pytest.mark.parametrize("seed", seeds(2))
def test_of_seeds(seed): Path(f"seed {seed}").touch()

@given(st.integers())
def test_that_falls(value):
    assert value < 1000
"""


def searched(path, *more):
    """What a deep search says that is over after its first test."""
    (path / "test_it.py").write_text(SEARCHED)
    return ran(path, "tools.deep_search", "--seconds=0.001", "--seed=1000001", "--", *more)


def test_a_deep_search_runs_what_draws_examples(tmp_path):
    lines = searched(tmp_path, "--collect-only").stdout.splitlines()
    assert [line.partition("::")[2] for line in lines if "::" in line] == [
        "test_of_seeds[1000001]", "test_of_seeds[1000002]", "test_that_falls",
    ]  # fmt: skip


@pytest.mark.sweep
def test_it_leaves_out_what_there_is_no_time_for(tmp_path):
    done = searched(tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing was found")
    assert [path.name for path in tmp_path.glob("seed *")] == ["seed 1000001"]


@pytest.mark.sweep
def test_what_it_finds_is_shown_with_its_seed(tmp_path):
    done = searched(tmp_path, "-k", "falls")
    assert done.returncode == 1
    assert "DEEP_SEED=1000001" in done.stdout
    assert "value=1000," in done.stdout
    assert "seeds that found something: [1000001]" in done.stdout
