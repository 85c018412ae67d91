"""Value classes do not change once made, and take no more memory than they need."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import tracetime

# Filled step by step.
CHANGING = {
    "DeviceFaults",
    "Facts",
    "FakeClock",
    "FleetSummary",
    "GraphState",
    "Group",
    "ClockRow",
    "_Noted",
    "PairFacts",
    "Progress",
    "SliceReading",
    "SpanLists",
    "Spans",
    "Stray",
    "TargetCounts",
    "TraceReading",
    "TracedClock",
    "WrittenFile",
    "_Found",
    "_JumpingClock",
    "_Line",
    "_Node",
    "_Plan",
    "_LastSnapshot",
}
# Not compared by value: they hold arrays, or their identity counts.
ALONE = {
    "Arrows",
    "Closed",
    "Cores",
    "Curves",
    "Discontinuities",
    "Evidence",
    "FloorHop",
    "FloorRoute",
    "GraphData",
    "GraphState",
    "Meeting",
    "NestedSpans",
    "OrderCurve",
    "Owners",
    "Pieces",
    "Reading",
    "Records",
    "ReplayedSlices",
    "PairDiscontinuities",
    "Ragged",
    "Runs",
    "Segments",
    "SliceEnds",
    "SliceReading",
    "SpanLists",
    "SpanTable",
    "Spans",
    "TraceReading",
    "TracedClock",
    "_Snapshots",
    "_Deduction",
    "_Columns",
    "_Node",
}


def classes():
    for module in pkgutil.walk_packages(tracetime.__path__, "tracetime."):
        if not module.name.endswith("__main__"):
            found = vars(importlib.import_module(module.name)).values()
            yield from (
                one
                for one in found
                if isinstance(one, type)
                and dataclasses.is_dataclass(one)
                and one.__module__ == module.name
            )


def test_value_classes_are_frozen_and_have_slots():
    found = set(classes())
    assert len(found) > 30
    for one in found:
        parameters = one.__dataclass_params__
        assert parameters.frozen == (one.__name__ not in CHANGING), one
        assert parameters.eq == (one.__name__ not in ALONE), one
        assert not parameters.order, one
        assert ("__slots__" in vars(one)) == (not one.__module__.endswith((".fake", ".schedule")))
