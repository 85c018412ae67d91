"""What the lines and marks of a pair's picture are: a legend in HTML, as it reads on a phone."""

from __future__ import annotations

from typing import Any

from tracetime.reporting.markup import Html, tag
from tracetime.reporting.plot import BROKEN, FLOOR, INK, TUBE


def pair_key(*, outliers: bool, breaks: bool) -> Html:
    """The legend; what a picture does not show is left out."""
    items = [
        ("snapshot", tag("circle", cx=10, cy=7, r=3.5, fill=INK)),
        ("outlier", _cross(BROKEN)) if outliers else None,
        ("estimate, rate", tag("path", d="M0 7H20", stroke=TUBE, stroke_width=2.5)),
        (
            "error bar",
            [
                tag("path", d="M0 1H20V13H0Z", fill=TUBE, fill_opacity=0.2),
                tag("path", d="M0 1H20M0 13H20", stroke=TUBE),
            ],
        ),
        (
            "drift between snapshots",
            tag("path", d="M10 2L14 7L10 12L6 7Z", fill=INK),
        ),
        (
            "floor's distance",
            tag("path", d="M0 7H20", stroke=FLOOR, stroke_width=2, stroke_dasharray="5 3"),
        ),
        (
            "discontinuity",
            tag(
                "path", d="M1 1H19V13H1Z", fill=BROKEN, fill_opacity=0.15, stroke=BROKEN,
                stroke_dasharray="2 3",
            ),
        )
        if breaks
        else None,
    ]  # fmt: skip
    return tag("ul", (_item(*item) for item in items if item is not None), class_="key")


def _item(text: str, mark: Any) -> Html:
    swatch = tag("svg", mark, viewBox="0 0 20 14", width=20, height=14, aria_hidden="true")
    return tag("li", swatch, text)


def _cross(colour: str) -> Html:
    return tag("path", d="M6 3L14 11M14 3L6 11", stroke=colour, stroke_width=2.5)
