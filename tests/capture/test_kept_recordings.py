"""What a recording writes, in which order, and what floor costs in small traces, stays what it was."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    event,
    snapshot,
    trace,
)
from faults import FAULTS, GPU, NIC, Model, S
from google.protobuf import text_format
from kept import check_kept
from random_traces import nasty_trace
from reading import opened
from recorded import extensions_of, names_of, packets_of
from simulated import recorded_trace

from tracetime import ClockId, TraceError, TracetimeError
from tracetime.analysis.floor_cost import FloorCost, floor_cost_at_snapshots
from tracetime.formats.perfetto.write.snapshots import SnapshotOrders
from tracetime.graph.clock_graph import inner

CLOCKS = [
    ClockId(number, 1 if 64 <= number < 128 else 0)
    for number in (BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, 2, 4, 64, 70, GPU, NIC)
]


@pytest.mark.parametrize("seed", range(4))
def test_the_packets_of_a_recording(seed):
    data = recorded_trace(seed)
    check_kept(
        "recordings",
        str(seed),
        {
            "packets": [
                text_format.MessageToString(one, as_one_line=True) for one in packets_of(data)
            ],
            "extensions": [
                text_format.MessageToString(one, as_one_line=True) for one in extensions_of(data)
            ],
            "names": sorted(names_of(data).items()),
        },
    )


@pytest.mark.parametrize("group", range(6))
def test_the_orders_of_snapshots_as_clocks_go_back_come_and_go(group):
    results = []
    for seed in range(5):
        chance = Random(f"orders {group} {seed}")
        orders = SnapshotOrders()
        sampled = chance.sample(CLOCKS, 1 + group)
        own = chance.sample(CLOCKS, 2 + seed % 2)
        at = dict.fromkeys(CLOCKS, 10**6)
        rows = []
        for _ in range(8):
            for clock in CLOCKS:
                at[clock] += 10 - (60 if chance.random() < 0.06 else 0)
            there = [clock for clock in sampled if chance.random() > 0.04] or sampled
            for clocks, main in ((there, True), (own, False)):
                order = orders.next({clock: at[clock] for clock in clocks}, main=main)
                rows.append([*order.clocks, order.filler, *order.hashes])
        results.append(rows)
    check_kept("snapshot_orders", str(group), results)


def facts(cost: FloorCost) -> dict[str, object]:
    return cost.to_dict() | {
        "drift_ns": cost.drift_ns,
        "ended_early": cost.ended_early,
        "settled": cost.settled,
        "other_ways": cost.other_ways,
        "leaves_bars": cost.leaves_bars,
        "drifts_on": cost.drifts_on,
        "untied": sorted(cost.untied),
    }


def costs(data: bytes) -> dict[str, object]:
    """What floor costs, by events and by snapshots alone, however many clocks are looked at."""
    with opened(data, partial=True) as made:
        cost = FloorCost(reordered=0)
        events = made.events("tube", observer=cost)
        table = pa.Table.from_batches(events, events.schema)
        cost.finish()
        rows = Counter(table["status"].to_pylist())
        ends = [
            int(np.nansum(np.asarray(table[name].to_pandas(), dtype=np.float64) % 1e6))
            for name in ("trace_time", "earliest", "latest")
        ]
        results = {
            "events": facts(cost),
            "faults": {f"{clock} {why}": said for (clock, why), said in events.faults.items()},
            "rows": dict(sorted(rows.items())),
            "ends": ends,
        }
        clocks = [info.clock for info in made.clocks.clocks()]
        home = made.trace_clock
        spans = {}
        for k, clock in enumerate(clocks):
            spans[clock] = (4_900 * S + k, 5_100 * S + 7 * k)
        for name, options in {
            "snapshots": {},
            "one": {"most": 1},
            "none": {"most": 0},
            "spans": {"spans_ns": spans},
            "one, spans": {"most": 1, "spans_ns": spans},
            "late": {"late": True, "spans_ns": spans},
        }.items():
            results[name] = facts(
                floor_cost_at_snapshots(inner(made.clocks), home, clocks, **options)
            )
        return results


@pytest.mark.parametrize("name", FAULTS)
def test_what_floor_costs_where_clocks_are_faulty(name):
    model = Model()
    model.n = 60 if name == "late" else 58
    FAULTS[name](model, Random(name))
    try:
        results = costs(model.build())
    except TracetimeError as error:
        results = str(error)
    check_kept("floor_costs", name, results)


@pytest.mark.parametrize("group", range(5))
def test_what_floor_costs_in_hostile_traces(group):
    results = {}
    for seed in range(8):
        try:
            results[str(seed)] = costs(nasty_trace(Random(f"costs {group} {seed}")))
        except TraceError as error:
            results[str(seed)] = str(error)
    check_kept("floor_costs", f"nasty {group}", results)


@pytest.mark.parametrize("ppm", [1, 20, 300])
def test_what_floor_costs_as_clocks_drift(ppm):
    results = {}
    for gap_s in (1, 10):
        for turns in (1, 3):
            packets, mono, nic = [], 7 * S, 9 * S
            for k in range(12):
                packets.append(snapshot({BOOTTIME: k * gap_s * S, MONOTONIC: mono, NIC: nic}))
                packets.append(event(mono + gap_s * S // 2, MONOTONIC))
                packets.append(event(k * gap_s * S + gap_s * S - 5))
                packets.append(event(nic + gap_s * S - 9, NIC))
                mono += gap_s * S * (10**6 + (ppm if k // turns % 2 else -ppm)) // 10**6
                nic += gap_s * S * (10**6 + ppm) // 10**6
            results[f"{gap_s} {turns}"] = costs(trace(*packets))
    check_kept("floor_costs", f"drift {ppm}", results)
