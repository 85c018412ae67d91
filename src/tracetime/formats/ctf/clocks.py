"""The clocks of CTF traces: which of them are one, of which machine, and how far from REALTIME."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import LONGEST_NS, ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN, Snapshot
from tracetime.errors import TraceError
from tracetime.formats.record_trace import FileClocks
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.values import Values
from tracetime.text import count
from tracetime.trace.notes import Note

# Events that traces of one session have in common: those of snapshots that overlap.


_FEW: Final = 3
_HALF: Final = 0.5
"""So many events at the same ns are no chance, if they are half of those that could be."""


def identity_of(facts: Mapping[str, Any]) -> str:
    """The identity of a trace's session, by the worker's facts on it; "" if they are too few.

    LTTng names there the host, the tracer, the domain, and when the session was created.
    """
    clock, environment = facts["clock"], facts["environment"]
    if clock is None or not environment:
        return ""
    return json.dumps([environment, clock["uuid"]], sort_keys=True, default=str)


class Copies:
    """Events of traces of one session, while they are read.

    identities: of the traces, by number; "" of those that say too little.
    """

    def __init__(self, identities: Sequence[str]) -> None:
        numbers: dict[str, list[int]] = {}
        for number, identity in enumerate(identities):
            numbers.setdefault(identity, []).append(number)
        self._alike = [some for one, some in numbers.items() if one and len(some) > 1]
        self._times: dict[int, list[Values]] = {one: [] for some in self._alike for one in some}
        self._first: dict[int, int] = {}

    @property
    def are_possible(self) -> bool:
        """Whether two traces are of one session."""
        return bool(self._alike)

    def add(self, traces: npt.NDArray[np.uint32], ns: Values, first: int) -> None:
        """Take the events that follow: their traces, their times, and the number of the first."""
        for number, times in self._times.items():
            rows = np.flatnonzero(traces == number)
            if len(rows):
                self._first.setdefault(number, first + int(rows[0]))
                times.append(ns[rows])

    def told(self) -> Iterator[Note]:
        """Yield the notes on events that are there twice."""
        twice, at = 0, []
        for some in self._alike:
            known = np.empty(0, np.int64)
            for number in some:
                ns = np.concatenate([known[:0], *self._times[number]])
                again = _again(ns, known)
                if again:
                    twice += again
                    at.append(self._first[number])
                known = np.union1d(known, ns)
        if not twice:
            return
        text = (
            f"{count(twice, 'event')} twice: snapshots of one session overlap; read each alone (it "
            "has a directory of its own)"
        )
        yield Note("parts-passed-over", values={"what": text, "first": min(at)})


def _again(ns: Values, known: Values) -> int:
    """The number of a trace's times that others have, too; 0 where that may be by chance."""
    if not len(known):
        return 0
    within = ns[(ns >= known[0]) & (ns <= known[-1])]
    again = int(np.isin(within, known).sum())
    return again if again >= max(_FEW, _HALF * len(within)) else 0


BETWEEN_READS_NS: Final = 50_000
"""How far off a tracer's offset from REALTIME is assumed to be: it reads one clock after the other,
and may be interrupted."""

_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]
_REALTIME: Final = BUILTIN_IDS["REALTIME"]
_SECOND_NS: Final = 1_000_000_000
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(eq=False, slots=True)
class TracedClock:
    """The clock of a trace, as its metadata describe it.

    Attributes:
        name: of the clock, such as `ctf.cycles`; None for Linux' MONOTONIC.
        identity: equal for clocks that are one.
        host: the machine, where the trace names it.
        tick_ns: what it steps by.
        cut_off_ns: by how much, at most, it may have read more than an event's whole ns.
        offset_ns: REALTIME less this clock; None where the trace does not say.
        first_ns: of its first event; None without events.
        clock: its id.
    """

    name: str | None
    identity: str
    host: str | None
    tick_ns: float
    cut_off_ns: int
    offset_ns: int | None
    first_ns: int | None = None
    clock: ClockId = field(default_factory=lambda: ClockId(_MONOTONIC))

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> TracedClock | None:
        """The clock of a trace whose facts are these (see `worker`); None where it has none."""
        given, environment = facts["clock"], facts["environment"]
        if given is None:
            return None
        host = environment.get("hostname")
        host = host if isinstance(host, str) else None
        is_lttng = str(environment.get("tracer_name", "")).startswith("lttng")
        # LTTng's is the id of the boot; that of others may be the same on many devices.
        of_host = "" if is_lttng or host is None else f" of {host}"
        is_monotonic = is_lttng and given["name"] == "monotonic"
        tick_cycles = max(1, given["precision"])
        whole_ns, more = divmod(tick_cycles * _SECOND_NS, given["frequency"])
        offset_ns = (
            given["offset_s"] * _SECOND_NS
            + given["offset_cycles"] * _SECOND_NS // given["frequency"]
        )
        return cls(
            None if is_monotonic else f"ctf.{_NO_NAME.sub('_', given['name']) or 'clock'}",
            # Of one identity, clocks of different frequencies are not one.
            f"{given['uuid'] or facts['folder']} {given['frequency']}{of_host}",
            host,
            min(max(1.0, _SECOND_NS / given["frequency"] * tick_cycles), LONGEST_NS),
            # Where a tick is no whole number of ns, the event was cut off, too.
            min(whole_ns + 1 if more else whole_ns - 1, LONGEST_NS),
            offset_ns or None,
        )

    def snapshot(self) -> Snapshot:
        """The readings of the clock and of REALTIME at one instant, as far as the trace has them.

        MONOTONIC and REALTIME run at one rate, so that their offset holds until REALTIME is set:
        it is taken where the events begin. Of another clock nobody knows when its offset was read:
        it is taken at the clock's zero, as CTF defines it, so that bars grow from there.

        Raises:
            TraceError: they do not fit in int64.
        """
        at = self.first_ns or 0 if self.clock.clock == _MONOTONIC else 0
        if self.offset_ns is None:
            return Snapshot({self.clock: at})
        if not INT64_MIN <= at + self.offset_ns <= INT64_MAX:
            raise TraceError(
                f"the offset of clock {self.clock}, {self.offset_ns} ns, does not fit in 64 bits: "
                "the metadata are damaged"
            )
        return Snapshot({self.clock: at, self.realtime: at + self.offset_ns})

    @property
    def realtime(self) -> ClockId:
        """The id of REALTIME of the clock's machine."""
        return ClockId(_REALTIME, machine=self.clock.machine)


class _Machine(NamedTuple):
    """A machine while it was up: its name, if any, and the identity of each of its clocks."""

    host: str | None
    clocks: dict[str | None, str]

    def has(self, clock: TracedClock) -> bool:
        """Whether a clock is, or may be, of this machine."""
        named = self.host is not None and self.host == clock.host
        same = clock.identity in self.clocks.values()
        return (named or same) and self.clocks.get(clock.name, clock.identity) == clock.identity


def give_ids(clocks: Iterable[TracedClock]) -> int:
    """Give clocks their ids; returns the number of their machines.

    Clocks of one name and identity are one. Machines are told apart by their names, and by clocks
    that differ: a machine that was booted again counts as another one.
    """
    machines: list[_Machine] = []
    for clock in clocks:
        found = next((n for n, machine in enumerate(machines) if machine.has(clock)), None)
        if found is None:
            found = len(machines)
            machines.append(_Machine(clock.host, {}))
        machines[found].clocks[clock.name] = clock.identity
        number = _MONOTONIC if clock.name is None else clock_id(clock.name)
        clock.clock = ClockId(number, machine=found)
    return len(machines)


def file_clocks(clocks: list[TracedClock], most_clocks: int) -> FileClocks:
    """Return the graph of clocks, which have their ids by then. Trace time is the first's.

    Raises:
        TraceError: there are more clocks than that; an offset does not fit in int64.
    """
    machines = give_ids(clocks)
    if 2 * len(clocks) > most_clocks:
        raise TraceError(
            f"the trace has {len(clocks)} clocks, and REALTIME of each machine: if it really has, "
            "raise the limit (max_clocks, --max-clocks)"
        )
    graph = ClockGraph()
    for clock in clocks:
        graph.declare(ClockDomain(clock.clock, name=clock.name, tick_ns=clock.tick_ns))
        if clock.offset_ns is not None:
            graph.declare(ClockDomain(clock.realtime, assumed_half_width_ns=BETWEEN_READS_NS))
    known = set()
    for clock in sorted(clocks, key=lambda clock: (clock.first_ns or 0, clock.offset_ns or 0)):
        if (clock.clock, clock.offset_ns) not in known:
            graph.add_snapshot(clock.snapshot())
            known.add((clock.clock, clock.offset_ns))
    with_events = (clock.clock for clock in clocks if clock.first_ns is not None)
    every = (clock.clock for clock in clocks)
    trace_clock = next(with_events, None) or next(every, ClockId(_MONOTONIC))
    return FileClocks(graph, trace_clock, list(range(max(machines, 1))))
