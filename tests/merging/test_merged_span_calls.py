"""Files of spans that services exported apart: tied by spans whose parent is in another file."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import seeds
from span_files import (
    BEGIN_NS,
    as_jaeger,
    otlp,
    resource_spans,
    simulated_world,
    span,
    two_hosts,
)

import tracetime as tt
from tracetime.merging.merged_traces import MergedTraces

REALTIME = tt.ClockId(1)


def written(folder, contents):
    """Files of these contents, 0.json and so on."""
    paths = [folder / f"{k}.json" for k in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def apart(data):
    """The lines of a file as files of their own."""
    return data.splitlines(keepends=True)


def begins_of(group, world):
    """When spans began: as their host's clock read, and in truth."""
    spans = group["scopeSpans"][0]["spans"]
    return (
        np.array([int(made["startTimeUnixNano"]) for made in spans]),
        np.array([world.truth[int(made["spanId"], 16)][0] for made in spans]),
    )


@pytest.mark.parametrize("late", [0, 500_000])
@pytest.mark.parametrize("seed", seeds(4))
def test_bars_are_those_of_one_file_with_all_spans_and_hold_the_truth(tmp_path, seed, late):
    world = simulated_world(seed, hosts=3, calls=60, late_ns=late)
    paths = written(tmp_path, [otlp(group) for group in world.groups])
    whole = tmp_path / "whole.json"
    whole.write_bytes(otlp(*world.groups))
    with tt.open_trace(whole) as one, MergedTraces(paths) as joined:
        assert {(tie.one, tie.other) for tie in joined.ties} == {(0, 1), (0, 2), (1, 2)}
        for host, group in enumerate(world.groups):
            begins, truth = begins_of(group, world)
            of_all = joined.clocks.convert(
                begins, joined.home(host), joined.home(0), policy="tube", bounds=True
            )
            of_one = one.clocks.convert(
                begins, tt.ClockId(1, machine=host), REALTIME, policy="tube", bounds=True
            )
            for here, there in zip(of_all, of_one, strict=True):
                assert (here == there).all()
            assert ((of_all.earliest <= truth) & (truth <= of_all.latest)).all()


def test_the_report_says_it(tmp_path):
    paths = written(tmp_path, apart(two_hosts(ahead=5_000_000_000)))
    report = tt.merge(paths, tmp_path / "merged.pftrace")
    assert report.files[1].ties[0].said == "spans whose parent is in the other file (20)"
    assert abs(report.files[1].offset_ns + 5_000_000_000) <= report.files[1].half_width_ns
    assert report.files[1].half_width_ns < 700_000
    with tt.open_trace(tmp_path / "merged.pftrace") as trace:
        slices = trace.slices().read_all().to_pylist()
    client, server = (next(s for s in slices if s["name"] == f"span {n}") for n in (1, 2))
    assert client["ts"] < server["ts"] < client["ts"] + client["dur"]


def test_files_of_different_formats(tmp_path):
    world = simulated_world(1, hosts=2, calls=60)
    client, server = world.groups
    with MergedTraces(written(tmp_path, [otlp(client), as_jaeger([server])])) as joined:
        begins, truth = begins_of(server, world)
        # Jaeger has whole us.
        bounds = joined.clocks.convert(
            begins // 1_000 * 1_000, joined.home(1), joined.home(0), policy="tube", bounds=True
        )
        assert ((bounds.earliest <= truth) & (truth <= bounds.latest + 1_000)).all()


def test_calls_within_a_file_are_its_own(tmp_path):
    child = span(998, BEGIN_NS + 5, BEGIN_NS + 6, parent=1, trace=1, kind="INTERNAL")
    third = otlp(resource_spans([child], host_id="c"))
    report = tt.merge(written(tmp_path, [two_hosts(), third]), None)
    assert [(tie.ties, len(tie.orders)) for tie in report.files[1].ties] == [(1, 1)]


def test_a_span_that_both_files_have_says_nothing(tmp_path):
    """Which of the two the child is of is not known."""
    client, server = apart(two_hosts(ahead=5_000_000_000))
    report = tt.merge(written(tmp_path, [client, server + client]), None)
    assert not report.is_tied


def test_files_of_one_clock_are_not_tied_by_it(tmp_path):
    paths = written(tmp_path, apart(two_hosts()))
    report = tt.merge(paths, None, same=["0.json,1.json"])
    assert [tie.kind for tie in report.files[1].ties] == ["clocks"]


def test_spans_whose_parents_are_in_no_file_are_told(tmp_path):
    own = [
        otlp(resource_spans([span(k, BEGIN_NS, BEGIN_NS + 5, parent=9)], host_id=f"h{k}"))
        for k in (1, 2)
    ]
    report = tt.merge(written(tmp_path, own), None)
    assert "spans: none has its parent in the other file" in report.files[1].looked_for


def test_a_wrong_parent_is_told_as_a_contradiction(tmp_path):
    client, server = apart(two_hosts(calls=40))
    begin = BEGIN_NS + 19 * 10_000_000 - 50_000_000
    early = span(999, begin, begin + 5, parent=39, trace=20, kind="INTERNAL")
    report = tt.merge(
        written(tmp_path, [client, server + otlp(resource_spans([early], host_id="b"))]), None
    )
    assert [one.kind for one in report.wrong_orders] == ["wrong_order"]
