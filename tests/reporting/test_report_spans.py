"""The section of slices: which overlaps error bars leave open, and how they are drawn."""

from __future__ import annotations

import re
from html import unescape

import pytest
from building import BOOTTIME, MONOTONIC, packet, pb, snapshot, trace
from naming import CLEARED, thread
from reading import opened

import tracetime
from tracetime import ClockDomain, TraceError
from tracetime.reporting.spans import _ticks, _TimeScale

pytest_plugins = ["browser"]

MS = 1_000_000
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"
TIED = [
    snapshot({BOOTTIME: i * 100 * MS, MONOTONIC: i * 100 * MS - i * 70}, i % 2) for i in range(1, 8)
]


def slice_(begin, end, clock, track, name):
    """A slice in ns from 150 ms on."""
    for at, type in ((begin, 1), (end, 2)):
        made = pb.TrackEvent(type=type, name=name if type == 1 else None, track_uuid=track)
        yield packet(150 * MS + at, clock, 1, track_event=made)


def made_of(*slices):
    tracks = [packet(**CLEARED), thread(7, 10, 11), thread(8, 10, 12)]
    return trace(*tracks, *TIED, *(event for one in slices for event in one))


DECIDED = made_of(
    slice_(0, 90_000, BOOTTIME, 7, "copy"), slice_(50_000, 99_000, MONOTONIC, 8, "draw")
)
OPEN = made_of(
    slice_(0, 90_000, BOOTTIME, 7, HOSTILE), slice_(88_900, 99_000, MONOTONIC, 8, "draw")
)
ONE_CLOCK = made_of(slice_(0, 90_000, BOOTTIME, 7, "a"), slice_(0, 90_000, BOOTTIME, 8, "b"))


def report_of(content, folder, **options):
    path = folder / "report.html"
    with opened(content, partial=True, **options) as opened_trace:
        tracetime.report(opened_trace, path)
    return path


def section_of(content, folder, **options):
    """The section's HTML, None where the report has none."""
    page = report_of(content, folder, **options).read_text()
    found = re.search(r'<(section|details)[^>]* id="slices".*?</\1>', page, re.S)
    return found and found[0]


def text_of(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_without_two_clocks_there_is_no_section(tmp_path):
    assert section_of(ONE_CLOCK, tmp_path) is None


def test_where_bars_decide_everything_it_is_a_line(tmp_path):
    text = text_of(section_of(DECIDED, tmp_path))
    assert text == "Slices their error bars decide which of them, on different clocks, overlap"


def test_what_is_open_is_counted_and_drawn(tmp_path):
    before = slice_(-500_000, -400_000, BOOTTIME, 7, "before")
    section = section_of(OPEN + trace(*before), tmp_path)
    text = text_of(section)
    assert "whether they overlap cannot be said of 1 pair on different clocks" in text
    assert section.count('<div class="overlap">') == 1
    assert section.count('<i class="open"') == section.count('<i class="runs"') == 2
    assert "BOOTTIME, 90 us" in text
    assert "MONOTONIC, 10.1 us" in text
    assert re.search("They overlap for up to [^;]*, or not at all; the estimates overlap by", text)
    assert "BOOTTIME 2 1 50.0% MONOTONIC 1 1 100.0%" in text
    assert "not compared" not in text


def test_the_estimates_may_be_apart(tmp_path):
    draw = slice_(90_300, 99_000, MONOTONIC, 8, "draw")
    text = text_of(section_of(made_of(slice_(0, 90_000, BOOTTIME, 7, "copy"), draw), tmp_path))
    assert re.search("or not at all; the estimates are [0-9]+ ns apart", text)


def test_names_of_slices_are_escaped(tmp_path):
    section = section_of(OPEN, tmp_path)
    assert "<img" not in section
    assert "\x1b" not in section
    assert "&lt;img src=x onerror=alert(1)&gt;\\x1b[31m" in section


def test_long_names_of_slices_are_cut(tmp_path):
    draw = slice_(88_900, 99_000, MONOTONIC, 8, "w" * 1000)
    section = section_of(made_of(slice_(0, 90_000, BOOTTIME, 7, "copy"), draw), tmp_path)
    assert "w" * 60 + "…" in section
    assert "w" * 61 not in section


def test_open_slices_are_counted_apart(tmp_path):
    unfinished = list(slice_(0, 90_000, BOOTTIME, 9, "open"))[:1]
    content = OPEN + trace(thread(9, 10, 13), *unfinished)
    text = text_of(section_of(content, tmp_path))
    assert "Without an end, or a bar, and so not compared: 1 slice." in text
    decided = DECIDED + trace(thread(9, 10, 13), *unfinished)
    assert text_of(section_of(decided, tmp_path)).endswith("without an end or a bar not compared")


def test_of_too_many_clocks_nothing_is_compared(tmp_path, monkeypatch):
    monkeypatch.setattr("tracetime.analysis.survey.MOST_EXAMINED", 1)
    text = text_of(section_of(OPEN, tmp_path))
    assert text == "Slices They are on too many clocks to be compared."


def test_nor_with_more_tubes_than_there_may_be(tmp_path, monkeypatch):
    def refuse(*_):
        raise TraceError("too many tubes")

    monkeypatch.setattr("tracetime.reporting.facts.undecided_overlaps", refuse)
    text = text_of(section_of(OPEN, tmp_path))
    assert text == "Slices They are on too many clocks to be compared."


def test_places_on_the_scale():
    scale = _TimeScale(1000, 3000)
    assert [scale.place(at) for at in (0, 1000, 1500, 3000, 9000)] == [0, 0, 25, 100, 100]
    assert scale.bar("may", 1500, 2500) == '<i class="may" style="left:25.000%;width:50.000%"></i>'
    assert scale.bar("may", 0, 999) is None
    assert scale.bar("may", 3001, 9000) is None
    assert [text_of(tick) for tick in _ticks(scale, 2000)] == ["-500 ns", "0", "500 ns"]


def test_it_is_seen(visit, tmp_path, screenshots):
    page = visit(report_of(OPEN, tmp_path, domains=[ClockDomain("MONOTONIC", name="w" * 300)]))
    page.locator("#slices > summary").click()
    boxes = page.locator("#slices .open").all()
    assert len(boxes) == 2
    places = [box.bounding_box() for box in boxes]
    assert places[0]["x"] == pytest.approx(places[1]["x"])
    assert places[0]["width"] == pytest.approx(places[1]["width"])
    assert places[0]["width"] > 20
    assert places[0]["y"] < places[1]["y"]
    bar = page.locator("#slices .bar").nth(1).bounding_box()
    assert bar["x"] == pytest.approx(places[1]["x"], abs=1)
    page.locator("#slices").screenshot(path=screenshots / "slices.png")


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_page(visit, tmp_path, width):
    page = visit(report_of(OPEN, tmp_path, domains=[ClockDomain("MONOTONIC", name="w" * 300)]))
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("#slices > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
