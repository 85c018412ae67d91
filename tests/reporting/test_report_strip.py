"""The strip across the top of the report: which clocks have a lane, and where their findings are."""

import re
from html import unescape
from random import Random

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from faults import FAULTS, Model
from hypothesis import given
from hypothesis import strategies as st
from reading import opened

import tracetime
from tracetime import ClockDomain
from tracetime.errors import ONE_SIDED, RESOLVED
from tracetime.reporting.facts import FilePlaces
from tracetime.reporting.strip import _label, _step
from tracetime.text import signed_duration

pytest_plugins = ["browser"]

S = 1_000_000_000
REALTIME = 1
MINUTE = 60 * S


def lanes_of(content, folder, **options):
    """(class, name, inner HTML) of each lane, and the whole page."""
    path = folder / "report.html"
    with opened(content, partial=True, **options) as trace:
        tracetime.report(trace, path)
    page = path.read_text()
    lanes = []
    for kind, inner in re.findall(r'<li class="lane (\w+)">(.*?)</li>', page, re.S):
        lanes.append((kind, unescape(re.search(r'class="name">(.*?)<', inner)[1]), inner))
    return lanes, page


def faulty(name, seed=3):
    model = Model()
    FAULTS[name](model, Random(seed))
    return model.build()


def places(inner, kind):
    return [
        float(at)
        for at in re.findall(rf'class="mark {kind}" style="left:clamp\(.7rem,([\d.]+)%', inner)
    ]


def test_the_clock_that_is_wrong_comes_first_with_its_finding_and_the_size_of_its_jump(tmp_path):
    readings = [
        snapshot({BOOTTIME: 100 * S + k * S, REALTIME: 900 * S + k * S + 3_200_000_000 * (k >= 15)})
        for k in range(21)
    ]
    events = [event(900 * S + k * S, REALTIME) for k in range(24)]
    lanes, _ = lanes_of(trace(*readings, *events), tmp_path)
    assert lanes[0][:2] == ("warning", "REALTIME")
    assert lanes[1][:2] == ("fine", "BOOTTIME")
    assert "in order" in lanes[1][2]
    first = lanes[0][2]
    # 15 s of 20 s; what is drawn is a little longer than the trace.
    (at,) = places(first, "warning")
    assert at == pytest.approx(75, abs=2)
    assert 'href="#finding-1"' in first
    assert re.search(r'class="size \w+"[^>]*>\+3\.2 s<', first)
    start, width = re.search(r'class="jump" style="left:([\d.]+)%;width:([\d.]+)%"', first).groups()
    assert float(start) == pytest.approx(70, abs=2)
    assert float(width) == pytest.approx(5, abs=1)


def test_a_clock_without_snapshot_is_marked_where_its_events_are(tmp_path):
    packets = [snapshot({BOOTTIME: S, MONOTONIC: 0})]
    packets += [event(S + k * S // 10, BOOTTIME) for k in range(100)]
    packets.insert(76, event(5, 777))
    lanes, _ = lanes_of(trace(*packets), tmp_path)
    kind, name, inner = lanes[0]
    assert (kind, name) == ("error", "777")
    assert "1 lost" in inner
    (at,) = places(inner, "error")
    assert at == pytest.approx(75, abs=2)
    (lost,) = re.findall(r'class="lost" style="left:([\d.]+)%', inner)
    assert float(lost) == pytest.approx(75, abs=2)


def test_what_is_wrong_with_the_file_has_the_lane_of_the_trace(tmp_path):
    lanes, _ = lanes_of(faulty("truncated"), tmp_path)
    assert lanes[0][:2] == ("error", "the trace")
    lanes, _ = lanes_of(faulty("no_snapshots"), tmp_path)
    assert "the trace" in [name for _, name, _ in lanes]


@pytest.mark.parametrize(
    "name",
    [
        "truncated",
        "stepped",
        "suspend",
        "not_tied",
        "no_snapshots",
        "tsc",
        "id_collision",
        "overflow",
        "lost_state",
    ],
)
def test_every_finding_with_a_lane_is_linked_and_every_place_is_on_the_track(tmp_path, name):
    lanes, page = lanes_of(faulty(name), tmp_path)
    ids = set(re.findall(r' id="([^"]+)"', page))
    for _, _, inner in lanes:
        assert set(re.findall(r'href="#([^"]+)"', inner)) <= ids
        for part in re.findall(r"(?:left:(?:clamp\(.7rem,)?|right:|width:)([-\d.]+)%", inner):
            assert 0 <= float(part) <= 100
    marked = {n for _, _, inner in lanes for n in re.findall(r"#finding-(\d+)", inner)}
    assert marked, "nothing of it is on the strip"


@pytest.mark.sweep
def test_of_very_many_clocks_the_worst_have_a_lane_and_the_others_are_counted(tmp_path):
    packets = []
    for k in range(8):
        readings = {BOOTTIME: S + k * S, **{0x8000_0000 + c: k * S + c for c in range(30)}}
        readings[0x8000_0000 + 17] += 5_000_000 * (k > 3)
        packets += [snapshot(readings), *(event(k * S + c, 0x8000_0000 + c) for c in range(30))]
    lanes, page = lanes_of(trace(*packets), tmp_path)
    assert len(lanes) == 10
    assert lanes[0][1] == "0x80000011"
    assert "21 more clocks, all in order." in page


def test_names_stay_text(tmp_path):
    name = '"><script>alert(1)</script>'
    content = trace(*(snapshot({BOOTTIME: k * S, 0x8A01B2C3: k * S + 5}) for k in range(5)))
    lanes, page = lanes_of(content, tmp_path, domains=[ClockDomain(0x8A01B2C3, name=name)])
    assert name in [lane[1] for lane in lanes]
    assert "<script>alert" not in page


def test_a_trace_of_nothing_but_one_snapshot_has_a_strip(tmp_path):
    lanes, page = lanes_of(trace(snapshot({BOOTTIME: S, REALTIME: 2 * S})), tmp_path)
    assert [name for _, name, _ in lanes] == ["BOOTTIME", "REALTIME"]
    assert 'class="axis"' not in page


@given(st.integers(2, 10**17))
def test_an_axis_has_three_to_seven_ticks(length_ns):
    step = _step(length_ns)
    assert step > 0
    assert length_ns < 12 or 2 <= length_ns // step <= 6


@pytest.mark.parametrize(
    ("length_ns", "step"),
    [(1_400_000_000, 500_000_000), (6 * S, S), (59 * MINUTE, 10 * MINUTE), (8 * 60 * MINUTE, 120 * MINUTE)],
)  # fmt: skip
def test_ticks_are_round(length_ns, step):
    assert _step(length_ns) == step


@pytest.mark.parametrize(
    ("jumps", "written"),
    [
        ({50: 7200 * S, 80: -10_800 * S}, ["−3 h 0 min", "+2 h 0 min"]),
        ({40: 3 * S, 42: 5 * S, 44: S, 46: 9 * S}, ["+9 s", "+3 s"]),
    ],
)
def test_sizes_of_jumps_do_not_cover_each_other_and_the_greatest_is_there(
    tmp_path, visit, jumps, written
):
    readings = [
        snapshot(
            {
                BOOTTIME: 100 * S + k * S,
                REALTIME: 10**6 * S + k * S + sum(size for at, size in jumps.items() if at <= k),
            }
        )
        for k in range(100)
    ]
    events = [event(100 * S + k * S, BOOTTIME) for k in range(100)]
    lanes_of(trace(*readings, *events), tmp_path)
    page = visit(tmp_path / "report.html", viewport={"width": 1400, "height": 900})
    boxes = page.evaluate(
        """() => [...document.querySelectorAll(".track .size, .track .mark, .track .jump")].map(e => {
            const {left, right} = e.getBoundingClientRect();
            return [e.className.split(" ")[0], left, right, e.textContent];
        })"""
    )
    sizes = [box for box in boxes if box[0] == "size"]
    assert [text for *_, text in sizes] == written
    for one in sizes:
        for other in boxes:
            assert one is other or one[2] <= other[1] + 4 or one[1] >= other[2] - 4, (one, other)
    phone = visit(tmp_path / "report.html", viewport={"width": 390, "height": 844})
    assert not phone.locator(".track .size").first.is_visible()


def test_ticks_and_sizes_are_short():
    assert [_label(at) for at in (0, 500_000_000, 10 * MINUTE, 120 * MINUTE, 1440 * MINUTE)] == [
        "0", "500 ms", "10 min", "2 h", "1 d",
    ]  # fmt: skip
    assert [signed_duration(size) for size in (3_200_000_000, -5_000, 0)] == [
        "+3.2 s",
        "−5 us",
        "0 ns",
    ]


def test_a_packet_has_the_time_of_the_last_one_before_it():
    places = FilePlaces()
    assert places.times_ns(np.array([5]), 77).tolist() == [77]
    rows = np.arange(10_000)
    places.add(
        {
            "packet": rows.astype(np.uint64) * 2,
            "trace_time": rows * S,
            "status": np.full(len(rows), RESOLVED, dtype=np.uint8),
        }
    )
    found = places.times_ns(np.array([0, 19_998, 10_001]), 0)
    # One of 40 rows is noted.
    assert np.abs(found - np.array([0, 9_999, 5_000]) * S).max() <= 40 * S


def test_a_packet_with_a_bar_of_one_side_is_placed():
    places = FilePlaces()
    status = np.array([ONE_SIDED], dtype=np.uint8)
    places.add({"packet": np.array([3]), "trace_time": np.array([5 * S]), "status": status})
    assert places.times_ns(np.array([4]), 77).tolist() == [5 * S]


def test_a_click_goes_to_the_finding_and_to_the_clock(visit, tmp_path):
    path = tmp_path / "report.html"
    with opened(faulty("suspend")) as trace_:
        tracetime.report(trace_, path)
    page = visit(path, viewport={"width": 1400, "height": 900})
    page.locator("#finding-1 > summary").click()
    assert not page.locator("#finding-1").evaluate("finding => finding.open")
    lane = page.locator(".lane").first
    lane.locator(".mark").focus()
    page.keyboard.press("Enter")
    assert page.locator("#finding-1").evaluate("finding => finding.open")
    page.wait_for_function(
        "() => document.getElementById('finding-1').getBoundingClientRect().top < 450"
    )
    # A pair in order is folded; its name opens it, and the picture is drawn.
    fine = page.locator(".lane.fine .name[href^='#pair']").first
    target = fine.get_attribute("href")
    assert not page.locator(target).evaluate("pair => pair.open")
    fine.click()
    assert page.locator(target).evaluate("pair => pair.open")
    page.wait_for_selector(f"{target} figure[data-drawn]")


def test_a_healthy_trace_is_one_screen(visit, tmp_path):
    path = tmp_path / "report.html"
    with opened(Model().build()) as trace_:
        made = tracetime.report(trace_, path)
    assert made.findings == []
    page = visit(path, viewport={"width": 1400, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    # There is nothing to draw, so Bokeh does not run.
    assert page.evaluate("window.Bokeh === undefined")
    assert page.locator("details.pair[open]").count() == 0
    assert (
        page.locator("details.pair .line")
        .first.inner_text()
        .startswith("error bar of its events at most ± ")
    )
    phone = visit(path, viewport={"width": 390, "height": 844})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_snapshot_of_the_trace_clock_places_its_packet():
    with opened(faulty("suspend")) as trace_:
        graph = trace_.clocks
        snapshots, read = graph._graph.contents.readings_of(trace_.trace_clock)
        every = [one for one in graph.readings() if one.clock == trace_.trace_clock]
        assert snapshots.tolist() == [k for one in every for k in one.snapshots.tolist()]
        assert read.tolist() == [ns for one in every for ns in one.values_ns.tolist()]
        packets = trace_.snapshot_packets[snapshots]
    places = FilePlaces()
    places.add_snapshots(packets, read)
    assert places.times_ns(packets.astype(np.int64), 77).tolist() == read.tolist()
