"""Two simulated machines and the messages between them: what their clocks truly read is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from building import BOOTTIME, MONOTONIC, REALTIME, event, packet, remote_sync, snapshot, trace

from tracetime import ClockId

S = 1_000_000_000
MS = 1_000_000
US = 1_000
CLIENT = 555

Clock = Callable[[int], int]


def running(ppm: int = 0, offset_ns: int = 0, jumps: Sequence[tuple[int, int]] = ()) -> Clock:
    """A clock that is so much faster than true time, and jumps at some true times, by so much."""

    def read(t: int) -> int:
        return t + t * ppm // 10**6 + offset_ns + sum(size for when, size in jumps if t >= when)

    return read


def sleeping(clock: Clock, start: int, end: int) -> Clock:
    """The clock, standing still in between."""
    return lambda t: clock(t) - (clock(min(t, end)) - clock(start) if t > start else 0)


def usual_host() -> dict[int, Clock]:
    return {
        BOOTTIME: running(3, 1000 * S),
        MONOTONIC: running(3, 900 * S),
        REALTIME: running(3, 1_700_000_000 * S),
    }


def usual_client() -> dict[int, Clock]:
    return {
        BOOTTIME: running(-17, 77 * S),
        MONOTONIC: running(-17, 50 * S),
        REALTIME: running(-17, 1_700_000_300 * S),
    }


class Relay:
    """A client and its host.

    Args:
        there_ns, back_ns: how long messages take at least, and the mean of what is on top of that.
    """

    def __init__(
        self,
        there_ns: tuple[int, int] = (MS, 0),
        back_ns: tuple[int, int] = (100 * US, 0),
        seed: int = 1,
        host: dict[int, Clock] | None = None,
        client: dict[int, Clock] | None = None,
    ) -> None:
        self.there_ns, self.back_ns = there_ns, back_ns
        self.random = Random(seed)
        self.host = usual_host() if host is None else host
        self.client = usual_client() if client is None else client

    def _delay(self, least_and_more: tuple[int, int]) -> int:
        least, more = least_and_more
        return least + (int(self.random.expovariate(1 / more)) if more else 0)

    def rounds(self, t: int, n: int = 2, wait_ns: int = 50 * US) -> list[tuple[Any, Any]]:
        """The readings of one RemoteClockSync that begins at true time t."""
        found = []
        for _ in range(n):
            client = {clock: read(t) for clock, read in self.client.items()}
            t += self._delay(self.there_ns)
            found.append((client, {clock: read(t) for clock, read in self.host.items()}))
            t += self._delay(self.back_ns) + wait_ns
        return found

    def sync(self, t: int, n: int = 2, wait_ns: int = 50 * US) -> Any:
        return packet(machine=CLIENT, remote_clock_sync=remote_sync(self.rounds(t, n, wait_ns)))

    def trace(
        self, *syncs: Any, snapshots: Sequence[int] = (0,), events: Sequence[int] = ()
    ) -> bytes:
        """The host's snapshots, messages, and events of the client at some true times."""
        return trace(
            *(snapshot({clock: read(t) for clock, read in self.host.items()}) for t in snapshots),
            *syncs,
            *(event(self.client[BOOTTIME](t), BOOTTIME, machine=CLIENT) for t in events),
        )

    def truth(self, times: npt.NDArray[np.int64], clock: int = BOOTTIME) -> tuple[Any, Any]:
        """What a clock reads on the client and on the host at some true times."""
        return tuple(
            np.array([machine[clock](t) for t in times.tolist()])
            for machine in (self.client, self.host)
        )


def ours(clock: int = BOOTTIME) -> ClockId:
    return ClockId(clock)


def theirs(clock: int = BOOTTIME) -> ClockId:
    return ClockId(clock, machine=1)
