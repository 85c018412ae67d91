"""The report as a file: what it holds, what it leaves out, and that nothing in it is taken for HTML."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from random import Random

import numpy as np
import pytest
from bokeh.core.serialization import Deserializer
from bokeh.models import GlyphRenderer
from building import BOOTTIME, event, snapshot, trace
from faults import FAULTS, GPU, Model
from hypothesis import example, given, settings
from hypothesis import strategies as st
from places import ROOT
from reading import opened

import tracetime
from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    Reading,
    Snapshot,
    UsageError,
    open_trace,
)
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.reporting.facts import LEAST_PAIRS, MOST_ALIKE, MOST_PAIRS
from tracetime.reporting.markup import Html, data, join, prose, tag
from tracetime.text import visible

pytest_plugins = ["cli"]

DEMO = ROOT / "demo" / "demo.pftrace"
S = 1_000_000_000


def written(content, folder, **options):
    path = folder / "report.html"
    with opened(content, partial=True, **options) as trace:
        made = tracetime.report(trace, path)
    return made, path.read_text()


class Elements(HTMLParser):
    """Tags and attributes of a page, its script blocks left alone."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def test_one_file_that_names_no_other(tmp_path):
    made, page = written(Model().build(), tmp_path)
    assert made.size == len(page.encode()) < 3_000_000
    for tag_, attributes in Elements(page).tags:
        assert "src" not in attributes
        assert tag_ not in ("link", "iframe", "object")
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for t, a in Elements(page).tags if "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


@pytest.mark.sweep
def test_many_snapshots_of_many_clocks_are_thinned(tmp_path):
    random = Random(1)
    clocks = [0x8000_0000 + k for k in range(12)]
    packets = []
    for k in range(4000):
        t = k * S + 10**15
        packets.append(snapshot({BOOTTIME: t, **{c: t + random.randrange(2000) for c in clocks}}))
        packets += [event(t, clock) for clock in clocks] if k % 100 == 0 else []
    made, _ = written(trace(*packets), tmp_path)
    assert len(made.pairs) == MOST_PAIRS
    assert made.size < 3_000_000


def test_a_clock_that_jumps_at_every_snapshot_fills_no_page(tmp_path):
    packets, other = [], 0
    for k in range(8000):
        other += (2 if k % 2 else 4) * S
        packets.append(snapshot({BOOTTIME: 1000 * S + k * S, 0x8A01B2C3: other}))
    made, page = written(trace(*packets, event(1000 * S, BOOTTIME)), tmp_path)
    assert "7,959 more are not shown" in page
    assert made.size < 3_000_000


def test_links_within_the_page_lead_somewhere(tmp_path):
    model = Model()
    FAULTS["stepped"](model, Random(1))
    _, page = written(model.build(), tmp_path)
    elements = Elements(page).tags
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for _, a in elements if "href" in a} <= set(ids)
    figures = {a["data-figure"] for _, a in elements if "data-figure" in a}
    assert figures <= set(ids)


def test_findings_are_listed_with_their_pair(tmp_path):
    model = Model()
    FAULTS["stepped"](model, Random(1))
    made, page = written(model.build(), tmp_path)
    assert [finding.code for finding in made.findings] == ["clock-stepped"]
    assert made.pairs[0] == ("BOOTTIME", "REALTIME")
    section = page.split('id="pair-1"')[1].split('id="pair-2"')[0]
    assert made.findings[0].title in section
    assert 'data-act="show"' in section


def test_the_clocks_of_many_sequences_are_folded(tmp_path):
    packets = []
    for k in range(5):
        packets.append(snapshot({BOOTTIME: k * S + S, 1: k * S + 9 * S}, 1))
        for sequence in range(1, 40):
            readings = {BOOTTIME: k * S + S + sequence, 64: k * S + 2 * S}
            packets.append(snapshot(readings, sequence))
            packets.append(event(k * S + 2 * S + 5, 64, sequence))
    made, page = written(trace(*packets), tmp_path)
    printed = [clock for _, clock in made.pairs if "@seq" in clock]
    assert len(printed) == MOST_ALIKE
    assert made.left_out == ["37 of 64@seq* (39)"]
    assert "37 of 64@seq* (39)" in page


def test_pairs_that_matter_come_first_and_the_others_fill_up(tmp_path):
    model = Model()
    model.event_clocks = [BOOTTIME, GPU]
    made, _ = written(model.build(), tmp_path)
    assert made.pairs[0] == ("BOOTTIME", "0x8a01b2c3")
    assert len(made.pairs) == LEAST_PAIRS
    assert len(made.left_out) == 1
    assert LEAST_PAIRS <= MOST_PAIRS


@pytest.mark.parametrize(
    "name", ["no_snapshots", "truncated", "trace_clock_missing", "not_tied", "tsc", "overflow"]
)
def test_odd_traces_have_a_report_too(tmp_path, name):
    model = Model()
    FAULTS[name](model, Random(5))
    made, page = written(model.build(), tmp_path)
    assert made.findings
    assert page.rstrip().endswith("</html>")


def test_a_trace_of_snapshots_alone_has_no_events(tmp_path):
    made, page = written(trace(snapshot({BOOTTIME: S, 1: 2 * S})), tmp_path)
    assert made.pairs == [("BOOTTIME", "REALTIME")]
    assert "There are none." in page


def test_a_snapshot_may_name_clock_0(tmp_path):
    content = trace(*(snapshot({BOOTTIME: k * S, 0: k * S + 7}) for k in (1, 2)), event(S))
    made, page = written(content, tmp_path)
    assert made.pairs == [("BOOTTIME", "0")]
    assert "<title>0: 2 snapshots" in page


@settings(max_examples=200)
@example("\x1f\x7f\n\u202e")
@given(st.text())
def test_text_is_never_markup(text):
    assert set(re.findall("[<>]", join(text))) == set()
    assert '"' not in tag("p", id=text)[len('<p id="') : -len('"></p>')]
    block = data({"text": text})
    assert block.count("<") == 2
    assert json.loads(block[block.index(">") + 1 : block.rindex("<")]) == {
        "text": visible(text, lines=True)
    }
    assert set(prose(text).replace("<code>", "").replace("</code>", "")) & {"<", ">"} == set()


def test_the_name_of_the_file_cannot_turn_the_page_around(tmp_path):
    named = tmp_path / "a\u202ehtml.\x1b\u2066<b>é.pftrace"
    named.write_bytes(trace(snapshot({BOOTTIME: S, 1: 2 * S})))
    with open_trace(named) as opened:
        tracetime.report(opened, tmp_path / "r.html")
        assert "\u202e" not in opened._repr_html_()
    page = (tmp_path / "r.html").read_text("utf-8")
    printed = r"a\u202ehtml.\x1b\u2066&lt;b&gt;é.pftrace"
    assert f"<title>Clocks of {printed}</title>" in page
    assert f"<h1>{printed}</h1>" in page
    assert not {"\u202e", "\u2066", "\x1b"} & set(page)


def test_html_is_not_escaped_twice():
    assert tag("p", Html("<b>"), "<b>") == "<p><b>&lt;b&gt;</p>"


def test_the_command_says_what_it_wrote(tracetime, tmp_path):
    out = tmp_path / "report.html"
    code, text, errors = tracetime("report", DEMO, "-o", out)
    assert (code, errors) == (0, "")
    assert "2 errors" in " ".join(text.split())
    assert str(out) in text.replace("\n", "").replace("  ", "")
    code, text, _ = tracetime("report", DEMO, "-o", out, "--json")
    facts = json.loads(text)
    assert facts["bytes"] == out.stat().st_size
    assert facts["findings"][0]["code"] == "realtime-set-back"
    assert {"hub": "BOOTTIME", "clock": "REALTIME"} in facts["pairs"]


def test_a_report_leaves_no_unfinished_file(tracetime, tmp_path):
    code, _, errors = tracetime("report", DEMO, "-o", tmp_path / "no" / "report.html")
    assert code == 2
    assert "cannot write" in errors
    cut = tmp_path / "cut.pftrace"
    cut.write_bytes(DEMO.read_bytes()[:-3])
    code, _, errors = tracetime("report", cut, "-o", tmp_path / "cut.html")
    assert code == 3
    assert not (tmp_path / "cut.html").exists()
    assert tracetime("report", cut, "-o", tmp_path / "cut.html", "--partial")[0] == 0


def test_names_in_a_recorded_trace_stay_text(tmp_path):
    name = "<script>alert(1)</script>.gpu"
    writer = TraceWriter(tmp_path / "hostile.pftrace")
    writer.declare(ClockDomain(name, name))
    for k in range(20):
        writer.snapshot(
            Snapshot({"BOOTTIME": k * S, name: k * S + 5}, reference="BOOTTIME"), main=True
        )
    writer.close()
    with open_trace(tmp_path / "hostile.pftrace") as trace:
        made = tracetime.report(trace, tmp_path / "report.html")
        assert made.pairs == [("BOOTTIME", name)]
        printed = trace._repr_html_()
    page = (tmp_path / "report.html").read_text()
    for text in (page, printed):
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text


def test_names_given_to_clocks_are_in_the_page(tracetime, tmp_path):
    out = tmp_path / "report.html"
    tracetime("report", DEMO, "-o", out, "--clock-name", "0x93259a8e=com.example.gpu")
    assert "com.example.gpu − BOOTTIME" in out.read_text()


def test_without_bokeh_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    for draws in (
        lambda: tracetime.report(open_trace(DEMO), "x"),
        lambda: graph_of_two().plot("BOOTTIME", "com.example.gpu"),
    ):
        with pytest.raises(UsageError, match=r"pip install 'tracetime\[report\]'"):
            draws()


def test_a_report_loads_no_bokeh_and_bokeh_takes_its_figures(tmp_path):
    out = tmp_path / "r.html"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tracetime", "report", DEMO, "-o", out],
        capture_output=True,
        text=True,
    )
    assert not re.search(r"\| +bokeh", done.stderr)
    blocks = re.findall(r'<script[^>]*class="figure"[^>]*>(.*?)</script>', out.read_text(), re.S)
    figures = [json.loads(block)["item"] for block in blocks]
    assert len(figures) == 6
    for item in figures:
        (root,) = Deserializer().deserialize(item["doc"]["roots"])
        assert root.id == item["root_id"]
        assert root.select({"type": GlyphRenderer})
    ids = re.findall(r'"type": ?"object", ?"name": ?"\w+", ?"id": ?"(p\d+)"', "".join(blocks))
    assert len(ids) == len(set(ids)) > 100


@pytest.mark.sweep
@pytest.mark.parametrize(
    "first", ["", "import tracetime.reporting.page; ", "from tracetime.reporting import Report; "]
)
def test_report_is_a_function_whatever_was_imported_before(first):
    program = f"{first}import tracetime; tracetime.report(None, 'x')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "NoneType" in done.stderr
    assert "not callable" not in done.stderr


def graph_of_two():
    ticks = np.arange(100) * S
    graph = ClockGraph(domains=[ClockDomain("com.example.gpu", name="<gpu>")])
    graph.add_snapshot({"BOOTTIME": ticks, "com.example.gpu": ticks + ticks // 50_000})
    return graph


def test_a_graph_plots_two_of_its_clocks():
    drawn = graph_of_two().plot("BOOTTIME", "com.example.gpu")
    panels = drawn.children
    assert [panel.yaxis[0].axis_label.text.split(" (")[0] for panel in panels] == [
        "offset − trend",
        "drift",
        "error",
    ]
    assert panels[0].title.text.text == "<gpu> − BOOTTIME"
    assert type(panels[0].title.text).__name__ == "PlainText"
    assert panels[0].x_range is panels[2].x_range


def test_a_picture_shows_what_was_worked_out():
    """In s and us: a bent clock, one reading that is off, and a jump, for which the tube has a gap."""
    seconds = np.arange(60)
    off = 20_000 * seconds + 60_000 * np.clip(seconds - 15, 0, None) + 50_000_000 * (seconds == 50)
    late = 9 * S * (seconds >= 30)
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": seconds * S, "MONOTONIC_RAW": seconds * S + off + late},
            reference="BOOTTIME",
            half_width_ns={"MONOTONIC_RAW": 300_000},
        )
    )
    curves = graph.curves("BOOTTIME", "MONOTONIC_RAW")
    _, offset, drift, _ = panels = graph.plot("BOOTTIME", "MONOTONIC_RAW").children
    us = 1e3
    band, *_, whiskers, dots, odd = (
        r.data_source.data for r in offset.renderers if r.level == "glyph"
    )
    known = np.isfinite(curves.sampled.low)
    assert len(band["xs"]) == len(band["ys"]) == 2
    assert sum(map(len, band["xs"])) == sum(map(len, band["ys"])) == 2 * known.sum()
    first = np.flatnonzero(known)[: len(band["ys"][0]) // 2]
    outline = np.append(curves.sampled.low[first], curves.sampled.high[first][::-1])
    assert band["ys"][0].tolist() == (outline / us).tolist()

    assert odd["number"].tolist() == [50]
    assert dots is whiskers
    assert whiskers["offset"].tolist() == (curves.seen.offset[~curves.seen.odd] / us).tolist()
    for side, sign in (("low", -1), ("high", 1)):
        assert whiskers[side].tolist() == (whiskers["offset"] + sign * 300_000 / us).tolist()

    runs = next(r.data_source.data for r in drift.renderers if type(r.glyph).__name__ == "Segment")
    for side in ("start", "end"):
        assert runs[side].tolist() == (getattr(curves.rate, side) / S).tolist()
    for panel in panels:
        (zones,) = (r for r in panel.renderers if r.level == "underlay")
        frame = panel.extra_y_ranges[zones.y_range_name]
        assert (zones.glyph.bottom, zones.glyph.top) == (frame.start, frame.end)
        assert zones.data_source.data["start"].tolist() == [b.start / S for b in curves.breaks]


def test_what_cannot_be_plotted():
    graph = graph_of_two()
    with pytest.raises(UsageError, match="compared with itself"):
        graph.plot("BOOTTIME", "BOOTTIME")
    with pytest.raises(tracetime.ConversionError, match="no snapshot or order has"):
        graph.plot("BOOTTIME", "REALTIME")


def test_notebooks_show_graphs_and_traces():
    html = graph_of_two()._repr_html_()
    assert "&lt;gpu&gt;" in html
    assert "<gpu>" not in html
    with opened(Model().build()) as trace:
        assert "trace time is BOOTTIME" in trace._repr_html_()
        assert "<table" in trace._repr_html_()
    with opened(b"\n\x05x") as trace:
        assert "cut off" in trace._repr_html_()
        # Text says which trace it is, without reading it.
        assert repr(trace) == f"<Trace of {trace.path}>"
    assert "0 clocks" in ClockGraph()._repr_html_()


def test_a_notebook_shows_the_units_and_the_setbacks_of_clocks_on_one_line():
    """Alike on many sequences, clocks may count other units; those that go on are no news."""
    graph = ClockGraph()
    for sequence, unit_ns in enumerate((1, 1, 1_000, 1_000_000), 1):
        graph.add_snapshot({"BOOTTIME": 5, ClockId(64, sequence): Reading(5, unit_ns)})
    lines = graph._repr_html_().split("<tr>")
    (folded,) = (line for line in lines if "64@seq* (4)" in line and "sequence" in line)
    assert "1, 1,000, 1,000,000" in folded
    assert "ran backwards" not in folded
    for ns, backwards in ((4, False), (3, True)):
        graph.add_snapshot({"BOOTTIME": ns})
        (row,) = (line for line in graph._repr_html_().split("<tr>") if "builtin" in line)
        assert ("ran backwards" in row) == backwards
        # From one kind of snapshot to another it fell, too.
        assert ">-</td>" in row


def test_findings_call_clocks_by_their_names(tmp_path, tracetime):
    path = tmp_path / "t.pftrace"
    path.write_bytes(
        trace(*(snapshot({BOOTTIME: k * S, GPU: k * S + (k > 5) * 10**7}) for k in range(1, 12)))
    )
    name = ("--clock-name", f"{GPU}=gpu.engine")
    for command, more in (("doctor", ()), ("report", ("-o", tmp_path / "r.html"))):
        text = tracetime(command, path, *name, *more)[1]
        assert "gpu.engine was stepped once" in text.replace("\n ", ""), command
    page = (tmp_path / "r.html").read_text()
    assert "gpu.engine was stepped once" in page
    assert "0x8a01b2c3 was stepped" not in page


@pytest.mark.parametrize("boottime_ns", [[5 * S, 4 * S], [5 * S, 4 * S, 5 * S, 4 * S]])
def test_a_pair_that_no_reading_is_estimated_of_has_a_page(tmp_path, boottime_ns):
    rows = "".join(f"{k * S},{at}\n" for k, at in enumerate(boottime_ns, 1))
    (tmp_path / "t.csv").write_text("monotonic_ns,boottime_ns\n" + rows)
    with open_trace(tmp_path / "t.csv") as trace:
        tracetime.report(trace, tmp_path / "report.html")
    assert "BOOTTIME" in (tmp_path / "report.html").read_text()
