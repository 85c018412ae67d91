"""Small traces that could cost minutes or gigabytes: answered, or refused by a limit that is named.

Work is counted, and memory measured in a process of its own; there are no timings.
"""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms import LINUX

import tracetime as tt
from fuzz import costly

MOST_KB = 500_000
pytest_plugins = ["cli"]


def test_a_clock_without_events_needs_no_tube(written, tubes):
    with tt.open_trace(written(costly.sequences(300, 3))) as trace:
        assert trace.clocks.discontinuities() == []
    assert tubes == []


def test_what_moved_has_its_tube(written, tubes):
    with tt.open_trace(written(costly.steps(5))) as trace:
        assert {d.kind for d in trace.clocks.discontinuities()} != set()
    assert len(tubes) == 1


@given(
    st.lists(st.integers(1, 10**12), min_size=1, max_size=20),
    st.integers(-(10**18), 10**18),
)
def test_nothing_befalls_clocks_whose_offset_stays(gaps, offset):
    """What the graph leaves out is nothing: the tubes of such pairs say so themselves."""
    here = np.cumsum(np.array(gaps, dtype=np.int64)) + 10**12
    graph = tt.ClockGraph()
    graph.add_snapshot(tt.Snapshot({"MONOTONIC": here, 200: here + offset}))
    assert graph.discontinuities() == []
    assert not graph._graph.tubes.discontinuities(graph.compared())


def test_clocks_have_a_limit(written):
    path = written(costly.one_snapshot(40))
    with tt.open_trace(path, max_clocks=30) as trace:
        with pytest.raises(tt.TraceError, match=r"more than 30 clocks.*--max-clocks"):
            trace.read_all()
        with pytest.raises(tt.TraceError, match="more than 30 clocks"):
            _ = trace.clocks
    with tt.open_trace(path, max_clocks=60) as trace:
        assert len(trace.clocks.clocks()) == 41


def test_tubes_have_a_limit(written):
    path = written(costly.clocks_with_boottime(9))
    with tt.open_trace(path, max_tubes=8) as trace:
        with pytest.raises(tt.TraceError, match=r"more than 8 pairs of clocks.*--max-tubes"):
            trace.read_all("tube")
        assert trace.read_all().num_rows == 27
    with tt.open_trace(path, max_tubes=9) as trace:
        assert trace.read_all("tube").num_rows == 27


@pytest.mark.parametrize("limit", ["max_clocks", "max_tubes"])
def test_a_limit_is_above_0(written, limit):
    with pytest.raises(tt.UsageError, match=f"{limit} is a number of"):
        tt.open_trace(written(costly.chain(2)), **{limit: 0})


@pytest.mark.parametrize("command", ["convert", "clocks", "doctor", "report", "sql", "at"])
def test_commands_take_the_limits(tracetime, written, tmp_path, command):
    path = written(costly.one_snapshot(40))
    more = {
        "convert": ["-o", str(tmp_path / "o.csv")],
        "report": ["-o", str(tmp_path / "o.html")],
        "sql": ["select count(*) from events"],
        "at": ["5", "--from", "200"],
    }.get(command, [])
    _, out, err = tracetime(command, path, *more, "--max-clocks", "30")
    assert "--max-clocks" in out + err
    _, out, err = tracetime(command, path, *more, "--max-clocks", "99")
    assert "--max-clocks" not in out + err


def test_lists_of_clocks_have_the_limit_of_clocks(written):
    """Few clocks can be in very many lists, each of which costs as much as a clock."""
    pairs = combinations(range(200, 208), 2)
    path = written([costly.snapshot([(one, 5), (other, 5)]) for one, other in pairs])
    with tt.open_trace(path, max_clocks=27) as trace:
        with pytest.raises(tt.TraceError, match=r"more than 27 clocks, or lists.*--max-clocks"):
            _ = trace.clocks
    with tt.open_trace(path, max_clocks=28) as trace:
        assert len(trace.clocks.clocks()) == 8


# Of this process alone: what getrusage says is at least what the one had that it was forked from.
READ = """
import sys, tracetime
from pathlib import Path
with tracetime.open_trace(sys.argv[1]) as trace:
    try:
        print(trace.read_all().num_rows)
    except tracetime.TraceError as error:
        print(error.message)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(status["VmHWM"].split()[0])
"""


@pytest.mark.sweep
@LINUX
@pytest.mark.parametrize(
    ("size", "message"), [(255 << 20, "0"), (256 << 20, "Perfetto's own limit")]
)
def test_a_packet_takes_its_own_size(written, size, message):
    path = written(costly.packed_packet(size))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
    )
    said, peak_kb = done.stdout.splitlines()
    assert message in said
    assert int(peak_kb) < MOST_KB
