"""Flows between machines as orders: their direction, and what has none."""

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, packet, snapshot, trace
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from reading import opened

from tracetime import ClockId, UsageError, open_trace

S = 10**9
HERE, THERE = ClockId(BOOTTIME), ClockId(BOOTTIME, machine=1)
FAR = 5


def event(ts, machine=None, clock=BOOTTIME, legacy=None, **flows):
    """An instant; `legacy` is (bind_id, FlowDirection)."""
    made = pb.TrackEvent(type=pb.TrackEvent.TYPE_INSTANT, name="x", **flows)
    if legacy is not None:
        made.legacy_event.bind_id, made.legacy_event.flow_direction = legacy
    return packet(ts, clock, 1 if machine is None else 2, machine=machine, track_event=made)


def of_two_machines(*events):
    return trace(
        snapshot({BOOTTIME: 10 * S, MONOTONIC: 10 * S}, 1),
        snapshot({BOOTTIME: 900 * S, MONOTONIC: 800 * S}, 2, machine=FAR),
        *events,
    )


def flows_of(*events):
    """The counts, and the readings of both ends of orders, by (before, after)."""
    with opened(of_two_machines(*events), orders="flows") as read:
        counts = read.flows
        orders = read.clocks._graph.state.orders
        found = {}
        for info in read.clocks.orders():
            of = orders.of(info.before, info.after)
            ours = of.one_first
            ends = list(zip(of.one_ts[ours].tolist(), of.other_ts[ours].tolist(), strict=True))
            found[info.before, info.after] = ends
        return counts, found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"flow_ids": [7]}, {"terminating_flow_ids": [7]}),
        ({"flow_ids_old": [7]}, {"terminating_flow_ids_old": [7]}),
        ({"legacy": (7, 2)}, {"legacy": (7, 1)}),
        ({"legacy": (7, 2)}, {"terminating_flow_ids": [7]}),
    ],
)
def test_the_beginning_of_a_flow_is_before_its_end(first, second):
    counts, found = flows_of(event(11 * S, **first), event(901 * S, FAR, **second))
    assert counts == (1, 0, 1, 0)
    assert found == {(HERE, THERE): [(11 * S, 901 * S)]}
    # The order in the file says nothing.
    counts, found = flows_of(event(901 * S, FAR, **second), event(11 * S, **first))
    assert found == {(HERE, THERE): [(11 * S, 901 * S)]}
    counts, found = flows_of(event(901 * S, FAR, **first), event(11 * S, **second))
    assert found == {(THERE, HERE): [(901 * S, 11 * S)]}


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        ([{"flow_ids": [7]}, {"flow_ids": [7]}], "both pass"),
        ([{"legacy": (7, 2)}, {"legacy": (7, 2)}], "both begin"),
        ([{"terminating_flow_ids": [7]}, {"terminating_flow_ids": [7]}], "both end"),
        ([{"legacy": (7, 1)}, {"legacy": (7, 1)}], "both end"),
        ([{"legacy": (7, 2)}, {"legacy": (7, 3)}], "nothing ends"),
        ([{"legacy": (7, 3)}, {"legacy": (7, 1)}], "nothing begins"),
        ([{"legacy": (7, 2)}, {"flow_ids": [7]}], "nothing ends"),
    ],
)
def test_without_a_direction_there_is_no_order(flows, why):
    one, other = flows
    counts, found = flows_of(event(11 * S, **one), event(901 * S, FAR, **other))
    assert counts == (1, 1, 0, 0), why
    assert found == {}


def test_an_id_used_for_two_flows_is_none():
    counts, found = flows_of(
        *(event((11 + k) * S, flow_ids=[7]) for k in range(2)),
        *(event((901 + k) * S, FAR, terminating_flow_ids=[7]) for k in range(2)),
        event(13 * S, legacy=(8, 2)),
        event(14 * S, legacy=(8, 2)),
        event(904 * S, FAR, legacy=(8, 1)),
    )
    assert counts == (2, 2, 0, 0)
    assert found == {}


def test_a_legacy_id_that_ends_twice_is_of_two_flows():
    counts, found = flows_of(
        event(11 * S, legacy=(7, 2)),
        event(901 * S, FAR, legacy=(7, 1)),
        event(902 * S, FAR, legacy=(7, 1)),
    )
    assert counts == (1, 1, 0, 0)
    assert found == {}


def test_an_id_that_goes_on_after_its_end_is_used_again():
    counts, found = flows_of(
        event(11 * S, flow_ids=[7]),
        event(901 * S, FAR, terminating_flow_ids=[7]),
        event(903 * S, FAR, flow_ids=[7]),
    )
    assert counts == (1, 1, 0, 0)
    assert found == {}


def test_a_flow_over_three_events():
    """Sent here, passed on there, ended here: there and back."""
    counts, found = flows_of(
        event(11 * S, legacy=(7, 2)),
        event(901 * S, FAR, legacy=(7, 3)),
        event(12 * S, legacy=(7, 1)),
    )
    assert counts == (1, 0, 2, 0)
    assert found == {(HERE, THERE): [(11 * S, 901 * S)], (THERE, HERE): [(901 * S, 12 * S)]}


def test_flows_within_a_machine_are_no_orders():
    assert flows_of(event(11 * S, flow_ids=[7]), event(12 * S, terminating_flow_ids=[7])) == (
        (0, 0, 0, 0),
        {},
    )


def test_orders_are_of_the_clocks_of_the_events():
    counts, found = flows_of(
        event(11 * S, clock=MONOTONIC, flow_ids=[7, 9]),
        event(901 * S, FAR, terminating_flow_ids=[7]),
        event(801 * S, FAR, MONOTONIC, terminating_flow_ids=[9]),
    )
    ours = ClockId(MONOTONIC)
    assert counts == (2, 0, 2, 0)
    assert found == {
        (ours, ClockId(MONOTONIC, machine=1)): [(11 * S, 801 * S)],
        (ours, THERE): [(11 * S, 901 * S)],
    }


def test_packed_ids():
    ids = [3, 2**63 + 5]
    for name in ("flow_ids", "flow_ids_old"):
        for packed in (True, False):
            number = {"flow_ids": 47, "flow_ids_old": 36}[name]
            raw = pb.TrackEvent(type=pb.TrackEvent.TYPE_INSTANT, name="x").SerializeToString()
            raw += encoded(number, ids, packed)
            first = packet(11 * S, BOOTTIME, 1)
            first.track_event.MergeFromString(raw)
            second = event(901 * S, FAR, terminating_flow_ids=ids)
            assert flows_of(first, second)[0] == (2, 0, 2, 0), (name, packed)


def encoded(number, ids, packed):
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    values = [n.to_bytes(8, "little") if number == 47 else varint(n) for n in ids]
    if packed:
        joined = b"".join(values)
        return varint(number << 3 | 2) + varint(len(joined)) + joined
    wire = 1 if number == 47 else 0
    return b"".join(varint(number << 3 | wire) + value for value in values)


def test_thousands_of_flows_and_batches():
    n = 40_000
    rng = np.random.default_rng(1)
    there = rng.integers(0, 2, n)
    events = []
    for k in range(n):
        ours, theirs = (11 * S + k * 1000, None), (901 * S + k * 1000 + 300, FAR)
        first, second = (theirs, ours) if there[k] else (ours, theirs)
        events.append(event(*first, flow_ids=[k]))
        events.append(event(*second, terminating_flow_ids=[k]))
    counts, found = flows_of(*events)
    assert counts == (n, 0, n, 0)
    assert {pair: len(ends) for pair, ends in found.items()} == {
        (HERE, THERE): n - there.sum(),
        (THERE, HERE): there.sum(),
    }


def test_without_being_asked_flows_are_not_read():
    with opened(of_two_machines(event(11 * S, flow_ids=[7]))) as read:
        assert read.flows is None
        assert read.clocks.orders() == []


def test_no_such_orders(tmp_path):
    (tmp_path / "t").write_bytes(b"\n")
    with pytest.raises(UsageError, match="orders is 'wakeups': give one of flows"):
        open_trace(tmp_path / "t", orders="wakeups")
