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
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.formats.xdf.chunks import resolution_ns
from tracetime.formats.xdf.pings import Pings
from tracetime.formats.xdf.shifts import MOST_NS, NO_SHIFT, Shift, largest_ramp, largest_shift
from tracetime.formats.xdf.stream_header import StreamHeader
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.values import Values

RECORDER: Final = "MONOTONIC"
"""Trace time: the steady clock of the host that recorded, which LSL calls local_clock."""

LEAST_HALF_WIDTH_NS: Final = 200_000
"""What liblsl's manual says of lsl_time_correction: within 0.2 ms on a wired network."""

_APART_NS: Final = 1_000_000_000
"""Of the pings of several streams of a host, one a second is enough."""

_SHARED_NS: Final = MOST_NS

_RESET_NS: Final = 1_000_000_000
"""A clock that jumps by more began anew: pyxdf's clock_reset_threshold_offset_seconds."""

_MOST_BOOTS: Final = 100
"""A clock that begins anew more often is no clock of a host."""

_MOST_ALIKE: Final = 8
"""Each stream is compared with the last so many clocks of its hostname. Computers of one name
are few; a stream that finds none has a clock of its own."""

_LATE_NS: Final = 10_000_000_000
"""Samples are written within 10 s: recorders fetch them every half second."""

_WIRED_NS: Final = 1_000_000
"""LSL's manual puts the offsets of one host within 1 ms on a wired network."""

_FOREVER_NS: Final = 1 << 62
_MOST_CHARACTERS: Final = 64
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


class HostClock:
    """The clock of a host, and of every time that it started.

    Args:
        machine: the index of the host.
        host: its name in names of clocks.
        pings: all of them.

    Attributes:
        n_boots: how many starts there are; 0 without pings.
        scatter_ns: how far its pings are off each other.
        shift: by how much its offsets shift, at once or slowly, at most.
        steps: whether it is known to have begun anew, or to have been set.
    """

    def __init__(self, machine: int, host: str, pings: Pings) -> None:
        self.machine = machine
        self._host = host
        self._pings = pings
        self._boots = _boots(pings)
        self.n_boots = int(self._boots.max(initial=-1)) + 1
        known = np.flatnonzero(self._boots >= 0)
        in_file = known[np.argsort(pings.packet[known], kind="stable")]
        self._in_file, self._boots_in_file = pings.rows(in_file), self._boots[in_file]
        # The last is that of the host, -1.
        clocks = map(self.clock, (*self._clocks[1:], None))
        self._numbers = np.array([ClockId.parse(one).clock for one in clocks], np.uint32)
        self.steps = bool(pings.jumps(_RESET_NS).any())
        self.scatter_ns = pings.scatter_ns(_RESET_NS)
        self.shift = self._largest_shift()

    @property
    def _clocks(self) -> tuple[int | None, ...]:
        """The clock of the host, None, and the clocks of its later starts."""
        return (None, *(range(self.n_boots) if self.n_boots > 1 else ()))

    def clock(self, boot: int | None = None) -> str:
        """The clock of the host, or that of one of its starts, as `ClockId.parse` takes it."""
        which = "" if boot is None else f".boot{boot + 1}"
        return f"lsl.{self._host}{which}@machine{self.machine}"

    def add_to(self, graph: ClockGraph) -> list[Values]:
        """Add the pings to a graph, those of one second once, and return their packets.

        Where the host started anew, those of each start, too. Of several streams that are asked
        at once, the readings would seem to run backwards.
        """
        packets = []
        for boot in self._clocks:
            pings = self._pings if boot is None else self._pings.rows(self._boots == boot)
            if len(pings.packet):
                kept = pings.rows(pings.apart(_APART_NS, _SHARED_NS))
                graph.add_snapshot({RECORDER: kept.recorder_ns, self.clock(boot): kept.host_ns})
                packets.append(kept.packet)
        return packets

    def _largest_shift(self) -> Shift:
        found = NO_SHIFT
        for boot in range(self.n_boots):
            pings = self._pings.rows(self._boots == boot)
            kept = pings.rows(pings.apart(_APART_NS, _SHARED_NS))
            # A ramp has no jumps: a second apart are all of its pings.
            apart = pings.rows(pings.apart(_APART_NS, _FOREVER_NS))
            at_once, slow = (
                largest_shift(kept, self.scatter_ns),
                largest_ramp(apart, self.scatter_ns),
            )
            # Of both, the place of the one at once is the clearer.
            packet = at_once.packet if at_once.by_ns else slow.packet
            found = max(found, Shift(max(at_once.by_ns, slow.by_ns), packet))
        return found

    def domains(self) -> list[ClockDomain]:
        """The domains of the clocks: names, ticks, and the half-width of the pings.

        That is assumed from their scatter, and the largest shift comes on top: which of its two
        sides is right is not known. What is the same in all of them, such as a longer way there
        than back, scatters nothing.
        """
        width_ns = math.ceil(max(LEAST_HALF_WIDTH_NS, self.scatter_ns) + self.shift.by_ns)
        tick_ns = resolution_ns(self._pings.host_ns)
        return [
            ClockDomain(clock, clock, tick_ns, assumed_half_width_ns=width_ns)
            for clock in map(self.clock, self._clocks)
        ]

    def clocks_of(self, packets: Values, times: Values) -> npt.NDArray[np.uint32]:
        """The number of the clock that stamped each of some samples, of a chunk and a time each.

        That of a start, where the pings before and after the chunk leave no other; else that of
        the host, whose readings may mean several instants.
        """
        if self.n_boots <= 1:
            return np.full(len(times), self._numbers[-1], np.uint32)
        pings = self._in_file
        after = np.searchsorted(pings.packet, packets)
        has_before, has_after = after > 0, after < len(pings.packet)
        before, after = np.maximum(after - 1, 0), np.minimum(after, len(pings.packet) - 1)
        apart_ns = np.abs(pings.recorder_ns[after] - pings.recorder_ns[before])
        apart_ns = np.minimum(apart_ns, _FOREVER_NS - _LATE_NS) + _LATE_NS
        apart_ns[~(has_before & has_after)] = _FOREVER_NS
        read_ns = pings.host_ns[before]
        has_before &= (times >= read_ns - _LATE_NS) & (times <= read_ns + apart_ns)
        read_ns = pings.host_ns[after]
        has_after &= (times >= read_ns - apart_ns) & (times <= read_ns + _LATE_NS)
        boots = np.where(has_before, self._boots_in_file[before], self._boots_in_file[after])
        several = has_before & has_after & (boots != self._boots_in_file[after])
        boots[several | ~(has_before | has_after)] = -1
        return self._numbers[boots]


def host_clocks(
    headers: Iterable[StreamHeader], pings: Mapping[int, Pings]
) -> dict[int, HostClock]:
    """Return the clock of each stream, by its number.

    Args:
        headers: of all streams.
        pings: of each stream, by its number.
    """
    shared: list[_Shared] = []
    by_name: dict[str, list[_Shared]] = {}
    # Those with pings first: the others join them.
    for header in sorted(headers, key=lambda header: not len(pings[header.number].packet)):
        own = _Shared(header.hostname, pings[header.number])
        alike = by_name.setdefault(header.hostname, []) if header.hostname else []
        found = next((one for one in alike[-_MOST_ALIKE:] if one.agrees(own)), None)
        if found is None or (not len(own.pings.packet) and len(alike) > 1):
            found = own
            shared.append(found)
            alike.append(found)
        else:
            found.measure(found.pings.joined(own.pings))
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
        self.streams: list[StreamHeader] = []
        self.measure(pings)

    def measure(self, pings: Pings) -> None:
        """Take these as the pings of all streams."""
        self.pings = pings
        self._n_jumps = pings.jumps(_SHARED_NS).sum()
        self._scatter_ns = pings.scatter_ns(_RESET_NS)

    def agrees(self, other: _Shared) -> bool:
        """Whether another stream may be of the same clock.

        Together they jump no more often than apart, and are as near each other as those of one
        host: two computers of one name may have started at almost the same time.
        """
        together = self.pings.joined(other.pings).jumps(_SHARED_NS).sum()
        if together > max(self._n_jumps, other._n_jumps):
            return False
        scatter_ns = self._scatter_ns + other._scatter_ns
        off_ns = self.pings.usually_off_ns(other.pings, _SHARED_NS)
        return off_ns <= max(_WIRED_NS, scatter_ns)

    def host_clock(self, machine: int) -> HostClock:
        name = self.hostname or f"stream-{self.streams[0].number}"
        name = _UNFIT.sub("_", name[:_MOST_CHARACTERS])
        return HostClock(machine, name, self.pings)


def _boots(pings: Pings) -> Values:
    """The host's start that each ping belongs to; -1 where it jumps between two that agree."""
    boots = np.full(len(pings.packet), -1, np.int64)
    kept = np.flatnonzero(~pings.are_alone(_RESET_NS))
    left = pings.rows(kept)
    starts = np.cumsum(left.jumps(_RESET_NS) & _tells_apart(left))
    if starts.max(initial=0) >= _MOST_BOOTS:
        starts[:] = 0
    boots[kept] = np.concatenate([[0], starts])[: len(kept)]
    return boots


def _tells_apart(pings: Pings) -> npt.NDArray[np.bool_]:
    """Whether a timestamp between each ping and the next shows which of the two it is near.

    Where a host slept, its clock read in the meantime what it read after; error bars hold both.
    """
    host, recorder = np.diff(pings.host_ns), np.diff(pings.recorder_ns)
    apart: npt.NDArray[np.bool_] = (host < -2 * _LATE_NS) | (host > 2 * (recorder + _LATE_NS))
    return apart


def machines(clocks: Sequence[HostClock]) -> list[int]:
    """`machine_id` of each machine: the recorder's, and then those of the hosts."""
    return list(range(1 + max((clock.machine for clock in clocks), default=0)))
