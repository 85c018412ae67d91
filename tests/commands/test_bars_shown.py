"""The error bars that commands print by default: those of SQL and of `at`."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from places import ROOT

import tracetime as tt
from tracetime.analysis import event_bars, summary
from tracetime.analysis.event_bars import EventBars
from tracetime.clocks.ids import ClockId

pytest_plugins = ["cli"]

DEMO = ROOT / "demo" / "demo.pftrace"
S = 10**9
WIDTHS = """
    select clock, sequence, count(*) as events, max(latest - earliest) as widest,
        quantile_cont(latest - earliest, 0.5) as median
    from events where latest is not null and clock <> 0 group by clock, sequence
"""


def drifting(n=400, clock=MONOTONIC, gap_ns=S):
    """A clock that drifts against BOOTTIME, with events between, before and after snapshots."""
    ticks = np.arange(6) * gap_ns + 100 * S
    snapshots = [snapshot({BOOTTIME: int(t), clock: int(t + t // 100_000)}) for t in ticks]
    rng = np.random.default_rng(7)
    times = rng.integers(98 * S, 108 * S, n)
    return trace(*snapshots, *(event(int(t), clock) for t in times))


def by_clock(path):
    with tt.open_trace(path) as opened:
        rows = opened.sql(WIDTHS, policy="tube").to_pylist()
        return {(row["clock"], row["sequence"]): row for row in rows}


@pytest.fixture(params=["floor", "tube"])
def converted(request, tracetime, write, tmp_path):
    def convert(data):
        path = data if not isinstance(data, bytes) else write(data)
        words = ("convert", path, "-o", tmp_path / "out.parquet", "--policy", request.param)
        return path, json.loads(tracetime(*words, "--json")[1]), tracetime(*words)[1]

    return convert


@pytest.mark.parametrize("data", [drifting(), DEMO], ids=["drifting", "demo"])
def test_convert_has_the_bars_of_sql(converted, data):
    path, summary, text = converted(data)
    found = by_clock(path)
    bars = {one["clock"]: one for one in summary["error_bars"]}
    assert bars
    with tt.open_trace(path) as opened:
        clocks = {str(info.clock): info.clock for info in opened.clocks.clocks()}
    for name, bar in bars.items():
        sql = found[clocks[name].clock, clocks[name].sequence]
        assert bar["at_most_ns"] == (sql["widest"] + 1) // 2
        assert bar["median_ns"] == -(-int(sql["median"] * 2) // 4)
    assert "How far off events can be\nclock" in text


def test_of_many_events_no_bar_is_wider_than_what_is_told(converted, monkeypatch):
    """The widest bar comes from knots, the median from a sample."""
    monkeypatch.setattr(event_bars, "MOST_SAMPLED", 50)
    path, summary, _ = converted(drifting(4000))
    (bar,) = (one for one in summary["error_bars"] if one["clock"] == "MONOTONIC")
    sql = by_clock(path)[MONOTONIC, 0]
    assert sql["widest"] <= 2 * bar["at_most_ns"] <= 1.001 * sql["widest"] + 2
    assert bar["median_ns"] == pytest.approx(sql["median"] / 2, rel=0.3)


def test_the_reading_told_has_the_bar_told(tracetime, converted):
    path, summary, _ = converted(DEMO)
    for bar in summary["error_bars"]:
        if bar["clock"] == "BOOTTIME" or bar["clock"] == "REALTIME":
            continue
        words = ("at", path, bar["at"], "--from", bar["clock"], "--policy", "tube", "--json")
        ends = json.loads(tracetime(*words)[1])
        assert (ends["latest"] - ends["earliest"] + 1) // 2 == bar["at_most_ns"]


def test_floor_says_by_how_much_later_it_draws(converted):
    _, summary, text = converted(drifting())
    (bar,) = (one for one in summary["error_bars"] if one["clock"] == "MONOTONIC")
    # Up to a second after a snapshot the offset has grown by 10 ppm of it.
    assert 9_000 < bar["late_ns"]["greatest"] < 40_000
    assert "drawn late by" in text


def test_of_clocks_that_are_not_looked_for_no_limit_is_told(
    tracetime, write, tmp_path, monkeypatch
):
    monkeypatch.setattr(summary, "_BARRED_CLOCKS", 0)
    out = tracetime("convert", DEMO, "-o", tmp_path / "out.parquet")[1]
    bars = out[out.index("How far off") :]
    assert "REALTIME" in bars
    assert "-" in bars


@pytest.mark.parametrize("command", ["clocks", "doctor"])
def test_the_widest_bar_of_each_clock_and_where(tracetime, command):
    facts = json.loads(tracetime(command, DEMO, "--json")[1])
    if command == "doctor":
        bars = {one["clock"]: one for one in facts["traces"][0]["bars"]}
    else:
        bars = {one["clock"]: one["bar"] for one in facts["clocks"] if one["bar"]}
    assert {"MONOTONIC", "REALTIME", "64@seq3"} <= bars.keys()
    for clock in ("MONOTONIC", "64@seq3"):
        words = ("at", DEMO, bars[clock]["at"], "--from", clock, "--policy", "tube", "--json")
        ends = json.loads(tracetime(*words)[1])
        # The reading is in units of the clock, of which the widest may be between two.
        width = ends["latest"] - ends["earliest"]
        assert (width + 1) // 2 == pytest.approx(bars[clock]["at_most_ns"], abs=2)
    text = tracetime(command, DEMO)[1]
    assert re.search(r"Error bars on BOOTTIME.*\nclock +at most +where it reads\n", text)


@pytest.mark.parametrize("command", ["clocks", "doctor"])
def test_a_clock_that_was_read_once_has_a_bar(tracetime, write, command):
    text = tracetime(command, write(trace(snapshot({BOOTTIME: S, MONOTONIC: 7}))))[1]
    assert re.search(r"Error bars on BOOTTIME.*\n.*\nMONOTONIC +± 1 us +7\n", text)


def test_a_result_of_floor_is_followed_by_the_bar_of_the_truth(tracetime, write):
    path = write(drifting())
    words = ("at", path, 101 * S + S // 2, "--from", "MONOTONIC")
    tube = json.loads(tracetime(*words, "--policy", "tube", "--json")[1])
    floor = json.loads(tracetime(*words, "--json")[1])
    ends = {"earliest": tube["earliest"], "latest": tube["latest"]}
    assert floor["true_between"] == ends
    first, second, *_ = tracetime(*words)[1].splitlines()
    assert first.endswith(f"BOOTTIME {floor['result']} ns")
    assert f"true between {ends['earliest']} and {ends['latest']}" in second
    assert "true_between" not in tube


def test_where_the_tube_has_no_way_floor_says_that_nothing_is_known(tracetime, write):
    # Set back: one reading is several instants for the tube, and floor takes the last snapshot.
    data = trace(*(snapshot({BOOTTIME: t, 3: s}) for t, s in ((S, S), (2 * S, 2 * S))))
    text = tracetime("at", write(data), S, "--from", "MONOTONIC")[1]
    assert "true between" in text or "not known" in text


def test_a_table_in_a_pipe_has_whole_names(tracetime, write):
    name = "com.example." + "a.very.long.name." * 12 + "end"
    data = trace(snapshot({BOOTTIME: S, 128: S}), event(S, 128))
    text = tracetime("clocks", write(data), "--clock-name", f"128={name}")[1]
    assert sum(name in line for line in text.splitlines()) >= 2


def test_open_sides_are_told_as_open():
    bars = EventBars()
    clock = ClockId(MONOTONIC)
    low, high = np.array([0, -(2**63)]), np.array([10, 5])
    bars.bound(clock, np.array([3, 4]), low, high)
    found = bars.of([clock])
    assert (found.at_most_ns, found.at_ns) == (None, 4)
    bars.bound(clock, np.array([5]), low[:1], high[:1])
    assert bars.of([clock]).median_ns == 5


def test_a_sample_is_evenly_spaced_and_small(monkeypatch):
    monkeypatch.setattr(event_bars, "MOST_SAMPLED", 100)
    sample = event_bars.EventSample()
    names = ("source_ns", "trace_time", "status", "snapshots", "clock", "sequence", "machine")
    for begin in range(0, 5000, 70):
        column = np.arange(begin, begin + 70)
        sample.add(dict.fromkeys(names, column))
    kept = sample.columns()["source_ns"]
    assert len(kept) <= 100
    assert not sample.is_whole
    assert len(set(np.diff(kept).tolist())) == 1


@pytest.mark.parametrize(
    ("clocks", "more", "said"),
    [
        (
            300,
            (),
            "291 more clocks without a bar: --max-tubes allows more; at most 40 are measured",
        ),
        (300, ("--max-tubes", 10**6), "261 more clocks without a bar: at most 40 are measured"),
        (3, ("--max-tubes", 1), "clocks without a bar: --max-tubes allows more"),
        (3, (), None),
    ],
)
def test_clocks_without_a_bar_are_counted(tracetime, write, clocks, more, said):
    ids = [0x80000000 + 7919 * k for k in range(clocks)]
    path = write(trace(snapshot({6: 10**9} | dict.fromkeys(ids, 10**9))))
    for command in ("clocks", "doctor"):
        out = tracetime(command, path, *more)[1].replace("\n  ", " ")
        assert ("without a bar" in out) == (said is not None)
        assert (said or "") in out
