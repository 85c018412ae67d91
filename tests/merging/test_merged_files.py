"""What `merge` says of the files that it is given: which has nothing in it, is cut off, or is given twice."""

from __future__ import annotations

import json
import os
import zipfile

import captures
import ctf_files
import pytest
from journals import logged
from merge_worlds import BOOTS, trace_of
from span_files import attribute, jaeger
from xdf_files import XdfFile

import tracetime as tt
from tracetime.clocks.ids import ClockId
from tracetime.commands.merge import contradictions
from tracetime.errors import TraceError, UsageError
from tracetime.graph.tube.results import Inconsistency, PairDiscontinuity
from tracetime.merging.report import FileReport, MergeReport

pytest_plugins = ["cli"]

CHROME = "org.chromium.trace"


def chrome(path, *times_us):
    events = [
        {"ph": "X", "name": f"at {ts}", "ts": ts, "dur": 1, "pid": 1, "tid": 1} for ts in times_us
    ]
    path.write_text(json.dumps(events))
    return path


@pytest.fixture
def pair(tmp_path):
    """Two files of Chrome's JSON, and the option that ties them."""
    paths = chrome(tmp_path / "a.json", 1_000, 2_000), chrome(tmp_path / "b.json", 1_500)
    return [*paths], ["--sync", f"a.json:{CHROME}=b.json:{CHROME}+1s+-1us"]


def test_a_file_without_events_is_told_and_the_others_are_merged(tmp_path, pair, tracetime):
    paths, sync = pair
    empty = chrome(tmp_path / "empty.json")
    code, out, err = tracetime("merge", *paths, empty, *sync, "-o", tmp_path / "out.pftrace")
    assert (code, err) == (0, "")
    (row,) = (line.split() for line in out.splitlines() if line.startswith("empty.json "))
    assert row == ["empty.json", "2", "no", "events"]
    assert "empty.json: it has no event" in out
    with tt.open_trace(tmp_path / "out.pftrace") as trace:
        assert trace.slices().read_all().num_rows == 3
    assert tracetime("merge", *paths, empty, *sync, "-o", tmp_path / "out.zip")[0] == 0
    names = zipfile.ZipFile(tmp_path / "out.zip").namelist()
    assert names == ["perfetto_manifest.json", "a.json", "b.json"]
    assert tracetime("merge", *paths, empty, *sync, "--json")[0] == 0


CAPTURE = captures.Capture()
HOST = {"resource": {"attributes": [attribute("host.name", "h")]}, "scopeSpans": [{"spans": []}]}
EMPTY = {
    "chrome.json": b"[]",
    "otlp.json": b'{"resourceSpans":[]}',
    "resource.json": b'{"resourceSpans":[{}]}',
    "host.json": json.dumps({"resourceSpans": [HOST]}).encode(),
    "jaeger.json": jaeger(([], {})),
    "section.pcapng": CAPTURE.section(),
    "interface.pcapng": CAPTURE.section() + CAPTURE.interface(),
    "none.pcap": captures.pcap([]),
    "none.xdf": XdfFile().content,
    "ctf": None,
}


def empty_file(folder, name):
    if EMPTY[name] is None:
        return ctf_files.Trace({}).write(folder / name)
    (folder / name).write_bytes(EMPTY[name])
    return folder / name


@pytest.fixture
def journals(tmp_path):
    """Journals of two machines, whose wall clocks tie them where they are assumed."""
    paths = tmp_path / "a.export", tmp_path / "b.export"
    for path, id_ in zip(paths, ("a" * 32, "b" * 32), strict=True):
        path.write_bytes(b"".join(logged(k * 1_000, boot=id_, machine=id_) for k in range(9)))
    return paths


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_file_ties_nothing_by_an_assumed_wall_clock(tmp_path, journals, name, place):
    """The others are merged as without it."""
    alone = tt.merge(journals, None, assume_wall_clock="10ms")
    empty = empty_file(tmp_path, name)
    inputs = [*journals[:place], empty, *journals[place:]]
    report = tt.merge(inputs, None, assume_wall_clock="10ms")
    told = report.files[place]
    assert (told.name, told.empty, told.ties) == (empty.name, True, ())
    assert told.why_not == "it has no event on its trace clock"
    if place:
        rest = [one for one in report.files if not one.empty]
        assert [one.worst_half_width_ns for one in rest] == [
            one.worst_half_width_ns for one in alone.files
        ]
        assert tt.merge(inputs, tmp_path / "out.pftrace", assume_wall_clock="10ms").written


def test_an_empty_file_between_two_others_ties_them_no_wider_than_their_offsets(tmp_path, journals):
    empty_file(tmp_path, "none.pcap")
    sync = [
        "a.export:REALTIME=none.pcap:REALTIME+0ns+-1ms",
        "none.pcap:REALTIME=b.export:REALTIME+0ns+-1ms",
    ]
    report = tt.merge([*journals, tmp_path / "none.pcap"], None, sync=sync)
    assert report.files[1].worst_half_width_ns < 2_100_000
    alone = tmp_path / "none.pcap", empty_file(tmp_path, "section.pcapng")
    both = ["none.pcap:REALTIME=section.pcapng:REALTIME+0ns+-1ms"]
    assert all(one.empty for one in tt.merge(alone, None, sync=both).files)


def test_files_that_are_all_empty_or_begin_with_such_a_one_are_refused(tmp_path, pair):
    first, second = (chrome(tmp_path / f"{name}.json") for name in ("none", "nothing"))
    with pytest.raises(UsageError, match="none of the files has an event"):
        tt.merge([first, second], tmp_path / "out.pftrace")
    with pytest.raises(UsageError, match=r"none\.json, the first file, has no event"):
        tt.merge([first, pair[0][0]], tmp_path / "out.pftrace")


def test_a_file_is_given_once_whatever_it_is_called(tmp_path, pair):
    path = pair[0][0]
    os.link(path, tmp_path / "link.json")
    (tmp_path / "soft.json").symlink_to(path)
    for other in (path, tmp_path / "link.json", tmp_path / "soft.json"):
        with pytest.raises(UsageError, match="are one file"):
            tt.merge([path, other], None)


def test_a_file_that_is_cut_off_is_named_and_kept_as_far_as_it_goes(tmp_path, tracetime):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", BOOTS)
    other.write_bytes(other.read_bytes()[:-3])
    with pytest.raises(TraceError, match=r"^b\.pftrace: the trace is cut off"):
        tt.merge([one, other], None)
    code, out, _ = tracetime("merge", one, other, "--same", "a.pftrace,b.pftrace", "--partial")
    assert code == 0
    assert "b.pftrace: reading stopped early: the trace is" in out


def test_a_name_that_an_archive_cannot_hold_is_refused(tmp_path, pair):
    (one, other), sync = pair
    odd = tmp_path / os.fsdecode(b"b\xff.json")
    other.rename(odd)
    given = sync[1].replace("b.json", odd.name)
    with pytest.raises(UsageError, match="is not UTF-8"):
        tt.merge([one, odd], tmp_path / "out.zip", sync=[given])
    assert not (tmp_path / "out.zip").exists()


def test_one_boot_ties_nothing_where_there_is_no_clock_of_the_kernels(pair, tracetime):
    code, out, err = tracetime("merge", *pair[0], "--same", "a.json,b.json")
    assert code == 2
    assert "no clock of the kernel's" in " ".join(out.split())
    assert "--same" not in err
    assert "--same" not in tracetime("merge", *pair[0])[2]


def test_one_boot_is_advised_where_it_would_tie(tmp_path, tracetime):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    assert "--same a.pftrace,b.pftrace" in tracetime("merge", one, other)[2]


def test_rules_that_tie_nothing_are_told(pair, tracetime):
    paths, sync = pair
    rules = ["--match", "send=ask recv=answer key=id", "--together", "name=reduce key=id"]
    out = tracetime("merge", *paths, *sync, *rules)[1]
    assert "no ties by --match send=ask recv=answer key=id: 0 ask and 0 answer" in out
    assert "no ties by --together name=reduce key=id: 0 slices" in out
    assert "no ties" not in tracetime("merge", *paths, *sync)[1]


def test_a_file_that_merge_wrote_has_no_wall_clock(tmp_path, tracetime):
    paths = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", BOOTS)
    assumed = ["--assume-wall-clock", "1ms"]
    made = tmp_path / "made.pftrace"
    assert tracetime("merge", *paths, *assumed, "-o", made)[0] == 0
    code, out, _ = tracetime("merge", made, paths[1], *assumed)
    assert code == 2
    assert "made.pftrace: bake or merge wrote it" in " ".join(out.split())


def test_events_before_time_0_of_their_file_are_counted(tmp_path):
    one, other = chrome(tmp_path / "a.json", 5), chrome(tmp_path / "b.json", -7, 7)
    sync = [f"a.json:{CHROME}=b.json:{CHROME}+1s+-1us"]
    report = tt.merge([one, other], tmp_path / "out.pftrace", sync=sync)
    assert [(file.early, file.left_out) for file in report.written.files] == [(0, 0), (1, 0)]
    back = tt.merge([one, other], tmp_path / "out.pftrace", sync=[sync[0].replace("+1s", "-1s")])
    assert [(file.early, file.left_out) for file in back.written.files] == [(0, 0), (2, 0)]


def test_a_number_of_two_processes_is_told_where_only_the_caller_says_that_it_is_one_boot(
    tmp_path, pair, tracetime
):
    paths, sync = pair
    for path, names in zip(paths, (["one", "same"], ["other", "same"]), strict=True):
        events = json.loads(path.read_text())
        for pid, name in enumerate(names, 1):
            events.append({"ph": "i", "name": "mark", "ts": 1_600, "pid": pid, "tid": pid})
            naming = {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
            events.insert(0, naming)
        path.write_text(json.dumps(events))
    out = " ".join(tracetime("merge", *paths, *sync, "--same", "a.json,b.json")[1].split())
    assert out.count("pid ") == 1
    assert "pid 1 is one in a.json and other in b.json: the output may show one process" in out
    assert "--different a.json,b.json" in out
    assert tracetime("merge", *paths, *sync, "--same", "a.json,b.json", "--json")[0] == 0
    assert "pid " not in tracetime("merge", *paths, *sync)[1]


def test_one_contradiction_is_told_once_with_its_worst():
    a, b = ClockId(200), ClockId(201)
    files = tuple(FileReport(name, clock, ()) for name, clock in (("a", a), ("b", b)))
    loops = tuple(Inconsistency(a, b, (a,), 5, gap) for gap in (3_000, 9_000, 2_000))
    wrong = tuple(
        PairDiscontinuity(a, b, "wrong_order", at, at, (at, at), None, ()) for at in (70, 80)
    )
    report = MergeReport(a, files, (), loops, wrong, ())
    assert list(contradictions(report)) == [
        "a and b miss each other in 3 places, at worst by 9 us",
        "between a and b something ends before it begins 2 times, at worst by 80 ns at least",
    ]
