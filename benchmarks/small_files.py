"""Small files that are expensive to read, as functions of how many parts they have."""

from __future__ import annotations

import io
import math
import random
import struct
import zipfile
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from fuzz import costly
from fuzz.mutate import field

_US: Final = 1_700_000_000 * 10**6


class Family(NamedTuple):
    """Files of one kind.

    Attributes:
        most: the parts of the largest: at most 10 MB, expanded, and of as many clocks as are read.
        make: a file of so many parts.
        ending: of its name.
    """

    most: int
    make: Callable[[int], bytes]
    ending: str = "pftrace"


def _joined(parts: Callable[[int], Iterable[bytes]]) -> Callable[[int], bytes]:
    return lambda n: b"".join(parts(n))


def _block(kind: int, body: bytes) -> bytes:
    body += b"\0" * (-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


_SECTION: Final = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
_INTERFACE: Final = _block(1, struct.pack("<HHI", 1, 0, 0))


def _packet(on: int, us: int) -> bytes:
    return _block(6, struct.pack("<IIIII", on, us >> 32, us & 0xFFFFFFFF, 4, 4) + b"data")


def interfaces(n: int) -> bytes:
    """A capture of n interfaces, and a packet on each."""
    packets = b"".join(_packet(k, _US + k) for k in range(n))
    return _SECTION + _INTERFACE * n + packets


def sections(n: int) -> bytes:
    """A capture of n sections, with an interface and a packet each."""
    return b"".join(_SECTION + _INTERFACE + _packet(0, _US + k) for k in range(n))


def _chunk(tag: int, content: bytes) -> bytes:
    head = struct.pack("<H", tag) + (b"" if tag == 1 else struct.pack("<I", 0))
    return b"\x08" + struct.pack("<Q", len(head) + len(content)) + head + content


_STREAM: Final = b"XDF:" + _chunk(
    2,
    b"<info><channel_count>1</channel_count><nominal_srate>100</nominal_srate>"
    b"<channel_format>int8</channel_format></info>",
)


def resets(n: int) -> bytes:
    """A recording of XDF whose host starts anew n times."""
    out = [_STREAM]
    for k in range(n):
        out.append(_chunk(4, struct.pack("<dd", 5000.0 * (k % 2), 1e4 * (k % 3))))
        out.append(_chunk(3, b"\x01\x01\x08" + struct.pack("<db", 1.0 + k, 1)))
    return b"".join(out)


def samples_by_one(n: int) -> bytes:
    """A recording of XDF with n chunks of one sample of a byte each."""
    sample = b"\x01\x0a" + struct.pack("<HI", 3, 0) + b"\x01\x01\x00\x05"
    return _STREAM + sample * n


def offsets_close_by(n: int) -> bytes:
    """A recording of XDF with n offsets a millisecond apart, each 50 ms off the one before."""
    offsets = (struct.pack("<dd", 1 + k / 1000, 0.05 * (k % 2)) for k in range(n))
    chunks = b"".join(_chunk(4, offset) for offset in offsets)
    return _STREAM + chunks


def listed_members(n: int) -> bytes:
    """A zip archive whose list, described by ZIP64, has one member n times."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", b"")
    member, end = out.getvalue().split(b"PK\1\2")[0], len(out.getvalue()) - 22
    entry = out.getvalue()[len(member) : end]
    size, at = n * len(entry), len(member)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, n, n, size, at)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at + size, 1)
    last = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(entry), 0, 0)
    return member + entry * n + record + locator + last


def otlp_spans(n: int) -> bytes:
    """Spans of OTLP with an id and nothing else."""
    spans = ",".join(f'{{"spanId":"{k:x}"}}' for k in range(n))
    return f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}'.encode()


def otlp_groups(n: int) -> bytes:
    """Resources of OTLP without anything."""
    groups = ",".join(["{}"] * n)
    return f'{{"resourceSpans":[{groups}]}}'.encode()


def otlp_events(n: int) -> bytes:
    """Events of OTLP without anything, in one span."""
    events = ",".join(["{}"] * n)
    span = f'{{"spanId":"1","events":[{events}]}}'
    return f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}'.encode()


def jaeger_logs(n: int) -> bytes:
    """Logs of Jaeger without anything, in one span."""
    logs = ",".join(["{}"] * n)
    return f'{{"data":[{{"spans":[{{"spanID":"1","logs":[{logs}]}}]}}]}}'.encode()


def jaeger_spans(n: int) -> bytes:
    """Spans of Jaeger with an id and nothing else."""
    spans = ",".join(f'{{"spanID":"{k:x}"}}' for k in range(n))
    return f'{{"data":[{{"spans":[{spans}]}}]}}'.encode()


def otlp_hosts(n: int) -> bytes:
    """A chain of spans of OTLP, each called by the one before it, and each on a host of its own."""
    groups = []
    for k in range(n):
        begin = 1000 * _US + 10 * k
        name = f'{{"key":"host.name","value":{{"stringValue":"h{k}"}}}}'
        parent = f'"parentSpanId":"{k:016x}",' if k else ""
        span = (
            f'{{"traceId":"{1:032x}","spanId":"{k + 1:016x}",{parent}"kind":{3 - k % 2},'
            f'"startTimeUnixNano":"{begin}","endTimeUnixNano":"{begin + 10**6}"}}'
        )
        groups.append(
            f'{{"resource":{{"attributes":[{name}]}},"scopeSpans":[{{"spans":[{span}]}}]}}'
        )
    return f'{{"resourceSpans":[{",".join(groups)}]}}'.encode()


def jaeger_hosts(n: int) -> bytes:
    """A chain of spans of Jaeger, each called by the one before it, and each on a host."""
    spans, processes = [], []
    for k in range(n):
        parent = f'{{"refType":"CHILD_OF","traceID":"1","spanID":"{k:x}"}}' if k else ""
        kind = f'{{"key":"span.kind","type":"string","value":"{("client", "server")[k % 2]}"}}'
        spans.append(
            f'{{"traceID":"1","spanID":"{k + 1:x}","startTime":{_US + k},"duration":5,'
            f'"processID":"p{k}","references":[{parent}],"tags":[{kind}]}}'
        )
        host = f'{{"key":"hostname","type":"string","value":"h{k}"}}'
        processes.append(f'"p{k}":{{"serviceName":"s{k}","tags":[{host}]}}')
    inner = f'"spans":[{",".join(spans)}],"processes":{{{",".join(processes)}}}'
    return f'{{"data":[{{"traceID":"1",{inner}}}]}}'.encode()


def machines_of_a_journal(n: int) -> bytes:
    """A journal with an entry of each of n machines."""
    return b"".join(_entry(k, k, k) for k in range(n))


def clocks_of_a_table(n: int) -> bytes:
    """A table of n rows, each on a clock of its own."""
    return b"timestamp,clock\n" + "".join(f"{k},com.x.c{k}\n" for k in range(n)).encode()


def mesh(n: int) -> Iterable[bytes]:
    """Clocks of which each two are in a snapshot, and each with BOOTTIME; n snapshots about."""
    clocks = range(200, 200 + max(2, math.isqrt(2 * n)))
    for k in clocks:
        yield costly.snapshot([(costly.BOOTTIME, costly.START + k), (k, costly.START + k)])
        yield costly.event(costly.START + k, k)
        for other in range(200, k):
            readings = (costly.START + 7 * k + other, costly.START + 7 * other + k)
            yield costly.snapshot([(k, readings[0]), (other, readings[1])])


def jaeger_processes(n: int) -> bytes:
    """Spans of Jaeger, each of a process of its own."""
    host = '[{"key":"hostname","value":"h"}]'
    spans = ",".join(
        f'{{"spanID":"{k:x}","process":{{"serviceName":"{k}","tags":{host}}}}}' for k in range(n)
    )
    return f'{{"data":[{{"spans":[{spans}]}}]}}'.encode()


def unfinished_slices(n: int) -> bytes:
    """Threads of Chrome's JSON, in turn: 250 slices in each other, in these 250 that do not end."""
    events = []
    for k in range(n):
        thread, depth = divmod(k, 500)
        on = f'"pid":1,"tid":{thread + 1},"ts":{2000 * thread + depth}'
        dur = 1000 - 2 * depth
        kind = f'"ph":"X","dur":{dur},"name":"a"' if depth < 250 else f'"ph":"B","name":"{depth}"'
        events.append(f"{{{kind},{on}}}")
    return f'{{"traceEvents":[{",".join(events)}]}}'.encode()


def boots(n: int) -> bytes:
    """A journal with an entry for each of n boots."""
    return b"".join(_entry(k, k, 1) for k in range(n))


def _entry(k: int, boot: int, machine: int) -> bytes:
    times = f"__REALTIME_TIMESTAMP={_US + 1000 * k}\n__MONOTONIC_TIMESTAMP={1000 * k}\n"
    ids = f"_BOOT_ID={boot:032x}\n_MACHINE_ID={machine:032x}\n"
    return f"{times}{ids}MESSAGE=m\n\n".encode()


def noisy_table(n: int) -> bytes:
    """A table of two exact clocks of which one is read late or early, by 1 ms about."""
    noise, rows, host = random.Random(4), ["realtime_ns,com.device_ns"], 0
    for k in range(n):
        device = 10**9 + k * 33_333_333
        host = max(host + 1, device + 1_700_000_000 * 10**9 + int(noise.gauss(0, 1e6)))
        rows.append(f"{host},{device}")
    return "\n".join(rows).encode()


def tracks(n: int) -> Iterable[bytes]:
    """Tracks of one process, with an instant on each."""
    for k in range(n):
        yield from _described(k, field(2, b"t%d" % k))


def processes(n: int) -> Iterable[bytes]:
    """Processes, each with an instant on its track."""
    for k in range(n):
        yield from _described(k, field(3, field(1, k + 1) + field(6, b"p%d" % k)))


def threads(n: int) -> Iterable[bytes]:
    """Threads, each of a process of its own, with an instant on its track."""
    for k in range(n):
        yield from _described(k, field(4, field(1, k + 1) + field(2, k + 1) + field(5, b"t%d" % k)))


def _described(k: int, owner: bytes) -> Iterable[bytes]:
    uuid, at = 1000 + k, field(8, costly.START + k) + field(10, 1)
    yield costly.packet(at, field(60, field(1, uuid) + owner))
    yield costly.packet(at, field(11, field(9, 3) + field(11, uuid) + field(23, b"e")))


def cpus(n: int) -> Iterable[bytes]:
    """Bundles of ftrace, in turn of 1,000 CPUs, with a switch between two threads each."""
    for k in range(n):
        switch = field(1, b"a") + field(2, k + 1) + field(5, b"b") + field(6, k + 2)
        event = field(1, costly.START + k) + field(2, k + 1) + field(4, switch)
        yield costly.packet(field(1, field(1, k % 1000) + field(2, event)))


FAMILIES: Final[dict[str, Family]] = {
    "interfaces of a capture": Family(65_000, interfaces, "pcapng"),
    "sections of a capture": Family(65_000, sections, "pcapng"),
    "hosts of OTLP": Family(16_000, otlp_hosts, "json"),
    "processes of Jaeger, each on a host": Family(16_000, jaeger_hosts, "json"),
    "machines of a journal": Family(8_000, machines_of_a_journal, "export"),
    "clocks of a table": Family(16_000, clocks_of_a_table, "csv"),
    "a mesh of clocks": Family(16_000, _joined(mesh)),
    "machines": Family(8_000, _joined(costly.machines)),
    "starts of an XDF host": Family(120_000, resets, "xdf"),
    "samples of XDF, one a chunk": Family(830_000, samples_by_one, "xdf"),
    "close offsets of XDF": Family(320_000, offsets_close_by, "xdf"),
    "members listed by ZIP64": Family(200_000, listed_members, "zip"),
    "minimal spans of OTLP": Family(500_000, otlp_spans, "json"),
    "empty resources of OTLP": Family(3_000_000, otlp_groups, "json"),
    "minimal spans of Jaeger": Family(500_000, jaeger_spans, "json"),
    "empty events of OTLP spans": Family(3_000_000, otlp_events, "json"),
    "empty logs of Jaeger spans": Family(3_000_000, jaeger_logs, "json"),
    "processes of Jaeger spans": Family(95_000, jaeger_processes, "json"),
    "unfinished slices of Chrome's JSON": Family(170_000, unfinished_slices, "json"),
    "boots of a journal": Family(8_000, boots, "export"),
    "rows of a noisy table": Family(290_000, noisy_table, "csv"),
    "sequences of two clocks": Family(16_000, _joined(costly.sequences)),
    "a chain of clocks": Family(16_000, _joined(costly.chain)),
    "machines, synced": Family(16_000, _joined(costly.machines_synced)),
    "jumps forward and back": Family(100_000, _joined(costly.jumps)),
    "resets": Family(100_000, _joined(costly.resets)),
    "clocks with MONOTONIC that step": Family(16_000, _joined(costly.with_monotonic)),
    "tracks": Family(200_000, _joined(tracks)),
    "processes": Family(180_000, _joined(processes)),
    "threads": Family(170_000, _joined(threads)),
    "CPUs": Family(280_000, _joined(cpus)),
}
