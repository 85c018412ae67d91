"""What every command prints with --json of traces and clocks of many kinds, by schema."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import suspended_machines
from building import BOOTTIME, event, snapshot, trace
from corpus import OWN
from faults import FAULTS, GPU, Model
from fleets import drifting_trace
from json_output import command_of, values
from merge_worlds import kineto_of_one_rank, kineto_ranks, talk, trace_of
from places import ROOT
from replying import Server
from samples import CLOCK_SYNC, EMPTY, MANY, SLICES, UNRESOLVED
from simulated import Machine, usual_clocks
from suspended_recordings import file_of, sleeper
from text_format import MAGIC, TextTrace, is_text
from wall_bounds import bounded_recording

from tools.make_ranks import make_ranks
from tracetime import ClockId, fleet, formats
from tracetime.analysis import summary
from tracetime.capture import calibrate, promise_checks, sampling
from tracetime.capture import record as recording
from tracetime.clocks.kernel_clock import WallBound
from tracetime.commands import clocks, run
from tracetime.reporting import facts
from tracetime.sources.fake import DeviceFaults, FakeClock, FakeDevice, FakeSource, FakeTime
from tracetime.sources.source import ClockSource, Unavailable
from tracetime.verbs import serve

CHROMIUM = OWN / "traces" / "chromium_small.pftrace"
DEMO = ROOT / "demo" / "demo.pftrace"
TABLES = (
    "events",
    "slices",
    "clocks",
    "snapshots",
    "discontinuities",
    "findings",
    "finding_events",
)
_HOST = ("--clock", "MONOTONIC", "--clock", "REALTIME")

Samples = dict[str, list[Any]]
"""Values by schema."""


class Printed:
    """Runs the command line, and keeps what it prints.

    Args:
        folder: for traces and outputs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.samples: Samples = defaultdict(list)

    def trace(self, name: str, data: bytes) -> str:
        path = self.folder / f"{name}.pftrace"
        path.write_bytes(data)
        return str(path)

    def __call__(self, *args: object, code: int = 0) -> None:
        out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            found = run([*map(str, args), "--json"])
        out.flush()
        text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
        assert found == code, f"{args} ended with {found}: {err.getvalue()}"
        name = command_of(tuple(map(str, args))) if text else "error"
        self.samples[name] += values(name, text or err.getvalue())


def every_sample(folder: Path) -> Samples:
    """Everything."""
    printed = Printed(folder)
    with pytest.MonkeyPatch.context() as patch:
        _of_traces(printed, patch)
        _of_conversions(printed)
        _of_orders(printed, patch)
        _of_merges(printed, patch)
        _of_fleets(printed, patch)
        _of_this_machine(printed)
        _of_faulty_clocks(printed, patch)
        _errors(printed)
    return printed.samples


def _traces(printed: Printed) -> Iterator[str]:
    yield str(DEMO)
    for name, data in (
        ("healthy", Model().build()),
        ("clock_sync", CLOCK_SYNC),
        ("empty", EMPTY),
        ("many", MANY),
        ("slices", SLICES),
        ("unresolved", UNRESOLVED),
        ("no_snapshots", trace(event(5))),
        ("cut", UNRESOLVED[:-3]),
        ("warned", _with_fault("incremental_global")),
        ("\x1b]0;hostile\x07\n\u202e", CLOCK_SYNC),
    ):
        yield printed.trace(name, data)


def _with_fault(name: str) -> bytes:
    model = Model()
    FAULTS[name](model, Random(1))
    return model.build()


def _of_traces(printed: Printed, patch: pytest.MonkeyPatch) -> None:
    out = printed.folder / "out"
    for path in _traces(printed):
        convert = ("convert", path, "--partial", "-o", f"{out}.csv")
        printed(*convert)
        printed(*convert, "--policy", "tube", "--with-names")
        printed(*convert, "--slices")
        printed(*convert, "--slices", "--policy", "tube", "--bars", "guaranteed")
        printed("clocks", path, "--partial", "--clock-name", "MONOTONIC=cpu")
        printed(path)
    printed(*(DEMO.with_name(f"rank{n}.json.gz") for n in range(2)))
    printed(DEMO.with_name("lab.xdf"))
    for path in (DEMO, printed.trace("cut", UNRESOLVED[:-3])):
        printed("report", path, "--partial", "-o", f"{out}.html")
        printed("bake", path, "--partial", "-o", f"{out}.pftrace")
        printed("convert", path, "--partial", "-o", f"{out}.csv", "--to", "BOOTTIME")
        for table in TABLES:
            printed("sql", path, "--partial", f"from {table} limit 20")
    printed("convert", DEMO, "-o", f"{out}.csv", "--to", "REALTIME")
    read = [snapshot({BOOTTIME: t, GPU: t + t // 50_000}) for t in (10**11, 10**11 + 10**9)]
    two = printed.trace("two_snapshots", trace(*read, event(10**11 + 7, GPU)))
    printed("convert", two, "-o", f"{out}.csv", "--policy", "tube")
    bound = WallBound(-90_000, 216_000, "chrony")
    printed("clocks", bounded_recording(out.with_name("bounded.pftrace"), bound))
    # It has more clocks than are compared by the tube.
    printed("convert", CHROMIUM, "-o", f"{out}.csv")
    with patch.context() as limited:
        limited.setattr(clocks, "EDGES_LISTED", 1)
        printed("clocks", DEMO)
        limited.setattr(facts, "LEAST_PAIRS", 1)
        limited.setattr(facts, "MOST_PAIRS", 1)
        printed("report", DEMO, "-o", f"{out}.html")
        printed("bake", DEMO, "-o", f"{out}.pftrace")
        limited.setattr(summary, "_COUNTED_ROWS", 0)
        limited.setattr(summary, "_COMPARED_ROWS", 0)
        printed("convert", DEMO, "-o", f"{out}.csv")
    table = printed.folder / "table.csv"
    table.write_text("ts,clock\n18723683250240,BOOTTIME\n1,\n,BOOTTIME\n")
    convert = ("convert", table, "-o", f"{out}.csv", "--graph", DEMO)
    printed(*convert, "--map", "ts:BOOTTIME", "--policy", "tube")
    printed(*convert, "--map", "ts:@clock")
    # Seconds, which are read as ns.
    table.write_text("ts\n18723\n18724\n")
    printed(*convert, "--map", "ts:BOOTTIME")
    cut = printed.folder / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"ts\n18723683250240\n")[:-4])
    printed("convert", cut, *convert[2:], "--map", "ts:BOOTTIME", "--partial")
    # A trace for each kind of fault: nearly all findings.
    broken = {name: printed.trace(name, _with_fault(name)) for name in FAULTS}
    for path in (*broken.values(), DEMO):
        printed("doctor", path)
    for code in ("clock-without-snapshot", "snapshots-too-sparse"):
        printed("doctor", DEMO, broken["sparse"], broken["incremental_global"], "--events", code)
    printed("doctor", DEMO, printed.trace("junk", b"junk"), "/none", code=3)
    patch.setattr(serve, "PORT", 0)
    cut = printed.trace("cut", UNRESOLVED[:-3])
    for path, *more in ((DEMO,), (DEMO, "--tube"), (cut, "--tube", "--partial")):
        printed("open", path, "--no-browser", "--timeout", "1ms", *more, code=1)


def _of_conversions(printed: Printed) -> None:
    path = printed.trace("at", CLOCK_SYNC)
    ticks = printed.trace(
        "ticks",
        trace(*(snapshot({BOOTTIME: 1000 + t, 9: 10**9 + 2445 * t, 200: t}) for t in range(9))),
    )
    # Of one snapshot nobody learns how long a tick lasts.
    once = printed.trace("once", trace(snapshot({BOOTTIME: 1000, 9: 10**9})))
    printed("at", once, 10**9 + 70, "--from", "TSC")
    frame_ns, start = 16_666_667, 10**12
    frames = printed.trace(
        "frames",
        trace(
            *(
                snapshot({BOOTTIME: start + t, GPU: (start + t) // frame_ns * frame_ns})
                for t in (k * 10**9 + k * k * 7_654_321 % 200_000_000 for k in range(60))
            )
        ),
    )
    # By floor nothing is converted from ticks of a known length.
    for more, refused in (((), 2), (("--policy", "tube"), 0)):
        for instant in (900, 1104, 99_999):
            printed("at", path, instant, "--from", "MONOTONIC", "--to", "REALTIME", *more)
        printed("at", path, 2000, "--from", "BOOTTIME", "--to", "BOOTTIME", *more)
        printed("at", path, 10**18, "--from", "REALTIME", *more)
        printed("at", path, 2, "--from", "64", "--sequence", 7, *more)
        printed("at", ticks, 10**9 + 70, "--from", "TSC", *more, code=refused)
        printed("at", ticks, 1, "--from", "TSC", *more, code=refused)
        printed("at", frames, start + 2 * 10**9, "--from", GPU, *more)
        printed("at", frames, start + 2 * 10**9, "--to", GPU, *more)


def _of_orders(printed: Printed, patch: pytest.MonkeyPatch) -> None:
    lines = (
        "snapshot,0,BOOTTIME,1000",
        "order,MONOTONIC,1000,BOOTTIME,1500",
        "order,BOOTTIME,2000,MONOTONIC,1600",
        "event,BOOTTIME,1700",
        "event,MONOTONIC,1200",
    )
    path = printed.folder / "orders.txt"
    path.write_bytes(MAGIC + "\n".join([*lines, ""]).encode())
    with patch.context() as here:
        here.setattr(formats, "FORMATS", [*formats.FORMATS])
        formats.register_format(is_text, TextTrace)
        printed("clocks", path)
        printed("at", path, 1200, "--from", "MONOTONIC", "--policy", "tube")
        printed("at", path, 1700, "--to", "MONOTONIC", "--policy", "tube")
        path.write_bytes(MAGIC + "\n".join([*lines[:2], *lines[3:], ""]).encode())
        printed("at", path, 1200, "--from", "MONOTONIC", "--policy", "tube")
        printed("at", path, 1700, "--to", "MONOTONIC", "--policy", "tube")
        printed(path)
        _of_one_side(printed)
        here.setattr(fleet, "run_in_pool", _run_here)
        printed("fleet", "doctor", path, "-o", printed.folder / "orders")
    printed("fleet", "summary", printed.folder / "orders")


def _of_one_side(printed: Printed) -> None:
    """An order tells that REALTIME was set back, and nothing how far at most."""
    both = [f"snapshot,{t},{clock},{t}" for t in (0, 10**9) for clock in ("BOOTTIME", "REALTIME")]
    order = f"order,BOOTTIME,{10**11},REALTIME,{2 * 10**9}"
    events = [f"event,REALTIME,{t * 10**9}" for t in (12, 13, 14)]
    path = printed.folder / "set_back.txt"
    path.write_bytes(MAGIC + "\n".join([*both, order, *events, ""]).encode())
    printed("at", path, 13 * 10**9, "--from", "REALTIME")
    printed("at", path, 111 * 10**9, "--to", "REALTIME")
    printed("convert", path, "-o", printed.folder / "out.csv")
    for command in ("clocks", "doctor"):
        printed(command, path)
    printed(path)


def _run_here(function: Any, uris: Any, *_: object, **__: object) -> Iterator[Any]:
    return map(function, uris)


def _of_a_manifest(printed: Printed, one: Path) -> None:
    said = {"version": 1, "trace_time": {"clock": "REALTIME"}, "attributes": {"a": "b", "n": 7}}
    with zipfile.ZipFile(printed.folder / "archive.zip", "w") as archive:
        archive.write(one, "one")
        archive.writestr("manifest", json.dumps({"perfetto_manifest": said}))
        archive.writestr("notes", "words")
    printed("merge", printed.folder / "archive.zip")


def _of_merges(printed: Printed, patch: pytest.MonkeyPatch) -> None:
    one, other, third = (trace_of(printed.folder / f"{name}.pftrace") for name in "xyz")
    apart = "--different", "x.pftrace,y.pftrace", "--explain", "x.pftrace", "y.pftrace"
    printed("merge", one, other, *apart, code=2)
    printed(one, other)
    said = "x.pftrace:BOOTTIME={}.pftrace:BOOTTIME+{}ms+-1ms"
    ties = [said.format("y", 250), said.format("z", 9), said.format("z", 80).replace("x.", "y.")]
    syncs = [part for tie in ties for part in ("--sync", tie)]
    out = printed.folder / "merged.zip"
    printed("merge", one, other, third, *syncs, "-o", out, *apart[2:])
    printed("merge", one, other, third, *syncs[2:], *apart[2:])
    printed("merge", one, other, *syncs[:2], "-o", printed.folder / "merged.pftrace")
    cut = printed.folder / "cut.pftrace"
    cut.write_bytes(one.read_bytes()[:-3])
    printed("merge", other, cut, "--partial", "--sync", said.format("cut", 9).replace("x.", "y."))
    _of_shared_pids(printed)
    _of_a_manifest(printed, one)
    explain = "--explain", "a.json", "b.json"
    asked = "--match", "send=ask recv=hear key=id", *explain
    answered = "--match", "send=answer recv=hear_back key=id", *asked
    talking = talk(printed.folder)
    printed("merge", *talking, *asked)
    printed("merge", *talking[::-1], *asked[:-2], "b.json", "a.json")
    shutil.copy(talking[0], printed.folder / "c.json")
    printed("merge", *talking, printed.folder / "c.json", *answered[:-1], "c.json")
    printed("merge", *talk(printed.folder, 5_000), *answered)
    printed("merge", *talk(printed.folder, 5_000, late=1), *answered)
    ranks = kineto_ranks(printed.folder, 0, ranks=3).paths
    printed("merge", *ranks)
    kineto = kineto_of_one_rank(printed.folder / "kineto.json")
    made = make_ranks(kineto, printed.folder, ranks=2, seed=3, seconds=20, resets=1)
    printed("merge", *(rank.path for rank in made))


def _of_shared_pids(printed: Printed) -> None:
    """Two files that are said to be of one boot give a pid to processes of different names."""
    paths = [printed.folder / "one.json", printed.folder / "two.json"]
    for path in paths:
        named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": path.stem}}
        mark = {"ph": "i", "name": "mark", "ts": 1_600, "pid": 1, "tid": 1}
        # An arrow that begins twice is left out once.
        flow = mark | {"ph": "s", "id": 1}
        path.write_text(json.dumps([named, mark, flow, flow]))
    tie = "one.json:org.chromium.trace=two.json:org.chromium.trace+1s+-1us"
    in_vain = "--match", "send=nothing recv=nobody key=id"
    printed("merge", *paths, "--sync", tie, "--same", "one.json,two.json", *in_vain)
    out = printed.folder / "shared.pftrace"
    printed("merge", *paths, "--sync", tie, "--same", "one.json,two.json", "-o", out)
    printed("bake", paths[0], "-o", out)
    here, there = suspended_machines.Machine(0), sleeper(8_000_000)
    slept = [printed.folder / "asks.pftrace", printed.folder / "slept.pftrace"]
    slept[0].write_bytes(file_of(here, [(there, range(1, 60, 10)), (there, range(61, 120, 10))]))
    slept[1].write_bytes(file_of(there))
    printed("merge", *slept)


def _of_fleets(printed: Printed, patch: pytest.MonkeyPatch) -> None:
    out = printed.folder / "fleet"
    before = printed.folder / "before"
    bad = printed.trace("bad", UNRESOLVED[:-3])
    drifts = enumerate((1, 1, 1, 2, 2, 90))
    found = [printed.trace(f"fleet_{k}", drifting_trace(n, "A55")) for k, n in drifts]
    others = [printed.trace("other", _with_fault("stepped")), CHROMIUM, DEMO]
    with patch.context() as inside:
        inside.setattr(fleet, "run_in_pool", _run_here)
        for name in ("convert", "slices"):
            printed("fleet", name, *others, bad, "-o", out, code=1)
        printed("fleet", "doctor", *found, *others, bad, "-o", out)
        printed("fleet", "doctor", *found, *others, "-o", out)
        calm = printed.trace("calm", Model().build())
        printed("fleet", "doctor", *found[:3], calm, "-o", before)
    printed("fleet", "summary", out)
    page = printed.folder / "summary.html"
    worse = ("--against", before, "--fail-on", "worse")
    printed("fleet", "summary", out, *worse, "-o", page, code=1)
    printed("fleet", "summary", before, "--against", out)


def _of_this_machine(printed: Printed) -> None:
    recorded = printed.folder / "recorded.pftrace"
    printed("record", "--force", "-o", recorded, *_HOST, "--duration", "0s")
    joined = printed.trace("joined", 2 * recorded.read_bytes())
    printed("split", joined, "-o", printed.folder / "parts")
    with closing(Server()) as server:
        tied = ("-o", printed.folder / "tied.pftrace", "--peer", server.address)
        printed("record", *tied, *_HOST, "--duration", "1s")
    printed("watch", "-n", 3, "--interval", "20ms", *_HOST)
    printed("calibrate", "-n", 3, "--seconds", "1ms", *_HOST)
    printed("calibrate", "-n", 3, "--seconds", "0.1")


def _of_faulty_clocks(printed: Printed, patch: pytest.MonkeyPatch) -> None:
    for sources in (_failing, _garbage):
        sampler = sampling.Sampler(sources=sources(), tries=1)
        with patch.context() as here:
            here.setattr(sampling, "Sampler", lambda *_, made=sampler, **__: made)
            printed("watch", "-n", 3, "--interval", "10ms")
    for sources in (_failing, _garbage):
        result = calibrate.calibrate(n=3, seconds=0, tries=1, sources=sources())
        with patch.context() as here:
            here.setattr(calibrate, "calibrate", lambda *_, made=result, **__: made)
            printed("calibrate")
    for faults in (None, DeviceFaults(stamp_back_ns=500), DeviceFaults(lost_at=1)):
        clock, *sources = _device(faults)
        sources.append(_Lacking(clock, []))
        checked = promise_checks.check(sources=sources, wait=clock.pass_ns)
        with patch.context() as here:
            here.setattr(promise_checks, "check", lambda _, made=checked: made)
            printed("calibrate", "--check", code=int(faults is not None))
    machine = Machine(usual_clocks())
    machine.clocks[ClockId(BOOTTIME)].lost = True
    with warnings.catch_warnings(action="ignore"):
        recorder = recording.record(printed.folder / "faulty.pftrace", sampler=machine)
    with patch.context() as here:
        here.setattr(recording, "record", lambda *_, **__: recorder)
        printed("record", "-o", recorder.path, "--duration", "0s")
    target = ("--target-error", "1ns", "--duration", "10ms")
    printed("record", "-o", printed.folder / "target.pftrace", *_HOST, *target)


def _failing() -> list[ClockSource]:
    """A clock that can be read once, and one that is not there."""
    raw, failing = FakeClock("MONOTONIC_RAW"), FakeClock("REALTIME", lost_at=1)
    return [_Lacking(FakeTime(10**9), [raw, failing])]


def _garbage() -> list[ClockSource]:
    """A device that sets bits above its valid ones."""
    return [*_device(DeviceFaults(garbage_bits=40))[1:]]


class _Lacking(FakeSource):
    unavailable = (Unavailable("com.example.nic", "there is none"),)


def _device(faults: DeviceFaults | None = None) -> tuple[FakeTime, FakeSource, FakeDevice]:
    """The time, a host, and a device that lists a time domain which nobody knows."""
    time, raw = FakeTime(10**12), FakeClock("MONOTONIC_RAW", step_ticks=10)
    gpu = FakeClock("dev.tracetime.vulkan.fake", valid_bits=36)
    device = FakeDevice(time, gpu, [raw], faults, unknown_domains=(77,))
    return time, FakeSource(time, [raw]), device


def _errors(printed: Printed) -> None:
    junk, path = printed.trace("junk", b"junk"), printed.trace("cut", UNRESOLVED[:-3])
    printed("clocks", junk, code=3)
    printed("clocks", path, code=3)
    printed("clocks", "/none", code=2)
    printed("at", DEMO, 5, "--from", "777", code=1)
    printed("calibrate", "--clock", "123", code=4)
