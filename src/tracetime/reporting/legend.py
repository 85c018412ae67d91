"""The legend of a pair's picture, in HTML: it wraps on a narrow screen."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracetime.graph.tube.curves import Curves
from tracetime.reporting.drawing import BROKEN, FLOOR, INK, TUBE
from tracetime.reporting.markup import Html, tag


def pair_key(curves: Curves) -> Html:
    """Return the legend, without what the picture has not."""
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
        (
            "drift between snapshots",
            _diamond(fill=INK),
        )
        if len(curves.gap_ppm)
        else None,
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
