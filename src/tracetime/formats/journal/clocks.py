"""The clocks of a journal: REALTIME of each machine, and MONOTONIC of each boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
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
from tracetime.graph.clock_graph import ClockGraph, inner

Values = npt.NDArray[np.int64]
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
                f"{most_clocks}; if it really has, raise the limit (--max-clocks)"
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


def _hex(halves: tuple[int, int]) -> str | None:
    """An id of 128 bits as systemd writes it; None for none."""
    high, low = halves
    return None if halves == _NO_ID else f"{high % 2**64:016x}{low % 2**64:016x}"


def _domain_of(boot: Boot, monotonic: ClockId | None) -> ClockDomain | None:
    """What is declared of MONOTONIC of a boot."""
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
