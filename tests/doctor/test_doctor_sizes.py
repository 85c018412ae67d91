"""Sizes that findings tell are those that were read: none is negative, or 0 ns."""

import re
from random import Random

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, snapshot, trace
from corpus import OWN
from diagnosed import every
from faults import START, S
from random_traces import nasty_trace
from reading import opened

from tracetime import TraceError, diagnose, open_trace


def check(trace):
    for finding in every(diagnose(trace)):
        assert not re.search(r"(by|for|up to) (-|0 )", finding.title), finding.title
        assert finding.worst_ns is None or finding.worst_ns > 0, finding


@pytest.mark.parametrize("part", range(8))
def test_traces_full_of_trouble(part):
    for seed in range(part * 40, part * 40 + 40):
        with opened(nasty_trace(Random(seed)), partial=True) as trace:
            try:
                check(trace)
            except TraceError:
                continue


@pytest.mark.parametrize("number", range(0, 40, 4))
def test_random_traces(number):
    with open_trace(OWN / "traces" / f"random_01{number:02}.pftrace", partial=True) as trace:
        check(trace)


def findings(*packets):
    with opened(trace(*packets)) as read:
        return {finding.code: finding for finding in every(diagnose(read))}


def test_a_clock_that_falls_next_to_one_that_falls_fell_by_what_was_read():
    """In other snapshots than the trace clock, which goes on."""
    read = [(0, 0), (S, S), (S - 17, S - 34), (2 * S, 2 * S)]
    packets = [snapshot({BOOTTIME: START + k * S, MONOTONIC: k * S}) for k in range(4)]
    packets += [snapshot({REALTIME: START + r, 300: START + c}) for r, c in read]
    found = findings(*packets)
    assert "by 17 ns" in found["realtime-set-back"].title
    assert found["realtime-set-back"].worst_ns == 17


def test_a_clock_that_falls_alone_fell_by_what_was_read():
    packets = [snapshot({BOOTTIME: START + k * S, REALTIME: START}) for k in range(3)]
    packets += [snapshot({MONOTONIC: START + r}) for r in (0, 5 * S, 2 * S)]
    reported = findings(*packets)["clock-ran-backwards"]
    assert "once, by 3 s" in reported.title
    assert reported.packets == (5,)
