"""The picture of a pair of clocks: its offset with error bars, its drift, and the bars' width.

`tracetime.graph.curves` computes what is drawn.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracetime.graph.curves import Curves
from tracetime.graph.values import Floats
from tracetime.reporting.drawing import (
    BAND,
    BROKEN,
    DOT,
    FLOOR,
    INK,
    LINE,
    MESSAGE,
    OUTLIER,
    TUBE,
    Figure,
    panel_of,
    plain,
    time_name,
    time_range,
    time_ticks,
    time_unit,
    unit_of,
)
from tracetime.reporting.drift import drift_panel, jumps_of, jumps_panel
from tracetime.reporting.models import Model, as_bokeh

_MOST_MARKS: Final = 40
"""Discontinuities that are marked: of more, the numbers overlap."""

_CROWDED: Final = 40
"""Snapshots from which their whiskers are pale: they would hide the dots."""

# Looks of glyphs.
_FLOOR_LINE: Final = {"line_color": FLOOR, "line_width": 1.5, "line_dash": [5, 3]}


def pair_figure(curves: Curves, reference: str, clock: str, *, alone: bool = True) -> Any:
    """Return `pair_panels` as a figure of Bokeh's own.

    Raises:
        UsageError: Bokeh is not installed.
    """
    return as_bokeh(pair_panels(curves, reference, clock, alone=alone))


def pair_panels(curves: Curves, reference: str, clock: str, *, alone: bool) -> Model:
    """Draw panels over one time: the offset with its bars, the drift, and the bars' width.

    Where the offset jumped, a panel above them draws it with the jumps, the others without.

    Args:
        curves: what to draw.
        reference, clock: the names of the two clocks.
        alone: add Bokeh's tools, a title and a legend; the report has its own.
    """
    start, (name, ns) = first_of(curves), time_unit_of(curves)
    across = time_range(start / ns, curves.end / ns)
    jumps = [jumps_panel(curves, ns, across, alone)] if jumps_of(curves) else []
    tube = curves.sampled
    has_widths = bool((np.isfinite(tube.half) | np.isfinite(tube.floor)).any())
    panels = [
        *jumps,
        _offset_panel(curves, ns, across, alone),
        drift_panel(curves, ns, across, alone, last=not has_widths),
        *([_width_panel(curves, ns, across, alone)] if has_widths else []),
    ]
    for panel in panels:
        _mark(panel, curves, ns, numbered=panel is panels[0])
    axis = panels[-1].xaxis
    axis.axis_label = plain(f"time ({name})")
    if alone:
        axis.axis_label = plain(f"{reference} after {curves.origin_ns:,} ns ({name})")
        panels[0].title = Model("Title", text=plain(f"{clock} − {reference}"))
    return Model("Column", children=panels, sizing_mode="stretch_width", spacing=0)


def first_of(curves: Curves) -> float:
    """Return the first moment of a picture, ns after the origin."""
    return min(0.0, float(np.nanmin(curves.sampled.time)))


def time_unit_of(curves: Curves) -> tuple[str, float]:
    """Return the unit of the time axis, and how many ns it has."""
    return time_unit(curves.end - first_of(curves))


def offset_unit_of(curves: Curves) -> tuple[str, float]:
    """Return the unit of the offsets without jumps, and how many ns it has."""
    seen, tube = curves.seen, curves.sampled
    plain = ~seen.odd & ((seen.number >= 0) | is_open(curves))
    return unit_of(np.concatenate([seen.offset[plain], seen.half[plain], tube.high, tube.low]))


def is_open(curves: Curves) -> bool:
    """Return whether no bar of a picture has two sides."""
    return not bool(np.isfinite(curves.sampled.half).any())


def _offset_panel(curves: Curves, ns: float, across: Model, alone: bool) -> Figure:
    tube = curves.sampled
    unit, size = offset_unit_of(curves)
    jumped = bool(jumps_of(curves))
    label = "without jumps" if jumped else "offset − trend"
    panel = panel_of(260, across, f"{label} ({unit})", alone, not jumped, x_axis_location=None)
    low, high = _without_open_sides(curves)
    xs, ys = _pieces(tube.time / ns, low / size, high / size)
    band = panel.draw("Patches", {"xs": xs, "ys": ys}, xs="xs", ys="ys", **BAND)
    source = Model(
        "ColumnDataSource",
        data={
            "time": tube.time / ns,
            "estimate": tube.estimate / size,
            "low": tube.low / size,
            "high": tube.high / size,
        },
        name="tube",
    )
    edges = [
        panel.draw("Line", source, x="time", y=side, line_color=TUBE, line_alpha=0.7)
        for side in ("low", "high")
    ]
    line = panel.draw("Line", source, x="time", y="estimate", **LINE)
    dots, whiskers = _draw_snapshots(panel, curves, ns, size)
    messages = _draw_messages(panel, curves, ns, size)
    # Outliers, slow messages and the bars over a jump do not count for the scale: all else would be
    # flat. Fast messages are next to the bar.
    scaled = messages if is_open(curves) else []
    panel.y_range.renderers = [line, *edges, dots[0], *scaled]
    panel.y_range.range_padding = 1.0 if messages and not scaled else 0.15
    panel.y_range.min_interval = 2.0 / size
    if alone:
        panel.toolbar.tools.append(_hover(dots, ns, unit))
        outlier = [("outlier", dots[1:])]
        panel.legend(
            [
                ("snapshot", [dots[0], whiskers] if curves.n_snapshots else []),
                ("message", messages),
                *outlier,
                ("estimate", [line]),
                ("error bar", [band, edges[0]]),
            ],
        )
    return panel


def _draw_snapshots(
    panel: Figure, curves: Curves, ns: float, size: float
) -> tuple[list[Model], Model]:
    """Draw the snapshots: dots, outliers last, and the whiskers of those that are none."""
    seen = curves.seen

    def snapshots(name: str, which: npt.NDArray[np.bool_]) -> Model:
        offset, half = seen.offset[which] / size, seen.half[which] / size
        return Model(
            "ColumnDataSource",
            data={
                "time": seen.time[which] / ns,
                "offset": offset,
                "low": offset - half,
                "high": offset + half,
                "number": seen.number[which],
                "half": seen.half[which],
            },
            name=name,
        )

    read = snapshots("snapshots", ~seen.odd & (seen.number >= 0))
    look = {"line_color": INK, "line_alpha": 0.5 if len(seen.time) < _CROWDED else 0.2}
    whiskers = panel.draw("Segment", read, x0="time", y0="low", x1="time", y1="high", **look)
    dots = [panel.draw("Scatter", read, x="time", y="offset", **DOT)]
    if seen.odd.any():
        outliers = snapshots("outliers", seen.odd)
        dots.append(panel.draw("Scatter", outliers, x="time", y="offset", **OUTLIER))
    return dots, whiskers


def _draw_messages(panel: Figure, curves: Curves, ns: float, size: float) -> list[Model]:
    """Draw orders, each at the bound that it gives; an empty list without any."""
    seen = curves.seen
    which = ~seen.odd & (seen.number < 0)
    if not which.any():
        return []
    nothing = np.zeros(int(which.sum()))
    source = Model(
        "ColumnDataSource",
        data={
            "time": seen.time[which] / ns,
            "offset": seen.offset[which] / size,
            "number": seen.number[which],
            "half": nothing,
        },
        name="messages",
    )
    return [panel.draw("Scatter", source, x="time", y="offset", **MESSAGE)]


def _without_open_sides(curves: Curves) -> tuple[Floats, Floats]:
    """The sides of the bars; an open one is moved far out of the picture."""
    tube, seen = curves.sampled, curves.seen
    known = np.isfinite(tube.estimate)
    every = np.concatenate([tube.estimate[known], seen.offset])
    far = 10 * float(every.max() - every.min()) + 10_000.0
    return (
        np.where(known & np.isnan(tube.low), tube.estimate - far, tube.low),
        np.where(known & np.isnan(tube.high), tube.estimate + far, tube.high),
    )


def _hover(dots: list[Model], ns: float, unit: str) -> Model:
    """Return the tooltip with the values of a snapshot; the report has readout.js for that."""
    return Model(
        "HoverTool",
        renderers=dots,
        tooltips=[
            ("snapshot", "@number"),
            ("time", f"@time {time_name(ns)}"),
            ("offset", f"@offset {unit}"),
            ("half-width", "@half{0,0} ns"),
        ],
    )


def _width_panel(curves: Curves, ns: float, across: Model, alone: bool) -> Figure:
    tube = curves.sampled
    panel = panel_of(190, across, "error", alone, y_axis_type="log")
    # A logarithmic axis has no zero, and 1 ns is the resolution of all times.
    half, floor = np.maximum(tube.half, 1.0), np.maximum(tube.floor, 1.0)
    source = Model(
        "ColumnDataSource",
        data={"time": tube.time / ns, "half": half, "floor": floor},
        name="width",
    )
    bar = panel.draw("Line", source, x="time", y="half", **LINE)
    off = panel.draw("Line", source, x="time", y="floor", **_FLOOR_LINE)
    time_ticks(panel.yaxis, np.concatenate([half, floor]))
    if alone:
        panel.legend([("half-width of the bar", [bar]), ("|floor − estimate|", [off])])
    return panel


def _mark(panel: Figure, curves: Curves, ns: float, *, numbered: bool) -> None:
    """Mark the discontinuities: a band over the zone, with lines at its ends, and a number."""
    if not curves.breaks:
        return
    marked = curves.breaks[:_MOST_MARKS]
    source = Model(
        "ColumnDataSource",
        data={
            "start": np.array([b.start for b in marked]) / ns,
            "end": np.array([b.end for b in marked]) / ns,
            "middle": np.array([(b.start + b.end) / 2 for b in marked]) / ns,
            "text": [str(k) for k in range(1, len(marked) + 1)],
        },
    )
    panel.extra_y_ranges = {"frame": Model("Range1d", start=0, end=1)}
    panel.extra_y_scales = {"frame": Model("LinearScale")}
    band = panel.draw(
        "Quad",
        source,
        left="start",
        right="end",
        bottom=0,
        top=1,
        fill_color=BROKEN,
        fill_alpha=0.12,
        line_color=BROKEN,
        line_dash=[2, 3],
    )
    band.y_range_name, band.level = "frame", "underlay"
    if numbered:
        label = panel.draw(
            "Text",
            source,
            x="middle",
            y=1,
            text="text",
            text_color=BROKEN,
            text_font_size="13px",
            text_font_style="bold",
            text_align="center",
            text_baseline="top",
            y_offset=2,
        )
        label.y_range_name, label.level = "frame", "overlay"


def _pieces(time: Floats, low: Floats, high: Floats) -> tuple[list[Any], list[Any]]:
    """Return the outlines of a band, one for each part without gaps."""
    known = np.isfinite(low) & np.isfinite(high)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(np.int8), [0]])))
    xs, ys = [], []
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        there, back = slice(start, end), slice(end - 1, start - 1 if start else None, -1)
        xs.append(np.concatenate([time[there], time[back]]))
        ys.append(np.concatenate([low[there], high[back]]))
    return xs, ys
