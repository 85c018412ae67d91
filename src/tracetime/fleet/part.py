"""One trace to its part of a data set: the function that every engine calls, in any process."""

from __future__ import annotations

import errno
import hashlib
import time
from collections import Counter
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tracetime.analysis.summary import Summary
from tracetime.analysis.survey import Survey
from tracetime.atomic_file import keep_inputs, open_to_read
from tracetime.doctor import findings_of
from tracetime.errors import ConversionError, TraceError, TracetimeError, UsageError
from tracetime.fleet.clocks import SCHEMA, clocks_batch
from tracetime.fleet.options import Options
from tracetime.fleet.records import Record, log_of, part_name, put_json, rejected_of
from tracetime.fleet.sources import Source, fetch, file_of, source_of
from tracetime.fleet.store import Store, open_store
from tracetime.formats import open_trace
from tracetime.sql.tables import FINDINGS, findings_batch
from tracetime.tables.output import TableOutput
from tracetime.tables.writers import ParquetTable
from tracetime.trace.trace import Trace
from tracetime.verbs.convert import convert, convert_slices

# The doctor's findings on one trace, and the rates of its clocks, as parts of a data set.


def write_findings(
    trace: Trace, out: Path, clocks_out: Path, *, part_of: str, tolerance_ns: int
) -> tuple[int, dict[str, Any]]:
    """Write the findings of a trace, a row each, and the rates of its clocks.

    Returns:
        How many findings there are, and facts of the trace in the types of JSON.
    """
    survey = Survey(trace, tolerance_ns)
    findings = [one.with_names(trace.clocks.names) for one in findings_of(survey)]
    batch = findings_batch(findings)
    _write_findings(out, FINDINGS, batch, part_of)
    clocks, left_out = clocks_batch(survey, findings)
    _write_findings(clocks_out, SCHEMA, clocks, part_of)
    facts = {
        "trace_clock": str(trace.trace_clock),
        "severities": dict(Counter(one.severity for one in findings)),
        "codes": dict(Counter(batch["code"].to_pylist())),
        "pairs_left_out": left_out,
    }
    return batch.num_rows, facts


def _write_findings(out: Path, schema: pa.Schema, batch: pa.RecordBatch, part_of: str) -> None:
    with TableOutput(out, part_of) as output:
        output.start(ParquetTable, schema, {})
        output.put(batch)
        output.finish({})


_PIECE: Final = 1 << 20
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


def convert_one(uri: str, out: str, options: Options) -> Record:
    """Make the part of one trace, and its record.

    It depends on nothing but the trace, and on the record of an earlier run: where that has the
    same bytes, its part stays. The part is whole before the record says so.

    Args:
        uri: of the trace, as `Source` has it.
        out: the data set.

    Returns:
        The record, with an `error` where the trace was rejected.

    Raises:
        OSError, UsageError: the data set cannot be written, not even the error.
    """
    started = time.perf_counter()
    store = open_store(out)
    name = f"{options.key(uri)}.json"
    with store.workspace() as folder, keep_inputs():
        source, record = source_of(uri), None
        try:
            with fetch(uri, folder) as path:
                record = _part(source, path, folder, store, options)
            if source_of(uri).stamp != source.stamp:
                raise UsageError(f"{uri!r} was changed while it was read; try again")
        except Exception as error:
            # Whatever is wrong with one trace, the others are to be converted.
            record = Record(
                *source,
                error=_facts_of(error, folder, uri),
                final=isinstance(error, (TraceError, ConversionError)),
            )
        record = replace(record, seconds=round(time.perf_counter() - started, 4))
        try:
            _keep(record, name, store, folder, options)
        except OSError as error:
            if _is_no_room(error):
                raise UsageError(
                    f"there is no room left in {out!r}: make some, and run this again; what is "
                    "finished stays"
                ) from error
            raise
    return record


def _keep(record: Record, name: str, store: Store, folder: Path, options: Options) -> None:
    """Move the part of a trace and its record to where they belong, the record last."""
    if record.error is not None:
        put_json(store, folder, f"{rejected_of(options.table)}/{name}", record.to_json())
        return
    if not record.unchanged:
        for table in options.tables:
            store.put(folder / table / record.part, f"{table}/{record.part}")
    put_json(store, folder, f"{log_of(options.table)}/{name}", record.to_json())


def _is_no_room(error: BaseException | None) -> bool:
    """Whether an error is a full disk, or follows from one."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        error = error.__cause__
    return False


def _part(source: Source, path: Path, folder: Path, store: Store, options: Options) -> Record:
    """Write the part of a file into a folder, unless the data set has it."""
    whole = Path(file_of(str(path)))
    with open_to_read(whole) as file:
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
    content = digest.hexdigest()
    key = options.key(source.uri)
    name = part_name(key, content)
    size = whole.stat().st_size
    log = f"{log_of(options.table)}/{key}.json"
    for _, found in store.read([log]):
        known = Record.from_json(found)
        if (
            known is not None
            and known.part == name
            and all(store.has(f"{one}/{name}") for one in options.tables)
        ):
            return replace(known, stamp=source.stamp, unchanged=True)
    reading = {one.name: getattr(options.reading, one.name) for one in fields(options.reading)}
    with open_trace(path, **reading) as trace:
        rows, facts = _write(trace, folder, name, source.uri, options)
    return Record(source.uri, source.stamp, size, content, name, rows, facts=facts)


def _write(
    trace: Trace, folder: Path, name: str, uri: str, options: Options
) -> tuple[int, dict[str, Any]]:
    """Write the rows of a trace; return their number, and the verb's summary."""
    places = [folder / table / name for table in options.tables]
    for place in places:
        place.parent.mkdir()
    out, *others = places
    # A path may have bytes that are no UTF-8; a column of text may not.
    text = uri.encode("utf-8", "backslashreplace").decode()
    if options.table == "findings":
        return write_findings(trace, out, *others, part_of=text, tolerance_ns=options.tolerance_ns)
    writing = partial(convert, to=options.to, names=options.names)
    verb = writing if options.table == "events" else convert_slices
    summary = verb(trace, out, policy=options.policy, bars=options.bars, part_of=text)
    facts = summary.to_dict()
    names = ("trace_clock", "unresolved", "truncated", "n_warnings", "events_dropped")
    more = ("floor_cost", "to_unresolved") if isinstance(summary, Summary) else ("open",)
    return summary.rows, {name: facts[name] for name in (*names, *more)}


def _facts_of(error: Exception, folder: Path, uri: str) -> dict[str, Any]:
    """An error in the types of JSON, with the URI in place of the path of a copy."""
    if _is_no_room(error):
        message = "there was no room left on the disk for it; the next run tries it again"
        return {"code": "no_room", "message": message, "offset": None, "packet": None}
    if isinstance(error, TracetimeError):
        facts: dict[str, Any] = {**error.to_dict()}
    elif isinstance(error, MemoryError):
        message = "it needs more memory than a worker may take; raise the limit (--memory)"
        facts = {"code": "memory", "message": message}
    elif isinstance(error, OSError):
        facts = {"code": "system", "message": str(error)}
    else:
        facts = {"code": "fault", "message": f"{type(error).__name__}: {error}"}
    copy = str(folder / "trace")
    return {"offset": None, "packet": None, **facts} | {
        "message": facts["message"].replace(copy, uri)
    }
