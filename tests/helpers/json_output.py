"""What commands print with --json, checked against docs/schemas."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import extend
from places import ROOT

from tracetime.commands import OVERVIEW, SUBCOMMANDS

SCHEMAS = ROOT / "docs" / "schemas"
_LARGEST = 200_000
"""Longer output repeats the shapes that shorter output has, and takes seconds."""

# To jsonschema 1.0 is an integer, as it is to JSON Schema. Here a time must never be a float.
_Strict = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ),
)


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of the schema of a command, or `error`."""
    return _Strict(json.loads((SCHEMAS / f"{name}.json").read_text()))


def fault(name: str, value: Any) -> str | None:
    """What is wrong with a value by the schema `name`, and where; None if nothing is."""
    error = best_match(validator(name).iter_errors(value))
    if error is None:
        return None
    return f"{name}: {error.json_path}: {error.message} (shapes: tools/json_schemas)"


def fits(part: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    """Whether a value fits a part of the schema `root`."""
    return bool(_Strict(part | {"$defs": root.get("$defs", {})}).is_valid(value))


def parsed(text: str) -> Any:
    """One JSON value; a key that comes twice, NaN and Infinity are errors."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)


def values(name: str, out: str) -> list[Any]:
    """The values that a command printed: one, or of `watch` one a line."""
    return [parsed(line) for line in (out.splitlines() if name == "watch" else [out])]


def command_of(args: tuple[str, ...]) -> str:
    """The name of the schema of what a command line prints."""
    return args[0] if args[0] in SUBCOMMANDS else OVERVIEW


def check(args: tuple[str, ...], code: int, out: str, err: str) -> None:
    """Check what a command line with --json printed.

    Without a result it ends with an error, unless the result went to a file.
    """
    options = args[: args.index("--")] if "--" in args else args
    if "--json" not in options or "--help" in options or len(out) > _LARGEST:
        return
    if out:
        name = command_of(args)
        for value in values(name, out):
            found = fault(name, value)
            assert found is None, found
    elif code in range(1, 5):
        lines = [line for line in err.splitlines() if line.startswith("{")]
        assert len(lines) == 1, f"{args} ended with {code}, and one error is not what it printed"
        found = fault("error", parsed(lines[0]))
        assert found is None, found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    assert len(made) == len(pairs), f"a key comes twice: {[key for key, _ in pairs]}"
    return made


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
