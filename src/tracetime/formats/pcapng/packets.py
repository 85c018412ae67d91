"""Packets of a capture in batches of columns, names of links, errors for what is no capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.pcapng import Packets
from tracetime.errors import TraceError
from tracetime.formats.blocks import blocks
from tracetime.formats.trace_file import TraceFile

LONGEST_BLOCK: Final = 64 << 20
"""Bytes of a block; Wireshark refuses those of more than 16 MiB."""

MOST_INTERFACES: Final = 1 << 16
"""Of all sections; real captures have a few."""

_LINK_NAMES: Final = {
    0: "NULL",
    1: "ETHERNET",
    9: "PPP",
    101: "RAW",
    105: "IEEE802_11",
    108: "LOOP",
    113: "LINUX_SLL",
    127: "IEEE802_11_RADIOTAP",
    187: "BLUETOOTH_HCI_H4",
    189: "USB_LINUX",
    195: "IEEE802_15_4_WITHFCS",
    201: "BLUETOOTH_HCI_H4_WITH_PHDR",
    220: "USB_LINUX_MMAPPED",
    227: "CAN_SOCKETCAN",
    228: "IPV4",
    229: "IPV6",
    239: "NFLOG",
    249: "USBPCAP",
    253: "NETLINK",
    272: "NORDIC_BLE",
    276: "LINUX_SLL2",
}
"""The usual link types of https://www.tcpdump.org/linktypes.html, without LINKTYPE_."""

_INCOMPLETE: Final = 1
FAULTS: Final = {
    _INCOMPLETE: "the capture is cut off within a block: get a whole copy, or read what comes "
    "before the cut (--partial)",
    2: "the length of a block is wrong, or differs at its end: the file is damaged",
    3: f"a block is longer than {LONGEST_BLOCK >> 20} MiB: the file is damaged",
    4: "no section of pcapng begins here: the file is damaged, or of another format",
    5: "a packet or statistics are of an interface that the section does not describe: the file "
    "is damaged, or sections were joined without their headers",
    6: "a packet is longer than its block: the file is damaged",
    7: f"the capture describes more than {MOST_INTERFACES} interfaces: the file is damaged",
    8: "an option is longer than its block, or if_tsresol, if_tsoffset, epb_dropcount, isb_ifdrop "
    "or isb_osdrop has the wrong length: the file is damaged",
    9: "the version is not one that is known (pcapng 1, pcap 2): save the capture by a current "
    "Wireshark (editcap -F pcapng)",
    10: "a modified pcap (Kuznetzov's, of old Linux systems), whose patches differ in how long the "
    "heads of packets are: save it as pcapng by Wireshark (editcap -F pcapng)",
}
"""What is wrong, by the kernel's number."""


class PacketBatch(NamedTuple):
    """Packets that follow each other.

    Attributes:
        data: the bytes that hold them.
        columns: as the kernel's `Packets.read` returns them.
        offset: of the first byte of data.
        position: the byte of the file that has been reached.
    """

    data: bytes
    columns: dict[str, npt.NDArray[np.int64]]
    offset: int
    position: int


def packets(file: TraceFile, max_expansion: int, reader: Packets) -> Iterator[PacketBatch]:
    """Yield the packets of a file that have a time; those before a fault come before its error.

    reader: a new one; knows what there is besides packets, so far.

    Raises:
        TraceError: the file is cut off or damaged.
    """
    pending = b""
    offset = 0
    for fresh, position, is_end in blocks(file, max_expansion):
        data = pending + fresh
        columns, whole, fault = reader.read(data, offset)
        if len(columns["start"]):
            yield PacketBatch(data, columns, offset, position)
        if fault > _INCOMPLETE or (fault and is_end):
            raise TraceError(FAULTS[fault], offset + whole, reader.n_packets)
        pending, offset = data[whole:], offset + whole


def link_name(link: int) -> str:
    """Return the name of a link type, or its number."""
    return _LINK_NAMES.get(link, f"LINKTYPE {link}")
