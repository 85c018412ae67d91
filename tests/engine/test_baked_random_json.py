"""Random Chrome JSON, baked: trace_processor has the source's slices, arrows, counters and names.

Its own reading of the source is the measure where it drops nothing; ours where complete events cross,
which newer ones put on a track of their own.
"""

from random import Random

import pytest
import trace_engine
from baked_json import check, check_with_source
from json_slicing import document, event
from platforms import WITH_ENGINE
from random_chrome_json import chrome_json

pytestmark = WITH_ENGINE


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_random_files(first, tmp_path):
    path, out = tmp_path / "t.json", tmp_path / "out"
    judged = slices = arrows = 0
    for seed in range(first, first + 15):
        path.write_text(chrome_json(Random(seed)))
        due, summary = check(path, out, "floor")
        judged += check_with_source(path, out, due, summary)
        slices, arrows = slices + due.slices.total(), arrows + due.arrows.total()
    assert judged >= 8
    assert slices >= 150
    assert arrows >= 20


@pytest.mark.parametrize("seed", range(60, 72))
def test_random_files_by_the_tube(seed, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(chrome_json(Random(seed)))
    check(path, tmp_path / "out", "tube")


def test_what_ends_before_it_begins_takes_the_end_of_no_other(tmp_path):
    """trace_processor has it so of what begins in a slice that is over."""
    path, out = tmp_path / "t.json", tmp_path / "out"
    over = event("B", 10, "over"), event("X", 12, "long", dur=18), event("E", 20, "over")
    path.write_text(document(*over, event("B", 25, "late"), event("E", 40, "late")))
    assert [(row.name, row.dur) for row in trace_engine.slices(path) if row.dur < 0] == [
        ("late", -5000)
    ]
    check(path, out, "floor")
    assert [(row.name, row.dur) for row in trace_engine.slices(out)] == [
        ("late", 0),
        ("long", 18_000),
        ("over", 20_000),
    ]
