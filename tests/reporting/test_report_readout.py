"""What the report's pictures say at the pointer: values, bars and instants, to the nanosecond."""

import base64
import json
import re

import numpy as np
import pytest
from building import BOOTTIME, event, snapshot, trace
from reading import opened

import tracetime
from tracetime import ClockDomain, ClockGraph
from tracetime.reporting.measure import HalfWidths
from tracetime.reporting.readout import bar_in_words, pair_readout

pytest_plugins = ["browser"]

S = 1_000_000_000
REALTIME = 1
START, WALL = 1000 * S + 7, 1_700_000_000 * S + 123_456_789
HOSTILE = "<img src=x onerror=alert(1)>"


def readings(k):
    """BOOTTIME and REALTIME at snapshot k: 20 ppm of drift, and 3.2 s more from 15 on."""
    return START + k * S + k % 3, WALL + k * S + k % 3 + k * 20_000 + 3_200_000_000 * (k >= 15)


def content():
    packets = []
    for k in range(30):
        boottime, realtime = readings(k)
        packets += [
            snapshot({BOOTTIME: boottime, REALTIME: realtime}),
            event(realtime + 9, REALTIME),
        ]
    return trace(*packets)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("readout") / "report.html"
    with opened(content(), domains=[ClockDomain("REALTIME", name=HOSTILE)]) as trace_:
        tracetime.report(trace_, path)
    return path


def said(page, figure="pair-1-picture"):
    """The lines of the readout: {label: text}; none if it is hidden."""
    box = page.locator(f"#{figure} .readout")
    if box.is_hidden():
        return {}
    rows = box.evaluate(
        "box => [...box.children].map(r => [r.firstChild.textContent, r.lastChild.textContent])"
    )
    return dict(rows)


def hover(page, seconds, panel=1, figure="pair-1-picture"):
    """Move the pointer to a time in a panel of a picture; return what is said."""
    page.locator(f"#{figure}").scroll_into_view_if_needed()
    x, y = page.evaluate(
        """([name, at, number]) => {
            const place = document.querySelector(`#${name} .canvas`).firstElementChild;
            const view = Object.values(Bokeh.index).find((v) => v.el === place);
            const panel = view.child_views[number];
            const rect = panel.el.getBoundingClientRect();
            return [rect.left + panel.frame_view.x_scale.compute(at), rect.top + 60];
        }""",
        [figure, seconds, panel],
    )
    page.mouse.move(x, y)
    return said(page, figure)


def number(text):
    """The last number of ns in a text."""
    # Of seconds nine decimals are written: all digits count nanoseconds.
    found = re.findall(r"([−-]?[\d,]+(?: ns|\.\d{9} s))", text)[-1]
    return int(re.sub(r"[^\d-]", "", found.replace("−", "-")))


def test_a_snapshot_says_its_readings_exactly(visit, written):
    page = visit(written)
    lines = hover(page, 4.0)
    boottime, realtime = readings(4)
    assert lines["instant"] == f"BOOTTIME {boottime:,} ns"
    assert lines["reading"] == f"{HOSTILE} {realtime:,} ns"
    assert number(lines["offset"]) == realtime - boottime
    assert lines["snapshot"].startswith("no. 4, half-width")
    assert re.match(r"± [\d,]+ ns \(−[\d,]+ ns to \+[\d,]+ ns\)", lines["error bar"])
    assert lines["drift"].startswith("+20.0")
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("panel", range(4))
def test_every_panel_says_the_same_and_the_reading_is_that_of_the_tube(visit, written, panel):
    page = visit(written)
    lines = hover(page, 20.45, panel)
    assert "snapshot" not in lines
    instant, reading = number(lines["instant"]), number(lines["reading"])
    with opened(content()) as trace_:
        there = trace_.clocks.convert(instant, "BOOTTIME", "REALTIME", policy="tube", bounds=True)
    assert abs(there.estimate - reading) <= 2
    half = (there.latest - there.earliest) / 2
    assert int(lines["error bar"].split()[1].replace(",", "")) == pytest.approx(half, abs=2)


def test_within_a_jump_its_size_is_said_and_no_reading(visit, written):
    page = visit(written)
    lines = hover(page, 14.5)
    assert re.match(r"1: step, \+3\.2 s( to \+3\.2 s)?; 14\.\d+ s to 15\.\d+ s", lines["zone"])
    assert "reading" not in lines
    assert "error bar" not in lines
    # The jump does not spoil the reading after it.
    assert abs(number(hover(page, 16.0)["reading"]) - readings(16)[1]) == 0


def test_keys_step_through_the_snapshots(visit, written):
    page = visit(written)
    page.locator("#pair-1-picture .frame").focus()
    page.keyboard.press(".")
    page.keyboard.press(".")
    assert said(page)["snapshot"].startswith("no. 1,")
    assert page.locator("#pair-1-picture .readout").evaluate("box => box.ariaLive") == "polite"
    page.keyboard.press(",")
    assert said(page)["snapshot"].startswith("no. 0,")
    page.keyboard.press("Escape")
    assert said(page) == {}


def test_a_tap_reads_and_the_box_stays_on_the_screen(visit, written, screenshots):
    size = {"width": 390, "height": 844}
    page = visit(written, viewport=size, has_touch=True, is_mobile=True, color_scheme="dark")
    frame = page.locator("#pair-1-picture .frame")
    frame.scroll_into_view_if_needed()
    for x in (90, 200, 350):
        frame.tap(position={"x": x, "y": 200})
        box = page.locator("#pair-1-picture .readout").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        # Under the finger it would hide what it reads.
        assert box["y"] + box["height"] == 844
    page.screenshot(path=screenshots / "readout-phone.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_other_pictures_say_their_values_too(visit, written):
    page = visit(written)
    for part in ("events", "bars"):
        page.locator(f"#{part} > summary").click()
        page.wait_for_selector(f"#{part} figure[data-drawn]")
        page.locator(f"#{part} .frame").focus()
        page.keyboard.press(".")
        if part == "events":
            lines = said(page, "events-picture")
            assert number(lines["to"]) > number(lines["from"])
            assert set(lines) == {"from", "to", HOSTILE}
    bars = said(page, "bars-picture")
    assert bars[""].startswith(f"{HOSTILE}: median ± ")


def test_no_absolute_time_is_a_number_in_the_page(written):
    for block in re.findall(
        r'<script type="application/json"[^>]*>(.*?)</script>', written.read_text(), re.S
    ):
        readout = json.loads(block)["readout"]
        if readout["kind"] == "pair":
            assert re.fullmatch(r"\d+", readout["origin"])
            clocks = np.frombuffer(base64.b64decode(readout["clocks"]), dtype="<i8")
            assert clocks.tolist() == [readings(k)[1] for k in range(30)]
        text = json.dumps(readout)
        assert not re.search(r"(?<![\"\d])\d{16,}(?!\d*\")", text)


def test_outliers_come_last_as_in_the_picture():
    at = np.arange(40, dtype=np.int64) * S
    off = np.where(np.arange(40) == 7, 50_000_000, 0)
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": at, "REALTIME": at + off})
    curves = graph.curves("BOOTTIME", "REALTIME")
    made = pair_readout(curves, "a", "b")
    references = np.frombuffer(base64.b64decode(made["references"]), dtype="<i8")
    assert references[-1] == 7 * S
    assert sorted(references.tolist()) == at.tolist()
    assert [zone["text"] for zone in made["zones"]] == ["1: outlier, +50 ms"]
    bars = HalfWidths(1_030.0, 2_000.0, None)
    assert bar_in_words("b", bars, curves).startswith("b: median ± 1.03 us, widest ± 2 us")
