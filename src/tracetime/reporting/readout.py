"""The facts of a picture at each place that readout.js cannot read from the picture itself.

JavaScript's numbers hold no absolute time. Such times are int64 in base64, or digits; all else in a
picture is relative to one of them.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from tracetime.graph.curves import Break, Curves
from tracetime.reporting.drawing import BROKEN, FLOOR, INK, TUBE, time_unit
from tracetime.reporting.facts import Facts
from tracetime.reporting.markup import Html, tag
from tracetime.reporting.measure import HalfWidths
from tracetime.reporting.plot import offset_unit_of, time_unit_of
from tracetime.reporting.timeline import ClockBins
from tracetime.text import duration, half_width, signed_duration

# The legend of a pair's picture, in HTML: it wraps on a narrow screen.


def pair_key(curves: Curves) -> Html:
    """Return the legend, without entries for glyphs that the picture lacks."""
    items = [
        ("snapshot", tag("circle", cx=10, cy=7, r=3.5, fill=INK)) if curves.n_snapshots else None,
        ("message", _diamond(fill="none", stroke=INK)) if curves.n_orders else None,
        ("outlier", _cross(BROKEN)) if curves.seen.odd.any() else None,
        ("estimate, rate", tag("path", d="M0 7H20", stroke=TUBE, stroke_width=2.5)),
        (
            "error bar, open to one side" if np.isnan(curves.median_bar_ns) else "error bar",
            [
                tag("path", d="M0 1H20V13H0Z", fill=TUBE, fill_opacity=0.2),
                tag("path", d="M0 1H20M0 13H20", stroke=TUBE),
            ],
        ),
        ("drift between snapshots", _diamond(fill=INK)) if len(curves.gap_ppm) else None,
        (
            "|floor − estimate|",
            tag("path", d="M0 7H20", stroke=FLOOR, stroke_width=2, stroke_dasharray="5 3"),
        )
        if np.isfinite(curves.sampled.floor).any()
        else None,
        (
            "discontinuity",
            tag(
                "path",
                d="M1 1H19V13H1Z",
                fill=BROKEN,
                fill_opacity=0.15,
                stroke=BROKEN,
                stroke_dasharray="2 3",
            ),
        )
        if curves.breaks
        else None,
    ]
    return tag("ul", (_item(*item) for item in items if item is not None), class_="key")


def _item(text: str, mark: Any) -> Html:
    swatch = tag("svg", mark, viewBox="0 0 20 14", width=20, height=14, aria_hidden="true")
    return tag("li", swatch, text)


def _diamond(**look: str) -> Html:
    return tag("path", d="M10 2L14 7L10 12L6 7Z", **look)


def _cross(colour: str) -> Html:
    return tag("path", d="M6 3L14 11M14 3L6 11", stroke=colour, stroke_width=2.5)


def pair_readout(curves: Curves, reference: str, clock: str) -> dict[str, Any]:
    """Return the facts of a pair's picture; the rest is in its sources."""
    # As the picture has them: snapshots, messages, outliers.
    seen = curves.seen
    order = np.argsort(np.where(seen.odd, 2, seen.number < 0), kind="stable")
    return {
        "kind": "pair",
        "reference": reference,
        "clock": clock,
        "unit": time_unit_of(curves)[1],
        "size": offset_unit_of(curves)[1],
        "origin": str(curves.origin_ns),
        "trend": curves.trend_ppm if np.isfinite(curves.trend_ppm) else 0.0,
        "references": _int64(seen.hub[order]),
        "clocks": _int64(seen.clock[order]),
        "zones": [
            {"start": b.start, "end": b.end, "text": f"{number}: {break_in_words(b)}"}
            for number, b in enumerate(curves.breaks, 1)
        ],
    }


def break_in_words(b: Break) -> str:
    """Return the kind of a discontinuity, and its limits."""
    name = b.kind.replace("_", " ")
    if b.rate_ppm is not None:
        return f"{name}, {b.rate_ppm[0]:+.3g} to {b.rate_ppm[1]:+.3g} ppm"
    if b.size_ns is None:
        return name
    first, last = (signed_duration(limit) for limit in b.size_ns)
    return f"{name}, {first}" if first == last else f"{name}, {first} to {last}"


def events_readout(facts: Facts, rows: list[tuple[str, ClockBins]]) -> dict[str, Any]:
    """Return the facts of the picture of events: counts by clock and bin."""
    return {
        "kind": "events",
        "reference": facts.survey.graph.name(facts.survey.trace_clock),
        "unit": time_unit(float(facts.end_ns - facts.start_ns))[1],
        "edges": _int64(facts.histogram.edges),
        "rows": [
            {"name": name, "events": row.resolved.tolist(), "lost": row.unresolved.tolist()}
            for name, row in rows
        ],
    }


def points_readout(points: list[tuple[float, float, str]]) -> dict[str, Any]:
    """Return the facts of a picture of points: x, y and a text for each."""
    return {"kind": "points", "points": [list(point) for point in points]}


def bar_in_words(name: str, bars: HalfWidths, curves: Curves) -> str:
    """Return the error bars of a clock, and the error of floor."""
    parts = [f"{name}: median {half_width(bars.median)}", f"widest {half_width(bars.most)}"]
    if np.isfinite(curves.most_floor_ns):
        parts.append(f"floor off by at most {duration(curves.most_floor_ns)}")
    return ", ".join(parts)


def _int64(values: npt.NDArray[np.int64]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<i8").tobytes()).decode()
