"""The schemas of docs/schemas and their page: those of the shapes, whole, closed and described."""

from importlib import import_module

import pytest
from json_output import SCHEMAS
from jsonschema import Draft202012Validator

from tools.json_schemas import schemas
from tools.json_schemas.notation import DRAFT
from tools.json_schemas.page import files
from tracetime.commands import OVERVIEW, SUBCOMMANDS

WRITTEN = schemas()


def test_files_are_those_that_the_tool_writes():
    expected = files()
    for path, text in expected.items():
        assert path.read_text() == text, "write them again: python -m tools.json_schemas"
    assert set(SCHEMAS.iterdir()) == {path for path in expected if path.parent == SCHEMAS}


def test_every_command_with_json_has_a_schema():
    names = (*SUBCOMMANDS, OVERVIEW)
    commands = {name: import_module(f"tracetime.commands.{name}").command for name in names}
    with_json = {
        name
        for name, command in commands.items()
        for one in (command, *getattr(command, "commands", {}).values())
        if any("--json" in option.opts for option in one.params)
    }
    assert {*WRITTEN} == {*with_json, "error"}
    assert len(with_json) >= 10


def parts(schema, place="$"):
    """Every schema within a schema, and its place."""
    yield place, schema
    for key in ("properties", "$defs"):
        for name, part in schema.get(key, {}).items():
            yield from parts(part, f"{place}.{key}.{name}")
    for key in ("anyOf", "oneOf"):
        for number, part in enumerate(schema.get(key, ())):
            yield from parts(part, f"{place}.{key}[{number}]")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], f"{place}.{key}")


@pytest.mark.parametrize("name", WRITTEN)
def test_a_schema_is_one_stands_alone_and_is_closed(name):
    schema = WRITTEN[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DRAFT
    for place, part in parts(schema):
        if "$ref" in part:
            shape = part["$ref"].removeprefix("#/$defs/")
            assert shape in schema["$defs"], place
        if part.get("type") == "object" and not (name == "sql" and place == "$.items"):
            assert "additionalProperties" in part, place
            assert part["additionalProperties"] is not True, place


@pytest.mark.parametrize("name", WRITTEN)
def test_every_key_is_described(name):
    for place, part in parts(WRITTEN[name]):
        if place.rpartition(".")[0].endswith(".properties"):
            assert part["description"].strip().endswith("."), place
            assert len(part["description"]) >= 8, place
