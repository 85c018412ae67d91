"""The twin against every golden table, and the reference engine's unit cases."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from corpus import OWN, files, trace_of
from hypothesis import given, settings
from random_traces import traces
from twin import Key, Reading, TwinError, TwinGraph, resolve

SMALL = 600_000
GOLDEN_KINDS = {"packet", "ftrace_event", "sched_switch", "sched_waking", "android_log"}
CLOCKS = {
    "REALTIME": 1,
    "MONOTONIC": 3,
    "MONOTONIC_COARSE": 4,
    "MONOTONIC_RAW": 5,
    "BOOTTIME": 6,
    "TRACE_FILE": 11,
}


def golden_tables() -> list[Path]:
    """Golden tables; the large ones only where TRACETIME_TWIN_ALL is set."""
    found = []
    for table in files("golden/*.parquet"):
        if "TRACETIME_TWIN_ALL" in os.environ or trace_of(table).stat().st_size < SMALL:
            found.append(table)
    return found


def unit_cases() -> list[Any]:
    cases = json.loads((OWN / "cases" / "clock_tracker_cases.json").read_text())
    return [
        pytest.param(case, id=case["name"])
        for case in cases
        if case.get("converter") != "clock_converter"
    ]


@pytest.mark.parametrize("path", golden_tables(), ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    table = pq.read_table(path)
    expected = {
        (row["packet"], row["kind"], row["item"]): (
            row["clock"],
            row["sequence"],
            row["timestamp"],
            row["trace_time"],
        )
        for row in table.to_pylist()
    }
    got = {
        (row.packet, row.kind, row.item): (row.clock, row.sequence, row.timestamp, row.trace_time)
        for row in resolve(trace_of(path).read_bytes())
        if row.kind in GOLDEN_KINDS and row.status != "skipped_incremental_state"
    }
    assert sorted(expected.keys() - got.keys())[:10] == [], "missing rows"
    assert sorted(got.keys() - expected.keys())[:10] == [], "extra rows"
    different = [(key, got[key], expected[key]) for key in expected if got[key] != expected[key]]
    assert different[:10] == []


def clock_key(name: str, trace_time: Key) -> Key:
    """`m1:seq2:64` and the like."""
    if name == "TRACE_TIME":
        return trace_time
    machine = sequence = 0
    *scopes, clock = name.split(":")
    for scope in scopes:
        if scope.startswith("seq"):
            sequence = int(scope[3:])
        else:
            machine = int(scope[1:])
    return Key(CLOCKS[clock] if clock in CLOCKS else int(clock), sequence, 0, machine)


@pytest.mark.parametrize("case", unit_cases())
def test_unit_case(case: dict[str, Any]) -> None:
    trace_time = Key(CLOCKS[case.get("trace_time", "BOOTTIME")])
    graph = TwinGraph(trace_time)
    for number, step in enumerate(case["steps"]):
        if "snapshot" in step:
            graph.add_snapshot(
                [
                    Reading(
                        clock_key(reading["clock"], trace_time),
                        reading["ts"],
                        reading.get("unit", 1),
                        reading.get("incremental", False),
                    )
                    for reading in step["snapshot"]
                ]
            )
        if "convert" in step:
            ask = step["convert"]
            result = graph.convert(
                clock_key(ask["from"], trace_time), ask["ts"], clock_key(ask["to"], trace_time)
            )
            expected = None if ask["expect"] == "error" else ask["expect"]
            assert result.value == expected, f"step {number}: {step}"


@settings(max_examples=300)
@given(traces())
def test_anything_resolves_or_is_an_error(data: bytes) -> None:
    try:
        rows = resolve(data)
    except TwinError:
        return
    assert [row.packet for row in rows] == sorted(row.packet for row in rows)
    assert len({(row.packet, row.kind, row.item) for row in rows}) == len(rows)
    for row in rows:
        assert (row.trace_time is not None) == (row.status in ("resolved", "as_is"))
        assert -(1 << 63) <= row.timestamp < 1 << 63
        assert row.trace_time is None or -(1 << 63) <= row.trace_time < 1 << 63
