"""Recordings that were joined by cat come apart again, byte for byte, or are refused."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from building import BOOTTIME, event, snapshot, trace
from corpus import DATA, NO_DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import Machine, usual_clocks

import tracetime as tt

pytest_plugins = ["cli"]

TRACES = DATA / "traces"


def recording(folder, seed, *, snapshots=2, spans=0, tracks=0):
    """The bytes of a recording of simulated clocks."""
    path = Path(folder) / "one.pftrace"
    machine = Machine(usual_clocks(), seed)
    with tt.record(path, interval=None, sampler=machine) as rec:
        for number in range(snapshots):
            rec.snapshot()
            for _ in range(spans):
                with rec.span(f"span {number}"):
                    pass
            for track in range(tracks):
                rec.instant("there", track=rec.track(f"track {track}"))
    return path.read_bytes()


def parts_of(folder, data):
    path = Path(folder) / "joined.pftrace"
    path.write_bytes(data)
    with tt.open_trace(path) as opened:
        summary = tt.split(opened, Path(folder) / "parts")
    for part in summary.parts:
        assert data[part.offset : part.offset + part.bytes] == Path(part.path).read_bytes()
    return [Path(part.path).read_bytes() for part in summary.parts]


@given(
    recordings=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
        min_size=2,
        max_size=12,
    )
)
@settings(max_examples=25)
def test_own_recordings_come_apart(tmp_path_factory, recordings):
    folder = tmp_path_factory.mktemp("split")
    joined = [
        recording(folder, seed, snapshots=snapshots, spans=spans, tracks=tracks)
        for seed, snapshots, spans, tracks in recordings
    ]
    assert parts_of(folder, b"".join(joined)) == joined


def test_one_recording_is_not_several(tmp_path):
    with pytest.raises(tt.UsageError, match="nothing says that .* is several recordings"):
        parts_of(tmp_path, recording(tmp_path, 1, spans=3, tracks=2))
    assert not (tmp_path / "parts").exists()


def test_a_recording_that_is_cut_off_is_told(tmp_path):
    one = recording(tmp_path, 1)
    for cut in range(1, 12):
        with pytest.raises((tt.TraceError, tt.UsageError)):
            parts_of(tmp_path, one + one[:-cut] + one)
        assert not (tmp_path / "parts").exists()


def test_clocks_that_start_anew_where_no_recording_begins_are_refused(tmp_path):
    one = recording(tmp_path, 1)
    unknown = trace(*(snapshot({BOOTTIME: t, 3: t}) for t in (10, 20)), event(15))
    with pytest.raises(tt.TraceError, match="start anew at packet"):
        parts_of(tmp_path, one + unknown + one)
    assert not (tmp_path / "parts").exists()


def test_a_compressed_file_is_refused(tmp_path):
    one = recording(tmp_path, 1)
    with pytest.raises(tt.UsageError, match="decompress it first"):
        parts_of(tmp_path, gzip.compress(one + one))


def test_what_bake_wrote_of_a_joined_file_is_refused_as_that(tmp_path):
    source, made = tmp_path / "joined.pftrace", tmp_path / "baked.pftrace"
    source.write_bytes(recording(tmp_path, 1, spans=1) + recording(tmp_path, 2, spans=1))
    with tt.open_trace(source) as opened:
        tt.bake(opened, made)
    with tt.open_trace(made) as opened, pytest.raises(tt.UsageError, match="bake or merge wrote"):
        tt.split(opened, tmp_path / "parts")


def test_another_format_is_refused(tmp_path):
    with pytest.raises(tt.UsageError, match="no Perfetto trace"):
        parts_of(tmp_path, b'[{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]')


def test_a_directory_that_is_a_file_is_told(tmp_path):
    (tmp_path / "parts").write_text("mine")
    one = recording(tmp_path, 1)
    with pytest.raises(tt.UsageError):
        parts_of(tmp_path, one + one)
    assert (tmp_path / "parts").read_text() == "mine"


@pytest.mark.skipif(not TRACES.exists(), reason=NO_DATA)
def test_recordings_of_perfettos_service(tmp_path):
    names = ("mcprs_page_loads", "mspt_perfetto_android12_cpuschedstack", "mcprs_page_loads")
    joined = [(TRACES / f"{name}.pftrace").read_bytes() for name in names]
    assert parts_of(tmp_path, b"".join(joined)) == joined


@pytest.mark.skipif(not TRACES.exists(), reason=NO_DATA)
def test_a_recording_that_begins_otherwise_is_refused(tmp_path):
    one, other = (
        (TRACES / f"{name}.pftrace").read_bytes()
        for name in ("mspt_perfetto_android12_cpuschedstack", "chromium_medium")
    )
    for pair in ((one, other), (recording(tmp_path, 1), other), (other, recording(tmp_path, 1))):
        with pytest.raises(tt.TraceError, match="does not begin as the first one does"):
            parts_of(tmp_path, b"".join(pair))


def test_the_doctor_notices_own_recordings(tmp_path):
    one = recording(tmp_path, 1)
    path = tmp_path / "joined.pftrace"
    path.write_bytes(one + recording(tmp_path, 2))
    with tt.open_trace(path) as opened:
        found = tt.diagnose(opened)
    assert "recordings-joined" in {finding.code for finding in found}
    tt.bake(tt.open_trace(tmp_path / "one.pftrace"), tmp_path / "baked.pftrace")
    with tt.open_trace(tmp_path / "baked.pftrace") as opened:
        assert "recordings-joined" not in {finding.code for finding in tt.diagnose(opened)}


def test_the_command_splits_standard_input(tmp_path, tracetime, monkeypatch):
    one, other = recording(tmp_path, 1), recording(tmp_path, 2, spans=1)
    piped = io.TextIOWrapper(io.BytesIO(one + other))
    monkeypatch.setattr(sys, "stdin", piped)
    code, out, err = tracetime("split", "-", "-o", tmp_path / "parts")
    assert (code, err) == (0, "")
    assert "from byte 0 on (packet 0)" in " ".join(out.split())
    parts = sorted((tmp_path / "parts").iterdir())
    assert [part.name for part in parts] == ["trace-1.pftrace", "trace-2.pftrace"]
    assert [part.read_bytes() for part in parts] == [one, other]


def test_the_command_advises_no_option_that_it_lacks(tmp_path, tracetime):
    one = recording(tmp_path, 1)
    path = tmp_path / "cut.pftrace"
    path.write_bytes(one + one[:-3])
    code, _, err = tracetime("split", path, "-o", tmp_path / "parts")
    assert code == 3
    assert "--partial" not in err
    assert "--partial" in tracetime("clocks", path)[2]


def test_no_part_is_written_over_the_input(tmp_path, tracetime):
    path, one = tmp_path / "joined.pftrace", recording(tmp_path, 1)
    path.write_bytes(one + one)
    (tmp_path / "joined-2.pftrace").symlink_to(path)
    code, _, err = tracetime("split", path, "-o", tmp_path)
    assert code == 2
    assert "that is what is read" in err
    assert path.read_bytes() == one + one
    assert not (tmp_path / "joined-1.pftrace").exists()
