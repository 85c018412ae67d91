"""Files that no graph has left: each fact, row and array is checked."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_files import array, column_of, facts_of, refused, remade, survives

from tracetime import (
    TraceError,
)
from tracetime._kernels.saved_graph import engine_of, state_of
from tracetime.graph.clock_graph import from_bytes

LOW, HIGH = -(2**63), 2**63 - 1


WRONG: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**70, -(2**70), 1.5, 1e300, "", "x",
    "1/0", "9" * 5000, [], {}, [[]], [None], [1.5], [True], ["1"], [2**70], [[1, 2]], [[1, 2, 3], [4]],
    [[[[]]]], [{}], {"clocks": 5}, [-1], [99], [0, 0],
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def put(value: Any, at: tuple[Any, ...], other: Any) -> Any:
    if not at:
        return other
    made = copy.copy(value)
    made[at[0]] = put(value[at[0]], at[1:], other)
    return made


@pytest.mark.sweep
def test_no_fact_of_another_type_or_out_of_range_does_harm(example):
    facts = facts_of(example)
    for at in places(facts)[1:]:
        was = facts
        for key in at:
            was = was[key]
        for wrong in WRONG:
            taken = survives(remade(example, put(facts, at, wrong)))
            # Two are for people; a graph may have no trace clock, a clock no name, a width 0.0.
            if not {"id", "tracetime", "trace_clock", "domains"} & set(at):
                assert taken is None or type(wrong) is type(was), (at, wrong)


def test_no_fact_may_be_missing(example):
    facts = facts_of(example)
    for at in places(facts):
        holder = facts
        for key in at[:-1]:
            holder = holder[key]
        if at and isinstance(holder, dict) and at[-1] not in ("id", "tracetime"):
            less = {key: value for key, value in holder.items() if key != at[-1]}
            with pytest.raises(TraceError):
                from_bytes(remade(example, put(facts, at[:-1], less)))


def with_facts(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Facts changed where a path, its keys joined by `__`, says."""

    def change(facts: dict[str, Any]) -> dict[str, Any]:
        for name, value in changes.items():
            at = tuple(int(key) if key.isdigit() else key for key in name.split("__"))
            facts = put(facts, at, value)
        return facts

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (with_facts(clocks__1__clock=2**32), "clock 1 has a number that does not fit in uint32"),
        (with_facts(clocks__1__sequence=3), "clock 1 has a sequence, which only"),
        (with_facts(clocks__1__incremental=True), "clock 1 is incremental, and of no sequence"),
        (with_facts(clocks__1__unit_ns=0), "clock 1 has a unit of 0 ns"),
        (with_facts(clocks__1__seen=False), "clock 1 has readings, and no snapshot names it"),
        (with_facts(clocks__2__clock=6), "clock 2 is listed twice"),
        (with_facts(clocks__0__unit_ns=5), "clock 0 has a unit or is incremental, and has no"),
        (with_facts(clocks__1__seen=1), "its 'seen' is not of type bool"),
        (with_facts(columns__0__0=99), "its rows and columns have different clocks"),
        (with_facts(columns__0__0=-1), "its rows and columns have different clocks"),
        (with_facts(columns__0__1=2**32), "column 0 has a hash that does not fit"),
        (with_facts(columns__0__1=5), "snapshot 0 has two lists of clocks"),
        (with_facts(columns__0__2=2**40), "its columns do not have 12 readings"),
        (with_facts(columns__0__2=-1), "its columns do not have 12 readings"),
        (with_facts(series__0__clocks=[]), "series 0 has 0 clocks"),
        (with_facts(series__0__clocks=[1, 99]), "series 0 has clock 99, which is not there"),
        (with_facts(series__0__clocks=[1, -1]), "series 0 has clock -1, which is not there"),
        (with_facts(series__0__clocks=[1, 1]), "series 0 has clock 1 twice"),
        (with_facts(series__0__clocks=[2, 1]), "series 0 has a clock without readings"),
        (with_facts(series__0__snapshots=0), "series 0 has 0 snapshots"),
        (with_facts(series__0__snapshots=4), "series 0 has more snapshots than its clocks"),
        (with_facts(series__0__snapshots=2**62), "more than are left"),
        (with_facts(backwards=[]), "1 clocks ran backwards, and 0 are listed"),
        (with_facts(backwards=[1]), "clock 1 is listed, and did not run backwards"),
        (with_facts(backwards=[99]), "clock 99 is listed"),
        (with_facts(backwards=[2, 2]), "1 clocks ran backwards, and 2 are listed"),
        (with_facts(snapshots=2**32), "too few readings for them"),
        (with_facts(snapshots=2), "readings of more"),
        (with_facts(without_readings=[]), "too few readings|without readings is wrong"),
        (with_facts(without_readings=[[2, 0]]), "its list of snapshots without readings is wrong"),
        (with_facts(without_readings=[[99, 0]]), "its list of snapshots without readings is wrong"),
        (with_facts(without_readings=[[3, -1]]), "its list of snapshots without readings is wrong"),
        (with_facts(next_packet=-1), "'next_packet' out of range"),
        (with_facts(file=2**32), "'file' out of range"),
        (with_facts(format=0), "'format' out of range"),
        (with_facts(format="1"), "its 'format' is not of type int"),
        (with_facts(trace_clock__sequence=5), "its trace_clock"),
        (with_facts(domains__0__id__clock=6), "declares BOOTTIME twice"),
        (with_facts(domains__0__ns_per_tick="1e999999999/1"), "one of its domains"),
        (with_facts(domains__0__ns_per_tick="1/0"), "one of its domains"),
        (with_facts(domains__0__valid_bits=65), "valid_bits of TSC"),
        (with_facts(domains__0__disciplined="no"), "disciplined of TSC"),
    ],
)
def test_facts_that_no_graph_has(tmp_path, example, change, match):
    refused(tmp_path / "graph.npz", remade(example, change(facts_of(example))), match)


@pytest.mark.parametrize(
    ("name", "row", "value", "match"),
    [
        ("snapshot", 2, 99, "readings of more"),
        ("snapshot", 2, 1, "a snapshot is in two packets"),
        ("snapshot", 0, 2, "a snapshot is in two packets"),
        ("clock", 0, 2, "its rows and columns have different clocks"),
        ("clock", 0, 2**32 - 1, "its rows and columns have different clocks"),
        ("reading_ns", 1, -5, "2 clocks ran backwards, and 1 are listed"),
        ("packet", 0, 77, "a snapshot is in two packets"),
        ("half_width_ns", 0, -2, "a half-width is negative"),
        ("frequency_scaled_ppm", 0, 6_553_600_001, "off by more than 10 %"),
        ("frequency_scaled_ppm", 0, LOW + 1, "off by more than 10 %"),
    ],
)
def test_rows_that_no_graph_has(tmp_path, example, name, row, value, match):
    values = column_of(example, name)
    values[row] = value
    kind = {"snapshot": "<u4", "clock": "<u4", "packet": "<u8"}.get(name, "<i8")
    refused(tmp_path / "graph.npz", remade(example, **{name: array(values, kind)}), match)


@pytest.mark.parametrize("facts", [b"", b"\xff", b"[]", b"null", b"[" * 100_000, b"NaN", b"{"])
def test_metadata_that_is_no_json(tmp_path, example, facts):
    refused(
        tmp_path / "graph.npz",
        remade(example, facts),
        "graph.json in it is not JSON|it lacks 'format'",
    )


def test_the_kernel_takes_no_arrays_that_do_not_fit(example):
    """Whoever calls it, and whatever the file was checked for before."""
    state = state_of(from_bytes(example)._graph.state.engine)
    for changed in (
        state._replace(clocks=state.clocks[:, :3].copy()),
        state._replace(columns=state.columns[:, :2].copy()),
        state._replace(snapshots=state.snapshots[:-1].copy()),
        state._replace(columns=np.concatenate([state.columns, state.columns[:1] * [1, 1, 0]])),
        state._replace(columns=state.columns[:-1].copy()),
        state._replace(members=state.members[:-1].copy()),
        state._replace(members=np.append(state.members, 1)),
        state._replace(series=np.concatenate([state.series, state.series[:1]])),
        state._replace(packets=state.packets[:-1].copy()),
        state._replace(columns=np.array([[HIGH, 0, 0]])),
        state._replace(columns=np.array([[1, 0, HIGH]])),
        state._replace(backwards=np.array([HIGH])),
        state._replace(members=state.members + HIGH - 20),
        state._replace(series=state.series * [HIGH // 20, 1]),
    ):
        with pytest.raises((ValueError, IndexError)):
            engine_of(changed)
