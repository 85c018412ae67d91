"""Short counters in several kinds of snapshots: one count for all of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from building import event, snapshot, trace
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import opened

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError

S = 1_000_000_000
GPU, NIC, THIRD = 0x8A01B2C3, 0x8A01B2C4, 0x8A01B2C5
BOOTTIME, MONOTONIC, TSC = 6, 3, 9


def gpu(t, tick=1, start=3 * S):
    since = np.asarray(t) - 1000 * S
    return (since + since // 50_000 + start) // tick


def nic(t):
    return np.asarray(t) - 500 * S + np.asarray(t) // 50_000


READ = {
    "BOOTTIME": np.asarray, "MONOTONIC": lambda t: np.asarray(t) - 40 * S, NIC: nic,
    THIRD: lambda t: np.asarray(t) + 7 * S, "TSC": lambda t: np.asarray(t) * 5 // 2, GPU: gpu,
}  # fmt: skip


def declared(bits=32, tick=1):
    return [ClockDomain(ClockId(GPU), ns_per_tick=tick, valid_bits=bits, max_drift_ppm=100)]


def graph_of(*kinds, bits=32):
    """kinds: (times, clocks); snapshots are added kind by kind, or by time where all are one."""
    graph = ClockGraph("BOOTTIME", domains=declared(bits))
    for times, clocks in kinds:
        for t in np.atleast_1d(times).tolist():
            readings = {clock: int(READ[clock](t)) for clock in clocks}
            graph.add_snapshot(
                readings | {GPU: readings[GPU] % (1 << bits)} if GPU in clocks else readings
            )
    return graph


def in_time(*kinds):
    rows = [(t, clocks) for times, clocks in kinds for t in times.tolist()]
    return sorted(rows, key=lambda row: row[0])


def holds(graph, times, source, target, **options):
    found = graph.convert(
        np.asarray(READ[source](times)), source, target, policy="tube", bounds=True, **options
    )
    truth = READ[target](times)
    assert (found.earliest <= truth).all()
    assert (truth <= found.latest).all()
    return found


START = 1000 * S
EVERY_S = START + np.arange(60) * S


def test_a_clock_that_only_a_counter_ties_is_reached_over_it():
    """Each second {BOOTTIME, GPU}, and between them {NIC, GPU}; the GPU wraps every 4.3 s."""
    graph = graph_of(*in_time((EVERY_S, ("BOOTTIME", GPU)), (EVERY_S + S // 3, (NIC, GPU))))
    times = EVERY_S[2:-2] + 123_456_789
    for bars in ("estimated", "guaranteed"):
        holds(graph, times, NIC, "BOOTTIME", bars=bars)
        holds(graph, times, "BOOTTIME", NIC, bars=bars)


def test_its_events_are_placed_in_a_trace():
    """They were null, or every conversion ended in an error."""
    packets = []
    for t in EVERY_S.tolist():
        packets.append(snapshot({BOOTTIME: t, GPU: int(gpu(t)) % (1 << 32)}))
        later = t + S // 3
        packets.append(snapshot({NIC: int(nic(later)), GPU: int(gpu(later)) % (1 << 32)}))
        packets.append(event(int(nic(t + S // 2)), NIC))
        packets.append(event(int(gpu(t + S // 2)) % (1 << 32), GPU))
    with opened(trace(*packets), domains=declared()) as read:
        table = read.read_all("tube")
    rows = table.to_pylist()
    truth = np.repeat(EVERY_S + S // 2, 2)
    assert {row["status"] for row in rows} == {"resolved"}
    low, high = (np.array([row[side] for row in rows]) for side in ("earliest", "latest"))
    assert ((low <= truth) & (truth <= high)).all()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_where_time_is_known_the_order_of_adding_is_of_no_matter(order):
    """MONOTONIC is also tied to BOOTTIME: the number of wraps of the GPU follows from that."""
    kinds = [
        (EVERY_S, ("BOOTTIME", GPU)),
        (EVERY_S + S // 3, ("MONOTONIC", GPU)),
        (EVERY_S[::10], ("BOOTTIME", "MONOTONIC")),
    ]
    graph = graph_of(*(kinds[k] for k in order))
    times = EVERY_S[2:-2] + 123_456_789
    found = graph.convert(
        gpu(times) % (1 << 32),
        GPU,
        "MONOTONIC",
        policy="tube",
        bounds=True,
        near=(times, "BOOTTIME"),
    )
    truth = READ["MONOTONIC"](times)
    assert ((found.earliest <= truth) & (truth <= found.latest)).all()
    # One count: what the tubes over either clock say of a reading agrees.
    assert graph.inconsistencies() == []


@pytest.mark.parametrize("home", [slice(30, None), slice(25)])
def test_snapshots_before_and_after_those_that_count_are_counted_by_the_time_between(home):
    """Several wraps away from any {BOOTTIME, GPU}, on either side; the tube knows how far."""
    there = slice(15) if home.start else slice(40, None)
    graph = graph_of(
        (EVERY_S[home], ("BOOTTIME", GPU)),
        (EVERY_S[there] + S // 3, ("MONOTONIC", GPU)),
        (EVERY_S[::10], ("BOOTTIME", "MONOTONIC")),
    )
    times = EVERY_S[there][2:-2]
    found = graph.convert(
        gpu(times) % (1 << 32),
        GPU,
        "MONOTONIC",
        policy="tube",
        bounds=True,
        near=(times, "BOOTTIME"),
        bars="guaranteed",
    )
    truth = READ["MONOTONIC"](times)
    assert ((found.earliest <= truth) & (truth <= found.latest)).all()
    # By snapshots each second, not by those seconds away.
    assert (found.latest - found.earliest).max() < 1_500_000
    assert graph.inconsistencies() == []


def test_a_snapshot_of_all_three_ties_them_whatever_the_order():
    together = (EVERY_S[30:31] + S // 2, ("BOOTTIME", NIC, GPU))
    for first in (0, 1):
        kinds = [(EVERY_S[:30], ("BOOTTIME", GPU)), (EVERY_S[30:] + S // 3, (NIC, GPU))]
        graph = graph_of(*kinds[first:], *kinds[:first], together)
        holds(graph, EVERY_S[31:50], NIC, "BOOTTIME", bars="guaranteed")


def test_three_kinds_of_which_one_ties_the_others():
    graph = graph_of(
        *in_time(
            (EVERY_S[:20], ("BOOTTIME", GPU)),
            (EVERY_S[10:40] + S // 3, (NIC, GPU)),
            (EVERY_S[30:] + S // 2, (THIRD, GPU)),
        )
    )
    holds(graph, EVERY_S[30:50], THIRD, "BOOTTIME", bars="guaranteed")


def test_snapshots_too_sparse_for_themselves_are_counted_by_the_others():
    """{BOOTTIME, GPU} every minute, which wraps 14 times; {NIC, GPU} each second."""
    graph = graph_of(*in_time((EVERY_S, (NIC, GPU)), (EVERY_S[::20] + S // 3, ("BOOTTIME", GPU))))
    graph.declare(ClockDomain("BOOTTIME", max_drift_ppm=32_000))
    holds(graph, EVERY_S[2:40], NIC, "BOOTTIME", bars="guaranteed")


def test_with_a_clock_whose_rate_is_unknown():
    graph = graph_of(*in_time((EVERY_S, ("BOOTTIME", GPU)), (EVERY_S + S // 3, ("TSC", GPU))))
    times = EVERY_S[2:-2]
    found = graph.convert(READ["TSC"](times), "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert ((found.earliest <= times) & (times <= found.latest)).all()
    assert np.abs(found.estimate - times).max() <= 2_000


def test_a_counter_that_was_reset_is_counted_in_both_kinds():
    """At the 30th second it begins at 0 again."""
    reset = START + 30 * S - S // 2

    def count(t):
        return int(gpu(t)) if t < reset else t - reset

    graph = ClockGraph("BOOTTIME", domains=declared())
    for t in EVERY_S.tolist():
        graph.add_snapshot({"BOOTTIME": t, GPU: count(t) % (1 << 32)})
        graph.add_snapshot({NIC: int(nic(t + S // 3)), GPU: count(t + S // 3) % (1 << 32)})
    times = np.concatenate([EVERY_S[2:25], EVERY_S[35:58]])
    found = graph.convert(nic(times), NIC, "BOOTTIME", policy="tube", bounds=True, errors="mask")
    low, high = (np.asarray(side) for side in found[1:])
    assert ((low <= times) & (times <= high)).all()


def test_an_open_number_of_wraps_is_refused():
    """Long after the last {BOOTTIME, GPU}: the number of wraps in between is unknown."""
    graph = graph_of((EVERY_S[:20], ("BOOTTIME", GPU)), (EVERY_S[40:], (NIC, GPU)))
    with pytest.raises(ConversionError, match="take a snapshot that has .* together") as error:
        graph.convert(int(nic(EVERY_S[45])), NIC, "BOOTTIME", policy="tube")
    assert error.value.reason == "ambiguous_source"
    holds(graph, EVERY_S[2:10] + 5, "BOOTTIME", GPU)


@settings(max_examples=60)
@given(
    st.integers(24, 40),
    st.integers(1, 50),
    st.integers(0, 2**41),
    st.integers(50, 2_000),
    st.integers(1, 999),
    st.booleans(),
)
def test_whatever_the_counter_one_count_is_found_or_none(bits, tick, start, share, phase, mixed):
    """Snapshots are a part of a wrap apart; bars hold the truth, or there are none."""
    wrap_ns = tick << bits
    every = max(wrap_ns * share // 1000 // 2, 1000)
    times = START + np.arange(40) * every
    other = times + every * phase // 1000 + 1
    graph = ClockGraph("BOOTTIME", domains=declared(bits, Fraction(tick)))
    rows = [(t, "BOOTTIME") for t in times.tolist()] + [(t, NIC) for t in other.tolist()]
    for t, clock in sorted(rows) if mixed else rows:
        graph.add_snapshot(
            {clock: int(READ[clock](t)), GPU: int(gpu(t, tick, start)) % (1 << bits)}
        )
    middle = times[3:-3] + every // 7
    try:
        found = graph.convert(
            nic(middle), NIC, "BOOTTIME", policy="tube", bounds=True, bars="guaranteed"
        )
    except ConversionError as error:
        assert error.reason in ("ambiguous_source", "overflow")
        return
    assert ((found.earliest <= middle) & (middle <= found.latest)).all()
