"""Functions of upper floors that methods of lower ones call: `ClockGraph.plot`, `Trace.sql`.

`tracetime/__init__.py` says where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

FUNCTIONS: Final[dict[str, str]] = {}
"""The module of each function, by the function's name."""


def upper(name: str) -> Callable[..., Any]:
    """Return a function of an upper floor, which loads when it is first called."""
    function: Callable[..., Any] = getattr(import_module(FUNCTIONS[name]), name)
    return function
