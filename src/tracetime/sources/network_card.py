"""Which PTP hardware clock a network interface stamps packets with: ETHTOOL_GET_TS_INFO.

The bytes are those of include/uapi/linux/ethtool.h (struct ethtool_ts_info) and linux/if.h.
"""

from __future__ import annotations

import ctypes
import errno
import socket
import struct
from pathlib import Path
from typing import Final, NamedTuple

from tracetime.errors import SourceError
from tracetime.sources.ptp_ioctl import Ioctl, linux_ioctl

SIOCETHTOOL: Final = 0x8946
GET_TS_INFO: Final = 0x41

TX_HARDWARE: Final = 1 << 0
RX_HARDWARE: Final = 1 << 2
RAW_HARDWARE: Final = 1 << 6

_FOLDER: Final = Path("/sys/class/net")
_INFO: Final = struct.Struct("=IIiI12xI12x")
"""Command, what it stamps (SOF_TIMESTAMPING_), the clock, kinds of sending and of receiving."""
_REQUEST: Final = struct.Struct("@16sP16x")
"""struct ifreq: the name, and where the answer goes."""
_LONGEST_NAME: Final = 15


class CardStamps(NamedTuple):
    """What the hardware of an interface stamps.

    Attributes:
        clock: the number N of its /dev/ptpN; None if it has no PTP hardware clock.
        sent, received: whether it gives raw stamps, in that clock, of packets of this direction.
    """

    clock: int | None
    sent: bool
    received: bool


def card_stamps(interface: str, ioctl: Ioctl = linux_ioctl) -> CardStamps:
    """What the hardware of a network interface stamps, and in which clock.

    Raises:
        SourceError: there is no such interface, or its driver does not say.
    """
    name = interface.encode()
    if not 0 < len(name) <= _LONGEST_NAME or b"\0" in name:
        raise SourceError(f"{interface!r} is no network interface: `ip link` lists them")
    answer = ctypes.create_string_buffer(_INFO.pack(GET_TS_INFO, 0, -1, 0, 0), _INFO.size)
    request = bytearray(_REQUEST.pack(name, ctypes.addressof(answer)))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            ioctl(any_socket.fileno(), SIOCETHTOOL, request)
    except OSError as error:
        if error.errno == errno.ENODEV:
            says = "there is no such network interface: `ip link` lists them"
        else:
            says = f"its driver does not say which clock it has ({error.strerror})"
        raise SourceError(f"{interface}: {says}") from None
    _, stamps, number, _, _ = _INFO.unpack(answer.raw)
    raw = number >= 0 and bool(stamps & RAW_HARDWARE)
    return CardStamps(
        number if number >= 0 else None,
        raw and bool(stamps & TX_HARDWARE),
        raw and bool(stamps & RX_HARDWARE),
    )


def clock_of_card(interface: str, ioctl: Ioctl = linux_ioctl) -> int:
    """The number N of the /dev/ptpN of a network interface.

    Raises:
        SourceError: there is no such interface, or it has no PTP hardware clock.
    """
    number = card_stamps(interface, ioctl).clock
    if number is None:
        raise SourceError(
            f"{interface} has no PTP hardware clock: the host stamps its packets, in REALTIME"
        )
    return number


def cards_of_clock(number: int, ioctl: Ioctl = linux_ioctl, folder: Path = _FOLDER) -> list[str]:
    """The network interfaces whose clock is /dev/ptpN, in the order of their names."""
    found = []
    for path in sorted(folder.glob("*")):
        try:
            if card_stamps(path.name, ioctl).clock == number:
                found.append(path.name)
        except SourceError:
            continue
    return found
