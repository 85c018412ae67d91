"""What Perfetto shows as wall-clock time (clock_converter.cc)."""

import pytest
from clock_converter import displayed

from tracetime import ClockGraph, ConversionError, UsageError
from tracetime.clocks.wall_time import format_wall_time


@pytest.fixture
def graph():
    """AbsTime of clock_converter_unittest.cc: REALTIME jumps ahead, then 5 ns back."""
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot(
        {
            "BOOTTIME": [10, 20, 30],
            "REALTIME": [0, 1652904000000000000, 1652903999999999995],
        }
    )
    return graph


@pytest.mark.parametrize(
    ("trace_time", "expected"),
    [
        (3, 0),  # before the first snapshot: its reading, as it stands
        (10, 0),
        (15, 5),
        (20, 1652904000000000000),
        (25, 1652903999999999995),  # never past the next snapshot's reading
        (35, 1652904000000000000),
    ],
)
def test_reading_between_snapshots(graph, trace_time, expected):
    assert displayed(graph, trace_time) == expected


def test_monotonic_does_not_go_past_the_next_reading():
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": [10, 20, 30, 40], "MONOTONIC": [10, 10, 20, 20]})
    assert [displayed(graph, t, "MONOTONIC") for t in (15, 25, 35, 45)] == [10, 15, 20, 25]


def test_as_text(graph):
    assert format_wall_time(displayed(graph, 15)) == "1970-01-01T00:00:00.000000005Z"


def test_clock_without_snapshots(graph):
    with pytest.raises(ConversionError, match="no snapshot has both TSC"):
        displayed(graph, 10, "TSC")


def test_graph_without_trace_clock():
    with pytest.raises(UsageError, match="no trace clock"):
        displayed(ClockGraph(), 10)
