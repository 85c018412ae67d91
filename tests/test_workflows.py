"""Actions of others are pinned by hash, and scripts name files that exist."""

import re

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
