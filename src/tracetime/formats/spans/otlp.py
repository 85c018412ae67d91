"""OTLP in JSON: the objects that OpenTelemetry's collector writes to files, and SDKs send.

Fields follow opentelemetry-proto's `trace/v1/trace.proto`, in the JSON that its specification
defines: ids in hex, whole numbers as numbers or text, enums as numbers or names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from types import GenericAlias
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from tracetime.formats.spans.batch import (
    ANSWERED,
    AWAITED,
    CLIENT,
    CONSUMER,
    FAILED,
    KINDS,
    RESPONSE_STATUS,
    SERVER,
    STREAMED,
    SpanLists,
)
from tracetime.formats.spans.resources import Resources, SpanSource, Wanted, attributes_of, encode

_KIND_NUMBERS: Final[Mapping[int | str | None, int]] = {
    key: number
    for number, kind in enumerate(KINDS)
    for key in (number, str(number), f"SPAN_KIND_{kind.upper()}")
}
_ERRORS: Final = (2, "2", "STATUS_CODE_ERROR")
_NOTHING: Final = Raw(b"[]")
_ATTRIBUTES: Final = ("attributes", Raw, _NOTHING)
_WAITS: Final = (b"receive", b"poll", b"RECEIVE", b"POLL")
"""What attributes of a span say that begins before its message is sent."""
_RESPONSE_KEYS: Final = tuple(f'"{key}"'.encode() for key in RESPONSE_STATUS)

_AT_ONCE: Final = 1 << 14
"""So many spans are taken from one list before the next batch may begin."""


@cache
def _decoder(rename: Literal["camel"] | None, several: bool) -> msgspec.json.Decoder[Any]:
    """A decoder of documents whose names of fields are in camelCase, or as the .proto has them.

    several: of an array of them.
    """

    def struct(name: str, *fields: Any) -> Any:
        return msgspec.defstruct(name, fields, rename=rename, gc=False)

    def listed(name: str, kind: Any) -> tuple[str, Any, None]:
        return name, GenericAlias(list, (kind,)) | None, None

    event = struct("Event", _time("time_unix_nano"), _text("name"), _ATTRIBUTES)
    status = struct("Status", ("code", int | str | None, None))
    span = struct(
        "Span",
        # Required: an object without any field would take far more memory than bytes of the file.
        ("span_id", str),
        *map(_text, ("trace_id", "parent_span_id", "name")),
        ("kind", int | str | None, None),
        *map(_time, ("start_time_unix_nano", "end_time_unix_nano")),
        _ATTRIBUTES,
        listed("events", event),
        ("status", status | None, None),
    )
    scope = struct("ScopeSpans", listed("spans", span))
    resource = struct(
        "ResourceSpans",
        ("resource", Raw, _NOTHING),
        listed("scope_spans", scope),
        listed("instrumentation_library_spans", scope),
    )
    groups = listed("resource_spans", resource), listed("batches", resource)
    inner = struct("TracesData", *groups)
    wrapped = [(name, inner | None, None) for name in ("trace", "result")]
    document = struct("Document", *groups, *wrapped)
    return msgspec.json.Decoder(GenericAlias(list, (document,)) if several else document)


def _text(name: str) -> tuple[str, Any, None]:
    return name, str | None, None


def _time(name: str) -> tuple[str, Any, None]:
    return name, int | str | None, None


def _decode(
    text: bytes, offset: int, resources: Resources, lists: SpanLists, wanted: Wanted
) -> Iterator[None]:
    is_snake = b'"resource_spans"' in text[:512]
    several = not offset and text.lstrip()[:1] == b"["
    decoded = _decoder(None if is_snake else "camel", several).decode(text)
    last, resource = None, -1
    for group in chain.from_iterable(map(_groups, decoded if several else [decoded])):
        if group.resource is not last:
            last = group.resource
            resource = resources.number_of(bytes(last), _resource)
        scopes = group.scope_spans or []
        if group.instrumentation_library_spans:
            scopes += group.instrumentation_library_spans
        for scope in scopes:
            spans = scope.spans or []
            for start in range(0, len(spans), _AT_ONCE):
                _add(lists, spans[start : start + _AT_ONCE], offset, resource, wanted)
                yield


def _groups(document: Any) -> Iterator[Any]:
    """Yield the spans of each resource."""
    inner = document.trace or document.result or document
    yield from inner.resource_spans or ()
    yield from inner.batches or ()


def _resource(raw: bytes) -> dict[str, object]:
    given = msgspec.json.decode(raw)
    return attributes_of(given.get("attributes")) if isinstance(given, dict) else {}


def _add(lists: SpanLists, spans: list[Any], offset: int, resource: int, wanted: Wanted) -> None:
    """Add spans of one resource to the lists of a batch; events are dropped once they are taken."""
    first = len(lists)
    kinds = [_KIND_NUMBERS.get(span.kind, 0) for span in spans]
    lists.offset += [offset] * len(spans)
    lists.resource += [resource] * len(spans)
    lists.trace += [span.trace_id or "" for span in spans]
    lists.id += [span.span_id for span in spans]
    lists.parent += [span.parent_span_id or "" for span in spans]
    lists.begin += [span.start_time_unix_nano for span in spans]
    lists.end += [span.end_time_unix_nano for span in spans]
    lists.kind += kinds
    lists.marks += [
        _marks(span, kind) if kind or span.status else 0
        for span, kind in zip(spans, kinds, strict=True)
    ]
    if wanted >= Wanted.NAMES:
        lists.name += [span.name or "" for span in spans]
    if wanted >= Wanted.NAMES_AND_ARGS:
        lists.args += [_args(span) for span in spans]
    for row, span in enumerate(spans, first):
        if events := span.events:
            lists.event_span += [row] * len(events)
            lists.event_time += [event.time_unix_nano for event in events]
            if wanted == Wanted.EVENTS:
                lists.event_name += [event.name or "" for event in events]
                lists.event_args += [
                    b"" if event.attributes is _NOTHING else encode(_attributes(event.attributes))
                    for event in events
                ]
            span.events = None


def _marks(span: Any, kind: int) -> int:
    marks = FAILED if span.status is not None and span.status.code in _ERRORS else 0
    if kind == CONSUMER and any(word in bytes(span.attributes) for word in _WAITS):
        marks |= AWAITED
    if kind == CLIENT and any(key in bytes(span.attributes) for key in _RESPONSE_KEYS):
        marks |= ANSWERED
    if kind in (CLIENT, SERVER) and span.events:
        messages = sum(event.name == "message" for event in span.events)
        marks |= STREAMED if messages > 2 else 0
    return marks


def _args(span: Any) -> bytes:
    ids = {"trace_id": span.trace_id, "span_id": span.span_id}
    if span.parent_span_id:
        ids["parent_span_id"] = span.parent_span_id
    return encode(ids | _attributes(span.attributes))


def _attributes(raw: Raw) -> dict[str, object]:
    return {} if raw is _NOTHING else attributes_of(msgspec.json.decode(raw))


SPANS: Final = SpanSource(unit_ns=1, tick_ns=1, decode=_decode)
