"""Pictures in SVG, drawn by code: lines, areas, texts, and panels with scales of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

WIDTH = 960

# Colours that colour-blind people can distinguish, for light and dark pages.
STYLE = """
    .card { fill: #ffffff; stroke: #d0d7de; }
    text {
      font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328;
    }
    .name { font-weight: 600; }
    .small { font-size: 13px; fill: #59636e; }
    .middle { text-anchor: middle; } .end { text-anchor: end; }
    .axis { stroke: #d0d7de; fill: none; }
    .clock { stroke: #59636e; stroke-width: 2; fill: none; }
    .tie { stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 4 4; fill: none; }
    .dot { fill: #59636e; }
    .one { stroke: #bc4c00; stroke-width: 2.5; fill: none; }
    text.one, .dot.one { fill: #bc4c00; stroke: none; }
    .two { stroke: #0969da; stroke-width: 2.5; fill: none; }
    text.two, .dot.two { fill: #0969da; stroke: none; }
    .band { fill: #0969da; fill-opacity: 0.22; stroke: none; }
    .wide { fill: #0969da; fill-opacity: 0.10; stroke: none; }
    .box { fill: none; stroke: #59636e; stroke-width: 2; }
    .lost { stroke-dasharray: 4 4; }
    @media (prefers-color-scheme: dark) {
      .card { fill: #0d1117; stroke: #3d444d; }
      text { fill: #f0f6fc; }
      .small { fill: #9198a1; }
      .axis { stroke: #3d444d; }
      .clock, .box { stroke: #9198a1; }
      .tie { stroke: #656c76; }
      .dot { fill: #9198a1; }
      .one { stroke: #f0883e; } text.one, .dot.one { fill: #f0883e; }
      .two { stroke: #4493f8; } text.two, .dot.two { fill: #4493f8; }
      .band { fill: #4493f8; fill-opacity: 0.30; }
      .wide { fill: #4493f8; fill-opacity: 0.14; }
    }
"""


class Picture:
    """An SVG under construction; coordinates are px, rounded to tenths: the bytes stay the same."""

    def __init__(self, title: str, description: str, height: int) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'aria-labelledby="title desc">',
            f'  <title id="title">{escape(title)}</title>',
            f'  <desc id="desc">{escape(description)}</desc>',
            f"  <style>{STYLE}  </style>",
            f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" '
            'rx="10"/>',
        ]

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        self._parts.append(f'  <text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>')

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self._parts.append(f'  <path class="{kind}" d="M{path}"/>')

    def area(self, upper: list[tuple[float, float]], lower: list[tuple[float, float]]) -> None:
        self.area_of(upper, lower, "band")

    def area_of(
        self, upper: list[tuple[float, float]], lower: list[tuple[float, float]], kind: str
    ) -> None:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in [*upper, *reversed(lower)])
        self._parts.append(f'  <path class="{kind}" d="M{path}Z"/>')

    def wide_area(self, upper: list[tuple[float, float]], lower: list[tuple[float, float]]) -> None:
        self.area_of(upper, lower, "wide")

    def hatch(self, corner: tuple[float, float], opposite: tuple[float, float]) -> None:
        """Diagonal lines between the upper left corner and the lower right one."""
        (left, top), (right, bottom) = corner, opposite
        height = bottom - top
        for along in np.arange(left - height, right, 10).tolist():
            first, last = max(along, left), min(along + height, right)
            self.line([(first, bottom - (first - along)), (last, bottom - (last - along))], "one")

    def dot(self, x: float, y: float, kind: str = "dot", r: float = 4) -> None:
        self._parts.append(f'  <circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"/>')

    def box(self, x: float, y: float, width: float, kind: str = "box") -> None:
        self._parts.append(
            f'  <rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="44" '
            'rx="8"/>'
        )

    def __str__(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])


class Panel:
    """A rectangle of a picture with its own scales; the y axis points up."""

    def __init__(
        self,
        picture: Picture,
        left: float,
        top: float,
        width: float,
        height: float,
        x: tuple[float, float],
        y: tuple[float, float],
    ) -> None:
        self.picture = picture
        self._left, self._top, self._width, self._height = left, top, width, height
        self._x, self._y = x, y
        picture.line([(left, top), (left, top + height), (left + width, top + height)], "axis")

    def at(self, x: float, y: float) -> tuple[float, float]:
        along = (x - self._x[0]) / (self._x[1] - self._x[0])
        up = (y - self._y[0]) / (self._y[1] - self._y[0])
        return self._left + along * self._width, self._top + (1 - up) * self._height

    def points(self, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
        return [self.at(x, y) for x, y in zip(xs, ys, strict=True)]

    def ticks(self, values: Sequence[float], label: Callable[[float], str]) -> None:
        """Marks of the y axis."""
        for value in values:
            x, y = self.at(self._x[0], value)
            self.picture.line([(x, y), (x + self._width, y)], "axis")
            self.picture.text(x - 10, y + 5, label(value), "small end")

    def below(self, values: Sequence[float], label: Callable[[float], str]) -> None:
        """Marks of the x axis."""
        for value in values:
            x, y = self.at(value, self._y[0])
            self.picture.text(x, y + 20, label(value), "small middle")
