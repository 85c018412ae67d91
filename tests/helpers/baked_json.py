"""Chrome JSON that is baked, beside its source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import trace_engine
from judged import Rows, assert_same, source_slices, written_slices
from judged_arrows import (
    Wanted,
    flow_ids,
    is_back,
    wanted,
    without_made_up,
    written_arrows,
)
from trace_engine import Flow

import tracetime as tt
from tracetime.graph.arguments import PolicyName
from tracetime.verbs.bake import BakeSummary

REASONS = {
    "flow_outside_slices": "flow_no_enclosing_slice",
    "flow_begun_before": "flow_duplicate_id",
    "flow_without_id": "flow_invalid_id",
    "flow_without_direction": "flow_without_direction",
}
"""What the engine calls what is left out; it counts no end of a flow that has not begun."""


def check(path: Path, out: Path, policy: PolicyName) -> tuple[Wanted, BakeSummary]:
    """Compare an output with its source. Return what is to be in it, and the summary."""
    with tt.open_trace(path) as trace:
        summary = tt.bake(trace, out, policy=policy)
    made, due = trace_engine.said(out), wanted(path, policy)
    assert made.refusal == ""
    assert trace_engine.refusal(path) or Counter(made.stats) <= Counter(
        trace_engine.said(path).stats
    )
    same(due.slices, written_slices(out))
    begun, ended = flow_ids(out)
    assert begun == ended
    assert not begun or max(begun.values()) == 1
    assert summary.forced + summary.kept_in_order == due.moved
    arrows = written_arrows(made)
    lost = due.arrows - arrows
    same(due.arrows - lost, arrows)
    assert sum(lost.values()) == summary.left_out_by.get("arrow_back", 0)
    assert all(map(is_back, lost))
    return due, summary


def check_with_source(
    path: Path, out: Path, due: Wanted, summary: BakeSummary, exact: bool = True
) -> bool:
    """Compare an output with what the engine makes of its source; whether it drops nothing there.

    exact: whether arguments have no fractions of more digits than it reads, and no keys with dots, which
        it leaves of JSON and changes of track events.
    """
    made = trace_engine.said(out)
    source = trace_engine.said(path)
    stats = {name: count for (name, _), count in source.stats.items()}
    same(Counter(source.counters), Counter(made.counters))
    named = {row for row in made.threads if row[1] or row[3]}
    assert {row[1::2] for row in named} <= {row[1::2] for row in source.threads}
    if "slice_drop_overlapping_complete_event" in stats:
        return False
    near = (lambda rows: rows) if exact else _nearly
    same(near(written_slices(path)), near(source_slices(path)))
    same(near(written_arrows(source)), near(due.said))
    for reason, name in REASONS.items():
        assert summary.left_out_by.get(reason, 0) == stats.get(name, 0)
    return True


def same(wanted: Rows, found: Rows) -> None:
    """Compare rows, but for the numbers that stand for texts."""
    assert_same(without_made_up(wanted), without_made_up(found))


def _nearly(rows: Rows) -> Rows:
    made: Rows = Counter()
    for row, count in rows.items():
        made[_near(row)] += count
    return made


def _near(row: Any) -> Any:
    if isinstance(row, Flow):
        return row._replace(begin=_near(row.begin), end=_near(row.end))
    args = (
        (key.replace(".", "_"), 0.5 if isinstance(value, float) else value)
        for key, value in row.args
    )
    return row._replace(args=tuple(sorted(args)))
