"""The time domains of calibrated timestamps, VkTimeDomainKHR, and the host's clock that each is.

Numbers and names are those of vulkan_core.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.sources.names import QPC, named

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

DOMAIN_DEVICE: Final = 0
DOMAIN_MONOTONIC: Final = 1
DOMAIN_MONOTONIC_RAW: Final = 2
DOMAIN_QPC: Final = 3

NAMES: Final[Mapping[int, str]] = {
    DOMAIN_DEVICE: "DEVICE",
    DOMAIN_MONOTONIC: "CLOCK_MONOTONIC",
    DOMAIN_MONOTONIC_RAW: "CLOCK_MONOTONIC_RAW",
    DOMAIN_QPC: "QUERY_PERFORMANCE_COUNTER",
}
"""The header has them with VK_TIME_DOMAIN_ in front."""

HOST_DOMAINS: Final[Mapping[int, ClockId]] = {
    DOMAIN_MONOTONIC_RAW: ClockId(BUILTIN_IDS["MONOTONIC_RAW"]),
    DOMAIN_MONOTONIC: ClockId(BUILTIN_IDS["MONOTONIC"]),
    DOMAIN_QPC: named(QPC),
}
"""The clocks of the host, the one preferred for calibration first."""


class TimeDomain(NamedTuple):
    """A time domain that a device lists.

    Attributes:
        number: its number, as the device lists it.
        name: its name in Vulkan; null: it is unknown, and not used.
    """

    number: Count
    name: str | None
