"""Pairs of clocks that messages tie, in the report: what it calls them, and what it draws."""

import re
from random import Random

import numpy as np
import pytest
from building import BOOTTIME, packet, remote_sync, snapshot, trace
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from reading import opened
from test_report_readout import hover

import tracetime
from tracetime import ClockGraph
from tracetime.reporting.drawing import Figure, time_ticks
from tracetime.reporting.drift import drift_range

pytest_plugins = ["browser"]

S = 10**9
FAR = 5
AHEAD = 890 * S


def event(ts, machine, **flows):
    made = pb.TrackEvent(type=pb.TrackEvent.TYPE_INSTANT, name="x", **flows)
    return packet(ts, BOOTTIME, machine or 1, machine=machine, track_event=made)


def messages(n=40, *, back=True, early=()):
    """Every 0.1 s a message from the host, whose clock is 890 s behind, or to it."""
    random = Random(2)
    packets = []
    for k in range(n):
        at, takes = 11 * S + k * S // 10, 20_000 + int(random.expovariate(1e-5))
        ends = [(at, None), (at + takes + AHEAD, FAR)]
        if back and k % 2:
            ends = [(at + AHEAD, FAR), (at + takes - 5_000_000 * (k in early), None)]
        (sent, here), (received, there) = ends
        packets.append(event(sent, here, flow_ids=[k]))
        packets.append(event(received, there, terminating_flow_ids=[k]))
    return packets


def sync(at):
    rounds = [
        ({BOOTTIME: at + k * 100_000 + AHEAD}, {BOOTTIME: at + k * 100_000 + 50_000})
        for k in range(2)
    ]
    return packet(machine=FAR, remote_clock_sync=remote_sync(rounds))


def content(name):
    made = {
        "messages": messages(),
        "one way": messages(back=False),
        "both": [sync(11 * S), *messages(), sync(14 * S)],
        "wrong": messages(early=(21,)),
    }[name]
    return trace(
        snapshot({BOOTTIME: 10 * S}, 1), *made, snapshot({BOOTTIME: 30 * S + AHEAD}, 2, machine=FAR)
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")

    def written(name):
        path = folder / f"{name}.html"
        if not path.exists():
            with opened(content(name), orders="flows") as read:
                tracetime.report(read, path)
        return path

    return written


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("messages", "40 messages"),
        ("one way", "40 messages"),
        ("both", "4 snapshots and 40 messages"),
    ],
)
def test_messages_are_called_messages(written, name, said):
    page = written(name).read_text()
    (line,) = re.findall(r"</h3> <span class=.line.>([^<]*)</span>", page)
    assert line.endswith(f", {said}")
    assert f"BOOTTIME@machine1 against BOOTTIME: {said}; the offset begins" in page
    assert "0 snapshots" not in page
    assert (">snapshot</li>" in page) == (name == "both")
    assert ">message</li>" in page
    assert (">drift between snapshots</li>" in page) == (name == "both")
    assert "a table of 4 readings" in page if name == "both" else "a table of" not in page


def test_one_way_neither_a_drift_nor_an_error_is_known(written):
    page = written("one way").read_text()
    assert "error bar of its events open to one side, 40 messages" in page
    assert ">error bar, open to one side</li>" in page
    assert ">|floor − estimate|</li>" not in page
    assert "drift none" not in page


@pytest.mark.parametrize("name", ["messages", "one way", "both", "wrong"])
def test_a_browser_draws_them_without_complaint(visit, written, screenshots, name):
    """A log axis without values warns; the scale of time is that of the messages."""
    page = visit(written(name))
    page.evaluate("for (const one of document.querySelectorAll('details.pair')) one.open = true;")
    page.locator("#pair-1-picture").scroll_into_view_if_needed()
    page.wait_for_selector("#pair-1-picture[data-drawn]")
    page.screenshot(path=screenshots / f"messages-{name}.png", full_page=True)
    figures = page.evaluate(
        """() => {
            const place = document.querySelector("#pair-1-picture .canvas").firstElementChild;
            const view = Object.values(Bokeh.index).find((v) => v.el === place);
            const range = view.child_views[0].model.x_range;
            return [view.child_views.length, range.end - range.start];
        }"""
    )
    assert figures[0] == {"one way": 2, "wrong": 4}.get(name, 3)
    if name != "both":
        assert figures[1] < 10


def test_what_the_pointer_says_of_a_message(visit, written):
    lines = hover(visit(written("messages")), 0.5, panel=0)
    assert lines["message"] == "bounds one side"
    assert lines["error bar"].startswith("± ")
    open_side = hover(visit(written("one way")), 0.5, panel=0)
    assert open_side["error bar"].startswith("open, to ")
    wrong = hover(visit(written("wrong")), 2.1, panel=1)
    assert wrong["message"] == "arrives before it was sent"


def orders(n=40, back=True):
    graph = ClockGraph()
    at = np.arange(n) * S
    graph.add_order((at, "com.example.a"), (at + 30_000 + at // 50_000, "com.example.b"))
    if back:
        graph.add_order((at + at // 50_000 + 7, "com.example.b"), (at + 20_007, "com.example.a"))
    return graph


def test_the_bars_open_side_is_shaded():
    drawn = orders(back=False).plot("com.example.a", "com.example.b")
    (band,) = [r for r in drawn.children[0].renderers if type(r.glyph).__name__ == "Patches"]
    (outline,) = band.data_source.data["ys"]
    edge, far = max(outline), min(outline)
    assert edge - far > 500
    assert band not in drawn.children[0].y_range.renderers


def test_a_slow_message_does_not_flatten_the_bar():
    graph = orders()
    graph.add_order((S // 2, "com.example.a"), (S // 2 + S, "com.example.b"))
    panel = graph.plot("com.example.a", "com.example.b").children[0]
    assert panel.yaxis[0].axis_label.text == "offset − trend (us)"
    sources = {r.data_source.name for r in panel.y_range.renderers}
    assert sources == {"tube", "snapshots"}
    assert {item.label for item in panel.above[0].items} == {
        "message",
        "estimate",
        "error bar",
    }


def test_the_scale_of_drift_is_that_of_rates_that_held():
    curves = orders().curves("com.example.a", "com.example.b")
    low, high = drift_range(curves)
    assert 15 < low < 20 < high < 25
    assert curves.steady is None


def test_a_narrow_range_of_errors_has_ticks():
    axis = Figure(100, y_axis_type="log").yaxis
    time_ticks(axis, np.array([20_600.0, 25_900.0]))
    assert [tick for tick in axis.ticker.ticks if 20_600 < tick < 25_900] == [22_000, 25_000]
    assert axis.major_label_overrides[22_000] == "22 us"
