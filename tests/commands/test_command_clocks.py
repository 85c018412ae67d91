"""`tracetime clocks`: the graph as a table, for Graphviz, and as JSON."""

import json

import pytest
from building import BOOTTIME, event, snapshot, trace
from faults import GPU
from samples import CLOCK_SYNC, UNRESOLVED
from wall_bounds import bounded_recording

from tracetime.clocks.kernel_clock import WallBound

pytest_plugins = ["cli"]


def test_clocks_shows_the_graph(tracetime, write):
    code, text, err = tracetime("clocks", write(CLOCK_SYNC))
    assert (code, err) == (0, "")
    assert text.startswith("Trace time is BOOTTIME.\n")
    lines = [line.split() for line in text.splitlines()]
    assert ["MONOTONIC", "builtin", "1", "6", "1.100", "us"] in lines
    assert ["64@seq7", "sequence", "1,000", "1", "0", "ns", "incremental"] in lines
    assert ["6", "MONOTONIC,", "BOOTTIME,", "REALTIME"] in lines


def test_clocks_says_what_ran_backwards(tracetime, write):
    assert "ran backwards" in tracetime("clocks", write(UNRESOLVED))[1]


def test_clocks_shows_no_coverage_of_a_counter_that_wrapped(tracetime, write):
    reads = ((1000, 2**32 - 10), (5000, 90))
    path = write(trace(*(snapshot({BOOTTIME: t, GPU: value}) for t, value in reads)))
    line, *_ = (
        line for line in tracetime("clocks", path)[1].splitlines() if line.startswith("0x8a")
    )
    assert line.split() == ["0x8a01b2c3", "global", "1", "2", "-", "ran", "backwards"]


def test_the_tsc_is_covered_for_so_many_ticks(tracetime, write):
    path = write(trace(*(snapshot({BOOTTIME: 10**9 + t, 9: 2445 * t}) for t in (10**6, 8 * 10**6))))
    line, *_ = (
        line for line in tracetime("clocks", path)[1].splitlines() if line.startswith("TSC")
    )
    assert line.split() == ["TSC", "builtin", "1", "2", "1.71e+10", "ticks"]


def test_clocks_json(tracetime, write):
    result = json.loads(tracetime("clocks", write(CLOCK_SYNC), "--json")[1])
    assert result["trace_clock"] == "BOOTTIME"
    assert [clock["clock"] for clock in result["clocks"]] == [
        "REALTIME",
        "MONOTONIC",
        "BOOTTIME",
        "64@seq7",
    ]
    assert {"src": "64@seq7", "dst": "BOOTTIME", "snapshots": 1} in result["edges"]
    assert result["series"][0] == {"clocks": ["MONOTONIC", "BOOTTIME", "REALTIME"], "snapshots": 6}


CHRONY = WallBound(-90_000, 216_000, "chrony")
KERNEL = WallBound(-3_000_000, 0, "adjtimex")


def test_clocks_says_how_far_off_the_wall_clock_was(tracetime, tmp_path):
    path = bounded_recording(tmp_path / "a.pftrace", CHRONY, CHRONY, None, KERNEL)
    lines = tracetime("clocks", path)[1].splitlines()
    assert lines[1:3] == [
        "REALTIME was within 216 us of UTC, as chrony said at 2 snapshots.",
        "REALTIME was within 3 ms of UTC, as adjtimex said at 1 snapshot.",
    ]
    assert json.loads(tracetime("clocks", path, "--json")[1])["wall_clock_bounds"] == [
        {"clock": "REALTIME", "source": "chrony", "snapshots": 2, "within_ns": 216_000},
        {"clock": "REALTIME", "source": "adjtimex", "snapshots": 1, "within_ns": 3_000_000},
    ]


@pytest.mark.parametrize(
    ("bounds", "found"), [([CHRONY, CHRONY], False), ([CHRONY, None], True), ([None], True)]
)
def test_a_clock_that_a_service_bounds_is_not_unsynchronised(tracetime, tmp_path, bounds, found):
    path = bounded_recording(tmp_path / "a.pftrace", *bounds)
    assert ("REALTIME was not synchronised" in tracetime("doctor", path)[1]) == found


def test_a_report_says_how_far_off_the_wall_clock_was(tracetime, tmp_path):
    path, page = bounded_recording(tmp_path / "a.pftrace", CHRONY), tmp_path / "a.html"
    assert tracetime("report", path, "-o", page)[0] == 0
    assert "within 216 us of UTC (chrony)" in page.read_text()


def test_clocks_dot_draws_each_pair_once(tracetime, write):
    code, text, _ = tracetime("clocks", write(UNRESOLVED), "--dot")
    assert code == 0
    assert text.startswith("digraph clocks {\n")
    assert text.endswith("}\n")
    # MONOTONIC ran backwards: there is only the way to it.
    assert [line for line in text.splitlines() if "->" in line] == [
        '  "BOOTTIME" -> "MONOTONIC" [label="2"];'
    ]
    text = tracetime("clocks", write(CLOCK_SYNC), "--dot")[1]
    assert text.count("dir=both") == text.count("->") == 4


def test_dot_and_json_exclude_each_other(tracetime, write):
    assert tracetime("clocks", write(CLOCK_SYNC), "--dot", "--json")[0] == 2


def test_a_trace_without_snapshots_is_reported(tracetime, write):
    code, text, _ = tracetime("clocks", write(trace(event(5))))
    assert code == 0
    assert "no clock snapshots" in text
