"""Run all tests; fail where one fails, or where they cover too few of the package's lines.

python -m mutants.coverage_floor PERCENT
"""

from __future__ import annotations

import subprocess
import sys

from mutants.covering import CONFIG, EXIT_CODE, LOG, tests_run


def main() -> int:
    kept = tests_run()
    print(_after_progress((kept / LOG).read_text(errors="replace")), flush=True)
    report = [sys.executable, "-m", "coverage", "report", f"--rcfile={kept / CONFIG}"]
    wanted = ["--skip-covered", "--show-missing", f"--fail-under={float(sys.argv[1])}"]
    covered = subprocess.run([*report, *wanted], cwd=kept / "tree").returncode
    return int((kept / EXIT_CODE).read_text()) or covered


def _after_progress(log: str) -> str:
    """What pytest prints after its lines of dots: failures, skips, the counts."""
    sections = log.find("\n=====")
    return log[sections + 1 :] if sections >= 0 else log[-2_000:]


if __name__ == "__main__":
    sys.exit(main())
