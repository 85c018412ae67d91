"""What `packaging/` has agrees with pyproject.toml, and what it runs works."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from places import ROOT

FOLDER = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_recipe_of_conda_has_the_dependencies_of_the_project():
    text = (FOLDER / "conda" / "recipe.yaml").read_text()
    listed = re.findall(r"^    - (.+)$", text.split("  run:")[1].split("\ntests:")[0], re.M)
    assert listed[0] == "python"
    assert [one.replace("python-", "").replace(" ", "") for one in listed[1:]] == PROJECT[
        "dependencies"
    ]
    (script,) = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert f"- {script}\n" in text


def test_what_tries_an_installation_tries_this_one():
    program = Path(sys.executable).parent / "tracetime"
    if not program.exists():
        pytest.skip("tracetime is not installed")
    words = ["bash", FOLDER / "try", program, ROOT / "demo"]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_oldest_versions_are_those_that_the_project_allows():
    """CI installs exactly these, and tries them: each dependency has one."""
    for one in PROJECT["dependencies"]:
        assert re.fullmatch(r"[a-z]+>=\d+(\.\d+)?", one), one
