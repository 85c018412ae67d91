"""Sections of the report: clocks, events, pairs, bars, snapshots; each picture with its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tracetime.clocks import ClockId
from tracetime.doctor import Finding
from tracetime.graph.curves import Break, Curves, since
from tracetime.graph.plot import pair_figure, time_unit
from tracetime.graph.shown import coverage
from tracetime.report.allan import allan_deviation
from tracetime.report.figures import MOST_LINES, allan_figure, bars_figure, events_figure
from tracetime.report.gather import Facts, PairFacts
from tracetime.report.key import pair_key
from tracetime.report.markup import Cell, Html, join, table, tag
from tracetime.telling import count, duration

if TYPE_CHECKING:
    from tracetime.report.page import Figures

_MOST_ROWS: Final = 12
_MOST_CLOCKS: Final = 60
_MOST_BREAKS: Final = 40
_MOST_SNAPSHOTS: Final = 1200
_SAMPLES: Final = 16
_LONG_ZONE: Final = 30
_LEAST_PHASE_NS: Final = 0.5
_CALLED: Final = {
    "suspend": "suspend", "step": "step", "reset": "reset", "outlier": "outlier",
    "rate_change": "change of rate", "possible_step": "step, or two changes of rate",
}  # fmt: skip


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
    for pair in facts.pairs:
        by_name.setdefault(pair.name, []).append(pair)
    rows = []
    for name, clocks in list(lines.items())[:_MOST_CLOCKS]:
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
                _number(events),
                _number(lost),
                _number(sum(info.snapshots for info in infos)),
                Cell(coverage(infos), max((_span(info) for info in infos), default=0.0)),
                _range(drifts, _ppm),
                _range(bars, lambda v: f"± {duration(v)}"),
                ", ".join(notes),
            )
        )
    more = len(lines) - _MOST_CLOCKS
    return join(
        table(
            "Clocks: how they are used, and how well they are known",
            ("clock", ">events", ">without time", ">snapshots", ">coverage", ">drift, ppm",
             ">median bar", "notes"),
            rows,
        ),
        tag("p", f"{count(more, 'more clock')} not shown.") if more > 0 else None,
    )  # fmt: skip


def _called(name: str, clocks: list[ClockId], link: str | None) -> Html:
    """A clock's name, and its id where that is another thing: findings name clocks by it."""
    first = str(clocks[0])
    number = None if len(clocks) > 1 or name == first else tag("code", first)
    return join(tag("a", name, href=link) if link else name, " ", number)


def _ppm(ppm: float) -> str:
    return "0" if abs(ppm) < 5e-4 else f"{ppm:+.3g}"


def _span(info: Any) -> float:
    return float(info.last_ns - info.first_ns) if info.first_ns is not None else 0.0


def _number(n: int) -> Cell:
    return Cell(f"{n:,}", float(n))


def _range(values: list[float], told: Any) -> Cell:
    if not values:
        return Cell("-", float("-inf"))
    low, high = min(values), max(values)
    first, last = told(low), told(high)
    return Cell(first if first == last else f"{first} to {last.removeprefix('± ')}", high)


def events_section(facts: Facts, figures: Figures) -> Html:
    """Events of each clock over time."""
    graph = facts.survey.graph
    ranked = sorted(
        facts.rows, key=lambda row: (-int(row.unresolved.sum() > 0), -int(row.resolved.sum()))
    )
    shown = [(_scoped(graph.name(row.clock), row.clock), row) for row in ranked[:_MOST_ROWS]]
    if not shown:
        return tag("section", tag("h2", "Events"), tag("p", "There are none."), id="events")
    rows = []
    for name, row in shown:
        both = row.resolved + row.unresolved
        busiest = int(np.argmax(both))
        begins = float(since(facts.edges[busiest : busiest + 1], facts.start_ns)[0])
        rows.append(
            (
                name,
                _number(int(row.resolved.sum())),
                _number(int(row.unresolved.sum())),
                _number(row.outside),
                Cell(f"{duration(begins)}, {count(int(both[busiest]), 'event')}", begins),
            )
        )
    lost = sum(int(row.unresolved.sum()) for _, row in shown)
    outside = sum(row.outside for row in facts.rows)
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
    more = len(facts.rows) - len(shown)
    return tag(
        "section",
        tag("h2", "Events"),
        figures.place("events-picture", events_figure(facts, shown), told),
        table(
            "Events by clock",
            ("clock", ">with trace time", ">without", ">outside the picture", ">busiest at"),
            rows,
        ),
        tag("p", f"{count(more, 'more clock')} not shown.") if more > 0 else None,
        tag(
            "p",
            f"{count(outside, 'event')} lie far before or after all others, outside the picture.",
        )
        if outside
        else None,
        id="events",
    )


def _scoped(name: str, clock: ClockId) -> str:
    if not clock.clock:
        return "no clock given"
    return f"{name}@seq*" if clock.is_sequence_scoped else name


def pair_sections(facts: Facts, figures: Figures) -> Html:
    """A picture of each pair that matters, with what was found about it."""
    shown = [_pair(facts, figures, number, pair) for number, pair in enumerate(facts.pictured, 1)]
    if not shown:
        shown = [tag("p", "No two clocks were read together.")]
    left_out = facts.left_out
    return tag(
        "section",
        tag("h2", "Pairs of clocks"),
        shown,
        tag(
            "p",
            f"Without a picture: {', '.join(left_out[:40])}"
            + (f" and {len(left_out) - 40} more" if len(left_out) > 40 else "")
            + ". Pairs with findings come first, then those with events, those that broke, and "
            "those that cost floor most; the table of clocks has them all.",
            class_="hint",
        )
        if left_out
        else None,
        tag(
            "ul",
            (
                tag("li", f"{facts.survey.graph.name(clock)} has no bars: {why}")
                for clock, why in facts.unmeasured[:10]
            ),
        )
        if facts.unmeasured
        else None,
        id="pairs",
    )


def _pair(facts: Facts, figures: Figures, number: int, pair: PairFacts) -> Html:
    drawn = pair.curves
    assert drawn is not None
    graph = facts.survey.graph
    hub, clock = graph.name(pair.hub), graph.name(pair.clock)
    place = f"pair-{number}-picture"
    return tag(
        "section",
        tag("h3", f"{clock} − {hub}"),
        _beside(facts, pair, drawn, place),
        figures.place(
            place,
            pair_figure(drawn, hub, clock, alone=False),
            in_words(pair, hub, clock),
            key=pair_key(outliers=bool(drawn.seen.odd.any()), breaks=bool(drawn.breaks)),
        ),
        _breaks(drawn, place) if drawn.breaks else None,
        tag(
            "details",
            tag("summary", "The curves in numbers"),
            _numbers(drawn),
        ),
        id=f"pair-{number}",
        class_="pair",
    )


def in_words(pair: PairFacts, hub: str, clock: str) -> str:
    """What the picture of a pair shows."""
    drawn = pair.curves
    assert drawn is not None
    told = [
        f"{clock} against {hub}: {count(drawn.n_snapshots, 'snapshot')}; the offset begins at "
        f"{drawn.offset_ns:,} ns"
    ]
    if pair.drift_ppm is not None and drawn.n_snapshots > 2:
        told.append(
            f"{clock} gains {pair.drift_ppm:+.4g} ppm, which the picture leaves out"
            if abs(drawn.trend_ppm) >= 1e-3
            else "no drift to speak of"
        )
    bar = f"bars of ± {duration(drawn.median_bar_ns)}"
    if np.isfinite(drawn.most_bar_ns):
        bar += f", at most ± {duration(drawn.most_bar_ns)}"
    told.append(bar + (", on half-widths that were assumed" if drawn.assumed else ""))
    if drawn.most_floor_ns >= 1:
        told.append(f"floor is up to {duration(drawn.most_floor_ns)} from the estimate")
    elif np.isfinite(drawn.most_floor_ns):
        told.append("floor agrees with the estimate")
    told.append(
        f"{drawn.n_breaks} discontinuities, numbered"
        if drawn.n_breaks > 1
        else "one discontinuity"
        if drawn.n_breaks
        else "no discontinuity"
    )
    return "; ".join(told) + f". Time 0 is {hub} {drawn.origin_ns:,} ns."


def _beside(facts: Facts, pair: PairFacts, drawn: Curves, place: str) -> Html | None:
    """The findings about a pair, with buttons that show where."""
    lines = []
    for number in pair.findings:
        finding = facts.findings[number - 1]
        spot = _spot(facts, drawn, finding)
        lines.append(
            tag(
                "li",
                tag("span", {"info": "note"}.get(finding.severity, finding.severity),
                    class_=f"badge {finding.severity}"),
                " ",
                tag("a", finding.title, href=f"#finding-{number}"),
                " ",
                _show(place, "show", f"finding {number}", spot) if spot else None,
            )
        )  # fmt: skip
    return tag("ul", lines, class_="beside") if lines else None


def _spot(facts: Facts, drawn: Curves, finding: Finding) -> tuple[float, float] | None:
    """Where in a pair's picture a finding's snapshots are, in units of its time axis."""
    packets = facts.survey.snapshot_packets
    numbers = np.flatnonzero(
        np.isin(packets, np.array(finding.packets, dtype=packets.dtype))
    )  # fmt: skip
    times = drawn.seen.time[np.isin(drawn.seen.number, numbers)]
    broken = [b for b in drawn.breaks if set(b.snapshots) & set(numbers.tolist())]
    spots = [*times.tolist(), *(t for b in broken for t in (b.start, b.end))]
    if not spots:
        return None
    return _window(drawn, min(spots), max(spots))


def _window(drawn: Curves, start: float, end: float) -> tuple[float, float]:
    """What to zoom to, to see a stretch and what is about it."""
    margin = max((end - start) * 0.75, 3 * _gap(drawn))
    _, ns = time_unit(drawn.end - min(0.0, float(np.nanmin(drawn.sampled.time))))
    return (start - margin) / ns, (end + margin) / ns


def _gap(drawn: Curves) -> float:
    """How far apart the snapshots of a pair usually are, ns."""
    if len(drawn.gap_span):
        return float(np.median(drawn.gap_span))
    return drawn.end / max(drawn.n_snapshots, 1)


def _show(place: str, says: str, what: str, window: tuple[float, float]) -> Html:
    return tag(
        "button", says, type="button", class_="show", data_act="show", data_figure=place,
        data_start=window[0], data_end=window[1], aria_label=f"Show {what} in the picture",
    )  # fmt: skip


def _views(drawn: Curves, place: str, number: int, b: Break) -> list[Html]:
    """Buttons that show a discontinuity; of a long sleep, its two ends."""
    gap = _gap(drawn)
    if b.end - b.start < _LONG_ZONE * gap:
        return [_show(place, "show", f"discontinuity {number}", _window(drawn, b.start, b.end))]
    return [
        _show(
            place,
            says,
            f"{says} discontinuity {number}",
            _window(drawn, at - 5 * gap, at + 5 * gap),
        )
        for says, at in (("before", b.start), ("after", b.end))
    ]


def _breaks(drawn: Curves, place: str) -> Html:
    rows = []
    for number, b in enumerate(drawn.breaks[:_MOST_BREAKS], 1):
        rows.append(
            (
                Cell(str(number), number),
                join(_views(drawn, place, number, b)),
                _CALLED[b.kind],
                Cell(_between(b), b.start),
                Cell(_size(b), max(map(abs, b.size_ns or b.rate_ppm or (0,)))),
            )
        )  # fmt: skip
    more = drawn.n_breaks - len(rows)
    return join(
        table("Discontinuities", (">no.", "", "kind", ">where", ">by"), rows),
        tag("p", f"{more:,} more are not shown.") if more > 0 else None,
    )


def _between(b: Break) -> str:
    if b.start == b.end:
        return f"at {_seconds(b.start)}"
    return f"{_seconds(b.start)} to {_seconds(b.end)}"


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:,.6f} s" if abs(ns) < 1e12 else f"{ns / 1e9:,.3f} s"


def _size(b: Break) -> str:
    if b.rate_ppm is not None:
        low, high = b.rate_ppm
        return f"{low:+.3g} to {high:+.3g} ppm"
    if b.size_ns is None:
        return "-"
    low_ns, high_ns = b.size_ns
    first, last = duration(low_ns), duration(high_ns)
    return first if first == last else f"{first} to {last}"


def _numbers(drawn: Curves) -> Html:
    """The curves at a few instants, for those who cannot see the picture."""
    tube = drawn.sampled
    known = np.flatnonzero(np.isfinite(tube.estimate))
    chosen = known[np.unique(np.linspace(0, len(known) - 1, _SAMPLES).astype(int))]
    rows = [
        (
            Cell(_seconds(tube.time[k]), float(tube.time[k])),
            Cell(f"{tube.estimate[k]:,.0f}", float(tube.estimate[k])),
            Cell(f"{tube.half[k]:,.0f}", float(tube.half[k])),
            Cell(f"{tube.floor[k]:,.0f}", float(tube.floor[k])),
        )
        for k in chosen.tolist()
    ]
    return table(
        "The curves at a few instants",
        (">time", ">offset less its trend, ns", ">half-width, ns", ">floor's distance, ns"),
        rows,
    )


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


def snapshots_section(facts: Facts) -> Html:
    """Every reading of a snapshot that the pictured pairs rest on, as a table."""
    packets = facts.survey.snapshot_packets
    graph = facts.survey.graph
    broken: dict[tuple[int, ClockId], str] = {}
    rows = []
    total = sum(len(pair.curves.seen.time) for pair in facts.pictured if pair.curves is not None)
    every = max(1, -(-total // _MOST_SNAPSHOTS))
    for pair in facts.pictured:
        drawn = pair.curves
        assert drawn is not None
        for number, b in enumerate(drawn.breaks, 1):
            for snapshot in b.snapshots:
                broken[snapshot, pair.clock] = f"{_CALLED[b.kind]} ({number})"
        seen = drawn.seen
        for k in range(len(seen.time)):
            snapshot = int(seen.number[k])
            note = broken.get((snapshot, pair.clock), "")
            if k % every and not note:
                continue
            rows.append(
                (
                    _number(snapshot),
                    _number(int(packets[snapshot])),
                    Cell(_seconds(seen.time[k]), float(seen.time[k])),
                    graph.name(pair.clock),
                    graph.name(pair.hub),
                    Cell(f"{int(seen.reading[k]):,}", float(seen.reading[k])),
                    Cell(f"{seen.offset[k]:+,.0f}", float(seen.offset[k])),
                    Cell(f"{seen.half[k]:,.0f}", float(seen.half[k])),
                    note,
                )
            )
    rows.sort(key=lambda row: (row[0].value, row[3]))
    inner = table(
        "Snapshots of the pictured pairs; a heading sorts",
        (">snapshot", ">packet", ">time", "clock", "against", ">reading, ns",
         ">offset less its trend, ns", ">half-width, ns", "note"),
        rows,
    )  # fmt: skip
    in_all = len(packets)
    return tag(
        "section",
        tag("h2", "Snapshots"),
        tag(
            "p",
            f"{count(in_all, 'snapshot')} in the trace; {count(len(rows), 'reading')} of the "
            f"pairs above are listed{', one of ' + str(every) if every > 1 else ''}.",
        ),
        tag("details", tag("summary", "Table of snapshots"), inner, open=len(rows) <= 200)
        if rows
        else None,
        id="snapshots",
    )
