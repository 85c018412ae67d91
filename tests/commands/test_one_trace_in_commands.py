"""Several files, and archives with a manifest, are one trace in the commands."""

from __future__ import annotations

import json

import pytest
from merge_worlds import kineto_ranks, two_recordings

import tracetime as tt

pytest_plugins = ["cli"]

QUERY = "select name, ts, dur, earliest, latest, end_earliest, end_latest from slices order by all"


@pytest.fixture
def merged(tmp_path, monkeypatch):
    """A merged trace, and an archive of the same files."""
    paths, options = two_recordings(tmp_path)
    monkeypatch.chdir(tmp_path)
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    tt.merge(paths, out=tmp_path / "m.zip", **options)
    return paths, options


def test_an_archive_with_a_manifest_is_one_trace_in_every_command(merged, tracetime):
    options = ("--policy", "tube", "--json")
    _, wanted, _ = tracetime("sql", "m.pftrace", QUERY, *options)
    code, found, err = tracetime("sql", "m.zip", QUERY, *options)
    assert (code, json.loads(found), err) == (0, json.loads(wanted), "")
    for command in ("clocks", "doctor", "convert", "report", "bake"):
        args = [command, "m.zip", *(("-o", "x.pftrace") if command == "bake" else ())]
        args += ["-o", "x.html"] if command == "report" else []
        args += ["-o", "x.csv"] if command == "convert" else []
        code, out, err = tracetime(*args)
        assert code == 0, (command, err)
    assert "BOOTTIME of" in tracetime("clocks", "m.zip")[1]
    code, out, _ = tracetime("at", "m.zip", "6s", "--to", "MONOTONIC", "--policy", "tube")
    assert (code, "MONOTONIC of" in out) == (0, True)


def test_apart_takes_the_traces_of_an_archive_one_by_one(merged, tracetime):
    query = "select distinct trace from events order by trace"
    _, out, _ = tracetime("sql", "m.zip", query, "--apart", "--json")
    assert [row["trace"] for row in json.loads(out)] == ["m.zip:a.pftrace", "m.zip:b.json"]
    _, out, _ = tracetime("doctor", "m.zip", "--apart", "--json")
    assert len(json.loads(out)["traces"]) == 2
    _, out, _ = tracetime("doctor", "m.zip", "--json")
    assert [one["trace"] for one in json.loads(out)["traces"]] == ["m.zip"]


def test_several_files_are_asked_and_shown_as_one(tmp_path, monkeypatch, tracetime):
    monkeypatch.chdir(tmp_path)
    world = kineto_ranks(tmp_path, 3)
    names = [path.name for path in world.paths[:2]]
    query = "select count(*) n, count(earliest) bars, min(ts) first from slices"
    code, out, err = tracetime("sql", *names, query, "--merge", "--policy", "tube", "--json")
    assert (code, err) == (0, "")
    [found] = json.loads(out)
    assert found["n"] == found["bars"] > 1000
    code, out, err = tracetime("report", *names, "-o", "x.html")
    assert (code, out.splitlines()[-1].startswith("report: x.html")) == (0, True)
    assert "rank1.json (rank 1)" in (tmp_path / "x.html").read_text()


def test_files_that_nothing_ties_are_no_trace(tmp_path, monkeypatch, tracetime):
    monkeypatch.chdir(tmp_path)
    two_recordings(tmp_path)
    code, _, err = tracetime("sql", "a.pftrace", "b.json", "from slices", "--merge")
    assert (code, "nothing ties" in err) == (2, True)
