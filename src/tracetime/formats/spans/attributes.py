"""Attributes of OTLP as plain values, and as JSON."""

from __future__ import annotations

from typing import Final

import msgspec

from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN

_DIGITS: Final = 20
_DEEPEST: Final = 16
"""Values within values; deeper ones are left out."""


def attributes_of(given: object) -> dict[str, object]:
    """A list of KeyValue messages as a dictionary; what is none of them is left out."""
    return _pairs(given, _DEEPEST)


def encoded(attributes: dict[str, object]) -> bytes:
    """Attributes as a JSON object; empty where there are none."""
    return msgspec.json.encode(attributes) if attributes else b""


def _pairs(given: object, depth: int) -> dict[str, object]:
    if not isinstance(given, list):
        return {}
    return {
        pair["key"]: _plain(pair.get("value"), depth)
        for pair in given
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _plain(value: object, depth: int) -> object:
    """An AnyValue message as a value: of the one field that it has."""
    if not isinstance(value, dict) or not value or not depth:
        return None
    kind, held = next(iter(value.items()))
    match kind:
        case "intValue" | "int_value":
            return _whole(held)
        case "arrayValue" | "array_value":
            values = held.get("values") if isinstance(held, dict) else None
            items = values if isinstance(values, list) else []
            return [_plain(item, depth - 1) for item in items]
        case "kvlistValue" | "kvlist_value":
            return _pairs(held.get("values") if isinstance(held, dict) else None, depth - 1)
    return held if isinstance(held, str | int | float) else None


def _whole(held: object) -> object:
    """A whole number, of JSON or of text; as text where it does not fit in int64."""
    text = str(held)
    if not text.removeprefix("-").isdecimal() or len(text) > _DIGITS:
        return text
    number = int(text)
    return number if INT64_MIN <= number <= INT64_MAX else text
