"""Chrome JSON traces with slices in them, and the slices that kernels make of these."""

from __future__ import annotations

import json

import numpy as np
from reading import opened

from tracetime._kernels.chrome_json.reader import Scanner
from tracetime._kernels.chrome_json.slices import JsonSliceLog, replay
from tracetime._kernels.slices import SliceTables
from tracetime.formats.replayed_slices import ReplayedSlices

MANY = 1 << 24
TEXTS = ("name", "category", "track_name", "thread_name", "process_name")
COLUMNS = ("id", "ts", "dur", "depth", "parent", *TEXTS, "tid", "pid")


def event(phase, ts=None, name=None, *, pid=1, tid=1, **fields):
    """The text of an event; None leaves a key out, a float or `Raw` stays as it is written."""
    pairs = {"ph": phase, "ts": ts, "name": name, "pid": pid, "tid": tid} | fields
    return (
        "{"
        + ", ".join(f'"{key}": {put(value)}' for key, value in pairs.items() if value is not None)
        + "}"
    )


class Raw(str):
    """JSON as it is to be written."""


def put(value):
    return value if isinstance(value, Raw) else json.dumps(value)


def document(*events, **rest):
    """The text of a trace; rest: keys beside the events."""
    others = "".join(f', "{key}": {put(value)}' for key, value in rest.items())
    return '{"traceEvents": [' + ",\n".join(events) + "]" + others + "}"


def logged(text, args=MANY, names=MANY, limit=MANY, lines=False):
    """The log of a trace that is whole."""
    log = JsonSliceLog(names, limit, args)
    scanner = Scanner(log, lines)
    scanner.feed(text.encode())
    scanner.scan()
    scanner.finish()
    assert scanner.fault == 0
    return log


def replayed(log, exact=False):
    """The slices of a log, and how many complete events cross others."""
    tables = SliceTables(log.strings, 1, MANY)
    spilled = replay(log, tables, log.order(exact), exact)
    assert np.all(spilled[1:] != spilled[:-1])
    return tables, len(spilled)


def rows(text, **options):
    """The slices of a trace as those of its twin."""
    log = logged(text, **options)
    batches = ReplayedSlices.of(replayed(log)[0]).batches({}, log.args_of)
    made = []
    for batch in batches:
        batch.validate(full=True)
        made += batch.to_pylist()
    return [plain(row) for row in made]


def plain(row):
    """The columns that the tables of trace_processor have, where no text is an empty one."""
    return {
        name: row[name] if row[name] is not None else "" if name in TEXTS else -1
        for name in COLUMNS
    }


def slices(text, policy="floor", **options):
    """The slices of a trace as dictionaries; every batch is checked for being sound."""
    with opened(text.encode()) as trace:
        batches = list(trace.slices(policy, **options))
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def shape(*events):
    """(name, ts, dur, depth) of each slice."""
    made = slices(document(*events))
    return [(row["name"], row["ts"], row["dur"], row["depth"]) for row in made]


def where(*events):
    """(track, track_name, pid, tid) of each slice; tracks are numbered as they occur."""
    made = slices(document(*events))
    numbers = list(dict.fromkeys(row["track"] for row in made))
    return [
        (numbers.index(row["track"]), row["track_name"], row["pid"], row["tid"]) for row in made
    ]


def who(*events):
    """(process_name, thread_name) of each slice."""
    return [(row["process_name"], row["thread_name"]) for row in slices(document(*events))]
