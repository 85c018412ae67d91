"""All mutants, and a random sample of them.

Mutations are those of cosmic-ray's operators. Type annotations are left out, since nothing runs
them, and so are mutants that are proved equivalent (equivalent.txt).
"""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = "src/tracetime"
ROOMS: Final = ("graph", "doctor", "formats", "capture", "analysis")
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")

Spec = tuple[str, int]


@dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Attributes:
        path: of the file, from the root of the checkout.
        line: the number of the changed line, from 1.
        before, after: its text.
        source: the whole file, changed.
    """

    path: str
    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """Identifies it, also when the lines above it change."""
        return f"{self.path}: {self.before} -> {self.after}"

    @property
    def any_key(self) -> str:
        """Identifies all mutants of its line."""
        return f"{self.path}: {self.before} -> *"


def files(only: str = "") -> list[Path]:
    """The files that are mutated, those with `only` in their path."""
    found = (path for room in ROOMS for path in (ROOT / PACKAGE / room).rglob("*.py"))
    return sorted(path for path in found if only in path.relative_to(ROOT).as_posix())


def equivalents() -> dict[str, str]:
    """Why mutants are equivalent, by key: the pairs of lines of equivalent.txt.

    A key that ends in `-> *` stands for all mutants of its line.
    """
    lines = [line for line in EQUIVALENT.read_text().splitlines() if line and line[0] != "#"]
    return dict(zip(lines[::2], lines[1::2], strict=True))


def sample(n: int, seed: int, only: str = "") -> list[Mutant]:
    """n random mutants, one in each of n places; the same for the same files and seed."""
    drawn: list[Mutant] = []
    proved = equivalents()
    chance = random.Random(seed)
    places = [(path, specs) for path in files(only) for specs in _places(path)]
    chance.shuffle(places)
    for path, specs in places:
        if len(drawn) == n:
            break
        mutant = _mutant(path, chance.choice(specs))
        if mutant is not None and not {mutant.key, mutant.any_key} & proved.keys():
            drawn.append(mutant)
    return drawn


def _places(path: Path) -> list[list[Spec]]:
    """(operator, occurrence) of each mutation of a file, grouped by place."""
    nodes = list(ast_nodes(get_ast(path.read_text())))
    places: dict[tuple[object, object], list[Spec]] = {}
    for name in operator_names():
        kind = get_operator(name)
        if kind.arguments():
            continue
        operator = kind()
        found = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, place in enumerate(found):
            places.setdefault(place, []).append((name, occurrence))
    return list(places.values())


def _mutant(path: Path, spec: Spec) -> Mutant | None:
    """The mutant, or None where the code that runs stays the same."""
    name, occurrence = spec
    source = path.read_text()
    try:
        changed = mutate_code(source, get_operator(name)(), occurrence)
    except AttributeError:
        # cosmic-ray fails to replace an exception whose name has a dot.
        return None
    if changed is None or _runnable(changed) in (None, _runnable(source)):
        return None
    pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
    line = next(n for n, (one, other) in enumerate(pairs) if one != other)
    before, after = (text.splitlines()[line].strip() for text in (source, changed))
    return Mutant(path.relative_to(ROOT).as_posix(), line + 1, before, after, changed)


class _WithoutTypes(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _runnable(source: str) -> str | None:
    """The code without its annotations, which nothing runs; None where it does not parse."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    return ast.dump(_WithoutTypes().visit(tree))
