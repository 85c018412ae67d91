"""What a picture says at a place: the facts that readout.js cannot read from the picture itself.

JavaScript's numbers hold no absolute time. Such times are int64 in base64, or digits; all else in a
picture is relative to one of them.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from tracetime.graph.tube.curves import Break, Curves
from tracetime.reporting.drawing import time_unit
from tracetime.reporting.facts import Facts
from tracetime.reporting.plot import offset_unit_of, time_unit_of
from tracetime.reporting.timeline import Row
from tracetime.text import duration, half_width, signed_duration


def pair_readout(curves: Curves, reference: str, clock: str) -> dict[str, Any]:
    """Return the facts of a pair's picture; the rest is in its sources."""
    # As the picture has them: snapshots, messages, outliers.
    seen = curves.seen
    order = np.argsort(np.where(seen.odd, 2, seen.number < 0), kind="stable")
    return {
        "kind": "pair",
        "reference": reference,
        "clock": clock,
        "unit": time_unit_of(curves)[1],
        "size": offset_unit_of(curves)[1],
        "origin": str(curves.origin_ns),
        "trend": curves.trend_ppm if np.isfinite(curves.trend_ppm) else 0.0,
        "references": _int64(seen.hub[order]),
        "clocks": _int64(seen.clock[order]),
        "zones": [
            {"start": b.start, "end": b.end, "text": f"{number}: {break_in_words(b)}"}
            for number, b in enumerate(curves.breaks, 1)
        ],
    }


def break_in_words(b: Break) -> str:
    """Return what a discontinuity is, and its limits."""
    name = b.kind.replace("_", " ")
    if b.rate_ppm is not None:
        return f"{name}, {b.rate_ppm[0]:+.3g} to {b.rate_ppm[1]:+.3g} ppm"
    if b.size_ns is None:
        return name
    first, last = (signed_duration(limit) for limit in b.size_ns)
    return f"{name}, {first}" if first == last else f"{name}, {first} to {last}"


def events_readout(facts: Facts, rows: list[tuple[str, Row]]) -> dict[str, Any]:
    """Return the facts of the picture of events: counts by clock and bin."""
    return {
        "kind": "events",
        "reference": facts.survey.graph.name(facts.survey.trace_clock),
        "unit": time_unit(float(facts.end_ns - facts.start_ns))[1],
        "edges": _int64(facts.histogram.edges),
        "rows": [
            {"name": name, "events": row.resolved.tolist(), "lost": row.unresolved.tolist()}
            for name, row in rows
        ],
    }


def points_readout(points: list[tuple[float, float, str]]) -> dict[str, Any]:
    """Return the facts of a picture of points: x, y and what there is to say of each."""
    return {"kind": "points", "points": [list(point) for point in points]}


def bar_in_words(name: str, curves: Curves) -> str:
    """Return the error bars of a clock, and the error of floor."""
    parts = [f"{name}: median {half_width(curves.median_bar_ns)}"]
    if np.isfinite(curves.most_bar_ns):
        parts.append(f"widest ± {duration(curves.most_bar_ns)}")
    if np.isfinite(curves.most_floor_ns):
        parts.append(f"floor off by at most {duration(curves.most_floor_ns)}")
    return ", ".join(parts)


def _int64(values: npt.NDArray[np.int64]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<i8").tobytes()).decode()
