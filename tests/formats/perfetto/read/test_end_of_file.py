"""What only the end of the file places is in the graph whenever the graph is requested."""

from __future__ import annotations

from random import Random

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    event,
    ftrace,
    packet,
    pb,
    process_tree,
    snapshot,
    trace,
)
from random_traces import nasty_trace
from reading import opened

from tracetime.graph.clock_graph import to_bytes

S = 10**9


def with_a_late_bundle():
    """A bundle whose packet waits for a snapshot, and which ties a clock of its own."""
    bundle = ftrace(clock=pb.FTRACE_CLOCK_GLOBAL, snapshot=(100, S))
    late = packet(5, MONOTONIC, 7, ftrace_events=bundle)
    return trace(event(1, BOOTTIME), late, snapshot({BOOTTIME: S, MONOTONIC: 5}))


def with_a_machine_that_converts_last():
    """A second machine whose only time is one that Perfetto reads after sorting."""
    tree = packet(machine=77, process_tree=process_tree([9]))
    return trace(snapshot({BOOTTIME: S, MONOTONIC: 5}), event(S, BOOTTIME), tree)


def facts(read):
    return (
        to_bytes(read.clocks),
        [info.clock for info in read.clocks.clocks()],
        read.faults,
        read.n_warnings,
        read.snapshot_packets.tolist(),
    )


@pytest.mark.parametrize(
    "made",
    [
        with_a_late_bundle(),
        with_a_machine_that_converts_last(),
        *(nasty_trace(Random(f"nasty 6 {n}")) for n in range(40)),
    ],
    ids=["bundle", "machine", *map(str, range(40))],
)
@pytest.mark.parametrize("names", [False, True])
def test_the_graph_is_whole_before_the_events_are_read(made, names):
    with opened(made, partial=True) as read:
        before = facts(read)
        rows = read.read_all(names=names)
        assert facts(read) == before
        assert read.read_all(names=names) == rows
    with opened(made, partial=True) as read:
        assert read.read_all(names=names) == rows
        assert facts(read) == before


def clocks(made):
    with opened(made) as read:
        return {str(info.clock) for info in read.clocks.clocks()}


def test_what_is_placed_last_ties_clocks():
    assert "64@seq7" in clocks(with_a_late_bundle())
    assert "BOOTTIME@machine1" in clocks(with_a_machine_that_converts_last())
