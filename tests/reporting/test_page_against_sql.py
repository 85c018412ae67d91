"""The figures of the page against SQL: headlines, lanes and curves tell what events have."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, snapshot, trace
from corpus import OWN
from merge_worlds import kineto_ranks, set_back, two_recordings
from places import ROOT

from tracetime import merge, open_trace, report
from tracetime.reporting.facts import gather
from tracetime.reporting.strip import clock_rows
from tracetime.text import half_width, short_names

DEMO = ROOT / "demo" / "demo.pftrace"
S = 10**9
MERGED = ["two recordings", "ranks", "one set back"]
TRACES = [DEMO, *sorted((OWN / "traces").glob("*"))]
WIDEST = """
    select max(latest - earliest) as width,
        coalesce(bool_or(earliest is null or latest is null), false) as is_open
    from events where clock = {clock} and sequence = {sequence} and machine = {machine}
        and (earliest is not null or latest is not null)
"""


def headlines(page):
    """The lines of the pairs on the page, by the clock's name and its reference."""
    found = re.findall(r"<h3>(.*?) − (.*?)</h3> <span class=\"line\">(.*?)</span>", page)
    return {
        (html.unescape(clock), html.unescape(reference)): line for clock, reference, line in found
    }


def bar_of(opened, clock):
    """The widest bar that SQL finds of a clock's events, in words; None without any."""
    machine = opened.machines[clock.machine] if clock.machine else 0
    query = WIDEST.format(clock=clock.clock, sequence=clock.sequence, machine=machine)
    (row,) = opened.sql(query, policy="tube").to_pylist()
    if row["is_open"]:
        return half_width(np.nan)
    return None if row["width"] is None else half_width((row["width"] + 1) // 2)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_headlines_are_what_sql_finds(path, tmp_path):
    check_headlines(path, tmp_path)


@pytest.fixture
def merged(tmp_path):
    """What is merged of some files, by name."""

    def merged(which):
        paths, options = (
            two_recordings(tmp_path)
            if which == "two recordings"
            else (kineto_ranks(tmp_path, 5, ranks=3, steps=60).paths, {})
        )
        if which == "one set back":
            set_back(paths[2], 214e6)
        merge(paths, tmp_path / "m.pftrace", **options)
        return tmp_path / "m.pftrace"

    return merged


@pytest.mark.parametrize("which", MERGED)
def test_the_page_of_a_merged_trace_is_what_sql_finds(which, merged, tmp_path):
    path = merged(which)
    check_headlines(path, tmp_path)
    with open_trace(path) as opened:
        facts = gather(opened, 1_000_000)
        for pair in facts.pictured:
            check_curves(facts.survey.graph, pair.curves)
        for row in clock_rows(facts).shown:
            # Of each clock there are snapshots all along.
            assert not row.clocks or row.covered.end - row.covered.start > 0.5


def check_headlines(path, tmp_path):
    with open_trace(path, partial=True) as opened:
        report(opened, tmp_path / "page.html")
        lines = headlines((tmp_path / "page.html").read_text())
        told = 0
        for clock in (info.clock for info in opened.clocks.clocks()):
            name = opened.clocks.name(clock)
            for (of, _), line in lines.items():
                if of == name and "of its events" in line:
                    assert bar_of(opened, clock) in line, (name, line)
                    told += 1
        assert told == sum("of its events" in line for line in lines.values())


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_curves_are_within_a_pixel_of_what_conversions_say(path):
    with open_trace(path, partial=True) as opened:
        facts = gather(opened, 1_000_000)
        for pair in facts.pictured:
            check_curves(facts.survey.graph, pair.curves)


def check_curves(graph, curves):
    """Between two drawn points a line is the conversion's bar, to a pixel of the panel."""
    if any(graph.domain(clock).ns_per_tick != 1 for clock in (curves.hub, curves.clock)):
        return
    drawn = curves.sampled
    known = np.isfinite(drawn.half) & np.isfinite(drawn.time)
    if known.sum() < 2 or (np.diff(drawn.time) < 0).any():
        # Over a clock that was set back, a line at one time is not one conversion.
        return
    rng = np.random.default_rng(1)
    left = np.flatnonzero(known[:-1] & known[1:])
    share = rng.random(len(left))
    time = drawn.time[left] + share * (drawn.time[left + 1] - drawn.time[left])
    at = curves.origin_ns + np.round(time).astype(np.int64)
    reached = graph.tubes.convert(at, curves.hub, curves.clock, "estimated")[0]
    true = (reached.latest - reached.earliest) / 2
    line = np.interp(time, drawn.time, drawn.half)
    pixel = float(np.nanmax(drawn.high) - np.nanmin(drawn.low)) / 260
    across = (drawn.time[-1] - drawn.time[0]) / 1000
    # What is narrower than a pixel need not be seen.
    wide = (drawn.time[left + 1] - drawn.time[left] > across) & (reached.status == 0)
    assert (np.abs(line - true)[wide] <= pixel + 3).all()


@pytest.mark.parametrize("path", [DEMO], ids=lambda path: path.name)
def test_a_lane_covers_all_snapshots_of_its_clock(path, tmp_path):
    with open_trace(path) as opened:
        report(opened, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    lanes = re.findall(r"<li class=\"lane.*?</li>", page, re.S)
    (lane,) = (lane for lane in lanes if ">MONOTONIC<" in lane)
    (width,) = re.findall(r"covered\" style=\"left:[\d.]+%;width:([\d.]+)%", lane)
    assert float(width) > 90


def page_of(path, *packets):
    path.write_bytes(trace(*packets))
    with open_trace(path) as opened:
        written = report(opened, path.with_suffix(".html"))
    return path.with_suffix(".html").read_text(), written


def test_without_a_snapshot_nothing_is_said_to_be_in_order(tmp_path):
    page, written = page_of(tmp_path / "t.pftrace", event(S, BOOTTIME), event(2 * S, BOOTTIME))
    assert written.verdict == "nothing to check: no snapshot"
    assert 'class="verdict unknown">Nothing to check: no snapshot.' in page
    assert "in order" not in page


def test_with_snapshots_clocks_are_in_order(tmp_path):
    both = [snapshot({BOOTTIME: n * S, MONOTONIC: n * S}) for n in (1, 2, 3)]
    page, written = page_of(tmp_path / "t.pftrace", *both, event(2 * S, MONOTONIC))
    assert written.verdict == "the clocks are in order"
    assert "in order</span>" in page


def test_an_offset_of_days_is_not_told_in_nanoseconds(tmp_path):
    far = 652_340_283_839_850
    both = [snapshot({BOOTTIME: n * S, REALTIME: n * S + far}) for n in range(1, 9)]
    page, _ = page_of(tmp_path / "t.pftrace", *both, event(2 * S, REALTIME))
    assert "the offset begins at +7 d 13 h" in page
    assert f"begins at {far:,}" not in page


@pytest.mark.parametrize("most", [8, 12, 22])
def test_names_are_cut_in_the_middle_and_none_look_alike(most):
    names = [f"com.example.device.{n}.queue.{n % 7}.clock" for n in range(60)]
    names += ["short", "com.example." + "x" * 40 + ".end"]
    short = short_names(names, most)
    assert list(short) == list(dict.fromkeys(names)) or set(short) == set(names)
    assert len(set(short.values())) == len(set(names))
    assert all(len(text) <= most for text in short.values())
    assert short["short"] == "short"
    assert "…" in short[names[-1]]
