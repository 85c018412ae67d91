"""What the package gives out is not changed by whoever gets it, and takes no more memory than it
has to."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import tracetime

# These are put together step by step.
CHANGING = {"DeviceFaults", "Facts", "FakeClock", "Group", "PairFacts", "Stray", "Tally"}


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
    assert len(found) > 20
    for one in found:
        if not one.__name__.startswith("_"):
            frozen = one.__dataclass_params__.frozen
            assert frozen == (one.__name__ not in CHANGING), one
        assert "__slots__" in vars(one) or one.__module__.endswith((".fake", ".schedule")), one
