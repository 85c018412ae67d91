"""What a source says, as trace_processor is to load it from the file that is written of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trace_engine
from trace_engine import Args, Count, Slice

import tracetime as tt
from tracetime.graph.arguments import PolicyName

_MOST_PID = 1 << 22
"""What has no number that fits gets a larger one, which says nothing."""

Rows = Counter[Any]


def assert_same(wanted: Rows, found: Rows) -> None:
    """That rows are the same; says which are not."""
    lacking, more = wanted - found, found - wanted
    assert not lacking and not more, "\n".join(
        f"{sign} {row}"
        for sign, rows in (("-", lacking), ("+", more))
        for row in sorted(map(str, rows))[:4]
    )


def assert_sound(path: Path, may: object = ()) -> None:
    """That the engine takes a file whole, and counts no fault but those that it may have."""
    made = trace_engine.said(path)
    assert made.refusal == ""
    assert made.stats == dict(may or {})


def written_slices(path: Path) -> Rows:
    """The slices that the engine has of a file."""
    return Counter(map(plain, trace_engine.said(path).slices))


def source_slices(path: Path, policy: PolicyName = "floor") -> Rows:
    """The slices of a source."""
    with tt.open_trace(path) as trace:
        rows = trace.slices(policy).read_all().to_pylist()
    return Counter(plain(slice_of(row)) for row in rows)


def source_instants(path: Path, policy: PolicyName) -> Rows:
    """Of a source without slices, its events that are no counters; their depth says nothing."""
    return Counter(
        plain(slice_of(row | {"ts": row["trace_time"], "dur": 0, "depth": 0}))
        for row in _placed(path, policy)
        if row["type"] != "counter"
    )


def flat(rows: Rows) -> Rows:
    """Slices without their depths."""
    made: Rows = Counter()
    for row, count in rows.items():
        made[row._replace(depth=0)] += count
    return made


def written_counters(path: Path) -> Rows:
    """The values of counters that the engine has of a file."""
    return Counter(
        count._replace(pid=_number(count.pid), tid=_number(count.tid))
        for count in trace_engine.said(path).counters
    )


def source_channels(path: Path, policy: PolicyName) -> Rows:
    """The values of a source's counters: one for each number among the arguments."""
    made: Rows = Counter()
    for row in _placed(path, policy):
        if row["type"] == "counter":
            numbers = [pair for pair in _arguments(row["args"]) if not isinstance(pair[1], str)]
            for key, value in numbers or [("", row["value"])]:
                channel = f" {key.removeprefix('debug.')}" if len(numbers) > 1 else ""
                name, number = row["track_name"] + channel, _number(row["pid"])
                made[Count(row["trace_time"], _known(value), name, number, None)] += 1
    return made


def _placed(path: Path, policy: PolicyName) -> Iterator[dict[str, Any]]:
    with tt.open_trace(path) as trace:
        rows = trace.read_all(policy, names=True).to_pylist()
    return (row for row in rows if row["trace_time"] is not None)


def slice_of(row: dict[str, Any]) -> Slice:
    """A row of a table of slices."""
    return Slice(*(row[name] for name in Slice._fields[:-1]), _arguments(row["args"]))


def _arguments(text: str | None) -> Args:
    return tuple(sorted(_leaves("debug", json.loads(text) if text else {})))


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The keys that the engine gives to what lies in objects and arrays."""
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _leaves(f"{key}.{name.translate(_SEPARATORS)}", inside)
    elif isinstance(value, list):
        for place, inside in enumerate(value):
            yield from _leaves(f"{key}[{place}]", inside)
    elif isinstance(value, str):
        yield key, value.partition("\0")[0]
    elif isinstance(value, int) and _INT64 <= value < 2 * _INT64 and key.count(".") > 1:
        yield key, float(value - 2 * _INT64)  # It shows so what is in an object.
    elif value is not None and (isinstance(value, float) or -_INT64 <= value < _INT64):
        yield key, value


_INT64 = 1 << 63
_SEPARATORS = str.maketrans(".[]", "___")


def plain(row: Slice) -> Slice:
    """A slice, where a track that has no name of its own has none, and made-up numbers are none."""
    stands_in = (row.thread_name, row.process_name, "slices", "events")
    name = row.track_name or ""
    has_none = name in stands_in or name.startswith("CPU ")
    tid, pid = _number(row.tid), _number(row.pid)
    args = tuple(
        (key.replace("args.", "debug.", 1) if key.startswith("args.") else key, value)
        for key, value in row.args
        if key != _PASSED_ON
    )
    return row._replace(
        tid=tid or None, pid=pid, track_name=None if has_none else name or None, args=args
    )


_PASSED_ON = "legacy_event.passthrough_utid"
"""The engine adds it where a sequence is of a thread and the track is not."""


def _known(value: float) -> float | None:
    """SQL has no NaN: it is null."""
    return None if value != value else value


def _number(number: int | None) -> int | None:
    return None if number is None or not 0 <= number <= _MOST_PID else number
