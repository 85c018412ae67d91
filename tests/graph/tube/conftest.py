"""A graph of two clocks that drift."""

import pytest
from drifting import drifting

from tracetime import ClockGraph


@pytest.fixture
def graph():
    boottime, raw = drifting()
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC_RAW": raw})
    return graph
