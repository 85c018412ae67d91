"""Jaeger's JSON: what its query API gives, and its UI saves; and its spans in Elasticsearch.

Fields follow Jaeger's `internal/uimodel/model.go`. Times are whole us, cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from tracetime.formats.spans.batch import (
    ANSWERED,
    FAILED,
    FOLLOWS,
    KINDS,
    RESPONSE_STATUS,
    SpanLists,
)
from tracetime.formats.spans.resources import Resources, SpanSource, Wanted, encode
from tracetime.text import printable

_US: Final = 1_000
_AT_ONCE: Final = 1 << 14
_KIND_NUMBERS: Final[Mapping[object, int]] = {kind: number for number, kind in enumerate(KINDS)}
_UNNAMED: Final = ("", b"")
_NO_TAGS: Final[dict[str, object]] = {}
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


_Fields = dict[str, str | int | float | bool | None]
"""Tags as Elasticsearch may have them: dots in keys are @."""


class _Process(Struct, gc=False):
    serviceName: str | None = None
    tags: list[_Tag] | None = None
    tag: _Fields | None = None


class _Span(Struct, gc=False):
    spanID: str
    traceID: str | None = None
    parentSpanID: str | None = None
    operationName: str | None = None
    references: list[_Reference] | None = None
    startTime: int | None = None
    duration: int | None = None
    tags: list[_Tag] | None = None
    tag: _Fields | None = None
    logs: list[_Log] | None = None
    processID: str | None = None
    process: _Process | None = None


class _Trace(Struct, gc=False):
    spans: list[_Span] | None = None
    processes: dict[str, _Process] | None = None


class _Hit(Struct, gc=False):
    span: _Span = field(name="_source")


class _Hits(Struct, gc=False):
    hits: list[_Hit] | None = None


class _Error(Struct, gc=False):
    msg: str | None = None


class _Document(_Trace, gc=False):
    """Traces, or one alone; of Elasticsearch an answer, or one of its hits."""

    data: list[_Trace] | None = None
    hits: _Hits | None = None
    span: _Span | None = field(default=None, name="_source")
    errors: list[_Error] | None = None

    def traces(self, is_first: bool) -> list[_Trace]:
        """The traces with spans.

        is_first: whether the file begins with this; among other lines it may be empty.

        Raises:
            ValueError: there is none: nothing was found.
        """
        hits = [hit.span for hit in (self.hits and self.hits.hits) or ()]
        stored = [*hits, *([] if self.span is None else [self.span])]
        traces = [self, *(self.data or ()), *([_Trace(stored)] if stored else ())]
        found = [one for one in traces if one.spans is not None]
        if is_first and not found:
            text = next((one.msg for one in self.errors or () if one.msg), "")
            raise ValueError(
                f"the answer of a query that found no trace{text and f' ({printable(text)})'}: ask "
                "for a longer time, or by the id of the trace"
            )
        return found


_DECODER: Final = msgspec.json.Decoder(_Document)
_PROCESS: Final = msgspec.json.Decoder(_Process)


def _decode(
    text: bytes, offset: int, resources: Resources, lists: SpanLists, wanted: Wanted
) -> Iterator[None]:
    for trace in _DECODER.decode(text).traces(is_first=not offset):
        numbers = _Numbers(resources)
        for key, process in (trace.processes or {}).items():
            numbers[key] = resources.number(_attributes(process))
        spans = trace.spans or []
        for start in range(0, len(spans), _AT_ONCE):
            some = spans[start : start + _AT_ONCE]
            found: list[int] = []
            try:
                found.extend(
                    numbers[span.processID or ""]
                    if span.process is None
                    else numbers.of_its_own(span.processID or "", span.process)
                    for span in some
                )
            finally:
                # Of a host too many, the spans before it stay.
                lists.offset += [offset] * len(found)
                lists.resource += found
                _add(lists, some[: len(found)], wanted)
            yield


class _Numbers(dict[str, int]):
    """The numbers of the processes of a trace, by their ids; by another id, that of nobody."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def __missing__(self, key: str) -> int:
        return self._resources.number_of(b"{}", _attributes_of)

    def of_its_own(self, key: str, process: _Process) -> int:
        """The number of a span's own process, unless the id is that of a process, too."""
        known = self.get(key)
        if known is None:
            known = self._resources.number_of(msgspec.json.encode(process), _attributes_of)
        return known


def _attributes_of(text: bytes) -> dict[str, object]:
    return _attributes(_PROCESS.decode(text))


def _attributes(process: _Process) -> dict[str, object]:
    return {"service.name": process.serviceName} | _plain(process.tags, process.tag)


def _plain(tags: list[_Tag] | None, fields: _Fields | None = None) -> dict[str, object]:
    plain: dict[str, object] = {tag.key: tag.value for tag in tags or ()}
    return plain | {key.replace("@", "."): value for key, value in (fields or {}).items()}


def _add(lists: SpanLists, spans: list[_Span], wanted: Wanted) -> None:
    """Add spans to the lists of a batch; their logs are dropped once they are taken."""
    first = len(lists)
    tags = [_plain(span.tags, span.tag) if span.tags or span.tag else _NO_TAGS for span in spans]
    parents = [
        _parent(span) if span.references else (span.parentSpanID or "", False) for span in spans
    ]
    lists.trace += [span.traceID or "" for span in spans]
    lists.id += [span.spanID for span in spans]
    lists.parent += [parent for parent, _ in parents]
    lists.begin += [span.startTime for span in spans]
    lists.end += [(span.startTime or 0) + (span.duration or 0) for span in spans]
    lists.kind += [_KIND_NUMBERS.get(of.get("span.kind"), 0) if of else 0 for of in tags]
    lists.marks += [
        (FOLLOWS if follows else 0) | (_marks(of) if of else 0)
        for of, (_, follows) in zip(tags, parents, strict=True)
    ]
    if wanted >= Wanted.NAMES:
        lists.name += [span.operationName or "" for span in spans]
    if wanted >= Wanted.NAMES_AND_ARGS:
        lists.args += [
            _args(span, parent, of)
            for span, (parent, _), of in zip(spans, parents, tags, strict=True)
        ]
    for row, span in enumerate(spans, first):
        if logs := span.logs:
            lists.event_span += [row] * len(logs)
            lists.event_time += [log.timestamp for log in logs]
            if wanted == Wanted.EVENTS:
                named = [_name_of(log) for log in logs]
                lists.event_name += [name for name, _ in named]
                lists.event_args += [args for _, args in named]
            span.logs = None


def _name_of(log: _Log) -> tuple[str, bytes]:
    """The name of a log, and its fields."""
    if not log.fields:
        return _UNNAMED
    fields = _plain(log.fields)
    return str(fields.get("event") or fields.get("message") or ""), encode(fields)


def _parent(span: _Span) -> tuple[str, bool]:
    """The id of the parent in the same trace, empty without one; whether it does not wait."""
    found = [one for one in span.references or () if one.traceID in (None, "", span.traceID)]
    for one in found:
        if one.refType != "FOLLOWS_FROM":
            return one.spanID, False
    if found:
        return found[0].spanID, True
    return span.parentSpanID or "", False


def _marks(tags: Mapping[str, object]) -> int:
    marks = 0
    if tags.get("error") in _TRUE or tags.get("otel.status_code") == "ERROR":
        marks |= FAILED
    if any(key in tags for key in RESPONSE_STATUS):
        marks |= ANSWERED
    return marks


def _args(span: _Span, parent: str, tags: dict[str, Any]) -> bytes:
    ids = {"trace_id": span.traceID, "span_id": span.spanID}
    if parent:
        ids["parent_span_id"] = parent
    return encode(ids | tags)


# Begin and duration are cut off by up to 1 us each: an end is up to 2 us too early.
SPANS: Final = SpanSource(unit_ns=_US, tick_ns=2 * _US, decode=_decode)
