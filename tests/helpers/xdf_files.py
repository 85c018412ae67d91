"""XDF files, chunk by chunk, as LabRecorder writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

CODES = {
    "float32": "<f4",
    "double64": "<f8",
    "int8": "<i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
}
BOUNDARY = bytes.fromhex("43a546dccbf5410fb30ed5467383cbe4")


def varlen(n: int) -> bytes:
    width = 1 if n < 1 << 8 else 4 if n < 1 << 32 else 8
    return bytes([width]) + n.to_bytes(width, "little")


class XdfFile:
    def __init__(self) -> None:
        self._content = bytearray(b"XDF:")
        self._formats: dict[int, str] = {}
        self.chunk(1, None, b"<?xml version='1.0'?><info><version>1.0</version></info>")

    @property
    def content(self) -> bytes:
        """The file so far."""
        return bytes(self._content)

    def chunk(self, tag: int, stream: int | None, content: bytes) -> int:
        """Add any chunk; returns the byte that it begins at."""
        at = len(self._content)
        head = struct.pack("<H", tag) + (b"" if stream is None else struct.pack("<I", stream))
        self._content += varlen(len(head) + len(content)) + head + content
        return at

    def stream(
        self,
        number: int,
        name: str = "EEG",
        kind: str = "EEG",
        channels: int = 1,
        channel_format: str = "float32",
        srate: float = 0,
        hostname: str = "lab-pc",
        desc: str = "",
    ) -> int:
        self._formats[number] = channel_format
        return self.chunk(
            2,
            number,
            f"<?xml version='1.0'?><info><name>{name}</name><type>{kind}</type>"
            f"<channel_count>{channels}</channel_count><nominal_srate>{srate}</nominal_srate>"
            f"<channel_format>{channel_format}</channel_format><hostname>{hostname}</hostname>"
            f"<desc>{desc}</desc></info>".encode(),
        )

    def samples(self, stream: int, stamps: Sequence[float | None], values: Sequence[object]) -> int:
        """Samples; a stamp may be left out (None), a value is that of each channel or of one."""
        content = varlen(len(stamps))
        for stamp, value in zip(stamps, values, strict=True):
            content += b"\0" if stamp is None else b"\x08" + struct.pack("<d", stamp)
            row = value if isinstance(value, list | tuple) else [value]
            if self._formats[stream] == "string":
                texts = [str(one).encode() for one in row]
                content += b"".join(varlen(len(text)) + text for text in texts)
            else:
                content += np.array(row, CODES[self._formats[stream]]).tobytes()
        return self.chunk(3, stream, content)

    def offset(self, stream: int, when: float, offset: float) -> int:
        """An offset, collected at a time of the host's clock."""
        return self.chunk(4, stream, struct.pack("<dd", when, offset))

    def boundary(self) -> int:
        return self.chunk(5, None, BOUNDARY)

    def footer(self, stream: int) -> int:
        return self.chunk(6, stream, b"<?xml version='1.0'?><info></info>")


def two_streams() -> XdfFile:
    """20 s of a stream of numbers and markers of one host, whose clock is 1,000 s behind."""
    file = XdfFile()
    file.stream(1, channels=2, srate=10)
    file.stream(2, "Stimuli", "Markers", channel_format="string")
    for second in range(20):
        now = 50.0 + second
        file.samples(1, [now, *[None] * 9], [(second + k / 10, -second) for k in range(10)])
        if second % 5 == 0:
            noise = 1e-5 * (second % 3)
            file.offset(1, now, 1000.0 + noise)
            file.offset(2, now + 2e-5, 1000.0 - noise)
        if second % 4 == 0:
            file.samples(2, [now + 0.25], [f"stimulus {second}"])
    file.boundary()
    for stream in (1, 2):
        file.footer(stream)
    return file
