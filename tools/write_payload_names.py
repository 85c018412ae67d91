#!/usr/bin/env python3
"""Write formats/perfetto/payload_names.py from the schema of the `perfetto` package."""

from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

PAGE = Path(__file__).parents[1] / "src" / "tracetime" / "formats" / "perfetto" / "payload_names.py"

HEAD = '''"""The payloads of a TracePacket by field number. Written by tools/write_payload_names.py.

The `perfetto` package has these names, too, but loads as slowly as 10 MB of a trace are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PAYLOAD_NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
'''


def page() -> str:
    """The text of the module."""
    fields = TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields
    lines = [f'        {field.number}: "{field.name}",\n' for field in fields]
    return HEAD + "".join(lines) + "    }\n)\n"


if __name__ == "__main__":
    PAGE.write_text(page())
