"""The clock graph: snapshots in, conversions out; bars by `graph/tube/`. No device, no thread."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

FUNCTIONS: Final[dict[str, str]] = {}
"""The module of each function of an upper floor that methods here and in trace/ call, by its name:
`tracetime/__init__.py` says where they are."""


def upper(name: str) -> Callable[..., Any]:
    """Return a function of an upper floor, which loads when it is first called."""
    function: Callable[..., Any] = getattr(import_module(FUNCTIONS[name]), name)
    return function
