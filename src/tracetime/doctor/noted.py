"""Findings that notes of the trace make as they are: their rows of the catalogue say how."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import CATALOGUE, Row, finding
from tracetime.doctor.finding import EventSelection, Finding, all_of
from tracetime.trace.notes import Note


def noted(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each note whose row of the catalogue has kinds."""
    for row in CATALOGUE.values():
        if row.kinds:
            trace = survey.trace
            for note in chain(trace.notes(row.code), trace.read_notes(row.code)):
                yield _finding(survey, row, note)


def _finding(survey: Survey, row: Row, note: Note) -> Finding:
    kind = row.kinds[note.kind]
    is_beyond = (note.size_ns or 0) > survey.tolerance_ns
    events = note.events
    selections: tuple[EventSelection, ...] = ()
    if events is None:
        events = sum(survey.used.get(clock, 0) for clock in note.clocks)
        selections = all_of(note.clocks)
    elif note.places is not None:
        readings, packets = note.places
        selections = (EventSelection(note.clocks[0], readings=readings, packets=packets),)
    return finding(
        row.code,
        (kind.beyond if is_beyond else None) or kind.severity,
        clocks=note.clocks,
        packets=note.packets,
        events=events,
        worst_ns=note.size_ns,
        parts=kind.parts,
        selections=selections,
        kind_why=kind.why,
        kind_fix=kind.fix,
        **note.values,
    )
