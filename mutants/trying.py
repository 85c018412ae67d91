"""Whether a test notices a mutant."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from mutants.covering import environment
from mutants.population import Mutant

NO_END: Final = "a test that does not end"
NO_IMPORT: Final = "a failing import"


def noticed_by(tree: Path, mutant: Mutant, tests: list[str], limit_s: float) -> str | None:
    """The test that notices a mutant in a copy of the checkout; None where all tests pass.

    A test must fail twice: it may fail once for another reason.
    """
    changed = tree / mutant.path
    original = changed.read_text()
    changed.write_text(mutant.source)
    try:
        while tests:
            failed = _first_to_fail(tree, tests, limit_s)
            if failed == NO_IMPORT:
                changed.write_text(original)
                if _first_to_fail(tree, tests[:1], limit_s) is not None:
                    raise RuntimeError(
                        f"{tests[0]} does not run in {tree}, without a mutant either"
                    )
            if failed in (None, NO_END, NO_IMPORT):
                return failed
            if _first_to_fail(tree, [failed], limit_s) is not None:
                return failed
            tests = [test for test in tests if test != failed]
        return None
    finally:
        changed.write_text(original)


def _first_to_fail(tree: Path, tests: list[str], limit_s: float) -> str | None:
    report, chosen = tree / "failed.json", tree / "chosen.txt"
    report.unlink(missing_ok=True)
    chosen.write_text("\n".join(tests))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "mutants.failing",
        f"@{chosen}",
    ]
    running = subprocess.Popen(
        command,
        cwd=tree,
        # Nothing compiled is kept: a change may have the size and the second of the one before.
        env=environment(tree) | {"MUTANTS_FAILED": str(report), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        status = running.wait(limit_s)
    except subprocess.TimeoutExpired:
        return NO_END
    finally:
        _end(running)
    if status == 0:
        return None
    return str(json.loads(report.read_text())) if report.exists() else NO_IMPORT


def _end(running: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and its children."""
    if running.poll() is None:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
