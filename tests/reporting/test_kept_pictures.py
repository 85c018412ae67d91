"""Pictures of two clocks: the same curves, points and looks as before."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.model import Model
from kept import check_kept

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot
from tracetime.reporting.drawing import (
    Figure,
    time_name,
    time_range,
    time_ticks,
    time_unit,
    unit_of,
)
from tracetime.reporting.plot import pair_figure

S = 1_000_000_000
GPU = ClockId.parse("com.example.gpu")


def graph_of(n: int, every: int, *, seed: int = 1, jumps: int = 0, strays: int = 0,
             half: int | None = None, knee: float = 0.0, even: bool = True,
             rate: Fraction = Fraction(1)) -> ClockGraph:  # fmt: skip
    """A clock that drifts by 20 ppm beside BOOTTIME, bent in the middle, read n times."""
    chance = Random(seed)
    boottime, other, widths, jumped, drifted = [], [], [], 0, 0.0
    at = 5_000 * S
    for k in range(n):
        if jumps and k % (n // (jumps + 1)) == n // (jumps + 1) - 1:
            jumped += 40 * every * (-1) ** (k % 3)
        off = int((chance.random() - 0.5) * 2 * (half or 300))
        if strays and k % (n // strays) == n // strays // 2:
            off += 50_000_000
        boottime.append(at)
        other.append(int((at + int(drifted) + jumped + off - 3 * S) / rate))
        widths.append(half or 0)
        step = every if even else int(every * (0.5 + chance.random()))
        drifted += (20e-6 + (knee if k > n // 2 else 0.0)) * step
        at += step
    graph = ClockGraph("BOOTTIME", [ClockDomain("com.example.gpu", ns_per_tick=rate)])
    readings = {"BOOTTIME": np.array(boottime), "com.example.gpu": np.array(other)}
    if half is None:
        graph.add_snapshot(readings)
    else:
        graph.add_snapshot(
            Snapshot(readings, reference="BOOTTIME", half_width_ns={GPU: np.array(widths)})
        )
    return graph


CASES: dict[str, tuple[ClockGraph, dict[str, Any]]] = {
    "few snapshots": (graph_of(5, S), {}),
    "measured, bent": (graph_of(30, S, half=4_000, knee=60e-6), {"most": 24}),
    "jumps and strays": (graph_of(64, S // 100, jumps=3, strays=2, seed=4), {"most": 40}),
    "uneven": (graph_of(40, 600 * S, half=900, even=False, knee=-9e-6), {"most": 16}),
    "close together": (graph_of(20, 7_000, half=60, seed=5), {"most": 30}),
    "ticks": (graph_of(24, 10 * S, rate=Fraction(625, 12)), {"most": 16}),
    "a span": (graph_of(12, S, half=700), {"span": (4_990 * S, 5_050 * S), "most": 16}),
    "an origin": (graph_of(12, S, half=700, jumps=1), {"origin_ns": 4_999 * S, "most": 16}),
    "one snapshot": (graph_of(1, S), {}),
    "two snapshots": (graph_of(2, S, half=50), {}),
    "one instant": (graph_of(2, 0, half=50_000_000, seed=3), {}),
    "many": (graph_of(300, S, half=2_000, strays=4, jumps=6), {"most": 60}),
}


AT_LIMITS = (15, 16, 17, 39, 40, 41, 49, 50)


@pytest.mark.parametrize("n", AT_LIMITS)
def test_pictures_at_limits_stay(n: int) -> None:
    """Of so many snapshots: which are steady, how points are set and how bold whiskers are."""
    graph = graph_of(n, S, half=600, seed=n)
    curves = graph.curves("BOOTTIME", GPU, most=2_000)
    (whiskers, *_) = (
        r.glyph
        for r in pair_figure(curves, "a", "b").children[0].renderers
        if type(r.glyph).__name__ == "Segment"
    )
    values = [len(curves.sampled.time), float(np.nansum(curves.sampled.half)), whiskers.line_alpha]
    check_kept("pictures", f"of {n}", [values, curves.steady if n < 18 else curves.steady is None])


@pytest.mark.parametrize("off", [0.0, 0.099, 0.1001, 0.5])
def test_snapshots_are_steady_within_a_tenth(off: float) -> None:
    """The longest stretch of them, which is before the one that came late."""
    at = np.arange(50, dtype=np.int64) * S
    at[30:] += int(off * S)
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": at, GPU: at + at // 50_000})
    steady = graph.curves("BOOTTIME", GPU).steady
    assert steady is not None
    assert steady[0] == S
    assert len(steady[1]) == (50 if off < 0.1 else 30)


@pytest.mark.parametrize("n", [39, 40, 41, 99, 100, 101])
def test_at_most_40_breaks_are_marked(n: int) -> None:
    at = np.arange(2 * n + 2, dtype=np.int64) * S
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": at, "REALTIME": at + (np.arange(len(at)) // 2) * 10 * S})
    curves = graph.curves("BOOTTIME", "REALTIME", most=500)
    assert curves.n_breaks == n
    assert len(curves.breaks) == min(n, 100)
    zones = [
        r for r in pair_figure(curves, "a", "b").children[0].renderers if r.level == "underlay"
    ]
    assert [len(r.data_source.data["start"]) for r in zones] == [min(n, 40)]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_curves_stay(case: str, turned: bool) -> None:
    graph, arguments = CASES[case]
    clocks = (GPU, "BOOTTIME") if turned else ("BOOTTIME", GPU)
    curves = graph.curves(*clocks, **arguments)
    values = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in ((name, getattr(curves, name)) for name in curves.__slots__)
    }
    values["end"] = curves.end
    check_kept("curves", f"{case}{', turned' if turned else ''}", values)


def looks(value: Any, seen: dict[int, int]) -> Any:
    """What was set of a model of Bokeh, and of those it holds; a source's columns by their sums."""
    if isinstance(value, Model):
        if id(value) in seen:
            return f"<{seen[id(value)]}>"
        seen[id(value)] = len(seen)
        kind = type(value).__name__
        if kind == "ColumnDataSource":
            return {"kind": kind, "data": {k: summed(v) for k, v in value.data.items()}}
        values: dict[str, Any] = {"kind": kind}
        for name in sorted(value.properties_with_values(include_defaults=False)):
            try:
                values[name] = looks(getattr(value, name), seen)
            except UnsetValueError:
                values[name] = "unset"
        return values
    if type(value).__name__ in ("Value", "Field"):
        return looks(getattr(value, type(value).__name__.lower()), seen)
    if isinstance(value, dict):
        return {str(k): looks(v, seen) for k, v in value.items() if k != "id"}
    if isinstance(value, (list, tuple)):
        return [looks(v, seen) for v in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def summed(column: Any) -> Any:
    if len(column) and isinstance(column[0], str):
        return list(column)
    flat = (
        np.concatenate([np.asarray(c, dtype=float) for c in column])
        if len(column) and np.ndim(column[0])
        else np.asarray(column, dtype=float)
    )
    some = flat[np.isfinite(flat)]
    return [len(column), len(some), *(some[:1].tolist()), float(some.sum())]


@pytest.mark.parametrize(
    ("case", "alone"),
    [("jumps and strays", True), ("jumps and strays", False), ("close together", True),
     ("one snapshot", True), ("one instant", False), ("uneven", False), ("many", True)],
)  # fmt: skip
def test_looks_stay(case: str, alone: bool) -> None:
    graph, arguments = CASES[case]
    curves = graph.curves("BOOTTIME", GPU, **arguments)
    figure = pair_figure(curves, "<the one>", "$$the other", alone=alone)
    check_kept("pictures", f"{case}{', alone' if alone else ''}", looks(figure, {}))


def test_a_time_axis_has_the_largest_unit_that_fits() -> None:
    assert [time_unit(ns)[0] for ns in (4 * 3.6e12, 4 * 3.6e12 - 1, 1e9, 1e9 - 1, 1e6, 1e6 - 1, 0)] == [
        "h", "s", "s", "ms", "ms", "us", "us",
    ]  # fmt: skip
    assert [time_unit(ns)[1] for ns in (1e15, 1e10, 1e7, 5.0)] == [3.6e12, 1e9, 1e6, 1e3]
    assert [time_name(ns) for ns in (3.6e12, 1e9, 1e6, 1e3)] == ["h", "s", "ms", "us"]


def test_sizes_have_the_largest_unit_of_which_there_are_two() -> None:
    nan = float("nan")
    assert unit_of(np.array([nan, -2e9, 5.0])) == ("s", 1e9)
    assert unit_of(np.array([2e9 - 1])) == ("ms", 1e6)
    assert unit_of(np.array([-2e3, nan])) == ("us", 1e3)
    assert unit_of(np.array([1_999.0])) == ("ns", 1.0)
    assert unit_of(np.array([1.9])) == ("ns", 1.0)
    assert unit_of(np.array([1.9]), "us") == ("us", 1.0)
    assert unit_of(np.array([nan])) == unit_of(np.array([])) == ("ns", 1.0)


def test_a_range_of_times_leaves_a_hundredth_at_either_end() -> None:
    made = time_range(10.0, 30.0)
    assert (made.start, made.end) == (9.8, 30.2)
    assert made.bounds == (9.8, 30.2)
    assert made.min_interval == pytest.approx(20.4e-7)
    none = time_range(5.0, 5.0)
    assert none.end - none.start == pytest.approx(2e-9, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([1.0, 19.9], "125"),
        ([1.0, 20.0], "13"),
        ([1.0, 299.0], "13"),
        ([1.0, 300.0], "1"),
        ([1.0, 2.5], "125"),
    ],
)
def test_fewer_ticks_of_each_decade_where_more_decades_are_seen(
    values: list[float], digits: str
) -> None:
    axis = Figure(100, y_axis_type="log").yaxis
    time_ticks(axis, np.array([*values, float("nan"), float("inf")]))
    ticks = axis.ticker.ticks
    assert sorted({str(tick)[0] for tick in ticks}) == list(digits)
    assert (min(ticks), max(ticks)) == (1, int(digits[-1]) * 10**15)
    assert len(ticks) == 16 * len(digits)
    assert axis.major_label_overrides[1_000] == "1 us"
    assert axis.major_label_policy.min_distance == 4
