"""Names of events in real traces against what the `perfetto` package's protobuf classes read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from corpus import files
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from twin.names import Named, names_of

from tracetime import open_trace


def traces() -> list[Path]:
    """Every trace that protobuf reads as it stands: nothing in it is compressed."""
    return [
        path
        for path in files("traces/*")
        if path.read_bytes()[:2] not in (b"\x1f\x8b", b"\x28\xb5")
    ]


def of_packets(table: pa.Table) -> pa.Table:
    return table.filter(pc.equal(pc.cast(table["kind"], pa.string()), "packet"))


@pytest.mark.parametrize("path", traces(), ids=lambda path: path.stem)
def test_every_track_event_is_what_protobuf_reads(path):
    packets = Trace.FromString(path.read_bytes()).packet
    if any(one.compressed_packets or one.zstd_compressed_packets for one in packets):
        pytest.skip("protobuf does not look into compressed packets")
    expected = dict(names_of(packets))
    with open_trace(path, partial=True) as trace:
        table = of_packets(trace.read_all(names=True))
    skipped = pc.equal(pc.cast(table["status"], pa.string()), "skipped_incremental_state")
    table = table.filter(pc.invert(skipped))
    columns = [table[name].to_pylist() for name in ("packet", *Named._fields)]
    compared = 0
    for packet, *found in zip(*columns, strict=True):
        named = expected.get(packet)
        if named is None:
            assert not any(found[:3]), packet
            continue
        found[-1] = None if found[-1] is None else json.loads(found[-1])
        assert Named(*found) == named, packet
        compared += 1
    assert compared == table["payload"].to_pylist().count("track_event")
