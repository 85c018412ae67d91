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
from tracetime.graph.curves import Curves

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

    def figure(self, height: int, **more: Any) -> Any:
        """An empty figure in the report's style."""
        figure = self.plotting.figure(
            height=height, sizing_mode="stretch_width", min_border_left=BORDER,
            min_border_right=12, min_border_top=6, background_fill_color=None,
            border_fill_color=None, outline_line_color=GRID, window_axis="x", **more,
        )  # fmt: skip
        figure.toolbar.logo = None
        figure.grid.grid_line_color = GRID
        for axis in figure.axis:
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
            axis.axis_label_text_color = axis.major_label_text_color = INK
            axis.axis_line_color = axis.major_tick_line_color = FAINT
            axis.minor_tick_line_color = None
        return figure

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
                background_fill_color=None, label_text_font_size="12px", label_text_color=INK,
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


def pair_figure(drawn: Curves, hub: str, clock: str, *, toolbar: bool = True) -> Any:
    """Three panels over one time: offset with the tube, drift, and the width of bars.

    Args:
        drawn: what to show.
        hub, clock: what the two are called.
        toolbar: with Bokeh's own tools; the report has buttons in their place.

    Raises:
        UsageError: Bokeh is not installed.
    """
    bokeh = Bokeh()
    start = min(0.0, float(np.nanmin(drawn.sampled.time)))
    name, ns = time_unit(drawn.end - start)
    across = time_range(bokeh, start / ns, drawn.end / ns)
    location = "above" if toolbar else None
    panels = [
        _offset_panel(bokeh, drawn, ns, across, location, f"{clock} − {hub}"),
        _drift_panel(bokeh, drawn, ns, across),
        _width_panel(bokeh, drawn, ns, across),
    ]
    for panel in panels:
        _mark(bokeh, panel, drawn, ns, numbered=panel is panels[0])
    last = panels[-1].xaxis[0]
    last.axis_label = bokeh.plain(f"{hub} after {drawn.origin_ns:,} ns ({name})")
    for panel in panels[:-1]:
        panel.xaxis.visible = False
    return bokeh.layouts.column(*panels, sizing_mode="stretch_width", spacing=0)


def tools(bokeh: Bokeh) -> list[Any]:
    """Zoom and pan along time; the wheel zooms with Ctrl alone, so that a page still scrolls."""
    models = bokeh.models
    return [
        models.BoxZoomTool(dimensions="width"),
        models.PanTool(dimensions="width"),
        models.WheelZoomTool(dimensions="width", modifiers={"ctrl": True}),
        models.ResetTool(),
    ]


def _panel(
    bokeh: Bokeh, height: int, across: Any, label: str, location: str | None, **more: Any
) -> Any:
    figure = bokeh.figure(
        height, x_range=across, tools=tools(bokeh), toolbar_location=location, **more
    )
    wheel = next(t for t in figure.tools if isinstance(t, bokeh.models.WheelZoomTool))
    figure.toolbar.active_scroll = wheel
    figure.yaxis.axis_label = bokeh.plain(label)
    return figure


def _offset_panel(
    bokeh: Bokeh, drawn: Curves, ns: float, across: Any, location: str | None, what: str
) -> Any:
    models, seen, tube = bokeh.models, drawn.seen, drawn.sampled
    plain = ~seen.odd
    unit, size = unit_of(
        np.concatenate([seen.offset[plain], seen.half[plain], tube.high, tube.low])
    )
    panel = _panel(bokeh, 270, across, f"offset, less its trend ({unit})", location)
    source = models.ColumnDataSource(
        {
            "time": tube.time / ns, "estimate": tube.estimate / size,
            "low": tube.low / size, "high": tube.high / size,
        }
    )  # fmt: skip
    band = panel.patches(
        *_pieces(tube.time / ns, tube.low / size, tube.high / size),
        fill_color=TUBE, fill_alpha=0.18, line_color=None,
    )  # fmt: skip
    edges = [
        panel.line("time", side, source=source, line_color=TUBE, line_width=1, line_alpha=0.7)
        for side in ("low", "high")
    ]
    line = panel.line("time", "estimate", source=source, line_color=TUBE, line_width=2)
    snapshots = models.ColumnDataSource(
        {
            "time": seen.time / ns, "offset": seen.offset / size,
            "low": (seen.offset - seen.half) / size, "high": (seen.offset + seen.half) / size,
            "number": seen.number, "half": seen.half,
        }
    )  # fmt: skip
    view = [
        models.CDSView(filter=models.BooleanFilter(chosen.tolist())) for chosen in (plain, ~plain)
    ]
    dots = panel.scatter(
        "time", "offset", source=snapshots, view=view[0], marker="circle", size=5,
        fill_color=INK, line_color=None,
    )  # fmt: skip
    whiskers = panel.segment(
        "time", "low", "time", "high", source=snapshots, view=view[0], line_color=INK,
        line_alpha=0.5,
    )  # fmt: skip
    strays = panel.scatter(
        "time", "offset", source=snapshots, view=view[1], marker="x", size=10,
        line_color=BROKEN, line_width=2,
    )  # fmt: skip
    panel.add_tools(
        models.HoverTool(
            renderers=[dots, strays],
            tooltips=[
                ("snapshot", "@number"),
                ("time", f"@time {time_name(ns)}"),
                ("offset", f"@offset {unit}"),
                ("half-width", "@half{0,0} ns"),
            ],
        )
    )
    # What an outlier or the bars over a jump would do to the scale hides everything else.
    panel.y_range.renderers = [line, *edges, dots]
    panel.y_range.range_padding = 0.15
    panel.y_range.min_interval = 2.0 / size
    bokeh.legend(
        panel,
        [
            ("snapshot", [dots, whiskers]),
            ("outlier", [strays] if bool(seen.odd.any()) else []),
            ("estimate", [line]),
            ("error bar", [band, edges[0]]),
        ],
    )
    panel.name = "offset"
    panel.tags = [what]
    return panel


def time_name(ns: float) -> str:
    """The name of a time axis' unit."""
    return next(name for name, size, _ in _TIMES if size == ns)


def _drift_panel(bokeh: Bokeh, drawn: Curves, ns: float, across: Any) -> Any:
    models, rate = bokeh.models, drawn.rate
    panel = _panel(bokeh, 150, across, "drift (ppm)", None)
    known = rate.end > rate.start
    middle = rate.ppm[known]
    low, high = _robust(np.concatenate([drawn.gap_ppm, middle]))
    spread = max(high - low, 1e-3)
    runs = models.ColumnDataSource(
        {
            "start": rate.start[known] / ns, "end": rate.end[known] / ns, "ppm": middle,
            "low": np.clip(rate.low[known], low - 20 * spread, high + 20 * spread),
            "high": np.clip(rate.high[known], low - 20 * spread, high + 20 * spread),
        }
    )  # fmt: skip
    box = panel.quad(
        left="start", right="end", bottom="low", top="high", source=runs, fill_color=TUBE,
        fill_alpha=0.18, line_color=None,
    )  # fmt: skip
    line = panel.segment("start", "ppm", "end", "ppm", source=runs, line_color=TUBE, line_width=2)
    gaps = models.ColumnDataSource({"time": drawn.gap_time / ns, "ppm": drawn.gap_ppm})
    dots = panel.scatter(
        "time", "ppm", source=gaps, marker="diamond", size=5, fill_color=FAINT, line_color=None
    )
    panel.y_range = models.DataRange1d(
        start=low - 0.15 * spread, end=high + 0.15 * spread, min_interval=1e-6
    )
    bokeh.legend(
        panel,
        [("between snapshots", [dots]), ("rate that held", [line] if known.any() else []),
         ("what it can be", [box] if known.any() else [])],
    )  # fmt: skip
    return panel


def _width_panel(bokeh: Bokeh, drawn: Curves, ns: float, across: Any) -> Any:
    tube = drawn.sampled
    panel = _panel(bokeh, 190, across, "error (ns)", None, y_axis_type="log")
    # Nothing is known better than to 1 ns, and a logarithm has no zero.
    half, floor = np.maximum(tube.half, 1.0), np.maximum(tube.floor, 1.0)
    source = bokeh.models.ColumnDataSource({"time": tube.time / ns, "half": half, "floor": floor})
    bar = panel.line("time", "half", source=source, line_color=TUBE, line_width=2)
    off = panel.line(
        "time", "floor", source=source, line_color=FLOOR, line_width=1.5, line_dash=[5, 3]
    )
    panel.yaxis.ticker.desired_num_ticks = 4
    bokeh.legend(panel, [("half-width of the bar", [bar]), ("floor's distance", [off])])
    return panel


def _mark(bokeh: Bokeh, panel: Any, drawn: Curves, ns: float, *, numbered: bool) -> None:
    """Discontinuities: a band over the zone, a line where it begins, and a number."""
    if not drawn.breaks:
        return
    models = bokeh.models
    shown = drawn.breaks[:_MARKED]
    panel.extra_y_ranges = {"frame": models.Range1d(0, 1)}
    source = models.ColumnDataSource(
        {
            "start": np.array([b.start for b in shown]) / ns,
            "end": np.array([b.end for b in shown]) / ns,
            "middle": np.array([(b.start + b.end) / 2 for b in shown]) / ns,
            "zero": np.zeros(len(shown)),
            "one": np.ones(len(shown)),
            "text": [str(k) for k in range(1, len(shown) + 1)],
        }
    )
    band = panel.quad(
        left="start", right="end", bottom="zero", top="one", source=source, y_range_name="frame",
        fill_color=BROKEN, fill_alpha=0.12, line_color=BROKEN, line_dash=[2, 3], line_alpha=0.9,
    )  # fmt: skip
    band.level = "underlay"
    if numbered:
        # In a box, so that they are read over whatever they stand on.
        label = panel.text(
            "middle", "one", text="text", source=source, y_range_name="frame",
            text_color=BROKEN, text_font_size="12px", text_font_style="bold",
            text_align="center", text_baseline="top", y_offset=2,
        )  # fmt: skip
        label.level = "overlay"


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


def _robust(values: Floats) -> tuple[float, float]:
    """Between which values all but a few strays lie."""
    values = values[np.isfinite(values)]
    if not len(values):
        return -1.0, 1.0
    low, high = (float(v) for v in np.quantile(values, [0.03, 0.97]))
    if high - low < 1e-3:
        return low - 1e-3, high + 1e-3
    return low, high
