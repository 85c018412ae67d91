"""Offsets between hosts as XDF files have them: real resets, and half-widths that nobody recorded."""

import pytest
from corpus import DATA

FILES = DATA / "other" / "xdf"
if not FILES.is_dir():
    pytest.skip(f"no test data at {FILES}", allow_module_level=True)
pytest.importorskip("pyxdf")

from benchmarks.xdf import (  # noqa: E402
    COLLECTOR,
    HOST,
    graph_of,
    half_width_ns,
    left_out,
    resets_of,
    streams,
)

STREAMS = streams(FILES)
named = pytest.mark.parametrize("stream", STREAMS, ids=[stream.name for stream in STREAMS])


def test_there_are_resets_to_be_found():
    assert sum(len(stream.resets) for stream in STREAMS) == 4


@named
def test_resets_are_found_where_pyxdf_finds_them(stream):
    assert resets_of(stream) == stream.resets


@named
def test_the_offsets_run_along_the_collectors_clock_and_jump_nowhere_else(stream):
    found = graph_of(stream).discontinuities()
    assert {(d.src, d.dst) for d in found} <= {(COLLECTOR, HOST)}
    # The host that came after the reset may have another rate.
    assert {d.kind for d in found} <= {"reset", "rate_change"}
    assert {d.snapshots for d in found} <= set(stream.resets)


@named
def test_each_offset_lies_in_the_bar_of_the_others_widened_by_h(stream):
    """h is the stream's: two to six offsets alone say little of how noisy they are."""
    if len(stream.host_ns) < 2:
        return
    assert left_out(stream) == 0
    if len(stream.host_ns) > 20:
        assert left_out(stream, assume_anew=True) == 0


@named
def test_the_half_width_assumed_is_that_of_pings_between_hosts(stream):
    """LSL's manual puts its offsets within 0.2 ms, 1 ms at most."""
    assert 1_000 <= half_width_ns(graph_of(stream), int(stream.collector_ns[0])) <= 200_000
