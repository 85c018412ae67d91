"""ptp4l's bound, by the management messages of its Unix socket: 0.1 ms, so its answer is kept.

The messages: IEEE 1588, clause 15, and linuxptp's TIME_STATUS_NP, as its manual page pmc(8) has
them. PTP measures an offset and a mean path delay; it states no bound. What is taken for one, and
where there is none: docs/howto/now.md.
"""

from __future__ import annotations

import socket
import struct
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tracetime.clocks.kernel_clock import KernelClock
from tracetime.errors import NoBoundError
from tracetime.sources.posix import read_adjtimex
from tracetime.sources.time_service.statement import ANY_OSCILLATOR_PPB, Statement
from tracetime.text import count

PTP4L_PATHS: Final = ("/var/run/ptp4lro", "/var/run/ptp4l")
"""The first is for all users (linuxptp 4), the second for root."""
_NS: Final = 1_000_000_000
_SCALED: Final = 65_536
"""An interval of time is in 2^-16 ns."""

_HEADER: Final = struct.Struct(">BBHBBHqIQHHBb")
_MANAGEMENT: Final = struct.Struct(">QHBBBBHHH")
"""The port that it is for, hops, action; type and length of the TLV, and what it is about."""
_TLV_ID: Final = 2
_MESSAGE, _VERSION, _CONTROL, _NO_INTERVAL, _EVERY_PORT = 0xD, 2, 4, 0x7F, 0xFFFF
_EVERY_CLOCK: Final = 0xFFFF_FFFF_FFFF_FFFF
_GET, _RESPONSE = 0, 2
_TLV_MANAGEMENT, _TLV_ERROR = 1, 2
_MOST_BYTES: Final = 1_500

_TIME_STATUS: Final = 0xC000, struct.Struct(">qqiiHHQHiQ")
_CURRENT: Final = 0x2001, struct.Struct(">Hqq")
_PARENT: Final = 0x2002, struct.Struct(">QHBBHiBBBHBQ")
_TIME_PROPERTIES: Final = 0x2003, struct.Struct(">hBB")
_PORT_PROPERTIES: Final = 0xC004, struct.Struct(">QHBB")
"""Of a port: identity, state, kind of stamps; then the name of its interface."""
_SOFTWARE, _SLAVE = 0, 9
_DEFAULT: Final = 0x2000, struct.Struct(">BBHBBBHBQBB")
_MOST_PORTS: Final = 64
_UTC_OFFSET_VALID, _PTP_TIMESCALE, _TIME_TRACEABLE = 0x04, 0x08, 0x10
_PRIMARY_CLASSES: Final = (6, 7)
"""A grandmaster that a primary reference keeps, or kept a moment ago: within its accuracy."""

_ACCURACY_NS: Final = dict(
    zip(
        range(0x20, 0x31),
        (
            25, 100, 250, 1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000,
            10_000_000, 25_000_000, 100_000_000, 250_000_000, 1_000_000_000, 10_000_000_000,
        ),
        strict=True,
    )
) | dict.fromkeys(range(0x17, 0x20), 10)  # fmt: skip
"""clockAccuracy, IEEE 1588-2019 table 5; of the finest 10 ns is the coarsest."""

_OLDEST_NS: Final = 10 * _NS
"""A slave hears from its master every few seconds at least."""
_FARTHEST_NS: Final = _NS
"""A clock that is farther off is not synchronised yet."""
_TRIES: Final = 3
_SYNCS: Final = 16
_TIMEOUT_S: Final = 0.5
_RETRY_NS: Final = 5 * _NS
_RETRY_SILENT_NS: Final = 60 * _NS
"""Whoever asks waits for the timeout: a recording does so once a minute."""


class _Answers(NamedTuple):
    """The answers of ptp4l on one Sync of its master, field by field as on the wire."""

    status: Sequence[int]
    current: Sequence[int]
    parent: Sequence[int]
    properties: Sequence[int]
    port: Sequence[int]


class Ptp4l:
    """A reader of ptp4l's bound.

    Args:
        paths: of its socket; the first that can be used.
        realtime_ns: reads REALTIME.
        kernel: reads adjtimex.
    """

    name = "ptp4l"
    poll_ns = 100_000_000

    def __init__(
        self,
        paths: Sequence[str] = PTP4L_PATHS,
        realtime_ns: Callable[[], int] = time.time_ns,
        kernel: Callable[[], KernelClock | None] = read_adjtimex,
    ) -> None:
        self._paths = tuple(paths)
        self._realtime_ns = realtime_ns
        self._kernel = kernel
        self._sequence = 0
        self._last_ingress_ns = 0
        self._offsets: deque[int] = deque(maxlen=_SYNCS)
        self.retry_ns = _RETRY_NS

    def ask(self, monotonic_ns: Callable[[], int]) -> Statement:
        """The statement of ptp4l on the last Sync; see `TimeSource.ask`."""
        self.retry_ns = _RETRY_NS
        before_ns = monotonic_ns()
        now_ns = self._realtime_ns()
        try:
            # ptp4l replies to a path alone.
            with (
                tempfile.TemporaryDirectory(prefix="tracetime-") as folder,
                self._connect(folder) as channel,
            ):
                answers = self._answers(channel)
        except TimeoutError:
            self.retry_ns = _RETRY_SILENT_NS
            raise NoBoundError(
                f"ptp4l has not answered for {_TIMEOUT_S:g} s: it answers in its own domainNumber "
                "and transportSpecific, and is asked in 0 and 0; set these, or restart ptp4l"
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NoBoundError(f"ptp4l cannot be asked ({reason}); start ptp4l") from None
        accuracy_ns = _accuracy(answers)
        offset_ns, ingress_ns = answers.status[:2]
        # Another Sync may have come after REALTIME was read.
        age_ns = max(now_ns - ingress_ns, 0)
        if age_ns > _OLDEST_NS or ingress_ns > self._realtime_ns():
            raise NoBoundError(
                "ptp4l's last Sync is not of the last 10 s; see whether its master runs"
            )
        delay_ns = -(-answers.current[2] // _SCALED)
        if not (0 <= delay_ns < _FARTHEST_NS and abs(offset_ns) < _FARTHEST_NS):
            raise NoBoundError(
                f"ptp4l is not synchronised (offset {offset_ns} ns, delay {delay_ns} ns); wait"
            )
        if ingress_ns != self._last_ingress_ns:
            self._last_ingress_ns = ingress_ns
            self._offsets.append(abs(offset_ns))
        return Statement(
            max(self._offsets) + delay_ns + accuracy_ns,
            before_ns - age_ns,
            ANY_OSCILLATOR_PPB + self._steering_ppb(),
            ANY_OSCILLATOR_PPB,
            str(ingress_ns),
        )

    def _steering_ppb(self) -> int:
        """The greatest change of REALTIME's rate by steering since the Sync, ppb."""
        state = self._kernel()
        if state is None:
            raise NoBoundError("this system has no adjtimex, or forbids it; allow it")
        return abs(round(state.frequency_ppm * 1_000)) + 1

    def _connect(self, folder: str) -> socket.socket:
        """A socket in a folder that hears from ptp4l alone.

        Raises:
            OSError: ptp4l is not there.
        """
        refused: OSError | None = None
        for path in self._paths:
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                channel.settimeout(_TIMEOUT_S)
                channel.connect(path)
                channel.bind(f"{folder}/replies")
            except OSError as error:
                channel.close()
                refused = error
            else:
                return channel
        assert refused is not None
        raise refused

    def _answers(self, channel: socket.socket) -> _Answers:
        """All answers of ptp4l, of one Sync.

        Raises:
            OSError, NoBoundError: it does not answer, or says what linuxptp does not.
        """
        for _ in range(_TRIES):
            status = self._get(channel, *_TIME_STATUS)
            answers = _Answers(
                status,
                self._get(channel, *_CURRENT),
                self._get(channel, *_PARENT),
                self._get(channel, *_TIME_PROPERTIES),
                self._port(channel),
            )
            if self._get(channel, *_TIME_STATUS)[:2] == status[:2]:
                return answers
        raise NoBoundError("ptp4l's master sends Syncs faster than ptp4l answers; try again")

    def _get(self, channel: socket.socket, about: int, content: struct.Struct) -> Sequence[int]:
        """The fields of one data set."""
        self._send(channel, about)
        found = self._receive(channel, about)
        if len(found) != content.size:
            raise _unknown(f"{len(found)} bytes of 0x{about:x}")
        return content.unpack(found)

    def _port(self, channel: socket.socket) -> Sequence[int]:
        """The properties of the port that follows a master; of the last one if none does."""
        about, content = _PORT_PROPERTIES
        ports = self._get(channel, *_DEFAULT)[2]
        self._send(channel, about)
        port: Sequence[int] = ()
        for _ in range(max(1, min(ports, _MOST_PORTS))):
            found = self._receive(channel, about)
            if len(found) < content.size:
                raise _unknown(f"{len(found)} bytes of 0x{about:x}")
            port = content.unpack_from(found)
            if port[2] == _SLAVE:
                break
        return port

    def _send(self, channel: socket.socket, about: int) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF
        channel.send(_request(about, self._sequence))

    def _receive(self, channel: socket.socket, about: int) -> bytes:
        """The next answer to the last request."""
        end_s = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < end_s:
            found = _response(channel.recv(_MOST_BYTES), about, self._sequence)
            if found is not None:
                return found
        raise TimeoutError


def _request(about: int, sequence: int) -> bytes:
    size = _HEADER.size + _MANAGEMENT.size
    return _HEADER.pack(
        _MESSAGE, _VERSION, size, 0, 0, 0, 0, 0, 0, 0, sequence, _CONTROL, _NO_INTERVAL
    ) + _MANAGEMENT.pack(_EVERY_CLOCK, _EVERY_PORT, 0, 0, _GET, 0, _TLV_MANAGEMENT, _TLV_ID, about)


def _response(data: bytes, about: int, sequence: int) -> bytes | None:
    """The content of a response; None where it is one to another request, or none.

    Raises:
        NoBoundError: ptp4l refuses, or it is no whole message.
    """
    whole = _HEADER.size + _MANAGEMENT.size
    if len(data) < whole:
        raise _unknown(f"{len(data)} bytes")
    kind, version, size, *_, numbered, _, _ = _HEADER.unpack_from(data)
    *_, action, _, tlv, length, its = _MANAGEMENT.unpack_from(data, _HEADER.size)
    if kind & 0xF != _MESSAGE or version & 0xF != _VERSION or not whole <= size <= len(data):
        raise _unknown(f"a message {kind:#x} of version {version:#x} with {size} bytes")
    if action & 0xF != _RESPONSE or numbered != sequence:
        return None
    if tlv == _TLV_ERROR:
        raise NoBoundError(f"ptp4l refuses to say 0x{about:x} (error {its}); update linuxptp")
    if tlv != _TLV_MANAGEMENT or its != about or whole + length - _TLV_ID > size:
        raise _unknown(f"a TLV {tlv} of 0x{its:x} with {length} bytes")
    return data[whole : whole + length - _TLV_ID]


def _accuracy(answers: _Answers) -> int:
    """The distance of the grandmaster from UTC at most, ns, as it says.

    Raises:
        NoBoundError: it does not say, or it is not the grandmaster that this clock is compared to.
    """
    grandmaster, present = answers.status[-1], answers.status[-2]
    _, _, _, _, _, _, _, kind, accuracy, _, _, parents = answers.parent
    flags = answers.properties[1]
    steps = answers.current[0]
    if not present or grandmaster != parents or not steps:
        raise NoBoundError("ptp4l has no master; see with `pmc -u -b 0 'GET PORT_DATA_SET'` why")
    if answers.port[2] != _SLAVE:
        # Before that its offset may be of another master, or none.
        raise NoBoundError("ptp4l is not synchronised; wait until its port is in the state SLAVE")
    if answers.port[3] != _SOFTWARE:
        raise NoBoundError(
            "ptp4l keeps the clock of a network card: nothing says how far REALTIME is from that, "
            "with phc2sys or without"
        )
    if steps > 1:
        raise NoBoundError(
            f"between ptp4l and the grandmaster are {count(steps - 1, 'boundary clock')}: nothing "
            "says how far off"
        )
    if not flags & _PTP_TIMESCALE or not flags & _UTC_OFFSET_VALID:
        raise NoBoundError(
            "the PTP grandmaster does not count TAI (ptpTimescale), or does not know UTC "
            "(currentUtcOffsetValid); set it up, for linuxptp by GRANDMASTER_SETTINGS_NP"
        )
    if kind not in _PRIMARY_CLASSES or not flags & _TIME_TRACEABLE:
        raise NoBoundError(
            f"the PTP grandmaster follows no primary reference (clockClass {kind}, timeTraceable "
            f"{flags & _TIME_TRACEABLE != 0:d}): nothing says how far it is from UTC"
        )
    if accuracy not in _ACCURACY_NS:
        raise NoBoundError(
            f"the PTP grandmaster does not say how far it is off (clockAccuracy {accuracy:#x})"
        )
    return _ACCURACY_NS[accuracy]


def _unknown(what: str) -> NoBoundError:
    return NoBoundError(f"ptp4l answers with what linuxptp does not: {what}; update linuxptp")
