"""A short notation for JSON Schema (draft 2020-12): each shape with what it means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

Schema = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_SHARED: Final = "#/$defs/"


def text(says: str, **more: object) -> Schema:
    """A string; `more` are keywords such as `pattern`."""
    return {"description": says, "type": "string", **more}


def int64(says: str) -> Schema:
    """A whole number of 64 bits: a time, or a difference of times."""
    return {
        "description": says,
        "type": "integer",
        "minimum": -(2**63),
        "maximum": 2**63 - 1,
    }


def one_of(says: str, values: Iterable[str]) -> Schema:
    """One of some words."""
    return {"description": says, "type": "string", "enum": list(values)}


def listed(says: str, items: Schema) -> Schema:
    """A list."""
    return {"description": says, "type": "array", "items": items}


def record(says: str, properties: Mapping[str, Schema], optional: Collection[str] = ()) -> Schema:
    """An object of these keys, which it has always but for the optional ones."""
    return {
        "description": says,
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def by_name(says: str, values: Schema) -> Schema:
    """An object whose keys are data."""
    return {"description": says, "type": "object", "additionalProperties": values}


def shared(name: str, says: str) -> Schema:
    """A shape that several schemas have, by its name."""
    return {"description": says, "$ref": _SHARED + name}


def or_null(schema: Schema) -> Schema:
    """The same, or null."""
    if "type" not in schema:
        rest = {key: value for key, value in schema.items() if key != "description"}
        return {"description": schema["description"], "anyOf": [rest, {"type": "null"}]}
    more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | more


def either(says: str, **alternatives: Schema) -> Schema:
    """One of several shapes, each with a title."""
    shapes = [{"title": title} | shape for title, shape in alternatives.items()]
    return {"description": says, "oneOf": shapes}


def document(title: str, schema: Schema, shapes: Mapping[str, Schema]) -> Schema:
    """A schema that stands alone: with those of the shared `shapes` that it uses."""
    used: dict[str, Schema] = {}
    waiting = list(names_used(schema))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = shapes[name]
            waiting += names_used(shapes[name])
    made = {"$schema": DRAFT, "title": title, **schema}
    return made | {"$defs": dict(sorted(used.items()))} if used else made


def names_used(schema: Any) -> Iterator[str]:
    """Yield the names of the shared shapes in a schema."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(_SHARED)
        for value in schema.values():
            yield from names_used(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from names_used(value)
