"""A report of very many clocks, findings or jumps: measured in part, cut, and said to be."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from fuzz import costly
from tracetime.columns.arrays import median, medians
from tracetime.doctor import Finding
from tracetime.errors import ConversionError
from tracetime.graph.curves import _within
from tracetime.graph.tube.pairs import Pairs
from tracetime.reporting import facts as report_facts
from tracetime.reporting import measure as measuring
from tracetime.reporting import sections
from tracetime.reporting.clock_graph import _FARTHEST
from tracetime.reporting.facts import LEAST_PAIRS, MOST_FINDINGS, MOST_PAIRS
from tracetime.reporting.measure import MOST_MEASURED

SECOND = costly.SECOND


@pytest.fixture
def reported(written, tmp_path):
    def report(parts, **limits):
        with tt.open_trace(written(parts), **limits) as trace:
            made = tt.report(trace, tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text()
        links = re.findall(r'href="#([^"]+)"', page)
        assert set(links) <= set(re.findall(r' id="([^"]+)"', page))
        return made, page

    return report


# Which pairs are measured


def test_of_very_many_pairs_some_are_measured(reported, tubes):
    n = MOST_MEASURED + 50
    made, page = reported(costly.sequences(n, 3))
    # Those with a picture, and of the others those whose events say how wide bars are.
    assert MOST_MEASURED <= len(tubes) <= n
    assert f"The first {MOST_MEASURED} of {n} pairs of clocks" in page
    assert made.left_out == [f"{n - 2} of 64@seq* ({n})"]
    assert "--max-tubes" not in page


def test_as_many_pairs_as_are_measured_leave_none_out(reported, tubes):
    _, page = reported(costly.sequences(MOST_MEASURED, 3))
    assert len(tubes) == MOST_MEASURED
    assert "were measured" not in page


@pytest.mark.sweep
def test_where_pairs_are_left_out_few_have_a_picture(reported, monkeypatch):
    parts = list(costly.clocks_with_boottime(MOST_PAIRS + 2))
    assert len(reported(parts)[0].pairs) == MOST_PAIRS
    monkeypatch.setattr(measuring, "MOST_MEASURED", MOST_PAIRS + 1)
    assert len(reported(parts)[0].pairs) == LEAST_PAIRS


def test_a_report_makes_no_more_tubes_than_it_may(reported):
    made, page = reported(costly.sequences(40, 3), max_tubes=5)
    assert "The first 5 of 40 pairs of clocks" in page
    assert "<code>--max-tubes</code> allows more" in page
    assert len(made.pairs) == 2


def test_what_has_findings_or_events_is_measured_first(reported, monkeypatch):
    """The last of many clocks alone is used, and the one before it alone is stepped."""
    monkeypatch.setattr(measuring, "MOST_MEASURED", 4)
    n = 30

    def parts():
        for k in range(4):
            at = costly.START + k * SECOND
            for i in range(n):
                stepped = 5_000_000 if i == n - 2 and k > 1 else 0
                yield costly.snapshot([(costly.BOOTTIME, at), (200 + i, at + i + stepped)])
        yield costly.event(costly.START + SECOND // 2, 200 + n - 1)

    made, page = reported(parts())
    assert set(made.pairs[:2]) == {("BOOTTIME", "228"), ("BOOTTIME", "229")}
    assert "The first 4 of 30 pairs of clocks" in page


def test_a_clock_of_very_many_sequences_does_not_crowd_out_the_others(reported):
    def parts():
        for k in range(3):
            at = costly.START + k * SECOND
            yield costly.snapshot([(costly.BOOTTIME, at), (costly.REALTIME, at + 7)])
        yield from costly.sequences(MOST_MEASURED + 50, 3)

    made, _ = reported(parts())
    assert ("BOOTTIME", "REALTIME") in made.pairs


def test_clocks_that_cannot_have_bars_are_counted(reported, monkeypatch):
    def fails(self, a, b):
        raise ConversionError("nobody knows its rate", "no_path")

    monkeypatch.setattr(Pairs, "_make", fails)
    _, page = reported(costly.clocks_with_boottime(14, 1))
    assert page.count("has no bars: nobody knows") == 10
    assert "4 more clocks without bars." in page


# What is drawn and listed


def test_a_long_chain_is_cut(reported):
    n = 50
    _, page = reported(costly.chain(n, events=False))
    # BOOTTIME and those up to _FARTHEST hops from it are drawn.
    assert page.count("<rect") == _FARTHEST + 1
    assert f"and {n + 2 - _FARTHEST - 1} farther away" in page
    width = re.search(r'<svg viewBox="0 0 (\d+)', page)
    assert int(width[1]) < 2500


@pytest.mark.sweep
def test_of_a_full_column_those_that_have_a_picture_are_drawn(reported):
    """40 clocks with one reference: the last ten of them are stepped."""

    def parts():
        for k in range(4):
            at = costly.START + k * SECOND
            for i in range(40):
                stepped = 5_000_000 if i >= 30 and k > 1 else 0
                yield costly.snapshot([(costly.BOOTTIME, at), (200 + i, at + i + stepped)])

    made, page = reported(parts())
    assert {clock for _, clock in made.pairs} == {str(clock) for clock in range(230, 240)}
    drawn = page.split('aria-label="Clock graph"')[1].split('class="wide"')[0]
    assert drawn.count("<rect") == 1 + 14
    assert all(f"<title>{clock}: " in drawn for _, clock in made.pairs)
    assert "and 26 more" in drawn


@pytest.mark.sweep
def test_untied_clocks_are_drawn_behind_a_long_chain(reported):
    _, page = reported([*costly.chain(50, events=False), costly.event(5, 127, 3)])
    (x,) = re.findall(r'<rect x="(\d+)"[^>]* class="box lost untied"', page)
    assert all(int(other) <= int(x) for other in re.findall(r'<rect x="(\d+)"', page))


@pytest.mark.sweep
def test_the_table_of_very_many_clocks_has_those_that_have_a_picture(reported, monkeypatch):
    monkeypatch.setattr(sections, "_MOST_CLOCKS", 12)
    parts = [*costly.clocks_with_boottime(40), costly.event(costly.START, 239)]
    made, page = reported(parts)
    table = page.split("<caption>Clocks<")[1].split("</table>")[0]
    assert len(made.pairs) == MOST_PAIRS
    for _, clock in made.pairs:
        assert re.search(rf">{clock}</a>", table)
    assert table.count("<tr>") == 1 + 12
    # BOOTTIME is one of them.
    after = page.split("<caption>Clocks<")[1].split("</table>")[1]
    assert after.startswith('</div><p class="hint">29 more clocks are not shown')


def test_findings_of_the_page_and_of_a_picture_are_cut(reported, monkeypatch):
    clock = tt.ClockId(200)
    consequences = tuple(Finding("deep", "info", f"consequence {k}") for k in range(30))
    found = [
        Finding(
            "odd", "error", f"oddity {k}", (clock,), consequences=consequences if k == 0 else ()
        )
        for k in range(MOST_FINDINGS + 40)
    ]
    monkeypatch.setattr(report_facts, "findings_of", lambda survey: found)
    made, page = reported(costly.clocks_with_boottime(2))
    assert len(made.findings) == len(found)
    assert len(set(re.findall(r'id="finding-(\d+)"', page))) == MOST_FINDINGS
    assert "40 more findings are not shown: <code>tracetime doctor --json</code> lists all" in page
    assert page.count(" open>") < 30
    assert "10 more consequences are not shown" in page
    section = page.split('id="pair-1"')[1].split("</ul>")[0]
    assert section.count("oddity") == 10
    assert f"and {len(found) - 10} more findings" in section


# Many jumps in one picture


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1e15, 1e15)), max_size=40))
def test_medians_of_groups_are_those_of_each(rows):
    group = np.array([g for g, _ in rows], dtype=np.int64)
    values = np.array([v for _, v in rows], dtype=np.float64)
    wanted = [median(values[group == g]) if (group == g).any() else 0.0 for g in range(6)]
    np.testing.assert_allclose(medians(values, group, 6), wanted, rtol=1e-15)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=8))
def test_points_within_zones_are_those_within_any(zones):
    froms = np.array([a for a, _ in zones], dtype=np.int64)
    tos = froms + np.array([n for _, n in zones], dtype=np.int64)
    points = np.arange(-2, 40)
    wanted = [any(a < p < b for a, b in zip(froms, tos, strict=True)) for p in points.tolist()]
    assert _within(points, froms, tos).tolist() == wanted


def test_each_jump_is_taken_out_at_no_cost_of_its_own(written, monkeypatch):
    """One look at all stretches between jumps, not one for each."""
    calls = []
    monkeypatch.setattr("tracetime.graph.curves.medians", lambda *a: calls.append(a) or medians(*a))
    with tt.open_trace(written(costly.jumps(60))) as trace:
        drawn = trace.clocks.curves("BOOTTIME", "REALTIME")
    assert drawn.n_breaks > 40
    assert len(calls) == 1
