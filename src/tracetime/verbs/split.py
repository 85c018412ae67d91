"""The verb `split`: recordings that were joined into one file apart again, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from tracetime.analysis.snapshots import MOST_KEPT, Start, Written, breaks, starts
from tracetime.atomic_file import file_target, not_written, refuse_input, whole_file
from tracetime.clocks.json_facts import Document
from tracetime.errors import TraceError, UsageError
from tracetime.text import printable
from tracetime.trace.abilities import PacketFile
from tracetime.trace.trace import Trace, check_trace

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class SplitPart:
    """One recording of a file.

    Attributes:
        path: the file that was written.
        packet: the index of its first packet in the joined file.
        offset: the first of its bytes there.
        bytes: how many it has.
    """

    path: str
    packet: Count
    offset: Count
    bytes: Count


@dataclass(frozen=True, slots=True)
class SplitSummary(Document):
    """The outcome of `split`: the parts, in the order of the file.

    Attributes:
        trace: the trace, as it was named.
        directory: where the parts are.
        parts: the recordings, in the order of the file.
    """

    trace: str
    directory: str
    parts: tuple[SplitPart, ...]


def split(trace: Trace, directory: str | os.PathLike[str]) -> SplitSummary:
    """Write the recordings that were joined into a Perfetto trace as files of their own.

    Each is byte for byte what was joined, and is named after the trace, with its number.

    Args:
        trace: as `open_trace` returns it, of a file that is not compressed.
        directory: for the parts; it is made if it is not there.

    Raises:
        UsageError: it is no Perfetto trace, or compressed; it is one recording, as far as can be
            told; it was baked of several; a part cannot be written.
        TraceError: the trace is damaged; it is not sure where a recording begins. Whatever is
            raised, no part is written.
    """
    check_trace(trace)
    name = printable(trace.path)
    packets = trace.packets
    if packets is None:
        raise UsageError(f"{name} is no Perfetto trace: only those are split")
    if packets.is_compressed:
        raise UsageError(f"{name} is compressed: decompress it first, and split what comes of that")
    found = _starts(trace, packets)
    ends = [0, *(start.offset for start in found), trace.size]
    folder = Path(directory)
    # Standard input has no name.
    named = Path(trace.path if Path(trace.path).is_file() else "trace.pftrace")
    digits = len(str(len(found) + 1))
    refuse_input(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
    parts = [
        SplitPart(
            str(folder / f"{named.stem}-{number:0{digits}}{named.suffix}"),
            0 if number == 1 else found[number - 2].packet,
            begin,
            end - begin,
        )
        for number, (begin, end) in enumerate(pairwise(ends), 1)
    ]
    with packets.uncompressed() as source, ExitStack() as stack:
        source.seek(0)
        for part in parts:
            target = stack.enter_context(whole_file(file_target(part.path)))
            with target.open("wb") as file:
                _copy(source, part.bytes, file)
    return SplitSummary(trace.path, str(folder), tuple(parts))


def _copy(source: IO[bytes], n: int, file: IO[bytes]) -> None:
    while n and (data := source.read(min(n, _CHUNK))):
        n -= file.write(data)


def _starts(trace: Trace, packets: PacketFile) -> Sequence[Start]:
    """The starts of the second and later recordings.

    Raises:
        UsageError: there is no second one.
        TraceError: the trace is damaged; a place is not sure.
    """
    reading = trace.columns(written=MOST_KEPT)
    for _ in reading:
        pass
    if reading.truncated is not None:
        raise reading.truncated
    name = printable(trace.path)
    if reading.written.left_out:
        raise TraceError(f"{name} has too many snapshots to tell where its recordings begin")
    if packets.stray_field is not None:
        raise TraceError(
            f"{name} has bytes that are no packet: a recording may have been cut off before "
            "another one was joined to it, whose beginning is hidden",
            packets.stray_field,
        )
    written = Written(reading.written)
    found = starts(written.signs)
    fallen = [one.packet for one in breaks(written)]
    if not (found or fallen):
        raise UsageError(
            f"nothing says that {name} is several recordings: none begins a second time in it, and "
            "its clocks do not start anew"
        )
    for start in found:
        if not start.is_sure and trace.baked_by is not None:
            raise UsageError(
                f"bake or merge wrote {name}, and it is no longer sure which packets are of which "
                "recording: split the files that it was made of, and bake the parts"
            )
        if not start.is_sure:
            raise TraceError(
                f"another recording begins about packet {start.packet:,} of {name}, but it does "
                "not begin as the first one does: which of the snapshots there are of which "
                "recording is not sure",
                start.offset,
                start.packet,
            )
    firsts = np.array([0, *(start.packet for start in found)])
    for packet in fallen:
        first = firsts[np.searchsorted(firsts, packet, side="right") - 1]
        if ((written.packets >= first) & (written.packets < packet)).any():
            raise TraceError(
                f"the clocks of {name} start anew at packet {packet:,}, but nothing says where "
                "the recording begins that they are of: look at it with `tracetime doctor`",
                packet=int(packet),
            )
    return found
