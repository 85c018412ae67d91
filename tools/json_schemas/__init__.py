"""The shapes of what the commands print with --json, as JSON Schemas that stand alone.

`python -m tools.json_schemas` writes them into docs/schemas, and their page. Tests compare both
with the commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.json_schemas import fleets, machine, merging, traces
from tools.json_schemas.notation import Schema, document
from tools.json_schemas.shared import SHARED

SHAPES: Final[Mapping[str, Schema]] = {
    "convert": traces.CONVERT,
    "clocks": traces.CLOCKS,
    "at": traces.AT,
    "doctor": traces.DOCTOR,
    "report": traces.REPORT,
    "bake": traces.BAKE,
    "merge": merging.MERGE,
    "split": merging.SPLIT,
    "sql": traces.SQL,
    "open": traces.OPEN,
    "fleet": fleets.FLEET,
    "record": machine.RECORD,
    "calibrate": machine.CALIBRATE,
    "watch": machine.WATCH,
    "now": machine.NOW,
    "ping": machine.PING,
    "error": traces.ERROR,
}
"""By command; `error` is what each of them prints when it fails."""


def schemas() -> dict[str, Schema]:
    """The schemas by command, each complete."""
    return {
        name: document(
            "An error with --json" if name == "error" else f"tracetime {name} --json",
            shape,
            SHARED,
        )
        for name, shape in SHAPES.items()
    }
