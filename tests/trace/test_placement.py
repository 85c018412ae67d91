"""Rows on trace time for formats whose readers do not place them."""

import numpy as np

from tracetime import ClockGraph, Reading, Snapshot, clock_id
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.errors import AS_IS, OVERFLOW, RESOLVED
from tracetime.trace.placement import placed_by_floor

MILLISECONDS = clock_id("com.example.ms")


def test_readings_that_leave_int64_ns_stay_at_its_end():
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot(Snapshot({"BOOTTIME": 5_000_000, MILLISECONDS: Reading(1, 1_000_000)}))
    times = np.array([3, INT64_MAX // 1000, 7], dtype=np.int64)
    rows = placed_by_floor(
        {
            "packet": np.arange(3, dtype=np.uint64),
            "clock": np.array([MILLISECONDS, MILLISECONDS, 0], dtype=np.uint32),
            "timestamp": times,
            "offset": np.zeros(3, dtype=np.uint64),
        },
        graph,
        next(info.clock for info in graph.clocks() if info.clock.clock == 6),
        [0],
    )
    assert rows["source_ns"].tolist() == [3_000_000, INT64_MAX, 7]
    assert rows["status"].tolist() == [RESOLVED, OVERFLOW, AS_IS]
    assert rows["trace_time"][0] == 7_000_000
