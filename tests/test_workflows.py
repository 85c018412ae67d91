"""Actions of others are pinned by hash, and scripts name files that exist."""

import os
import re
import subprocess
import sys

import pytest
from places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash_with_the_version_beside_it(path):
    used = re.findall(r"\buses: (.*)", path.read_text())
    assert used
    assert [action for action in used if not PINNED.fullmatch(action)] == []


def test_the_tests_that_the_sanitizer_runs_are_there():
    text = (ROOT / "tools" / "asan").read_text()
    listed = re.findall(r"^    (tests/\S+)$", text, re.M)
    assert len(listed) > 10
    assert [path for path in listed if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("traces", "fail_on", "code"),
    [("demo.*trace rank1.*", "error", 1), ("rank1.*", "warning", 0)],
)
def test_the_action_fails_where_the_clocks_of_a_trace_are_broken(tmp_path, traces, fail_on, code):
    """Its step, by the shell of the runner, which has installed the package."""
    text = (ROOT / ".github" / "actions" / "check-trace" / "action.yml").read_text()
    (step,) = re.findall(r"^      run: (.*)$", text, re.M)
    named = re.findall(r'(\w+): "\$\{\{ inputs\.([\w-]+) \}\}"', text)
    assert all(f"  {name}: {{" in text for _, name in named)
    given = {"traces": traces, "fail-on": fail_on, "package": "tracetime"}
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\n[ "$2" = pip ] || exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    env = {variable: given[name] for variable, name in named}
    env = {**os.environ, **env, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-e", "-c", step], cwd=ROOT / "demo", env=env, capture_output=True, text=True
    )
    assert ran.returncode == code, ran.stderr
    assert ("REALTIME was set back" in ran.stdout) == ("demo" in traces)
