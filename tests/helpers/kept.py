"""Answers that were looked at once, and are the same ever after: tests/data/kept/NAME.json.

A difference is a fault, or meant: then KEEP_ANSWERS=1 writes what is told now, and the change of the
file says what else changed with it. That they are right is for other tests to say.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT

from tracetime import ClockId

FOLDER = ROOT / "tests" / "data" / "kept"


def plain(told: Any) -> Any:
    """What JSON can hold of it: arrays as lists, floats to nine digits, clocks by their names."""
    if isinstance(told, ClockId):
        return str(told)
    if isinstance(told, np.ndarray):
        return plain(told.tolist())
    if isinstance(told, dict):
        return {str(plain(key)): plain(value) for key, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [plain(one) for one in told]
    if isinstance(told, np.generic):
        return plain(told.item())
    if isinstance(told, float):
        return float(f"{told:.9g}") if np.isfinite(told) else str(told)
    return told


def alike(now: Any, before: Any, where: str) -> None:
    """The same; floats to a millionth of a millionth, as processors round them differently."""
    assert type(now) is type(before), f"{where}: {now!r}, not {before!r}"
    if isinstance(now, dict):
        assert list(now) == list(before), where
        for key in now:
            alike(now[key], before[key], f"{where}[{key!r}]")
    elif isinstance(now, list):
        assert len(now) == len(before), f"{where}: {now!r}, not {before!r}"
        for k, (one, other) in enumerate(zip(now, before, strict=True)):
            alike(one, other, f"{where}[{k}]")
    elif isinstance(now, float):
        assert now == pytest.approx(before, rel=1e-8, abs=1e-9), where
    else:
        assert now == before, f"{where}: {now!r}, not {before!r}"


_READ: dict[Path, Any] = {}


def check_kept(name: str, case: str, told: Any) -> None:
    """Assert that what is told in a case is what was told before."""
    path = FOLDER / f"{name}.json"
    if os.environ.get("KEEP_ANSWERS") == "1":
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept[case] = plain(told)
        lines = (
            f"{json.dumps(k)}: {json.dumps(kept[k], ensure_ascii=False)}" for k in sorted(kept)
        )
        path.parent.mkdir(exist_ok=True)
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        _READ.pop(path, None)
    if path not in _READ:
        _READ[path] = json.loads(path.read_text())
    alike(plain(told), _READ[path][case], case)
