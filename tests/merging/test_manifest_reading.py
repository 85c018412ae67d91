"""A perfetto_manifest: what is read, what is refused and how, and what a merge makes of it."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from corpus import NO_DATA, files

import tracetime as tt
from tracetime.merging.joined import JoinedTraces
from tracetime.merging.manifest_reading import MOST_BYTES, read_manifest

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


def zipped(path, manifest, *names):
    one = trace(snapshot({BOOTTIME: 10**9, MONOTONIC: 9 * 10**8}), event(11 * 10**8, BOOTTIME))
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, one)
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


ERRORS = files("manifest/TraceManifest__error_*.zip")


@pytest.mark.skipif(not ERRORS, reason=NO_DATA)
@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_errors_of_trace_processor(path):
    expected = path.with_suffix("").with_suffix(".expected.txt").read_text()
    error = expected.partition("EXPECTED ERROR containing: ")[2].strip()
    with pytest.raises(tt.TraceError) as caught:
        tt.merge([path], None)
    assert error in str(caught.value)


OFFSETS = {
    "sync_to_machine_offset": 1_100_000_500,
    "sync_to_clock_omitted_clockless_ref": 2_000_500,
    "clockless_manual_cross_machine": 2_000_500,
}
NOT_MET = {
    "attributes": "one trace: merge takes two; the report does not show attributes",
    "machine_assignment_merges_with_proto": "machine 7 of a file is not equated with another's",
    "machine_name_assignment": "the events table has no column of machines",
    "machine_label_index": "the events table has no column of machines",
    "machines_embedded_ids_scoped_per_file": "the events table has no column of machines",
    "machines_remap": "one trace: merge takes two",
    "machines_remote_clock_sync": "one trace: merge takes two",
    "multi_machine_source_clock": "trace_time is read, but offsets are to the first file",
    "no_realtime_on_peer_falls_back": "BOOTTIME of machines is never equated without proof",
    "no_realtime_on_trace_time_machine_falls_back": "the same",
    "same_domain_boottime_overlay": "the same",
    "realtime_two_machines": "REALTIME of machines is never equated without proof",
    "systrace_clock_baseline_no_config": "no manifest",
    "trace_time_clock_realtime": "one trace: merge takes two",
    "detected_and_processed_first": "one trace: merge takes two",
    "detected_in_tar": "one trace: merge takes two",
}


@pytest.mark.skipif(not ERRORS, reason=NO_DATA)
def test_every_case_is_met_or_has_its_reason():
    found = {path.stem.partition("__")[2] for path in files("manifest/*.expected.txt")}
    placed = {name.removesuffix(".expected") for name in found if "error_" not in name}
    assert placed == OFFSETS.keys() | NOT_MET.keys()


@pytest.mark.skipif(not ERRORS, reason=NO_DATA)
@pytest.mark.parametrize("name", OFFSETS)
def test_times_of_trace_processor(name):
    [path] = files(f"manifest/TraceManifest__{name}.zip")
    with JoinedTraces([path]) as joined:
        last = np.array(joined.files[1].span[:1])
        at = joined.graph.convert(last, joined.home(1), joined.home(0), policy="floor")
        [said] = files(f"manifest/TraceManifest__{name}.expected.txt")
        assert at[0] == OFFSETS[name]
        assert f",{at[0]}" in said.read_text()
