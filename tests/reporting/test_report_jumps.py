"""The panel of jumps: the offset with them, and each with its size and sign at its place."""

import numpy as np
import pytest

from tracetime import ClockGraph
from tracetime.reporting.drift import jumps_of, offsets_with_jumps
from tracetime.text import signed_duration

S = 1_000_000_000


def graph_with(steps, n=60, drift_ppm=0, outliers=None):
    """BOOTTIME and REALTIME, which steps by so many ns at these snapshots."""
    at = np.arange(n, dtype=np.int64) * S
    moved = sum((np.where(np.arange(n) >= k, size, 0) for k, size in steps.items()), at * 0)
    moved = moved + at * drift_ppm // 1_000_000
    for k, size in (outliers or {}).items():
        moved[k] += size
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": at + 5_000 * S, "REALTIME": at + 1_700_000_000 * S + moved})
    return graph


def columns(panel, kind):
    (found,) = (r.data_source.data for r in panel.renderers if type(r.glyph).__name__ == kind)
    return found


def top_of(graph, *clocks):
    return graph.plot(*(clocks or ("BOOTTIME", "REALTIME"))).children[0]


def test_a_jump_is_drawn_with_its_sign_and_the_rest_is_not_flattened():
    graph = graph_with({30: 3_200_000_000}, drift_ppm=20)
    top, below, *_ = graph.plot("BOOTTIME", "REALTIME").children
    assert top.yaxis[0].axis_label.text == "offset (s)"
    assert below.yaxis[0].axis_label.text.startswith("without jumps (")
    ends = columns(top, "Segment")
    assert (ends["x0"], ends["x1"]) == ([29.0], [30.0])
    assert ends["y1"][0] - ends["y0"][0] == pytest.approx(3.2, rel=1e-3)
    assert sizes(top) == ["+3.2 s"]
    assert below.y_range.renderers[-1].data_source.data["offset"].max() < 5_000


def sizes(panel):
    """The sizes written in a panel; numbers of zones are digits alone."""
    texts = [t for r in panel.renderers for t in r.data_source.data.get("text", ())]
    return [text for text in texts if not text.isdigit()]


def test_either_way_round_the_sign_is_that_of_the_clock_against_the_reference():
    graph = graph_with({30: -1_500_000_000})
    assert sizes(top_of(graph)) == ["−1.5 s"]
    assert sizes(top_of(graph, "REALTIME", "BOOTTIME")) == ["+1.5 s"]


def test_of_jumps_close_together_the_greatest_has_its_size():
    graph = graph_with({20: 2 * S, 22: -40_000_000, 40: -700_000_000, 55: 30_000_000})
    assert sorted(sizes(top_of(graph))) == ["+2 s", "+30 ms", "−700 ms"]


@pytest.mark.parametrize("slept", [8 * 3600 * S, -8 * 3600 * S])
def test_a_jump_as_long_as_the_picture_has_its_size_within(slept):
    """A machine that slept for most of the trace; to the left of the jump there is no room."""
    at = np.arange(60, dtype=np.int64) * S + 100 * S
    moved = np.where(np.arange(60) >= 30, abs(slept), 0)
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": at + moved, "REALTIME": at + (0 if slept > 0 else 2 * moved)})
    top = top_of(graph)
    (text,) = (
        r.data_source.data
        for r in top.renderers
        if r.data_source.data.get("text") == [signed_duration(-slept)]
    )
    ends = columns(top, "Segment")
    assert ends["x0"][0] < text["x"][0] - 1 < text["x"][0] + 1 < ends["x1"][0]
    assert (text["dx"][0], text["dy"][0]) == (7, -13 if slept > 0 else 13)


def test_an_outlier_has_its_size_and_no_line_goes_there():
    graph = graph_with({}, outliers={20: 50_000_000})
    top = top_of(graph)
    assert sizes(top) == ["+50 ms"]
    assert columns(top, "Segment") == {"x0": [], "y0": [], "x1": [], "y1": []}
    assert 20.0 not in columns(top, "Line")["time"].tolist()


def test_without_jumps_there_is_no_such_panel():
    curves = graph_with({}).curves("BOOTTIME", "REALTIME")
    assert jumps_of(curves) == []
    assert len(graph_with({}).plot("BOOTTIME", "REALTIME").children) == 3


@pytest.mark.parametrize("step", [5_000_000, 3 * S, -(10**17)])
def test_offsets_are_those_of_the_readings(step):
    graph = graph_with({30: step}, drift_ppm=40)
    curves = graph.curves("BOOTTIME", "REALTIME")
    found = offsets_with_jumps(curves)
    before, after = found[curves.seen.time < 29.5 * S], found[curves.seen.time > 29.5 * S]
    assert before == pytest.approx(np.zeros(len(before)), abs=2)
    assert after == pytest.approx(np.full(len(after), float(step)), abs=30)
