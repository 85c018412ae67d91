"""The sections of pairs of clocks: pictures, findings, discontinuities and snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tracetime.doctor import Finding
from tracetime.graph.curves import Break, Curves
from tracetime.reporting.facts import MOST_FINDINGS, Facts
from tracetime.reporting.markup import (
    Cell,
    Html,
    empty,
    foldable,
    join,
    number_cell,
    prose,
    table,
    tag,
)
from tracetime.reporting.measure import MOST_MEASURED, PairFacts
from tracetime.reporting.plot import pair_panels, time_unit_of
from tracetime.reporting.readout import pair_key, pair_readout
from tracetime.text import count, duration, half_width, signed_duration

if TYPE_CHECKING:
    from tracetime.reporting.embedding import Figures

# Rows and names in the page: as many as are read, and as keep the file small.
_MOST_BREAKS: Final = 40
_MOST_FINDINGS: Final = 10
_MOST_NAMES: Final = 40
_MOST_WITHOUT_BARS: Final = 10
_MOST_SNAPSHOTS: Final = 800
_SAMPLES: Final = 16
_LONG_ZONE: Final = 30
"""Gaps between snapshots from which a discontinuity is long: a view has only one end of it."""

_LONG_NS: Final = 24 * 3_600_000_000_000
"""Times of a day and more are in days."""

_NO_DRIFT_PPM: Final = 5e-4
"""A drift below this is no drift: a nanosecond in half an hour."""

_BREAK_NAMES: Final = {
    "suspend": "suspend",
    "step": "step",
    "reset": "reset",
    "outlier": "outlier",
    "wrong_order": "message before it was sent",
    "rate_change": "change of rate",
    "possible_step": "step, or two changes of rate",
}


def pair_sections(facts: Facts, figures: Figures) -> Html:
    """Return the section of pairs: a picture of each that matters, with its findings."""
    pairs = [_pair(facts, figures, number, pair) for number, pair in enumerate(facts.pictured, 1)]
    if not pairs and not facts.measured.without:
        return empty("Pairs of clocks", "No snapshot has two clocks.", id="pairs")
    return tag(
        "section",
        tag("h2", "Pairs of clocks"),
        pairs,
        _without_picture(facts),
        _without_bars(facts),
        id="pairs",
    )


def _without_picture(facts: Facts) -> Html | None:
    """Say which pairs have no picture, and where to see them."""
    left_out, measured = facts.left_out, facts.measured
    if not left_out:
        return None
    more = len(left_out) - _MOST_NAMES
    text = (
        f"{', '.join(left_out[:_MOST_NAMES])}"
        + (f" and {more:,} more" if more > 0 else "")
        + ". Pairs with findings come first, then those with events, with discontinuities, and "
        "those that floor misplaces most."
    )
    beyond = None
    if measured.beyond:
        n = len(facts.compared) - len(measured.beyond)
        beyond = join(
            f" The first {n:,} of {len(facts.compared):,} pairs of clocks in this order are "
            "measured: the table of clocks has drift and bars of these only. ",
            prose(
                "In Python `trace.clocks.plot(src, dst)` draws any pair"
                + ("; `--max-tubes` allows more." if n < MOST_MEASURED else ".")
            ),
        )
    without = len(facts.compared) - len(facts.pictured)
    return tag(
        "details",
        tag("summary", f"{count(without, 'more pair')} without a picture"),
        tag("p", text, beyond or " The table of clocks has all.", class_="hint"),
        class_="pair line",
    )


def _without_bars(facts: Facts) -> Html | None:
    """List the clocks that cannot have bars, with the reason."""
    without = facts.measured.without
    if not without:
        return None
    name, more = facts.survey.graph.name, len(without) - _MOST_WITHOUT_BARS
    return join(
        tag(
            "ul",
            (
                tag("li", f"{name(clock)} has no bars: {why}")
                for clock, why in without[:_MOST_WITHOUT_BARS]
            ),
        ),
        tag("p", f"{count(more, 'more clock')} without bars.", class_="hint") if more > 0 else None,
    )


def _pair(facts: Facts, figures: Figures, number: int, pair: PairFacts) -> Html:
    """Return all sections of a pair; of one in order only a line is seen until it is opened."""
    curves = pair.curves
    assert curves is not None
    graph = facts.survey.graph
    reference, clock = graph.name(pair.reference), graph.name(pair.clock)
    place = f"pair-{number}-picture"
    return tag(
        "details",
        tag(
            "summary",
            tag("h3", f"{clock} − {reference}"),
            " ",
            tag("span", _line(facts, pair, curves), class_="line"),
        ),
        _findings(facts, pair, curves, place),
        figures.place(
            place,
            pair_panels(curves, reference, clock, alone=False),
            in_words(facts, pair, reference, clock),
            pair_readout(curves, reference, clock),
            key=pair_key(curves),
        ),
        _breaks(curves, place) if curves.breaks else None,
        tag("details", tag("summary", "The curves as a table"), _numbers(curves)),
        id=f"pair-{number}",
        class_="pair",
        open=not _is_in_order(facts, pair, curves),
    )


def _is_in_order(facts: Facts, pair: PairFacts, curves: Curves) -> bool:
    """Whether nothing is wrong: clocks that are set right slowly change their rate."""
    return (
        not pair.lost
        and all(facts.findings[number - 1].severity == "info" for number in pair.findings)
        and all(b.kind == "rate_change" for b in curves.breaks)
    )


def _line(facts: Facts, pair: PairFacts, curves: Curves) -> str:
    """Return a pair in one line of text."""
    parts = [_bars_told(facts, pair)]
    if pair.drift_ppm is not None and curves.n_snapshots + curves.n_orders > 1:
        drift = f"{pair.drift_ppm:+.3g} ppm" if abs(pair.drift_ppm) >= _NO_DRIFT_PPM else "none"
        parts.append(f"drift {drift}")
    parts.append(_evidence(curves))
    if curves.n_breaks:
        kinds = Counter(_BREAK_NAMES[b.kind] for b in curves.breaks)
        parts += [f"{n} × {kind}" if n > 1 else kind for kind, n in kinds.items()]
    return ", ".join(parts)


def _bars_told(facts: Facts, pair: PairFacts) -> str:
    """Return the widest bar of the events, or of the picture; and what else the picture draws."""
    bars, curves = pair.bars, pair.curves
    assert bars is not None
    assert curves is not None
    whose = "error bar"
    if bars.on is not None:
        on = "" if bars.on == pair.reference else f" on {facts.survey.graph.name(bars.on)}"
        whose = f"error bar of its events{on}"
    if not np.isfinite(bars.most):
        return f"{whose} {half_width(bars.most)}"
    told = f"{whose} at most {half_width(bars.most)}"
    drawn = curves.drawn_bar_ns
    more = bars.on == pair.reference and drawn > 2 * bars.most
    return f"{told} (drawn up to {half_width(drawn)})" if more else told


def _evidence(curves: Curves) -> str:
    """Return how many snapshots and messages tie a pair."""
    kinds = ((curves.n_snapshots, "snapshot"), (curves.n_orders, "message"))
    return " and ".join(count(n, kind) for n, kind in kinds if n)


def in_words(facts: Facts, pair: PairFacts, reference: str, clock: str) -> str:
    """Return a description of the picture of a pair."""
    curves = pair.curves
    assert curves is not None
    parts = [
        f"{clock} against {reference}: {_evidence(curves)}; the offset begins "
        f"at {signed_duration(curves.offset_ns)}"
    ]
    if pair.drift_ppm is not None and curves.n_snapshots + curves.n_orders > 2:
        parts.append(
            f"{clock} drifts by {pair.drift_ppm:+.4g} ppm, which the picture leaves out"
            if abs(curves.trend_ppm) >= 1e-3
            else "no drift"
        )
    bars = pair.bars
    assert bars is not None
    bar = f"{_bars_told(facts, pair)}, median {half_width(bars.median)}"
    parts.append(bar + (", from assumed half-widths" if curves.assumed else ""))
    if curves.most_floor_ns >= 1:
        parts.append(f"floor is up to {duration(curves.most_floor_ns)} from the estimate")
    elif np.isfinite(curves.most_floor_ns):
        parts.append("floor agrees with the estimate")
    parts.append(
        f"{curves.n_breaks} discontinuities, numbered"
        if curves.n_breaks > 1
        else "one discontinuity"
        if curves.n_breaks
        else "no discontinuity"
    )
    if curves.n_orders and np.isfinite(curves.median_bar_ns):
        parts.append("slow messages may be outside of the picture")
    return "; ".join(parts) + f". Time 0 is {reference} {curves.origin_ns:,} ns."


def _findings(facts: Facts, pair: PairFacts, curves: Curves, place: str) -> Html | None:
    """List the findings about a pair, with buttons that show where they are."""
    lines = []
    numbers = [number for number in pair.findings if number <= MOST_FINDINGS]
    for number in numbers[:_MOST_FINDINGS]:
        finding = facts.findings[number - 1]
        window = _window_of(facts, curves, finding)
        lines.append(
            tag(
                "li",
                tag("span", finding.severity, class_=f"badge {finding.severity}"),
                " ",
                tag("a", finding.title, href=f"#finding-{number}"),
                " ",
                _show(place, "show", f"finding {number}", window) if window else None,
            )
        )
    more = len(pair.findings) - len(lines)
    if more and lines:
        lines.append(tag("li", tag("a", f"and {count(more, 'more finding')}", href="#findings")))
    return tag("ul", lines, class_="pair-findings") if lines else None


def _window_of(facts: Facts, curves: Curves, finding: Finding) -> tuple[float, float] | None:
    """Return the part of a pair's picture with a finding's snapshots; None if there are none."""
    packets = facts.survey.snapshot_packets
    is_there = np.isin(packets, np.array(finding.packets, dtype=packets.dtype))
    times = curves.seen.time[np.isin(curves.seen.number, np.flatnonzero(is_there))]
    broken = [b for b in curves.breaks if is_there[list(b.snapshots)].any()]
    instants = [*times.tolist(), *(t for b in broken for t in (b.start, b.end))]
    if not instants:
        return None
    return _window(curves, min(instants), max(instants))


def _window(curves: Curves, start: float, end: float) -> tuple[float, float]:
    """Return what to zoom to for a span and its surroundings, in units of the time axis."""
    margin = max((end - start) * 0.75, 3 * _gap(curves))
    _, ns = time_unit_of(curves)
    return (start - margin) / ns, (end + margin) / ns


def _gap(curves: Curves) -> float:
    """Return the usual time between two snapshots of a pair, ns."""
    if len(curves.gap_span):
        return float(np.median(curves.gap_span))
    return curves.end / max(curves.n_snapshots + curves.n_orders, 1)


def _show(place: str, label: str, what: str, window: tuple[float, float]) -> Html:
    return tag(
        "button",
        label,
        type="button",
        class_="show",
        data_act="show",
        data_figure=place,
        data_start=window[0],
        data_end=window[1],
        aria_label=f"Show {what} in the picture",
    )


def _views(curves: Curves, place: str, number: int, b: Break) -> list[Html]:
    """Return buttons that show a discontinuity; a long one has one for each end."""
    gap = _gap(curves)
    if b.end - b.start < _LONG_ZONE * gap:
        return [_show(place, "show", f"discontinuity {number}", _window(curves, b.start, b.end))]
    return [
        _show(
            place,
            label,
            f"{label} discontinuity {number}",
            _window(curves, at - 5 * gap, at + 5 * gap),
        )
        for label, at in (("before", b.start), ("after", b.end))
    ]


def _breaks(curves: Curves, place: str) -> Html:
    rows = []
    for number, b in enumerate(curves.breaks[:_MOST_BREAKS], 1):
        rows.append(
            (
                Cell(str(number), number),
                join(_views(curves, place, number, b)),
                _BREAK_NAMES[b.kind],
                Cell(_between(b), b.start),
                Cell(_size(b), max(map(abs, b.size_ns or b.rate_ppm or (0,)))),
            )
        )
    more = curves.n_breaks - len(rows)
    return join(
        table("Discontinuities", (">no.", "", "kind", ">time", ">size"), rows),
        tag("p", f"{more:,} more are not shown.") if more > 0 else None,
    )


def _between(b: Break) -> str:
    if b.start == b.end:
        return f"at {_seconds(b.start)}"
    return f"{_seconds(b.start)} to {_seconds(b.end)}"


def _seconds(ns: float) -> str:
    if abs(ns) >= _LONG_NS:
        return duration(ns)
    return f"{ns / 1e9:,.6f} s" if abs(ns) < 1e12 else f"{ns / 1e9:,.3f} s"


def _size(b: Break) -> str:
    if b.rate_ppm is not None:
        low, high = b.rate_ppm
        return f"{low:+.3g} to {high:+.3g} ppm"
    if b.size_ns is None:
        return "-"
    low_ns, high_ns = b.size_ns
    first, last = signed_duration(low_ns), signed_duration(high_ns)
    return first if first == last else f"{first} to {last}"


def _numbers(curves: Curves) -> Html:
    """Return the curves at a few instants, for those who cannot see the picture."""
    tube = curves.sampled
    known = np.flatnonzero(np.isfinite(tube.estimate))
    places = np.linspace(0, len(known) - 1, min(_SAMPLES, len(known))).astype(int)
    chosen = known[np.unique(places)]
    rows = [
        (
            Cell(_seconds(tube.time[k]), float(tube.time[k])),
            Cell(signed_duration(float(tube.estimate[k])), float(tube.estimate[k])),
            _span(tube.half[k], "± "),
            _span(tube.floor[k]),
        )
        for k in chosen.tolist()
    ]
    return table(
        "The curves at a few instants",
        (">time", ">offset − trend", ">error bar", ">|floor − estimate|"),
        rows,
    )


def _span(ns: float, sign: str = "") -> Cell:
    return Cell(f"{sign}{duration(ns)}", float(ns)) if np.isfinite(ns) else Cell("-", -1.0)


def snapshots_section(facts: Facts) -> Html:
    """Return the table of the snapshots' readings that the pictured pairs have."""
    seen = (pair.curves.seen for pair in facts.pictured if pair.curves is not None)
    total = sum(int((one.number >= 0).sum()) for one in seen)
    every = max(1, -(-total // _MOST_SNAPSHOTS))
    rows = [row for pair in facts.pictured for row in _snapshot_rows(facts, pair, every)]
    rows.sort(key=lambda row: (row[0].value, row[3]))
    inner = table(
        "Snapshots of the pairs above, in ns. Click a heading to sort.",
        (
            ">no.",
            ">packet",
            ">time",
            "clock",
            ">reading",
            "reference",
            ">reading",
            ">offset − trend",
            ">half-width",
            "note",
        ),
        rows,
    )
    total_line = f"{count(len(facts.survey.snapshot_packets), 'snapshot')} in the trace"
    if not rows:
        return empty("Snapshots", f"{total_line}.", id="snapshots")
    return foldable(
        "Snapshots",
        f"{total_line}; a table of {count(len(rows), 'reading')} of the pairs above"
        f"{f', one of {every}' if every > 1 else ''}",
        inner,
        is_open=False,
        id="snapshots",
    )


def _snapshot_rows(facts: Facts, pair: PairFacts, every: int) -> Iterator[tuple[Any, ...]]:
    """Yield one of `every` readings of a pair, and all of its discontinuities, as rows."""
    curves = pair.curves
    assert curves is not None
    name = facts.survey.graph.name
    notes = {
        snapshot: f"{_BREAK_NAMES[b.kind]} ({number})"
        for number, b in enumerate(curves.breaks, 1)
        for snapshot in b.snapshots
    }
    seen = curves.seen
    for k, snapshot in enumerate(seen.number.tolist()):
        note = notes.get(snapshot, "")
        if snapshot < 0 or (k % every and not note):
            continue
        yield (
            number_cell(snapshot),
            number_cell(int(facts.survey.snapshot_packets[snapshot])),
            Cell(_seconds(seen.time[k]), float(seen.time[k])),
            name(pair.clock),
            number_cell(int(seen.clock[k])),
            name(pair.reference),
            number_cell(int(seen.hub[k])),
            Cell(f"{round(seen.offset[k]):+,}", float(seen.offset[k])),
            Cell(f"{seen.half[k]:,.0f}", float(seen.half[k])),
            note,
        )
