"""The clocks of GPUs in files of PyTorch's profiler.

The profiler has put the times of each device on the CPU's clock: that is one piece of evidence, of
an assumed half-width. Work begins after the call that launched it, and ends before what waits for
it: these orders move a device's clock where they contradict the other.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, clock_id
from tracetime.clocks.snapshot import Snapshot
from tracetime.errors import TracetimeError
from tracetime.formats.chrome_json.launches import Launches
from tracetime.graph.adding import add_order
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.values import Values, difference
from tracetime.text import duration

PLACED_NS: Final = 100_000
"""How far off the profiler is assumed to put a device's clock, at most."""

DRIFT_PPM: Final = 20.0
"""How far that clock is assumed to drift from the CPU's, at most: it is corrected as it runs."""

_TIES: Final = 16
_PARTS: Final = 12
_SOON_NS: Final = 20_000
_SOON: Final = 50
"""Soon is within so many ns, or a part of how far off the device may be, whichever is longer;"""
_MANY: Final = 0.2
"""and so much of the work shows it."""


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

    A placement that orders contradict by more than its half-width is no evidence, unless a part of
    the work begins as soon after its calls as healthy work does: then another part is misplaced, or
    matched with wrong calls. The device stays, and its half-width is as long as they contradict.
    """
    for pid, clock in devices:
        work, calls = launches.launched(pid)
        ends, returned = launches.waited(pid)
        domain = graph.domain(clock)
        half_ns = (domain.assumed_half_width_ns or 0) + 2 * int(domain.tick_ns or 1)
        early, late = difference(calls.begin, work.begin), difference(ends, returned)
        off_ns = int(max(early.max(initial=0), late.max(initial=0)))
        beyond = off_ns > half_ns
        stays = not beyond or _is_healthy_in_part(calls.begin, -early, off_ns)
        if stays:
            at = launches.times(pid)
            at = np.unique(at[np.linspace(0, len(at) - 1, _TIES).astype(np.intp)])
            width = {clock: off_ns + half_ns} if beyond else None
            graph.add_snapshot(Snapshot({clock: at, host: at}, reference=host, half_width_ns=width))
            if beyond:
                continue
        if len(work.begin):
            add_order(inner(graph), (calls.begin, host), (work.begin, clock))
        if len(ends):
            add_order(inner(graph), (ends, clock), (returned, host))


def _is_healthy_in_part(called: Values, delays: npt.NDArray[np.float64], off_ns: int) -> bool:
    """Whether work of a part of the time begins soon after its calls, against that it is off.

    Of a device that is off by so much throughout, hardly any work seems to begin just then.
    """
    delays = delays[np.argsort(called, kind="stable")]
    soon = (delays >= 0) & (delays <= max(_SOON_NS, off_ns // _SOON))
    return any(part.mean() >= _MANY for part in np.array_split(soon, _PARTS) if len(part))


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
