"""A ping as a trace: Perfetto's rule and the tube place the other machine's events within bounds."""

from random import Random

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from simulated_network import MS, US, Network, S, pinged

from tracetime import ClockId, open_trace
from tracetime.hosts.recording import write_exchanges
from tracetime.hosts.rounds import Exchange

HERE, THERE = ClockId(6), ClockId(6, machine=1)


@pytest.mark.parametrize("pause_ns", [10 * MS, 100 * MS, S, 10 * S, 60 * S])
@pytest.mark.parametrize("drift_ppm", [0, 90, -300])
def test_both_policies_hold_the_truth_at_every_interval(tmp_path, pause_ns, drift_ppm):
    random = Random(pause_ns + drift_ppm)
    network = Network(5 * S, drift_ppm, lambda: 20 * US + int(random.expovariate(1 / (30 * US))))
    exchanges = pinged(network, 12, pause_ns).rounds.exchanges
    assert len(exchanges) == 12
    path = tmp_path / "ping.pftrace"
    write_exchanges(path, exchanges, "worker7")
    span = np.array([made.span_ns for made in exchanges])
    # Soon after each exchange: floor uses the last one before.
    there = np.array([made.c2_ns for made in exchanges]) + span
    here = np.array([network.here_at(int(ns)) for ns in there])
    with open_trace(path) as trace:
        floor = trace.clocks.convert(there, THERE, HERE)
        tube = trace.clocks.convert(there, THERE, HERE, policy="tube", bounds=True)
    drifted = abs(drift_ppm) * 2 * span // 10**6 + 2
    assert np.all(np.abs(floor - here) <= span // 4 + drifted)
    assert np.all((tube.earliest <= here) & (here <= tube.latest))
    assert np.all(tube.latest - tube.earliest <= 2 * span + 1000)


def test_each_exchange_is_a_packet_of_two_rounds(tmp_path):
    path = tmp_path / "ping.pftrace"
    write_exchanges(path, [Exchange(10, 1010, 30, 1040), Exchange(110, 1110, 130, 1140)], "w")
    read = pb.Trace.FromString(path.read_bytes())
    syncs = [p for p in read.packet if p.HasField("remote_clock_sync")]
    assert [p.machine_id for p in syncs] == [1, 1]
    assert [
        [
            (one.client_clocks.clocks[0].timestamp, one.host_clocks.clocks[0].timestamp)
            for one in p.remote_clock_sync.synced_clocks
        ]
        for p in syncs
    ] == [[(10, 1010), (30, 1040)], [(110, 1110), (130, 1140)]]
