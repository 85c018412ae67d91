"""The panel of a pair's drift: rates of its runs, and from one snapshot to the next.

Its scale is that of the rates that held for long. What is beyond is marked at the edge and counted.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tracetime.graph.curves import Break, Curves, since
from tracetime.graph.values import Floats
from tracetime.reporting.drawing import (
    BAND,
    BROKEN,
    DOT,
    INK,
    LINE,
    OUTLIER,
    Figure,
    panel_of,
    plain,
    unit_of,
)
from tracetime.reporting.models import Model
from tracetime.text import signed_duration

# The panel of a pair's jumps: its offset with them, each with its size and sign at its place.
#
# The panels below it are drawn without the jumps: one of seconds would flatten microseconds.

_HEIGHT: Final = 120
_APART: Final = 0.12
"""Share of the width that the size of a jump takes."""

_RIGHT_UNTIL: Final = 0.8
"""Share of the width after which a size is left of its jump."""

_SMALL: Final = 0.3
"""Share of the height that a size takes."""

_JUMP: Final = {"line_color": BROKEN, "line_width": 2.5}
_SIZE: Final = {
    "text_color": BROKEN,
    "text_font_size": "13px",
    "text_font_style": "bold",
    "text_baseline": "middle",
}


def jumps_of(curves: Curves) -> list[Break]:
    """Return the discontinuities with a size."""
    return [b for b in curves.breaks if b.size_ns is not None]


def size_ns(b: Break) -> float:
    """Return the size of a jump: the middle of its limits."""
    assert b.size_ns is not None
    return sum(b.size_ns) / 2


def offsets_with_jumps(curves: Curves) -> Floats:
    """Return the offset at each snapshot, ns after the first one's, less the trend."""
    seen = curves.seen
    trend = curves.trend_ppm * 1e-6 if np.isfinite(curves.trend_ppm) else 0.0
    # Readings wrap as the tube's offsets do.
    jumping: Floats = since(seen.clock - seen.hub, curves.offset_ns)
    jumping -= trend * (seen.time - seen.time[0])
    return jumping


def jumps_panel(curves: Curves, ns: float, across: Model, alone: bool) -> Figure:
    """Draw the offset with its jumps over the time axis `across`, whose unit has `ns` ns."""
    seen, jumps = curves.seen, jumps_of(curves)
    offset = offsets_with_jumps(curves)
    unit, size = unit_of(np.concatenate([offset, [size_ns(b) for b in jumps]]))
    panel = panel_of(_HEIGHT, across, f"offset ({unit})", alone, True, x_axis_location=None)
    plain, offset = ~seen.odd, offset / size
    time, height = seen.time[plain], offset[plain]
    line = {"time": time / ns, "offset": height}
    panel.draw("Line", line, x="time", y="offset", **LINE)
    ends = _ends(jumps, time, height, ns)
    panel.draw("Segment", ends, **{side: side for side in ends}, **_JUMP)
    panel.draw("Scatter", line, x="time", y="offset", **DOT)
    if seen.odd.any():
        odd = {"time": seen.time[seen.odd] / ns, "offset": offset[seen.odd]}
        panel.draw("Scatter", odd, x="time", y="offset", **OUTLIER)
    _write_sizes(panel, curves, ns, offset)
    panel.y_range.range_padding = 0.25
    panel.yaxis.ticker.desired_num_ticks = 4
    panel.yaxis.formatter.use_scientific = False
    return panel


def _ends(jumps: list[Break], time: Floats, height: Floats, ns: float) -> dict[str, list[float]]:
    """Return the line over each jump: from the snapshot before it to the one after it."""
    ends: dict[str, list[float]] = {"x0": [], "y0": [], "x1": [], "y1": []}
    for b in jumps:
        before = max(int(np.searchsorted(time, b.start, side="right")) - 1, 0)
        after = min(int(np.searchsorted(time, b.end, side="left")), len(time) - 1)
        if b.kind != "outlier" and before < after:
            points = time[before] / ns, height[before], time[after] / ns, height[after]
            for side, value in zip(ends, points, strict=True):
                ends[side].append(float(value))
    return ends


def _write_sizes(panel: Figure, curves: Curves, ns: float, offset: Floats) -> None:
    """Write the size of each jump next to it; where they are close, that of the greatest."""
    start = min(0.0, float(np.nanmin(curves.sampled.time)))
    length = max(curves.end - start, 1.0)
    written: list[Break] = []
    for b in sorted(jumps_of(curves), key=lambda b: -abs(size_ns(b))):
        if all(abs(b.end - other.end) > _APART * length for other in written):
            written.append(b)
    lowest, highest = float(offset.min()), float(offset.max())
    columns: dict[str, list[Any]] = {"x": [], "y": [], "text": [], "align": [], "dx": [], "dy": []}
    for b in written:
        # A long jump has the text within it: right of its line, on the side that the line leaves.
        is_long = b.end - b.start > _APART * length
        right = is_long or b.end - start < _RIGHT_UNTIL * length
        before, after = np.interp([b.start, b.end], curves.seen.time, offset).tolist()
        is_small = not is_long and abs(after - before) < _SMALL * (highest - lowest)
        # The line is not half-way up a jump; of a small one, not over or under it.
        height = (after if right else before) if is_small else (before + after) / 2
        is_high = height > (lowest + highest) / 2
        side = -1 if after < before else 1
        row = (
            ((b.start + b.end) / 2 if is_long else b.end if right else b.start) / ns,
            height,
            signed_duration(size_ns(b)),
            "left" if right else "right",
            7 if right else -7,
            13 * side if is_long else 0 if not is_small else 13 if is_high else -13,
        )
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    places = {"x": "x", "y": "y", "x_offset": "dx", "y_offset": "dy"}
    panel.draw("Text", columns, text="text", text_align="align", **places, **_SIZE)


_LEAST_DRIFT_PPM: Final = 0.05
"""Half of the range of the drift axis at least: less is noise."""

_TAIL: Final = 0.02
"""Share of the time, at each end, whose rates do not count for the scale: start-up, outliers."""

_GAP_TAIL: Final = 0.1
"""Share of the rates between snapshots, which have the noise of two readings each, likewise."""

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
    curves: Curves, ns: float, across: Model, alone: bool, *, last: bool = False
) -> Figure:
    """Draw the drift over the time axis `across`, whose unit has `ns` ns.

    last: whether no panel is below it, so that it has the axis.
    """
    rate = curves.rate
    height, axis = (160, "below") if last else (130, None)
    panel = panel_of(height, across, "drift (ppm)", alone, x_axis_location=axis)
    known = rate.end > rate.start
    low, high = drift_range(curves)
    spread = high - low
    bottom, top = low - 0.15 * spread, high + 0.15 * spread
    runs = Model(
        "ColumnDataSource",
        data={
            "start": rate.start[known] / ns,
            "end": rate.end[known] / ns,
            "ppm": rate.ppm[known],
            "low": np.clip(rate.low[known], low - 20 * spread, None),
            "high": np.clip(rate.high[known], None, high + 20 * spread),
        },
        name="rates",
    )
    box = panel.draw("Quad", runs, left="start", right="end", bottom="low", top="high", **BAND)
    line = panel.draw("Segment", runs, x0="start", y0="ppm", x1="end", y1="ppm", **LINE)
    gaps = {"time": curves.gap_time / ns, "ppm": curves.gap_ppm}
    dots = panel.draw("Scatter", gaps, x="time", y="ppm", **_DIAMOND)
    panel.y_range = Model("Range1d", start=bottom, end=top)
    _mark_beyond(panel, curves, ns, (bottom, top))
    panel.yaxis.ticker.desired_num_ticks = 4
    panel.yaxis.formatter.use_scientific = False
    if alone:
        held = [("rate", [line]), ("error bar", [box])] if known.any() else []
        between = [("between snapshots", [dots])] if len(curves.gap_ppm) else []
        panel.legend([*between, *held])
    return panel


def _mark_beyond(panel: Figure, curves: Curves, ns: float, drawn: tuple[float, float]) -> None:
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
            panel.draw("Scatter", data, x="time", y=edge, marker=marker, **_BEYOND)
    if text := beyond_in_words(curves, drawn):
        panel.above.append(
            Model(
                "Title",
                text=plain(text),
                align="right",
                text_font_size="12px",
                text_font_style="normal",
                text_color=INK,
                standoff=0,
            )
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
