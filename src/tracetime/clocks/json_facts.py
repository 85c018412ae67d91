"""Objects that are printed as JSON: each class lists the members that become keys.

A dataclass or a named tuple is an object with a key for each field, or for each member that
`as_json` lists. `python -m tools.json_schemas` makes schemas of the same classes: types from the
annotations (`json_types.py`), and what a key means from the docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tracetime.clocks.ids import ClockId, Scope
from tracetime.errors import TracetimeError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

T = TypeVar("T")


_MEMBERS: Final[dict[type, tuple[str, ...]]] = {}


_LONGEST: Final = 380
"""Characters of an object as it is shown: five lines of a terminal."""

_PARTS: Final = Repr()
_PARTS.maxstring = _PARTS.maxother = _PARTS.maxlong = 60
_PARTS.maxtuple = _PARTS.maxlist = _PARTS.maxdict = 3


def _short(document: Any) -> str:
    """An object as a prompt or a debugger shows it: its members, each cut where it is long."""
    names = [name.rstrip("?") for name in members_of(type(document)) if name[0] != "_"]
    shown = (f"{name}={_PARTS.repr(getattr(document, name))}" for name in names)
    return printable(f"{type(document).__name__}({', '.join(shown)})", _LONGEST)


def as_json(members: str) -> Callable[[type[T]], type[T]]:
    """Return a decorator that lists the members of a class that are printed, in order.

    A key has no underscore at its ends: `_machines` is a member for JSON alone. A member with a
    question mark is left out when it is empty.
    """

    def decorate(kind: type[T]) -> type[T]:
        _MEMBERS[kind] = tuple(members.split())
        kind.__repr__ = _short  # type: ignore[method-assign]
        return kind

    return decorate


class Document:
    """A base of objects that are printed as JSON, which users may want, too."""

    __slots__ = ()

    def to_dict(self) -> dict[str, object]:
        """Return the object in the types of JSON; clocks as `str(ClockId)` writes them."""
        return facts_of(self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class ClockFacts:
    """The printed facts of a clock: the members of a `ClockInfo`, and those of subclasses.

    Attributes:
        clock: the clock.
        unit_ns: how many ns its unit is.
        incremental: whether its timestamps are differences.
        monotonic: whether it never ran backwards.
        snapshots: how many snapshots have it.
        first_ns: its first reading in a snapshot, ns; null without any.
        last_ns: its last reading in a snapshot, ns; null without any.
    """

    clock: ClockId
    unit_ns: Count
    incremental: bool
    monotonic: bool
    snapshots: Count
    first_ns: int | None
    last_ns: int | None

    @property
    def scope(self) -> Scope:
        """The scope in which the clock's number has a meaning."""
        return self.clock.scope


def members_of(kind: type) -> tuple[str, ...]:
    """Return the members of a class as `as_json` takes them; none of what is no object."""
    fields: Any = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", ())
    return _MEMBERS.get(kind) or tuple(fields)


def facts_of(value: Any) -> Any:
    """Return a value in the types of JSON."""
    if isinstance(value, ClockId):
        return str(value)
    if isinstance(value, TracetimeError):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: facts_of(part) for key, part in value.items()}
    members = members_of(type(value))
    if members:
        parts = [(member, getattr(value, member.rstrip("?"))) for member in members]
        return {
            member.strip("_?"): facts_of(part)
            for member, part in parts
            if part or not member.endswith("?")
        }
    return [facts_of(part) for part in value] if isinstance(value, list | tuple) else value
