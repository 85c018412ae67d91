"""The picture of a pair of clocks: its offset with error bars, its drift, and the bars' width.

`tracetime.graph.tube.curves` computes what is drawn.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracetime.graph.tube.curves import Curves
from tracetime.reporting.drawing import (
    BROKEN,
    FLOOR,
    INK,
    TUBE,
    Bokeh,
    Floats,
    time_name,
    time_range,
    time_unit,
    tools,
    unit_of,
)

_MOST_MARKS: Final = 40
"""Discontinuities that are marked: of more, the numbers overlap."""

_CROWDED: Final = 40
"""Snapshots from which their whiskers are pale: they would hide the dots."""

_LEAST_DRIFT_PPM: Final = 0.05
"""Half of the range of the drift axis at least: less is noise."""

# Looks of glyphs.
_BAND: Final = {"fill_color": TUBE, "fill_alpha": 0.18, "line_color": None}
_LINE: Final = {"line_color": TUBE, "line_width": 2}
_FLOOR_LINE: Final = {"line_color": FLOOR, "line_width": 1.5, "line_dash": [5, 3]}
_DOT: Final = {"marker": "circle", "size": 5, "fill_color": INK, "line_color": None}
_DIAMOND: Final = {"marker": "diamond", "size": 7, "fill_color": INK, "line_color": None}
_OUTLIER: Final = {"marker": "x", "size": 10, "line_color": BROKEN, "line_width": 2}


def pair_figure(curves: Curves, reference: str, clock: str, *, alone: bool = True) -> Any:
    """Draw three panels over one time: the offset with its bars, the drift, and the bars' width.

    Args:
        curves: what to draw.
        reference, clock: the names of the two clocks.
        alone: add Bokeh's tools, a title and a legend; the report has its own.

    Raises:
        UsageError: Bokeh is not installed.
    """
    bokeh = Bokeh()
    start = min(0.0, float(np.nanmin(curves.sampled.time)))
    name, ns = time_unit(curves.end - start)
    across = time_range(bokeh, start / ns, curves.end / ns)
    panels = [
        _offset_panel(bokeh, curves, ns, across, alone),
        _drift_panel(bokeh, curves, ns, across, alone),
        _width_panel(bokeh, curves, ns, across, alone),
    ]
    for panel in panels:
        _mark(bokeh, panel, curves, ns, numbered=panel is panels[0])
    axis = panels[-1].xaxis[0]
    axis.axis_label = bokeh.plain(f"time ({name})")
    if alone:
        axis.axis_label = bokeh.plain(f"{reference} after {curves.origin_ns:,} ns ({name})")
        panels[0].title = bokeh.models.Title(text=bokeh.plain(f"{clock} − {reference}"))
    return bokeh.layouts.column(*panels, sizing_mode="stretch_width", spacing=0)


def _panel(
    bokeh: Bokeh, height: int, across: Any, label: str, alone: bool, top: bool = False, **more: Any
) -> Any:
    made = tools(bokeh, alone)
    location = "above" if alone and top else None
    figure = bokeh.figure(
        height, clear=not alone, x_range=across, tools=made, toolbar_location=location, **more
    )
    figure.toolbar.active_scroll = made[1]
    figure.yaxis.axis_label = bokeh.plain(label)
    return figure


def _offset_panel(bokeh: Bokeh, curves: Curves, ns: float, across: Any, alone: bool) -> Any:
    seen, tube = curves.seen, curves.sampled
    plain = ~seen.odd
    unit, size = unit_of(
        np.concatenate([seen.offset[plain], seen.half[plain], tube.high, tube.low])
    )
    panel = _panel(
        bokeh, 260, across, f"offset − trend ({unit})", alone, True, x_axis_location=None
    )
    xs, ys = _pieces(tube.time / ns, tube.low / size, tube.high / size)
    band = bokeh.draw(panel, "Patches", {"xs": xs, "ys": ys}, xs="xs", ys="ys", **_BAND)
    source = bokeh.models.ColumnDataSource(
        {
            "time": tube.time / ns,
            "estimate": tube.estimate / size,
            "low": tube.low / size,
            "high": tube.high / size,
        }
    )
    edges = [
        bokeh.draw(panel, "Line", source, x="time", y=side, line_color=TUBE, line_alpha=0.7)
        for side in ("low", "high")
    ]
    line = bokeh.draw(panel, "Line", source, x="time", y="estimate", **_LINE)
    dots, whiskers = _draw_snapshots(bokeh, panel, curves, ns, size, unit)
    # Outliers and the bars over a jump do not count for the scale: all else would be flat.
    panel.y_range.renderers = [line, *edges, dots[0]]
    panel.y_range.range_padding = 0.15
    panel.y_range.min_interval = 2.0 / size
    if alone:
        outlier = [("outlier", dots[1:])]
        bokeh.legend(
            panel,
            [
                ("snapshot", [dots[0], whiskers]),
                *outlier,
                ("estimate", [line]),
                ("error bar", [band, edges[0]]),
            ],
        )
    return panel


def _draw_snapshots(
    bokeh: Bokeh, panel: Any, curves: Curves, ns: float, size: float, unit: str
) -> tuple[list[Any], Any]:
    """Draw the snapshots: dots, outliers last, and the whiskers of those that are none."""
    models, seen = bokeh.models, curves.seen

    def snapshots(which: npt.NDArray[np.bool_]) -> Any:
        offset, half = seen.offset[which] / size, seen.half[which] / size
        return models.ColumnDataSource(
            {
                "time": seen.time[which] / ns,
                "offset": offset,
                "low": offset - half,
                "high": offset + half,
                "number": seen.number[which],
                "half": seen.half[which],
            }
        )

    read = snapshots(~seen.odd)
    look = {"line_color": INK, "line_alpha": 0.5 if len(seen.time) < _CROWDED else 0.2}
    whiskers = bokeh.draw(panel, "Segment", read, x0="time", y0="low", x1="time", y1="high", **look)
    dots = [bokeh.draw(panel, "Scatter", read, x="time", y="offset", **_DOT)]
    if seen.odd.any():
        outliers = snapshots(seen.odd)
        dots.append(bokeh.draw(panel, "Scatter", outliers, x="time", y="offset", **_OUTLIER))
    panel.add_tools(
        models.HoverTool(
            renderers=dots,
            tooltips=[
                ("snapshot", "@number"),
                ("time", f"@time {time_name(ns)}"),
                ("offset", f"@offset {unit}"),
                ("half-width", "@half{0,0} ns"),
            ],
        )
    )
    return dots, whiskers


def _drift_panel(bokeh: Bokeh, curves: Curves, ns: float, across: Any, alone: bool) -> Any:
    rate = curves.rate
    panel = _panel(bokeh, 130, across, "drift (ppm)", alone, x_axis_location=None)
    known = rate.end > rate.start
    middle = rate.ppm[known]
    low, high = _robust(
        np.concatenate([curves.gap_ppm, middle]),
        np.concatenate([curves.gap_span, (rate.end - rate.start)[known]]),
    )
    spread = high - low
    most = (low - 20 * spread, high + 20 * spread)
    runs = bokeh.models.ColumnDataSource(
        {
            "start": rate.start[known] / ns,
            "end": rate.end[known] / ns,
            "ppm": middle,
            "low": np.clip(rate.low[known], *most),
            "high": np.clip(rate.high[known], *most),
        }
    )
    box = bokeh.draw(
        panel, "Quad", runs, left="start", right="end", bottom="low", top="high", **_BAND
    )
    line = bokeh.draw(panel, "Segment", runs, x0="start", y0="ppm", x1="end", y1="ppm", **_LINE)
    gaps = {"time": curves.gap_time / ns, "ppm": curves.gap_ppm}
    dots = bokeh.draw(panel, "Scatter", gaps, x="time", y="ppm", **_DIAMOND)
    panel.y_range = bokeh.models.Range1d(low - 0.15 * spread, high + 0.15 * spread)
    panel.yaxis.ticker.desired_num_ticks = 4
    panel.yaxis.formatter.use_scientific = False
    if alone:
        held = [("rate", [line]), ("error bar", [box])] if known.any() else []
        bokeh.legend(panel, [("between snapshots", [dots]), *held])
    return panel


def _width_panel(bokeh: Bokeh, curves: Curves, ns: float, across: Any, alone: bool) -> Any:
    tube = curves.sampled
    panel = _panel(bokeh, 190, across, "error", alone, y_axis_type="log")
    # A logarithmic axis has no zero, and 1 ns is the resolution of all times.
    half, floor = np.maximum(tube.half, 1.0), np.maximum(tube.floor, 1.0)
    source = bokeh.models.ColumnDataSource({"time": tube.time / ns, "half": half, "floor": floor})
    bar = bokeh.draw(panel, "Line", source, x="time", y="half", **_LINE)
    off = bokeh.draw(panel, "Line", source, x="time", y="floor", **_FLOOR_LINE)
    bokeh.time_ticks(panel.yaxis[0], np.concatenate([half, floor]))
    if alone:
        bokeh.legend(panel, [("half-width of the bar", [bar]), ("|floor − estimate|", [off])])
    return panel


def _mark(bokeh: Bokeh, panel: Any, curves: Curves, ns: float, *, numbered: bool) -> None:
    """Mark the discontinuities: a band over the zone, with lines at its ends, and a number."""
    if not curves.breaks:
        return
    models = bokeh.models
    marked = curves.breaks[:_MOST_MARKS]
    source = models.ColumnDataSource(
        {
            "start": np.array([b.start for b in marked]) / ns,
            "end": np.array([b.end for b in marked]) / ns,
            "middle": np.array([(b.start + b.end) / 2 for b in marked]) / ns,
            "text": [str(k) for k in range(1, len(marked) + 1)],
        }
    )
    panel.extra_y_ranges = {"frame": models.Range1d(0, 1)}
    panel.extra_y_scales = {"frame": models.LinearScale()}
    band = bokeh.draw(
        panel,
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
        label = bokeh.draw(
            panel,
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


def _robust(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the range of all values but a few of little weight, which short gaps make."""
    some = np.isfinite(values) & (weights > 0)
    if not some.any():
        return -1.0, 1.0
    order = np.argsort(values[some])
    values, weights = values[some][order], weights[some][order]
    share = np.cumsum(weights) / weights.sum()
    low = float(values[np.searchsorted(share, 0.02)])
    high = float(values[min(int(np.searchsorted(share, 0.98)), len(values) - 1)])
    middle, half = (low + high) / 2, max((high - low) / 2, _LEAST_DRIFT_PPM)
    return middle - half, middle + half
