"""The management socket of ptp4l, as IEEE 1588 and linuxptp have its bytes."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

GRANDMASTER, OWN = 0xF6EBCF_FFFE_3D438E, 0x065BED_FFFE_9AD24C
TIME_STATUS, CURRENT, PARENT, PROPERTIES = 0xC000, 0x2001, 0x2002, 0x2003
PORT, DEFAULT = 0xC004, 0x2000
UTC_VALID, PTP, TRACEABLE = 4, 8, 16


def answers(
    *,
    offset_ns=-149,
    ingress_ns=None,
    delay_scaled=751 << 16,
    present=1,
    grandmaster=GRANDMASTER,
    steps=1,
    kind=6,
    accuracy=0x21,
    flags=UTC_VALID | PTP | TRACEABLE,
    utc_offset=37,
    stamps=0,
    state=9,
    ports=1,
):
    """The content of each data set, by its number; the Sync came now unless it is said when."""
    ingress_ns = time.time_ns() if ingress_ns is None else ingress_ns
    return {
        TIME_STATUS: struct.pack(
            ">qqiiHHQHiQ", offset_ns, ingress_ns, 0, 0, 0, 0, 0, 0, present, grandmaster
        ),
        CURRENT: struct.pack(">Hqq", steps, offset_ns << 16, delay_scaled),
        PARENT: struct.pack(
            ">QHBBHiBBBHBQ",
            GRANDMASTER, 1, 0, 0, 0xFFFF, 0x7FFFFFFF, 1, kind, accuracy, 0xFFFF, 128, GRANDMASTER,
        ),
        PROPERTIES: struct.pack(">hBB", utc_offset, flags, 0x20),
        PORT: struct.pack(">QHBB", OWN, 1, state, stamps) + b"\x04eth0",
        DEFAULT: struct.pack(">BBHBBBHBQBB", 3, 0, ports, 128, 255, 0xFE, 0xFFFF, 128, OWN, 0, 0),
    }  # fmt: skip


def response(about, content, sequence, *, action=2, tlv=1, kind=0x0D, version=2, more=0):
    """A datagram."""
    size = 34 + 20 + len(content) + more
    header = struct.pack(
        ">BBHBBHqIQHHBb", kind, version, size, 0, 0, 0, 0, 0, OWN, 0, sequence, 4, 0x7F
    )
    middle = struct.pack(">QHBBBBHHH", 0, 0, 0, 0, action, 0, tlv, 2 + len(content), about)
    return header + middle + content


class FakePtp4l:
    """Answers requests on a socket at `path` until it is closed.

    Attributes:
        said: by number, the content of each data set; or a function that gives it.
        reply: makes the datagrams that answer a request: of (number, content, sequence).
        requests: what came.
    """

    def __init__(self, path, said=None):
        self.path, self.requests = str(path), []
        self.said = answers() if said is None else said
        self.reply = lambda *of: [response(*of)]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            data, sender = self._socket.recvfrom(2_000)
            if not data:
                return
            self.requests.append(data)
            (sequence,), (about,) = struct.unpack(">H", data[30:32]), struct.unpack(">H", data[52:])
            content = self.said[about]
            for datagram in self.reply(
                about, content() if callable(content) else content, sequence
            ):
                # Who asked may be gone.
                with contextlib.suppress(OSError):
                    self._socket.sendto(datagram, sender)

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ending:
            ending.sendto(b"", self.path)
        self._thread.join()
        self._socket.close()
