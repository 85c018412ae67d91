"""What CI runs of others is the code that was looked at: actions are pinned by hash."""

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
