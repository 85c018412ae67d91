"""The clocks of a journal: REALTIME of each machine, and MONOTONIC of each boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import posix_oscillator
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.errors import TraceError
from tracetime.formats.journal.backwards import backwards
from tracetime.formats.journal.entries import Columns, Entries
from tracetime.formats.record_trace import FileClocks
from tracetime.graph.adding import add_readings
from tracetime.graph.graph import ClockGraph

Values = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
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
    """What a journal says of its clocks.

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
    times: dict[Boot, list[Values]] = {}
    for batch in batches:
        monotonic_us, realtime_us = (batch.columns[name] for name in _TIMES)
        for boot, rows in by_boot(batch.columns):
            found = np.array([monotonic_us[rows], realtime_us[rows], rows + batch.first])
            times.setdefault(boot, []).append(found[:, found[0] >= 0])
        if 2 * len(times) > most_clocks:
            raise TraceError(
                f"the journal has entries of {len(times)} boots, whose clocks are more than "
                f"{most_clocks}; if it really has, raise the limit (--max-clocks)"
            )
    boots = _clocks_of(list(times))
    graph = ClockGraph(domains=[one for boot in times for one in _domains(boots[boot], boot)])
    packets = [np.empty(0, np.int64)]
    read = {boot: _by_monotonic(np.concatenate(parts, axis=1)) for boot, parts in times.items()}
    for boot, entries in read.items():
        if boots[boot].monotonic is not None:
            packets.append(_add(graph, boots[boot], entries))
    machines = list(range(len({boot[:2] for boot in times}) or 1))
    of_file = FileClocks(graph, ClockId(_REALTIME), machines)
    known = {boot: entries for boot, entries in read.items() if boot[2:] != _NO_ID}
    late = backwards(known)
    of_those = [
        f"boot {_hex(boot[2:])}"
        for boot, entries in known.items()
        if len(late) and np.isin(entries[2], late).any()
    ]
    numbers = np.concatenate(packets).astype(np.uint64)
    return JournalClocks(of_file, boots, numbers, late, of_those)


def by_boot(columns: Columns) -> list[tuple[Boot, Rows]]:
    """Return the rows of each boot, in order of appearance."""
    ids = np.array([columns[f"{of}_{half}"] for of in ("machine", "boot") for half in _HALVES])
    # Entries of a boot follow each other: few stretches, of which to find the different ones.
    starts = np.flatnonzero((ids[:, 1:] != ids[:, :-1]).any(axis=0)) + 1
    found: dict[Boot, list[Rows]] = {}
    for rows in np.split(np.arange(ids.shape[1]), starts):
        machine_high, machine_low, high, low = ids[:, rows[0]].tolist()
        found.setdefault((machine_high, machine_low, high, low), []).append(rows)
    return [(boot, np.concatenate(rows)) for boot, rows in found.items()]


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
        monotonic = None if boot[2:] == _NO_ID else ClockId(number, machine=machine)
        clocks[boot] = BootClocks(ClockId(_REALTIME, machine=machine), monotonic)
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


def described(clocks: JournalClocks) -> dict[str, object]:
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


def _hex(halves: tuple[int, ...]) -> str | None:
    """An id of 128 bits as systemd writes it; None for none."""
    return None if halves == _NO_ID else "".join(f"{half % 2**64:016x}" for half in halves)


def _domains(clocks: BootClocks, boot: Boot) -> Iterator[ClockDomain]:
    """What is declared of the clocks of a boot."""
    yield _WALL.of_another(clocks.realtime)
    if clocks.monotonic is not None:
        named = clocks.monotonic.clock != _MONOTONIC
        yield _STEADY.of_another(clocks.monotonic, _name(boot) if named else None)


def _add(graph: ClockGraph, clocks: BootClocks, read: Values) -> Values:
    """Add a snapshot of each entry; return the entries.

    read: as `_by_monotonic` returns it.
    """
    assert clocks.monotonic is not None
    if read.size:
        add_readings(
            graph._parts,
            [clocks.realtime, clocks.monotonic],
            np.ascontiguousarray(read[1::-1].T) * 1000,
        )
    entries: Values = read[2]
    return entries


def _by_monotonic(read: Values) -> Values:
    """Monotonic and realtime in us, and the index, by MONOTONIC: `journalctl -r` has another."""
    if (read[0, 1:] < read[0, :-1]).any():
        read = read[:, np.lexsort((read[1], read[0]))]
    return read
