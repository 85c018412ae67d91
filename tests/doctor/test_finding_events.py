"""The events of a finding: as many as it counts, named, with how far off floor places each."""

from collections import Counter
from random import Random

import pytest
from building import event, snapshot, trace
from faults import FAULTS, GPU, NIC, Model
from reading import opened
from samples import BOOTTIME, MONOTONIC

from tracetime import diagnose
from tracetime.doctor.finding import in_order
from tracetime.doctor.finding_events import finding_events
from tracetime.trace.events_table import FINDING_EVENTS

COUNTED = {"events-reordered"}
"""Findings whose events are counted only."""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_there_are_as_many_as_the_finding_counts(fault, seed):
    model = Model()
    FAULTS[fault](model, Random(seed))
    with opened(model.build(), partial=True) as read:
        findings = list(in_order(diagnose(read)))
        counts = Counter()
        for batch in finding_events(read, dict(enumerate(findings))):
            assert batch.schema == FINDING_EVENTS
            counts.update(batch["finding"].to_pylist())
    for number, finding in enumerate(findings):
        if finding.events and not finding.selections:
            assert finding.code in COUNTED
        else:
            assert counts[number] == finding.events, finding.code


@pytest.mark.parametrize(("one", "other"), [(GPU, NIC), (MONOTONIC, GPU), (BOOTTIME, MONOTONIC)])
def test_events_of_exchanged_clocks_are_named(one, other):
    model = Model()
    model.event_clocks, model.n = [BOOTTIME, MONOTONIC, GPU, NIC], 60
    model.reads[MONOTONIC] = lambda t: t - 2000 * S

    def exchange(readings):
        readings[one], readings[other] = readings[other], readings[one]

    for k in range(model.n):
        model.edit(k, exchange)
    with opened(model.build()) as read:
        (found,) = (one for one in in_order(diagnose(read)) if "exchanged" in one.title)
        rows = [row for batch in finding_events(read, {0: found}) for row in batch.to_pylist()]
    assert len(rows) == found.events == 120


S = 10**9
# BOOTTIME gains 1000 ppm on MONOTONIC; the last event is 100 s after the last snapshot.
DRIFTING = trace(
    *(snapshot({MONOTONIC: n * S, BOOTTIME: n * S + n * 1_000_000}) for n in range(1, 11)),
    event(5 * S, MONOTONIC),
    event(110 * S, MONOTONIC),
)


def test_each_says_how_far_off_it_is():
    with opened(DRIFTING) as read:
        found = next(one for one in diagnose(read) if one.code == "drift-beyond-healthy")
        rows = [row for batch in finding_events(read, {0: found}) for row in batch.to_pylist()]
    assert [(row["finding"], row["code"], row["packet"], row["timestamp"]) for row in rows] == [
        (0, found.code, 10, 5 * S),
        (0, found.code, 11, 110 * S),
    ]
    # The tube follows the drift; floor keeps the offset of the last snapshot.
    assert [row["off_ns"] for row in rows] == [0, -100_000_000]


def test_events_without_trace_time_are_off_by_nothing_known():
    data = trace(snapshot({BOOTTIME: 5, MONOTONIC: 5}), event(7, 777), event(8, BOOTTIME))
    with opened(data) as read:
        findings = [one for one in diagnose(read) if one.code == "clock-without-snapshot"]
        (batch,) = finding_events(read, dict(enumerate(findings)))
    (row,) = batch.to_pylist()
    assert (row["timestamp"], row["trace_time"], row["off_ns"]) == (7, None, None)
    assert row["status"] == "unknown_source_clock"


def test_with_more_clocks_than_tubes_events_are_named_all_the_same():
    gpus = range(1000, 1020)
    snapshots = (snapshot({BOOTTIME: 10 + n} | dict.fromkeys(gpus, 5 + n)) for n in range(2))
    data = trace(*snapshots, *(event(7, gpu) for gpu in gpus))
    with opened(data, max_tubes=3) as read:
        found = next(one for one in diagnose(read) if one.code == "ad-hoc-clock-id")
        rows = [row for batch in finding_events(read, {0: found}) for row in batch.to_pylist()]
    assert [row["trace_time"] for row in rows] == [12] * len(gpus)
    assert {row["off_ns"] for row in rows} == {None}


def test_findings_without_selections_have_no_events():
    with opened(DRIFTING) as read:
        assert list(finding_events(read, {})) == []
