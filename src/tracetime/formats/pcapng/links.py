"""Names of link types: what the packets of an interface are."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
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
"""The usual ones of https://www.tcpdump.org/linktypes.html, without LINKTYPE_."""


def link_name(link: int) -> str:
    """Return the name of a link type, or its number."""
    return _NAMES.get(link, f"LINKTYPE {link}")
