"""The clocks of GPUs in files of PyTorch's profiler.

The profiler has put the times of each device on the CPU's clock: that is one piece of evidence, of
an assumed half-width. Work begins after the call that launched it, and ends before what waits for
it: these orders move a device's clock where they contradict the other.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, clock_id
from tracetime.errors import TracetimeError
from tracetime.formats.chrome_json.launches import Launches
from tracetime.graph.adding import add_order
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.values import difference
from tracetime.text import duration

PLACED_NS: Final = 100_000
"""How far off the profiler is assumed to put a device's clock, at most."""

DRIFT_PPM: Final = 20.0
"""How far that clock is assumed to drift from the CPU's, at most: it is corrected as it runs."""

_TIES: Final = 16


class Device(NamedTuple):
    """A device, by the pid that the file gives its events, and its clock."""

    pid: int
    clock: ClockId


def devices_of(launches: Launches) -> list[Device]:
    """The devices of a file."""
    return [Device(pid, ClockId(clock_id(_name(pid)))) for pid in launches.devices]


def _name(pid: int) -> str:
    return f"org.pytorch.gpu.{pid}".replace("-", "_")


def declare_devices(graph: ClockGraph, devices: list[Device], tick_ns: int) -> None:
    """Declare the clocks of devices."""
    for pid, clock in devices:
        graph.declare(
            ClockDomain(
                clock,
                name=_name(pid),
                tick_ns=tick_ns,
                max_drift_ppm=DRIFT_PPM,
                assumed_half_width_ns=PLACED_NS,
                is_placed=True,
            )
        )


def tie_devices(
    graph: ClockGraph, host: ClockId, devices: list[Device], launches: Launches
) -> None:
    """Tie the clocks of devices to that of the file, by the profiler's placement and by orders.

    A placement that orders contradict by more than its half-width is no evidence.
    """
    for pid, clock in devices:
        work, calls = launches.launched(pid)
        ends, returned = launches.waited(pid)
        domain = graph.domain(clock)
        half_ns = (domain.assumed_half_width_ns or 0) + 2 * int(domain.tick_ns or 1)
        early = difference(calls.begin, work.begin).max(initial=0)
        late = difference(ends, returned).max(initial=0)
        if max(early, late) <= half_ns:
            at = launches.times(pid)
            at = np.unique(at[np.linspace(0, len(at) - 1, _TIES).astype(np.intp)])
            graph.add_snapshot({clock: at, host: at})
        if len(work.begin):
            add_order(inner(graph), (calls.begin, host), (work.begin, clock))
        if len(ends):
            add_order(inner(graph), (ends, clock), (returned, host))


def moves_of(graph: ClockGraph, host: ClockId, devices: list[Device], launches: Launches) -> str:
    """How far the tube moves which device, in words."""
    moves = []
    for pid, clock in devices:
        at = int(launches.times(pid)[0])
        with suppress(TracetimeError):
            by = graph.convert(at, clock, host, policy="tube") - at
            if by:
                moves.append(f"{graph.name(clock)} by {duration(by)}")
    return ", ".join(moves) or "none is moved by the tube"
