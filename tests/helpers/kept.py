"""Answers of the library that must stay the same: tests/data/kept/NAME.json.

Where a difference is intended, KEEP_ANSWERS=1 writes the present answers; the change of the file
shows what changed. Other tests check that the answers are right.
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


def plain(answer: Any) -> Any:
    """What JSON can hold of it: arrays as lists, floats to nine digits, clocks by their names."""
    if isinstance(answer, ClockId):
        return str(answer)
    if isinstance(answer, np.ndarray):
        return plain(answer.tolist())
    if isinstance(answer, dict):
        return {str(plain(key)): plain(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [plain(one) for one in answer]
    if isinstance(answer, np.generic):
        return plain(answer.item())
    if isinstance(answer, float):
        return float(f"{answer:.9g}") if np.isfinite(answer) else str(answer)
    return answer


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


def check_kept(name: str, case: str, answer: Any) -> None:
    """Assert that the answer in a case is the kept one."""
    path = FOLDER / f"{name}.json"
    if os.environ.get("KEEP_ANSWERS") == "1":
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept[case] = plain(answer)
        lines = (
            f"{json.dumps(k)}: {json.dumps(kept[k], ensure_ascii=False)}" for k in sorted(kept)
        )
        path.parent.mkdir(exist_ok=True)
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        _READ.pop(path, None)
    if path not in _READ:
        _READ[path] = json.loads(path.read_text())
    alike(plain(answer), _READ[path][case], case)
