"""The verb behind `open --tube`: the errors of drawn events, as tracks for the UI.

What is measured is in `analysis/placement_errors.py`; here it becomes packets that go with the
trace's own.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import numpy as np

from tracetime._kernels.perfetto.packets import whole_packets
from tracetime._kernels.perfetto.writer import Track
from tracetime.analysis.placement_errors import ClockError, PlacementErrors, Segments, WithoutError
from tracetime.clocks.ids import ClockId
from tracetime.errors import TraceError, UsageError
from tracetime.formats.perfetto.write.tracks import AddedTracks
from tracetime.formats.trace_file import CHUNK
from tracetime.graph.clock_graph import inner
from tracetime.text import count, printable
from tracetime.trace.abilities import PacketFile
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.trace import Trace

MOST_CLOCKS: Final = 24
"""So many clocks get tracks, the worst ones: a screen of the UI, about."""

MOST_STEPS: Final = 1000
"""Values of a track; more than a screen has pixels would not be seen."""

GROUP: Final = "tracetime"
_LONGEST_HEADER: Final = 11
"""Bytes before a packet: its tag, and its length, a varint."""
_LAST_SEQUENCE: Final = (1 << 32) - 1
_LONGEST_NAME: Final = 200


class ErrorTracks(NamedTuple):
    """The tracks with the errors of drawn events.

    Attributes:
        inserted: bytes of the tracks, each before a byte of the file, in order; empty where there
            is nothing to draw, or the file has them.
        end: so many bytes of the file make a trace with them.
        clocks: those with tracks, the worst first.
        left_out: further clocks whose events have error bars.
        others: events without an error bar, and those that are not drawn.
        truncated: with `partial`, the error after which the rest of the trace is left out.
    """

    inserted: list[tuple[int, bytes]]
    end: int
    clocks: list[ClockError]
    left_out: list[ClockError]
    others: list[WithoutError]
    truncated: TraceError | None


class _Value(NamedTuple):
    """A value of a counter, or the begin (with its name) or the end (None) of a span."""

    offset: int
    time: int
    track: Track
    value: int | str | None


def with_error_tracks(
    trace: Trace, progress: Callable[[int], None] | None = None
) -> tuple[IO[bytes], ErrorTracks]:
    """Return a trace with tracks of the errors of its events where Perfetto's rule draws them.

    For each clock but the trace clock two tracks of values, ns: the error, by which an event
    drawn there can be off at most (the farther end of its error bar), and by how much it is drawn
    later than the tube's best estimate. They hold from one event to the next, and where events
    are many, for a stretch of time the greatest of it.

    Args:
        trace: a Perfetto trace, read twice.
        progress: called with the byte position reached in the file.

    Returns:
        An open file with the content of the trace, and what goes into it. For a compressed trace
        it is a temporary one, which has the tracks.

    Raises:
        UsageError: no Perfetto trace; one that is compressed, and there is no room for its content.
        TraceError: the trace cannot be read.
    """
    packets = trace.packets
    if packets is None:
        raise UsageError(
            f"{printable(trace.path)} is no Perfetto trace: tracks are added to these alone"
        )
    errors, sequence = _measure(trace, progress)
    content = packets.uncompressed()
    try:
        home = trace.trace_clock
        machine = trace.machines[home.machine] if home.machine else 0
        added = AddedTracks(sequence, home.clock, machine)
        tracks = _tracks(trace, packets, content, errors, added)
    except BaseException:
        content.close()
        raise
    return _repack(content, tracks) if packets.is_compressed else (content, tracks)


def _measure(trace: Trace, progress: Callable[[int], None] | None) -> tuple[PlacementErrors, int]:
    """The errors of all events, and the last packet sequence that none of them is on."""
    graph, home = inner(trace.clocks), trace.trace_clock
    numbers = ClockNumbers((info.clock for info in graph.clocks()), trace.machines)
    machine = trace.machines[home.machine]
    errors = PlacementErrors(numbers, numbers.of(home.clock, home.sequence, machine))
    bars = ErrorBars(graph, home, trace.machines, "estimated", {})
    sequences = set[int]()
    for columns in trace.columns(progress):
        sequences.update(np.unique(columns["packet_sequence"]).tolist())
        errors.add(columns, bars.place(columns))
    return errors, next(n for n in range(_LAST_SEQUENCE, 0, -1) if n not in sequences)


def _tracks(
    trace: Trace,
    packets: PacketFile,
    content: IO[bytes],
    errors: PlacementErrors,
    tracks: AddedTracks,
) -> ErrorTracks:
    truncated, every, others = trace.truncated, errors.clocks(), errors.others()
    clocks, left_out = every[:MOST_CLOCKS], every[MOST_CLOCKS:]
    unknown = [other for other in others if other.drawn][:MOST_CLOCKS]
    end = os.fstat(content.fileno()).st_size
    if truncated is not None and truncated.offset:
        end = _whole_packets(content, min(end, truncated.offset))
    inserted: list[tuple[int, bytes]] = []
    if clocks or unknown:
        values = _values(
            tracks,
            [(_name(trace, one.clock), errors.steps(one.clock, MOST_STEPS)) for one in clocks],
            [(_name(trace, one.clock), one) for one in unknown],
        )
        if packets.is_sorted_in_parts:
            inserted = list(_interleave(content, tracks, values))
        else:
            _write(tracks, values)
            inserted = [(end, tracks.take())]
    return ErrorTracks(inserted, end, clocks, left_out, others, truncated)


def _name(trace: Trace, clock: ClockId) -> str:
    return printable(trace.clocks.name(clock), _LONGEST_NAME)


def _values(
    tracks: AddedTracks,
    known: Sequence[tuple[str, Segments]],
    unknown: Sequence[tuple[str, WithoutError]],
) -> list[_Value]:
    """Make the tracks, and return their values."""
    group = tracks.group(GROUP)
    found: list[_Value] = []
    for name, steps in known:
        for what, values in (("error", steps.error), ("shift", steps.shift)):
            if what == "shift" and not values.any():
                continue
            track = tracks.counter(f"{GROUP}: {what} of {name} (ns)", "ns", group)
            new = np.append(True, values[1:] != values[:-1])
            columns = (column[new].tolist() for column in (steps.offset, steps.time, values))
            for offset, time, value in zip(*columns, strict=True):
                found.append(_Value(offset, time, track, value))
    for name, one in unknown:
        track = tracks.spans(f"{GROUP}: no error bar of {name}", group)
        what = f"{count(one.events, 'event')} without an error bar: {one.reason}"
        found += [
            _Value(one.first[1], one.first[0], track, what),
            _Value(one.last[1], one.last[0], track, None),
        ]
    return found


def _write(tracks: AddedTracks, values: Sequence[_Value]) -> None:
    for _, time, track, value in values:
        if isinstance(value, int):
            tracks.value(track, time, value)
        elif value is None:
            tracks.end(track, time)
        else:
            tracks.begin(track, time, value)


def _interleave(
    content: IO[bytes], tracks: AddedTracks, values: list[_Value]
) -> Iterator[tuple[int, bytes]]:
    """Each value with its place, right after the packet of its event: the UI finds it in time."""
    values.sort(key=lambda value: (value.offset, value.time))
    for offset, those in groupby(values, key=lambda value: value.offset):
        _write(tracks, list(those))
        yield _end_of_packet(content, offset), tracks.take()


def _repack(content: IO[bytes], tracks: ErrorTracks) -> tuple[IO[bytes], ErrorTracks]:
    """A gzip file of the content and the tracks, not made smaller.

    Perfetto numbers the files within others, and by these numbers chooses between paths that are
    alike: what was compressed has to be within another file.
    """
    packed = TemporaryFile()  # noqa: SIM115
    content.seek(0)
    reached = 0
    with content, gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=0) as out:
        for at, more in (*tracks.inserted, (tracks.end, b"")):
            for start in range(reached, at, CHUNK):
                out.write(content.read(min(CHUNK, at - start)))
            out.write(more)
            reached = at
    packed.flush()
    return packed, tracks._replace(inserted=[], end=os.fstat(packed.fileno()).st_size)


def _whole_packets(content: IO[bytes], end: int) -> int:
    """The length of the whole packets in the first `end` bytes; nothing can follow a part."""
    with mmap(content.fileno(), end, access=ACCESS_READ) as data, memoryview(data) as view:
        return whole_packets(view, end)


def _end_of_packet(content: IO[bytes], offset: int) -> int:
    header = os.pread(content.fileno(), _LONGEST_HEADER, offset)
    size = next(n for n, byte in enumerate(header[1:], 2) if byte < 0x80)
    length = sum((byte & 0x7F) << 7 * k for k, byte in enumerate(header[1:size]))
    return offset + size + length
