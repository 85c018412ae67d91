"""Several files, and archives with a manifest, as one trace on one timeline."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from merge_worlds import two_recordings

import tracetime as tt
from tracetime.commands.options import open_as_one
from tracetime.merging.manifest_reading import read_manifest

pytest_plugins = ["cli"]

DEMO = Path(__file__).parents[2] / "demo"
ENDS = ["name", "ts", "dur", "earliest", "latest", "end_earliest", "end_latest"]


def slices_of(trace):
    with trace:
        table = trace.slices("tube").read_all()
    return Counter(zip(*(table[name].to_pylist() for name in ENDS), strict=True))


@pytest.fixture
def merged(tmp_path, monkeypatch):
    """Two recordings, the options that tie them, and what is merged of them."""
    paths, options = two_recordings(tmp_path)
    monkeypatch.chdir(tmp_path)
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    tt.merge(paths, out=tmp_path / "m.zip", **options)
    return paths, options


def test_files_an_archive_and_a_merged_trace_have_the_same_bars(merged, tmp_path):
    paths, options = merged
    wanted = slices_of(tt.open_trace(tmp_path / "m.pftrace"))
    assert all(None not in row[3:5] for row in wanted)
    assert slices_of(tt.open_traces(paths, **options)) == wanted
    assert slices_of(tt.open_traces([tmp_path / "m.zip"])) == wanted
    assert slices_of(open_as_one(str(tmp_path / "m.zip"))) == wanted


def test_one_trace_of_files_is_named_after_them_and_leaves_no_file(merged, tmp_path, monkeypatch):
    paths, options = merged
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with tt.open_traces(paths, **options) as trace:
        assert trace.path == f"{paths[0]}, {paths[1]}"
        assert not list(folder.iterdir())
        assert trace.clocks.name(trace.trace_clock) == "BOOTTIME of a.pftrace"
        # What it is made of is not written over.
        with pytest.raises(tt.UsageError, match=r"a\.pftrace"):
            tt.report(trace, paths[0])


def test_merge_writes_the_report_on_what_is_merged(merged, tmp_path, tracetime):
    paths, options = merged
    words = ["merge", *paths, "--sync", *options["sync"], "-o", tmp_path / "x.html"]
    code, out, _ = tracetime(*words)
    assert code == 0
    assert "x.html: the clocks are in order" in " ".join(out.split())
    page = (tmp_path / "x.html").read_text()
    assert "<title>Clocks of a.pftrace, b.json</title>" in page
    assert "BOOTTIME of a.pftrace" in page
    assert tracetime(*words, "--json")[0] == 0
    assert "give -o NAME.pftrace" in tracetime(*words, "--strip")[2]


def test_one_path_is_the_list_of_its_traces(merged, tmp_path):
    traces = tt.open_traces(tmp_path / "m.zip")
    assert [trace.path.rpartition(":")[2] for trace in traces] == ["a.pftrace", "b.json"]
    for trace in traces:
        trace.close()


def test_the_archive_of_another_program_has_its_offsets(tmp_path):
    events = [{"ph": "X", "name": "load", "ts": 1000, "dur": 10, "pid": 1, "tid": 1}]
    entry = {"path": "b.json", "machine": {"name": "server"}}
    entry["clocks"] = {"offset_ns": 5_000_000, "sync_to": {"file": "a.json"}}
    files = [{"path": "a.json", "machine": {"name": "phone"}}, entry]
    manifest = {"perfetto_manifest": {"version": 1, "files": files}}
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("perfetto_manifest.json", json.dumps(manifest))
        for name in "ab":
            archive.writestr(f"{name}.json", json.dumps(events))
    with open_as_one(str(tmp_path / "x.zip")) as trace:
        assert sorted(trace.slices().read_all()["ts"].to_pylist()) == [1_000_000, 6_000_000]


@pytest.mark.parametrize(
    "text", ["", "7", "[]", '{"sync": 1}', '{"x": []}', '{"same": [1]}', "[" * 9999]
)
def test_ties_that_make_no_sense_are_none(text):
    root = {"version": 1, "files": [], "attributes": {"tracetime_merge": text}}
    assert read_manifest(json.dumps({"perfetto_manifest": root}).encode()).ties is None


def test_what_is_wrong_within_a_file_is_told_of_several(tmp_path, tracetime):
    ranks = [str(DEMO / f"rank{n}.json.gz") for n in range(2)]
    with tt.open_trace(ranks[0]) as alone:
        assert next(one.code for one in tt.diagnose(alone)) == "effect-before-cause"
    with tt.open_traces(ranks) as trace:
        found = tt.diagnose(trace)[0]
        page = tt.report(trace, tmp_path / "x.html")
    assert (found.code, found.severity) == ("effect-before-cause", "warning")
    assert found.title.startswith("rank0.json.gz: CPU and GPU disagree")
    assert page.verdict == "1 warning"
    assert "rank0.json.gz: CPU and GPU disagree" in (tmp_path / "x.html").read_text()
    for words in (("report", *ranks, "-o"), ("merge", *ranks, "-o")):
        assert "1 warning" in tracetime(*words, tmp_path / "x.html")[1]
    tt.merge(ranks, out=tmp_path / "m.zip")
    assert "rank0.json.gz: CPU and GPU disagree" in tracetime("doctor", tmp_path / "m.zip")[1]
    assert "rank0.json.gz: CPU and GPU disagree" in tracetime(*ranks)[1]
    [told] = json.loads(tracetime(*ranks, "--json")[1])["findings"]
    assert told["title"] == found.title
