"""The shape of a class that commands print as JSON: of its annotations and its docstring."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from msgspec import Meta

from tools.json_schemas.notation import (
    Schema,
    by_name,
    either,
    int64,
    listed,
    one_of,
    or_null,
    record,
    shared,
)
from tracetime.clocks.json_facts import members_of

_PLAIN = {str: "string", bool: "boolean", float: "number"}


class Shapes:
    """Makes shapes.

    Args:
        named: the classes that have a shape of their own, and its name.
    """

    def __init__(self, named: Mapping[type, str]) -> None:
        self._named = named

    def of(self, *kinds: type) -> Schema:
        """Return the shape of an object that has the members of some classes, one after another."""
        members = [member for kind in kinds for member in _members(kind)]
        return record(
            _sentence(inspect.getdoc(kinds[0]) or ""),
            {key: self._shape(hint, says) for key, hint, says, _ in members},
            optional=[key for key, _, _, is_optional in members if is_optional],
        )

    def _shape(self, hint: Any, says: str) -> Schema:
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return _with(self._shape(args[0], says), hint.__metadata__)
        if origin in (Union, types.UnionType):
            return self._of_any(args, says)
        if origin is Literal:
            return one_of(says, args) if len(args) > 1 else _constant(says, args[0])
        if origin in (list, tuple, Sequence):
            return listed(says, self._item(args[0]))
        if origin in (dict, Mapping):
            return self._by_name(*args, says)
        if hint in self._named:
            return shared(self._named[hint], says)
        if hint is int:
            return int64(says)
        if hint in _PLAIN:
            return {"description": says, "type": _PLAIN[hint]}
        return self.of(hint) | {"description": says}

    def _item(self, hint: Any) -> Schema:
        if isinstance(hint, type) and hint not in (*_PLAIN, int, *self._named):
            return self.of(hint)
        return {key: part for key, part in self._shape(hint, "").items() if key != "description"}

    def _of_any(self, kinds: Sequence[Any], says: str) -> Schema:
        some = [kind for kind in kinds if kind is not type(None)]
        if len(some) > 1 and str in some:
            # A clock, or a text in its place.
            found = self._shape(str, says)
        elif len(some) > 1:
            found = either(says, **{kind.__name__.lower(): self.of(kind) for kind in some})
        else:
            found = self._shape(some[0], says)
        return or_null(found) if len(some) < len(kinds) else found

    def _by_name(self, key: Any, value: Any, says: str) -> Schema:
        found = by_name(says, self._item(value))
        names = {k: v for k, v in self._item(key).items() if k in ("enum", "$ref")}
        return found | ({"propertyNames": names} if names else {})


def _members(kind: type) -> Iterator[tuple[str, Any, str, bool]]:
    """Yield key, annotation, meaning, and whether the key is optional."""
    hints, texts = _hints(kind), _attributes(kind)
    if is_typeddict(kind):
        for name, hint in hints.items():
            is_optional = get_origin(hint) is NotRequired
            found = get_args(hint)[0] if is_optional else hint
            yield name, found, _text(kind, name, texts), is_optional
        return
    for printed in members_of(kind):
        name = printed.rstrip("?")
        member = inspect.getattr_static(kind, name, None)
        if isinstance(member, property):
            hint = _resolved(member.fget)["return"]
            says = _sentence(inspect.getdoc(member) or "")
            # What a class says of its own attribute, it says of what a property makes of it, too.
            says = texts.get(name.strip("_"), says)
        else:
            hint, says = hints[name], _text(kind, name, texts)
        if name != printed:
            yield name.strip("_"), _present(hint), says, True
        else:
            yield name.strip("_"), hint, says, False


def _present(hint: Any) -> Any:
    """The annotation of a member that is printed only where it is something."""
    some = [kind for kind in get_args(hint) if kind is not type(None)]
    if get_origin(hint) in (Union, types.UnionType):
        return some[0]
    return Annotated[hint, Meta(min_length=1)]


def _text(kind: type, name: str, texts: Mapping[str, str]) -> str:
    if name not in texts:
        raise LookupError(f"the docstring of {kind.__module__}.{kind.__name__} has no {name}")
    return texts[name]


def _hints(kind: type) -> dict[str, Any]:
    bases = [base for base in kind.__mro__[::-1] if base.__module__.startswith("tracetime")]
    return {name: hint for base in bases or [kind] for name, hint in _resolved(base).items()}


def _resolved(what: Any) -> dict[str, Any]:
    """The annotations of a class or a function, with what only type checkers import."""
    module = sys.modules[what.__module__]
    scope = vars(module) | _for_type_checkers(module)
    given = inspect.get_annotations(what).items()
    texts = {name: str(getattr(hint, "__forward_arg__", hint)) for name, hint in given}
    return {
        name: eval(text, scope) for name, text in texts.items() if not text.startswith("ClassVar")
    }


@cache
def _for_type_checkers(module: ModuleType) -> dict[str, Any]:
    """What a module imports in `if TYPE_CHECKING`, by name."""
    scope = dict(vars(module))
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for one in node.body:
                exec(ast.unparse(one), scope)
    return scope


def _attributes(kind: type) -> dict[str, str]:
    """What the docstring of a class says of each attribute."""
    found: dict[str, str] = {}
    for base in kind.__mro__[::-1]:
        text = inspect.getdoc(base) if "__doc__" in vars(base) else None
        section = re.search(r"^Attributes:\n((?: +.*\n?|\n)*)", text or "", re.MULTILINE)
        for entry in re.split(r"\n    (?=\S)", "\n" + section[1]) if section else ():
            names, _, says = entry.strip().partition(": ")
            found |= dict.fromkeys(names.split(", "), _sentence(says))
    return found


def _sentence(text: str) -> str:
    """The first paragraph of a text as a sentence of one line."""
    line = " ".join(text.partition("\n\n")[0].split())
    return line[:1].upper() + line[1:]


def _constant(says: str, value: int | str) -> Schema:
    kind = "string" if isinstance(value, str) else "integer"
    return {"description": says, "type": kind, "const": value}


def _with(shape: Schema, given: Sequence[Meta]) -> Schema:
    """A shape within the limits of msgspec's `Meta`."""
    for meta in given:
        more = dict(meta.extra_json_schema or {})
        if "$ref" in more:
            return {"description": shape["description"], **more}
        if meta.ge is not None:
            shape = {key: part for key, part in shape.items() if key != "maximum"}
            more["minimum"] = meta.ge
        if meta.pattern is not None:
            more["pattern"] = meta.pattern
        if meta.min_length is not None:
            more["minItems"] = meta.min_length
        shape = shape | more
    return shape
