"""Traces made to hurt: they are read in time and memory that follow from their size.

Each is read in a process of its own, whose highest anonymous memory is the measure. There are no
timings: what is not linear here takes hours, and shows.
"""

import os
import subprocess
import sys
import zlib

import pytest
from platforms import LINUX

from fuzz.mutate import field, varint
from tracetime.formats.trace_file import inflate

# Nothing else says by itself how much of its memory was ever in use.
pytestmark = LINUX

N = 100_000
READ = """
import sys, tracetime
with tracetime.open_trace(sys.argv[1], max_expansion=1 << 28, max_clocks=1 << 17) as trace:
    try:
        names = sys.argv[2:] == ["names"]
        rows = sum(batch.num_rows for batch in trace.events(names=names))
        trace.clocks.clocks()
    except tracetime.TraceError as error:
        rows = error.message
status = open("/proc/self/status").read()
print(rows)
print(status.partition("VmHWM:")[2].split()[0], status.partition("RssFile:")[2].split()[0])
"""
# What the interpreter and its libraries take, and what a byte of input may come to.
BASE_KB, FACTOR = 250_000, 60


def packet(*fields):
    return field(1, b"".join(fields))


def snapshot(clocks, sequence=0, primary=0):
    inner = b"".join(field(1, field(1, clock) + field(2, value)) for clock, value in clocks)
    inner += field(2, primary) if primary else b""
    return packet(field(10, sequence) if sequence else b"", field(6, inner))


def event(value, clock, sequence=0):
    return packet(field(8, value), field(58, clock), field(10, sequence) if sequence else b"")


def machine_event(machine):
    return packet(field(98, machine), field(8, 5), field(58, 6))


BASE = snapshot([(6, 1000), (3, 500)])


def hubs_that_run_backwards(n):
    for i in range(n):
        hub, leaf = 1000 + 2 * i, 1001 + 2 * i
        yield snapshot([(hub, 50), (6, 2000 + 2 * i)])
        yield snapshot([(leaf, 5), (hub, 60)])
        yield event(10, leaf)
        yield snapshot([(hub, 10), (6, 2001 + 2 * i)])
        yield event(10, leaf)


def sync_of_many_rounds(n):
    """Each clock is read in two rounds, both ways."""
    clocks = (field(1, field(1, 200 + i) + field(2, 5)) for i in range(n) for _ in range(2))
    rounds = (field(1, field(2, clock) + field(3, clock)) for clock in clocks)
    return packet(field(98, 7), field(107, b"".join(rounds)))


def machines_with_wall_clocks(n):
    """Each is related to trace time through its own wall clock."""
    clocks = b"".join(field(1, field(1, clock) + field(2, 7)) for clock in (6, 1, 11))
    yield snapshot([(6, 2000), (1, 9)])
    for machine in range(1, n):
        yield packet(field(98, machine), field(6, clocks))
        yield machine_event(machine)


def of(*parts):
    return b"".join([BASE, *parts])


TRACES = {
    "as many sequences as snapshots": lambda: of(
        *(snapshot([(64, 5 + i), (3, 500 + i)], i + 1) + event(10, 64, i + 1) for i in range(N))
    ),
    "as many clocks as snapshots": lambda: of(
        *(snapshot([(200 + i, 5), (6, 1000 + i)]) + event(10, 200 + i) for i in range(N))
    ),
    "a million clocks nobody knows": lambda: of(*(event(10, 200 + i) for i in range(10 * N))),
    "a million sequences": lambda: of(*(event(1010, 6, 1 + i) for i in range(10 * N))),
    "one snapshot of all clocks": lambda: of(
        snapshot([*((200 + i, i) for i in range(N)), (6, 2000)]),
        *(event(10, 200 + i) for i in range(N)),
    ),
    "no way out of a snapshot of all clocks": lambda: (
        snapshot([(200 + i, i) for i in range(N)], primary=3)
        + b"".join(event(10, 200 + i) for i in range(N))
    ),
    "hubs that run backwards": lambda: of(*hubs_that_run_backwards(20_000)),
    "a chain of clocks": lambda: of(
        *(snapshot([(200 + i, 5), (201 + i, 5)]) + event(10, 200 + i) for i in range(N))
    ),
    "machines": lambda: of(*(machine_event(i + 1) for i in range(N))),
    "machines with wall clocks": lambda: of(*machines_with_wall_clocks(20_000)),
    "a sync of many rounds and clocks": lambda: of(sync_of_many_rounds(30_000)),
    "empty packets": lambda: of(b"\n\0" * (10 * N)),
    "snapshots at fault": lambda: of(*(snapshot([(6, 5), (6, 5)]) for _ in range(N))),
}


# A sanitizer keeps what is freed, so that memory says nothing.
MEASURED = "asan" not in os.environ.get("LD_PRELOAD", "")


def read(path, *more):
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), *more], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    printed, memory = done.stdout.splitlines()
    highest, files = map(int, memory.split())
    return printed, highest - files


@pytest.mark.parametrize("name", TRACES)
def test_memory_follows_from_the_size(tmp_path, name):
    path = tmp_path / "t.pftrace"
    path.write_bytes(TRACES[name]())
    printed, memory_kb = read(path)
    assert printed.isdigit()
    assert not MEASURED or memory_kb <= BASE_KB + FACTOR * path.stat().st_size // 1000


def track(uuid, parent):
    return packet(field(60, field(1, uuid) + field(5, parent)))


def interned(sequence, *entries):
    return packet(field(10, sequence), field(41, 1), field(8, 5), field(12, b"".join(entries)))


def named(*fields):
    return packet(field(10, 1), field(8, 5), field(11, b"".join((field(9, 3), *fields))))


BIG = b"x" * 8192
NAMED = {
    "a million tracks, each the parent of the one before": lambda: of(
        *(track(i, i + 1) for i in range(1, 10 * N))
    ),
    "tracks in a circle": lambda: of(*(track(i, i % N + 1) for i in range(1, N + 1))),
    "a name in each of a million sequences": lambda: of(
        *(interned(i + 1, field(2, field(1, 1) + field(2, b"name"))) for i in range(10 * N))
    ),
    "sequences that have only defaults": lambda: of(
        *(packet(field(10, i + 1), field(59, field(11, field(11, 1)))) for i in range(10 * N))
    ),
    "a million interned names": lambda: of(
        interned(1, *(field(2, field(1, i) + field(2, b"name")) for i in range(10 * N)))
    ),
    "a long name in every row": lambda: of(
        interned(1, field(2, field(1, 1) + field(2, BIG)), field(1, field(1, 1) + field(2, BIG))),
        named(field(10, 1), field(3, 1)) * N,
    ),
    "a long argument in every row": lambda: of(
        interned(1, field(29, field(1, 1) + field(2, b"\0" * 10_000))),
        named(field(4, field(10, b"k") + field(17, 1))) * (N // 10),
    ),
    "one name of 100 MB": lambda: of(named(field(23, bytes(100 << 20)))),
    "a category list of a million": lambda: of(
        interned(1, field(1, field(1, 1) + field(2, BIG))), named(field(3, 1) * (10 * N))
    ),
    "threads nobody knows": lambda: of(
        packet(field(1, field(1, 0) + field(4, field(5, b"name") + columns_of(N))))
    ),
}


def columns_of(n):
    """compact_sched: n switches to a thread of its own each."""
    threads = b"".join(varint(1000 + i) for i in range(n))
    zeros = bytes(n)
    return b"".join(
        field(number, content)
        for number, content in ((1, zeros), (2, zeros), (3, threads), (4, zeros), (6, zeros))
    )


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMED)
def test_memory_of_names_is_bounded(tmp_path, name):
    """Beside what rows take, 64 MB of names twice, and what is in the making."""
    path = tmp_path / "t.pftrace"
    path.write_bytes(NAMED[name]())
    printed, memory_kb = read(path, "names")
    assert printed.isdigit()
    plain_kb = read(path)[1]
    assert not MEASURED or memory_kb <= max(plain_kb, BASE_KB) + 350_000


def a_way_that_comes_and_goes(rounds, leaves):
    """A clock is tied to BOOTTIME, and runs backwards: each time for all that hangs on it."""
    for leaf in range(leaves):
        yield snapshot([(10**6 + leaf, 1), (10**5, 1)])
    for i in range(rounds):
        yield snapshot([(200 + i, 5), (6, 2000 + 2 * i)])
        yield snapshot([(200 + i, 5), (10**5, 1 + i)])
        yield event(5, 10**6)
        yield snapshot([(200 + i, 4), (6, 2001 + 2 * i)])
        yield event(5, 10**6)


@pytest.mark.sweep
def test_what_takes_the_square_of_the_size_ends_at_a_limit(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(of(*a_way_that_comes_and_goes(2000, 20_000)))
    printed, memory_kb = read(path)
    assert printed.startswith("the clocks are tied together in too many ways to follow")
    assert not MEASURED or memory_kb <= BASE_KB


def test_a_bomb_ends_at_the_limit(tmp_path):
    """400 MB of packets in 400 kB: the stream is read in pieces, and left at the limit."""
    path = tmp_path / "t.pftrace"
    engine = zlib.compressobj(9)
    piece = field(1, field(900, bytes(1 << 20)))
    packed = b"".join(engine.compress(piece) for _ in range(400)) + engine.flush()
    path.write_bytes(BASE + packet(field(50, packed)))
    printed, memory_kb = read(path)
    assert (
        printed == "decompressing yields more than 268435456 bytes; if the trace really is that "
        "large, raise the limit (max_expansion, --max-expansion)"
    )
    assert not MEASURED or memory_kb <= BASE_KB


def packed_zeros(head, n):
    """zlib's form of `head` and n zeros."""
    engine = zlib.compressobj(9)
    parts = [engine.compress(head)]
    parts += [engine.compress(bytes(1 << 20)) for _ in range(n >> 20)]
    return b"".join(parts) + engine.flush()


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(1 << 28) - (1 << 20), 1 << 28], ids=["the largest", "too large"])
@pytest.mark.parametrize("junk", [False, True], ids=["skipped", "junk"])
def test_a_packet_takes_no_more_than_the_limit_of_packets(tmp_path, size, junk):
    """A packet of 256 MiB in 260 kB, which is rejected or holds nothing: it is in memory once."""
    path = tmp_path / "t.pftrace"
    inner = b"" if junk else field(900, bytes(size))[:-size]
    head = b"\x0a" + varint(len(inner) + size) + inner
    path.write_bytes(BASE + packet(field(50, packed_zeros(head, size))))
    printed, memory_kb = read(path)
    assert printed == "0" or "decompressing yields more than" in printed or "packet" in printed
    assert not MEASURED or memory_kb <= BASE_KB + (1 << 18)


@pytest.mark.parametrize("level", [0, 9])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 10, 1 << 20])
def test_a_stream_is_inflated_the_same_by_pieces_of_any_size(chunk, level):
    data = bytes(range(256)) * 40
    packed = zlib.compress(data, level)
    assert b"".join(inflate(packed, chunk)) == data
    for broken in (packed[:-1], packed[:50], packed + b"x", packed + packed, b"", b"junk"):
        with pytest.raises(zlib.error):
            b"".join(inflate(broken, chunk))


def test_a_false_length_costs_nothing(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(BASE + b"\n\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x" * 1000)
    printed, memory_kb = read(path)
    assert "cut off" in printed or "header" in printed
    assert not MEASURED or memory_kb <= BASE_KB
