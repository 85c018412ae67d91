"""Flows that pass from file to file, as ties of their clocks."""

from __future__ import annotations

import re

import pytest
from building import BOOTTIME, event, snapshot, trace

import tracetime as tt
from tracetime.merging.merged_traces import MergedTraces

pytest_plugins = ["cli"]

S = 1_000_000_000
AHEAD = 7 * S
MACHINES = ("a.pftrace", "b.pftrace")


def one(ts, flow, ends):
    made = event(ts, BOOTTIME)
    (made.track_event.terminating_flow_ids if ends else made.track_event.flow_ids).append(flow)
    return made


def two_files(folder, *, calls=20, wrong=0):
    """Flows from a to b, whose clock is ahead, and back: 1 ms each way.

    wrong: how long before it began the tenth flow ends.
    """
    here = [snapshot({BOOTTIME: S})]
    there = [snapshot({BOOTTIME: S + AHEAD})]
    for k in range(calls):
        at = 2 * S + k * 10_000_000
        early = wrong if k == 10 else 0
        here += [one(at, 2 * k + 1, False), one(at + 3_000_000, 2 * k + 2, True)]
        there += [
            one(at + 1_000_000 + AHEAD - early, 2 * k + 1, True),
            one(at + 2_000_000 + AHEAD, 2 * k + 2, False),
        ]
    paths = [folder / name for name in MACHINES]
    for path, packets in zip(paths, (here, there), strict=True):
        path.write_bytes(trace(*packets))
    return paths


def test_flows_tie_files_where_the_caller_asks_for_it(tmp_path):
    paths = two_files(tmp_path)
    assert not tt.merge(paths, None).is_tied
    report = tt.merge(paths, None, orders="flows")
    assert [tie.said for tie in report.files[1].ties] == [
        "flows from the one file to the other (40 orders)"
    ]
    with MergedTraces(paths, reading={"orders": "flows"}) as joined:
        at = [2 * S + k * 10_000_000 + AHEAD for k in range(20)]
        bounds = joined.clocks.convert(
            at, joined.home(1), joined.home(0), policy="tube", bounds=True
        )
        for k, (estimate, low, high) in enumerate(zip(*bounds, strict=True)):
            truth = at[k] - AHEAD
            assert low <= truth <= high
            assert high - low < 2_100_000
            assert abs(estimate - truth) < 100_000


def test_files_of_one_machine_are_not_tied_by_it(tmp_path):
    report = tt.merge(two_files(tmp_path), None, orders="flows", same=[",".join(MACHINES)])
    assert [tie.kind for tie in report.files[1].ties] == ["clocks"]


def test_flows_within_a_file_are_its_own(tmp_path):
    paths = two_files(tmp_path)
    paths[1].write_bytes(trace(snapshot({BOOTTIME: S}), one(S, 1, False), one(2 * S, 1, True)))
    # The id of a flow from a to b that b begins and ends itself.
    assert not tt.merge(paths, None, orders="flows").is_tied


def test_a_flow_that_ends_before_it_begins_contradicts(tmp_path):
    report = tt.merge(two_files(tmp_path, wrong=50_000_000), None, orders="flows")
    assert [wrong.kind for wrong in report.wrong_orders] == ["wrong_order"]


@pytest.mark.parametrize("n", [2, 3])
def test_the_command_takes_it(tmp_path, tracetime, n):
    paths = two_files(tmp_path)
    more = [tmp_path / "c.pftrace"] * (n - 2)
    for path in more:
        path.write_bytes(trace(snapshot({BOOTTIME: S}), event(2 * S, BOOTTIME)))
    code, out, _ = tracetime("merge", *paths, *more, "--orders", "flows")
    assert code == (2 if more else 0)
    assert "tied by flows from the one file to the other (40 orders)" in " ".join(out.split())
    row = next(line for line in out.splitlines() if line.startswith("b.pftrace "))
    assert re.search(r"a\.pftrace +40 messages +\S+ .*± .* ± .* ppm", row)
