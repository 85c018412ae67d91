"""Bokeh, as the report uses it: figures, glyphs, colours, and axes of time.

Names of clocks may come from a trace: they only go into PlainText, which Bokeh neither takes for
HTML nor for TeX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tracetime.graph.values import Floats
from tracetime.reporting.models import Column, Model
from tracetime.text import duration

# Colours of Okabe and Ito, which the colour-blind can distinguish; each also has its own shape. All
# have a contrast of 3 on white, and on black when the report inverts them for a dark screen.
INK: Final = "#222222"
FAINT: Final = "#666666"
GRID: Final = "#dddddd"
TUBE: Final = "#0072b2"
BROKEN: Final = "#b3261e"
"""The page's colour of errors, for jumps and lost events."""
FLOOR: Final = "#a3477f"
BORDER: Final = 74
"""Pixels left of a frame, the same in all panels, so that their times are aligned."""

# Looks of glyphs.
BAND: Final = {"fill_color": TUBE, "fill_alpha": 0.18, "line_color": None}
LINE: Final = {"line_color": TUBE, "line_width": 2}
DOT: Final = {"marker": "circle", "size": 5, "fill_color": INK, "line_color": None}
MESSAGE: Final = {
    "marker": "diamond",
    "size": 6,
    "fill_color": None,
    "line_color": INK,
    "line_alpha": 0.6,
}
OUTLIER: Final = {"marker": "x", "size": 10, "line_color": BROKEN, "line_width": 2}

_BETWEEN: Final = (3, 4, 6, 7, 8, 9, 12, 15, 22, 25, 35)
"""Ticks between 1, 2, 5 and 10, and the tens of finer ones."""

_TIMES: Final = (("h", 3.6e12, 4 * 3.6e12), ("s", 1e9, 1e9), ("ms", 1e6, 1e6), ("us", 1e3, 0.0))
_SIZES: Final = (("d", 8.64e13), ("h", 3.6e12), ("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


class Figure(Model):
    """An empty figure in the report's style.

    Args:
        height: pixels.
        clear: whether it is transparent.
        x_axis_type, y_axis_type: "linear" or "log".
        x_axis_location: None for no axis of time.
        tools: of the toolbar.
        more: attributes of BokehJS.
    """

    def __init__(
        self,
        height: int,
        *,
        clear: bool = True,
        x_axis_type: str = "linear",
        y_axis_type: str = "linear",
        x_axis_location: str | None = "below",
        tools: Sequence[Model] = (),
        **more: Any,
    ) -> None:
        across, up = _axis(x_axis_type), _axis(y_axis_type)
        if clear:
            more |= {"background_fill_color": None, "border_fill_color": None}
        super().__init__(
            "Figure",
            height=height,
            sizing_mode="stretch_width",
            min_border_left=BORDER,
            min_border_right=12,
            min_border_top=6,
            outline_line_color=GRID,
            window_axis="x",
            **{"x_range": Model("DataRange1d"), "y_range": Model("DataRange1d"), **more},
            x_scale=Model(_SCALES[x_axis_type]),
            y_scale=Model(_SCALES[y_axis_type]),
            toolbar=Model("Toolbar", tools=[*tools], logo=None),
            renderers=[],
            above=[],
            below=[across] if x_axis_location else [],
            left=[up],
            center=[
                Model("Grid", dimension=number, axis=axis, grid_line_color=GRID)
                for number, axis in enumerate((across, up))
            ],
        )
        for axis in (*self.below, up):
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size = axis.major_label_text_font_size = "13px"
            axis.axis_label_text_color = axis.major_label_text_color = INK
            axis.axis_line_color = axis.major_tick_line_color = FAINT
            axis.minor_tick_line_color = None

    @property
    def xaxis(self) -> Model:
        """The axis below; of a figure that has one."""
        return self.below[0]  # type: ignore[no-any-return]

    @property
    def yaxis(self) -> Model:
        """The axis at the left."""
        return self.left[0]  # type: ignore[no-any-return]

    def draw(self, kind: str, data: Any, **look: Any) -> Model:
        """Add a glyph; a text among its looks that is a column of the data is that."""
        source = data if isinstance(data, Model) else Model("ColumnDataSource", data=data)
        for name, of_it in look.items():
            if isinstance(of_it, str) and of_it in source.data:
                look[name] = Column(of_it)
        drawn = Model("GlyphRenderer", data_source=source, glyph=Model(kind, **look))
        self.renderers.append(drawn)
        return drawn

    def legend(self, items: list[tuple[str, list[Model]]]) -> None:
        """Add a legend above the frame, where it hides nothing."""
        self.above.append(
            Model(
                "Legend",
                items=[
                    Model("LegendItem", label=text, renderers=renderers)
                    for text, renderers in items
                    if renderers
                ],
                orientation="horizontal",
                ncols="auto",
                border_line_color=None,
                background_fill_color=None,
                label_text_font_size="13px",
                label_text_color=INK,
                padding=0,
                margin=2,
                spacing=10,
                glyph_width=16,
                click_policy="none",
            )
        )


_SCALES: Final = {"linear": "LinearScale", "log": "LogScale"}


def _axis(kind: str) -> Model:
    name, ticks = ("Log", "Log") if kind == "log" else ("Linear", "Basic")
    ticker, formatter = Model(f"{ticks}Ticker"), Model(f"{ticks}TickFormatter")
    return Model(f"{name}Axis", ticker=ticker, formatter=formatter)


def plain(text: str) -> Model:
    """Return text that Bokeh does not interpret."""
    return Model("PlainText", text=text)


def time_ticks(axis: Model, values: Floats) -> None:
    """Set the ticks of a logarithmic axis of ns: fewer decades have more ticks each.

    All labels have room: Bokeh would leave out any, round ones among them.
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (1.0, 1.0)
    digits = (1, 2, 5) if high < 20 * low else (1, 3) if high < 300 * low else (1,)
    ticks = [digit * 10**power for power in range(16) for digit in digits]
    if high < 2.5 * low:
        # Between two of these there may be none.
        ticks = sorted({*ticks, *(n * 10**power for power in range(15) for n in _BETWEEN)})
    axis.ticker = Model("FixedTicker", ticks=ticks)
    axis.major_label_overrides = {tick: duration(tick) for tick in ticks}
    axis.major_label_policy = Model("NoOverlap", min_distance=4)


def unit_of(values: Floats, least: str = "ns") -> tuple[str, float]:
    """Return the unit of time that fits values in ns: its name, and how many ns it has."""
    finite = np.abs(values[np.isfinite(values)])
    size = float(finite.max()) if len(finite) else 0.0
    return next(((name, ns) for name, ns in _SIZES if size >= 2 * ns), (least, 1.0))


def time_unit(span_ns: float) -> tuple[str, float]:
    """Return the unit of a time axis of that length: its name, and how many ns it has."""
    return next((name, ns) for name, ns, least in _TIMES if span_ns >= least)


def time_range(start: float, end: float) -> Model:
    """Return a range of times that zooming and panning do not leave."""
    margin = max((end - start) * 0.01, 1e-9)
    low, high = start - margin, end + margin
    return Model(
        "Range1d", start=low, end=high, bounds=(low, high), min_interval=(high - low) * 1e-7
    )


def time_name(ns: float) -> str:
    """Return the name of a time axis' unit that has so many ns."""
    return next(name for name, size, _ in _TIMES if size == ns)


def tools(alone: bool = False) -> list[Model]:
    """Return tools that zoom and pan along time; the wheel zooms with Ctrl, else it scrolls."""
    box, wheel, pan = (Model(f"{name}Tool", dimensions="width") for name in _TOOLS)
    wheel.modifiers = {"ctrl": True}
    return [box, wheel, *([pan, Model("ResetTool")] if alone else [])]


_TOOLS: Final = ("BoxZoom", "WheelZoom", "Pan")


def panel_of(
    height: int, across: Model, label: str, alone: bool, top: bool = False, **more: Any
) -> Figure:
    """Return an empty panel over the time axis `across`; `top` is that of the toolbar, if any."""
    made = tools(alone)
    location = "above" if alone and top else None
    figure = Figure(
        height, clear=not alone, x_range=across, tools=made, toolbar_location=location, **more
    )
    figure.toolbar.active_scroll = made[1]
    figure.yaxis.axis_label = plain(label)
    return figure
