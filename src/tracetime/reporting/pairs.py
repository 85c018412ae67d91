"""The sections of pairs of clocks: pictures, what was found about them, and their snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.doctor import Finding
from tracetime.graph.tube.curves import Break, Curves
from tracetime.reporting.gather import MOST_FINDINGS, Facts
from tracetime.reporting.legend import pair_key
from tracetime.reporting.markup import Cell, Html, join, number_cell, prose, table, tag
from tracetime.reporting.measure import MOST_MEASURED, PairFacts
from tracetime.reporting.plot import pair_figure, time_unit
from tracetime.text import count, duration

if TYPE_CHECKING:
    from tracetime.reporting.embedding import Figures

_MOST_BREAKS: Final = 40
_MOST_BESIDE: Final = 10
_MOST_NAMES: Final = 40
_MOST_WITHOUT_BARS: Final = 10
_MOST_SNAPSHOTS: Final = 800
_SAMPLES: Final = 16
_LONG_ZONE: Final = 30
_CALLED: Final = {
    "suspend": "suspend", "step": "step", "reset": "reset", "outlier": "outlier",
    "rate_change": "change of rate", "possible_step": "step, or two changes of rate",
}  # fmt: skip


def pair_sections(facts: Facts, figures: Figures) -> Html:
    """A picture of each pair that matters, with what was found about it."""
    shown = [_pair(facts, figures, number, pair) for number, pair in enumerate(facts.pictured, 1)]
    if not shown:
        shown = [tag("p", "No two clocks were read together.")]
    return tag(
        "section",
        tag("h2", "Pairs of clocks"),
        shown,
        _without_picture(facts),
        _without_bars(facts),
        id="pairs",
    )


def _without_picture(facts: Facts) -> Html | None:
    """Which pairs have no picture, and where to see them."""
    left_out, measured = facts.left_out, facts.measured
    if not left_out:
        return None
    more = len(left_out) - _MOST_NAMES
    told = (
        f"Without a picture: {', '.join(left_out[:_MOST_NAMES])}"
        + (f" and {more:,} more" if more > 0 else "")
        + ". Pairs with findings come first, then those with events, those that broke, and "
        "those that cost floor most"
    )
    if not measured.beyond:
        return tag("p", f"{told}; the table of clocks has them all.", class_="hint")
    n = len(facts.compared) - len(measured.beyond)
    return join(
        tag("p", f"{told}.", class_="hint"),
        tag(
            "p",
            f"Of {len(facts.compared):,} pairs of clocks {n:,} were measured, by the same order: "
            "the drift and the bars in the table of clocks are theirs. ",
            prose(
                "In Python `trace.clocks.plot(src, dst)` draws any pair"
                + ("; `--max-tubes` allows more." if n < MOST_MEASURED else ".")
            ),
            class_="hint",
        ),
    )


def _without_bars(facts: Facts) -> Html | None:
    """The clocks that cannot have bars, with the reason."""
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
        tag("p", f"{more:,} more have none.", class_="hint") if more > 0 else None,
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
    told = [number for number in pair.findings if number <= MOST_FINDINGS]
    for number in told[:_MOST_BESIDE]:
        finding = facts.findings[number - 1]
        spot = _spot(facts, drawn, finding)
        lines.append(
            tag(
                "li",
                tag("span", finding.severity, class_=f"badge {finding.severity}"),
                " ",
                tag("a", finding.title, href=f"#finding-{number}"),
                " ",
                _show(place, "show", f"finding {number}", spot) if spot else None,
            )
        )  # fmt: skip
    more = len(pair.findings) - len(lines)
    if more and lines:
        lines.append(tag("li", tag("a", f"and {count(more, 'more finding')}", href="#findings")))
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
                    number_cell(snapshot),
                    number_cell(int(packets[snapshot])),
                    Cell(_seconds(seen.time[k]), float(seen.time[k])),
                    graph.name(pair.clock),
                    number_cell(int(seen.clock[k])),
                    graph.name(pair.hub),
                    number_cell(int(seen.hub[k])),
                    Cell(f"{round(seen.offset[k]):+,}", float(seen.offset[k])),
                    Cell(f"{seen.half[k]:,.0f}", float(seen.half[k])),
                    note,
                )
            )
    rows.sort(key=lambda row: (row[0].value, row[3]))
    inner = table(
        "Snapshots of the pictured pairs, readings in ns; a heading sorts",
        (">no.", ">packet", ">time", "clock", ">read", "when", ">read", ">off its trend",
         ">half-width", "note"),
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
