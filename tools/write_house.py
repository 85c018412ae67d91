"""Write the picture of the house into CONTRIBUTING.md: its floors, from the rules of import-linter.

What lives in a room is the beginning of its docstring. A test compares the picture.

Usage: write_house.py
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"

_HEAD = "| floor | room | what lives there |\n|---|---|---|\n"


def floors() -> list[str]:
    """The floors of the contract, from the top: rooms with `|` or `:` between them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers: list[str] = contracts["contracts"][0]["layers"]
    return layers


def room(name: str) -> tuple[str, str]:
    """A room as a path, a package or a module, and the first sentences of its docstring."""
    path = ROOT / "src" / "tracetime" / name
    inside = path / "__init__.py"
    source = inside if inside.exists() else path.with_suffix(".py")
    words = ast.get_docstring(ast.parse(source.read_text())) or ""
    shown = f"{name}/" if inside.exists() else f"{name}.py"
    return f"`{shown}`", " ".join(words.partition("\n\n")[0].split())


def drawn(text: str) -> str:
    """The page as it should be, from its present text."""
    head, _, rest = text.partition(_HEAD)
    after = re.sub(r"\A(\|.*\n)*", "", rest)
    house = ""
    for number, layer in zip(range(len(floors()), 0, -1), floors(), strict=True):
        together = ", together" if ":" in layer else ""
        for name in re.findall(r"\w+", layer):
            house += f"| {number}{together} | {' | '.join(room(name))} |\n"
    return head + _HEAD + house + after


def main() -> None:
    PAGE.write_text(drawn(PAGE.read_text()))


if __name__ == "__main__":
    main()
