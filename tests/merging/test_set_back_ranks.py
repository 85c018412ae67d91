"""What `merge` says of ranks whose clock was set back: every number of it is true."""

from __future__ import annotations

import json
import re

import pytest
from merge_worlds import kineto_ranks, set_back

import tracetime as tt

pytest_plugins = ["cli"]

S = 10**9


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Three ranks; the clock of the second is set back by 2 s."""
    world = kineto_ranks(tmp_path_factory.mktemp("ranks"), 1, ranks=3)
    set_back(world.paths[1], 2 * S)
    return world


@pytest.fixture(scope="module")
def report(world):
    return tt.merge(
        world.paths, world.paths[0].parent / "out.pftrace", explain=("rank0.json", "rank2.json")
    )


@pytest.mark.parametrize("first", range(3))
def test_no_drift_is_told_across_a_step(world, first):
    """Of no file, whichever of them the timeline is of."""
    numbers = [first, *(n for n in range(3) if n != first)]
    found = tt.merge([world.paths[n] for n in numbers], None)
    assert len(found.steps) == 1
    for number, file in zip(numbers, found.files, strict=True):
        drift = world.drifts[first] - world.drifts[number]
        assert file.drift_ppm == pytest.approx(drift * 1e6, abs=1)


def test_no_drift_is_told_across_a_step_by_explain(world):
    last = ("rank0.json", "rank2.json")
    set_later = [world.paths[n] for n in (1, 0, 2)]
    told = tt.merge(set_later, None, explain=last).explained
    assert told.drift_ppm == pytest.approx((world.drifts[0] - world.drifts[2]) * 1e6, abs=1)


def test_events_that_are_in_the_output_are_not_told_to_be_left_out(world, report):
    with tt.open_trace(report.written.out) as made:
        written = made.slices().read_all().num_rows
    given = [len(json.loads(path.read_text())["traceEvents"]) for path in world.paths]
    assert written == sum(given)
    assert [file.unresolved for file in report.written.files] == [0, 0, 0]
    # Those of a reading that the clock made twice, each once.
    carried = [file.carried for file in report.written.files]
    assert carried[0] == carried[2] == 0
    assert 0 < carried[1] < given[1] / 3


def test_instants_of_readings_made_twice_are_in_the_output_as_slices_are(world, tmp_path):
    paths = []
    for path in world.paths:
        data = json.loads(path.read_text())
        data["traceEvents"] += [
            {"ph": "i", "s": "t", "name": "at", "pid": 0, "tid": 7, "ts": one["ts"]}
            for one in data["traceEvents"][::10]
        ]
        paths.append(tmp_path / path.name)
        paths[-1].write_text(json.dumps(data))
    out = tmp_path / "out.pftrace"
    written = tt.merge(paths, out).written
    with tt.open_trace(out) as made:
        total = made.slices().read_all().num_rows
    given = sum(len(json.loads(path.read_text())["traceEvents"]) for path in paths)
    assert total == given - sum(file.unresolved + file.left_out for file in written.files)


def test_which_order_sets_a_bar_is_one_of_those_that_there_are(report):
    sides = [
        side
        for instant in report.explained.instants
        for step in instant.steps
        for side in (step.earliest_by, step.latest_by)
        if side is not None
    ]
    assert sides
    assert all(0 <= side.number < side.orders for side in sides)
    # Each collective is two orders: each file's starts are before the other's ends.
    assert max(side.number for side in sides) >= report.explained.links[0].ties
    said = re.findall(r"number ([\d,]+) of ([\d,]+) orders \(", str(report.explained))
    assert len(said) == len(sides)
    assert all(1 <= int(k.replace(",", "")) <= int(n.replace(",", "")) for k, n in said)


def test_the_command_tells_the_drift_beside_the_step(tracetime, world):
    code, out, _ = tracetime("merge", *world.paths)
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("rank1.json  "))
    (drift,) = re.findall(r"([+-][\d.]+)(?: ± [\d.]+)? ppm", row)
    assert abs(float(drift)) < 60
    assert "may have read" in out
