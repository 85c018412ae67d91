"""A perfetto_manifest: what is read, what is refused and how, and what a merge makes of it."""

from __future__ import annotations

import json
import subprocess
import zipfile

import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace

import tracetime as tt
from tracetime.merging.manifest_reading import MOST_BYTES, read_manifest
from tracetime.merging.merged_traces import MergedTraces

pytest_plugins = ["cli"]

A, B = {"path": "a"}, {"path": "b"}
TO_A = {"clock": "BOOTTIME", "sync_to": {"file": "a", "clock": "BOOTTIME"}}
MULTI = {"path": "a", "machines": [{"id": 0, "name": "x"}, {"id": 7, "name": "y"}]}


def text(**said):
    return json.dumps({"perfetto_manifest": {"version": 1, **said}}).encode()


def clocks(**change):
    return text(files=[A, {**B, "clocks": {**TO_A, **change}}])


def test_a_whole_manifest_is_read():
    found = read_manifest(
        text(
            files=[
                MULTI,
                {
                    **B,
                    "clocks": {
                        **TO_A,
                        "offset_ns": -5,
                        "sync_to": {"file": "a", "machine": "y", "clock": "MONOTONIC"},
                    },
                },
            ],
            trace_time={"clock": "REALTIME", "file": "a", "machine": "x"},
            attributes={"k": "v", "n": -(1 << 63)},
            later={"unknown": [1.5]},
        )
    )
    assert [(m.id, m.name) for m in found.files[0].machines] == [(0, "x"), (7, "y")]
    override = found.files[1].clocks
    assert (override.file, override.reference_machine, override.offset_ns) == ("a", "y", -5)
    assert (override.clock, override.reference_clock) == (BOOTTIME, MONOTONIC)
    assert (found.trace_time.clock, found.trace_time.machine) == (1, "x")
    assert dict(found.attributes) == {"k": "v", "n": -(1 << 63)}
    assert hash(found)


def test_the_last_of_two_attributes_wins():
    said = b'{"perfetto_manifest": {"version": 1, "attributes": {"a": 1, "a": 2}}}'
    assert read_manifest(said).attributes == (("a", 2),)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b'{"perfetto_manifest": {}}', "missing required field: version"),
        (b'{"perfetto_manifest": {"version": true}}', "unsupported version: true"),
        (b'{"perfetto_manifest": {"version": 1.0}}', "unsupported version: 1.0"),
        (b'{"perfetto_manifest": {"version": 99}}', "unsupported version: 99. Only version 1"),
        (b'{"perfetto_manifest": {"version": 1, "version": 1}}', "'version' twice"),
        (b'{"perfetto_manifest": []}', "must be an object"),
        (b"[]", "must be an object"),
        (b'{"perfetto_manifest": {"version": NaN}}', "NaN"),
        (b'{"perfetto_manifest": {"version": 1', "no JSON"),
        (b'{"perfetto_manifest": "\xff"}', "no JSON"),
        (b'{"perfetto_manifest": ' + b"9" * 5000 + b"}", "no JSON"),
        (b'{"perfetto_manifest": ' + b"[" * 10**6, "nested too deep"),
        (b" " * (MOST_BYTES + 1), "larger than 16 MiB"),
        (text(files={}), "files must be an array"),
        (text(files=[1]), "must be an object"),
        (text(files=[{}]), "files: path"),
        (text(files=[{"path": 3}]), "path must be a string"),
        (text(files=[A, A]), "'a' is there twice"),
        (text(files=[{**MULTI, "machine": {"name": "a"}}]), "machine and machines are mutually"),
        (text(files=[{**A, "machine": {"name": ""}}]), "machine: name must be non-empty"),
        (text(files=[{**A, "machine": {"name": 1}}]), "machine: name must be non-empty"),
        (text(files=[{**A, "machines": [{"id": -1, "name": "v"}]}]), "id must be in [0, 4294967295]"),
        (text(files=[{**A, "machines": [{"id": True, "name": "v"}]}]), "id must be in"),
        (text(files=[{**A, "machines": [{"id": 1 << 32, "name": "v"}]}]), "id must be in"),
        (text(files=[{**A, "machines": [{"id": 1, "name": "v"}] * 2}]), "id 1 is there twice"),
        (text(files=[{**A, "clocks": {}}]), "clocks: a sync_to block is required"),
        (clocks(sync_to={"clock": "BOOTTIME"}), "clocks: sync_to.file is required"),
        (clocks(sync_to={"machine": "x"}), "name the file too"),
        (clocks(sync_to={"file": "c"}), "sync_to.file names unknown file 'c'"),
        (clocks(sync_to={"file": "../../a"}), "names unknown file '../../a'"),
        (clocks(clock="BOOTIME"), "unknown clock name: BOOTIME. Use one of REALTIME"),
        (clocks(clock=7), "unknown clock name: 7"),
        (clocks(offset_ns=1.5), "offset_ns must be an integer"),
        (clocks(offset_ns=False), "offset_ns must be an integer"),
        (clocks(offset_ns=-(1 << 63)), "offset_ns is out of range"),
        (clocks(offset_ns=1 << 63), "offset_ns is out of range"),
        (clocks(machine="g"), "machine 'g' is not a machine declared by file 'b'."),
        (text(files=[MULTI, {**B, "clocks": TO_A}]), "'a' is a multi-machine trace; also name"),
        (text(files=[{**MULTI, "clocks": {**TO_A, "sync_to": {"file": "b"}}}, B]), "name which"),
        (text(trace_time={}), "trace_time: clock is required"),
        (text(trace_time={"clock": "BOOTTIME", "machine": "x"}), "machine requires file"),
        (text(trace_time={"clock": "BOOTTIME", "file": "c"}), "trace_time: file names unknown"),
        (text(files=[A] * 10_001), "files has more than 10000 entries"),
        (text(attributes=[]), "attributes must be an object of string or integer values"),
        (text(attributes={"f": True}), "attributes: 'f' must be a string or an integer"),
        (text(attributes={"f": 1.5}), "attributes: 'f' must be a string or an integer"),
        (text(attributes={"": 1}), "attributes: keys must be non-empty"),
        (text(attributes={"f": 1 << 63}), "range of int64"),
    ],
)  # fmt: skip
def test_what_is_refused(said, error):
    with pytest.raises(tt.TraceError) as caught:
        read_manifest(said)
    assert str(caught.value).startswith("perfetto_manifest: ")
    assert error in str(caught.value)
    assert str(caught.value).isprintable()


ONE = trace(snapshot({BOOTTIME: 10**9, MONOTONIC: 9 * 10**8}), event(11 * 10**8, BOOTTIME))


def zipped(path, manifest, *names, **contents):
    """An archive; contents: of other members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**dict.fromkeys(names, ONE), **contents}.items():
            archive.writestr(name, content)
        for n, said in enumerate(manifest):
            archive.writestr(f"m{n}.json", said)
    return path


def test_an_archive_is_tied_as_its_manifest_says(tmp_path):
    said = text(
        files=[
            {**A, "machine": {"name": "x"}},
            {**B, "machine": {"name": "y"}, "clocks": {**TO_A, "offset_ns": 500}},
        ]
    )
    report = tt.merge([zipped(tmp_path / "a.zip", [said], "a", "b")], None)
    assert report.files[1].offset_ns == 500
    assert "taken as exact" in report.files[1].ties[0].said
    assert not report.boots[0].same


def test_machines_of_one_name_are_one(tmp_path):
    absent = {"path": "../c:d", "machine": {"name": "z"}}
    said = text(files=[absent, *({**file, "machine": {"name": "x"}} for file in (A, B))])
    report = tt.merge([zipped(tmp_path / "a,b=:c.zip", [said], "a", "b")], None)
    assert report.boots[0].same
    assert report.files[1].clock == report.clock


def test_manifests_that_do_not_fit_their_archive(tmp_path):
    path = tmp_path / "a.zip"
    with pytest.raises(tt.TraceError, match="multiple perfetto_manifest files in archive"):
        tt.merge([zipped(path, [text(), text()], "a", "b")], None)
    with pytest.raises(tt.TraceError, match="no such trace"):
        tt.merge([zipped(path, [clocks()], "a", "c")], None)
    pin = text(files=[A, {**B, "clocks": {"sync_to": {"file": "a"}}}])
    with pytest.raises(tt.TraceError, match="clock overrides require the trace to use a single"):
        tt.merge([zipped(path, [pin], "a", "b")], None)


def two_machines(*, seven_ns=5 * 10**9):
    """A trace of machines 0 and 7, whose clocks nothing relates."""
    return trace(
        snapshot({BOOTTIME: 10**9}),
        event(11 * 10**8, BOOTTIME),
        snapshot({BOOTTIME: seven_ns}, machine=7),
        event(seven_ns + 10**8, BOOTTIME, machine=7),
    )


@pytest.mark.parametrize("n", [0, 1])
def test_an_archive_of_one_trace_is_enough_where_it_has_a_manifest(tmp_path, n):
    path = zipped(tmp_path / "a.zip", [text()] * n, "a")
    if n:
        assert [file.name for file in tt.merge([path], None).files] == ["a"]
    else:
        with pytest.raises(tt.UsageError, match="merging takes two traces or more"):
            tt.merge([path], None)


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"machine": {"name": "x"}}, "machine: 'm' has packets of 2 machines: declare each"),
        ({"machines": [{"id": 0, "name": "x"}]}, "undeclared machine id 7 in 'm'"),
    ],
)
def test_machines_that_the_manifest_does_not_declare(tmp_path, entry, error):
    path = zipped(tmp_path / "a.zip", [text(files=[{"path": "m", **entry}])], m=two_machines())
    with pytest.raises(tt.TraceError, match=error):
        tt.merge([path], None)


@pytest.mark.parametrize(("name", "machine"), [("x", 0), ("y", 1)])
def test_a_file_shares_the_clocks_of_the_machine_of_its_name(tmp_path, name, machine):
    said = text(files=[{**MULTI, "path": "m"}, {**B, "machine": {"name": name}}])
    path = zipped(tmp_path / "a.zip", [said], "b", m=two_machines())
    with MergedTraces([path]) as joined:
        names = [file.name for file in joined.files]
        b, m = names.index("b"), names.index("m")
        assert joined.home(b) == joined.boots.clock(m, tt.ClockId(BOOTTIME, machine=machine))
        # As Perfetto has it, the first snapshot of machine 7 moved trace time to its clock.
        assert joined.files[m].home.machine == 1
        assert [tie.said for tie in joined.ties] == [
            "one boot: the manifest calls both y"
            if machine == 1
            else "one boot: the manifest calls a machine of both by one name"
        ]


def test_the_caller_overrules_the_manifest(tmp_path):
    files = [{**A, "machine": {"name": "x"}}, {**B, "machine": {"name": "x"}}]
    path = zipped(tmp_path / "a.zip", [text(files=files)], "a", "b")
    assert tt.merge([path], None).boots[0].same
    assert not tt.merge([path], None, different=["a,b"]).boots[0].same
    files[1]["machine"] = {"name": "y"}
    path = zipped(tmp_path / "b.zip", [text(files=files)], "a", "b")
    assert tt.merge([path], None).boots[0].reason == "the manifest calls them x and y"
    assert tt.merge([path], None, same=["a,b"]).boots[0].same


def test_each_archive_has_a_manifest_of_its_own(tmp_path):
    """A name in one archive says nothing of that name in another."""
    files = [
        {**A, "machine": {"name": "x"}},
        {**B, "machine": {"name": "y"}, "clocks": {**TO_A, "offset_ns": 500}},
    ]
    paths = [
        zipped(tmp_path / name, [text(files=files, attributes={"run": name})], "a", "b")
        for name in ("1.zip", "2.zip")
    ]
    sync = "1.zip:a:BOOTTIME=2.zip:a:BOOTTIME+1us+-1us"
    report = tt.merge(paths, None, sync=[sync])
    assert [file.name for file in report.files] == ["1.zip:a", "1.zip:b", "2.zip:a", "2.zip:b"]
    assert [file.offset_ns for file in report.files] == [0, 500, 1_000, 1_500]
    assert report.attributes == (("run", "1.zip"), ("run", "2.zip"))
    assert not any(decision.same for decision in report.boots)


@pytest.mark.parametrize(
    ("time", "error"),
    [
        ({"clock": "REALTIME"}, "no snapshot of a has the clock REALTIME"),
        ({"clock": "REALTIME", "file": "a"}, "no snapshot of a has the clock REALTIME"),
        ({"clock": "BOOTTIME", "file": "b"}, "trace_time: 'b' is no trace of the archive"),
    ],
)
def test_a_trace_time_that_no_file_has(tmp_path, time, error):
    path = zipped(tmp_path / "a.zip", [text(files=[A, B], trace_time=time)], "a")
    with pytest.raises(tt.TraceError, match=error):
        tt.merge([path], None)


def test_a_trace_time_that_nothing_ties_is_told(tmp_path):
    apart = trace(
        snapshot({BOOTTIME: 10**9}), snapshot({MONOTONIC: 1}), event(11 * 10**8, BOOTTIME)
    )
    path = zipped(tmp_path / "a.zip", [text(trace_time={"clock": "MONOTONIC"})], a=apart)
    with pytest.raises(tt.UsageError, match="a has no place on MONOTONIC of a: no snapshot"):
        tt.merge([path], tmp_path / "out.pftrace")


def test_a_manifest_on_standard_input_is_used(tmp_path, spawn):
    path = zipped(tmp_path / "a.zip", [text(attributes={"run": 7})], "a")
    with path.open("rb") as content:
        out, _ = spawn("merge", "-", stdin=content, stdout=subprocess.PIPE).communicate()
    assert out.decode().startswith("run: 7\nfile  machine  tied with  by    offset")


def test_what_an_archive_has_besides_is_told(tmp_path, tracetime):
    path = zipped(tmp_path / "a.zip", [text()], "a", notes="words")
    assert tt.merge([path], None).left_out == (f"{path}: notes: it is of no known format",)
    _, _, err = tracetime("merge", path)
    assert err == f"note: left out: {path}: notes: it is of no known format\n"
