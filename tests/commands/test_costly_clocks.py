"""What is printed of very many clocks, and of very many machines: cut, counted, or by its lists."""

import json
import re

import pytest

import tracetime as tt
from fuzz import costly
from tracetime.commands import clocks, show
from tracetime.graph.contents import Contents

pytest_plugins = ["cli"]


@pytest.fixture
def few_lines(monkeypatch):
    monkeypatch.setattr(show, "MOST_ROWS", 5)


def test_a_table_ends_with_how_many_lines_are_left_out(tracetime, written, tmp_path, few_lines):
    path = written(costly.chain(20))
    code, text, _ = tracetime("clocks", path)
    # 22 clocks, of which all but the trace clock have bars, in as many lists of two of them, less one.
    assert code == 0
    assert re.findall("and .*", text) == [
        "and 17 more lines (--json has all)",
        "and 16 more lines (--json has all)",
        "and 16 more lines (--json has all)",
    ]
    code, text, _ = tracetime("convert", path, "-o", str(tmp_path / "o.csv"))
    assert code == 0
    assert "and 17 more lines (--json has all)" in text


def test_a_table_of_the_most_rows_is_whole(tracetime, written, few_lines):
    text = tracetime("clocks", written(costly.chain(3)))[1]
    assert "more line" not in text
    assert "203" in text


def test_one_line_more(tracetime, written, few_lines):
    text = tracetime("clocks", written(costly.chain(4)))[1]
    assert "and 1 more line (--json has all)" in text


def test_json_has_all_clocks(tracetime, written, few_lines):
    result = json.loads(tracetime("clocks", written(costly.chain(20)), "--json")[1])
    assert len(result["clocks"]) == 22


def test_edges_of_one_snapshot_are_its_list(tracetime, written, monkeypatch):
    path = written(costly.one_snapshot(60))
    monkeypatch.setattr(clocks, "EDGES_LISTED", 3_000)
    monkeypatch.setattr(Contents, "edges", lambda self: pytest.fail("60 * 61 edges"))
    result = json.loads(tracetime("clocks", path, "--json")[1])
    assert result["edges"] is None
    assert [len(series["clocks"]) for series in result["series"]] == [61]
    _, text, _ = tracetime("clocks", path, "--dot")
    assert text.count("->") == 61
    assert "series0 -> " in text


def test_few_edges_are_listed(tracetime, written, monkeypatch):
    path = written(costly.one_snapshot(4))
    monkeypatch.setattr(clocks, "EDGES_LISTED", 20)
    assert len(json.loads(tracetime("clocks", path, "--json")[1])["edges"]) == 20
    monkeypatch.setattr(clocks, "EDGES_LISTED", 19)
    assert json.loads(tracetime("clocks", path, "--json")[1])["edges"] is None
    assert tracetime("clocks", path, "--dot")[1].count("->") == 5


def test_the_help_says_from_how_many_edges_on_json_has_none(tracetime):
    text = " ".join(tracetime("clocks", "--help")[1].split())
    assert f'more than {clocks.EDGES_LISTED:,}, "edges" in --json is null' in text


def test_very_many_neighbours_are_not_searched_one_by_one(written, monkeypatch):
    """A way leads on where a clock has two neighbours: all of them need not be known."""
    n, counts = 500, []
    neighbours = Contents.neighbours

    def counted(contents, clock, *enough):
        found = neighbours(contents, clock, *enough)
        counts.append(len(found))
        return found

    monkeypatch.setattr(Contents, "neighbours", counted)
    clocks = [(1_000 + i, 10**9 + i) for i in range(n)]
    path = written([costly.snapshot(clocks), costly.snapshot([*clocks, (6, 2 * 10**9)])])
    with tt.open_trace(path, max_tubes=50) as trace, pytest.raises(tt.TraceError, match="tubes"):
        trace.clocks.convert(10**9, 1_000, "BOOTTIME", policy="tube")
    assert sum(counts) < 10 * n
