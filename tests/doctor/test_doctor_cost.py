"""What the doctor costs: readings of the file, and work that grows with what there is."""

import gc
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from benchmarks import small_files
from fuzz import costly
from tracetime._kernels.perfetto.importer import Importer
from tracetime.analysis.groups import Between, Counts
from tracetime.analysis.snapshots import Written
from tracetime.analysis.survey import MOST_ORDERED, Survey
from tracetime.clocks.ids import ClockId
from tracetime.doctor import exchanges
from tracetime.doctor.finding import Finding, in_order
from tracetime.doctor.machines import tied_machines
from tracetime.doctor.placement import _beyond
from tracetime.formats.perfetto.read.wire import Pass
from tracetime.graph.contents import Contents
from tracetime.graph.graph import Graph
from tracetime.graph.tube.loops import Triangles
from tracetime.graph.tube.paths import Paths
from tracetime.graph.tube.tube import Tube
from tracetime.reporting.facts import gather


@pytest.fixture
def readings(monkeypatch):
    """How often a file was read from its start."""
    begun = []
    run = Pass.run

    def counted(self):
        begun.append(self)
        return run(self)

    monkeypatch.setattr(Pass, "run", counted)
    return begun


SMALL = {
    name: b"".join(parts)
    for name, parts in {
        "clocks that drift between snapshots": costly.sequences(32, 4, 5_000_000),
        "global clocks that drift": costly.clocks_with_boottime(32, 4),
        "100 clocks that drift": costly.sequences(100, 4, 5_000_000),
        "100 global clocks that drift": costly.clocks_with_boottime(100, 4),
        "a wall clock that is stepped": costly.steps(20),
        "a wall clock that is set back": costly.set_back(20),
        "a wall clock that jumps to and fro": costly.jumps(20),
        "suspends": costly.suspends(20),
        "clocks of a hub that are stepped": costly.with_monotonic(32),
        "loops": costly.loops(8),
        "a chain": costly.chain(8),
        "events long before the snapshots": [
            costly.event(5, costly.MONOTONIC),
            *costly.steps(20),
            costly.event(10**16, costly.REALTIME),
        ],
        "events put aside until the end": [*[costly.event(1, 200)] * 3, *costly.resets(9)],
    }.items()
}


@pytest.mark.parametrize("name", SMALL)
def test_the_file_is_read_twice_at_most(tmp_path, readings, name):
    """As often again for the slices of a report: the first time where clocks are known late."""
    path = tmp_path / "t.pftrace"
    path.write_bytes(SMALL[name])
    with tt.open_trace(path) as trace:
        tt.diagnose(trace)
    assert len(readings) <= 2
    readings.clear()
    with tt.open_trace(path) as trace:
        gather(trace, 1000)
    assert len(readings) <= 4


@given(
    marks=st.lists(st.integers(-20, 20), max_size=8),
    values=st.lists(st.integers(-25, 25), max_size=40),
    ends=st.lists(st.tuples(st.integers(-1, 8), st.integers(-1, 8), st.booleans()), max_size=5),
)
def test_spans_between_marks_are_counted(marks, values, ends):
    """Spans from mark to mark, or to the last number before one."""
    known = sorted(set(marks))
    spans = []
    for first, last, before in ends:
        low = known[first] if 0 <= first < len(known) else -99
        high = known[last] - before if 0 <= last < len(known) else 99
        spans.append((low, high))
    counted = Between(np.array(marks, dtype=np.int64))
    for part in (values[:5], values[5:]):
        counted.add(np.array(part, dtype=np.int64))
    within = [v for v in values if any(low <= v <= high for low, high in spans)]
    assert counted.within(spans) == len(within)


@given(
    marks=st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=4),
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(-10, 10)), max_size=30),
)
def test_each_list_of_marks_has_its_own_values(marks, values):
    """What is counted of several lists at once is what each alone has."""
    lists = [sorted(set(some)) for some in marks]
    counted = Counts(
        np.array([mark for some in lists for mark in some], dtype=np.int64),
        np.cumsum([0, *map(len, lists)]),
    )
    values = [(which, value) for which, value in values if which < len(lists)]
    counted.add(*np.array(values, dtype=np.int64).reshape(-1, 2).T.copy())
    for k, some in enumerate(lists):
        alone = Between(np.array(some, dtype=np.int64))
        alone.add(np.array([value for which, value in values if which == k], dtype=np.int64))
        for low in (-99, *some):
            for high in (*some, 99):
                assert (
                    counted.within(k, [(low, high)])
                    == alone.within([(low, high)])
                    == sum(low <= value <= high for which, value in values if which == k)
                )


@pytest.mark.parametrize("n", [50, 100])
def test_a_clock_s_way_is_looked_for_once(tmp_path, monkeypatch, n):
    """So is one that is not there; and what snapshots list is put together twice in all."""
    queried, listed = [], []
    path, series = Graph.path, Written.series

    def way(self, *args):
        queried.append(args[0])
        return path(self, *args)

    def lists(self, *args, **options):
        listed.append(args)
        return series(self, *args, **options)

    monkeypatch.setattr(Graph, "path", way)
    monkeypatch.setattr(Written, "series", lists)
    file = tmp_path / "t.pftrace"
    apart = [*costly.separate_sequences(n), *costly.machines(n)]
    for parts, are_ways in ((apart, False), (costly.chain(n), True)):
        file.write_bytes(b"".join(parts))
        queried.clear()
        listed.clear()
        with tt.open_trace(file) as trace:
            tt.diagnose(trace)
        assert len(queried) == len(set(queried))
        assert bool(queried) == are_ways
        assert len(listed) <= 2


def test_of_too_many_clocks_some_are_left_out_and_it_says_so(tmp_path):
    file = tmp_path / "t.pftrace"
    file.write_bytes(b"".join([*costly.clocks_with_boottime(9), *costly.steps(3)]))
    with tt.open_trace(file, max_tubes=8) as trace:
        (reported,) = (f for f in tt.diagnose(trace) if f.code == "clocks-not-examined")
        assert (reported.severity, len(reported.clocks)) == ("warning", 2)
    with tt.open_trace(file, max_tubes=12) as trace:
        assert "clocks-not-examined" not in {f.code for f in tt.diagnose(trace)}


def importers():
    return sum(type(one) is Importer for one in gc.get_objects())


def test_what_the_events_were_read_with_is_not_kept_next_to_what_knew_the_end(written):
    before = importers()
    with tt.open_trace(written(costly.steps(20))) as trace:
        tt.diagnose(trace)
        assert importers() == before + 1


def test_a_finding_without_consequences_is_taken_as_it_is(written, monkeypatch):
    led = []
    leading_to = Finding.leading_to

    def counted(self, *consequences):
        led.append(consequences)
        return leading_to(self, *consequences)

    monkeypatch.setattr(Finding, "leading_to", counted)
    with tt.open_trace(written(costly.chain(60))) as trace:
        assert tt.diagnose(trace)
    assert all(led)


def test_machines_whose_clocks_never_read_0_are_tied_at_no_cost_of_their_own(written, monkeypatch):
    with tt.open_trace(written(costly.machines_synced(9))) as trace:
        survey = Survey(trace, 1000)
        monkeypatch.setattr(Contents, "shared", None)
        assert tied_machines(survey) == set(range(10))


def test_events_near_the_snapshots_of_their_clock_cost_no_look_at_readings(written, monkeypatch):
    with tt.open_trace(written(costly.machines_synced(9))) as trace:
        survey = Survey(trace, 1000)
        monkeypatch.setattr(Contents, "shared", None)
        assert not list(_beyond(survey)) and not survey.rates


def test_events_that_show_no_tick_are_not_kept(written):
    for n, kept in ((14, False), (15, True)):
        parts = [
            costly.snapshot([(6, 5), (200, 5)]),
            *(costly.event(k, 200) for k in range(9, 9 + n)),
        ]
        with tt.open_trace(written(parts)) as trace:
            assert bool(trace.clocks._graph.state.events) == kept


def test_clocks_with_one_snapshot_have_no_tube(tmp_path, monkeypatch):
    """Nothing shows that they jumped, whatever a journal declares of them."""
    built = []
    build = Tube.__init__
    monkeypatch.setattr(Tube, "__init__", lambda *a, **k: built.append(a) or build(*a, **k))
    file = tmp_path / "t.export"
    file.write_bytes(small_files.boots(30))
    with tt.open_trace(file) as trace:
        assert len(trace.clocks.clocks()) == 30
        tt.diagnose(trace)
    assert not built


def test_a_clock_s_name_in_a_table_is_parsed_once(tmp_path, monkeypatch):
    """And one that no clock has once more, to tell it."""
    n, parsed = 40, []
    parse = ClockId.parse
    monkeypatch.setattr(ClockId, "parse", lambda text: parsed.append(text) or parse(text))
    file = tmp_path / "t.csv"
    rows = "".join(f"{k},com.example.c{k},e\n{k},none{k},e\n" for k in range(n))
    file.write_text("timestamp,clock,name\n" + rows)
    with tt.open_trace(file) as trace:
        assert len(list(trace.events())) > 0
    names = [text for text in parsed if isinstance(text, str) and text[:4] in ("com.", "none")]
    assert max(Counter(names).values()) <= 2


def test_hosts_that_messages_tie_are_found_without_a_tube_or_a_path(tmp_path, monkeypatch):
    """The few pairs have one whose messages are looked at one by one."""
    built, searched = [], []
    build, best = Tube.__init__, Paths._best
    monkeypatch.setattr(Tube, "__init__", lambda *a, **k: built.append(a) or build(*a, **k))
    monkeypatch.setattr(Paths, "_best", lambda *a: searched.append(a) or best(*a))
    file = tmp_path / "t.json"
    file.write_bytes(small_files.otlp_hosts(300))
    with tt.open_trace(file) as trace:
        found = tt.diagnose(trace)
    apart = next(f for f in found if f.code == "machine-not-synchronised")
    assert len(apart.clocks) == 299 and "by the messages" in apart.why
    assert "clocks-not-examined" not in {f.code for f in found}
    assert len(built) + len(searched) <= 2 * MOST_ORDERED + 9


def test_of_very_many_loops_the_ends_are_looked_for_one_by_one(monkeypatch):
    """The caller takes the first loops alone."""
    asked = []
    has_detour = Triangles._has_detour
    monkeypatch.setattr(Triangles, "_has_detour", lambda *a: asked.append(a) or has_detour(*a))
    clocks = [ClockId(200 + k) for k in range(60)]
    triangles = Triangles([(one, other) for one in clocks for other in clocks if one < other])
    assert list(islice(triangles.ends(clocks[0]), 3)) == clocks[1:4]
    assert len(asked) <= 4
    assert list(triangles.ends(clocks[57])) == clocks[58:]


def test_the_tick_of_a_clock_that_many_are_read_with_is_looked_for_once(written, monkeypatch):
    asked = []
    visible = Survey.visible_tick_ns
    monkeypatch.setattr(
        Survey, "visible_tick_ns", lambda self, clock: asked.append(clock) or visible(self, clock)
    )
    with tt.open_trace(written(costly.with_monotonic(40)), max_tubes=8) as trace:
        found = [f for f in in_order(tt.diagnose(trace)) if f.code == "snapshots-too-sparse"]
    assert len({clock for one in found for clock in one.clocks}) > 30
    assert len(asked) == len(set(asked)) > 30


def test_lists_whose_clocks_may_be_exchanged_are_found_in_columns(written, monkeypatch):
    """Of many that are not, none is looked at alone."""
    alone, apart = [], 5_000_000
    in_some = exchanges._in_some
    monkeypatch.setattr(
        exchanges, "_in_some", lambda series, i, j: alone.append((i, j)) or in_some(series, i, j)
    )
    parts = list(costly.with_monotonic(40))
    with tt.open_trace(written(parts)) as trace:
        assert "clocks-exchanged" not in {f.code for f in tt.diagnose(trace)}
    assert not alone
    for k in range(5):
        at = costly.START + k * costly.SECOND
        pair = (at, at + apart) if k != 2 else (at + apart, at)
        parts.append(costly.snapshot([(costly.BOOTTIME, pair[0]), (900, pair[1])]))
    with tt.open_trace(written(parts)) as trace:
        (found,) = (f for f in in_order(tt.diagnose(trace)) if f.code == "clocks-exchanged")
    assert alone == [(0, 1)] and ClockId(900) in found.clocks
