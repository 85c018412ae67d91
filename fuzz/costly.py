"""Small traces that are expensive to read: most have many clocks in few snapshots.

For the tests and for `python -m benchmarks.small`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from fuzz.mutate import field
from tracetime._kernels.perfetto import packets

BOOTTIME, MONOTONIC, REALTIME, TRACE_FILE = 6, 3, 1, 11
START = 1_000_000_000
SECOND = 1_000_000_000


def packet(*fields: bytes) -> bytes:
    """A packet of a trace."""
    return field(1, b"".join(fields))


def snapshot(
    clocks: Iterable[tuple[int, int]], sequence: int = 0, machine: int = 0, primary: int = 0
) -> bytes:
    """A packet with one reading of each clock, (clock, reading)."""
    inner = b"".join(field(1, field(1, clock) + field(2, value)) for clock, value in clocks)
    inner += field(2, primary) if primary else b""
    return packet(*_of(sequence, machine), field(6, inner))


def event(value: int, clock: int, sequence: int = 0, machine: int = 0) -> bytes:
    """A packet that has a timestamp and nothing else."""
    return packet(field(8, value), field(58, clock), *_of(sequence, machine))


def _of(sequence: int, machine: int) -> Iterator[bytes]:
    if machine:
        yield field(98, machine)
    if sequence:
        yield field(10, sequence)


def sequences(n: int, each: int = 1, drift: int = 0) -> Iterator[bytes]:
    """Two clocks, 64 and BOOTTIME, on each of n sequences, read together `each` times.

    drift: ns by which the offset changes from one snapshot to the next.
    """
    for k in range(each):
        at = START + k * SECOND
        for i in range(n):
            yield snapshot([(64, at + i + k * drift), (BOOTTIME, at + i)], i + 1)
            yield event(at + i + SECOND // 2, 64, i + 1)


def separate_sequences(n: int) -> Iterator[bytes]:
    """Two clocks on each of n sequences, in no snapshot with the trace clock."""
    yield snapshot([(BOOTTIME, START), (MONOTONIC, START)])
    for i in range(n):
        yield snapshot([(64, START + i), (65, 5 + i)], i + 1)
        yield event(START + i, 64, i + 1)


def chain(n: int, events: bool = True) -> Iterator[bytes]:
    """Each clock is read together with the next one, the first with BOOTTIME."""
    yield snapshot([(BOOTTIME, START), (200, START)])
    for i in range(n):
        yield snapshot([(200 + i, START + i), (201 + i, START + 2 * i)])
        if events:
            yield event(START + i, 200 + i)


def one_snapshot(n: int) -> Iterator[bytes]:
    """One snapshot of n clocks."""
    yield snapshot([(BOOTTIME, 5), *((200 + i, i) for i in range(n))])


def clocks_with_boottime(n: int, each: int = 3) -> Iterator[bytes]:
    """n clocks, each of them in a few snapshots with BOOTTIME, between which it drifts."""
    for k in range(each):
        at = START + k * SECOND
        for i in range(n):
            yield snapshot([(200 + i, at + i + 100 * k * (1 + i % 7)), (BOOTTIME, at + i)])
            yield event(at + i + SECOND // 2, 200 + i)


def machines(n: int) -> Iterator[bytes]:
    """Two clocks on each of n machines."""
    yield snapshot([(BOOTTIME, START), (MONOTONIC, START)])
    for i in range(n):
        yield snapshot([(BOOTTIME, START + i), (MONOTONIC, START)], machine=1 + i)


def machines_synced(n: int) -> Iterator[bytes]:
    """n machines, each with two rounds of readings shared with the host, and an event."""
    yield snapshot([(BOOTTIME, START), (MONOTONIC, START)])
    for i in range(n):
        yield packet(field(98, 1 + i), field(107, rounds(i)))
        yield event(START + i, BOOTTIME, machine=1 + i)


def machines_pinged(n: int) -> Iterator[bytes]:
    """n machines, each with a name, an exchange as `record --peer` writes it, and an event."""
    yield snapshot([(BOOTTIME, START), (MONOTONIC, START)])
    for i in range(n):
        here, there = START, START + i
        synced = [(there + 25_000, here + 30_000), (there + 40_000, here + 46_000)]
        measured = [
            (here + 10_000, there + 20_000, there + 25_000, here + 30_000),
            (here + 31_000, there + 36_000, there + 41_000, here + 46_000),
        ]
        yield packets.machine_packet(1 + i, f"worker{i}")
        yield packets.remote_sync_packet(1 + i, BOOTTIME, synced, measured)
        yield event(START + i, BOOTTIME, machine=1 + i)


def rounds(i: int) -> bytes:
    """The rounds of a RemoteClockSync."""
    return b"".join(
        field(1, field(2, clocks(START + i + k)) + field(3, clocks(START + 2 * k)))
        for k in (0, 1000)
    )


def clocks(value: int) -> bytes:
    return field(1, field(1, BOOTTIME) + field(2, value))


def jumps(n: int) -> Iterator[bytes]:
    """A wall clock that steps forward and back between n snapshots."""
    for k in range(n):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at), (REALTIME, 10 * at + (k % 2) * 5_000_000)])
        yield event(at + 1, BOOTTIME)


def steps(n: int) -> Iterator[bytes]:
    """A wall clock that is set forward between n snapshots."""
    for k in range(n):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at), (REALTIME, at + k * 5_000_000)])
        yield event(at + k * 5_000_000 + 1, REALTIME)


def set_back(n: int) -> Iterator[bytes]:
    """A wall clock that is set back, by more than has passed, between n snapshots."""
    for k in range(n):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at), (REALTIME, START * n * 3 - k * SECOND)])
        yield event(at + 1, REALTIME)


def resets(n: int) -> Iterator[bytes]:
    """A counter that restarts after every second of n snapshots."""
    for k in range(n):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at), (200, SECOND * (k % 2))])
        yield event(k, 200)


def suspends(n: int, others: int = 1) -> Iterator[bytes]:
    """The machine sleeps between n snapshots, which have `others` clocks that stop."""
    stopped = [MONOTONIC, *range(200, 199 + others)]
    for k in range(n):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at + k * 5 * SECOND), *((clock, at) for clock in stopped)])
        yield event(at + 1, MONOTONIC)


def with_monotonic(n: int, each: int = 4) -> Iterator[bytes]:
    """n clocks, each in snapshots with MONOTONIC; each steps."""
    for k in range(each):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at), (MONOTONIC, at)])
        for i in range(n):
            yield snapshot([(200 + i, at + (k > 1) * 5_000_000), (MONOTONIC, at + i)])
            yield event(at + i, 200 + i)


def loops(n: int, each: int = 3) -> Iterator[bytes]:
    """n clocks, each in snapshots with BOOTTIME and with MONOTONIC that disagree."""
    for k in range(each):
        at = START + k * SECOND
        yield snapshot([(BOOTTIME, at), (MONOTONIC, at)])
        for i in range(n):
            yield snapshot([(200 + i, at), (MONOTONIC, at)])
            yield snapshot([(200 + i, at + 100), (BOOTTIME, at + 5_000_100)])
            yield event(at + i, 200 + i)


def packed_packet(size: int) -> Iterator[bytes]:
    """A packet of zeros, `size` bytes, within a compressed one."""
    yield snapshot([(BOOTTIME, START), (MONOTONIC, START)])
    engine = zlib.compressobj(9)
    head = field(900, b"")[:-1] + _length(size)
    packed = engine.compress(b"\n" + _length(size + len(head)) + head)
    piece = bytes(1 << 20)
    packed += b"".join(engine.compress(piece) for _ in range(size >> 20))
    yield packet(field(50, packed + engine.flush()))


def _length(size: int) -> bytes:
    """A length of five bytes."""
    return bytes((size >> 7 * i) & 0x7F | (0x80 if i < 4 else 0) for i in range(5))


Parts = Callable[[], Iterable[bytes]]

# Every command that reads a trace must end on each within 5 s and 500 MB.
TRACES: Final[dict[str, Parts]] = {
    "20,000 sequences of two clocks": lambda: sequences(20_000),
    "20,000 sequences of two clocks, three times each": lambda: sequences(20_000, 3, 1000),
    "20,000 separate sequences": lambda: separate_sequences(20_000),
    "a chain of 10,000 clocks": lambda: chain(10_000),
    "a chain of 100,000 clocks": lambda: chain(100_000),
    "a snapshot of 1,000,000 clocks": lambda: one_snapshot(1_000_000),
    "100,000 clocks with BOOTTIME": lambda: clocks_with_boottime(100_000, 1),
    "30,000 drifting clocks with BOOTTIME": lambda: clocks_with_boottime(30_000),
    "100,000 machines": lambda: machines(100_000),
    "100,000 machines, synced": lambda: machines_synced(100_000),
    "100,000 machines, pinged": lambda: machines_pinged(100_000),
    "a packet of 256 MiB within a compressed one": lambda: packed_packet(256 << 20),
    "100,000 jumps forward and back": lambda: jumps(100_000),
    "100,000 steps": lambda: steps(100_000),
    "100,000 times set back": lambda: set_back(100_000),
    "100,000 resets": lambda: resets(100_000),
    "100,000 suspends": lambda: suspends(100_000),
    "10,000 suspends of 10 clocks": lambda: suspends(10_000, 10),
    "10,000 clocks with MONOTONIC that step": lambda: with_monotonic(10_000),
    "10,000 loops that disagree": lambda: loops(10_000),
}
