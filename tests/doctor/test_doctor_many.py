"""The doctor on traces of many clocks: one finding for what is alike, and work for few of them."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from fuzz import costly
from tracetime import doctor
from tracetime.clocks.families import steadiness
from tracetime.doctor import MOST_ALIKE, MOST_EXAMINED, catalogue
from tracetime.doctor.finding import in_order, rank
from tracetime.graph.contents import ClockLists, Contents
from tracetime.graph.floor import FloorHop
from tracetime.graph.tube import loops
from tracetime.sql import tables

pytest_plugins = ["cli"]
S = costly.SECOND


def found_in(path, **options):
    with tt.open_trace(path, **options) as trace:
        return tt.diagnose(trace)


def by_code(findings, code):
    return [finding for finding in findings if finding.code == code]


def drifting(n, ppm, *, after_s, events_at_s):
    """n clocks that drift against BOOTTIME, in three snapshots; their events come much later."""
    for k in range(3):
        at = costly.START + k * S
        for i in range(n):
            yield costly.snapshot([(200 + i, at + k * ppm * 1000), (costly.BOOTTIME, at)])
    for i in range(n):
        yield costly.event(costly.START + events_at_s * S, 200 + i)
        for _ in range(after_s):
            yield costly.event(costly.START, 200 + i)


def test_findings_alike_of_many_clocks_are_one(written):
    n = MOST_ALIKE + 10
    few = found_in(written(costly.with_monotonic(MOST_ALIKE)))
    sparse = by_code(few, "clock-stepped")
    assert len(sparse) == MOST_ALIKE
    assert all("alike" not in finding.title for finding in few)
    (reported,) = by_code(found_in(written(costly.with_monotonic(n))), "clock-stepped")
    assert (
        f"200, 201, 202, 203 and {n - 4} more: {n} findings alike, the worst: 200" in reported.title
    )
    assert {clock.clock for clock in reported.clocks} >= {200 + i for i in range(n)}
    assert reported.severity == sparse[0].severity
    assert reported.events == n * sparse[0].events
    assert reported.worst_ns == sparse[0].worst_ns
    assert reported.fix == sparse[0].fix


def test_what_follows_from_a_finding_is_one_too(written):
    """A wall clock that is set back and forth: what falls next to its jumps has one cause."""
    n = MOST_ALIKE + 5
    late = [costly.event(costly.START * 3 * n, 200 + i) for i in range(n)]
    every = found_in(written([*costly.with_monotonic(n), *late]))
    codes = [f.code for top in every for f in (top, *top.consequences)]
    assert len(codes) < n


@pytest.mark.parametrize("as_json", [False, True])
def test_one_finding_keeps_severity_exit_code_and_rows(tracetime, written, as_json, monkeypatch):
    path = written(drifting(MOST_ALIKE + 1, 900, after_s=0, events_at_s=60))
    code, out, _ = tracetime("doctor", path, "--fail-on", "error", *["--json"][: int(as_json)])
    assert code == 1
    findings = found_in(path)
    reported = [f for top in findings for f in (top, *top.consequences)]
    worst = by_code(reported, "used-after-last-snapshot")
    assert [(f.severity, f.events) for f in worst] == [("error", MOST_ALIKE + 1)]
    if as_json:
        assert json.loads(out)["traces"][0]["findings"] == [f.to_dict() for f in findings]
    else:
        assert f"{MOST_ALIKE + 1} findings alike" in " ".join(out.split())
    assert len(list(tables._finding_rows(findings))) == len(reported)


@pytest.mark.parametrize("each", [1, 3])
def test_only_clocks_that_jumped_are_looked_at_one_by_one(written, monkeypatch, each):
    queried = {"path": 0, "shared": 0}
    for where, name in ((tt.ClockGraph, "path"), (Contents, "shared")):
        before = getattr(where, name)

        def counted(self, *args, _before=before, _name=name):
            queried[_name] += 1
            return _before(self, *args)

        monkeypatch.setattr(where, name, counted)
    n = 200
    found_in(written(costly.sequences(n, each)))
    assert queried["path"] < 5
    # What each clock's rate is, its readings beside its partner tell.
    assert queried["shared"] < (5 if each == 1 else n + 5)


@pytest.mark.parametrize(("ppm", "severity"), [(700, "error"), (0, None)])
def test_events_after_the_last_snapshot_are_found_without_tubes(written, ppm, severity):
    """Of more clocks than may have a tube, the rate that each had shows how far off they are."""
    n = 12
    path = written(drifting(n, ppm, after_s=1, events_at_s=60))
    every = {}
    for most in (2, 1000):
        findings = found_in(path, max_tubes=most)
        reported = [f for top in findings for f in (top, *top.consequences)]
        every[most] = {f.clocks: f for f in reported if f.code == "used-after-last-snapshot"}
    assert len(every[2]) == len(every[1000]) == (n if severity else 0)
    for clocks, finding in every[2].items():
        assert (finding.severity, finding.events) == (severity, every[1000][clocks].events)
        # 700 ppm for 58 s.
        assert abs(finding.worst_ns - 40_600_000) < 0.2 * 40_600_000


def test_events_next_to_a_single_snapshot_may_be_off_by_the_limits_of_clocks(written):
    snapshot = [(costly.BOOTTIME, costly.START), (200, costly.START)]
    parts = [costly.snapshot([(200 + k, costly.START), snapshot[0]]) for k in range(5)]
    parts += [costly.event(costly.START + 60 * S, 200 + k) for k in range(5)]
    reported = by_code(found_in(written(parts), max_tubes=1), "used-after-last-snapshot")
    assert [f.severity for f in reported] == ["warning"] * 5
    # 500 ppm each, for a minute.
    assert reported[-1].worst_ns == 60_000_000


@pytest.mark.parametrize(("most", "named"), [(8, True), (MOST_EXAMINED, False)])
def test_the_option_is_advised_where_it_helps(written, most, named, monkeypatch):
    monkeypatch.setattr("tracetime.analysis.survey.MOST_EXAMINED", 10)
    monkeypatch.setattr("tracetime.doctor.MOST_EXAMINED", 10)
    path = written(costly.clocks_with_boottime(12))
    (reported,) = by_code(found_in(path, max_tubes=most), "clocks-not-examined")
    assert ("raise `--max-tubes`: it allows 8 pairs, and at most 10 are" in reported.fix) == named
    assert ("--max-tubes" in reported.fix) == named


numbers = st.integers(0, 5)
lists = st.lists(st.lists(numbers, min_size=1, max_size=4, unique=True), max_size=8)
NAMES = [6, 3, 1, 7, 200, 201]


@given(lists, st.sampled_from([None, 0, 4]), st.sets(numbers, max_size=2))
def test_lists_as_columns_are_what_each_list_says(lists, trace, linked):
    clocks = sorted((tt.ClockId(number) for number in NAMES), key=tt.ClockId.order)
    trace_clock = None if trace is None else clocks[trace]
    listed = ClockLists(clocks, lists, np.arange(6), trace_clock)

    def rank(k):
        return (clocks[k] != trace_clock, *steadiness(clocks[k]))

    beside = {k: {o for one in lists if k in one for o in one} - {k} for k in range(6)}
    assert listed.references().tolist() == [
        min(beside[k], key=rank) if beside[k] else -1 for k in range(6)
    ]
    pairs = {(min(one, key=rank), k) for one in lists for k in one}
    assert list(zip(*(side.tolist() for side in listed.compared()), strict=True)) == sorted(
        (hub, k) for hub, k in pairs if hub != k and clocks[k].clock != 7
    )
    left = [set(one) for one in lists] + [set(linked)] * (len(linked) == 2)
    while True:
        now = {k: {o for one in left if k in one for o in one} - {k} for k in range(6)}
        ends = {k for k in now if len(now[k]) < 2 and all(len(one) < 3 for one in left if k in one)}
        kept = [one for one in left if len(one) > 1 and not one & ends]
        if kept == left:
            break
        left = kept
    stays = {clocks[k] for one in left for k in one}
    messages = [tuple(clocks[k] for k in linked)] * (len(linked) == 2)
    assert listed.loopless(messages) == set(clocks) - stays


def test_events_that_only_a_broken_snapshot_reaches_are_beyond_the_last_one(written):
    """BOOTTIME falls in the third: there it is not taken, and says nothing of the clock's events."""
    path = written(
        [
            costly.snapshot([(200, 1 * S), (6, 100 * S)]),
            costly.snapshot([(200, 11 * S + S // 10), (6, 110 * S)]),
            costly.event(25 * S, 200),
            costly.snapshot([(200, 30 * S), (6, 90 * S)]),
        ]
    )
    with tt.open_trace(path) as trace:
        found = {f.code: f for root in tt.diagnose(trace) for f in (root, *root.consequences)}
    assert found["used-after-last-snapshot"].events == 1


def test_rings_of_clocks_that_were_not_compared_are_reported(written, monkeypatch):
    path = written(costly.loops(6))
    monkeypatch.setattr(loops, "_CHECKED_LOOPS", 18)
    assert "clocks-not-examined" not in {f.code for f in found_in(path)}
    monkeypatch.setattr(loops, "_CHECKED_LOOPS", 17)
    (reported,) = by_code(found_in(path), "clocks-not-examined")
    assert "not all paths between clocks were compared" in reported.title


@pytest.mark.parametrize("most", range(1, 12))
def test_rings_that_no_tube_is_left_for_are_reported(written, most):
    (reported,) = by_code(found_in(written(costly.loops(6)), max_tubes=most), "clocks-not-examined")
    assert "--max-tubes" in reported.fix


def test_of_findings_alike_the_worst_alone_is_put_into_words(written, monkeypatch):
    told = []

    def counted(found, trace_format, made=catalogue.told):
        told.append(found.code)
        return made(found, trace_format)

    monkeypatch.setattr(doctor, "told", counted)
    found = found_in(written(costly.chain(2 * MOST_ALIKE)))
    every = [one.code for one in in_order(found)]
    assert every.count("clock-not-tied") == 1
    assert told.count("clock-not-tied") == 1
    assert sorted(pickle.loads(pickle.dumps(found)), key=rank) == found


def test_a_path_is_found_without_the_columns_of_its_hops(written, monkeypatch):
    with tt.open_trace(written(costly.chain(5))) as trace:
        graph = trace.clocks
        monkeypatch.setattr(FloorHop, "of", None)
        assert [clock.clock for clock in graph.path(203, "BOOTTIME")] == [203, 202, 201, 200, 6]
