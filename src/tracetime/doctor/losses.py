"""Findings about events that the recorder dropped, and about those that it wrote in no order."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
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
