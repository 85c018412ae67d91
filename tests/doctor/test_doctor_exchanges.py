"""Clocks under each other's numbers are one finding; BOOTTIME is not less than MONOTONIC."""

from itertools import combinations

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, event, snapshot, trace
from corpus import files
from diagnosed import findings
from faults import GPU, NIC, START, Model, S

from tracetime import diagnose, open_trace

CODES = {"clocks-exchanged", "boottime-below-monotonic"}
CLOCKS = [BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, GPU, NIC]


def exchange(model, one, other, snapshots):
    def change(readings):
        readings[one], readings[other] = readings[other], readings[one]

    for k in snapshots:
        model.edit(k, change)
    return model


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize(("one", "other"), [*combinations(CLOCKS, 2)])
def test_two_clocks_in_one_snapshot(one, other, primary):
    model = Model()
    model.event_clocks = CLOCKS
    model.primary = dict.fromkeys(range(model.n), primary)
    (found,) = findings(exchange(model, one, other, [30]).build())
    assert (found.code, {c.clock for c in found.clocks}) == ("clocks-exchanged", {one, other})
    assert "in 1 snapshot" in found.title
    assert set(found.packets) <= set(model.at_snapshot(30))
    apart = abs(model.reads[one](model.time(30)) - model.reads[other](model.time(30)))
    assert found.worst_ns == apart


@pytest.mark.parametrize("snapshots", [2, 60])
@pytest.mark.parametrize(
    ("one", "other"), [(BOOTTIME, REALTIME), (MONOTONIC, REALTIME), (GPU, NIC), (MONOTONIC, GPU)]
)
def test_two_clocks_in_all_snapshots_as_their_events_show(one, other, snapshots):
    model = Model()
    model.event_clocks, model.n = CLOCKS, snapshots
    reported = findings(exchange(model, one, other, range(model.n)).build())
    # Of the other clocks two snapshots prove no rate.
    (found,) = [finding for finding in reported if finding.code != "rate-unproven"]
    assert (found.code, found.severity) == ("clocks-exchanged", "error")
    assert "in all snapshots" in found.title
    assert found.events == 2 * model.n


@pytest.mark.parametrize("snapshots", [1, 2, 60])
@pytest.mark.parametrize("apart", [2 * S, 100 * S, 4000 * S])
def test_boottime_and_monotonic_in_all_snapshots(apart, snapshots):
    model = Model()
    model.without = set(range(snapshots, model.n))
    model.reads[MONOTONIC] = lambda t: t - apart
    found = findings(exchange(model, BOOTTIME, MONOTONIC, range(model.n)).build())
    (reported,) = [finding for finding in found if finding.code == "boottime-below-monotonic"]
    # Events go on for a minute: further than they are apart, nothing tells whose they are.
    is_clear = snapshots == 60 or apart > 60 * S * 4
    assert (reported.severity, "exchanged" in reported.title) == (
        "error" if is_clear else "warning",
        is_clear,
    )
    assert "exchanged" in reported.why


def below(by, snapshots=20, scatter=0, gap_ns=S, sleep=0):
    """BOOTTIME below MONOTONIC in a trace whose events agree with it."""
    packets = []
    for k in range(snapshots):
        t = START + k * gap_ns
        ahead = by + k % 2 * scatter + (k > snapshots // 2) * sleep
        packets += [
            snapshot({BOOTTIME: t, MONOTONIC: t + ahead, REALTIME: 10**9 * S + t}),
            event(t + gap_ns // 3 + ahead, MONOTONIC),
        ]
    return {f.code: f for f in findings(trace(*packets))}


@pytest.mark.parametrize(
    ("by", "scatter", "is_reported"),
    [
        (500_000, 0, False),
        (2_000_000, 0, True),
        (2_000_000, 400_000, False),
        (5_000_000, 400_000, True),
        (50 * S, 100_000, True),
    ],
)
def test_more_than_the_order_of_reading_explains(by, scatter, is_reported):
    found = below(by, scatter=scatter)
    assert ("boottime-below-monotonic" in found) == is_reported
    if is_reported:
        reported = found["boottime-below-monotonic"]
        assert reported.severity == "warning"
        assert "exchanged" in reported.why
        assert "time namespace" in reported.why


@pytest.mark.parametrize(("snapshots", "gap_ns"), [(1, S), (5, 10_000_000)])
@pytest.mark.parametrize(("by", "is_reported"), [(800_000_000, False), (2 * S, True)])
def test_where_no_scatter_is_seen_a_second_decides(by, is_reported, snapshots, gap_ns):
    assert ("boottime-below-monotonic" in below(by, snapshots, 0, gap_ns)) == is_reported


def test_a_suspend_of_the_wrong_sign_says_that_they_are_exchanged():
    reported = below(50 * S, sleep=100 * S)["boottime-below-monotonic"]
    assert (reported.severity, "exchanged" in reported.title) == ("error", True)


@pytest.mark.sweep
def test_no_shared_trace_has_exchanged_clocks():
    for path in files("traces/*trace"):
        with open_trace(path, partial=True) as read:
            assert not CODES & {finding.code for finding in diagnose(read)}, path
