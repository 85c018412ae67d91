"""The panel of drift: its scale is that of the rates that held, and what is beyond is said."""

import numpy as np
import pytest

from tracetime import ClockGraph, Snapshot
from tracetime.reporting.drift import beyond_in_words, drift_range

S = 1_000_000_000


def graph_of(moved, half=200, spacing=S):
    """A clock beside BOOTTIME that has moved by so many ns at each snapshot."""
    at = np.arange(len(moved), dtype=np.int64) * spacing + 5_000 * S
    readings = {"BOOTTIME": at, "com.example.gpu": at + np.asarray(moved, dtype=np.int64)}
    graph = ClockGraph()
    width = {"com.example.gpu": np.full(len(at), half)}
    graph.add_snapshot(Snapshot(readings, reference="BOOTTIME", half_width_ns=width))
    return graph


def panel_of(graph):
    for panel in graph.plot("BOOTTIME", "com.example.gpu").children:
        if panel.yaxis[0].axis_label.text.startswith("drift"):
            return panel
    raise AssertionError("no drift")


def said(panel):
    return [t.text.text for t in panel.above if type(t).__name__ == "Title" and t.text]


def edges(panel):
    """How many rates are marked at the edges, above and below."""
    found = {"triangle": 0, "inverted_triangle": 0}
    for renderer in panel.renderers:
        marker = getattr(renderer.glyph, "marker", None)
        if marker in found:
            found[marker] += len(renderer.data_source.data["time"])
    return found["triangle"], found["inverted_triangle"]


def test_start_up_and_noise_of_readings_do_not_flatten_a_rate_that_held():
    """In the first 3 s of 300 the clock runs 420 ppm fast, then 20."""
    k = np.arange(300)
    moved = np.minimum(k, 3) * 400_000 + k * 20_000
    graph = graph_of(moved)
    curves = graph.curves("BOOTTIME", "com.example.gpu")
    low, high = drift_range(curves)
    assert 0 < low < 20 < high < 40
    panel = panel_of(graph)
    assert edges(panel)[0] == 3
    (text,) = said(panel)
    assert "3 of 299 rates between snapshots are beyond: at +420 ppm" in text
    assert (panel.y_range.start, panel.y_range.end) == pytest.approx(
        (low - 0.15 * (high - low), high + 0.15 * (high - low))
    )


def test_a_change_of_rate_is_within_the_scale():
    k = np.arange(200)
    graph = graph_of(k * 20_000 + np.clip(k - 100, 0, None) * 60_000)
    low, high = drift_range(graph.curves("BOOTTIME", "com.example.gpu"))
    assert low < 20
    assert high > 80
    assert said(panel_of(graph)) == []


def test_the_band_of_a_rate_is_within_the_scale():
    """Five snapshots of ± 1 ms: the rate may be anything within hundreds of ppm."""
    graph = graph_of(np.zeros(5), half=1_000_000)
    curves = graph.curves("BOOTTIME", "com.example.gpu")
    low, high = drift_range(curves)
    assert low <= curves.rate.low[0] < -100
    assert high >= curves.rate.high[0] > 100


def test_what_is_beyond_is_counted_on_both_sides():
    noise = np.random.default_rng(4).integers(-20, 21, 200)
    noise[50], noise[120] = 9_000, -9_000
    graph = graph_of(noise, half=10_000)
    curves = graph.curves("BOOTTIME", "com.example.gpu")
    assert edges(panel_of(graph)) == tuple(
        int(n)
        for n in (
            (curves.gap_ppm > panel_of(graph).y_range.end).sum(),
            (curves.gap_ppm < panel_of(graph).y_range.start).sum(),
        )
    )
    assert beyond_in_words(curves, (-1.0, 1.0)).startswith("4 of 199 rates")
    assert beyond_in_words(curves, (-1e6, 1e6)) is None


def test_noise_of_many_readings_widens_the_scale_only_so_far():
    """The rate is known to a tenth of what the readings' noise makes from one to the next."""
    noise = np.random.default_rng(5).integers(-10_000, 10_001, 300)
    curves = graph_of(noise, half=10_000).curves("BOOTTIME", "com.example.gpu")
    low, high = drift_range(curves)
    held = curves.rate.high[0] - curves.rate.low[0]
    assert held < 3
    assert (
        high - low < 6 * held < np.quantile(curves.gap_ppm, 0.9) - np.quantile(curves.gap_ppm, 0.1)
    )
