"""Kept Chrome JSON, baked: trace_processor has the source's slices, arrows, counters and names."""

from __future__ import annotations

import pytest
import trace_engine
from baked_json import check, check_with_source
from corpus import DATA, NO_DATA, OWN
from platforms import WITH_ENGINE

pytestmark = WITH_ENGINE

FILES = sorted((DATA / "other" / "json").glob("*"))


@pytest.mark.skipif(not FILES, reason=NO_DATA)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path, tmp_path):
    due, summary = check(path, tmp_path / "out", "floor")
    assert summary.forced == 0
    if not trace_engine.refusal(path):
        check_with_source(path, tmp_path / "out", due, summary, exact=False)


FAULTS = sorted((OWN / "baked_json").glob("*.json"))


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_small_files_that_were_written_wrong(path, policy, tmp_path):
    due, summary = check(path, tmp_path / "out", policy)
    assert check_with_source(path, tmp_path / "out", due, summary)


def test_none_of_them_is_lacking():
    assert len(FAULTS) == 13
