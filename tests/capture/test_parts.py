"""Processes that record together: each writes a part, and the recording joins them."""

from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from children import ended, forked, parts, rows
from live import TRACE_TIME, wait_for
from recorded import packets_of

import tracetime as tt
from tracetime import Recorder, UsageError, diagnose, open_trace

CLOCKS = ["BOOTTIME", "MONOTONIC", "REALTIME"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def test_a_forked_childs_events_join_the_recording(path):
    with tt.record(path, CLOCKS, interval=None) as rec:
        stage = rec.track("stage")
        rec.instant("parents", category="p", value="parents text")

        def work() -> None:
            with rec.span("childs", category="c", value="childs text"):
                rec.instant("in REALTIME", timestamp=time.time_ns(), clock="REALTIME")
            rec.instant("on the parents", track=stage)
            rec.instant("on its own", track="childs")
            rec.counter("level", 5)
            rec.close()

        child = forked(work)
        assert ended(child) == 0
        assert parts(path)
        rec.instant("parents")
    assert not parts(path)
    found = rows(path)
    assert {row["status"] for row in found} == {"resolved"}
    by_name = {row["name"]: row for row in found}
    assert by_name["parents"]["pid"] == os.getpid()
    assert by_name["childs"]["pid"] == by_name["in REALTIME"]["pid"] == child
    assert by_name["childs"]["args"] == '{"value":"childs text"}'
    assert by_name["on the parents"]["track"] == stage.uuid
    assert by_name["on its own"]["track_name"] == "childs"
    with open_trace(path) as trace:
        slices = trace.slices().read_all().to_pylist()
    pids = {row["name"]: row["pid"] for row in slices}
    assert (pids["on its own"], pids["on the parents"]) == (child, None)
    numbers = [p.trusted_packet_sequence_id for p in packets_of(path.read_bytes())]
    # The packet that says of which boot the recording is has none.
    sequences = Counter(filter(None, numbers))
    firsts = [p.first_packet_on_sequence for p in packets_of(path.read_bytes())]
    assert sum(firsts) == len(sequences)
    with open_trace(path) as trace:
        assert not [one for one in diagnose(trace) if one.severity == "error"]


def test_a_process_is_called_as_its_program(path, monkeypatch):
    with tt.record(path, CLOCKS, interval=None) as rec:
        monkeypatch.setattr("sys.argv", ["/opt/train.py", "--fast"])
        rec.instant("parents")

        def work() -> None:
            monkeypatch.setattr("sys.argv", ["/opt/pack/__main__.py"])
            rec.instant("childs")
            rec.close()

        assert ended(forked(work)) == 0
    names = {row["name"]: row["process_name"] for row in rows(path)}
    assert names == {"parents": "train.py", "childs": "pack"}


def test_a_span_that_a_process_is_forked_in_ends_once(path):
    with tt.record(path, CLOCKS, interval=None) as rec:
        with rec.span("outer"), rec.span("forked in"):
            child = os.fork()
            if child == 0:
                rec.instant("childs")
        if child == 0:
            rec.close()
            os._exit(0)
        with rec.span("outer"):
            assert ended(child) == 0
            rec.instant("last")
    with open_trace(path) as trace:
        found = trace.slices().read_all().to_pylist()
    spans = [row for row in found if row["name"] != "childs"]
    assert [(row["name"], row["depth"]) for row in spans] == [
        ("outer", 0),
        ("forked in", 1),
        ("outer", 0),
        ("last", 1),
    ]
    assert spans[1]["dur"] <= spans[0]["dur"]
    assert spans[2]["ts"] >= spans[0]["ts"] + spans[0]["dur"]


class Counter36:
    """A counter of 36 bits that is at its own place in each process, as if it had wrapped there."""

    domain = tt.ClockDomain("com.example.gpu", ns_per_tick=Fraction(125, 3), valid_bits=36)

    def __init__(self, off: int) -> None:
        self._off = off

    def read(self) -> int:
        return (time.monotonic_ns() * 3 // 125 + self._off) % (1 << 36)

    def record(self, rec: Recorder, who: str) -> None:
        rec.declare(self.domain, self.read)
        for _ in range(5):
            before = time.clock_gettime_ns(TRACE_TIME)
            reading = self.read()
            after = time.clock_gettime_ns(TRACE_TIME)
            rec.instant(who, timestamp=reading, clock="com.example.gpu", before=before, after=after)
            time.sleep(0.01)
        rec.snapshot()


def test_each_process_has_a_clock_of_its_own_of_one_name(path):
    """Two processes may count a counter's wraps from other times."""
    with tt.record(path, CLOCKS, interval=None) as rec:
        Counter36(0).record(rec, "parents")
        children = []
        for n in range(2):

            def work(n: int = n) -> None:
                Counter36((n + 1) << 34).record(rec, f"childs {n}")
                rec.close()

            children.append(forked(work))
        assert [ended(child) for child in children] == [0, 0]
    with open_trace(path) as trace:
        found = trace.read_all("tube", names=True).to_pylist()
        assert {one.severity for one in diagnose(trace)} <= {"info"}
    names = ["com.example.gpu", *(f"com.example.gpu.{child}" for child in children)]
    assert {row["clock"] for row in found} == {tt.clock_id(name) for name in names}
    assert Counter(row["name"] for row in found) == {"parents": 5, "childs 0": 5, "childs 1": 5}
    for row in found:
        args = json.loads(row["args"])
        assert row["earliest"] <= args["after"]
        assert row["latest"] >= args["before"]
    with open_trace(path) as trace:
        for row in trace.read_all(names=True).to_pylist():
            assert abs(row["trace_time"] - json.loads(row["args"])["before"]) < 10**8


def test_a_child_has_clocks_64_to_127_of_its_own(path):
    domain = tt.ClockDomain(tt.ClockId(70), name="scoped", ns_per_tick=1)

    def record(rec: Recorder, off: int) -> None:
        rec.declare(domain, lambda: time.monotonic_ns() + off)
        rec.instant("one", timestamp=time.monotonic_ns() + off, clock=70)

    with tt.record(path, CLOCKS, interval=None) as rec:
        record(rec, 0)

        def work() -> None:
            record(rec, 10**15)
            rec.close()

        assert ended(forked(work)) == 0
    times = [row["trace_time"] for row in rows(path)]
    assert abs(times[0] - times[1]) < 60 * 10**9


def childs_events(rec: Recorder, n: int) -> None:
    def work() -> None:
        for i in range(n):
            rec.instant("childs", i=i, text="x" * (i % 50))
        rec.close()

    assert ended(forked(work)) == 0


def numbers(path: Path) -> list[int]:
    return [json.loads(row["args"])["i"] for row in rows(path) if row["name"] == "childs"]


def test_a_childs_events_are_in_its_part_after_the_flush_interval(path):
    read, write = os.pipe()
    with tt.record(path, CLOCKS, flush_interval=0.01) as rec:

        def work() -> None:
            rec.instant("childs", i=0)
            os.read(read, 1)

        child = forked(work)
        wait_for(
            lambda: parts(path) and parts(path)[0].stat().st_size and numbers(parts(path)[0]) == [0]
        )
        os.kill(child, signal.SIGKILL)
        ended(child)
    os.close(write)
    assert numbers(path) == [0]


def test_parts_are_flushed_as_the_recording_is(path):
    with tt.record(path, CLOCKS, flush_interval=0.25, sync=True) as rec:
        assert rec._part_options()[1:] == (0.25, True)

        def work() -> None:
            rec.instant("childs", i=0)
            assert rec._part is not None
            assert rec._part._part_options()[1:] == (0.25, True)
            rec.close()

        assert ended(forked(work)) == 0


def test_a_part_is_joined_piece_by_piece(path, monkeypatch):
    monkeypatch.setattr("tracetime.formats.perfetto.write.joining._PIECE", 64)
    with tt.record(path, CLOCKS, interval=None) as rec:
        childs_events(rec, 1_000)
    assert numbers(path) == [*range(1_000)]
    assert not parts(path)


def test_a_join_that_is_broken_off_goes_on(path, monkeypatch):
    monkeypatch.setattr("tracetime.formats.perfetto.write.joining._PIECE", 4_096)
    rec = tt.record(path, CLOCKS, interval=None)
    childs_events(rec, 1_000)
    flush, calls = rec._writer.flush, itertools.count()

    def interrupted(*, wait: bool = True) -> None:
        flush(wait=wait)
        if next(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(rec._writer, "flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rec.close()
    rec.close()
    assert numbers(path) == [*range(1_000)]
    assert not parts(path)


def test_parts_that_a_full_disk_has_no_room_for_are_joined_once(path, monkeypatch):
    monkeypatch.setattr("tracetime.formats.perfetto.write.joining._PIECE", 4_096)
    rec = tt.record(path, CLOCKS, interval=None)
    childs_events(rec, 1_000)
    rec.instant("own")
    pwrite, room = os.pwrite, 20_000

    def to_a_full_disk(file: int, data: bytes, at: int) -> int:
        if at + len(data) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(file, data, at)

    monkeypatch.setattr(os, "pwrite", to_a_full_disk)
    with pytest.warns(UserWarning, match="this part stays beside the file: .*No space left"):
        rec.close()
    monkeypatch.undo()
    assert rec.events_dropped == 0
    assert [row["name"] for row in rows(path)] == ["own"]
    assert tt.join_parts(path) == [problem.what for problem in rec.problems]
    assert numbers(path) == [*range(1_000)]


def test_a_part_that_max_size_has_no_room_for_stays(path):
    with tt.record(path, CLOCKS, interval=None, max_size=1 << 16) as rec:
        childs_events(rec, 5_000)
        with pytest.warns(UserWarning, match=r"stays beside the file: the file .* max_size"):
            rec.close()
    (part,) = parts(path)
    assert part.stat().st_size > 1 << 16 > path.stat().st_size
    assert numbers(part) == [*range(5_000)]
    assert numbers(path) == []


def killed_recording(path: Path, *, dropped: bool = False) -> int:
    """Record in a process that is killed; returns the process that its part is of."""
    read, write = os.pipe()

    def work() -> None:
        rec = tt.record(path, CLOCKS, interval=None)
        rec.instant("parents")
        rec.flush()

        def inner() -> None:
            rec.instant("childs", i=0)
            if dropped:
                rec.instant("lost", value="x" * (1 << 27))
            rec.close()

        child = forked(inner)
        assert ended(child) == 0
        os.write(write, str(child).encode())
        os.kill(os.getpid(), signal.SIGKILL)

    assert ended(forked(work)) == signal.SIGKILL
    os.close(write)
    with os.fdopen(read) as file:
        return int(file.read())


def test_parts_of_a_killed_recording_are_joined_afterwards(path):
    child = killed_recording(path)
    assert [row["name"] for row in rows(path)] == ["parents"]
    with path.open("ab") as file:
        file.write(b"\x0a\x50cut off")
    assert [Path(one).name for one in tt.join_parts(path)] == [f"out.pftrace.{child}.part"]
    found = {row["name"]: row for row in rows(path)}
    assert found.keys() == {"parents", "childs"}
    assert found["childs"]["pid"] == child
    assert {row["status"] for row in found.values()} == {"resolved"}
    assert [one.name for one in path.parent.iterdir()] == ["out.pftrace"]
    assert tt.join_parts(path) == []
    assert len(rows(path)) == 2


def test_what_a_part_dropped_is_counted_when_it_is_joined_afterwards(path):
    killed_recording(path, dropped=True)
    tt.join_parts(path)
    with open_trace(path) as trace:
        (finding,) = (one for one in diagnose(trace) if one.code == "events-dropped")
    assert finding.events == 1


def test_parts_of_a_recording_that_goes_on_are_not_joined(path):
    with tt.record(path, CLOCKS, interval=None) as rec:
        childs_events(rec, 3)
        with pytest.raises(UsageError, match="is still recorded: close the recording"):
            tt.join_parts(path)
        assert len(parts(path)) == 1
    assert numbers(path) == [0, 1, 2]


def test_parts_of_nothing_are_not_joined(path):
    with pytest.raises(UsageError, match="No such file"):
        tt.join_parts(path)
    path.write_bytes(b"no recording")
    assert tt.join_parts(path) == []
    assert path.read_bytes() == b"no recording"


def test_a_child_that_records_nothing_makes_no_file(path):
    with tt.record(path, CLOCKS, interval=None):
        assert ended(forked(lambda: None)) == 0
        assert not parts(path)


def test_a_killed_child_loses_nothing_that_it_flushed(path):
    with tt.record(path, CLOCKS, interval=None) as rec:

        def work() -> None:
            for i in range(1_000):
                rec.instant("flushed", i=i)
            rec.flush()
            rec.begin("open")
            os.kill(os.getpid(), signal.SIGKILL)

        assert ended(forked(work)) == signal.SIGKILL
    found = rows(path)
    assert [json.loads(row["args"])["i"] for row in found if row["name"] == "flushed"] == [
        *range(1_000)
    ]
    assert {row["status"] for row in found} == {"resolved"}


def test_a_part_ends_with_a_whole_packet(path):
    """As a child may be killed while it writes: what is cut off is left out."""
    with tt.record(path, CLOCKS, interval=None) as rec:

        def work() -> None:
            rec.instant("whole")
            rec.close()

        assert ended(forked(work)) == 0
        (part,) = parts(path)
        with part.open("ab") as file:
            file.write(b"\x0a\x50cut off")
    assert [row["name"] for row in rows(path)] == ["whole"]


def test_a_grandchild_has_a_part_too(path):
    with tt.record(path, CLOCKS, interval=None) as rec:

        def work() -> None:
            rec.instant("childs")

            def inner() -> None:
                rec.instant("grandchilds")
                rec.close()

            assert ended(forked(inner)) == 0
            rec.close()

        assert ended(forked(work)) == 0
    found = rows(path)
    assert sorted(row["name"] for row in found) == ["childs", "grandchilds"]
    assert len({row["pid"] for row in found}) == 2


def test_a_child_that_still_records_keeps_its_part(path):
    read, write = os.pipe()
    with tt.record(path, CLOCKS, interval=None) as rec:

        def work() -> None:
            rec.instant("childs")
            rec.flush()
            os.read(read, 1)
            rec.close()

        child = forked(work)
        wait_for(lambda: parts(path) and parts(path)[0].stat().st_size > 0)
        with pytest.warns(UserWarning, match="still written"):
            rec.close()
    os.write(write, b"x")
    assert ended(child) == 0
    (part,) = parts(path)
    assert [row["name"] for row in rows(part)] == ["childs"]
    assert rows(path) == []


def test_parts_of_an_earlier_recording_are_not_joined(path):
    (path.parent / "out.pftrace.77.part").write_bytes(b"left behind")
    others = ["another.pftrace.77.part", "out.pftrace.77-1b.part", "out.pftrace.mine.part"]
    for name in others:
        (path.parent / name).write_bytes(b"not a part of this one")
    with tt.record(path, CLOCKS, interval=None):
        pass
    assert [one.name for one in parts(path)] == others


def test_parts_of_an_earlier_recording_are_kept_where_that_is_asked_for(path):
    part = path.parent / "out.pftrace.77.part"
    part.write_bytes(b"left behind")
    with pytest.raises(UsageError, match=r"77\.part' is a part of an earlier recording"):
        tt.record(path, CLOCKS, interval=None, overwrite=False)
    assert part.read_bytes() == b"left behind"
    with pytest.raises(UsageError, match="No such file"):
        tt.record(path.parent / "no" / path.name, CLOCKS, interval=None, overwrite=False)


def test_a_child_of_a_closed_recording_records_nothing(path):
    rec = tt.record(path, CLOCKS, interval=None)
    rec.close()

    def work() -> None:
        with pytest.raises(UsageError, match="closed"):
            rec.instant("childs")

    assert ended(forked(work)) == 0
    assert not parts(path)


def test_events_that_a_child_dropped_are_counted(path):
    with tt.record(path, CLOCKS, interval=None) as rec:

        def work() -> None:
            for _ in range(3):
                # More than waits for the disk.
                rec.instant("lost", value="x" * (1 << 27))
            rec.instant("kept")
            rec.close()

        assert ended(forked(work)) == 0
        assert rec.events_dropped == 0
    assert rec.events_dropped == 3
    with open_trace(path) as trace:
        assert "events-dropped" in {one.code for one in diagnose(trace)}
    assert [row["name"] for row in rows(path)] == ["kept"]
