"""Jaeger's JSON: what its query API gives, and its UI saves.

Fields follow Jaeger's `internal/uimodel/model.go`. Times are whole us, cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from tracetime.formats.spans.attributes import encoded
from tracetime.formats.spans.batch import (
    ANSWERED,
    FAILED,
    FOLLOWS,
    KINDS,
    RESPONSE_STATUS,
    SpanLists,
)
from tracetime.formats.spans.resources import Resources
from tracetime.formats.spans.source import SpanSource, Wanted

_US: Final = 1_000
_AT_ONCE: Final = 1 << 14
_TRUE: Final = (True, "true", "True")


class _Tag(Struct, gc=False):
    key: str
    value: str | int | float | bool | None = None


class _Reference(Struct, gc=False):
    spanID: str
    traceID: str | None = None
    refType: str | None = None


class _Log(Struct, gc=False):
    timestamp: int | None = None
    fields: list[_Tag] | None = None


class _Process(Struct, gc=False):
    serviceName: str | None = None
    tags: list[_Tag] | None = None


class _Span(Struct, gc=False):
    spanID: str
    traceID: str | None = None
    parentSpanID: str | None = None
    operationName: str | None = None
    references: list[_Reference] | None = None
    startTime: int | None = None
    duration: int | None = None
    tags: list[_Tag] | None = None
    logs: list[_Log] | None = None
    processID: str | None = None
    process: _Process | None = None


class _Trace(Struct, gc=False):
    spans: list[_Span] | None = None
    processes: dict[str, _Process] | None = None


class _Document(_Trace, gc=False):
    """Traces, or one alone."""

    data: list[_Trace] | None = None


_DECODER: Final = msgspec.json.Decoder(_Document)
_NOBODY: Final = _Process()


def _decode(
    text: bytes, offset: int, resources: Resources, lists: SpanLists, wanted: Wanted
) -> Iterator[None]:
    document = _DECODER.decode(text)
    for trace in (document, *(document.data or ())):
        numbers = {
            key: resources.number(_attributes(process))
            for key, process in (trace.processes or {}).items()
        }
        spans = trace.spans or ()
        for start in range(0, len(spans), _AT_ONCE):
            for span in spans[start : start + _AT_ONCE]:
                number = numbers.get(span.processID or "")
                if number is None:
                    number = resources.number(_attributes(span.process or _NOBODY))
                _add(lists, span, offset, number, wanted)
            yield


def _attributes(process: _Process) -> dict[str, object]:
    return {"service.name": process.serviceName} | _plain(process.tags)


def _plain(tags: list[_Tag] | None) -> dict[str, object]:
    return {tag.key: tag.value for tag in tags or ()}


def _add(lists: SpanLists, span: _Span, offset: int, resource: int, wanted: Wanted) -> None:
    """Add a span to the lists of a batch."""
    tags = _plain(span.tags)
    row, begin = len(lists), span.startTime or 0
    parent, follows = _parent(span)
    kind = tags.get("span.kind")
    lists.offset.append(offset)
    lists.resource.append(resource)
    lists.trace.append(span.traceID or "")
    lists.id.append(span.spanID)
    lists.parent.append(parent)
    lists.begin.append(begin)
    lists.end.append(begin + (span.duration or 0))
    lists.kind.append(KINDS.index(kind) if kind in KINDS else 0)
    lists.marks.append(_marks(tags, follows))
    if wanted >= Wanted.NAMES:
        lists.name.append(span.operationName or "")
    if wanted == Wanted.NAMES_AND_ARGS:
        lists.args.append(_args(span, parent, tags))
    for log in span.logs or ():
        lists.event_span.append(row)
        lists.event_time.append(log.timestamp)
        if wanted == Wanted.NAMES_AND_ARGS:
            fields = _plain(log.fields)
            lists.event_name.append(str(fields.get("event") or fields.get("message") or ""))
            lists.event_args.append(encoded(fields))


def _parent(span: _Span) -> tuple[str, bool]:
    """The id of the parent in the same trace, empty without one; whether it does not wait."""
    found = [one for one in span.references or () if one.traceID in (None, "", span.traceID)]
    for one in found:
        if one.refType != "FOLLOWS_FROM":
            return one.spanID, False
    if found:
        return found[0].spanID, True
    return span.parentSpanID or "", False


def _marks(tags: Mapping[str, object], follows: bool) -> int:
    marks = FOLLOWS if follows else 0
    if tags.get("error") in _TRUE or tags.get("otel.status_code") == "ERROR":
        marks |= FAILED
    if any(key in tags for key in RESPONSE_STATUS):
        marks |= ANSWERED
    return marks


def _args(span: _Span, parent: str, tags: dict[str, Any]) -> bytes:
    ids = {"trace_id": span.traceID, "span_id": span.spanID}
    if parent:
        ids["parent_span_id"] = parent
    return encoded(ids | tags)


# Begin and duration are cut off by up to 1 us each: an end is up to 2 us too early.
SPANS: Final = SpanSource(unit_ns=_US, tick_ns=2 * _US, decode=_decode)
