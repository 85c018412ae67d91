"""What the package gives out is not changed by whoever gets it, and takes no more memory than it
has to."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import tracetime

# These are put together step by step.
CHANGING = {
    "DeviceFaults", "Facts", "FakeClock", "Group", "PairFacts", "Stray", "Tally", "_Found",
    "TraceReading", "_Jumper", "_Line", "_Node", "_Seen",
}  # fmt: skip
# These hold arrays, which do not say whether they are equal, or are told apart by what they are.
ALONE = {
    "Cores", "Curves", "Evidence", "FloorHop", "Pieces", "Reading", "Runs", "Segments", "TraceReading",
    "_Node",
}  # fmt: skip


def classes():
    for module in pkgutil.walk_packages(tracetime.__path__, "tracetime."):
        if not module.name.endswith("__main__"):
            found = vars(importlib.import_module(module.name)).values()
            yield from (
                one
                for one in found
                if dataclasses.is_dataclass(one) and one.__module__ == module.name
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
