"""The readings that events of a written trace carry: of which clock each is, and what it read.

A file has the clock graph of its sources once (`Head`), and after each block of packets what the
clocks read at the events of the block (`encode_block`); the bytes: docs/tracetime_extension.proto.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.checks import from_planes, knot_offsets, sum_of_times
from tracetime.clocks.ids import ClockId, clock_id
from tracetime.errors import TracetimeError
from tracetime.graph.graph import Graph
from tracetime.graph.joining import join
from tracetime.graph.state import GraphState
from tracetime.graph.storage import load, save
from tracetime.graph.values import Values

Group = tuple[int, int, int]
"""The kind and payload of rows, and which of the packet sequences that have such rows in the block
is theirs, in order of appearance: when a block is made its sequences may have other numbers."""

HEAD, BLOCK, SEAL = b"\x00", b"\x01", b"\x02"
NO_CLOCK: Final = -1

_KNOT_ROWS: Final = 64
"""Of each clock so many events in order of time are between two knots: of these the file has the
offset of the clock, and of the others how far they are off the line."""

_MOST_BYTES: Final = 1 << 26
"""Of a block, unpacked: over a million events. Bytes of a file are hostile."""

_MOST_HEAD: Final = 1 << 30
_MOST_CLOCKS: Final = 1 << 32

_SENSELESS: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
    TracetimeError,
)
"""What bytes that make no sense lead to."""

_KINDS: Final = {kind: np.dtype(kind) for kind in ("<u4", "<i8", "<u8")}
_COLUMNS: Final = ("snapshots", "cut_off_ns", "early_ns")


class Head(NamedTuple):
    """What a file says of its sources.

    Attributes:
        graph: of all their clocks.
        trace_clock: the clock of the file's times.
        clocks: by number, those that events have read.
        machines: the machine_id in the file of each machine of the graph.
        truncated: of which sources the rest was not read, and why; empty where all was.
    """

    graph: Graph
    trace_clock: ClockId
    clocks: Sequence[ClockId]
    machines: Sequence[int]
    truncated: str = ""


def encode_head(head: Head, names: dict[ClockId, str], number: Callable[[int], int]) -> bytes:
    """The bytes of a head.

    names: what clocks are called. number: gives the number in the file of a machine of the graph.
    """
    ids = _ids_of_rows((*head.clocks, head.trace_clock), names, number)
    contents = save.contents_of(_renamed(head.graph, ids).state)
    facts = {
        "graph": contents.facts,
        "columns": [(column, values.dtype.str) for column, values in contents.arrays.items()],
        "trace_clock": _numbers(ids[head.trace_clock]),
        "clocks": [_numbers(ids[clock]) for clock in head.clocks],
        "names": [[*_numbers(ids[clock]), name] for clock, name in names.items()],
        "machines": [*head.machines],
        "truncated": head.truncated,
    }
    text = json.dumps(facts).encode()
    columns = (_packed(_steps(values)) for values in contents.arrays.values())
    return HEAD + zlib.compress(struct.pack("<I", len(text)) + text + b"".join(columns), 9)


def decode_head(data: bytes) -> Head | None:
    """The head in the bytes of a file; None where they make no sense."""
    try:
        content = _inflate(data, _MOST_HEAD)
        (size,) = struct.unpack_from("<I", content)
        facts = json.loads(content[4 : 4 + size])
        rest = memoryview(content)[4 + size :]
        arrays: dict[str, npt.NDArray[Any]] = {}
        for column, kind in facts["columns"]:
            values, rest = _unpacked(rest)
            arrays[str(column)] = np.cumsum(values).astype(_KINDS[kind])
        state = load.from_bytes(save.to_bytes(save.FileContents(facts["graph"], arrays)))
        state.given = {ClockId(*found[:4]): str(found[4]) for found in facts["names"]}
        for clock, name in state.given.items():
            if clock in state.domains:
                state.domains[clock] = replace(state.domains[clock], name=name)
        head = Head(
            Graph(state),
            ClockId(*facts["trace_clock"]),
            [ClockId(*found) for found in facts["clocks"]],
            np.array(facts["machines"], np.uint32).tolist(),
            str(facts.get("truncated", "")),
        )
    except _SENSELESS:
        return None
    used = (clock.machine for clock in (*head.clocks, head.trace_clock))
    return head if max(used) < len(head.machines) else None


def _ids_of_rows(
    clocks: Iterable[ClockId], names: dict[ClockId, str], number: Callable[[int], int]
) -> dict[ClockId, ClockId]:
    """Ids by which rows can name clocks: they say no file.

    Of two that are alike but for that, the second gets the number of a name.
    """
    ids: dict[ClockId, ClockId] = {}
    taken = set[ClockId]()
    for clock in dict.fromkeys(clocks):
        found = replace(clock, machine=number(clock.machine), file=0)
        if found in taken:
            name = f"{names.get(clock, '')} {clock}"
            found = ClockId(clock_id(name), machine=found.machine)
        taken.add(found)
        ids[clock] = found
    return ids


def _renamed(graph: Graph, ids: dict[ClockId, ClockId]) -> Graph:
    """The graph under other ids."""
    if all(clock == new for clock, new in ids.items()):
        return graph
    made = Graph(GraphState())
    join(made, graph, lambda clock: ids[clock])
    return made


def _numbers(clock: ClockId) -> tuple[int, int, int, int]:
    return clock.clock, clock.sequence, clock.machine, clock.file


# Rows in groups


class Groups:
    """The groups of the rows of one block, in order of appearance."""

    def __init__(self) -> None:
        self._known: dict[int, Group] = {}
        self._sequences = Counter[tuple[int, int]]()

    def split(self, columns: dict[str, Any], rows: Values) -> list[tuple[Group, Values]]:
        """The groups of some rows, each with its rows in file order."""
        kind, payload, sequence = (
            columns[name][rows].astype(np.uint64) for name in ("kind", "payload", "packet_sequence")
        )
        keys = kind << np.uint64(48) | payload << np.uint64(32) | sequence
        found, first, which = np.unique(keys, return_index=True, return_inverse=True)
        for key in found[np.argsort(first)].tolist():
            if key not in self._known:
                of = key >> 48, key >> 32 & 0xFFFF
                self._known[key] = *of, self._sequences[of]
                self._sequences[of] += 1
        ends = np.cumsum(np.bincount(which, minlength=len(found)))[:-1]
        parts = np.split(rows[np.argsort(which, kind="stable")], ends)
        return [(self._known[key], part) for key, part in zip(found.tolist(), parts, strict=True)]


def groups_of(keys: Values) -> list[Group]:
    """The groups of the keys of a `CarriedLog`, in order of appearance."""
    sequences = Counter[tuple[int, int]]()
    found = []
    for key in keys.tolist():
        of = key >> 48, key >> 32 & 0xFFFF
        found.append((*of, sequences[of]))
        sequences[of] += 1
    return found


# Blocks


class Block(NamedTuple):
    """The readings at the events of a block, group after group.

    Attributes:
        groups: of each the place of its first row, how many there are, and the sum of their times.
        clock: the number of each row's clock; `NO_CLOCK`: nothing bounds it.
        residual: how far its reading is from what `knots` say, ns.
        snapshots, cut_off_ns, early_ns: as in `events_table.Columns`.
        knots: clocks, trace times, and the readings less these.

    Each column has a last row that is nobody's: that of place -1.
    """

    groups: dict[Group, tuple[int, int, int]]
    clock: Values
    residual: Values
    snapshots: Values
    cut_off_ns: Values
    early_ns: Values
    knots: tuple[Values, Values, Values]

    def readings(self, places: Values, times: Values) -> Values:
        """The readings of rows at some places, whose trace times these are."""
        return times + self.residual[places] + knot_offsets(self.knots, self.clock[places], times)


def encode_block(columns: dict[str, Any], rows: Values, clock: Values, times: Values) -> bytes:
    """The bytes of a block; of some rows, as they are in the file.

    Args:
        columns: kind, payload and packet_sequence as in the file up to the numbers of sequences;
            source_ns, and where there are any, snapshots, cut_off_ns and early_ns.
        rows: in file order.
        clock: of every row of the columns, the number of its clock, or `NO_CLOCK`.
        times: of every row, its trace time in the file.
    """
    groups = Groups().split(columns, rows)
    order = np.concatenate([part for _, part in groups]) if groups else rows
    clock, times = clock[order], times[order]
    source_ns = columns["source_ns"][order]
    knots = _knots(clock, times, source_ns)
    residual = source_ns - times - knot_offsets(knots, clock, times)
    residual[clock == NO_CLOCK] = 0
    starts = np.cumsum([0, *(len(part) for _, part in groups)])
    heads = [
        (*group, len(part), sum_of_times(times[start : start + len(part)]))
        for (group, part), start in zip(groups, starts, strict=False)
    ]
    more = [_steps(columns[name][order]) if name in columns else residual[:0] for name in _COLUMNS]
    arrays = [
        np.array(heads, np.int64).reshape(-1),
        _steps(clock),
        residual,
        *more,
        *map(_steps, knots),
    ]
    return BLOCK + zlib.compress(b"".join(map(_packed, arrays)))


def decode_groups(data: bytes) -> dict[Group, tuple[int, int, int]] | None:
    """The groups of the block in the bytes of a file, as `Block` has them; None without sense."""
    try:
        (n,) = struct.unpack("<I", zlib.decompressobj().decompress(data[1:], 4))
        content = zlib.decompressobj().decompress(data[1:], min(4 + 8 * n, _MOST_BYTES))
        return _groups(_unpacked(memoryview(content))[0])
    except (ValueError, zlib.error, struct.error):
        return None


def _groups(heads: Values) -> dict[Group, tuple[int, int, int]]:
    groups, start = dict[Group, tuple[int, int, int]](), 0
    for kind, payload, nth, count, total in heads.reshape(-1, 5).tolist():
        if count < 0:
            raise ValueError("a group of fewer than no rows")
        groups[kind, payload, nth] = start, count, total
        start += count
    return groups


def decode_block(data: bytes) -> Block | None:
    """The block in the bytes of a file; None where they make no sense."""
    try:
        content = memoryview(_inflate(data, _MOST_BYTES))
        arrays = []
        for _ in range(9):
            values, content = _unpacked(content)
            arrays.append(values)
        groups = _groups(arrays[0])
    except (ValueError, zlib.error, struct.error):
        return None
    _, clock, residual, *others = arrays
    clock, *more = (np.cumsum(column) for column in (clock, *others[:3]))
    of, at, offset = (np.cumsum(column) for column in others[3:])
    n = sum(count for _, count, _ in groups.values())
    alike = len(of) == len(at) == len(offset) and n == len(clock) == len(residual)
    if not alike or any(len(column) not in (0, n) for column in more) or (np.diff(of) < 0).any():
        return None
    if n and not NO_CLOCK <= clock.min() <= clock.max() < _MOST_CLOCKS:
        return None
    snapshots, cut_off_ns, early_ns = (
        np.append(column, 0) if len(column) else np.zeros(n + 1, np.int64) for column in more
    )
    clock, residual = np.append(clock, NO_CLOCK), np.append(residual, 0)
    return Block(groups, clock, residual, snapshots, cut_off_ns, early_ns, (of, at, offset))


def _knots(clock: Values, times: Values, source_ns: Values) -> tuple[Values, Values, Values]:
    """Every so many rows of each clock in order of time, and the last."""
    order = np.lexsort((times, clock))
    order = order[clock[order] != NO_CLOCK]
    begins = np.flatnonzero(np.diff(clock[order], prepend=NO_CLOCK))
    chosen = [
        place
        for begin, end in pairwise([*begins.tolist(), len(order)])
        for place in (*range(begin, end - 1, _KNOT_ROWS), end - 1)
    ]
    rows = order[np.array(chosen, np.int64)]
    return clock[rows], times[rows], source_ns[rows] - times[rows]


# Bytes


def _steps(values: npt.NDArray[Any]) -> Values:
    """How far each number is from the one before it; the first from 0."""
    whole: Values = values.astype(np.int64)
    steps = whole.copy()
    steps[1:] -= whole[:-1]
    return steps


def _packed(values: Values) -> bytes:
    """Numbers as bytes that compress well: all the lowest bytes first, and so on."""
    zigzag = (values << 1 ^ values >> 63).astype("<i8")
    planes = zigzag.view(np.uint8).reshape(-1, 8).T
    return struct.pack("<I", len(values)) + np.ascontiguousarray(planes).tobytes()


def _unpacked(data: memoryview) -> tuple[Values, memoryview]:
    (n,) = struct.unpack_from("<I", data)
    planes = np.frombuffer(data, np.uint8, 8 * n, 4).reshape(8, n)
    return from_planes(planes), data[4 + 8 * n :]


def _inflate(data: bytes, most: int) -> bytes:
    engine = zlib.decompressobj()
    content = engine.decompress(data[1:], most)
    if not engine.eof:
        raise ValueError("it is cut off, or larger than it may be")
    return content
