"""Two machines that copy a file by scp: kernel traces of both, and their packets.

Trace Compass' test traces `synctraces`: LTTng's `inet_sock_local_out` and `_in`, with TCP's numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from corpus import DATA

SOURCE = DATA / "other" / "ctf" / "scp_src.parquet"
DESTINATION = DATA / "other" / "ctf" / "scp_dest.parquet"

# What Trace Compass' own test expects: destination = SLOPE * source + OFFSET_NS.
MATCHES = 46
SLOPE = Fraction("0.9999413783703139")
OFFSET_NS = Fraction("79796507913179.33")

FIELDS = ("seq", "ack_seq", "check", "flags")


class Packets(NamedTuple):
    """Packets of one machine and direction.

    ns: when they left or came in, int64. fields: their numbers by name, int64.
    """

    ns: npt.NDArray[np.int64]
    fields: dict[str, pa.Array]

    def keys(self, *names: str) -> tuple[pa.Array, ...]:
        return tuple(self.fields[name] for name in names)


def packets(path, direction: str) -> Packets:
    """direction: `out` or `in`."""
    table = pq.read_table(path, columns=["timestamp", "name", "fields"])
    table = table.filter(pc.equal(table["name"].cast("string"), f"inet_sock_local_{direction}"))
    texts = table["fields"].combine_chunks()
    fields = {}
    for name in FIELDS:
        found = pc.extract_regex(texts, rf"\b{name} = 0x(?P<value>[0-9A-F]+)")
        fields[name] = pa.array([int(one["value"], 16) for one in found.to_pylist()])
    return Packets(table["timestamp"].to_numpy(), fields)


def expected(source_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Times of the source on the destination's clock, by Trace Compass' transform."""
    return np.array([round(SLOPE * t + OFFSET_NS) for t in source_ns.tolist()])
