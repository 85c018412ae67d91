"""The graphs of Perfetto's clock-sync page."""

from __future__ import annotations

import pytest
from graphs import HOUR, graph_of

from tracetime import (
    ClockGraph,
)


@pytest.fixture
def suspended() -> ClockGraph:
    """MONOTONIC is 1000 ns behind BOOTTIME, then 1500 ns: the device slept."""
    return graph_of(
        {
            "MONOTONIC": [1000, 1100, 1200, 1900, 2000, 2100],
            "BOOTTIME": [2000, 2100, 2200, 2900, 3500, 3600],
        }
    )


@pytest.fixture
def indirect() -> ClockGraph:
    """No snapshot has both the custom clock and BOOTTIME."""
    return graph_of(
        {200: 1000, "MONOTONIC": 1100},
        {"MONOTONIC": 1200, "BOOTTIME": 5200},
        {200: 3000, "MONOTONIC": 3200},
        {"MONOTONIC": 4000, "BOOTTIME": 9000},
    )


@pytest.fixture
def daylight_saving() -> ClockGraph:
    """At 3:00 REALTIME jumps back to 2:00."""
    return graph_of(
        {"BOOTTIME": [0, HOUR, 2 * HOUR], "REALTIME": [1 * HOUR, 2 * HOUR, 2 * HOUR - 1]}
    )
