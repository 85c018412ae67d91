"""Which findings are below which: where they share a clock, and where they need not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tracetime import ClockId, Finding
from tracetime.doctor.exchanges import BELOW, EXCHANGED
from tracetime.doctor.machines import MOVED
from tracetime.doctor.nesting import nested
from tracetime.doctor.recordings import DISORDERED, JOINED, MIXED

A, B, C, D = (ClockId(200 + k) for k in range(4))


class Survey:
    """Replaces a survey: which clocks any snapshot names."""

    def __init__(self, *written: ClockId) -> None:
        self.written = set(written)

    def was_written(self, clocks: Sequence[ClockId]) -> bool:
        return bool(self.written & set(clocks))


def finding(code: str, *clocks: ClockId) -> Finding:
    return Finding(code, "info", code, clocks)


def tree(*findings: Finding, written: Sequence[ClockId] = ()) -> list[Any]:
    return reported(nested(list(findings), Survey(*written)))


def reported(findings: Sequence[Finding]) -> list[Any]:
    return [
        (one.code, reported(one.consequences)) if one.consequences else one.code for one in findings
    ]


JUMPED = [
    "counter-wraps",
    "clock-id-collision",
    "clock-reset",
    "realtime-set-back",
    "clock-ran-backwards",
    "snapshot-outlier",
    "suspend",
    "clock-stepped",
]
RATES = ["tsc-without-rate", "rate-not-nominal", "clock-stands-still", "drift-beyond-healthy"]
MISPLACED = [
    "events-reordered",
    "snapshots-late",
    "snapshots-too-sparse",
    "used-before-first-snapshot",
    "used-after-last-snapshot",
    "negative-trace-time",
    "paths-disagree",
    "rate-changed",
]
NOT_TAKEN = [
    "incremental-clock-not-of-a-sequence",
    "clock-properties-changed",
    "trace-clock-unit",
    "clock-twice-in-snapshot",
    "trace-clock-ran-backwards",
    "reading-overflow",
]
LOST = ["clock-without-snapshot", "clock-not-tied", "trace-clock-without-snapshot"]


@pytest.mark.parametrize(
    ("causes", "effects"),
    [
        (JUMPED, MISPLACED),
        (RATES, [*JUMPED, *MISPLACED, "timestamp-overflow", "events-far-from-trace", BELOW]),
        (NOT_TAKEN, [*JUMPED, *RATES, *MISPLACED, "events-far-from-trace", *LOST, "no-realtime"]),
        ([c for c in JUMPED if c not in ("suspend", "clock-stepped")], ["events-far-from-trace"]),
        (["events-far-from-trace"], [*MISPLACED, "timestamp-overflow"]),
        ([EXCHANGED, BELOW], [*JUMPED, *RATES, *MISPLACED, "timestamp-overflow"]),
        (["snapshots-too-sparse"], ["events-reordered", "used-after-last-snapshot"]),
        (["clock-without-snapshot"], ["ad-hoc-clock-id"]),
        (["ad-hoc-clock-id"], ["clock-id-collision"]),
    ],
)
def test_what_leads_to_what_where_they_share_a_clock(causes, effects):
    for cause in causes:
        for effect in effects:
            if (cause, effect) in {("snapshots-too-sparse", "snapshots-too-sparse")}:
                continue
            if effect in RATES and cause in NOT_TAKEN:
                pass
            pair = finding(cause, A, B), finding(effect, C, B)
            if cause == BELOW and effect in RATES:
                # A wrong rate is the cause of that.
                continue
            assert tree(*pair) == [(cause, [effect])], (cause, effect)
            assert tree(*pair[::-1]) == [(cause, [effect])], (cause, effect)


@pytest.mark.parametrize("effect", ["suspend", "clock-stepped"])
def test_sleep_and_steps_bring_no_event_far_away(effect):
    assert tree(finding(effect, A), finding("events-far-from-trace", A)) == [
        effect,
        "events-far-from-trace",
    ]


@pytest.mark.parametrize("cause", JUMPED)
def test_clocks_that_have_nothing_in_common_do_not_lead_to_each_other(cause):
    assert tree(finding(cause, A), finding("rate-changed", B), finding("rate-changed")) == [
        cause,
        "rate-changed",
        "rate-changed",
    ]


@pytest.mark.parametrize(
    ("cause", "effects"),
    [
        (JOINED, [*JUMPED, *RATES, *MISPLACED, EXCHANGED, BELOW, "lost-incremental-state"]),
        (DISORDERED, ["trace-clock-changed-late", "timestamp-overflow", "events-far-from-trace"]),
        (MIXED, [*NOT_TAKEN, "sequence-clock-of-another-sequence"]),
        (MOVED, ["machine-not-synchronised"]),
        ("trace-truncated", ["lost-incremental-state"]),
        ("no-snapshots", LOST),
        ("trace-clock-changed-late", LOST),
        ("clock-twice-in-snapshot", [*LOST, "no-realtime"]),
        (
            "trace-clock-ran-backwards",
            ["used-after-last-snapshot", "snapshots-too-sparse", "events-reordered"],
        ),
    ],
)
def test_what_needs_no_clock_in_common(cause, effects):
    for effect in effects:
        one, other = finding(cause, A), finding(effect, B)
        for pair in ((one, other), (other, one)):
            assert tree(*pair, written=[B]) == [(cause, [effect])], effect


def test_lists_of_findings_are_nested_at_once():
    far = [finding("events-far-from-trace", clock) for clock in (A, B, C)]
    late = [finding("snapshots-late", clock) for clock in (A, B, D)]
    wraps = finding("counter-wraps", A)
    assert tree(*late, *far, wraps) == [
        "snapshots-late",
        ("events-far-from-trace", ["snapshots-late"]),
        "events-far-from-trace",
        ("counter-wraps", ["snapshots-late", "events-far-from-trace"]),
    ]


@pytest.mark.parametrize(
    ("written", "below"), [((), False), ((A,), False), ((B,), True), ((C,), True)]
)
def test_no_order_of_a_file_brings_snapshots_that_were_never_written(written, below):
    lost = finding("clock-without-snapshot", B, C)
    joined, sparse = finding(JOINED), finding("rate-changed", D)
    assert tree(lost, joined, sparse, written=written) == (
        [(JOINED, ["clock-without-snapshot", "rate-changed"])]
        if below
        else ["clock-without-snapshot", (JOINED, ["rate-changed"])]
    )
    # Of other causes that is no matter.
    assert tree(lost, finding("no-snapshots"), written=written) == [
        ("no-snapshots", ["clock-without-snapshot"])
    ]


def test_the_first_cause_that_fits_counts_and_what_it_leads_to_is_reported_once():
    """All that follows is below the root, in the order it was found."""
    step, late = finding("clock-stepped", A), finding("events-reordered", A)
    sparse = finding("snapshots-too-sparse", A)
    rate = finding("rate-not-nominal", A)
    assert tree(late, sparse, step, rate) == [
        ("rate-not-nominal", ["events-reordered", "snapshots-too-sparse", "clock-stepped"])
    ]
    assert tree(late, sparse, step) == [
        ("clock-stepped", ["events-reordered", "snapshots-too-sparse"])
    ]
    assert tree(late, sparse) == [("snapshots-too-sparse", ["events-reordered"])]
    two = finding("clock-reset", A), finding("clock-stepped", A)
    assert tree(*two, late) == [("clock-reset", ["events-reordered"]), "clock-stepped"]


def test_a_chain_of_causes_has_one_root():
    found = [
        finding("snapshots-too-sparse", A),
        finding("trace-clock-ran-backwards", B),
        finding("clock-id-collision", C),
        finding("ad-hoc-clock-id", C),
    ]
    assert tree(*found, finding(JOINED)) == [
        "ad-hoc-clock-id",
        (JOINED, ["snapshots-too-sparse", "trace-clock-ran-backwards", "clock-id-collision"]),
    ]
    assert tree(*found) == [
        ("trace-clock-ran-backwards", ["snapshots-too-sparse"]),
        ("ad-hoc-clock-id", ["clock-id-collision"]),
    ]
    sparse = [
        finding("used-after-last-snapshot", A),
        finding("snapshots-too-sparse", A),
        finding("drift-beyond-healthy", A),
    ]
    assert tree(*sparse) == [
        ("drift-beyond-healthy", ["used-after-last-snapshot", "snapshots-too-sparse"])
    ]


def test_what_is_a_cause_and_an_effect_does_not_lead_to_itself():
    assert tree(finding(BELOW, A)) == [BELOW]
    assert tree(finding("snapshots-too-sparse", A)) == ["snapshots-too-sparse"]
    assert tree(finding("trace-clock-ran-backwards", A)) == ["trace-clock-ran-backwards"]
    assert tree(finding(JOINED), finding(JOINED)) == [JOINED, JOINED]
    assert tree(finding(EXCHANGED, A), finding(BELOW, A)) == [(EXCHANGED, [BELOW])]
    assert tree() == []


def test_what_leads_to_an_error_is_one():
    found = [
        Finding("clock-stepped", "info", "", (A,)),
        Finding("snapshots-late", "error", "", (A,)),
    ]
    (told_of,) = nested(found, Survey())
    assert told_of.severity == "error"
    assert told_of.consequences == (found[1],)


def test_a_suspend_disturbs_the_clocks_that_stop():
    """What is wrong between BOOTTIME and REALTIME has another cause."""
    monotonic, boottime, realtime = (
        ClockId.parse(n) for n in ("MONOTONIC", "BOOTTIME", "REALTIME")
    )
    asleep = finding("suspend", monotonic, boottime)
    assert tree(asleep, finding("rate-changed", boottime, realtime)) == ["suspend", "rate-changed"]
    assert tree(asleep, finding("rate-changed", monotonic, realtime)) == [
        ("suspend", ["rate-changed"])
    ]
