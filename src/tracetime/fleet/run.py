"""A run over many traces: parts that are missing or changed are made by an engine."""

from __future__ import annotations

import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from tracetime.clocks.json_facts import Document
from tracetime.errors import UsageError
from tracetime.fleet.options import Options
from tracetime.fleet.records import (
    Record,
    check_options,
    header_of,
    key_of,
    log_of,
    put_json,
    rejected_of,
)
from tracetime.fleet.sources import Source, find_sources, is_remote, path_or_url, source_of
from tracetime.fleet.store import Store, open_store

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

Engine = Callable[
    [Callable[[str], Record], Iterable[str], Callable[[str], Record]], Iterator[Record]
]
"""Calls a function for each URI, in any process, and yields what it returns; the last argument is
called here for a URI whose process dies."""


class Rejected(NamedTuple):
    """A trace that was rejected.

    Attributes:
        trace: its path or URL.
        message: why, and what to do.
    """

    trace: str
    message: str


@dataclass(slots=True)
class FleetSummary(Document):
    """The outcome of a run.

    Attributes:
        out: the data set, as it was named.
        traces: how many traces were named.
        unchanged: how many of them had their part already.
        converted: how many parts were made.
        rejected: how many traces have none.
        rows: the rows of all their parts, those of earlier runs included.
        bytes_read: bytes of the traces that were read.
        seconds: how long it took.
        errors: the first traces that were rejected.
    """

    out: str
    traces: Count = 0
    unchanged: Count = 0
    converted: Count = 0
    rejected: Count = 0
    rows: Count = 0
    bytes_read: Count = 0
    seconds: float = 0.0
    errors: list[Rejected] = field(default_factory=list)


_MOST_ERRORS = 20


@dataclass(slots=True)
class Progress:
    """The progress of a run.

    Attributes:
        done, total: traces; without those that had their part already.
        failed: how many of them were rejected.
        bytes_done, bytes_total: of them.
        seconds: since the first was handed to the engine.
    """

    total: int
    bytes_total: int
    done: int = 0
    failed: int = 0
    bytes_done: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Plan:
    """The plan of a run: the traces to be done.

    Attributes:
        todo: the traces, by URI.
        parts: the files that the data set has of each key, in any of the tables.
        whole: those that all tables have.
        rejections: the keys that have a record of a rejection.
    """

    todo: dict[str, Source]
    parts: dict[str, set[str]]
    whole: set[str]
    rejections: set[str]


def run(
    uris: Iterable[str],
    out: str,
    options: Options,
    engine: Engine,
    function: Callable[[str, str, Options], Record],
    progress: Callable[[Progress], None] | None = None,
) -> FleetSummary:
    """Make the parts of traces that a data set lacks, or that are of other bytes.

    Args:
        uris: as of `find_sources`.
        out: the data set.
        options: of all its parts.
        engine: calls the function for each URI.
        function: makes one part: `convert_one`.
        progress: called after each trace, and before the first.

    Raises:
        UsageError: as of `find_sources`; the data set has other options, or cannot be written.
    """
    started = time.perf_counter()
    summary = FleetSummary(out)
    out = path_or_url(out)
    if not is_remote(out):
        out = os.path.realpath(out)
    sources = list(find_sources(uris, out))
    summary.traces = len(sources)
    store = open_store(out)
    store.clean()
    check_options(store, options)
    plan = _plan(sources, store, options, summary)
    at = Progress(len(plan.todo), sum(source.size for source in plan.todo.values()))
    began = time.perf_counter()
    if progress is not None:
        progress(at)
    one = partial(_call, function, out, options)
    try:
        for record in engine(one, plan.todo, partial(_reject_dead, store, options)):
            _settle(record, store, options, plan)
            _count(record, summary)
            at.done += 1
            at.failed += record.error is not None
            at.bytes_done += plan.todo[record.uri].size
            at.seconds = time.perf_counter() - began
            if progress is not None:
                progress(at)
    finally:
        store.clean()
    summary.errors.sort()
    summary.bytes_read = at.bytes_done
    summary.seconds = time.perf_counter() - started
    return summary


def _call(
    function: Callable[[str, str, Options], Record], out: str, options: Options, uri: str
) -> Record:
    _check_place(out, header_of(options.table))
    return function(uri, out, options)


@cache
def _check_place(out: str, header: str) -> None:
    """Raise where this process, maybe on another machine, has another directory of that name."""
    if not open_store(out).has(header):
        raise UsageError(
            f"a worker on {socket.gethostname()} has no data set in {out!r}: choose a directory "
            "that all machines share, or a URL (-o)"
        )


def _plan(sources: list[Source], store: Store, options: Options, summary: FleetSummary) -> _Plan:
    """Find what is missing or changed, and remove what runs that were killed have left."""
    table = options.table
    parts: dict[str, set[str]] = defaultdict(set)
    names = [set(store.names(one)) for one in options.tables]
    for name in set.union(*names):
        parts[key_of(name)].add(name)
    rejections = {name.partition(".")[0] for name in store.names(rejected_of(table))}
    plan = _Plan({}, parts, set.intersection(*names), rejections)
    keys = {options.key(source.uri): source for source in sources}
    plan.todo = {source.uri: source for source in sources}
    logged = set()
    for key, record in _records(store, log_of(table), keys):
        logged.add(key)
        if record.stamp and record.stamp == keys[key].stamp and record.part in plan.whole:
            _settle(record, store, options, plan)
            summary.unchanged += 1
            summary.rows += record.rows
            del plan.todo[record.uri]
    for key, record in _records(store, rejected_of(table), rejections & keys.keys()):
        known = record.final and record.stamp and record.stamp == keys[key].stamp
        if known and key not in logged and not parts[key]:
            _count(record, summary)
            del plan.todo[record.uri]
    return plan


def _records(store: Store, folder: str, keys: Iterable[str]) -> Iterator[tuple[str, Record]]:
    there = {name.partition(".")[0] for name in store.names(folder)}
    names = {f"{folder}/{key}.json": key for key in keys if key in there}
    for name, content in store.read(names):
        if (record := Record.from_json(content)) is not None:
            yield names[name], record


def _settle(record: Record, store: Store, options: Options, plan: _Plan) -> None:
    """Remove the trace's old files: parts of other bytes, a record of the other kind."""
    key = options.key(record.uri)
    for name in plan.parts.pop(key, set()) - {record.part}:
        for table in options.tables:
            store.remove(f"{table}/{name}")
    if record.error is not None:
        store.remove(f"{log_of(options.table)}/{key}.json")
    elif key in plan.rejections:
        store.remove(f"{rejected_of(options.table)}/{key}.json")


def _count(record: Record, summary: FleetSummary) -> None:
    if record.error is None:
        summary.rows += record.rows
        summary.unchanged += record.unchanged
        summary.converted += not record.unchanged
        return
    summary.rejected += 1
    if len(summary.errors) < _MOST_ERRORS:
        summary.errors.append(Rejected(record.uri, record.error["message"]))


def _reject_dead(store: Store, options: Options, uri: str) -> Record:
    """Reject a trace whose process dies."""
    message = "the process that read it was killed, twice: out of memory, or by a fault of ours"
    error = {"code": "killed", "message": message, "offset": None, "packet": None}
    record = Record(*source_of(uri), error=error)
    with store.workspace() as folder:
        name = f"{rejected_of(options.table)}/{options.key(uri)}.json"
        put_json(store, folder, name, record.to_json())
    return record
