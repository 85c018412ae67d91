"""Time and memory for small files that are expensive to read: `python -m benchmarks.small`.

Each command runs as a process on each family of files, of three sizes. It fails where one takes
more than 5 s of CPU or 500 MB, or where time or memory grow faster than the size to the power of
1.3. An argument leaves out families without it in their names.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.small_files import FAMILIES, Family
from benchmarks.small_folders import TOGETHER, Together

MOST_S: Final = 5.0
MOST_MB: Final = 500.0
MOST_EXPONENT: Final = 1.3
_STOPPED_S: Final = 20
_PARTS: Final = (9, 3, 1)
"""The sizes are these parts of the largest."""
_LEAST_S, _LEAST_MB = 1.5, 100.0
"""A growth by less may be noise."""

COMMANDS: Final = {
    "convert": ["convert", "-o", "out.parquet"],
    "by the tube": ["convert", "-o", "out.parquet", "--policy", "tube"],
    "clocks": ["clocks"],
    "doctor": ["doctor"],
    "report": ["report", "-o", "out.html"],
    "bake": ["bake", "-o", "out.pftrace"],
}


class Cost(NamedTuple):
    """What a command takes, and its exit code; below 0 where it was stopped."""

    cpu_s: float
    mb: float
    code: int


def main() -> int:
    """Print a table in Markdown; 1 where a bar is missed."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    missed = 0
    print(f"| family | MB | {' | '.join(COMMANDS)} |")
    print(f"|---|---|{'---|' * len(COMMANDS)}")
    for name, family in FAMILIES.items():
        if wanted in name:
            size, costs = _costs(family)
            cells = [_cell(of_command) for of_command in costs]
            missed += sum("**" in cell for cell in cells)
            print(f"| {name} | {size / 1e6:.1f} | {' | '.join(cells)} |", flush=True)
    print("\n| files | MB | commands |\n|---|---|---|")
    for name, files in TOGETHER.items():
        if wanted in name:
            size, by_command = _costs_together(files)
            cells = [f"{command}: {_cell(costs)}" for command, costs in by_command.items()]
            missed += sum("**" in cell for cell in cells)
            print(f"| {name} | {size / 1e6:.1f} | {'; '.join(cells)} |", flush=True)
    print(f"\n{missed} missed: {MOST_S:g} s, {MOST_MB:g} MB, exponent {MOST_EXPONENT}")
    return 1 if missed else 0


def _costs(family: Family) -> tuple[int, list[list[Cost]]]:
    """The bytes of the largest file, and what each command takes for each size."""
    costs: list[list[Cost]] = [[] for _ in COMMANDS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t.{family.ending}")
        for part in _PARTS:
            path.write_bytes(family.make(family.most // part))
            for found, words in zip(costs, COMMANDS.values(), strict=True):
                found.append(_cost(folder, [words[0], path.name, *words[1:]]))
        return path.stat().st_size, costs


def _costs_together(files: Together) -> tuple[int, dict[str, list[Cost]]]:
    """The bytes of the largest, and by command what it takes for each size."""
    costs: dict[str, list[Cost]] = {command: [] for command in files.commands}
    size = 0
    for part in _PARTS:
        with tempfile.TemporaryDirectory() as folder:
            paths = files.make(Path(folder), files.most // part)
            size = sum(path.stat().st_size for path in paths)
            for command, words in files.commands.items():
                names = [path.name for path in paths]
                costs[command].append(_cost(folder, [words[0], *names, *words[1:]]))
    return size, costs


def _cost(folder: str, words: list[str]) -> Cost:
    child = subprocess.Popen(
        [sys.executable, "-m", "tracetime", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_limit,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, child.returncode)


def _cell(costs: list[Cost]) -> str:
    """What the largest file takes, with what of it misses its bar in bold."""
    last = costs[-1]
    if last.code < 0:
        return f"**more than {_STOPPED_S} s**"
    grows = [
        exponent([getattr(cost, field) for cost in costs], least)
        for field, least in (("cpu_s", _LEAST_S), ("mb", _LEAST_MB))
    ]
    said = [
        _bold(f"{last.cpu_s:.1f} s", last.cpu_s > MOST_S),
        _bold(f"{last.mb:.0f} MB", last.mb > MOST_MB),
        *(_bold(f"n^{power:.1f}", True) for power in grows if power > MOST_EXPONENT),
        *([f"exit {last.code}"] if last.code else []),
    ]
    return ", ".join(said)


def exponent(costs: list[float], least: float) -> float:
    """By which power of the size costs grow, from three sizes of which each is thrice the last.

    least: where they grow by less, from the second size to the last, 0.
    """
    first, last = (after - before for before, after in pairwise(costs))
    if last < least:
        return 0.0
    return math.log(last / max(first, last / 1e3), 3)


def _bold(text: str, is_missed: bool) -> str:
    return f"**{text}**" if is_missed else text


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_STOPPED_S, _STOPPED_S))


if __name__ == "__main__":
    sys.exit(main())
