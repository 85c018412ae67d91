"""Trouble with the clocks of files of other formats than Perfetto's: told, and only where it is."""

import pytest
from broken_files import FILES, HEALTHY, WALL_US, document, judge, slices
from building import packet, snapshot, trace
from diagnosed import findings
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

S = 1_000_000_000


@pytest.mark.parametrize("size", [12, 60])
@pytest.mark.parametrize("name", FILES)
def test_the_first_finding_names_the_trouble(name, size):
    verdict, says = judge(name, size)
    assert verdict == "right", says


@pytest.mark.parametrize("size", [3, 12, 60])
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_file_has_no_finding(name, size):
    verdict, says = judge(name, size)
    assert verdict == "silent", says


def test_times_at_0_are_no_cause_of_one_that_overflows():
    odd = {"ph": "X", "name": "copy", "pid": 5, "tid": 0, "dur": 3}
    made = document([*slices(50, WALL_US), *[odd | {"ts": 0}] * 3, odd | {"ts": 3 * 10**17}])
    found = {one.code: one for one in findings(made)}
    assert found["timestamp-overflow"].events == 1
    assert found["odd-times"].consequences == ()


def flows(later_ns, n=30):
    """A trace of flows from one sequence to another, whose clock is ahead by so much less 1 us."""
    parts = [snapshot({6: S}, 1, primary=6)]
    for k in range(n):
        at = 10 * S + 1000 * k
        for seq, time, ids in (
            (2, at, {"flow_ids": [k + 1]}),
            (3, at + 1000 + later_ns, {"terminating_flow_ids": [k + 1]}),
        ):
            event = pb.TrackEvent(type=3, track_uuid=seq, **ids)
            parts.append(packet(time, None, seq, track_event=event))
    return trace(*parts)


@settings(max_examples=10)
@given(st.integers(-3 * S, 3 * S))
def test_flows_of_packets_that_end_before_they_begin_are_told(later_ns):
    found = [one for one in findings(flows(later_ns)) if one.code == "effect-before-cause"]
    assert bool(found) == (later_ns < -1000)
    if found:
        assert (found[0].events, found[0].worst_ns) == (60, -1000 - later_ns)


def test_an_id_that_is_used_again_is_no_flow_that_runs_back():
    parts = [snapshot({6: S}, 1, primary=6)]
    for k in range(40):
        ids = {"terminating_flow_ids" if k % 2 == 0 else "flow_ids": [7]}
        event = pb.TrackEvent(type=3, track_uuid=2, **ids)
        parts.append(packet(10 * S + k, None, 2, track_event=event))
    assert findings(trace(*parts))[0].code == "no-realtime"
