"""Copies of the checkout to change, and the tests that cover a line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from coverage import CoverageData

from mutants.population import PACKAGE, ROOT, Mutant

WORK: Final = ROOT / "build" / "mutants"
DATA, CONFIG, SECONDS = "coverage", "coveragerc", "seconds.json"
LOG, EXIT_CODE, FAILED = "tests.log", "exit-code", "failed.json"
_CONFIG: Final = """\
[run]
source = src/tracetime
data_file = {data}
context = ${{PYTEST_CURRENT_TEST-}}
patch = subprocess
parallel = true
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
"""


def environment(tree: Path) -> dict[str, str]:
    """The environment of the tests of a copy, which import its package."""
    data = os.environ.get("TRACETIME_DATA", str(ROOT.parent / "shared" / "data"))
    return os.environ | {
        "PYTHONPATH": f"{tree / 'src'}:{tree}",
        "TRACETIME_DATA": data,
        "TRACETIME_REQUIRE_ALL": "1",
    }


def copied(tree: Path) -> Path:
    """Make `tree` a fresh copy of the checkout, with the kernels that are built here."""
    shutil.rmtree(tree, ignore_errors=True)
    kernels = (ROOT / PACKAGE / "_kernels").rglob("*.so")
    for path in (*_tracked(), *(kernel.relative_to(ROOT) for kernel in kernels)):
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target)
    return tree


def _tracked() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def tests_run() -> Path:
    """Run all tests once; return a folder with the lines they cover, their `tree`, their seconds.

    What they print and how they end is there, too. The folder is used again until a file changes.
    """
    digest = hashlib.sha256()
    for path in sorted(_tracked()):
        digest.update((ROOT / path).read_bytes())
    kept = WORK / f"covering-{digest.hexdigest()[:16]}"
    if not (kept / SECONDS).exists():
        _run_all(kept)
    return kept


class Covering:
    """The tests that pass, how long each takes, and the lines it covers."""

    def __init__(self, data: CoverageData, seconds: dict[str, float]) -> None:
        self._data = data
        self.seconds = seconds
        self._files = {Path(name).as_posix(): name for name in data.measured_files()}

    @classmethod
    def found(cls) -> Covering:
        kept = tests_run()
        data = CoverageData(str(kept / DATA))
        data.read()
        return cls(data, json.loads((kept / SECONDS).read_text()))

    def tests(self, mutant: Mutant, budget_s: float) -> list[str]:
        """The tests to run for a mutant, the quickest first, as many as take budget_s in all.

        For a line that runs at import: the tests that cover any line of the module; for a module
        with no other lines, all tests.
        """
        name = next((n for n in self._files if n.endswith(mutant.path)), None)
        by_line = {} if name is None else self._data.contexts_by_lineno(self._files[name])
        chosen = self._tests_of(by_line.get(mutant.line, ()))
        if not chosen:
            first = max((n for n in by_line if n <= mutant.line), default=0)
            chosen = self._tests_of(by_line.get(first, ()))
        if not chosen:
            chosen = self._tests_of(one for contexts in by_line.values() for one in contexts)
        chosen = chosen or set(self.seconds)
        return _within(sorted(chosen, key=lambda test: self.seconds[test]), self.seconds, budget_s)

    def _tests_of(self, contexts: Iterable[str]) -> set[str]:
        """The tests of contexts; the context of a process ends with the phase of its test."""
        return {one.rsplit(" (", 1)[0] for one in contexts} & self.seconds.keys()


def _within(tests: list[str], seconds: dict[str, float], budget_s: float) -> list[str]:
    chosen, total = [], 0.0
    for test in tests:
        total += seconds[test]
        if total > budget_s and chosen:
            break
        chosen.append(test)
    return chosen


def _run_all(kept: Path) -> None:
    print("running all tests once, to record which lines each covers", file=sys.stderr)
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    tree = copied(kept / "tree")
    config = kept / CONFIG
    config.write_text(_CONFIG.format(data=kept / DATA))
    env = environment(tree) | {
        "MUTANTS_DURATIONS": str(kept / SECONDS),
        "MUTANTS_FAILED": str(kept / FAILED),
        "COVERAGE_RCFILE": str(config),
    }
    coverage = [sys.executable, "-m", "coverage"]
    tests = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    tests += ["-p", "mutants.recording", "-p", "no:cacheprovider"]
    with (kept / LOG).open("wb") as log:
        ended = subprocess.run([*coverage, "run", *tests], cwd=tree, env=env, stdout=log)
    (kept / EXIT_CODE).write_text(str(ended.returncode))
    subprocess.run([*coverage, "combine", "-q"], cwd=tree, env=env, check=True)
