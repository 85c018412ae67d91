"""Run all tests; fail where one fails, or where they cover too few of the package's lines.

python -m mutants.coverage_floor PERCENT
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from mutants.covering import CONFIG, EXIT_CODE, FAILED, LOG, environment, tests_run

_TESTS_FAILED: Final = 1
"""Of pytest: all were run."""
_MOST_AGAIN: Final = 50


def main() -> int:
    kept = tests_run()
    print(_after_progress((kept / LOG).read_text(errors="replace")), flush=True)
    report = [sys.executable, "-m", "coverage", "report", f"--rcfile={kept / CONFIG}"]
    wanted = ["--skip-covered", "--show-missing", f"--fail-under={float(sys.argv[1])}"]
    covered = subprocess.run([*report, *wanted], cwd=kept / "tree").returncode
    return _failing(kept) or covered


def _failing(kept: Path) -> int:
    """The exit code of the tests.

    What failed is run again without coverage, which waits for ever where a signal's handler
    interrupts it.
    """
    code = int((kept / EXIT_CODE).read_text())
    failed = json.loads((kept / FAILED).read_text())
    if code != _TESTS_FAILED or not 0 < len(failed) <= _MOST_AGAIN:
        return code
    print("again, without coverage:", flush=True)
    tree = kept / "tree"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *failed]
    return subprocess.run(command, cwd=tree, env=environment(tree)).returncode


def _after_progress(log: str) -> str:
    """What pytest prints after its lines of dots: failures, skips, the counts."""
    sections = log.find("\n=====")
    return log[sections + 1 :] if sections >= 0 else log[-2_000:]


if __name__ == "__main__":
    sys.exit(main())
