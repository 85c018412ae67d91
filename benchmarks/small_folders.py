"""Files that are expensive together, as functions of a folder and of how many parts they have."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from fuzz import costly

_RANKS: Final = 50
_RING: Final = 100


class Together(NamedTuple):
    """Files of one kind, and what reads them.

    Attributes:
        most: the parts of the largest: at most 10 MB, expanded.
        make: writes the files of so many parts in a folder; their names.
        commands: that get these names, by what the table says of them.
    """

    most: int
    make: Callable[[Path, int], list[Path]]
    commands: dict[str, list[str]]


def _json(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def two_jobs(folder: Path, n: int, ranks: int = _RANKS) -> list[Path]:
    """The ranks of two jobs, which took part in n collectives of one kind in all."""
    chance, paths = random.Random(1), []
    for job in range(2):
        met = 0.0
        ends = [met := met + chance.uniform(8_000, 12_000) for _ in range(n // (2 * ranks))]
        for rank in range(ranks):
            offset, events = chance.uniform(1e6, 2e6), []
            for end in ends:
                late = chance.lognormvariate(5, 1)
                at, left = end - 200 - late + offset, 200 + late + chance.uniform(0, 5)
                events.append(
                    {"ph": "X", "name": "meet", "pid": 1, "tid": 1, "ts": at, "dur": left}
                )
            paths.append(_json(folder / f"job{job}rank{rank}.json", events))
    return paths


def ring(folder: Path, n: int, files: int = _RING) -> list[Path]:
    """Files of a ring, each of which sends messages to the next, n in all."""
    chance, events = random.Random(1), [list[dict[str, Any]]() for _ in range(files)]
    offsets = [chance.uniform(1e6, 2e6) for _ in range(files)]
    for k in range(n):
        sender, receiver, at = k % files, (k + 1) % files, 100.0 * k
        for number, name, ts in (
            (sender, "send", at),
            (receiver, "recv", at + 20 + chance.expovariate(0.1)),
        ):
            event = {"ph": "i", "name": name, "pid": 1, "tid": 1, "ts": ts + offsets[number]}
            events[number].append(event | {"args": {"id": k}})
    return [_json(folder / f"{k}.json", own) for k, own in enumerate(events)]


def members(folder: Path, n: int) -> list[Path]:
    """An archive of n traces, each with a snapshot and an event."""
    out = io.BytesIO()
    clocks = [(costly.BOOTTIME, costly.START), (costly.REALTIME, 17 * 10**17)]
    trace = costly.snapshot(clocks) + costly.event(costly.START, costly.BOOTTIME)
    with zipfile.ZipFile(out, "w") as archive:
        for k in range(n):
            archive.writestr(f"{k}.pftrace", trace)
    path = folder / "members.zip"
    path.write_bytes(out.getvalue())
    return [path]


TOGETHER: Final[dict[str, Together]] = {
    "ranks of two jobs": Together(
        100_000, two_jobs, {"merge": ["merge", "--together", "name=meet"]}
    ),
    "a ring of files": Together(
        40_000, ring, {"merge": ["merge", "--match", "send=send recv=recv key=id"]}
    ),
    "members of an archive": Together(1_000, members, {"merge": ["merge"]}),
}
