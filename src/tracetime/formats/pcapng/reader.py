"""A capture as a trace: an event for each packet, on REALTIME of the machine that captured it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.pcapng import Packets, write_args
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.errors import TraceError
from tracetime.formats.name_columns import LONGEST_TEXT, joined_texts
from tracetime.formats.pcapng.odd_times import CaptureTimes
from tracetime.formats.record_trace import FileClocks, Records, RecordTrace
from tracetime.formats.source_times import BackwardStreams, SourceResolutions, backwards
from tracetime.formats.trace_file import TraceFile, blocks
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.values import ascending
from tracetime.text import count, printable
from tracetime.trace.events_table import TYPES, Columns, Kind
from tracetime.trace.facts import TraceWarning
from tracetime.trace.notes import Note
from tracetime.trace.open_options import OpenOptions

# Packets of a capture in batches of columns, names of links, errors for what is no capture.

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
    _INCOMPLETE: "the capture is cut off within a block: get a whole copy",
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


_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_INSTANT: Final = TYPES.index("instant")
_MOST_WARNINGS: Final = 100


class CaptureTrace(RecordTrace):
    """A capture of packets, of pcapng or of pcap, with one interface or several."""

    KINDS: ClassVar = (Kind("packet"),)
    FORMAT = "capture of packets"
    ROW = "packet"

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        self._whole: Packets | None = None
        self._backward_streams = BackwardStreams()
        self._odd_times = CaptureTimes()
        # Cards and systems stamp in whole ticks, by no floats.
        self._resolutions = SourceResolutions(doubles=False)

    def _read_clocks(self) -> FileClocks:
        """Nothing ties clocks: the file is read for its interfaces."""
        self._whole = Packets(LONGEST_BLOCK, MOST_INTERFACES)
        found = packets(self._file, self.options.max_expansion, self._whole)
        for batch in self._until_damage(found):
            fits = batch.columns["fits"] != 0
            placed = [batch.columns[name][fits] for name in ("interface", "ns", "number")]
            self._odd_times.add(*placed)
            self._odd_times.add_beyond(
                *(batch.columns[name][~fits] for name in ("ticks", "number"))
            )
            self._backward_streams.add(*(one[placed[1] != 0] for one in placed))
            self._resolutions.add(*(one[fits] for one in _stamps(batch.columns, self._whole)))
        return FileClocks(ClockGraph(), _REALTIME, [0])

    def _read_records(self, names: bool) -> Iterator[Records]:
        reader = Packets(LONGEST_BLOCK, MOST_INTERFACES)
        for batch in packets(self._file, self.options.max_expansion, reader):
            cut_off, early = batch.columns["cut_off_ns"], None
            if not self._resolutions.is_exact:
                early, late = self._resolutions.margins(*_stamps(batch.columns, reader))
                cut_off = cut_off + late
            yield Records(
                _times(batch),
                _names(batch, reader) if names else {},
                batch.position,
                cut_off,
                early,
                batch.columns["fits"] == 0,
            )

    @property
    def warnings(self) -> list[TraceWarning]:
        """The notes on times that are read in one of several senses; the first hundred."""
        interfaces = self._read_whole.interfaces
        found = [
            TraceWarning(
                "an interface gives its time zone, which is ignored: its timestamps are taken for "
                "UTC, as the format has it",
                place,
                packet,
            )
            for *_, has_zone, place, packet in interfaces
            if has_zone
        ]
        without_time = self._read_whole.n_without_time
        if without_time:
            text = f"{count(without_time, 'packet')} without a time (Simple Packet Block): no event"
            found.append(TraceWarning(text, 0, 0))
        return found[:_MOST_WARNINGS]

    @property
    def metadata(self) -> Mapping[str, object]:
        """Under "interfaces", the name, link type, and times of each, by its number."""
        return {
            "interfaces": [
                {
                    "name": None if name is None else _decode(name),
                    "link_type": link_name(link),
                    "ticks_per_s": _ticks_per_s(resolution),
                    "offset_s": offset_s,
                }
                for link, name, resolution, offset_s, *_ in self._read_whole.interfaces
            ]
        }

    def notes(self, code: str) -> Iterator[Note]:
        """Packets dropped, out of order, or with times that cannot be right; see `Trace`."""
        whole = self._read_whole
        if code == "events-dropped" and whole.dropped:
            first = () if whole.first_drop < 0 else (whole.first_drop,)
            yield Note(code, packets=first, events=min(whole.dropped, INT64_MAX))
        elif code == "times-rounded" and self._resolutions.longest_ns:
            yield Note(code, "kept", size_ns=self._resolutions.longest_ns)
        elif code == "odd-times":
            names = map(self._interface_name, range(len(whole.interfaces)))
            yield from self._odd_times.odd(whole.sections or [0], list(names))
        elif code == "stream-backwards":
            found = self._backward_streams
            if found.streams <= self._odd_times.mixed().keys():
                # It goes back from one clock to the other: a note of its own says so.
                return
            names = map(self._interface_name, sorted(found.streams))
            yield from backwards(found.events, found.first, list(names), found.size_ns)

    def _interface_name(self, number: int) -> str:
        name = self._read_whole.interfaces[number][1]
        return f"interface {number}" + ("" if name is None else f" ({printable(_decode(name))})")

    @property
    def _read_whole(self) -> Packets:
        """The facts of the whole file besides packets."""
        self.prepare(names=False)
        assert self._whole is not None
        return self._whole

    def prepare(self, names: bool) -> None:
        """Read the file for its interfaces, unless they are known."""
        _ = self.clocks


def _decode(name: bytes) -> str:
    return name[:LONGEST_TEXT].decode(errors="replace")


def _stamps(
    columns: Mapping[str, npt.NDArray[np.int64]], reader: Packets
) -> tuple[npt.NDArray[np.int64], ...]:
    """The interface of each packet, the tick of that, and the packet's time, in ns."""
    on = columns["interface"]
    numbers = ascending(on)
    ticks = [_tick_ns(reader.interfaces[number][2]) for number in numbers.tolist()]
    return on, np.array(ticks, np.int64)[np.searchsorted(numbers, on)], columns["ns"]


def _tick_ns(resolution: int) -> int:
    """The duration of a tick of an interface, by its if_tsresol: whole ns, rounded up."""
    return -(-(10**9) // _ticks_per_s(resolution))


def _ticks_per_s(resolution: int) -> int:
    base = 2 if resolution & 0x80 else 10
    ticks: int = base ** (resolution & 0x7F)
    return ticks


def _times(batch: PacketBatch) -> Columns:
    n = len(batch.columns["start"])
    return {
        "packet": batch.columns["number"].astype(np.uint64),
        "offset": (batch.columns["start"] + batch.offset).astype(np.uint64),
        "clock": np.full(n, _REALTIME.clock, np.uint32),
        "timestamp": batch.columns["ns"],
    }


def _names(batch: PacketBatch, reader: Packets) -> dict[str, pa.Array]:
    """The names of each packet: its interface, its length, and other facts."""
    columns = batch.columns
    n = len(columns["start"])
    on = columns["interface"]
    numbers = ascending(on)
    codes = np.searchsorted(numbers, on)
    interfaces = [reader.interfaces[number] for number in numbers.tolist()]
    labels = [
        f"interface {number}" if one[1] is None else _decode(one[1])
        for number, one in zip(numbers.tolist(), interfaces, strict=True)
    ]
    args_ends, args = write_args(batch.data, columns)
    return {
        "name": _name_column(codes, [link_name(one[0]) for one in interfaces]),
        "track_name": _name_column(codes, labels),
        "track": arrow_of(on.astype(np.uint64)),
        "type": arrow_of(np.full(n, _INSTANT, np.int8)),
        "value": arrow_of(columns["length"].astype(np.float64)),
        "args": joined_texts(args_ends, args),
    }


def _name_column(codes: npt.NDArray[np.intp], names: list[str]) -> pa.Array:
    """A column of names by code; several codes may have one name."""
    distinct = {name: k for k, name in enumerate(dict.fromkeys(names))}
    numbers = np.array([distinct[name] for name in names], np.int32)
    return pa.DictionaryArray.from_arrays(arrow_of(numbers[codes]), texts_of(distinct))
