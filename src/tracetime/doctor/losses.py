"""Findings about events that were dropped, have no order or no time, or cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.catalogue.odd_times import ODD_TIMES
from tracetime.doctor.catalogue.spans import ODD_SPANS
from tracetime.doctor.finding import Finding

_NAMED: Final = 3
"""So many streams are named in a title."""


def dropped(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about events that were never written."""
    lost, packet = survey.trace.events_dropped, survey.trace.dropped_packet
    if lost:
        packets = () if packet is None else (packet,)
        yield finding("events-dropped", packets=packets, events=lost)


def backwards(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about streams whose time runs backwards."""
    events, packet = survey.trace.events_backwards, survey.trace.backwards_packet
    if events:
        packets = () if packet is None else (packet,)
        streams = survey.trace.streams_backwards or ["a stream"]
        more = f" and {len(streams) - _NAMED} more" if len(streams) > _NAMED else ""
        stream = ", ".join(streams[:_NAMED]) + more
        yield finding("stream-backwards", packets=packets, events=events, stream=stream)


def odd(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about each kind of events that cannot be right as the file has them."""
    for one in survey.trace.odd_events:
        said = {**ODD_SPANS, **ODD_TIMES}[one.kind]
        yield finding(
            "odd-spans" if one.kind in ODD_SPANS else "odd-times",
            said.severity,
            packets=(one.packet,),
            events=one.events,
            worst_ns=one.worst_ns or None,
            what=one.what,
            odd_why=said.why,
            odd_fix=said.fix,
        )


def odd_times(survey: Survey) -> Iterator[Finding]:
    """Yield findings about events without a time, and about those that end before they begin."""
    timeless, reversed_ = survey.trace.events_without_time, survey.trace.ends_before_begins
    if timeless:
        yield finding("events-without-time", events=timeless, parts=("null_why", "null_fix"))
    if reversed_:
        yield finding("ends-before-begins", events=reversed_)
