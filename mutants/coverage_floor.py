"""Fail where the tests cover too few of the package's lines, and print the other lines.

python -m mutants.coverage_floor PERCENT
"""

from __future__ import annotations

import subprocess
import sys

from mutants.covering import CONFIG, tests_run


def main() -> int:
    kept = tests_run()
    report = [sys.executable, "-m", "coverage", "report", f"--rcfile={kept / CONFIG}"]
    wanted = ["--skip-covered", "--show-missing", f"--fail-under={float(sys.argv[1])}"]
    return subprocess.run([*report, *wanted], cwd=kept / "tree").returncode


if __name__ == "__main__":
    sys.exit(main())
