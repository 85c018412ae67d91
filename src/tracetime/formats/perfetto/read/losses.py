"""What a Perfetto trace says of data that were lost: its statistics of buffers and of ftrace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracetime.clocks.snapshot import INT64_MAX
from tracetime.formats.perfetto.read.machine_facts import fields_of, message_of
from tracetime.text import count
from tracetime.trace.notes import Note

_FTRACE_STATS, _TRACE_STATS = 34, 35
_BUFFERS, _OVERWRITTEN, _WRITER_LOSS = 1, 3, 19
_PHASE, _END_OF_TRACE, _CPU_STATS, _CPU, _OVERRUN = 1, 2, 2, 1, 3


def losses(stats: Iterable[tuple[int, bytes, int]]) -> Iterator[Note]:
    """Yield the notes of one trace.

    stats: field, message and packet of each TraceStats and FtraceStats, in order. The last
    TraceStats counts, and of ftrace what came between the start and the end of the recording.
    """
    buffers: list[dict[int, int | bytes]] = []
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    buffers_at = rings_at = 0
    for field, message, packet in stats:
        if field == _TRACE_STATS:
            buffers = [
                message_of(value) for number, value in fields_of(message) if number == _BUFFERS
            ]
            buffers_at = packet
            continue
        is_end = message_of(message).get(_PHASE) == _END_OF_TRACE
        rings_at = packet if is_end else rings_at
        (after if is_end else before).update(_overruns(message))
    overrun = sum(max(0, n - before.get(cpu, 0)) for cpu, n in after.items())
    if lost := _sum(buffers, _WRITER_LOSS):
        values = {"lost": count(lost, "packet")}
        yield Note("recorder-lost-data", "writer", (buffers_at,), values=values)
    if overrun:
        yield Note("recorder-lost-data", "ftrace", (rings_at,), events=min(overrun, INT64_MAX))
    if overwritten := _sum(buffers, _OVERWRITTEN):
        values = {"chunks": count(overwritten, "chunk")}
        yield Note("recorder-lost-data", "buffer", (buffers_at,), values=values)


def _overruns(message: bytes) -> dict[int, int]:
    """The events that each CPU's ring has overwritten since it was made."""
    return {_number(cpu, _CPU): _number(cpu, _OVERRUN) for cpu in _all(message, _CPU_STATS)}


def _all(message: bytes, number: int) -> list[dict[int, int | bytes]]:
    """The messages in one field."""
    return [message_of(value) for found, value in fields_of(message) if found == number]


def _sum(messages: list[dict[int, int | bytes]], number: int) -> int:
    return sum(_number(message, number) for message in messages)


def _number(message: dict[int, int | bytes], number: int) -> int:
    value = message.get(number, 0)
    return value if isinstance(value, int) else 0
