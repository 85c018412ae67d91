"""Fail on functions of more than 60 lines, and on kernels of more than 7 parameters.

    python tools/check_functions.py FOLDER ...

Lines are counted from `def` to the last, the docstring included. A longer function says why in its
first line or in the one above it: `# long: REASON`; a kernel with more parameters: `# wide:
REASON`. (ruff counts the parameters of Python.) A reason that is no longer needed fails, too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

MOST_LINES: Final = 60
MOST_PARAMETERS: Final = 7

_KERNEL: Final = re.compile(
    r"( *)(?:def|cpdef|cdef) (?!class |struct |enum |extern )[^=(]*?(\w+)\("
)


class Function(NamedTuple):
    """The place and the size of a function; parameters: 0 where ruff counts them."""

    name: str
    line: int
    lines: int
    parameters: int


def of_python(text: str) -> Iterator[Function]:
    """Every function of a module, nested ones included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            yield Function(node.name, node.lineno, end - node.lineno + 1, 0)


def of_cython(text: str) -> Iterator[Function]:
    """Every function of a kernel that has a body; it ends where the indentation does."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        match = _KERNEL.match(line)
        signature = _signature(lines[at:]) if match else []
        if match and signature:
            begin = end = at + len(signature)
            for n, inside in enumerate(lines[begin:], begin):
                if inside.strip():
                    if not inside.startswith(match[1] + " "):
                        break
                    end = n
            yield Function(match[2], at + 1, end - at + 1, _parameters("".join(signature)))


def _signature(lines: list[str]) -> list[str]:
    """The lines from `def` to the colon before the body, without comments; empty without a body."""
    depth, taken = 0, []
    for line in lines:
        taken.append(line.partition("#")[0].rstrip())
        depth += taken[-1].count("(") - taken[-1].count(")")
        if not depth:
            break
    return taken if taken[-1].endswith(":") else []


def _parameters(signature: str) -> int:
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    flat = re.sub(r"[\[(][^\[\]()]*[\])]", "", inside)
    names = {one.strip() for one in flat.split(",")}
    return len(names - {"", "*", "/", "self"})


def faults(path: Path) -> Iterator[str]:
    """A line for each function of a file that is too long or too wide."""
    text = path.read_text(encoding="utf-8")
    lines = ["", *text.splitlines()]
    for function in of_python(text) if path.suffix == ".py" else of_cython(text):
        around = "\n".join(lines[function.line - 1 : function.line + 1])
        for word, what, size, most in (
            ("long", "lines", function.lines, MOST_LINES),
            ("wide", "parameters", function.parameters, MOST_PARAMETERS),
        ):
            reasoned = re.search(rf"# {word}: \S", around) is not None
            if reasoned != (size > most):
                hint = f"remove `# {word}:`" if reasoned else f"at most {most}, or `# {word}: WHY`"
                yield f"{path}:{function.line}: {function.name} has {size} {what}: {hint}"


def main() -> int:
    found = [
        fault
        for folder in sys.argv[1:]
        for path in sorted(Path(folder).rglob("*.p[yx]*"))
        if path.suffix in (".py", ".pyx", ".pxd", ".pxi")
        for fault in faults(path)
    ]
    for fault in found:
        print(fault)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
