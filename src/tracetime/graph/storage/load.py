"""Clock graphs from the bytes that save.py makes.

The bytes are hostile: what `save` cannot write is refused here, or in `_kernels/saved_graph.pyx`
where it concerns the relations of readings.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.saved_graph import State, engine_of
from tracetime._version import __version__
from tracetime.atomic_file import open_to_read
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import UINT32_MAX, ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN, MOST_SCALED_PPM
from tracetime.errors import TraceError, UsageError
from tracetime.graph.arguments import checked_domain
from tracetime.graph.state import GraphState, clock_of
from tracetime.graph.storage.save import (
    BETWEEN,
    CLOCK,
    CLOCK_ID,
    FACTS,
    FORMAT,
    OPTIONAL,
    ORDERS,
    ROWS,
    WORKED_OUT,
    clocks_of_rows,
)
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.graph.tube.lattice import EventReadings
from tracetime.graph.tube.measurements import Column, Corrected, Measured, Read
from tracetime.graph.tube.messages import LONGEST_NS, Between, Boxes
from tracetime.graph.tube.orders import NO_MAX_DELAY, OrderColumns, Orders
from tracetime.graph.values import Values

_MAGIC: Final = b"PK\x03\x04"
_ARRAY: Final = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(<[iu][48])', 'fortran_order': False, "
    rb"'shape': \((\d{1,18}),\), \} *\n",
    re.DOTALL,
)
"""The head of an array of one dimension in NumPy's .npy format, version 1.0."""


def is_saved_graph(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like one that `ClockGraph.save` writes."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def load(path: str | os.PathLike[str]) -> GraphState:
    """A graph from a file; see `ClockGraph.load`."""
    name = os.fspath(path)
    with open_to_read(path) as file:
        try:
            return _graph(file)
        except _Unreadable as error:
            raise TraceError(f"cannot load a clock graph from {name!r}: {error}") from error


def from_bytes(data: bytes) -> GraphState:
    """The state of bytes that `to_bytes` made.

    Raises:
        TraceError: `to_bytes` did not make them.
    """
    try:
        return _graph(io.BytesIO(data))
    except _Unreadable as error:
        raise TraceError(f"cannot make a clock graph of these bytes: {error}") from error


class _Unreadable(Exception):
    """An error of bytes that should be a graph."""


def _graph(file: IO[bytes]) -> GraphState:
    """The state in a file; raises _Unreadable."""
    members = _members_of(file)
    facts = _facts_of(members.pop(FACTS))
    flags = ("incremental", "seen", "measured")
    clocks = [
        [*(_int(c, name) for name in CLOCK[:6]), *(int(_get(c, name, bool)) for name in flags)]
        for c in _get(facts, "clocks", list)
    ]
    columns = _integers(_get(facts, "columns", list), "columns", 3)
    snapshots, clock_of_row, readings, packets, centre, half, scaled_ppm = _rows_of(members)
    _check_rows(columns, clock_of_row, half, scaled_ppm)
    series = [(_get(s, "clocks", list), _int(s, "snapshots")) for s in _get(facts, "series", list)]
    state = State(
        _integers(clocks, "clocks", len(CLOCK) + 1),
        columns,
        snapshots,
        readings,
        _integers([[len(members), n] for members, n in series], "series", 2),
        _integers([clock for members, _ in series for clock in members], "series"),
        _integers(_get(facts, "backwards", list), "backwards"),
        _packets_of(facts, snapshots, packets),
        _int(facts, "next_packet", 0),
    )
    number = _int(facts, "file", 0, UINT32_MAX)
    trace_clock = None if facts.get("trace_clock", 0) is None else _id_of(facts, "trace_clock")
    try:
        engine = engine_of(state)
    except ValueError as error:
        raise _Unreadable(str(error)) from error
    domains: dict[ClockId, ClockDomain] = {}
    for entry in _get(facts, "domains", list):
        domain = _domain_of(entry)
        if domain.id in domains:
            raise _Unreadable(f"it declares {domain.id} twice")
        domains[domain.id] = checked_domain(domain)
    ids = [clock_of((a, b, c, d), number) for a, b, c, d, *_ in clocks]
    known = {clock for clock, (*_, measured) in zip(ids, clocks, strict=True) if measured}
    events = {
        clock: _events_of(entry)
        for clock, entry in zip(ids, facts["clocks"], strict=True)
        if "events" in entry
    }
    measured = _measured_of(ids, known, columns, snapshots, Read(centre, half), scaled_ppm)
    between = _between_of(facts, members, len(state.packets))
    orders = _orders_of(facts, members)
    made = GraphState(engine, trace_clock, number, domains, measured, between, events, orders)
    made.baked = "baked" in facts and _get(facts, "baked", bool)
    return made


def _members_of(file: IO[bytes]) -> dict[str, bytes]:
    """The facts and columns in a file, which has all of `ROWS` and some of `OPTIONAL`."""
    if file.read(len(_MAGIC)) != _MAGIC:
        raise _Unreadable("ClockGraph.save did not write it; open_trace opens traces")
    size = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            needed = {FACTS, *(f"{name}.npy" for name, _ in ROWS)}
            known = needed | {
                f"{name}.npy" for name, *_ in (*OPTIONAL, *BETWEEN, *ORDERS, WORKED_OUT)
            }
            if len(set(names)) < len(names) or not needed <= set(names) <= known:
                raise _Unreadable("it is a zip file, but ClockGraph.save did not write it")
            # Members that are compressed or overlap could expand without limit.
            if sum(member.file_size for member in members) > size or any(
                member.compress_type != zipfile.ZIP_STORED for member in members
            ):
                raise _Unreadable("it is compressed, which save never does")
            return {member.filename: archive.read(member) for member in members}
    except _DAMAGED as error:
        raise _Unreadable(f"it is cut off or damaged: {error}; get a whole copy") from error


_DAMAGED: Final = (zipfile.BadZipFile, ArithmeticError, EOFError, OSError, RuntimeError, ValueError)
"""The errors of zipfile about bytes that are not a zip file, or a damaged one."""


def _facts_of(text: bytes) -> dict[str, Any]:
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"{FACTS} in it is not JSON: {error}") from error
    version = _int(facts, "format", 1)
    if version > FORMAT:
        raise _Unreadable(
            f"it has format {version}, of tracetime {facts.get('tracetime')!r}, and this is "
            f"{__version__}, which knows {FORMAT}: upgrade tracetime"
        )
    assert isinstance(facts, dict)
    return facts


def _rows_of(members: dict[str, bytes]) -> list[npt.NDArray[Any]]:
    """The columns of `ROWS` and `OPTIONAL` as contiguous arrays; defaults where one is left out."""
    found = {}
    for name, kind, _ in (*((name, kind, 0) for name, kind in ROWS), *OPTIONAL):
        if f"{name}.npy" in members:
            found[name] = _array_of(members[f"{name}.npy"], name, kind)
    n = len(found["snapshot"])
    if any(len(values) != n for values in found.values()):
        raise _Unreadable("its columns are not equally long")
    for name, kind, default in OPTIONAL:
        if name not in found:
            found[name] = np.broadcast_to(np.array(default, dtype=kind), n)
    return [found[name] for name, *_ in (*ROWS, *OPTIONAL)]


def _array_of(data: bytes, name: str, kind: str) -> npt.NDArray[Any]:
    head = _ARRAY.match(data)
    if head is None or head[1].decode() != kind:
        raise _Unreadable(f"{name} in it is not an array of {np.dtype(kind).name}")
    if len(data) - head.end() != int(head[2]) * np.dtype(kind).itemsize:
        raise _Unreadable(f"{name} in it is not an array of {head[2].decode()} values")
    return np.frombuffer(data, kind, offset=head.end())


def _check_rows(
    columns: Values, clock_of_row: npt.NDArray[np.uint32], half: Values, scaled_ppm: Values
) -> None:
    counts = columns[:, 2]
    n = len(clock_of_row)
    if not ((counts >= 0) & (counts <= n)).all() or counts.sum() != n:
        raise _Unreadable(f"its columns do not have {n} readings, as its rows do")
    if not np.array_equal(clocks_of_rows(columns), clock_of_row):
        raise _Unreadable("its rows and columns have different clocks")
    if (half < -1).any():
        raise _Unreadable("a half-width is negative")
    off = (scaled_ppm > MOST_SCALED_PPM) | (scaled_ppm < -MOST_SCALED_PPM)
    if (off & (scaled_ppm != NOT_RECORDED)).any():
        raise _Unreadable("the frequency of a clock is off by more than 10 %")


def _packets_of(
    facts: dict[str, Any], snapshots: npt.NDArray[np.uint32], packets: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """The packet of each snapshot, by its number: no number is left out."""
    n = _int(facts, "snapshots", 0)
    unread = _integers(_get(facts, "without_readings", list), "without_readings", 2)
    # Checked before memory is allocated for them.
    if n > len(snapshots) + len(unread):
        raise _Unreadable(f"it has {n} snapshots, and too few readings for them")
    if len(snapshots) and int(snapshots.max()) >= n:
        raise _Unreadable(f"it has {n} snapshots, and readings of more")
    found = np.zeros(n, dtype=np.uint64)
    found[snapshots] = packets
    if (found[snapshots] != packets).any():
        raise _Unreadable("a snapshot is in two packets")
    missing = np.ones(n, dtype=bool)
    missing[snapshots] = False
    if not np.array_equal(np.flatnonzero(missing), unread[:, 0]) or (unread[:, 1] < 0).any():
        raise _Unreadable("its list of snapshots without readings is wrong")
    found[unread[:, 0]] = unread[:, 1]
    return found


def _measured_of(
    clocks: list[ClockId],
    known: set[ClockId],
    columns: Values,
    snapshots: npt.NDArray[np.uint32],
    read: Read,
    scaled_ppm: Values,
) -> Measured:
    """The bounds within which the rows were read; clocks: those that `columns` name."""
    parts: dict[ClockId, list[slice]] = {}
    start = 0
    for clock, _, n in columns.tolist():
        parts.setdefault(clocks[clock], []).append(slice(start, start := start + n))
    measured, corrected = {}, {}
    for clock, rows in parts.items():
        numbers, centre, half, scaled = (
            np.concatenate([values[part] for part in rows]) if len(rows) > 1 else values[rows[0]]
            for values in (snapshots, read.centre, read.half, scaled_ppm)
        )
        order = np.argsort(numbers, kind="stable") if len(rows) > 1 else slice(None)
        numbers, centre, half, scaled = (v[order] for v in (numbers, centre, half, scaled))
        known_rows = (centre != 0) | (half != -1)
        if known_rows.any():
            own = Read(centre[known_rows], half[known_rows])
            measured[clock] = Column(numbers[known_rows].astype(np.int64), own)
        known_rows = scaled != NOT_RECORDED
        if known_rows.any():
            corrected[clock] = Corrected(numbers[known_rows].astype(np.int64), scaled[known_rows])
    return Measured(measured, corrected=corrected, known=known)


def _between_of(facts: dict[str, Any], members: dict[str, bytes], snapshots: int) -> Between:
    """The bounds of clocks that were not read together; files of format 1 have none."""
    pairs = _pairs_of(facts, "between", "bounds") if _int(facts, "format") > 1 else []
    empty = {name: np.empty(0, dtype=kind) for name, kind in (*BETWEEN, WORKED_OUT)}
    number, *columns, worked_out = (
        _array_of(members[f"{name}.npy"], name, kind) if f"{name}.npy" in members else empty[name]
        for name, kind in (*BETWEEN, WORKED_OUT)
    )
    n = len(number)
    if any(len(values) != n for values in columns):
        raise _Unreadable("the columns of its bounds are not equally long")
    snapshot, one_low, one_high, other_low, other_high = columns
    for which, most in ((number, len(pairs)), (snapshot, snapshots), (worked_out, snapshots)):
        if len(which) and int(which.max()) >= most:
            raise _Unreadable("it has bounds of clocks or snapshots that it does not have")
    for low, high in ((one_low, one_high), (other_low, other_high)):
        if not ((low <= high) & (high.view("<u8") - low.view("<u8") <= LONGEST_NS)).all():
            raise _Unreadable("a bound in it is reversed, or too wide")
    counts = np.bincount(number, minlength=len(pairs))
    if not counts.all():
        raise _Unreadable("it names two clocks as bounded, and has no bounds of them")
    order = np.argsort(number, kind="stable")
    boxes = Boxes(*(values[order].astype(np.int64) for values in columns))
    return Between(pairs, boxes, np.cumsum(counts), worked_out)


def _pairs_of(facts: dict[str, Any], name: str, what: str) -> list[tuple[ClockId, ClockId]]:
    """Pairs of two clocks, each once, in either order."""
    pairs: list[tuple[ClockId, ClockId]] = []
    known: set[frozenset[ClockId]] = set()
    for pair in _get(facts, name, list):
        if not (isinstance(pair, list) and len(pair) == 2):
            raise _Unreadable(f"it has {what} of something other than two clocks")
        part = f"clock of {what}"
        one, other = (_id_of({part: clock}, part) for clock in pair)
        both = frozenset((one, other))
        if one == other or both in known:
            raise _Unreadable(f"it has {what} of {one} and {other}, or has them twice")
        known.add(both)
        pairs.append((one, other))
    return pairs


def _orders_of(facts: dict[str, Any], members: dict[str, bytes]) -> Orders:
    """The orders; files of format 2 and before have none."""
    pairs = _pairs_of(facts, "orders", "orders") if _int(facts, "format") > 2 else []
    if not pairs:
        if any(f"{name}.npy" in members for name, _ in ORDERS):
            raise _Unreadable("it has orders, and does not say of which clocks")
        return Orders()
    if not all(f"{name}.npy" in members for name, _ in ORDERS):
        raise _Unreadable("it names two clocks as in order, and lacks columns of their orders")
    number, one_first, *columns = (
        _array_of(members[f"{name}.npy"], name, kind) for name, kind in ORDERS
    )
    if any(len(values) != len(number) for values in (one_first, *columns)):
        raise _Unreadable("the columns of its orders are not equally long")
    if len(number) and int(number.max()) >= len(pairs):
        raise _Unreadable("it has orders of clocks that it does not have")
    if not np.bincount(number, minlength=len(pairs)).all():
        raise _Unreadable("it names two clocks as in order, and has no orders of them")
    _, _, least, most = columns
    if (one_first > 1).any() or (least < 0).any() or (np.maximum(least, most) > LONGEST_NS).any():
        raise _Unreadable("an order in it has no direction, or a delay out of range")
    if ((most < least) & (most != NO_MAX_DELAY)).any():
        raise _Unreadable("an order in it has a greatest delay below its least")
    own = (values.astype(np.int64) for values in columns)
    return Orders(pairs, OrderColumns(number.astype(np.int64), one_first.astype(bool), *own))


def _events_of(entry: dict[str, Any]) -> EventReadings:
    """A clock's readings in events: how many differ, how many repeat, and some of them."""
    numbers = _integers(_get(entry, "events", list), "events")
    if len(numbers) < 2 or numbers[:2].min() < 0:
        raise _Unreadable("a clock has events without their numbers")
    return EventReadings(numbers[2:], int(numbers[0]), int(numbers[1]))


def _domain_of(facts: Any) -> ClockDomain:
    given = {
        field.name: _get(facts, field.name, object)
        for field in fields(ClockDomain)
        if field.name != "is_placed" or field.name in facts
    }
    rate = given["ns_per_tick"]
    try:
        if rate is not None:
            numerator, denominator = _get(facts, "ns_per_tick", str).split("/")
            given["ns_per_tick"] = Fraction(int(numerator), int(denominator))
        return ClockDomain(**given | {"id": _id_of(facts, "id")})
    except (UsageError, ValueError, ZeroDivisionError) as error:
        raise _Unreadable(f"one of its domains: {error}") from error


def _id_of(facts: dict[str, Any], name: str) -> ClockId:
    parts = _get(facts, name, dict)
    try:
        return ClockId(**{part: _int(parts, part) for part in CLOCK_ID})
    except UsageError as error:
        raise _Unreadable(f"its {name}: {error}") from error


def _get(facts: Any, name: str, kind: type) -> Any:
    """The value of a name in a JSON object, of a type."""
    if not isinstance(facts, dict) or name not in facts:
        raise _Unreadable(f"it lacks {name!r}")
    value = facts[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _Unreadable(f"its {name!r} is not of type {kind.__name__}")
    return value


def _int(facts: Any, name: str, least: int = INT64_MIN, most: int = INT64_MAX) -> int:
    value: int = _get(facts, name, int)
    if not least <= value <= most:
        raise _Unreadable(f"it has {name!r} out of range")
    return value


def _integers(values: list[Any], name: str, width: int | None = None) -> Values:
    """A list of ints, or of lists of `width` ints, as an array: int64[n] or int64[n, width]."""
    if width is not None:
        if not all(isinstance(row, list) and len(row) == width for row in values):
            raise _Unreadable(f"it has no lists of {width} numbers as {name!r}")
        values = [value for row in values for value in row]
    # By type, since NumPy takes floats, bools and digits, too.
    if not set(map(type, values)) <= {int}:
        raise _Unreadable(f"it has no list of whole numbers as {name!r}")
    try:
        array = np.array(values, dtype=np.int64)
    except OverflowError as error:
        raise _Unreadable(f"it has {name!r} out of range") from error
    return array if width is None else array.reshape(-1, width)
