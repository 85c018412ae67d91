"""A pytest plugin: records which lines each test covers, how long it takes, and which fail.

The context of coverage is the test that runs, also in processes that it starts (`context` in the
configuration that covering.py writes).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import coverage

_passed: dict[str, float] = {}
_failed: set[str] = set()


def pytest_runtest_logstart(nodeid: str) -> None:
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" and report.passed:
        _passed[report.nodeid] = report.duration
    elif report.failed or report.skipped:
        _passed.pop(report.nodeid, None)
    if report.failed:
        _failed.add(report.nodeid)


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: Any) -> None:
    # The workers of pytest-xdist tell the process that started them.
    if hasattr(session.config, "workerinput"):
        return
    Path(os.environ["MUTANTS_DURATIONS"]).write_text(json.dumps(_passed))
    Path(os.environ["MUTANTS_FAILED"]).write_text(json.dumps(sorted(_failed)))
