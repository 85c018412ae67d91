"""What a type checker makes of calls: read by mypy (`make lint`), never run."""

from datetime import datetime
from typing import assert_type

import numpy as np
import numpy.typing as npt

from tracetime import Bounds, ClockDomain, ClockGraph, ClockId, Margin, Reading, Snapshot

Int64s = npt.NDArray[np.int64]


def what_conversions_return(graph: ClockGraph, array: Int64s) -> None:
    assert_type(graph.convert(5, "MONOTONIC", 6), int)
    assert_type(graph.convert(np.int64(5), ClockId(3), 6), int)
    assert_type(graph.convert(5, 3, 6, errors="mask"), int | None)
    assert_type(graph.convert(5, 3, 6, policy="tube", bounds=True), Bounds[int, int | None])
    assert_type(graph.convert(array, 3, 6), Int64s)
    assert_type(graph.convert([5], 3, 6, policy="tube", near=(7, "MONOTONIC")), Int64s)
    assert_type(graph.convert(array, 3, 6, policy="tube", bounds=True), Bounds[Int64s, Int64s])
    assert_type(graph.convert(array, 3, 6, policy="tube", bounds=True).latest, Int64s)


def what_orders_return(graph: ClockGraph, array: Int64s) -> None:
    assert_type(graph.order((5, 3), (6, "MONOTONIC")), int)
    assert_type(graph.order((5, 3), (6, 3), bars="guaranteed"), int)
    assert_type(graph.order((array, 3), (6, 3)), npt.NDArray[np.int8])
    assert_type(graph.order((5, 3), ([6], 3)), npt.NDArray[np.int8])
    assert_type(graph.order((5, 3), (6, 3), margin=True), Margin[int, int | None])


def what_times_may_be(
    graph: ClockGraph, moment: datetime, days: npt.NDArray[np.datetime64]
) -> None:
    assert_type(graph.convert(moment, "REALTIME", 6), int)
    assert_type(graph.convert("2026-08-22T14:48:40", "REALTIME", 6), int)
    assert_type(graph.convert(days, "REALTIME", 6), Int64s)
    assert_type(graph.convert(["2026-08-22T14:48:40"], "REALTIME", 6), Int64s)
    assert_type(graph.order((moment, "REALTIME"), (5, 6)), int)


def what_may_be_given(names: dict[str, int], numbers: dict[int, Int64s]) -> None:
    Snapshot(names, reference="MONOTONIC", half_width_ns={3: 5})
    Snapshot(numbers)
    Snapshot({"com.example.gpu": 5, 3: 6})
    Snapshot({"com.example.gpu": Reading([1, 2]), 3: [1, 2], ClockId(6): np.arange(2)})
    ClockDomain("TSC", ns_per_tick="5/12")


def what_is_a_mistake(graph: ClockGraph) -> None:
    graph.convert(5.0, 3, 6)  # type: ignore[call-overload]
    graph.convert(np.zeros(2), 3, 6)  # type: ignore[arg-type]
    graph.convert(5, 3, 6, policy="ceiling")  # type: ignore[call-overload]
    graph.convert(5, 3, 6, errors="ignore")  # type: ignore[call-overload]
    graph.convert(5, 3.0, 6)  # type: ignore[call-overload]
    Snapshot({3: 1.5})  # type: ignore[dict-item]
