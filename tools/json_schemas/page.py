"""docs/reference/json.md: the keys of each schema in a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.json_schemas import SHAPES, SHARED, schemas
from tools.json_schemas.notation import Schema

DOCS: Final = Path(__file__).parent.parent.parent / "docs"
FOLDER: Final = DOCS / "schemas"
PAGE: Final = DOCS / "reference" / "json.md"

_MOST_VALUES: Final = 10
"""Of more values the page names none."""

_TYPES: Final = {"boolean": "true or false", "array": "list"}

HEAD: Final = """# JSON

With `--json` a command prints its result on standard output as JSON: one value, or with `watch` one
object a line. Each has a [JSON Schema](https://json-schema.org/) (draft 2020-12), a file of its own
that needs no other. The tests check the output of the commands against them.

- **Times** are whole numbers of ns, and `_ns`, `_ticks` or `_ppm` in a name is its unit. They take
  up to 64 bits. Python and DuckDB keep them exact, and so does jq 1.7 where it only passes them
  on; JavaScript's `JSON.parse` rounds those above 2^53: use a parser with big integers there.
- **Keys** are always there, and null says that there is no such value, except for those marked
  *optional*. Later versions may have more keys, so a program ignores those it does not know. The
  schemas allow none: they are those of this version.
- **Clocks** of traces are written as the commands take them: `BOOTTIME`, `64@seq7`, `0x8a01b2c3`
  ([clock](#the-shape-clock)). Commands that read the clocks of this machine print their names.
- **Errors**: a command that an error ends prints [that error](#error) on standard error, and
  nothing on standard output; `merge` prints its report even so. A check that fails (`--strict`,
  `--fail-on`, `--check`) is no error: the result is printed. [Exit codes](commands.md) are those
  without `--json`; a `warning:` on standard error stays text.

To check an output in Python (`pip install jsonschema`):

```console
$ tracetime doctor demo/demo.pftrace --json > found.json
```

```python
import json
from jsonschema import Draft202012Validator

schema = json.load(open("docs/schemas/doctor.json"))
Draft202012Validator(schema).validate(json.load(open("found.json")))
```
"""


def files() -> dict[Path, str]:
    """The schemas and the page, by path, as they should be."""
    made = {
        FOLDER / f"{name}.json": json.dumps(schema, indent=2) + "\n"
        for name, schema in schemas().items()
    }
    return made | {PAGE: page()}


def page() -> str:
    """The page."""
    parts = [HEAD]
    for name, shape in SHAPES.items():
        link = f"[schemas/{name}.json](../schemas/{name}.json)"
        parts.append(f"\n## {name}\n\n{link}. {shape['description']}\n")
        if "items" in shape:
            parts.append(f"{shape['items']['description']}\n")
        for variant in shape.get("oneOf", [shape]):
            if variant is not shape:
                parts.append(f"\n**{variant['title']}**: {_lower(variant['description'])}\n")
            parts.append(_table(variant))
    parts.append("\n## Shapes that several commands print\n")
    for name, shape in SHARED.items():
        parts.append(f"\n### {_heading(name)}\n\n{shape['description']}\n")
        if "examples" in shape:
            parts.append(f"Such as {_values(shape['examples'], 'and')}.\n")
        parts.append(_table(shape))
    return "".join(parts)


def _heading(name: str) -> str:
    """The heading of a shared shape, which differs from those of the commands."""
    return f"The shape {name.replace('_', ' ')}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _table(shape: Schema) -> str:
    rows = [f"| `{key}` | {kind} | {says} |\n" for key, kind, says in _rows(shape, "")]
    return "".join(["\n| key | type | meaning |\n|---|---|---|\n", *rows]) if rows else ""


def _rows(shape: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, type and meaning of what is within an object or a list."""
    if "items" in shape:
        path, shape = f"{path}[]", shape["items"]
    if "oneOf" in shape:
        yield from _of_any(shape["oneOf"], path)
        return
    dot = "." if path else ""
    for key, value in shape.get("properties", {}).items():
        optional = key not in shape["required"]
        yield f"{path}{dot}{key}", _type(value, optional), _meaning(value)
        yield from _rows(value, f"{path}{dot}{key}")


def _of_any(shapes: list[Schema], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of all alternatives, each once; those that not all have are optional."""
    keys = {key: value for shape in shapes for key, value in shape["properties"].items()}
    required = [key for key in keys if all(key in shape["required"] for shape in shapes)]
    yield from _rows({"properties": keys, "required": required}, path)


def _type(shape: Schema, optional: bool) -> str:
    kinds = shape.get("anyOf", [shape])
    words: list[str] = []
    for kind in kinds:
        if "$ref" in kind:
            words.append(_link(kind["$ref"]))
        elif "type" in kind:
            listed = kind["type"] if isinstance(kind["type"], list) else [kind["type"]]
            words += [_word(one, kind) for one in listed]
    return " or ".join(words) + (", *optional*" if optional else "")


def _word(kind: str, shape: Schema) -> str:
    if kind == "array" and "$ref" in shape["items"]:
        return f"list of {_link(shape['items']['$ref'])}"
    if kind == "array" and shape["items"].get("type") in ("string", "integer"):
        return f"list of {shape['items']['type']}s"
    if kind == "array":
        return "list of objects"
    if kind == "object" and shape.get("additionalProperties"):
        return f"{kind} of {shape['additionalProperties']['type']}s"
    return _TYPES.get(kind, kind)


def _link(reference: str) -> str:
    name = reference.rpartition("/")[2]
    return f"[{name.replace('_', ' ')}](#{_heading(name).lower().replace(' ', '-')})"


def _meaning(shape: Schema) -> str:
    says: str = shape["description"]
    if "const" in shape:
        return f"{says} `{json.dumps(shape['const'])}`."
    listed = [value for value in shape.get("enum", ()) if value]
    if not listed or len(listed) > _MOST_VALUES:
        return says
    return f"{says} {_values(listed, 'or')}."


def _values(values: list[str], last: str) -> str:
    *most, end = [f"`{value}`" for value in values]
    return f"{', '.join(most)} {last} {end}" if most else end
