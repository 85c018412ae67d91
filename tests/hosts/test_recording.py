"""A ping as a trace: Perfetto's rule and the tube place the other machine's events within bounds."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from simulated_network import MS, US, Network, S, pinged

from tracetime import ClockId, bake, open_trace
from tracetime.hosts.messages import own_suspended_ns
from tracetime.hosts.ping import estimate
from tracetime.hosts.recording import write_exchanges
from tracetime.hosts.rounds import Exchange, Round
from tracetime.sources.posix import boot_id

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


# No whole us, either.
delays = st.sampled_from((0, 1, 503, 20_011, 300_007, 5_000_011, 80_000_023))


@given(
    st.lists(delays, min_size=48, max_size=48),
    st.floats(-480, 480),
    st.integers(-(10**11), 10**15),
    st.sampled_from((10 * MS, S, 60 * S)),
)
def test_the_bar_of_a_file_is_no_wider_than_what_ping_says(some, drift_ppm, offset_ns, pause_ns):
    network = Network(offset_ns, drift_ppm, iter(some).__next__)
    rounds = pinged(network, 3, pause_ns).rounds
    at_ns = rounds.kept[-1].returned_ns
    said = estimate(rounds.kept, at_ns)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ping.pftrace"
        write_exchanges(path, rounds.exchanges, "worker7")
        with open_trace(path) as trace:
            found = trace.clocks.convert(
                at_ns, HERE, THERE, policy="tube", bars="guaranteed", bounds=True
            )
            estimated = trace.clocks.convert(at_ns, HERE, THERE, policy="tube", bounds=True)
    earliest, latest = found.earliest - at_ns, found.latest - at_ns
    assert said.earliest_ns <= earliest and latest <= said.latest_ns
    network.now = at_ns
    for bar in (found, estimated):
        assert bar.earliest <= network.there() <= bar.latest


def test_one_way_s_fastest_round_counts_as_well_as_the_other_s(tmp_path):
    """One round is fast there, another is fast back: the bar is both halves', 10 us each."""
    path = tmp_path / "ping.pftrace"
    there = Round(0, 10 * US, 11 * US, 400 * US)
    back = Round(500 * US, 800 * US, 801 * US, 811 * US)
    write_exchanges(
        path, [Exchange(11 * US, 450 * US, 800 * US, 811 * US, (there, back))], "worker7"
    )
    with open_trace(path) as trace:
        found = trace.clocks.convert(
            811 * US, HERE, THERE, policy="tube", bars="guaranteed", bounds=True
        )
        assert [one.orders for one in trace.clocks.orders()] == [2, 2]
    assert found.latest - found.earliest < 22 * US


@pytest.mark.parametrize("boot", [b"", bytes(16), bytes(range(16)), boot_id()])
def test_the_other_side_s_boot_is_in_the_file_unless_it_is_this_machine_s(tmp_path, boot):
    path = tmp_path / "ping.pftrace"
    write_exchanges(path, [], "worker7", boot)
    says = {0: boot_id()} if boot_id() else {}
    if any(boot) and boot != boot_id():
        says[1] = boot
    with open_trace(path) as trace:
        assert trace.boots == says


def test_a_baked_trace_has_the_rounds_of_its_source(tmp_path):
    path, out = tmp_path / "ping.pftrace", tmp_path / "baked.pftrace"
    network = Network(5 * S, 90, lambda: 20 * US)
    write_exchanges(path, pinged(network, 3, S).rounds.exchanges, "worker7", bytes(range(16)))
    with open_trace(path) as trace:
        bake(trace, out)
        with open_trace(out) as baked:
            assert baked.boots == trace.boots
            assert baked.clocks.orders() == trace.clocks.orders() != []
            at_ns = network.now
            assert baked.clocks.convert(
                at_ns, HERE, THERE, policy="tube", bounds=True
            ) == trace.clocks.convert(at_ns, HERE, THERE, policy="tube", bounds=True)


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


@pytest.mark.parametrize(
    ("said_ns", "kept"), [(7 * S, {1: 7 * S}), (-1, {}), (2**62, {}), (None, {})]
)
def test_a_file_says_how_long_both_sides_were_suspended(tmp_path, said_ns, kept):
    """The other side may say anything."""
    path = tmp_path / "ping.pftrace"
    exchanges = pinged(Network(5 * S, 0, lambda: 20 * US), 2, S).rounds.exchanges
    write_exchanges(path, exchanges, "worker7", b"B" * 16, said_ns)
    with open_trace(path) as trace:
        assert trace.suspended_ns == kept
        _, boottime, monotonic = trace.clocks._graph.shared(HERE, ClockId(3))
    (own_ns,) = boottime - monotonic
    assert abs(own_ns - own_suspended_ns()) < 100_000
