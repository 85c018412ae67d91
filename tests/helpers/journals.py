"""Journals in systemd's Journal Export Format, made by code."""

from __future__ import annotations

from collections.abc import Mapping

MACHINE = "c0ffee00000000000000000000000001"
BOOT = "b0070000000000000000000000000001"
START_US = 1_790_000_000_000_000
"""REALTIME when MONOTONIC of the first boot was 0."""


def entry(fields: Mapping[str, str | bytes | int], *, binary: bool = False) -> bytes:
    """One entry; a value with a line end, and with `binary` every one, is written by its length."""
    out = bytearray()
    for name, value in fields.items():
        data = value if isinstance(value, bytes) else str(value).encode()
        if binary or b"\n" in data:
            out += name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"
        else:
            out += name.encode() + b"=" + data + b"\n"
    return bytes(out + b"\n")


def logged(
    monotonic_us: int,
    message: str | bytes = "hello",
    *,
    realtime_us: int | None = None,
    boot: str = BOOT,
    machine: str = MACHINE,
    **fields: str | bytes | int,
) -> bytes:
    """An entry as journald writes it, at a time of its boot."""
    return entry(
        {
            "__CURSOR": f"s=1;i={monotonic_us:x};b={boot}",
            "__REALTIME_TIMESTAMP": START_US + monotonic_us if realtime_us is None else realtime_us,
            "__MONOTONIC_TIMESTAMP": monotonic_us,
            "_BOOT_ID": boot,
            "_MACHINE_ID": machine,
            "_HOSTNAME": "host",
            "PRIORITY": 6,
            "SYSLOG_IDENTIFIER": "daemon",
            "_PID": 77,
            "_COMM": "daemond",
            "MESSAGE": message,
            **fields,
        }
    )
