"""The panel of a pair's jumps: its offset with them, each with its size and sign at its place.

The panels below it are drawn without the jumps: one of seconds would flatten microseconds.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tracetime.graph.tube.curves import Break, Curves, since
from tracetime.reporting.drawing import (
    BROKEN,
    DOT,
    LINE,
    OUTLIER,
    Bokeh,
    Floats,
    panel_of,
    unit_of,
)
from tracetime.text import signed_duration

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


def jumps_panel(bokeh: Bokeh, curves: Curves, ns: float, across: Any, alone: bool) -> Any:
    """Draw the offset with its jumps over the time axis `across`, whose unit has `ns` ns."""
    seen, jumps = curves.seen, jumps_of(curves)
    offset = offsets_with_jumps(curves)
    unit, size = unit_of(np.concatenate([offset, [size_ns(b) for b in jumps]]))
    panel = panel_of(bokeh, _HEIGHT, across, f"offset ({unit})", alone, True, x_axis_location=None)
    plain, offset = ~seen.odd, offset / size
    time, height = seen.time[plain], offset[plain]
    line = {"time": time / ns, "offset": height}
    bokeh.draw(panel, "Line", line, x="time", y="offset", **LINE)
    ends = _ends(jumps, time, height, ns)
    bokeh.draw(panel, "Segment", ends, **{side: side for side in ends}, **_JUMP)
    bokeh.draw(panel, "Scatter", line, x="time", y="offset", **DOT)
    if seen.odd.any():
        odd = {"time": seen.time[seen.odd] / ns, "offset": offset[seen.odd]}
        bokeh.draw(panel, "Scatter", odd, x="time", y="offset", **OUTLIER)
    _write_sizes(bokeh, panel, curves, ns, offset)
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


def _write_sizes(bokeh: Bokeh, panel: Any, curves: Curves, ns: float, offset: Floats) -> None:
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
    bokeh.draw(panel, "Text", columns, text="text", text_align="align", **places, **_SIZE)
