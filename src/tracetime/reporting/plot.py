"""Pictures of two clocks, by Bokeh: their offset with the tube, drift, and how wide bars are.

What is drawn is worked out in `curves.py`. Names of clocks may come from a trace: they only go into
PlainText, which Bokeh neither takes for HTML nor for TeX.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracetime.errors import UsageError
from tracetime.graph.tube.curves import Curves
from tracetime.text import duration

Floats = npt.NDArray[np.float64]

# Okabe and Ito's colours, told apart by the colour-blind; each also has a shape of its own. All
# have a contrast of 3 on white, and on black when the report turns them round for a dark screen.
INK: Final = "#222222"
FAINT: Final = "#666666"
GRID: Final = "#dddddd"
TUBE: Final = "#0072b2"
BROKEN: Final = "#c04f00"
FLOOR: Final = "#a3477f"
BORDER: Final = 74
"""Pixels left of a frame, the same in all panels, so that their times stand below each other."""

_TIMES: Final = (("h", 3.6e12, 4 * 3.6e12), ("s", 1e9, 1e9), ("ms", 1e6, 1e6), ("us", 1e3, 0.0))
_SIZES: Final = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
_MARKED: Final = 40
_CROWDED: Final = 40
_LEAST_DRIFT_PPM: Final = 0.05


class Bokeh:
    """The parts of Bokeh in use, loaded when a picture is asked for.

    Raises:
        UsageError: Bokeh is not installed.
    """

    def __init__(self) -> None:
        try:
            self.models: Any = import_module("bokeh.models")
            self.plotting: Any = import_module("bokeh.plotting")
            self.layouts: Any = import_module("bokeh.layouts")
            self.value: Any = import_module("bokeh.core.properties").value
        except ImportError as error:
            raise UsageError(
                "pictures are drawn by Bokeh, which is not installed: "
                "pip install 'tracetime[report]'"
            ) from error

    def plain(self, text: str) -> Any:
        """Text that stays text."""
        return self.models.PlainText(text=text)

    def figure(self, height: int, *, clear: bool = True, **more: Any) -> Any:
        """An empty figure in the report's style; clear: what is behind it is to be seen."""
        if clear:
            more |= {"background_fill_color": None, "border_fill_color": None}
        figure = self.plotting.figure(
            height=height, sizing_mode="stretch_width", min_border_left=BORDER,
            min_border_right=12, min_border_top=6, outline_line_color=GRID, window_axis="x",
            **more,
        )  # fmt: skip
        figure.toolbar.logo = None
        figure.grid.grid_line_color = GRID
        for axis in figure.axis:
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size = axis.major_label_text_font_size = "13px"
            axis.axis_label_text_color = axis.major_label_text_color = INK
            axis.axis_line_color = axis.major_tick_line_color = FAINT
            axis.minor_tick_line_color = None
        return figure

    def draw(self, figure: Any, kind: str, data: Any, *, view: Any = None, **look: Any) -> Any:
        """Add a glyph. Not by figure.line and its kin, which make three of it for selections."""
        models = self.models
        source = (
            data if isinstance(data, models.ColumnDataSource) else models.ColumnDataSource(data)
        )
        more = {} if view is None else {"view": view}
        return figure.add_glyph(source, getattr(models, kind)(**look), **more)

    def time_ticks(self, axis: Any, values: Floats) -> None:
        """Ticks of a logarithmic axis of ns: the fewer decades are seen, the more of each.

        As many as have room for their labels, or some would be left out, round ones among them.
        """
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (1.0, 1.0)
        digits = (1, 2, 5) if high < 20 * low else (1, 3) if high < 300 * low else (1,)
        ticks = [digit * 10**power for power in range(16) for digit in digits]
        axis.ticker = self.models.FixedTicker(ticks=ticks)
        axis.major_label_overrides = {tick: duration(tick) for tick in ticks}
        axis.major_label_policy = self.models.NoOverlap(min_distance=4)

    def legend(self, figure: Any, items: list[tuple[str, list[Any]]]) -> None:
        """What is what, above the frame, where it hides nothing."""
        models = self.models
        figure.add_layout(
            models.Legend(
                items=[
                    models.LegendItem(label=self.value(text), renderers=renderers)
                    for text, renderers in items
                    if renderers
                ],
                orientation="horizontal", ncols="auto", border_line_color=None,
                background_fill_color=None, label_text_font_size="13px", label_text_color=INK,
                padding=0, margin=2, spacing=10, glyph_width=16, click_policy="none",
            ),
            "above",
        )  # fmt: skip


def unit_of(values: Floats, least: str = "ns") -> tuple[str, float]:
    """The unit of time that some values, in ns, are best written in: its name, and ns in it."""
    finite = np.abs(values[np.isfinite(values)])
    size = float(finite.max()) if len(finite) else 0.0
    return next(((name, ns) for name, ns in _SIZES if size >= 2 * ns), (least, 1.0))


def time_unit(span_ns: float) -> tuple[str, float]:
    """The unit of a time axis of that length: its name, and ns in it."""
    return next((name, ns) for name, ns, least in _TIMES if span_ns >= least)


def time_range(bokeh: Bokeh, start: float, end: float) -> Any:
    """A range of times that can be zoomed into, and not left."""
    margin = max((end - start) * 0.01, 1e-9)
    low, high = start - margin, end + margin
    return bokeh.models.Range1d(low, high, bounds=(low, high), min_interval=(high - low) * 1e-7)


def pair_figure(drawn: Curves, hub: str, clock: str, *, alone: bool = True) -> Any:
    """Three panels over one time: offset with the tube, drift, and the width of bars.

    Args:
        drawn: what to show.
        hub, clock: what the two are called.
        alone: with Bokeh's own tools, a title and a legend; the report has its own.

    Raises:
        UsageError: Bokeh is not installed.
    """
    bokeh = Bokeh()
    start = min(0.0, float(np.nanmin(drawn.sampled.time)))
    name, ns = time_unit(drawn.end - start)
    across = time_range(bokeh, start / ns, drawn.end / ns)
    panels = [
        _offset_panel(bokeh, drawn, ns, across, alone),
        _drift_panel(bokeh, drawn, ns, across, alone),
        _width_panel(bokeh, drawn, ns, across, alone),
    ]
    for panel in panels:
        _mark(bokeh, panel, drawn, ns, numbered=panel is panels[0])
    axis = panels[-1].xaxis[0]
    axis.axis_label = bokeh.plain(f"time ({name})")
    if alone:
        axis.axis_label = bokeh.plain(f"{hub} after {drawn.origin_ns:,} ns ({name})")
        panels[0].title = bokeh.models.Title(text=bokeh.plain(f"{clock} − {hub}"))
    return bokeh.layouts.column(*panels, sizing_mode="stretch_width", spacing=0)


def tools(bokeh: Bokeh, alone: bool = False) -> list[Any]:
    """Zoom and pan along time; the wheel zooms with Ctrl alone, so that a page still scrolls."""
    models = bokeh.models
    wheel = models.WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
    more = [models.PanTool(dimensions="width"), models.ResetTool()] if alone else []
    return [models.BoxZoomTool(dimensions="width"), wheel, *more]


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


def _offset_panel(bokeh: Bokeh, drawn: Curves, ns: float, across: Any, alone: bool) -> Any:
    seen, tube = drawn.seen, drawn.sampled
    plain = ~seen.odd
    unit, size = unit_of(
        np.concatenate([seen.offset[plain], seen.half[plain], tube.high, tube.low])
    )
    panel = _panel(
        bokeh, 260, across, f"offset, less its trend ({unit})", alone, True, x_axis_location=None
    )
    xs, ys = _pieces(tube.time / ns, tube.low / size, tube.high / size)
    band = bokeh.draw(
        panel, "Patches", {"xs": xs, "ys": ys}, xs="xs", ys="ys", fill_color=TUBE, fill_alpha=0.18,
        line_color=None,
    )  # fmt: skip
    source = bokeh.models.ColumnDataSource(
        {
            "time": tube.time / ns, "estimate": tube.estimate / size,
            "low": tube.low / size, "high": tube.high / size,
        }
    )  # fmt: skip
    edges = [
        bokeh.draw(panel, "Line", source, x="time", y=side, line_color=TUBE, line_alpha=0.7)
        for side in ("low", "high")
    ]
    line = bokeh.draw(panel, "Line", source, x="time", y="estimate", line_color=TUBE, line_width=2)
    dots, whiskers = _draw_snapshots(bokeh, panel, drawn, ns, size, unit)
    # What an outlier or the bars over a jump would do to the scale hides everything else.
    panel.y_range.renderers = [line, *edges, dots[0]]
    panel.y_range.range_padding = 0.15
    panel.y_range.min_interval = 2.0 / size
    if alone:
        outlier = [("outlier", dots[1:])]
        bokeh.legend(
            panel,
            [("snapshot", [dots[0], whiskers]), *outlier, ("estimate", [line]),
             ("error bar", [band, edges[0]])],
        )  # fmt: skip
    return panel


def _draw_snapshots(
    bokeh: Bokeh, panel: Any, drawn: Curves, ns: float, size: float, unit: str
) -> tuple[list[Any], Any]:
    """Draw what was read: dots, those of outliers last, and the whiskers of the others."""
    models, seen = bokeh.models, drawn.seen

    def snapshots(which: npt.NDArray[np.bool_]) -> Any:
        offset, half = seen.offset[which] / size, seen.half[which] / size
        return models.ColumnDataSource(
            {
                "time": seen.time[which] / ns, "offset": offset, "low": offset - half,
                "high": offset + half, "number": seen.number[which], "half": seen.half[which],
            }
        )  # fmt: skip

    read = snapshots(~seen.odd)
    whiskers = bokeh.draw(
        panel, "Segment", read, x0="time", y0="low", x1="time", y1="high", line_color=INK,
        line_alpha=0.5 if len(seen.time) < _CROWDED else 0.2,
    )  # fmt: skip
    dots = [
        bokeh.draw(
            panel, "Scatter", read, x="time", y="offset", marker="circle", size=5, fill_color=INK,
            line_color=None,
        )
    ]  # fmt: skip
    if seen.odd.any():
        dots.append(
            bokeh.draw(
                panel, "Scatter", snapshots(seen.odd), x="time", y="offset", marker="x", size=10,
                line_color=BROKEN, line_width=2,
            )
        )  # fmt: skip
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


def time_name(ns: float) -> str:
    """The name of a time axis' unit."""
    return next(name for name, size, _ in _TIMES if size == ns)


def _drift_panel(bokeh: Bokeh, drawn: Curves, ns: float, across: Any, alone: bool) -> Any:
    rate = drawn.rate
    panel = _panel(bokeh, 130, across, "drift (ppm)", alone, x_axis_location=None)
    known = rate.end > rate.start
    middle = rate.ppm[known]
    low, high = _robust(
        np.concatenate([drawn.gap_ppm, middle]),
        np.concatenate([drawn.gap_span, (rate.end - rate.start)[known]]),
    )
    spread = high - low
    most = (low - 20 * spread, high + 20 * spread)
    runs = bokeh.models.ColumnDataSource(
        {
            "start": rate.start[known] / ns, "end": rate.end[known] / ns, "ppm": middle,
            "low": np.clip(rate.low[known], *most), "high": np.clip(rate.high[known], *most),
        }
    )  # fmt: skip
    box = bokeh.draw(
        panel, "Quad", runs, left="start", right="end", bottom="low", top="high", fill_color=TUBE,
        fill_alpha=0.18, line_color=None,
    )  # fmt: skip
    line = bokeh.draw(
        panel, "Segment", runs, x0="start", y0="ppm", x1="end", y1="ppm", line_color=TUBE,
        line_width=2,
    )  # fmt: skip
    dots = bokeh.draw(
        panel, "Scatter", {"time": drawn.gap_time / ns, "ppm": drawn.gap_ppm}, x="time", y="ppm",
        marker="diamond", size=7, fill_color=INK, line_color=None,
    )  # fmt: skip
    panel.y_range = bokeh.models.Range1d(low - 0.15 * spread, high + 0.15 * spread)
    panel.yaxis.ticker.desired_num_ticks = 4
    panel.yaxis.formatter.use_scientific = False
    if alone:
        held = [("rate that held", [line]), ("what it can be", [box])] if known.any() else []
        bokeh.legend(panel, [("between snapshots", [dots]), *held])
    return panel


def _width_panel(bokeh: Bokeh, drawn: Curves, ns: float, across: Any, alone: bool) -> Any:
    tube = drawn.sampled
    panel = _panel(bokeh, 190, across, "error", alone, y_axis_type="log")
    # Nothing is known better than to 1 ns, and a logarithm has no zero.
    half, floor = np.maximum(tube.half, 1.0), np.maximum(tube.floor, 1.0)
    source = bokeh.models.ColumnDataSource({"time": tube.time / ns, "half": half, "floor": floor})
    bar = bokeh.draw(panel, "Line", source, x="time", y="half", line_color=TUBE, line_width=2)
    off = bokeh.draw(
        panel, "Line", source, x="time", y="floor", line_color=FLOOR, line_width=1.5,
        line_dash=[5, 3],
    )  # fmt: skip
    bokeh.time_ticks(panel.yaxis[0], np.concatenate([half, floor]))
    if alone:
        bokeh.legend(panel, [("half-width of the bar", [bar]), ("floor's distance", [off])])
    return panel


def _mark(bokeh: Bokeh, panel: Any, drawn: Curves, ns: float, *, numbered: bool) -> None:
    """Discontinuities: a band over the zone, a line where it begins, and a number."""
    if not drawn.breaks:
        return
    models = bokeh.models
    shown = drawn.breaks[:_MARKED]
    source = models.ColumnDataSource(
        {
            "start": np.array([b.start for b in shown]) / ns,
            "end": np.array([b.end for b in shown]) / ns,
            "middle": np.array([(b.start + b.end) / 2 for b in shown]) / ns,
            "text": [str(k) for k in range(1, len(shown) + 1)],
        }
    )
    panel.extra_y_ranges = {"frame": models.Range1d(0, 1)}
    panel.extra_y_scales = {"frame": models.LinearScale()}
    band = bokeh.draw(
        panel, "Quad", source, left="start", right="end", bottom=0, top=1, fill_color=BROKEN,
        fill_alpha=0.12, line_color=BROKEN, line_dash=[2, 3],
    )  # fmt: skip
    band.y_range_name, band.level = "frame", "underlay"
    if numbered:
        label = bokeh.draw(
            panel, "Text", source, x="middle", y=1, text="text", text_color=BROKEN,
            text_font_size="13px", text_font_style="bold", text_align="center",
            text_baseline="top", y_offset=2,
        )  # fmt: skip
        label.y_range_name, label.level = "frame", "overlay"


def _pieces(time: Floats, low: Floats, high: Floats) -> tuple[list[Any], list[Any]]:
    """Outlines of a band, one for each stretch without gaps."""
    known = np.isfinite(low) & np.isfinite(high)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(np.int8), [0]])))
    xs, ys = [], []
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        there, back = slice(start, end), slice(end - 1, start - 1 if start else None, -1)
        xs.append(np.concatenate([time[there], time[back]]))
        ys.append(np.concatenate([low[there], high[back]]))
    return xs, ys


def _robust(values: Floats, weights: Floats) -> tuple[float, float]:
    """Between which values all but a few of little weight lie: those of short gaps are noise."""
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
