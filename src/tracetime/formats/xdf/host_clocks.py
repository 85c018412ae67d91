"""The clocks of an XDF file: one for each host that sends streams, measured against the recorder's.

LSL stamps samples by a clock of the host (a steady one, which begins anew when the host starts),
and the recorder writes for each stream, every 5 s, how far that clock is from its own. Streams of
one hostname share a clock where their offsets agree. A host that started anew has another clock
from then on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.formats.xdf.seconds import Seconds, Values, nanoseconds, step_ns
from tracetime.formats.xdf.stream_header import StreamHeader
from tracetime.graph.graph import ClockGraph
from tracetime.quantiles import quantile

RECORDER: Final = "MONOTONIC"
"""Trace time: the steady clock of the host that recorded, which LSL calls local_clock."""

LEAST_HALF_WIDTH_NS: Final = 200_000
"""What liblsl's manual says of lsl_time_correction: within 0.2 ms on a wired network."""

_APART_NS: Final = 1_000_000_000

_SHARED_NS: Final = 10_000_000
"""Offsets of one clock jump by less; LSL's manual puts them within 1 ms, and Wi-Fi delays more."""

_RESET_NS: Final = 1_000_000_000
"""A clock that jumps by more began anew: pyxdf's clock_reset_threshold_offset_seconds."""

_DRIFT: Final = 1.6e-3
"""How fast two steady clocks may drift apart: each is slewed by 500 ppm at most."""

_MOST_CHARACTERS: Final = 64
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


class Pings(NamedTuple):
    """Readings of a host's clock and the recorder's, in the order of the latter.

    Attributes:
        host_ns, recorder_ns: int64, simultaneous.
        packet: int64, the chunk that each stands in.
    """

    host_ns: Values
    recorder_ns: Values
    packet: Values

    @classmethod
    def of(cls, when: Seconds, offset: Seconds, packet: Values) -> Pings:
        """The pings of ClockOffset chunks, all of which are times.

        LabRecorder asks every 5 s, and LSL answers with the last offset that it measured: where
        a host is gone, with the same one for ever. An offset that is the one before, to the last
        bit, is no other measurement, unless all are one, and nobody measured.
        """
        fresh = np.ones(len(offset), np.bool_)
        if (offset != offset[:1]).any():
            fresh[1:] = offset[1:] != offset[:-1]
        host_ns = nanoseconds(when[fresh])
        return cls(host_ns, host_ns + nanoseconds(offset[fresh]), packet[fresh]).sorted()

    def sorted(self) -> Pings:
        """In the order of the recorder's clock."""
        return self.rows(np.argsort(self.recorder_ns, kind="stable"))

    def rows(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Pings:
        """Some of them."""
        return Pings(*(column[rows] for column in self))

    def joined(self, other: Pings) -> Pings:
        """These and others."""
        pairs = zip(self, other, strict=True)
        return Pings(*(np.concatenate(pair) for pair in pairs)).sorted()

    @property
    def offset_ns(self) -> Values:
        """How far the recorder's clock is ahead of the host's."""
        return self.recorder_ns - self.host_ns

    def jumps(self, least_ns: int) -> npt.NDArray[np.bool_]:
        """Whether the offset jumps from each to the next, by more than this and the drift."""
        allowed = least_ns + np.ceil(np.diff(self.recorder_ns) * _DRIFT)
        jumps: npt.NDArray[np.bool_] = np.abs(np.diff(self.offset_ns)) > allowed
        return jumps


class HostClock(NamedTuple):
    """The clock of a host, and of every time that it started.

    Attributes:
        machine: the index of the host.
        host: its name in names of clocks.
        pings: all of them.
        boots: int64, which start each ping belongs to, from 0; -1 of one that fits none.
    """

    machine: int
    host: str
    pings: Pings
    boots: Values

    @property
    def n_boots(self) -> int:
        """How many starts there are; 0 without pings."""
        return int(self.boots.max(initial=-1)) + 1

    @property
    def _clocks(self) -> tuple[int | None, ...]:
        """The clock of the host, None, and where it started anew those of the starts."""
        return (None, *(range(self.n_boots) if self.n_boots > 1 else ()))

    def clock(self, boot: int | None = None) -> str:
        """The clock of the host, or that of one of its starts, as `ClockId.parse` takes it."""
        which = "" if boot is None else f".boot{boot + 1}"
        return f"lsl.{self.host}{which}@machine{self.machine}"

    def add_to(self, graph: ClockGraph) -> list[Values]:
        """Add the pings to a graph, those of one second once, and return their packets.

        Where the host started anew, those of each start, too. Of several streams that are asked
        at once, the readings would seem to run backwards.
        """
        packets = []
        for boot in self._clocks:
            pings = self.pings if boot is None else self.pings.rows(self.boots == boot)
            if len(pings.packet):
                kept = pings.rows(_apart(pings))
                graph.add_snapshot({RECORDER: kept.recorder_ns, self.clock(boot): kept.host_ns})
                packets.append(kept.packet)
        return packets

    def domains(self) -> list[ClockDomain]:
        """What the file says of the clocks: names, ticks, and the half-width of the pings."""
        width_ns, tick_ns = self.half_width_ns(), step_ns(self.pings.host_ns)
        return [
            ClockDomain(clock, clock, tick_ns, assumed_half_width_ns=width_ns)
            for clock in map(self.clock, self._clocks)
        ]

    def half_width_ns(self) -> int:
        """How far off each ping may be: twice what all but a tenth are off the line between others.

        What is the same in all of them, such as a longer way there than back, scatters nothing.
        """
        first, between, last = (self.pings.rows(rows) for rows in _triples(self.boots))
        whole = np.maximum(last.recorder_ns - first.recorder_ns, 1)
        part = (between.recorder_ns - first.recorder_ns) / whole
        off = between.offset_ns - first.offset_ns - part * (last.offset_ns - first.offset_ns)
        if not len(off):
            return LEAST_HALF_WIDTH_NS
        return max(LEAST_HALF_WIDTH_NS, math.ceil(2 * quantile(np.abs(off), 0.9)))

    def clocks_of(self, packet: int, times: Values) -> npt.NDArray[np.uint32]:
        """The number of the clock that stamped each of some samples of one chunk.

        Between the last ping of one start and the first of the next, that of the ping whose
        reading is nearer to the timestamp.
        """
        if self.n_boots <= 1:
            return np.full(len(times), ClockId.parse(self.clock()).clock, np.uint32)
        known = np.flatnonzero(self.boots >= 0)
        known = known[np.argsort(self.pings.packet[known], kind="stable")]
        after = int(np.searchsorted(self.pings.packet[known], packet))
        one, other = known[max(0, after - 1)], known[min(after, len(known) - 1)]
        numbers = [
            np.uint32(ClockId.parse(self.clock(int(self.boots[ping]))).clock)
            for ping in (one, other)
        ]
        nearer = np.abs(times - self.pings.host_ns[one]) <= np.abs(
            times - self.pings.host_ns[other]
        )
        return np.where(nearer, *numbers)


def host_clocks(
    headers: Iterable[StreamHeader], pings: Mapping[int, Pings]
) -> dict[int, HostClock]:
    """Return the clock of each stream, by its number.

    Args:
        headers: of all streams.
        pings: of each stream, by its number.
    """
    shared: list[_Shared] = []
    # Those with pings first: the others join them.
    for header in sorted(headers, key=lambda header: not len(pings[header.number].packet)):
        own = pings[header.number]
        alike = [one for one in shared if header.hostname and one.hostname == header.hostname]
        found = next((one for one in alike if one.agrees(own)), None)
        if found is None or (not len(own.packet) and len(alike) > 1):
            found = _Shared(header.hostname, own)
            shared.append(found)
        else:
            found.pings = found.pings.joined(own)
        found.streams.append(header)
    return {
        header.number: clock
        for machine, one in enumerate(shared, 1)
        for clock in (one.host_clock(machine),)
        for header in one.streams
    }


class _Shared:
    """Streams that share a clock, so far."""

    def __init__(self, hostname: str, pings: Pings) -> None:
        self.hostname = hostname
        self.pings = pings
        self.streams: list[StreamHeader] = []

    def agrees(self, pings: Pings) -> bool:
        """Whether others may be of the same clock: together they jump no more often than apart."""
        together = self.pings.joined(pings).jumps(_SHARED_NS).sum()
        apart = (one.jumps(_SHARED_NS).sum() for one in (self.pings, pings))
        return bool(together <= max(apart))

    def host_clock(self, machine: int) -> HostClock:
        name = self.hostname or f"stream-{self.streams[0].number}"
        name = _UNFIT.sub("_", name[:_MOST_CHARACTERS])
        return HostClock(machine, name, self.pings, _boots(self.pings))


def _boots(pings: Pings) -> Values:
    """Which start of the host each ping belongs to; -1 of one that only stands among others."""
    boots = np.full(len(pings.packet), -1, np.int64)
    jumps = pings.jumps(_RESET_NS)
    alone = np.zeros(len(boots), np.bool_)
    alone[1:-1] = jumps[:-1] & jumps[1:]
    kept = np.flatnonzero(~alone)
    boots[kept] = np.concatenate([[0], np.cumsum(pings.rows(kept).jumps(_RESET_NS))])[: len(kept)]
    return boots


def _triples(boots: Values) -> list[npt.NDArray[np.intp]]:
    """Each three pings in a row of one start: the first of each, the second, and the third."""
    known = np.flatnonzero(boots >= 0)
    of_one = np.flatnonzero(boots[known][2:] == boots[known][:-2])
    return [known[of_one + k] for k in range(3)]


def _apart(pings: Pings) -> npt.NDArray[np.intp]:
    """Some pings, a second apart at least, but for those that jump."""
    kept: list[int] = []
    last = last_offset = None
    pairs = zip(pings.recorder_ns.tolist(), pings.offset_ns.tolist(), strict=True)
    for k, (time, offset) in enumerate(pairs):
        if last is None or time - last >= _APART_NS or abs(offset - last_offset) > _SHARED_NS:
            kept.append(k)
            last, last_offset = time, offset
    return np.array(kept, np.intp)


def machines(clocks: Sequence[HostClock]) -> list[int]:
    """`machine_id` of each machine: the recorder's, and then those of the hosts."""
    return list(range(1 + max((clock.machine for clock in clocks), default=0)))
