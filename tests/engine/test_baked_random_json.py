"""Random Chrome JSON, baked: trace_processor has the source's slices, arrows, counters and names.

Its own reading of the source is the measure where it drops nothing; ours where complete events cross,
which newer ones put on a track of their own.
"""

from collections import Counter
from random import Random

import pytest
import trace_engine
from json_slicing import document, event
from judged import assert_same, source_slices, written_slices
from judged_arrows import is_back, wanted, without_made_up, written_arrows
from platforms import WITH_ENGINE
from random_chrome_json import chrome_json

import tracetime as tt

pytestmark = WITH_ENGINE

REASONS = {
    "flow_outside_slices": "flow_no_enclosing_slice",
    "flow_begun_before": "flow_duplicate_id",
    "flow_without_id": "flow_invalid_id",
    "flow_without_direction": "flow_without_direction",
}
"""What the engine calls what is left out; it counts no end of a flow that has not begun."""


def check(path, out, policy):
    """Compare an output with its source. Return what is to be in it, and the summary."""
    with tt.open_trace(path) as trace:
        summary = tt.bake(trace, out, policy=policy)
    made, due = trace_engine.said(out), wanted(path, policy)
    assert made.refusal == ""
    assert Counter(made.stats) <= Counter(trace_engine.said(path).stats)
    same(due.slices, written_slices(out))
    assert summary.forced + summary.kept_in_order == due.moved
    arrows = written_arrows(made)
    lost = due.arrows - arrows
    same(due.arrows - lost, arrows)
    assert sum(lost.values()) == summary.left_out_by.get("arrow_back", 0)
    assert all(map(is_back, lost))
    return due, summary


def check_with_source(path, out, due, summary):
    """Compare an output with what the engine makes of its source; whether it drops nothing there."""
    source, made = trace_engine.said(path), trace_engine.said(out)
    stats = {name: count for (name, _), count in source.stats.items()}
    same(Counter(source.counters), Counter(made.counters))
    named = {row for row in made.threads if row[1] or row[3]}
    assert {row[1::2] for row in named} <= {row[1::2] for row in source.threads}
    if "slice_drop_overlapping_complete_event" in stats:
        return False
    same(written_slices(path), source_slices(path))
    same(written_arrows(source), due.said)
    for reason, name in REASONS.items():
        assert summary.left_out_by.get(reason, 0) == stats.get(name, 0)
    return True


def same(wanted, found):
    assert_same(without_made_up(wanted), without_made_up(found))


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
