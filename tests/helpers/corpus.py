"""Traces for tests: in `tests/data`, and under $TRACETIME_DATA where that exists."""

from __future__ import annotations

import os
from pathlib import Path

from places import ROOT

OWN = ROOT / "tests" / "data"
DATA = Path(os.environ.get("TRACETIME_DATA", ROOT.parent / "shared" / "data"))
NO_DATA = f"no test data at {DATA}"


def files(pattern: str) -> list[Path]:
    """Files of both that match, such as "golden/*.parquet", by name; each name once."""
    found = {path.name: path for root in (DATA, OWN) for path in root.glob(pattern)}
    return [found[name] for name in sorted(found) if found[name].is_file()]


def trace_of(table: Path) -> Path:
    """The trace of a golden table."""
    return table.parents[1] / "traces" / table.stem
