"""The clocks of a journal: REALTIME of each machine, and MONOTONIC of each boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.journal import read_entries
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import posix_oscillator
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.errors import TraceError
from tracetime.formats.record_trace import FileClocks
from tracetime.formats.trace_file import TraceFile, blocks
from tracetime.graph.adding import add_readings
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.values import Values

# Entries of a journal in batches of columns, and errors for what is no entry.

LONGEST_ENTRY: Final = 64 << 20
"""Bytes of one entry; systemd cuts a core dump in a field at 32 MiB unless told otherwise."""

_INCOMPLETE: Final = 1
_TOO_LONG: Final = 3
_BEYOND: Final = 7
FAULTS: Final = {
    _INCOMPLETE: "the journal is cut off within an entry: export it again",
    2: "no field of a journal stands here, NAME=text or NAME and a length: the file is damaged, "
    "or not from `journalctl -o export`",
    _TOO_LONG: f"an entry is longer than {LONGEST_ENTRY >> 20} MiB: the file is damaged, or has "
    "data that is no log; export fewer fields (journalctl --output-fields)",
    4: "no line end follows a field with a length: the file is damaged",
    5: "a timestamp or an id is not one: __REALTIME_TIMESTAMP and __MONOTONIC_TIMESTAMP are "
    "whole us, _BOOT_ID and _MACHINE_ID 32 hexadecimal digits",
    6: "an entry has no __REALTIME_TIMESTAMP: export the journal with `journalctl -o export`",
    _BEYOND: "a timestamp is beyond the year 2262: it does not fit in int64 ns",
}
"""What is wrong, by the kernel's number; the last is found here."""

_MOST_US: Final = (2**63 - 1) // 1000


Columns = dict[str, Values]


class Entries(NamedTuple):
    """Entries that follow each other.

    Attributes:
        data: the bytes that hold them.
        columns: as the kernel's `read_entries` returns them.
        first: the index of the first of them in the file.
        offset: of the first byte of data.
        position: the byte of the file that has been reached.
    """

    data: bytes
    columns: Columns
    first: int
    offset: int
    position: int


def entries(file: TraceFile, max_expansion: int) -> Iterator[Entries]:
    """Yield the entries of a file; those before a fault come before its error.

    Raises:
        TraceError: it is cut off or damaged.
    """
    pending = b""
    first = offset = 0
    for fresh, position, is_end in blocks(file, max_expansion):
        data = pending + fresh
        columns, whole, at, fault = read_entries(data, LONGEST_ENTRY)
        if fault == _INCOMPLETE and not is_end:
            fault = _TOO_LONG if len(data) - whole > LONGEST_ENTRY else 0
        columns, at, fault = _within_int64(columns, at, fault)
        n = len(columns["start"])
        if n:
            yield Entries(data, columns, first, offset, position)
        first += n
        if fault:
            raise TraceError(FAULTS[fault], offset + at, first)
        pending, offset = data[whole:], offset + whole


def _within_int64(columns: Columns, at: int, fault: int) -> tuple[Columns, int, int]:
    """Entries up to the first whose times in ns do not fit."""
    beyond = (columns["realtime_us"] > _MOST_US) | (columns["monotonic_us"] > _MOST_US)
    if not beyond.any():
        return columns, at, fault
    end = int(beyond.argmax())
    at = int(columns["start"][end])
    return {name: column[:end] for name, column in columns.items()}, at, _BEYOND


USUAL_US: Final = 10**6
"""NTP may set the clock by so much between two boots without a fault."""


def backwards(boots: Mapping[tuple[int, int, int, int], Values]) -> Values:
    """Return the entries that are over 1 s before the end of a boot that began before theirs.

    A machine has one boot at a time: where two overlap, one of them had a clock that was wrong. A
    journal in reverse order (`journalctl -r`) is no different. A step within a boot is seen by
    its two clocks, and not told here. Boots that do not overlap follow each other in the file as
    they did: one that is wholly before those before it had a clock that was not set.

    boots: by the halves of a machine's id and of a boot's, monotonic and realtime in us and the
        index of each entry.
    """
    machines: dict[tuple[int, ...], list[Values]] = {}
    for boot, read in boots.items():
        if read.size:
            machines.setdefault(boot[:2], []).append(read)
    found = [np.empty(0, np.int64)]
    for boots_of in machines.values():
        if len(boots_of) == 1:
            continue
        sizes = np.array([read.shape[1] for read in boots_of])
        ends = np.cumsum(sizes)
        _, realtime_us, entries = np.concatenate(boots_of, axis=1)
        first_us, last_us, first, last = (
            of.reduceat(column, ends - sizes)
            for column in (realtime_us, entries)
            for of in (np.minimum, np.maximum)
        )
        latest_us = _before(first_us, last_us)
        found.append(entries[realtime_us < np.repeat(latest_us, sizes) - USUAL_US])
        # Boots that are wholly before one that comes before them in the file.
        is_reversed = np.sign(entries[ends - 1] - entries[ends - sizes]).sum() < 0
        latest_us = _before(-last if is_reversed else first, last_us)
        found.append(entries[np.repeat(last_us < latest_us - USUAL_US, sizes)])
    return np.unique(np.concatenate(found))


def _before(rank: Values, last_us: Values) -> Values:
    """The latest time before each boot, of boots that come before it by rank; 0 for the first."""
    order = np.argsort(rank, kind="stable")
    latest_us = np.empty_like(last_us)
    latest_us[order] = np.maximum.accumulate(np.append(0, last_us[order]))[:-1]
    return latest_us


Boot = tuple[int, int, int, int]
"""The halves of a machine's id, and of a boot's."""

BETWEEN_READS_NS: Final = 50_000
"""How far apart journald is assumed to read the two clocks of an entry, in whole us each."""

_NO_ID: Final = (0, 0)
_HALVES: Final = ("high", "low")
_TIMES: Final = ("monotonic_us", "realtime_us")
_REALTIME: Final = BUILTIN_IDS["REALTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]

# journald writes whole us; the kernel runs both clocks at one rate. NTP slews both alike: REALTIME
# is MONOTONIC and an offset that changes where it is set, at a leap second, and over a suspend.
# Counted in the seconds of either, the other does not drift.
_WALL: Final = ClockDomain(ClockId(_REALTIME), tick_ns=1000, max_drift_ppm=0)
_STEADY: Final = ClockDomain(
    ClockId(_MONOTONIC),
    tick_ns=1000,
    max_drift_ppm=0,
    oscillator=posix_oscillator(0),
    disciplined=True,
    assumed_half_width_ns=BETWEEN_READS_NS,
)


class BootClocks(NamedTuple):
    """REALTIME of a machine, and MONOTONIC of its boot: None for entries that name no boot."""

    realtime: ClockId
    monotonic: ClockId | None


class JournalClocks(NamedTuple):
    """The clocks of a journal.

    Attributes:
        of_file: graph, trace clock and machines.
        boots: by boot, its clocks.
        packets: uint64: the entry that each snapshot of the graph is.
        backwards: int64: the entries that are before the end of an earlier boot.
        boots_backwards: the ids of their boots.
    """

    of_file: FileClocks
    boots: dict[Boot, BootClocks]
    packets: npt.NDArray[np.uint64]
    backwards: Values
    boots_backwards: list[str]


def read_clocks(batches: Iterable[Entries], most_clocks: int) -> JournalClocks:
    """Return the clocks of entries, and a snapshot of each entry that has both clocks.

    Raises:
        TraceError: as what yields the entries; there are more than `most_clocks`.
    """
    numbers: dict[Boot, int] = {}
    read = [np.empty((4, 0), np.int64)]
    for batch in batches:
        which = boots_of(batch.columns, numbers)
        times = [batch.columns[name] for name in _TIMES]
        entries = np.array([*times, np.arange(batch.first, batch.first + len(which)), which])
        read.append(entries[:, entries[0] >= 0])
        if 2 * len(numbers) > most_clocks:
            raise TraceError(
                f"the journal has entries of {len(numbers)} boots, whose clocks are more than "
                f"{most_clocks}; if it really has, raise the limit (max_clocks, --max-clocks)"
            )
    boots = _clocks_of(list(numbers))
    walls = dict.fromkeys(clocks.realtime for clocks in boots.values())
    steady = (_domain_of(boot, clocks.monotonic) for boot, clocks in boots.items())
    graph = ClockGraph(domains=[*map(_WALL.of_another, walls), *filter(None, steady)])
    packets = [np.empty(0, np.int64)]
    of_boots = dict(zip(boots, _by_boot(np.concatenate(read, axis=1), len(boots)), strict=True))
    for boot, entries in of_boots.items():
        if boots[boot].monotonic is not None:
            packets.append(_add(graph, boots[boot], entries))
    machines = list(range(len({boot[:2] for boot in boots}) or 1))
    of_file = FileClocks(graph, ClockId(_REALTIME), machines)
    known = {boot: entries for boot, entries in of_boots.items() if boot[2:] != _NO_ID}
    late = backwards(known)
    is_late = np.zeros(int(late.max(initial=-1)) + 1, dtype=bool)
    is_late[late] = True
    of_those = [
        f"boot {_hex(boot[2:])}"
        for boot, entries in known.items()
        if len(late) and is_late[entries[2][entries[2] < len(is_late)]].any()
    ]
    taken = np.concatenate(packets).astype(np.uint64)
    return JournalClocks(of_file, boots, taken, late, of_those)


def boots_of(columns: Columns, numbers: dict[Boot, int]) -> Values:
    """Return the number of the boot of each entry; new boots get the next numbers."""
    ids = np.array([columns[f"{of}_{half}"] for of in ("machine", "boot") for half in _HALVES])
    # Entries of a boot follow each other: few stretches, of which to find the different ones.
    begins = np.append(True, (ids[:, 1:] != ids[:, :-1]).any(axis=0))[: ids.shape[1]]
    of_stretches = [
        numbers.setdefault((machine_high, machine_low, high, low), len(numbers))
        for machine_high, machine_low, high, low in ids[:, begins].T.tolist()
    ]
    found: Values = np.array(of_stretches, dtype=np.int64)[np.cumsum(begins) - 1]
    return found


def _clocks_of(boots: list[Boot]) -> dict[Boot, BootClocks]:
    """MONOTONIC where a machine has one boot; else a clock for each, named after it."""
    machines = {boot[:2]: 0 for boot in boots}
    machines = {machine: index for index, machine in enumerate(machines)}
    known = Counter(boot[:2] for boot in boots if boot[2:] != _NO_ID)
    clocks: dict[Boot, BootClocks] = {}
    taken: set[ClockId] = set()
    for boot in boots:
        machine = machines[boot[:2]]
        number = _MONOTONIC if known[boot[:2]] == 1 else clock_id(_name(boot))
        monotonic = None if boot[2:] == _NO_ID else ClockId.of_trace(number, 0, machine, 0)
        clocks[boot] = BootClocks(ClockId.of_trace(_REALTIME, 0, machine, 0), monotonic)
        if monotonic in taken:
            raise TraceError(
                f"boot {_name(boot)} has the clock number of another one: export the journal of "
                "each boot to a file of its own (journalctl --boot)"
            )
        if monotonic is not None:
            taken.add(monotonic)
    return clocks


def _name(boot: Boot) -> str:
    """The name of MONOTONIC of one boot of several."""
    return f"monotonic.{_hex(boot[2:])}"


def describe_clocks(clocks: JournalClocks) -> dict[str, object]:
    """The ids of machines and boots, and the clocks that they have."""
    return {
        "boots": [
            {
                "machine_id": _hex(boot[:2]),
                "boot_id": _hex(boot[2:]),
                "realtime": str(one.realtime),
                "monotonic": None
                if one.monotonic is None
                else clocks.of_file.graph.name(one.monotonic),
            }
            for boot, one in clocks.boots.items()
        ]
    }


def _hex(halves: tuple[int, int]) -> str | None:
    """An id of 128 bits as systemd writes it; None for none."""
    high, low = halves
    return None if halves == _NO_ID else f"{high % 2**64:016x}{low % 2**64:016x}"


def _domain_of(boot: Boot, monotonic: ClockId | None) -> ClockDomain | None:
    """The declared domain of MONOTONIC of a boot."""
    if monotonic is None:
        return None
    return _STEADY.of_another(monotonic, None if monotonic.clock == _MONOTONIC else _name(boot))


def _add(graph: ClockGraph, clocks: BootClocks, read: Values) -> Values:
    """Add a snapshot of each entry; return the entries.

    read: as `_by_boot` returns it.
    """
    assert clocks.monotonic is not None
    if read.size:
        add_readings(
            inner(graph),
            [clocks.realtime, clocks.monotonic],
            np.ascontiguousarray(read[1::-1].T) * 1000,
        )
    entries: Values = read[2]
    return entries


def _by_boot(read: Values, n: int) -> list[Values]:
    """Monotonic and realtime in us and the index, of each of n boots.

    By MONOTONIC: `journalctl -r` has another order.

    read: the same, and the number of the boot, of every entry that has both times.
    """
    read = read[:, np.argsort(read[3], kind="stable")]
    ends = np.cumsum(np.bincount(read[3], minlength=n)).tolist()
    found = [read[:3, first:end] for first, end in pairwise([0, *ends])]
    falls = (read[0, 1:] < read[0, :-1]) & (read[3, 1:] == read[3, :-1])
    for boot in set(read[3, 1:][falls].tolist()):
        one = found[boot]
        found[boot] = one[:, np.lexsort((one[1], one[0]))]
    return found
