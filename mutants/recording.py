"""A plugin of pytest: which tests come by which line, and how long each takes.

Coverage tells lines apart by the test that is running; processes that a test starts are covered as
it is (`context` in the configuration that covering.py writes).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import coverage

_passed: dict[str, float] = {}


def pytest_runtest_logstart(nodeid: str) -> None:
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" and report.passed:
        _passed[report.nodeid] = report.duration
    elif report.failed or report.skipped:
        _passed.pop(report.nodeid, None)


def pytest_sessionfinish() -> None:
    Path(os.environ["MUTANTS_DURATIONS"]).write_text(json.dumps(_passed))
