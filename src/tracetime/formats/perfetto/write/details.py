"""The details of events: categories, flows and arguments, made plain for the kernel.

The kernel takes values of the usual types as they are; what comes here is the rest: subclasses,
numbers of other libraries, objects, and what is refused.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Mapping, Set
from numbers import Real
from typing import Any, Final, TypeAlias

from tracetime.errors import UsageError

Category: TypeAlias = str | tuple[str, ...]
Flow: TypeAlias = int | tuple[int, ...]
Details: TypeAlias = tuple[Any, Any, Any, Any]
"""A category, a flow, a flow that ends, and arguments; each may be None."""

_DEEPEST: Final = 30
"""Levels of arguments; the kernel takes 32."""

_MOST_VALUES: Final = 10_000
"""Values of one event; the kernel takes 16,384."""

_CUT: Final = "(cut)"
_UINT64: Final = 1 << 64
_LEAST_INT: Final = -(1 << 63)


def plain_details(details: Details) -> Details:
    """The details as strings, ints and plain arguments.

    Raises:
        UsageError: a category that is no string, a flow that is no int of 64 bits, arguments that
            are no mapping.
    """
    category, flow, end_flow, args = details
    return _categories(category), _flows(flow), _flows(end_flow), _arguments(args)


def _categories(category: Any) -> tuple[str, ...] | None:
    if category is None:
        return None
    many = (
        (category,) if isinstance(category, str) or not isinstance(category, Iterable) else category
    )
    found = tuple(many)
    if not all(isinstance(one, str) for one in found):
        raise UsageError(f"a category is a string, or several in a tuple, not {category!r}")
    return tuple(map(_text, found))


def _flows(flow: Any) -> tuple[int, ...] | None:
    if flow is None:
        return None
    found = []
    for one in flow if isinstance(flow, Iterable) else (flow,):
        try:
            number = -1 if isinstance(one, bool) else operator.index(one)
        except TypeError:
            number = -1
        if not 0 <= number < _UINT64:
            raise UsageError(
                f"a flow is an int of 0 to 2^64 - 1, or several in a tuple, not {one!r}"
            )
        found.append(number)
    return tuple(found)


def _arguments(args: Any) -> dict[str, Any] | None:
    if args is None:
        return None
    if not isinstance(args, Mapping):
        raise UsageError(f"args is a dict of names to values, not {args!r}")
    return _Plain().dictionary(args, 0)


class _Plain:
    """A maker of the plain values of one event; values too deep or too many are cut."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def dictionary(self, values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        made = {}
        for key, value in values.items():
            if self._left <= 0:
                made[_CUT] = True
                break
            made[_text(key)] = self.value(value, depth + 1)
        return made

    def value(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if isinstance(value, Mapping | list | tuple | Set):
            if depth > _DEEPEST:
                return _CUT
            # A user's own, or one that another thread changes: the traced program goes on.
            with contextlib.suppress(Exception):
                if isinstance(value, Mapping):
                    return self.dictionary(value, depth)
                return self._array(value, depth)
            return _text(value)
        return _scalar(value)

    def _array(self, values: Iterable[Any], depth: int) -> list[Any]:
        made = []
        for one in values:
            if self._left <= 0:
                made.append(_CUT)
                break
            made.append(self.value(one, depth + 1))
        return made


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    # A user's object must not break the program that is traced.
    with contextlib.suppress(Exception):
        number = operator.index(value)
        return number if _LEAST_INT <= number < _UINT64 else str(number)
    with contextlib.suppress(Exception):
        if isinstance(value, Real):
            return float(value)
        # A number of NumPy's or PyTorch's, alone in its array.
        single = value.item()
        if isinstance(single, bool | int | float):
            return _scalar(single)
    return _text(value)


def _text(value: Any) -> str:
    """A string of type str itself, that UTF-8 can hold."""
    try:
        text = str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:
        text = object.__repr__(value)
    return "".join(text).encode("utf-8", "replace").decode()
