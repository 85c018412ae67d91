"""Names of the clocks that Perfetto has no number for: global clocks of ours."""

from __future__ import annotations

from typing import Final

from tracetime.clocks.families import posix_oscillator, wall_oscillator
from tracetime.clocks.ids import ClockId, clock_id

TAI: Final = "dev.tracetime.tai"
TSC: Final = "dev.tracetime.tsc"
CNTVCT: Final = "dev.tracetime.cntvct"
QPC: Final = "dev.tracetime.qpc"
UPTIME_RAW: Final = "dev.tracetime.uptime_raw"
VULKAN: Final = "dev.tracetime.vulkan"
PTP: Final = "dev.tracetime.ptp"
OPENCL: Final = "dev.tracetime.opencl"
CUDA: Final = "dev.tracetime.cuda"

SHORT_NAMES: Final = {
    "TAI": TAI,
    "TSC": TSC,
    "CNTVCT": CNTVCT,
    "QPC": QPC,
    "UPTIME_RAW": UPTIME_RAW,
}
"""What callers may call them on this machine."""

HOST: Final = "host"
"""What callers may call all clocks of this machine that are not a device's."""

HOST_OSCILLATOR: Final = posix_oscillator(machine=0)
"""What drives the POSIX clocks of this machine, as `ClockDomain` calls it."""

WALL_OSCILLATOR: Final = wall_oscillator(machine=0)
"""What drives REALTIME if the system slews only that."""


def named(name: str) -> ClockId:
    """The id of the global clock of this name."""
    return ClockId(clock_id(name))
