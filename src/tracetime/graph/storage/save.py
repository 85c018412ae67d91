"""Clock graphs as bytes and files: NumPy's .npz, with an array for each column of the readings.

A member of JSON has the rest; docs/howto/clocks.md describes it. load.py reads the bytes. This is
not Arrow's format, whose reader crashes on some damaged files: load.py checks every byte.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import IO, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.saved_graph import State, state_of
from tracetime._version import __version__
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.domain import domain_facts
from tracetime.clocks.ids import ClockId
from tracetime.graph.state import GraphState
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.graph.values import Values

FORMAT: Final = 3
"""The version of the format; load.py refuses later ones."""

FACTS: Final = "graph.json"

CLOCK_ID: Final = ("clock", "sequence", "file", "machine")
CLOCK: Final = (*CLOCK_ID, "unit_ns", "last_ns", "incremental", "seen")
ROWS: Final = (("snapshot", "<u4"), ("clock", "<u4"), ("reading_ns", "<i8"))
OPTIONAL: Final = (
    ("packet", "<u8", 0),
    ("centre_ns", "<i8", 0),
    ("half_width_ns", "<i8", -1),
    ("frequency_scaled_ppm", "<i8", NOT_RECORDED),
)
"""Columns with their defaults: a column of defaults only is left out."""

BETWEEN: Final = (
    ("between_pair", "<u4"),
    ("between_snapshot", "<u4"),
    ("between_one_low_ns", "<i8"),
    ("between_one_high_ns", "<i8"),
    ("between_other_low_ns", "<i8"),
    ("between_other_high_ns", "<i8"),
)
ORDERS: Final = (
    ("order_pair", "<u4"),
    ("order_one_first", "<u4"),
    ("order_one_ts", "<i8"),
    ("order_other_ts", "<i8"),
    ("order_min_delay_ns", "<i8"),
    ("order_max_delay_ns", "<i8"),
)
"""What happened before what; left out where there are none."""

WORKED_OUT: Final = ("worked_out", "<u4")
"""Bounds of clocks that no snapshot has read together, and the snapshots that were computed from
messages; left out where there are none."""


class FileContents(NamedTuple):
    """The contents of a file: columns by name, and the rest in the types of JSON."""

    facts: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def save(contents: FileContents, path: str | os.PathLike[str]) -> None:
    """Write a graph to a file; see `ClockGraph.save`."""
    target = file_target(path)
    with whole_file(target) as part, part.open("wb") as file:
        _write(*contents, file)


def to_bytes(contents: FileContents) -> bytes:
    """The bytes of a file with the graph."""
    sink = io.BytesIO()
    _write(*contents, sink)
    return sink.getvalue()


def _write(facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], sink: IO[bytes]) -> None:
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(zipfile.ZipInfo(FACTS), json.dumps(facts))
        for name, values in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, version=(1, 0), allow_pickle=False)


def contents_of(graph: GraphState) -> FileContents:
    """The file of a graph, which must not change meanwhile."""
    state = state_of(graph.engine)
    optional = _optional(graph, state)
    facts = _facts(graph, state)
    clocks = clocks_of_rows(state.columns)
    rows: list[npt.NDArray[Any]] = [state.snapshots, clocks, state.readings_ns]
    arrays = {}
    for (name, kind), values in zip(ROWS, rows, strict=True):
        arrays[name] = values.astype(kind, copy=False)
    for (name, kind, default), values in zip(OPTIONAL, optional, strict=True):
        if (values != default).any():
            arrays[name] = values.astype(kind, copy=False)
    between = graph.between
    counts = between.counts()
    if len(counts):
        number = np.repeat(np.arange(len(counts)), counts)
        for (name, kind), values in zip(BETWEEN, (number, *between.boxes), strict=True):
            arrays[name] = values.astype(kind)
    if len(between.worked_out):
        arrays[WORKED_OUT[0]] = between.worked_out.astype(WORKED_OUT[1])
    if len(graph.orders):
        for (name, kind), values in zip(ORDERS, graph.orders.columns(), strict=True):
            arrays[name] = values.astype(kind)
    return FileContents(facts, arrays)


def clocks_of_rows(columns: Values) -> npt.NDArray[np.uint32]:
    """The clock of each row, from the columns' (clock, hash, readings)."""
    return np.repeat(columns[:, 0].astype(np.uint32), columns[:, 2])


def _optional(graph: GraphState, state: State) -> tuple[npt.NDArray[Any], ...]:
    """The columns of `OPTIONAL`."""
    clocks = [graph.clock((a, b, c, d)) for a, b, c, d in state.clocks[:, :4].tolist()]
    numbers = state.snapshots.astype(np.int64)
    centre, half, scaled_ppm = (np.empty_like(state.readings_ns) for _ in range(3))
    start = 0
    for clock, _, n in state.columns.tolist():
        rows = slice(start, start := start + n)
        read = graph.measured.reads(clocks[clock], numbers[rows])
        centre[rows], half[rows] = read.centre, read.half
        scaled_ppm[rows] = graph.measured.frequency(clocks[clock], numbers[rows])
    return state.packets[state.snapshots], centre, half, scaled_ppm


def _facts(graph: GraphState, state: State) -> dict[str, Any]:
    """All of a graph but its rows, in the types of JSON."""
    clocks = []
    for row in state.clocks.tolist():
        facts = dict(zip(CLOCK, row, strict=True))
        clock = graph.clock((row[0], row[1], row[2], row[3]))
        derived = {"id": str(clock), "measured": graph.measured.knows(clock)}
        flags = {name: bool(facts[name]) for name in ("incremental", "seen")}
        events = graph.events.get(clock)
        in_events = {} if events is None else {"events": [*events[1:], *events.some_ns.tolist()]}
        clocks.append({**derived, **facts, **flags, **in_events})
    ends = np.cumsum(state.series[:, 0])
    lists = np.split(state.members, ends[:-1]) if len(ends) else []
    read = np.zeros(len(state.packets), dtype=bool)
    read[state.snapshots] = True
    unread = np.flatnonzero(~read)
    return {
        "format": FORMAT,
        **({"baked": True} if graph.baked else {}),
        "tracetime": __version__,
        "trace_clock": None if graph.trace_clock is None else _id_facts(graph.trace_clock),
        "file": graph.file,
        "snapshots": len(state.packets),
        "without_readings": [[n, int(state.packets[n])] for n in unread.tolist()],
        "next_packet": int(state.next_packet),
        "clocks": clocks,
        "columns": state.columns.tolist(),
        "series": [
            {"clocks": members.tolist(), "snapshots": n}
            for members, n in zip(lists, state.series[:, 1].tolist(), strict=True)
        ],
        "backwards": state.backwards.tolist(),
        "between": [[_id_facts(c) for c in pair] for pair in graph.between.pairs()],
        "orders": [[_id_facts(c) for c in pair] for pair in graph.orders.pairs()],
        "domains": [domain_facts(d, _id_facts(d.id)) for d in graph.domains.values()],
    }


def _id_facts(clock: ClockId) -> dict[str, int]:
    return {name: getattr(clock, name) for name in CLOCK_ID}
