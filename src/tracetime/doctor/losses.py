"""Findings about events that the recorder dropped, wrote in no order, or cannot have meant."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.catalogue.spans import ODD_SPANS
from tracetime.doctor.finding import Finding


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
        yield finding("stream-backwards", packets=packets, events=events)


def odd(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about each kind of events that cannot be right as the file has them."""
    for one in survey.trace.odd_events:
        yield finding(
            "odd-spans",
            ODD_SPANS[one.kind].severity,
            packets=(one.packet,),
            events=one.events,
            worst_ns=one.worst_ns or None,
            what=one.what,
            odd_why=ODD_SPANS[one.kind].why,
            odd_fix=ODD_SPANS[one.kind].fix,
        )
