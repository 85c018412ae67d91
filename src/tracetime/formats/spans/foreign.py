"""JSON that has no spans, or has them in another form; and that of journals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tracetime.formats.spans.batch import SpanLists
from tracetime.formats.spans.resources import Resources, SpanSource, Wanted

_SIGNALS: Final = re.compile(rb'"resource_?(Log|Metric|Profile)s"', re.IGNORECASE)


def _decode(
    text: bytes, offset: int, resources: Resources, lists: SpanLists, wanted: Wanted
) -> Iterator[None]:
    signal = _SIGNALS.search(text[:512])
    if signal is not None:
        what = signal[1].decode().lower()
        raise ValueError(f"OTLP with {what}s, no spans: give a file with `resourceSpans`")
    if text.lstrip()[:1] == b"{":
        raise ValueError(
            "a journal of systemd as JSON: give it as `journalctl -o export` writes it (of a file: "
            "journalctl -o export --file FILE > NAME.export)"
        )
    raise ValueError(
        "spans in an array, as Zipkin writes them: give them as OTLP, an object a line "
        '(`{"resourceSpans": ...`), or as Jaeger\'s UI saves them (`{"data": [{"traceID": ...`)'
    )
    yield


SPANS: Final = SpanSource(unit_ns=1, tick_ns=1, decode=_decode)
