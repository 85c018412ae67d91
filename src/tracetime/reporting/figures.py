"""Pictures of the whole trace: events over time, error bars by clock, Allan deviation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tracetime.graph.values import Floats
from tracetime.reporting.drawing import (
    BROKEN,
    FLOOR,
    INK,
    TUBE,
    Figure,
    plain,
    time_range,
    time_ticks,
    time_unit,
    tools,
)
from tracetime.reporting.facts import Facts
from tracetime.reporting.measure import PairFacts
from tracetime.reporting.models import Model
from tracetime.reporting.timeline import ClockBins
from tracetime.text import short_names

_ROW_HEIGHT: Final = 42
"""Pixels of a clock's events."""

_LONGEST_NAME: Final = 22
"""Characters of a clock's name that fit left of a picture."""

# Dash and marker distinguish the lines without their colours.
_LINES: Final = (
    ("#0072b2", "solid", "circle"),
    ("#c04f00", "dashed", "square"),
    ("#00795a", "dotted", "triangle"),
    ("#a3477f", "dotdash", "diamond"),
    ("#5b5b5b", "solid", "inverted_triangle"),
    ("#9a6a00", "dashed", "plus"),
    ("#0072b2", "dotted", "x"),
    ("#c04f00", "dotdash", "asterisk"),
)
MOST_LINES: Final = len(_LINES)

# Looks of glyphs.
_HATCH: Final = {"hatch_color": BROKEN, "hatch_scale": 6}
_EVENTS: Final[dict[str, dict[str, Any]]] = {
    "resolved": {
        "fill_color": TUBE,
        "fill_alpha": 0.75,
        "line_color": None,
        "line_width": 0.5,
        "hatch_pattern": None,
        **_HATCH,
    },
    "unresolved": {
        "fill_color": BROKEN,
        "fill_alpha": 0.35,
        "line_color": BROKEN,
        "line_width": 0.5,
        "hatch_pattern": "/",
        **_HATCH,
    },
}
_SPAN: Final = {"line_color": TUBE, "line_width": 4, "line_alpha": 0.6}
_MEDIAN: Final = {"marker": "circle", "size": 9, "fill_color": TUBE, "line_color": None}
_FLOOR: Final = {"marker": "x", "size": 10, "line_color": FLOOR, "line_width": 2.5}


def events_figure(facts: Facts, rows: list[tuple[str, ClockBins]]) -> Figure:
    """Draw a histogram for each clock: events with a trace time, and, hatched, those without."""
    start = int(facts.histogram.edges[0])
    name, ns = time_unit(float(int(facts.histogram.edges[-1]) - start))
    edges = np.array([(int(edge) - start) / ns for edge in facts.histogram.edges])
    figure = Figure(
        _ROW_HEIGHT * len(rows) + 90,
        x_range=time_range(0.0, float(edges[-1])),
        y_range=Model("Range1d", start=-0.1, end=len(rows)),
        tools=tools(),
        toolbar_location=None,
    )
    drawn = {}
    sides = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
    for kind, columns in _boxes(rows, edges).items():
        source = Model(
            "ColumnDataSource",
            data=dict(zip(("left", "right", "bottom", "top", "events"), columns, strict=True)),
        )
        drawn[kind] = figure.draw("Quad", source, **sides, **_EVENTS[kind])
    _names(figure, [label for label, _ in rows], 0.35)
    figure.xaxis.axis_label = plain(f"time ({name})")
    lost = any(row.unresolved.any() for _, row in rows)
    figure.legend(
        [
            ("with trace time", [drawn["resolved"]]),
            ("without trace time", [drawn["unresolved"]] if lost else []),
        ],
    )
    return figure


def _boxes(rows: list[tuple[str, ClockBins]], edges: Floats) -> dict[str, list[Floats]]:
    """Return the boxes of histograms by kind: left, right, bottom, top, and events."""
    boxes: dict[str, list[list[Floats]]] = {"resolved": [], "unresolved": []}
    for level, (_, row) in enumerate(reversed(rows)):
        most = max(1, int((row.resolved + row.unresolved).max()))
        below: Floats = np.full(len(row.resolved), float(level))
        for kind, counts in (("resolved", row.resolved), ("unresolved", row.unresolved)):
            some = counts > 0
            top: Floats = below + counts * (0.8 / most)
            boxes[kind].append(
                [
                    edges[:-1][some],
                    edges[1:][some],
                    below[some],
                    top[some],
                    counts[some].astype(np.float64),
                ]
            )
            below = top
    return {
        kind: [np.concatenate(column) for column in zip(*parts, strict=True)]
        for kind, parts in boxes.items()
    }


def bars_figure(pairs: list[tuple[str, PairFacts]]) -> Figure:
    """Draw the median and the widest bar of each pair, and how far floor is off, on one scale."""
    figure = Figure(
        30 * len(pairs) + 90,
        x_axis_type="log",
        y_range=Model("Range1d", start=-0.5, end=len(pairs) - 0.5),
        toolbar_location=None,
    )
    level = np.arange(len(pairs))[::-1].astype(float)
    curves = [pair.curves for _, pair in pairs if pair.curves is not None]
    bars = [pair.bars for _, pair in pairs if pair.bars is not None]
    source = Model(
        "ColumnDataSource",
        data={
            "level": level,
            "median": _at_least_1([one.median for one in bars]),
            "most": _at_least_1([one.most for one in bars]),
            "floor": _at_least_1([c.most_floor_ns for c in curves]),
        },
    )
    ends = {"x0": "median", "y0": "level", "x1": "most", "y1": "level"}
    span = figure.draw("Segment", source, **ends, **_SPAN)
    median = figure.draw("Scatter", source, x="median", y="level", **_MEDIAN)
    floor = figure.draw("Scatter", source, x="floor", y="level", **_FLOOR)
    every = np.concatenate([source.data[name] for name in ("median", "most", "floor")])
    time_ticks(figure.xaxis, every)
    _names(figure, [label for label, _ in pairs])
    figure.legend(
        [("median bar", [median]), ("widest bar", [span]), ("floor off by at most", [floor])],
    )
    return figure


def allan_figure(lines: list[tuple[Floats, Floats]]) -> Figure:
    """Draw Allan deviations over averaging time, one line each, numbered as in the table."""
    figure = Figure(320, x_axis_type="log", y_axis_type="log", toolbar_location=None)
    items = []
    for number, ((times, deviations), (colour, dash, marker)) in enumerate(
        zip(lines, _LINES, strict=False), 1
    ):
        some = deviations > 0
        source = Model("ColumnDataSource", data={"x": times[some] / 1e9, "y": deviations[some]})
        items.append(
            (
                str(number),
                [
                    figure.draw(
                        "Line",
                        source,
                        x="x",
                        y="y",
                        line_color=colour,
                        line_dash=dash,
                        line_width=1.5,
                    ),
                    figure.draw(
                        "Scatter",
                        source,
                        x="x",
                        y="y",
                        marker=marker,
                        size=7,
                        line_color=colour,
                        fill_color=colour,
                    ),
                ],
            )
        )
    figure.xaxis.axis_label = plain("averaging time (s)")
    figure.yaxis.axis_label = plain("Allan deviation (ns/ns)")
    figure.yaxis.ticker.desired_num_ticks = 5
    figure.legend(items)
    return figure


def _names(figure: Figure, names: list[str], up: float = 0.0) -> None:
    """Name the rows of a figure, the first at the top, each `up` above the start of its row."""
    figure.yaxis.ticker = Model("FixedTicker", ticks=[level + up for level in range(len(names))])
    short = short_names(names, _LONGEST_NAME)
    figure.yaxis.major_label_overrides = {
        level + up: plain(short[name]) for level, name in enumerate(reversed(names))
    }
    figure.yaxis.major_label_text_color = INK
    figure.yaxis.major_tick_line_color = None
    figure.center[1].grid_line_color = None


def _at_least_1(values: list[float]) -> Floats:
    return np.maximum(np.nan_to_num(np.array(values, dtype=np.float64), nan=1.0), 1.0)
