"""A trace clock that became another machine's: when that is reported, and how far off it is."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tracetime import ClockId, ConversionError, Finding
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.doctor.catalogue import CATALOGUE, told
from tracetime.doctor.machines import moved
from tracetime.trace.facts import TraceClockMove

HOST, SECOND, THIRD = (ClockId(6, machine=k) for k in range(3))
FILE = ClockId(BUILTIN_IDS["TRACE_FILE"], machine=1)
S = 1_000_000_000
WHY = (
    "The snapshots of a machine make its own clock the trace clock until the machine has an event. "
    "Events converted before that keep their time on the earlier trace clock."
)


class Survey:
    """Replaces a survey: what was counted, and which clocks convert to trace time, by how much."""

    def __init__(self, moves: list[TraceClockMove], **more: Any) -> None:
        given = {"events": 0, "stray": 0, "own": 0, "now": SECOND, "ahead": {}, "beyond": 0} | more
        self.trace = SimpleNamespace(
            trace_clock_moves=moves,
            n_stray_syncs=given["stray"],
            n_own_syncs=given["own"],
            clocks=self,
        )
        self.trace_clock, self.tolerance_ns = given["now"], given.get("tolerance_ns", 1_000_000)
        self.given = given
        self.asked: list[Any] = []
        ahead = given["ahead"]
        self.infos = {c: SimpleNamespace(first_ns=5 * S, last_ns=9 * S) for c in ahead}

    def count_placed(self, spans: Any) -> int:
        self.asked += spans
        return self.given["events"]

    def of_machines_not_in(self, machines: set[int]) -> list[int]:
        assert machines == {0, 1, 2} - self.given.get("untied", set())
        return [0] * self.given["beyond"]

    def convert(self, times: Any, clock: ClockId, target: ClockId, errors: str) -> Any:
        assert (target, errors) == (self.trace_clock, "mask")
        assert times.tolist() == [5 * S, 9 * S]
        by = self.given["ahead"][clock]
        if by is None:
            raise ConversionError("no path", "no_path")
        # What is 99 s ahead has no place there.
        there = [None if d == 99 * S else at + d for at, d in zip(times.tolist(), by, strict=True)]
        return pa.array(there, pa.int64())


@pytest.fixture(autouse=True)
def tied(monkeypatch):
    monkeypatch.setattr(
        sys.modules["tracetime.doctor.machines"],
        "tied_machines",
        lambda survey: {0, 1, 2} - survey.given.get("untied", set()),
    )


def late(packet: int, before: ClockId = HOST) -> TraceClockMove:
    return TraceClockMove(packet, before, True)


EARLY = TraceClockMove(3, HOST, False)


def reported(*moves: TraceClockMove, **more: Any) -> list[Finding]:
    return [*map(told, moved(Survey(list(moves), **more)))]


@pytest.mark.parametrize(
    ("moves", "more", "is_reported"),
    [
        ([], {}, False),
        ([EARLY], {}, False),
        ([late(9)], {}, False),
        ([EARLY], {"events": 4}, False),
        ([late(9)], {"events": 1}, True),
        ([EARLY], {"stray": 1}, True),
        ([EARLY], {"stray": 2, "own": 1}, True),
        ([EARLY], {"stray": 2, "own": 2}, False),
        ([EARLY], {"stray": 2, "own": 2, "beyond": 1}, True),
        ([EARLY], {"stray": 2, "own": 2, "beyond": 1, "untied": {2}}, True),
        ([late(9)], {"events": 1, "stray": 2, "own": 2}, True),
    ],
)
def test_when_a_changed_trace_clock_is_reported(moves, more, is_reported):
    assert bool(reported(*moves, **more)) == is_reported


def test_events_before_the_last_late_move_were_placed_by_the_clock_from_before():
    survey = Survey([late(5), late(9), TraceClockMove(12, HOST, False)], events=3)
    assert len(list(moved(survey))) == 1
    assert survey.asked == [(0, 8)]


def test_one_move():
    assert reported(late(9), events=1) == [
        Finding(
            code="trace-clock-moved",
            severity="warning",
            title="the trace clock changed from BOOTTIME to BOOTTIME@machine1: 1 event converted "
            "to an earlier trace clock",
            clocks=(HOST, SECOND),
            packets=(9,),
            events=1,
            why=WHY,
            fix=CATALOGUE["trace-clock-moved"].fix,
        )
    ]


def test_several_moves():
    (found,) = reported(late(9), late(4, SECOND), late(11, THIRD), late(12), events=2)
    assert found.title == (
        "the trace clock changed 4 times, from BOOTTIME to BOOTTIME@machine1 in the end: 2 events "
        "converted to an earlier trace clock"
    )
    assert found.clocks == (HOST, THIRD, SECOND)
    assert found.packets == (4, 9, 11, 12)
    assert "1,001 times" in reported(*[late(9)] * 1001, events=2)[0].title


@pytest.mark.parametrize(
    ("stray", "readings"),
    [(1, "1 RemoteClockSync reading of"), (2, "2 RemoteClockSync readings of")],
)
def test_messages_that_were_taken_for_those_of_another_machine(stray, readings):
    (found,) = reported(EARLY, stray=stray)
    assert (found.severity, found.events, found.clocks) == ("warning", 0, (SECOND,))
    assert found.title == "the trace clock changed from BOOTTIME to BOOTTIME@machine1"
    assert found.why.startswith(
        f"{WHY} Perfetto takes {readings} the host for those of machine 1: "
    )


@pytest.mark.parametrize(
    ("ahead", "worst_ns"),
    [
        ({HOST: (7 * S, 8 * S)}, 8 * S),
        ({HOST: (-9 * S, 8 * S)}, 9 * S),
        ({HOST: (7 * S, 99 * S)}, 7 * S),
        ({HOST: (0, 0)}, 0),
        ({HOST: None}, None),
        ({}, None),
        ({HOST: None, THIRD: (3, 4)}, 4),
        ({THIRD: (3, 4)}, 4),
        ({HOST: (7, 7), THIRD: (3, 4)}, 7),
    ],
)
def test_how_far_what_was_placed_before_is_off(ahead, worst_ns):
    (found,) = reported(late(5), late(6, SECOND), late(9, THIRD), events=3, ahead=ahead)
    assert found.worst_ns == worst_ns
    assert found.severity == ("error" if (worst_ns or 0) > 1_000_000 else "warning")
    off = "to an earlier trace clock" if worst_ns is None else "off by up to "
    assert off in found.title


@pytest.mark.parametrize(
    ("by", "events", "severity"),
    [(500, 3, "warning"), (501, 3, "error"), (501, 0, "warning")],
)
def test_it_is_an_error_where_events_are_off_by_more_than_the_tolerance(by, events, severity):
    (found,) = reported(late(9), events=events, stray=1, ahead={HOST: (by, 0)}, tolerance_ns=500)
    assert (found.severity, found.worst_ns) == (severity, by)


def test_clocks_of_machines_that_nothing_ties_and_of_the_file_show_nothing():
    ahead = {HOST: (7, 7), FILE: (9, 9)}
    (found,) = reported(late(5), late(6, FILE), events=1, ahead=ahead)
    assert found.worst_ns == 7
    (found,) = reported(late(5), late(6, FILE), events=1, ahead=ahead, untied={0})
    assert (found.worst_ns, found.clocks) == (None, (HOST, FILE, SECOND))
