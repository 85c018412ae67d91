"""The panel of a pair's drift: rates that held, and from one snapshot to the next.

Its scale is that of the rates that held for long. What is beyond is marked at the edge and counted.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tracetime.graph.tube.curves import Curves
from tracetime.reporting.drawing import BAND, INK, LINE, Bokeh, Floats, panel_of

_LEAST_DRIFT_PPM: Final = 0.05
"""Half of the range of the drift axis at least: less is noise."""

_TAIL: Final = 0.02
"""Share of the time, at each end, whose rates do not count for the scale: start-up, outliers."""

_GAP_TAIL: Final = 0.1
"""The same of the rates between snapshots: they have the noise of two readings each."""

_GAP_REACH: Final = 2
"""They widen the scale by so many times what the rates that held take, at most."""

_DIAMOND: Final = {"marker": "diamond", "size": 7, "fill_color": INK, "line_color": None}
_BEYOND: Final = {"size": 6, "fill_color": None, "line_color": INK}


def drift_range(curves: Curves) -> tuple[float, float]:
    """Return the rates between which the panel draws, ppm."""
    rate = curves.rate
    span = rate.end - rate.start
    gaps = robust_range(curves.gap_ppm, curves.gap_span, _GAP_TAIL)
    if not (span > 0).any():
        return gaps
    held = np.concatenate([rate.low, rate.ppm, rate.high])
    low, high = robust_range(held, np.tile(span, 3), _TAIL)
    if not len(curves.gap_ppm):
        return low, high
    reach = _GAP_REACH * (high - low)
    return min(low, max(gaps[0], low - reach)), max(high, min(gaps[1], high + reach))


def robust_range(values: Floats, weights: Floats, tail: float) -> tuple[float, float]:
    """Return the range of all values but those of a share `tail` of the weight at each end."""
    some = np.isfinite(values) & (weights > 0)
    if not some.any():
        return -1.0, 1.0
    order = np.argsort(values[some])
    values, weights = values[some][order], weights[some][order]
    share = np.cumsum(weights) / weights.sum()
    low = float(values[np.searchsorted(share, tail)])
    high = float(values[min(int(np.searchsorted(share, 1 - tail)), len(values) - 1)])
    middle, half = (low + high) / 2, max((high - low) / 2, _LEAST_DRIFT_PPM)
    return middle - half, middle + half


def drift_panel(
    bokeh: Bokeh, curves: Curves, ns: float, across: Any, alone: bool, *, last: bool = False
) -> Any:
    """Draw the drift over the time axis `across`, whose unit has `ns` ns.

    last: whether no panel is below it, so that it has the axis.
    """
    rate = curves.rate
    height, axis = (160, "below") if last else (130, None)
    panel = panel_of(bokeh, height, across, "drift (ppm)", alone, x_axis_location=axis)
    known = rate.end > rate.start
    low, high = drift_range(curves)
    spread = high - low
    bottom, top = low - 0.15 * spread, high + 0.15 * spread
    runs = bokeh.models.ColumnDataSource(
        {
            "start": rate.start[known] / ns,
            "end": rate.end[known] / ns,
            "ppm": rate.ppm[known],
            "low": np.clip(rate.low[known], low - 20 * spread, None),
            "high": np.clip(rate.high[known], None, high + 20 * spread),
        },
        name="rates",
    )
    box = bokeh.draw(
        panel, "Quad", runs, left="start", right="end", bottom="low", top="high", **BAND
    )
    line = bokeh.draw(panel, "Segment", runs, x0="start", y0="ppm", x1="end", y1="ppm", **LINE)
    gaps = {"time": curves.gap_time / ns, "ppm": curves.gap_ppm}
    dots = bokeh.draw(panel, "Scatter", gaps, x="time", y="ppm", **_DIAMOND)
    panel.y_range = bokeh.models.Range1d(bottom, top)
    _mark_beyond(bokeh, panel, curves, ns, (bottom, top))
    panel.yaxis.ticker.desired_num_ticks = 4
    panel.yaxis.formatter.use_scientific = False
    if alone:
        held = [("rate", [line]), ("error bar", [box])] if known.any() else []
        between = [("between snapshots", [dots])] if len(curves.gap_ppm) else []
        bokeh.legend(panel, [*between, *held])
    return panel


def _mark_beyond(
    bokeh: Bokeh, panel: Any, curves: Curves, ns: float, drawn: tuple[float, float]
) -> None:
    """Mark the rates above and below what is drawn at its edges, and say how far they go."""
    bottom, top = drawn
    ppm, time = curves.gap_ppm, curves.gap_time / ns
    inside = 0.06 * (top - bottom)
    for edge, beyond, marker in (
        (top - inside, ppm > top, "triangle"),
        (bottom + inside, ppm < bottom, "inverted_triangle"),
    ):
        if beyond.any():
            data = {"time": time[beyond]}
            bokeh.draw(panel, "Scatter", data, x="time", y=edge, marker=marker, **_BEYOND)
    if text := beyond_in_words(curves, drawn):
        panel.add_layout(
            bokeh.models.Title(
                text=bokeh.plain(text),
                align="right",
                text_font_size="12px",
                text_font_style="normal",
                text_color=INK,
                standoff=0,
            ),
            "above",
        )


def beyond_in_words(curves: Curves, drawn: tuple[float, float]) -> str | None:
    """Return how many rates between snapshots are not drawn, and how far they go."""
    ppm = curves.gap_ppm[~np.isnan(curves.gap_ppm)]
    beyond = ppm[(ppm < drawn[0]) | (ppm > drawn[1])]
    if not len(beyond):
        return None
    first, last = (f"{limit:+.4g}" for limit in (beyond.min(), beyond.max()))
    where = f"at {first}" if first == last else f"{first} to {last}"
    return f"{len(beyond):,} of {len(ppm):,} rates between snapshots are beyond: {where} ppm"
