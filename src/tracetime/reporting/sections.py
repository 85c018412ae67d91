"""Sections of the report: clocks, events, bars, Allan deviation; each picture with its tables."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.clock_names import coverage, span_ns
from tracetime.graph.tube.curves import since
from tracetime.reporting.allan import allan_deviation
from tracetime.reporting.figures import MOST_LINES, allan_figure, bars_figure, events_figure
from tracetime.reporting.gather import Facts
from tracetime.reporting.markup import Cell, Html, join, more_of, number_cell, table, tag
from tracetime.reporting.measure import PairFacts
from tracetime.text import count, duration

if TYPE_CHECKING:
    from tracetime.reporting.embedding import Figures

_MOST_CLOCKS: Final = 60
_LEAST_PHASE_NS: Final = 0.5


def pair_links(facts: Facts) -> dict[ClockId, str]:
    """Where each clock that has a picture is found in the page."""
    links: dict[ClockId, str] = {}
    for number, pair in enumerate(facts.pictured, 1):
        links.setdefault(pair.clock, f"#pair-{number}")
    return links


def clocks_table(facts: Facts, links: dict[ClockId, str]) -> Html:
    """All clocks, those alike on many sequences in one line."""
    survey = facts.survey
    lines: dict[str, list[ClockId]] = {}
    for clock in [*survey.infos, *sorted(c for c in survey.used if c not in survey.infos)]:
        if clock.clock:
            lines.setdefault(facts.names.get(clock) or survey.graph.name(clock), []).append(clock)
    by_name: dict[str, list[PairFacts]] = {}
    for pair in facts.measured.pairs:
        by_name.setdefault(pair.name, []).append(pair)
    rows = []
    shown = _most_telling(lines, by_name, facts, links)
    for name, clocks in lines.items():
        if name not in shown:
            continue
        infos = [survey.infos[clock] for clock in clocks if clock in survey.infos]
        pairs = by_name.get(name, [])
        link = next((links[clock] for clock in clocks if clock in links), None)
        bars = [pair.bar_ns for pair in pairs]
        drifts = [pair.drift_ppm for pair in pairs if pair.drift_ppm is not None]
        events = sum(survey.used.get(clock, 0) for clock in clocks)
        lost = sum(survey.lost.get(clock, 0) for clock in clocks)
        notes = []
        if survey.trace_clock in clocks:
            notes.append("trace time")
        if any(info.incremental for info in infos):
            notes.append("incremental")
        if any(not info.monotonic for info in infos):
            notes.append("ran backwards")
        rows.append(
            (
                Cell(_called(name, clocks, link), name),
                number_cell(events),
                number_cell(lost),
                number_cell(sum(info.snapshots for info in infos)),
                Cell(coverage(infos), max((span_ns(info) or 0 for info in infos), default=0)),
                _range(drifts, _ppm),
                _range(bars, lambda v: f"± {duration(v)}"),
                ", ".join(notes),
            )
        )
    return join(
        table(
            "Clocks: how they are used, and how well they are known",
            ("clock", ">events", ">without time", ">snapshots", ">coverage", ">drift, ppm",
             ">median bar", "notes"),
            rows,
        ),
        more_of(len(lines) - len(rows), "clock", "`tracetime clocks --json` lists all"),
    )  # fmt: skip


def _most_telling(
    lines: dict[str, list[ClockId]],
    measured: Container[str],
    facts: Facts,
    links: dict[ClockId, str],
) -> set[str]:
    """The lines of the table that are shown: of very many those of which most is known."""
    if len(lines) <= _MOST_CLOCKS:
        return set(lines)
    survey = facts.survey
    pictured = {*links, survey.trace_clock}

    def rank(line: tuple[str, list[ClockId]]) -> tuple[bool, bool, bool, int]:
        return (
            pictured.isdisjoint(line[1]),
            line[0] not in measured,
            survey.lost.keys().isdisjoint(line[1]),
            -sum(survey.used.get(clock, 0) for clock in line[1]),
        )

    return {name for name, _ in sorted(lines.items(), key=rank)[:_MOST_CLOCKS]}


def _called(name: str, clocks: list[ClockId], link: str | None) -> Html:
    """A clock's name, and its id where that is another thing: findings name clocks by it."""
    first = str(clocks[0])
    number = None if len(clocks) > 1 or name == first else tag("code", first)
    return join(tag("a", name, href=link) if link else name, " ", number)


def _ppm(ppm: float) -> str:
    return "0" if abs(ppm) < 5e-4 else f"{ppm:+.3g}"


def _range(values: list[float], told: Any) -> Cell:
    if not values:
        return Cell("-", float("-inf"))
    low, high = min(values), max(values)
    first, last = told(low), told(high)
    return Cell(first if first == last else f"{first} to {last.removeprefix('± ')}", high)


def events_section(facts: Facts, figures: Figures) -> Html:
    """Events of each clock over time."""
    graph = facts.survey.graph
    drawn = facts.drawn
    shown = [(_scoped(graph.name(row.clock), row.clock), row) for row in drawn.rows]
    if not shown:
        return tag("section", tag("h2", "Events"), tag("p", "There are none."), id="events")
    rows = []
    for name, row in shown:
        both = row.resolved + row.unresolved
        busiest = int(np.argmax(both))
        begins = float(since(drawn.edges[busiest : busiest + 1], facts.start_ns)[0])
        rows.append(
            (
                name,
                number_cell(int(row.resolved.sum())),
                number_cell(int(row.unresolved.sum())),
                number_cell(row.outside),
                Cell(f"{duration(begins)}, {count(int(both[busiest]), 'event')}", begins),
            )
        )
    lost = sum(int(row.unresolved.sum()) for _, row in shown)
    told = (
        f"Events of {count(len(shown), 'clock')} over {duration(facts.end_ns - facts.start_ns)} "
        "of trace time, each row to its own scale"
        + (
            f"; {count(lost, 'event')} without a trace time, hatched, stand where they are in the "
            "file"
            if lost
            else ""
        )
        + f". Time 0 is {graph.name(facts.survey.trace_clock)} {facts.start_ns:,} ns."
    )
    return tag(
        "section",
        tag("h2", "Events"),
        figures.place("events-picture", events_figure(facts, shown), told),
        table(
            "Events by clock",
            ("clock", ">with trace time", ">without", ">outside the picture", ">busiest at"),
            rows,
        ),
        more_of(drawn.clocks - len(shown), "clock"),
        tag(
            "p",
            f"{count(drawn.outside, 'event')} lie far before or after all others, outside the "
            "picture.",
        )
        if drawn.outside
        else None,
        id="events",
    )


def _scoped(name: str, clock: ClockId) -> str:
    if not clock.clock:
        return "no clock given"
    return f"{name}@seq*" if clock.is_sequence_scoped else name


def bars_section(facts: Facts, figures: Figures) -> Html:
    """How wide bars are, clock by clock, beside what floor is off by."""
    graph = facts.survey.graph
    pairs = [(graph.name(pair.clock), pair) for pair in facts.pictured]
    if not pairs:
        return tag("section", tag("h2", "Error bars"), tag("p", "There are none."), id="bars")
    rows = []
    for name, pair in pairs:
        drawn = pair.curves
        assert drawn is not None
        rows.append(
            (
                name,
                graph.name(pair.hub),
                Cell(f"± {duration(drawn.median_bar_ns)}", drawn.median_bar_ns),
                _time(drawn.most_bar_ns, "± "),
                _time(drawn.most_floor_ns),
                "assumed" if drawn.assumed else "measured",
            )
        )
    told = (
        f"Error bars of {count(len(pairs), 'clock')} on a logarithmic scale: the median, the "
        "widest between snapshots, and, as a cross, how far Perfetto's floor rule is off. A cross "
        "to the right of a bar is time that floor misplaces."
    )
    return tag(
        "section",
        tag("h2", "Error bars"),
        figures.place("bars-picture", bars_figure(pairs), told, zoomable=False),
        table(
            "Error bars by clock",
            ("clock", "against", ">median bar", ">widest bar", ">floor off by at most",
             "half-widths"),
            rows,
        ),
        id="bars",
    )  # fmt: skip


def _time(ns: float, sign: str = "") -> Cell:
    if not np.isfinite(ns):
        return Cell("-", -1.0)
    return Cell(f"{sign}{duration(ns)}", ns)


def allan_section(facts: Facts, figures: Figures) -> Html | None:
    """Allan deviation of the pairs whose snapshots are many and even enough."""
    lines = []
    for pair in facts.pictured:
        if pair.curves is not None and pair.curves.steady is not None:
            spacing, offsets = pair.curves.steady
            times, deviations = allan_deviation(offsets, spacing)
            # What is below the readings' own ns is rounding.
            if len(times) and bool(np.any(deviations * times > _LEAST_PHASE_NS)):
                lines.append((pair, times, deviations))
    lines = lines[:MOST_LINES]
    if not lines:
        return None
    graph = facts.survey.graph
    rows = []
    for number, (pair, times, deviations) in enumerate(lines, 1):
        least = int(np.argmin(np.where(deviations > 0, deviations, np.inf)))
        rows.append(
            (
                Cell(str(number), number),
                f"{graph.name(pair.clock)} − {graph.name(pair.hub)}",
                Cell(f"{deviations[0]:.2e} over {duration(times[0])}", float(deviations[0])),
                Cell(f"{deviations[least]:.2e} over {duration(times[least])}",
                     float(deviations[least])),
            )
        )  # fmt: skip
    told = (
        f"Allan deviation of {count(len(lines), 'pair')}, numbered as in the table: how much the "
        "rate differs from one stretch of that length to the next. A line that falls by ten for "
        "each ten is noise of the readings; where it flattens or rises the clocks "
        "themselves wander."
    )
    return tag(
        "section",
        tag("h2", "Allan deviation"),
        figures.place(
            "allan-picture", allan_figure([line[1:] for line in lines]), told, zoomable=False
        ),
        table("Allan deviation", (">no.", "pair", ">at first", ">at its least"), rows),
        id="allan",
    )
