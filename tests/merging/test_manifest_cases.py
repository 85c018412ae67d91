"""Archives with a perfetto_manifest, against what trace_processor prints of them.

What trace_processor takes for granted, that BOOTTIME or REALTIME of two machines are one clock, the
caller has to vouch for: else such an archive is refused.
"""

from __future__ import annotations

import csv

import pytest
from baked_events import packets_of
from corpus import NO_DATA, files

import tracetime as tt

ERRORS = files("manifest/TraceManifest__error_*.zip")
pytestmark = pytest.mark.skipif(not ERRORS, reason=NO_DATA)

MEASURED = (
    "clockless_manual_cross_machine",
    "machines_remap",
    "machines_remote_clock_sync",
    "sync_to_clock_omitted_clockless_ref",
    "sync_to_machine_offset",
)
ONE_BOOTTIME = {"sync": ["a.pb:BOOTTIME=b.pb:BOOTTIME+0ns+-1s"]}
JSON_ON_BOOTTIME = {"sync": ["app.json:org.chromium.trace=spine.pb:BOOTTIME+0ns+-1s"]}
VOUCHED = {
    "machine_name_assignment": JSON_ON_BOOTTIME,
    "machines_embedded_ids_scoped_per_file": {
        "sync": ["p.pb:BOOTTIME@machine1=q.pb:BOOTTIME@machine1+0ns+-1s"]
    },
    "no_realtime_on_peer_falls_back": ONE_BOOTTIME,
    "no_realtime_on_trace_time_machine_falls_back": ONE_BOOTTIME,
    "realtime_two_machines": {"assume_wall_clock": "500ms"},
    "same_domain_boottime_overlay": ONE_BOOTTIME,
    "systrace_clock_baseline_no_config": {
        "same": ["sys.systrace,spine.pb"],
        "sync": ["spine.pb:MONOTONIC=sys.systrace:org.kernel.ftrace+0ns+-1s"],
    },
}
WITH_TESTS_OF_THEIR_OWN = {
    "attributes",
    "detected_and_processed_first",
    "detected_in_tar",
    "machine_assignment_merges_with_proto",
    "machine_label_index",
    "multi_machine_source_clock",
    "trace_time_clock_realtime",
}


def said(name):
    """The rows that trace_processor prints."""
    [path] = files(f"manifest/TraceManifest__{name}.expected.txt")
    lines = (line.strip() for line in path.read_text().splitlines())
    return list(csv.DictReader(line for line in lines if line))


def archive(name):
    found = [path for end in ("zip", "tar") for path in files(f"manifest/*__{name}.{end}")]
    [path] = found
    return path


def merged(name, folder, **options):
    """The report, and what it wrote: its slices as trace_processor prints them, by time."""
    out = folder / "merged.pftrace"
    report = tt.merge([archive(name)], out, **options)
    with tt.open_trace(out) as trace:
        found = trace.sql(
            "select s.name, s.ts, s.dur, machine from slices s join events e "
            "on s.name = e.name and s.ts = e.trace_time where s.name like '%_slice' order by s.ts"
        ).to_pylist()
    machines = report.written.machines
    return report, [
        {"name": row["name"], "ts": str(row["ts"]), "dur": str(row["dur"])}
        | dict.fromkeys(("machine", "machine_name"), machines[row["machine"]])
        for row in found
    ]


def check(name, folder, **options):
    """Compare the rows and columns that trace_processor prints."""
    expected = said(name)
    report, found = merged(name, folder, **options)
    names = {row["name"] for row in expected}
    columns = expected[0].keys()
    rows = [{key: row[key] for key in columns} for row in found if row["name"] in names]
    assert sorted(rows, key=str) == sorted(expected, key=str)
    return report


def test_every_case_is_here():
    stems = {path.stem.removesuffix(".expected") for path in files("manifest/*.expected.txt")}
    placed = {stem.partition("__")[2] for stem in stems if "__error_" not in stem}
    assert placed == {*MEASURED, *VOUCHED} | WITH_TESTS_OF_THEIR_OWN


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_what_is_refused_is_refused_in_the_same_words(path):
    expected = path.with_suffix("").with_suffix(".expected.txt").read_text()
    error = expected.partition("EXPECTED ERROR containing: ")[2].strip()
    with pytest.raises(tt.TraceError) as caught:
        tt.merge([path], None)
    assert error in str(caught.value)


@pytest.mark.parametrize("name", MEASURED)
def test_what_the_archive_says(name, tmp_path):
    check(name, tmp_path)


@pytest.mark.parametrize("name", VOUCHED)
def test_what_the_caller_has_to_vouch_for(name, tmp_path):
    with pytest.raises(tt.UsageError, match="nothing ties"):
        merged(name, tmp_path)
    report = check(name, tmp_path, **VOUCHED[name])
    assert max(file.half_width_ns for file in report.files) >= 1_000_000_000


def test_a_chosen_trace_time(tmp_path):
    report, [row] = merged("trace_time_clock_realtime", tmp_path)
    [expected] = said("trace_time_clock_realtime")
    assert report.clock == report.written.clock == tt.ClockId(int(expected["clock_id"]))
    assert row["ts"] == expected["ts"]
    assert report.trace_time == "REALTIME of spine.pb"


def test_an_offset_of_one_of_several_machines(tmp_path):
    """The phone, which nothing measures, goes with the vm, unless the caller vouches for more."""
    name = "multi_machine_source_clock"
    report, found = merged(name, tmp_path)
    assert report.trace_time == "BOOTTIME of server.pb (server)"
    assert [file.offset_ns for file in report.files] == [500, 0]
    assert report.written.files[0].carried == 2
    assert report.written.machines == {0: "server", 1: "vm", 2: "phone"}
    off = {row["name"]: int(row["ts"]) for row in found}
    for row in said(name):
        late = 500 if row["machine"] == "phone" else 0
        assert off[row["name"]] - int(row["ts"]) == late
    check(name, tmp_path, sync=["multi.pb:BOOTTIME=server.pb:BOOTTIME+0ns+-1s"])


def test_machines_of_one_name_in_two_files_are_one(tmp_path):
    report, rows = merged("machine_assignment_merges_with_proto", tmp_path, **JSON_ON_BOOTTIME)
    [expected] = said("machine_assignment_merges_with_proto")
    assert {row["name"]: row["machine"] for row in rows} == {
        "m7_json_slice": expected["slice_machine"],
        "proto_slice": "spine.pb",
    }
    found = packets_of((tmp_path / "merged.pftrace").read_bytes())
    threads = {(one.machine_id, one.track_descriptor.thread.tid) for one in found}
    processes = {(one.machine_id, p.pid) for one in found for p in one.process_tree.processes}
    on = {machine for machine, tid in threads if tid == 30}
    assert on == {machine for machine, pid in processes if pid == 30}
    assert str(len(on)) == expected["threads"]
    assert [report.written.machines[machine] for machine in on] == ["vm"]


def test_machines_are_numbered_in_the_order_of_files(tmp_path):
    options = {"sync": ["host.json:org.chromium.trace=vm.json:org.chromium.trace+0ns+-1s"]}
    machines = merged("machine_label_index", tmp_path, **options)[0].written.machines
    rows = said("machine_label_index")
    assert [str(int(machine != 0)) for machine in sorted(machines)] == [r["remote"] for r in rows]
    assert [str(machine) for machine in sorted(machines)] == [row["label_index"] for row in rows]
    # trace_processor has no name for the host; here it is called as its file.
    assert [machines[n] for n in sorted(machines)] == ["host.json", rows[1]["name"]]


def test_attributes_are_reported(tmp_path):
    report, _ = merged("attributes", tmp_path)
    rows = [
        {"name": f"manifest_attribute.{one.pop('name')}"}
        | {key: "[NULL]" if value is None else str(value) for key, value in one.items()}
        for one in report.to_dict()["attributes"]
    ]
    assert rows == said("attributes")


@pytest.mark.parametrize("name", ["detected_and_processed_first", "detected_in_tar"])
def test_a_manifest_is_known_by_its_content(name, tmp_path):
    report, _ = merged(name, tmp_path)
    traces = [row["name"] for row in said(name) if row["trace_type"] == "json"]
    assert [file.name for file in report.files] == traces
    assert report.left_out == ()
