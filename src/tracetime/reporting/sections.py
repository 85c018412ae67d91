"""Sections of the report: clocks, events, error bars and Allan deviation, with their tables."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.graph.clock_names import coverage, span_ns
from tracetime.graph.curves import since
from tracetime.graph.values import Floats
from tracetime.reporting.clock_graph import clock_graph
from tracetime.reporting.facts import Facts, in_floats
from tracetime.reporting.figures import MOST_LINES, allan_figure, bars_figure, events_figure
from tracetime.reporting.markup import (
    Cell,
    Html,
    empty,
    foldable,
    join,
    more_of,
    number_cell,
    table,
    tag,
)
from tracetime.reporting.measure import PairFacts
from tracetime.reporting.readout import bar_in_words, events_readout, points_readout
from tracetime.text import count, duration, half_width

if TYPE_CHECKING:
    from tracetime.reporting.embedding import Figures

# Allan deviation: how much a clock's rate differs between successive intervals of one length.
#
# The overlapping estimate, of evenly spaced offsets (IEEE Std 1139).


LEAST: Final = 16
"""Offsets that an estimate needs: fewer say too little."""

_PER_OCTAVE: Final = 2
"""Averaging times per doubling: enough for a smooth line."""


def allan_deviation(offsets_ns: Floats, spacing_ns: float) -> tuple[Floats, Floats]:
    """Return averaging times (ns) and the deviation (ns/ns) at each.

    Args:
        offsets_ns: of one clock against another, evenly spaced; a constant drift is no deviation.
        spacing_ns: time between two of them.

    Averaging times go up to a quarter of the series: longer ones would have two or three
    differences. Both arrays are empty for fewer than `LEAST` offsets.
    """
    n = len(offsets_ns)
    if n < LEAST:
        return np.zeros(0), np.zeros(0)
    octaves = np.log2(n / 4)
    sizes = np.unique(np.round(2 ** np.arange(0, octaves + 1e-9, 1 / _PER_OCTAVE)).astype(int))
    deviations = []
    for m in sizes.tolist():
        second = offsets_ns[2 * m :] - 2 * offsets_ns[m:-m] + offsets_ns[: -2 * m]
        deviations.append(np.sqrt(np.mean(second**2) / 2) / (m * spacing_ns))
    return sizes * spacing_ns, np.array(deviations)


_MOST_CLOCKS: Final = 60
"""Rows of the table of clocks: two screens."""

_LEAST_PHASE_NS: Final = 0.5
"""A deviation of the phase below this is the rounding of readings to ns."""


def pair_links(facts: Facts) -> dict[ClockId, str]:
    """Return the address in the page of each clock that has a picture."""
    links: dict[ClockId, str] = {}
    for number, pair in enumerate(facts.pictured, 1):
        links.setdefault(pair.clock, f"#pair-{number}")
    return links


def clocks_section(facts: Facts, links: dict[ClockId, str]) -> Html:
    """Return the section of clocks: how snapshots tie them, and a table."""
    infos = facts.survey.infos
    return foldable(
        "Clocks",
        f"{count(len(infos), 'clock')} in {count(len(facts.compared), 'pair')}"
        if infos
        else "no snapshot has one",
        clock_graph(facts, {facts.names[c]: link for c, link in links.items()}),
        _clocks_table(facts, links),
        is_open=not facts.is_healthy,
        id="clocks",
    )


def _clocks_table(facts: Facts, links: dict[ClockId, str]) -> Html:
    """Return the table of clocks; one number on many sequences has one row."""
    survey = facts.survey
    lines: dict[str, list[ClockId]] = {}
    for clock in [*survey.infos, *sorted(c for c in survey.used if c not in survey.infos)]:
        if clock.clock:
            lines.setdefault(facts.names.get(clock) or survey.graph.name(clock), []).append(clock)
    by_name: dict[str, list[PairFacts]] = {}
    for pair in facts.measured.pairs:
        by_name.setdefault(pair.name, []).append(pair)
    rows = []
    chosen = _choose_names(lines, by_name, facts, links)
    for name, clocks in lines.items():
        if name not in chosen:
            continue
        infos = [survey.infos[clock] for clock in clocks if clock in survey.infos]
        pairs = by_name.get(name, [])
        link = next((links[clock] for clock in clocks if clock in links), None)
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
                Cell(_name(name, clocks, link), name),
                number_cell(events),
                number_cell(lost),
                number_cell(sum(info.snapshots for info in infos)),
                Cell(coverage(infos), max((span_ns(info) or 0 for info in infos), default=0)),
                _range(drifts, _ppm),
                *_bars(facts, clocks, pairs),
                ", ".join(notes),
            )
        )
    return join(
        table(
            "Clocks",
            (
                "clock",
                ">events",
                ">without time",
                ">snapshots",
                ">coverage",
                ">drift, ppm",
                ">median bar",
                ">widest bar",
                "notes",
            ),
            rows,
        ),
        more_of(len(lines) - len(rows), "clock", "`tracetime clocks --json` lists all"),
    )


def _bars(facts: Facts, clocks: list[ClockId], pairs: list[PairFacts]) -> tuple[Cell, Cell]:
    """Return the median and the widest bar of the clocks' events, or of their pictures."""
    noted = facts.survey.bars
    found = None if noted is None else noted.of(clocks)
    if found is not None:
        return _bar(in_floats(found.median_ns)), _bar(in_floats(found.at_most_ns))
    if not pairs:
        return Cell("-", float("-inf")), Cell("-", float("-inf"))
    medians = [pair.bar_ns for pair in pairs]
    widest = [pair.bars.most for pair in pairs if pair.bars is not None]
    first, second = (
        _range(values, half_width) if np.isfinite(values).all() else _bar(np.nan)
        for values in (medians, widest)
    )
    return first, second


def _choose_names(
    lines: dict[str, list[ClockId]],
    measured: Container[str],
    facts: Facts,
    links: dict[ClockId, str],
) -> set[str]:
    """Return the names in the table: of very many clocks, those of which most is known."""
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


def _name(name: str, clocks: list[ClockId], link: str | None) -> Html:
    """Return a clock's name, and its id if that differs: findings name clocks by it."""
    first = str(clocks[0])
    number = None if len(clocks) > 1 or name == first else tag("code", first)
    return join(tag("a", name, href=link) if link else name, " ", number)


def _ppm(ppm: float) -> str:
    return "0" if abs(ppm) < 5e-4 else f"{ppm:+.3g}"


def _range(values: list[float], text_of: Callable[[float], str]) -> Cell:
    if not values:
        return Cell("-", float("-inf"))
    low, high = min(values), max(values)
    first, last = text_of(low), text_of(high)
    return Cell(first if first == last else f"{first} to {last.removeprefix('± ')}", high)


def events_section(facts: Facts, figures: Figures) -> Html:
    """Return the section of events over time, by clock."""
    graph = facts.survey.graph
    histogram = facts.histogram
    named = [(_scoped_name(graph.name(row.clock), row.clock), row) for row in histogram.rows]
    if not named:
        return empty("Events", "There are none.", id="events")
    rows = []
    for name, row in named:
        both = row.resolved + row.unresolved
        busiest = int(np.argmax(both))
        begins = float(since(histogram.edges[busiest : busiest + 1], facts.start_ns)[0])
        rows.append(
            (
                name,
                number_cell(int(row.resolved.sum())),
                number_cell(int(row.unresolved.sum())),
                number_cell(row.outside),
                Cell(f"{duration(begins)}, {count(int(both[busiest]), 'event')}", begins),
            )
        )
    lost = sum(int(row.unresolved.sum()) for _, row in named)
    caption = (
        f"Events of {count(len(named), 'clock')} over {duration(facts.end_ns - facts.start_ns)} "
        "of trace time; each row has its own scale"
        + (
            f"; {count(lost, 'event')} without a trace time, hatched, are drawn at the time of "
            "their place in the file"
            if lost
            else ""
        )
        + f". Time 0 is {graph.name(facts.survey.trace_clock)} {facts.start_ns:,} ns."
    )
    return foldable(
        "Events",
        f"{count(facts.events, 'event')} of {count(histogram.clocks, 'clock')}"
        + (f", {lost:,} of them without a trace time" if lost else ""),
        figures.place(
            "events-picture", events_figure(facts, named), caption, events_readout(facts, named)
        ),
        table(
            "Events by clock",
            ("clock", ">with trace time", ">without", ">outside the picture", ">busiest time"),
            rows,
        ),
        more_of(histogram.clocks - len(named), "clock"),
        tag(
            "p",
            f"{count(histogram.outside, 'event')} far before or after all others: not in the "
            "picture.",
        )
        if histogram.outside
        else None,
        is_open=lost > 0,
        id="events",
    )


def _scoped_name(name: str, clock: ClockId) -> str:
    if not clock.clock:
        return "no clock given"
    return f"{name}@seq*" if clock.is_sequence_scoped else name


# long: half of it is what it says
def bars_section(facts: Facts, figures: Figures) -> Html:
    """Return the section of error bars by clock, with what floor is off by."""
    graph = facts.survey.graph
    pairs = [(graph.name(pair.clock), pair) for pair in facts.pictured]
    if not pairs:
        text = (
            "No clock is placed by snapshots, so none has a bar of its own. Where the file cuts "
            "times off, each event has a bar nevertheless: `earliest` and `latest`."
        )
        return empty("Error bars", text, id="bars")
    rows = []
    for name, pair in pairs:
        curves, bars = pair.curves, pair.bars
        assert curves is not None
        assert bars is not None
        rows.append(
            (
                name,
                graph.name(pair.reference),
                _bar(bars.median),
                _bar(bars.most),
                "picture" if bars.on is None else "events",
                _time(curves.most_floor_ns),
                "assumed" if curves.assumed else "measured",
            )
        )
    caption = (
        f"Error bars of {count(len(pairs), 'clock')} on a logarithmic scale: the median and the "
        "widest of its events, or of its picture where it has none; and, as a cross, how far "
        "Perfetto's floor rule is off at most. "
        "Where the cross is right of the bar, floor misplaces events by more than the bar."
    )
    widest = [one.bars.most for _, one in pairs if one.bars is not None]
    known = [bar for bar in widest if np.isfinite(bar)]
    most = f"at most {half_width(max(known))}" if known else half_width(np.nan)
    return foldable(
        "Error bars",
        f"{most} for {count(len(pairs), 'pair')}",
        figures.place(
            "bars-picture",
            bars_figure(pairs),
            caption,
            points_readout(_bar_points(pairs)),
            zoomable=False,
        ),
        table(
            "Error bars by clock",
            (
                "clock",
                "against",
                ">median bar",
                ">widest bar",
                "of its",
                ">floor off by at most",
                "half-widths",
            ),
            rows,
        ),
        is_open=False,
        id="bars",
    )


def _bar_points(pairs: list[tuple[str, PairFacts]]) -> list[tuple[float, float, str]]:
    """Return the marks of the picture of error bars; each says all of its clock."""
    points = []
    for level, (name, pair) in enumerate(reversed(pairs)):
        curves, bars = pair.curves, pair.bars
        assert curves is not None
        assert bars is not None
        for ns in (bars.median, bars.most, curves.most_floor_ns):
            if np.isfinite(ns):
                points.append((max(ns, 1.0), float(level), bar_in_words(name, bars, curves)))
    return points


def _bar(ns: float) -> Cell:
    return Cell(half_width(ns), ns if np.isfinite(ns) else float("inf"))


def _time(ns: float) -> Cell:
    return Cell(duration(ns), ns) if np.isfinite(ns) else Cell("-", -1.0)


def allan_section(facts: Facts, figures: Figures) -> Html | None:
    """Return the Allan deviation of the pairs with enough evenly spaced snapshots."""
    lines = []
    for pair in facts.pictured:
        if pair.curves is not None and pair.curves.steady is not None:
            spacing, offsets = pair.curves.steady
            times, deviations = allan_deviation(offsets, spacing)
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
                f"{graph.name(pair.clock)} − {graph.name(pair.reference)}",
                Cell(f"{deviations[0]:.2e} over {duration(times[0])}", float(deviations[0])),
                Cell(
                    f"{deviations[least]:.2e} over {duration(times[least])}",
                    float(deviations[least]),
                ),
            )
        )
    caption = (
        f"Allan deviation of {count(len(lines), 'pair')}, numbered as in the table: how much the "
        "rate differs between successive intervals of a length. Where a line falls tenfold for a "
        "tenfold length, noise of the readings dominates; where it is flat or rises, the rates "
        "of the clocks wander."
    )
    return foldable(
        "Allan deviation",
        f"how the rates of {count(len(lines), 'pair')} wander",
        figures.place(
            "allan-picture",
            allan_figure([line[1:] for line in lines]),
            caption,
            points_readout(
                [
                    (time / 1e9, dev, f"{number}: {dev:.3g} over {duration(time)}")
                    for number, (_, times, deviations) in enumerate(lines, 1)
                    for time, dev in zip(times.tolist(), deviations.tolist(), strict=True)
                    if dev > 0
                ]
            ),
            zoomable=False,
        ),
        table("Allan deviation", (">no.", "pair", ">shortest interval", ">least deviation"), rows),
        is_open=False,
        id="allan",
    )
