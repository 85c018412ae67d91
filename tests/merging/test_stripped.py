"""Merged and baked traces that keep nothing of their sources, and those with tracks of errors."""

from __future__ import annotations

from collections import Counter

import pytest
from merge_worlds import trace_of, two_recordings
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Proto

import tracetime as tt

BOOT = b"boot-id-16-bytes"
HOST = b"secret-host"


def named(path):
    """Give the machine of a recording a name."""
    info = Proto()
    info.packet.add().system_info.machine_name = HOST.decode()
    path.write_bytes(info.SerializeToString() + path.read_bytes())
    return path


def times_of(path):
    with tt.open_trace(path) as one:
        return Counter(one.read_all()["trace_time"].to_pylist())


def is_stripped(path):
    data = path.read_bytes()
    assert BOOT not in data
    assert HOST not in data
    assert b"b.pftrace" not in data
    with tt.open_trace(path) as one:
        assert one.boots == {}
        table = one.read_all("tube")
        assert 0 < len(table) == table["earliest"].null_count


def test_a_stripped_merge_has_the_times_alone(tmp_path):
    paths = [
        named(trace_of(tmp_path / "a.pftrace", boot_id=BOOT)),
        trace_of(tmp_path / "b.pftrace", boot_id=BOOT, later_ns=10**9),
    ]
    tt.merge(paths, tmp_path / "whole.pftrace")
    assert BOOT in (tmp_path / "whole.pftrace").read_bytes()
    assert HOST in (tmp_path / "whole.pftrace").read_bytes()
    tt.merge(paths, tmp_path / "m.pftrace", strip=True)
    is_stripped(tmp_path / "m.pftrace")
    assert times_of(tmp_path / "m.pftrace") == times_of(tmp_path / "whole.pftrace")


def test_a_stripped_bake_has_the_times_alone(tmp_path):
    path = named(trace_of(tmp_path / "a.pftrace", boot_id=BOOT))
    with tt.open_trace(path) as one:
        tt.bake(one, tmp_path / "whole.pftrace")
        tt.bake(one, tmp_path / "baked.pftrace", strip=True)
    assert BOOT in (tmp_path / "whole.pftrace").read_bytes()
    is_stripped(tmp_path / "baked.pftrace")
    assert times_of(tmp_path / "baked.pftrace") == times_of(tmp_path / "whole.pftrace")


def test_a_stripped_bake_of_another_format_has_the_times_alone(tmp_path):
    paths, _ = two_recordings(tmp_path)
    with tt.open_trace(paths[1]) as one:
        tt.bake(one, tmp_path / "whole.pftrace")
        tt.bake(one, tmp_path / "baked.pftrace", strip=True)
    is_stripped(tmp_path / "baked.pftrace")
    assert times_of(tmp_path / "baked.pftrace") == times_of(tmp_path / "whole.pftrace")


def test_tracks_of_errors_are_added_and_bars_stay(tmp_path):
    paths, options = two_recordings(tmp_path)
    bars = "select timestamp, earliest, latest from events where earliest is not null"
    tt.merge(paths, tmp_path / "plain.pftrace", **options)
    tt.merge(paths, tmp_path / "m.pftrace", error_tracks=True, **options)
    with (
        tt.open_trace(tmp_path / "m.pftrace") as one,
        tt.open_trace(tmp_path / "plain.pftrace") as plain,
    ):
        assert not one.warnings
        assert one.sql(bars, policy="tube").sort_by("timestamp") == plain.sql(
            bars, policy="tube"
        ).sort_by("timestamp")
        widest = plain.sql(
            "select max(greatest(latest - trace_time, trace_time - earliest)) m from events",
            policy="tube",
        )["m"][0].as_py()
    packets = Proto.FromString((tmp_path / "m.pftrace").read_bytes()).packet
    names = {p.track_descriptor.name for p in packets if p.HasField("track_descriptor")}
    assert "tracetime: error of MONOTONIC of a.pftrace (ns)" in names
    assert max(p.track_event.counter_value for p in packets) == widest


@pytest.mark.parametrize("given", [{"strip": True}, {"error_tracks": True}])
def test_they_are_for_a_trace(tmp_path, given):
    paths, options = two_recordings(tmp_path)
    with pytest.raises(tt.UsageError, match=r"name the output \.pftrace"):
        tt.merge(paths, tmp_path / "m.zip", **given, **options)
    with pytest.raises(tt.UsageError, match="give one of them"):
        tt.merge(paths, tmp_path / "m.pftrace", strip=True, error_tracks=True, **options)
