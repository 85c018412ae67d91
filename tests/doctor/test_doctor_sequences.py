"""Sequences that two writers use, and kernel clocks whose place in snapshots another one takes."""

import pytest
from building import MONOTONIC, REALTIME, event, packet, snapshot, trace
from diagnosed import every, findings
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

S = 1_000_000_000
BOOT = 6
WALL = 1_760_000_000 * S


def recorded(parts, mono=lambda t: t - 5 * S, wall=lambda t: t + WALL):
    """A recording of 20 s, with a snapshot a second; parts: what a second has."""
    every_part = []
    for k in range(20):
        at = 1000 * S + k * S
        every_part.append(
            snapshot({BOOT: at, MONOTONIC: mono(at), REALTIME: wall(at)}, 1, primary=BOOT)
        )
        every_part += parts(k, at)
    return findings(trace(*every_part))


def begun(at, seq, **more):
    """An event that says whether it is the first of its sequence."""
    return packet(at, BOOT, seq, track_event=pb.TrackEvent(type=3, track_uuid=seq), **more)


@pytest.mark.parametrize("writers", [1, 2, 3])
def test_a_sequence_that_several_writers_begin_is_told(writers):
    def parts(k, at):
        return [begun(at + 1, 7, first_packet_on_sequence=k < writers), begun(at + 2, 8)]

    found = [one for one in recorded(parts) if one.code == "sequence-reused"]
    assert [(one.severity, one.events, one.packets) for one in found] == (
        [("warning", 20, tuple(1 + 3 * k for k in range(writers)))] if writers > 1 else []
    )


def test_a_kernels_clock_that_falls_is_another_one_in_its_place():
    def mono(t):
        return t - 8 * S * (t >= 1010 * S)

    found = recorded(lambda k, at: [event(at + 1, MONOTONIC, 2)], mono)
    assert (found[0].code, found[0].severity) == ("clock-ran-backwards", "error")
    assert found[0].title == "MONOTONIC ran backwards once, by 8 s, which no kernel's does"
    assert "suspend" not in {one.code for one in found}


@pytest.mark.parametrize(
    ("by", "says"),
    [(-1, "as by a leap second"), (37, "as TAI and UTC are"), (-3600, "zone of 1 h"), (5, "")],
)
def test_a_step_of_wall_time_that_is_known_is_named(by, says):
    def wall(t):
        return t + WALL + by * S * (t >= 1010 * S)

    found = recorded(lambda k, at: [event(at + 1, MONOTONIC, 2)], wall=wall)
    (step,) = (one for one in every(found) if one.code in ("clock-stepped", "realtime-set-back"))
    assert says in step.title
    assert step.title.endswith(")") == bool(says)
