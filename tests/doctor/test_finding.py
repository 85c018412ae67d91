"""What a finding says of itself: in JSON, with what follows from it, in order, in a sentence."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import permutations

import pytest

import tracetime as tt
from fuzz import costly
from tracetime import ClockId, Finding
from tracetime.doctor.finding import SEVERITIES, first_packets, in_order, names, rank

A, B, C = ClockId(1), ClockId(3), ClockId(64, 7)


def test_of_a_finding_only_the_first_three_have_to_be_said():
    found = Finding("code", "info", "title")
    assert found.to_dict() == {
        "code": "code",
        "severity": "info",
        "title": "title",
        "clocks": [],
        "packets": [],
        "events": 0,
        "worst_ns": None,
        "why": "",
        "fix": "",
        "consequences": [],
    }


def test_a_finding_of_a_trace_has_what_is_documented_and_nothing_else(tmp_path):
    path = tmp_path / "chain.pftrace"
    path.write_bytes(b"".join(costly.chain(60)))
    public = {"code", "severity", "clocks", "packets", "events", "worst_ns", "title", "why", "fix"}
    public |= {"consequences", "selections"}
    with tt.open_trace(path) as trace:
        found = tt.diagnose(trace)
    assert any("findings alike" in one.title for one in found)
    for one in in_order(found):
        assert type(one) is Finding
        assert set(asdict(one)) == public
        # Plain values, each there once the finding is: threads share them, type checkers know them.
        assert all(object.__getattribute__(one, name) is getattr(one, name) for name in public)
    methods = {"to_dict", "with_names", "leading_to"}
    assert {name for name in dir(Finding) if not name.startswith("_")} == public | methods
    assert "__getattr__" not in dir(Finding)


def test_a_finding_in_json():
    below = Finding("below", "warning", "t", (B,), (1,), 2, 3, "w", "f")
    found = Finding("code", "error", "title", (A, C), (5, 9), 77, 123, "why.", "fix.", (below,))
    expected = found.to_dict()
    assert expected == {
        "code": "code",
        "severity": "error",
        "title": "title",
        "clocks": ["REALTIME", "64@seq7"],
        "packets": [5, 9],
        "events": 77,
        "worst_ns": 123,
        "why": "why.",
        "fix": "fix.",
        "consequences": [
            {
                "code": "below",
                "severity": "warning",
                "title": "t",
                "clocks": ["MONOTONIC"],
                "packets": [1],
                "events": 2,
                "worst_ns": 3,
                "why": "w",
                "fix": "f",
                "consequences": [],
            }
        ],
    }
    assert json.loads(json.dumps(expected)) == expected


@pytest.mark.parametrize("severities", [*permutations(SEVERITIES), *((s,) * 3 for s in SEVERITIES)])
def test_a_finding_is_no_less_severe_than_what_follows_from_it(severities):
    own, first, second = (Finding(s, s, s) for s in severities)
    found = own.leading_to(first).leading_to(second)
    assert found == own.leading_to(first, second)
    assert found.consequences == (first, second)
    assert found.severity == next(s for s in SEVERITIES if s in severities)
    assert (found.code, found.title) == (own.code, own.title)
    assert own.leading_to() == own


def test_the_worst_findings_come_first():
    """By severity, then events, then time, then code, then clocks."""
    in_order = [
        Finding("z", "error", "", events=2),
        Finding("b", "error", "", events=1, worst_ns=9),
        Finding("a", "error", "", events=1, worst_ns=8),
        Finding("c", "error", "", events=1, worst_ns=8, clocks=(A,)),
        Finding("c", "error", "", events=1, worst_ns=8, clocks=(B,)),
        Finding("a", "error", "", events=1),
        Finding("b", "error", "", events=1, worst_ns=0),
        Finding("a", "warning", "", events=100, worst_ns=100),
        Finding("a", "info", "", events=1000, worst_ns=1000),
        Finding("no-snapshots", "info", "", events=5000),
    ]
    assert sorted(in_order, key=rank) == in_order
    as_reversed = in_order[::-1]
    assert sorted(as_reversed, key=rank) == in_order
    assert rank(Finding("c", "warning", "", (A,), (), 5, 7)) == (1, False, -5, -7, "c", [A.order()])
    assert rank(Finding("c", "info", "", (), (), 5)) == (2, False, -5, 0, "c", [])


def test_the_first_ten_packets_are_named_each_once():
    assert first_packets([]) == ()
    assert first_packets([7, 3, 7, 5, 3]) == (3, 5, 7)
    assert first_packets(range(30, 0, -2)) == (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    assert first_packets(iter([9] * 50)) == (9,)
    assert all(type(one) is int for one in first_packets(__import__("numpy").arange(3)))


@pytest.mark.parametrize(
    ("n", "most", "expected"),
    [
        (1, 4, "REALTIME"),
        (2, 4, "REALTIME and REALTIME_COARSE"),
        (3, 4, "REALTIME, REALTIME_COARSE and MONOTONIC"),
        (4, 4, "REALTIME, REALTIME_COARSE, MONOTONIC and MONOTONIC_COARSE"),
        (5, 4, "REALTIME, REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE and 1 more"),
        (6, 4, "REALTIME, REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE and 2 more"),
        (1, 1, "REALTIME"),
        (2, 1, "REALTIME and 1 more"),
        (5, 1, "REALTIME and 4 more"),
    ],
)
def test_clocks_in_a_sentence(n, most, expected):
    clocks = [ClockId(number) for number in range(1, n + 1)]
    assert names(clocks, most) == expected
    assert names(dict.fromkeys(clocks), most) == expected
    if most == 4:
        assert names(clocks) == expected
