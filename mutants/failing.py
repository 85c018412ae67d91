"""A pytest plugin: records which test failed first."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def pytest_runtest_logreport(report: Any) -> None:
    path = Path(os.environ["MUTANTS_FAILED"])
    if report.failed and not path.exists():
        path.write_text(json.dumps(report.nodeid))
