"""Orders of real machines: the packets of an scp, against what Trace Compass expects of them."""

import numpy as np
import pytest
from corpus import NO_DATA
from scp import DESTINATION, MATCHES, SOURCE, expected, packets

from tracetime import ClockDomain, ClockGraph, match_messages

pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason=NO_DATA)

SRC = "com.example.source"
DST = "com.example.destination"
KEY = ("seq", "ack_seq", "flags")


def matched(*key):
    """(sent, received) of the packets there and of those back."""
    found = []
    for one, other in ((SOURCE, DESTINATION), (DESTINATION, SOURCE)):
        sent, received = packets(one, "out"), packets(other, "in")
        match = match_messages(sent.keys(*key), received.keys(*key))
        found.append((sent.ns[match.sent], received.ns[match.received]))
    return found


@pytest.fixture(scope="module")
def exchanged():
    return matched(*KEY)


@pytest.fixture(scope="module")
def graph(exchanged):
    # 133 ppm between the two.
    clocks = [ClockDomain(name, max_drift_ppm=66.66, oscillator=name) for name in (SRC, DST)]
    made = ClockGraph(domains=clocks)
    (sent, received), (replied, returned) = exchanged
    made.add_order(before=(sent, SRC), after=(received, DST))
    made.add_order(before=(replied, DST), after=(returned, SRC))
    return made


@pytest.fixture(scope="module")
def times(exchanged):
    """The source's readings at every message, ascending."""
    (sent, _), (_, returned) = exchanged
    return np.sort(np.concatenate([sent, returned]))


def test_as_many_packets_match_as_trace_compass_expects(exchanged):
    (sent, _), (replied, _) = exchanged
    assert (len(sent), len(replied)) == (24, 22)
    assert len(sent) + len(replied) == MATCHES


def test_with_the_checksum_fewer_do():
    (sent, _), (replied, _) = matched(*KEY, "check")
    assert len(sent) + len(replied) == 30


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_the_transform_of_trace_compass_is_inside_the_bar_at_every_message(graph, times, bars):
    bar = graph.convert(times, SRC, DST, policy="tube", bars=bars, bounds=True)
    line = expected(times)
    assert (bar.earliest <= line).all()
    assert (line <= bar.latest).all()


def test_in_the_middle_of_the_messages_the_bar_is_half_of_a_round_trip(graph, times):
    t = int(times[0]) + 60_000_000
    bar = graph.convert(t, SRC, DST, policy="tube", bars="guaranteed", bounds=True)
    assert abs((bar.earliest + bar.latest) // 2 - t + 80_565_482) <= 2
    assert abs((bar.latest - bar.earliest) // 2 - 142_123) <= 10
    assert abs(bar.estimate - int(expected(np.array([t]))[0])) < 5_000


def test_the_packets_alone_allow_any_drift_of_two_thousand_ppm(graph, times):
    said = graph.explain(int(times[0]) + 60_000_000, SRC, DST, policy="tube")
    low, high, wander = said.steps[0].rates
    assert (round(low), round(high), wander) == (-2_739, 2_637, 0)
    assert str(said).endswith(
        f"rate of {DST} against {SRC} by orders alone: -2,739 to +2,637 ppm; the drift limits bind"
    )


def test_no_order_of_them_is_wrong(graph):
    assert graph.discontinuities() == []
