"""The bytes of ClockBound's shared memory, and of a VMClock, as their authors' programs write them."""

from __future__ import annotations

import struct
import time

MAGIC = struct.pack("=II", 0x414D5A4E, 0x43420200)
SIZE = 80
S = 10**9


def memory(
    *,
    age_ns=0,
    lasts_ns=1_000 * S,
    bound_ns=20_000,
    marker=0,
    drift_ppb=50_000,
    status=1,
    watched=0,
    version=2,
    generation=2,
    size=SIZE,
    magic=MAGIC,
    now_ns=None,
):
    """Layout 2; `age_ns` and `lasts_ns` count from `now_ns`, else from MONOTONIC now."""
    now_ns = time.monotonic_ns() if now_ns is None else now_ns
    as_of, void = divmod(now_ns - age_ns, S), divmod(now_ns + lasts_ns, S)
    return (
        magic
        + struct.pack("=IHH", size, version, generation)
        + struct.pack("=qqqqq", *as_of, *void, bound_ns)
        + struct.pack("=QIiB7x", marker, drift_ppb, status, watched)
    )


def old_memory():
    """Layout 1, of ClockBound 1.x: no disruption marker, 72 bytes."""
    body = struct.pack("=qqqqqIIi4x", 1, 2, 3, 4, 20_000, 50_000, 0, 1)
    return MAGIC + struct.pack("=IHH", 72, 1, 4) + body


def vmclock(marker, sequence=2):
    """The begin of linux/vmclock-abi.h's struct, and space after it."""
    return struct.pack("<4sIHBBIQ", b"VCLK", 104, 1, 1, 0, sequence, marker) + bytes(80)
