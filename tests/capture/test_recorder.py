"""Recordings: of a simulated machine, where the truth is known, and of this one, with threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pytest
from platforms import WITH_BOOTTIME
from recorded import extensions_of, names_of, packets_of, split
from simulated import GPU, TSC, Clock, Machine, usual_clocks

import tracetime as tt
from tracetime import ClockDomain, ClockId, SourceError, UsageError, clock_id, open_trace

S = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def primary(path: Path) -> ClockId:
    with open_trace(path) as trace:
        return trace.trace_clock


def test_every_event_lies_within_its_bar(path):
    """In every clock, raw ticks included, between snapshots 1 s apart."""
    machine = Machine(usual_clocks())
    random = Random(3)
    truth = []
    with tt.record(path, interval=None, sampler=machine) as rec:
        boot = machine.clocks[ClockId.parse("BOOTTIME")]
        for _ in range(90):
            for _ in range(30):
                true_ns = machine.now_ns + random.randrange(S)
                clock, one = random.choice(list(machine.clocks.items()))
                rec.instant("e", timestamp=one.raw(true_ns), clock=clock)
                truth.append(boot.ns(true_ns))
            machine.now_ns += S
            rec.snapshot()
    with open_trace(path) as trace:
        assert str(trace.trace_clock) == "BOOTTIME"
        table = trace.read_all("tube")
        assert len(table) == len(truth) == 2_700
        assert set(table["status"].to_pylist()) == {"resolved"}
        earliest, latest = table["earliest"].to_pylist(), table["latest"].to_pylist()
        assert all(a <= t <= b for a, t, b in zip(earliest, truth, latest, strict=True))
        # Measured, not assumed: the bars are as wide as the brackets, and what clocks may stray.
        widths = pc.subtract(table["latest"], table["earliest"])
        assert 50 < pc.quantile(widths, 0.5)[0].as_py() < 500
    # Perfetto's classes parse every packet; the floor policy agrees with the rules: the offset of
    # the latest snapshot before.
    assert len(packets_of(path.read_bytes())) > 2_700
    with open_trace(path) as trace:
        floor = trace.read_all()["trace_time"].to_pylist()
        # 33 ppm of drift over a second, and a bracket.
        assert all(abs(a - b) < 40_000 for a, b in zip(floor, truth, strict=True))


def floor_by_hand(data: bytes) -> list[int]:
    """Trace times by the rule itself: per event, the latest snapshot before it, in file order."""
    snapshots: list[dict[int, int]] = []
    defaults: dict[int, int] = {}
    found = []
    for packet in packets_of(data):
        if packet.HasField("trace_packet_defaults"):
            defaults[packet.trusted_packet_sequence_id] = (
                packet.trace_packet_defaults.timestamp_clock_id
            )
        if packet.HasField("clock_snapshot"):
            snapshots.append({c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks})
        elif packet.HasField("track_event"):
            clock = packet.timestamp_clock_id or defaults[packet.trusted_packet_sequence_id]
            before = [s for s in snapshots if clock in s and s[clock] <= packet.timestamp]
            used = before[-1] if before else next(s for s in snapshots if clock in s)
            found.append(packet.timestamp + used[6] - used[clock])
    return found


def test_the_floor_policy_agrees_with_the_rule(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine) as rec:
        for n in range(200):
            clock, one = list(machine.clocks.items())[n % 7]
            rec.instant("e", timestamp=one.raw(machine.now_ns), clock=clock)
            machine.now_ns += S // 10
            if n % 7 == 0:
                rec.snapshot()
    with open_trace(path) as trace:
        assert trace.read_all()["trace_time"].to_pylist() == floor_by_hand(path.read_bytes())


@pytest.mark.parametrize("clock", ["REALTIME", GPU, TSC])
def test_after_a_step_back_events_resolve_rightly(path, clock):
    """By the floor rule: more than the interval, twice, and for every clock that can be set."""
    machine = Machine(usual_clocks())
    stepping = machine.clocks[ClockId.parse(clock)]
    start = machine.now_ns
    stepping.steps += [(start + 5 * S, -300 * S), (start + 12 * S, -7 * S)]
    stepping.offset_ns += 4_000 * S
    if clock == GPU:
        # A step within the counter's bits is told from its wrap by the time that went by.
        stepping.domain = ClockDomain(GPU, GPU, ns_per_tick=stepping.domain.ns_per_tick)
    boot = machine.clocks[ClockId(6)]
    truth = []
    with tt.record(path, interval=None, sampler=machine) as rec:
        for _ in range(20):
            for n in range(5):
                true_ns = machine.now_ns + n * S // 6
                rec.instant("e", timestamp=stepping.raw(true_ns), clock=clock)
                truth.append(boot.ns(true_ns))
            machine.now_ns += S
            rec.snapshot()
    with open_trace(path) as trace:
        assert len(trace.clocks.series()) == 3
        table = trace.read_all()
        assert set(table["status"].to_pylist()) == {"resolved"}
        off = [abs(a - b) for a, b in zip(table["trace_time"].to_pylist(), truth, strict=True)]
        # Only those between a step and the snapshot that shows it can be wrong.
        assert sum(one > 100_000 for one in off) <= 10
        found = [d for d in trace.clocks.discontinuities() if d.kind != "suspend"]
        assert len(found) >= 2, trace.clocks.discontinuities()
    assert floor_by_hand(path.read_bytes())[:25] == table["trace_time"].to_pylist()[:25]


@pytest.mark.filterwarnings("ignore:recording")
def test_a_device_that_vanishes_is_a_problem_and_the_others_go_on(path):
    machine = Machine(usual_clocks())
    boot = machine.clocks[ClockId(6)]
    raw = machine.clocks[ClockId(5)]
    truth = []
    with tt.record(path, interval=None, sampler=machine) as rec:
        for second in range(10):
            machine.clocks[ClockId.parse(GPU)].lost = 4 <= second < 7
            rec.snapshot()
            rec.instant("e", timestamp=raw.ns(machine.now_ns + 5), clock="MONOTONIC_RAW")
            truth.append(boot.ns(machine.now_ns + 5))
            machine.now_ns += S
        assert [(p.what, p.times) for p in rec.problems] == [(GPU, 3)]
    with open_trace(path) as trace:
        # With and without it; the latest snapshot counts, whatever clocks it has.
        assert [info.snapshots for info in trace.clocks.series()] == [5, 3, 4]
        found = trace.read_all()["trace_time"].to_pylist()
        assert all(abs(a - b) < 300 for a, b in zip(found, truth, strict=True))


def test_a_sampler_that_fails_leaves_what_was_written(path):
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine)
    rec.instant("e", timestamp=machine.now_ns, clock=5)
    machine.fails = "the reference cannot be read"
    with pytest.raises(SourceError, match="cannot be read"):
        rec.snapshot()
    with pytest.warns(UserWarning, match="the last snapshot"):
        rec.close()
    assert names_of(path.read_bytes()) == {"e": 1}
    # A sampler that fails at once leaves no recording.
    with pytest.raises(SourceError):
        tt.record(path, interval=None, sampler=machine)


def test_clocks_of_ones_own(path):
    """Sequence-scoped and named, in ns and in ticks of their own; tied in by hand."""
    machine = Machine(usual_clocks())
    boot = machine.clocks[ClockId(6)]
    with tt.record(path, interval=None, sampler=machine) as rec:
        assert rec.clocks[GPU] == ClockId(clock_id(GPU))
        ticking = rec.declare(ClockDomain("com.example.ticks", ns_per_tick=100, valid_bits=16))
        now = boot.ns(machine.now_ns)
        rec.snapshot({64: 1_000, "BOOTTIME": now})
        rec.snapshot({"com.example.frames": 50, "com.example.ticks": 65_530, 6: now})
        # A raw reading of a device ties in too.
        gpu = machine.clocks[ClockId.parse(GPU)]
        rec.snapshot({GPU: gpu.raw(machine.now_ns), "com.example.late": 9})
        rec.instant("a", timestamp=1_500, clock=64)
        rec.instant("b", timestamp=70, clock="com.example.frames")
        rec.instant("c", timestamp=4, clock=ticking)
        rec.instant("d", timestamp=10, clock="com.example.late")
        tsc = machine.clocks[ClockId.parse(TSC)]
        for name in ("TSC", TSC):
            rec.instant("f", timestamp=tsc.raw(machine.now_ns), clock=name)
        tai = machine.clocks[ClockId.parse("dev.tracetime.tai")]
        rec.instant("f", timestamp=tai.ns(machine.now_ns), clock="TAI")
        with pytest.raises(UsageError, match="alone ties nothing"):
            rec.snapshot({"com.example.frames": 60})
        with pytest.raises(UsageError, match="dict of clock"):
            rec.snapshot(5)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="incremental"):
            rec.snapshot({64: tt.Reading(1, 1, True), 6: now})
    with open_trace(path) as trace:
        a, b, c, d, *short = trace.read_all()["trace_time"].to_pylist()
        assert (a - now, b - now, c - now) == (500, 20, 1_000)
        assert abs(d - now) < 500
        assert all(abs(one - now) < 500 for one in short)
        names = {str(clock): domain.name for clock, domain in trace.recorded_domains.items()}
        assert names[str(ClockId.parse("com.example.frames"))] == "com.example.frames"
        assert names[str(ticking)] is None or names[str(ticking)] == "com.example.ticks"


@pytest.mark.parametrize(
    ("readings", "says"),
    [
        ({"MONOTONIC": 1, 3: 2, "com.example.gpu": 5}, "MONOTONIC appears twice"),
        ({"MONOTONIC": tt.Reading(1, unit_ns=1_000), "com.example.gpu": 5}, "units of 1 ns"),
        ({"MONOTONIC": 1, "com.example.ms": tt.Reading(5, unit_ns=1_000)}, "units of 1000000 ns"),
        ({"MONOTONIC": 1, 64: tt.Reading(5, unit_ns=1_000)}, "in ticks as declared"),
    ],
)
def test_what_perfetto_would_drop_is_refused(path, readings, says):
    with tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec:
        rec.declare(ClockDomain(64, ns_per_tick=Fraction(125, 3)))
        rec.snapshot({"MONOTONIC": 10**12, "com.example.ms": tt.Reading(10**6, unit_ns=10**6)})
        taken = rec.snapshots
        with pytest.raises(UsageError, match=says):
            rec.snapshot(readings)
        assert rec.snapshots == taken


def test_what_the_user_ties_in_does_not_take_over(path):
    """A snapshot with two sampled clocks and one's own is not what those are converted by."""
    machine = Machine(usual_clocks())
    boot, raw = machine.clocks[ClockId(6)], machine.clocks[ClockId(5)]
    with tt.record(path, interval=None, sampler=machine) as rec:
        own = {"MONOTONIC_RAW": raw.ns(machine.now_ns), 6: boot.ns(machine.now_ns), 64: 5}
        rec.snapshot(own)
        machine.now_ns += 1_000 * S
        rec.snapshot()
        rec.instant("e", timestamp=raw.ns(machine.now_ns), clock="MONOTONIC_RAW")
        truth = boot.ns(machine.now_ns)
    with open_trace(path) as trace:
        (found,) = trace.read_all()["trace_time"].to_pylist()
        assert abs(found - truth) < 300


def test_the_trace_is_whole_from_the_start_and_after_each_flush(path):
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine)
    assert sum(p.HasField("clock_snapshot") for p in packets_of(path.read_bytes())) == 1
    rec.instant("e", timestamp=machine.now_ns, clock=5, track="mine")
    before = rec.size
    assert path.stat().st_size == before
    rec.flush()
    assert path.stat().st_size == rec.size > before
    assert names_of(path.read_bytes()) == {"e": 1}
    rec.close()
    rec.close()
    for act in (
        lambda: rec.instant("e", timestamp=1, clock=5, track="mine"),
        lambda: rec.track("other"),
        lambda: rec.snapshot(),
    ):
        with pytest.raises(UsageError, match="closed"):
            act()


def test_default_tracks_are_the_threads(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine) as rec:
        rec.begin("work", timestamp=machine.now_ns, clock=5)

        def work() -> None:
            rec.instant("there", timestamp=machine.now_ns, clock=5)

        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        rec.end(timestamp=machine.now_ns, clock=5)
        rec.counter("load", 0.5, timestamp=machine.now_ns, clock=5)
        rec.counter(rec.counter_track("load"), 2, timestamp=machine.now_ns, clock=5)
        with pytest.raises(UsageError, match="a track is"):
            rec.instant("e", timestamp=1, clock=5, track=7)  # type: ignore[arg-type]
    packets = packets_of(path.read_bytes())
    threads = {
        p.track_descriptor.uuid: p.track_descriptor.thread
        for p in packets
        if p.track_descriptor.HasField("thread")
    }
    assert [t.thread_name for t in threads.values()] == ["MainThread", "worker"]
    assert {t.pid for t in threads.values()} == {os.getpid()}
    main, worker = threads
    assert [p.track_event.track_uuid for p in packets if p.track_event.type][:3] == [
        main,
        worker,
        main,
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"interval": 0}, "interval"),
        ({"interval": float("nan")}, "interval"),
        ({"interval": None, "target_error_ns": 5}, "target"),
        ({"target_error_ns": 0}, "target"),
        ({"target_error_ns": 5, "shortest_interval": 9, "longest_interval": 1}, "shortest"),
        ({"flush_interval": 0}, "flush_interval"),
        ({"max_size": 5}, "max_size"),
        ({"buffer_bytes": 5}, "buffer_bytes"),
        ({"buffer_bytes": 2**70}, "buffer_bytes"),
        ({"flush_bytes": "1M"}, "flush_bytes"),
        ({"max_size": "1M"}, "max_size"),
        ({"target_error_ns": "1us"}, "target_error_ns"),
        ({"longest_interval": float("inf")}, "longest_interval"),
        ({"shortest_interval": "1ms"}, "shortest_interval"),
        ({"clocks": ["MONOTONIC"]}, "either"),
    ],
)
def test_wrong_arguments_are_usage_errors(path, options, says):
    with pytest.raises(UsageError, match=says):
        tt.record(path, sampler=Machine(usual_clocks()), **options)
    assert not path.exists()


def test_a_target_that_cannot_be_written_is_a_usage_error(tmp_path):
    machine = Machine(usual_clocks())
    os.mkfifo(tmp_path / "pipe")
    for target, says in (
        (tmp_path, "it is not a file"),
        (tmp_path / "pipe", "it is not a file"),
        ("/dev/null", "it is not a file"),
        (tmp_path / "none" / "x", "No such file or directory; give another path"),
        (tmp_path / "\0", "null"),
    ):
        with pytest.raises(UsageError, match=f"cannot write .*{says}"):
            tt.record(target, sampler=machine)
    # A sampler of one's own stays open.
    assert not machine.closed


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda rec: rec.counter(["c"], 1), "a counter is a name"),
        (lambda rec: rec.track(["t"]), "a track's name is a string"),
        (lambda rec: rec.track("t", ["parent"]), "a parent is a track"),
        (lambda rec: rec.counter_track("c", 5), "a counter's unit is a string"),
        (lambda rec: tt.record(5, sampler=Machine(usual_clocks())), "path is a string"),
        (lambda rec: tt.record(rec.path, clocks=3.5), "clocks are names"),
        (lambda rec: tt.calibrate(["MONOTONIC"], "5"), "use 1 to"),
        (lambda rec: tt.calibrate(["MONOTONIC"], seconds="1s"), "0 to 3600"),
    ],
)
def test_wrong_types_are_usage_errors(path, act, says):
    with (
        tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec,
        pytest.raises(UsageError, match=says),
    ):
        act(rec)


def test_a_path_may_be_bytes(path):
    tt.record(os.fsencode(path), interval=None, sampler=Machine(usual_clocks())).close()
    assert split(path.read_bytes())


# With threads, on this machine's clocks


# What trace time is: BOOTTIME, and MONOTONIC where there is none.
TRACE_TIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
LIVE = {
    ClockId.parse(name): getattr(time, f"CLOCK_{name}")
    for name in ("MONOTONIC", "BOOTTIME", "REALTIME")
    if hasattr(time, f"CLOCK_{name}")
}


class Live(Machine):
    """A sampler of this machine, as exact as Python reads; without its own kind of clocks."""

    def __init__(self) -> None:
        super().__init__([Clock(ClockDomain(clock)) for clock in ("MONOTONIC_RAW", *LIVE)])
        self.offset_ns = 0

    def sample(self):
        from simulated import Taken

        self.samples += 1
        first = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        readings = {self.reference: first}
        halves, centres = {}, {}
        before = first
        for clock, number in LIVE.items():
            readings[clock] = time.clock_gettime_ns(number)
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            centres[clock] = (before + after) // 2 - first
            halves[clock] = (after - before) // 2 + 20
            before = after
        readings[ClockId(1)] += self.offset_ns
        snapshot = tt.Snapshot(
            readings, reference=self.reference, half_width_ns=halves, centre_ns=centres
        )
        return Taken(snapshot, {}, {})


def wait_for(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


def test_snapshots_come_by_themselves(path):
    sampler = Live()
    with tt.record(path, interval=0.01, sampler=sampler, flush_interval=0.01) as rec:
        wait_for(lambda: rec.snapshots > 20)
        rec.instant("e", timestamp=time.clock_gettime_ns(time.CLOCK_REALTIME), clock="REALTIME")
        wait_for(lambda: b"\x01e" in path.read_bytes())
        taken = rec.snapshots
        assert rec.interval == 0.01
    assert rec.snapshots > taken, "the last one comes at the end"
    assert sampler.samples == rec.snapshots
    with open_trace(path) as trace:
        assert trace.clocks.clocks()[0].snapshots == rec.snapshots
    assert not [t for t in threading.enumerate() if t.name.startswith("tracetime")]


def test_live_events_lie_within_their_bars(path):
    """The reference, read before and after each event's own clock, must meet the event's bar."""
    beside = []
    with tt.record(path, interval=0.02, sampler=Live()) as rec:
        for n in range(400):
            clock, number = ((3, time.CLOCK_MONOTONIC), (1, time.CLOCK_REALTIME))[n % 2]
            before = time.clock_gettime_ns(TRACE_TIME)
            read = time.clock_gettime_ns(number)
            after = time.clock_gettime_ns(TRACE_TIME)
            rec.instant("e", timestamp=read, clock=clock)
            beside.append((before, after))
            if n % 10 == 0:
                time.sleep(0.003)
    with open_trace(path) as trace:
        table = trace.read_all("tube")
    bars = zip(table["earliest"].to_pylist(), table["latest"].to_pylist(), strict=True)
    for (earliest, latest), (before, after) in zip(bars, beside, strict=True):
        assert earliest <= after and before <= latest


@pytest.mark.parametrize(
    "least_failures",
    [
        pytest.param(4, marks=pytest.mark.filterwarnings("ignore:recording")),
        pytest.param(1, marks=pytest.mark.filterwarnings("error"), id="warnings are errors"),
    ],
)
def test_snapshots_that_fail_are_tried_again(path, least_failures):
    sampler = Live()
    good = sampler.sample

    def bad():
        raise SourceError("not now")

    with tt.record(path, interval=0.01, sampler=sampler) as rec:
        sampler.sample = bad
        wait_for(lambda: rec.problems and rec.problems[0].times >= least_failures)
        sampler.sample = good
        taken = rec.snapshots
        wait_for(lambda: rec.snapshots > taken + 3)
    assert [(p.what, p.message) for p in rec.problems] == [("snapshots", "not now")]


def test_threads_record_while_snapshots_go_on(path):
    sampler = Live()
    with tt.record(
        path, interval=0.005, sampler=sampler, flush_interval=0.005, flush_bytes=5_000
    ) as rec:

        def work(number: int) -> None:
            for n in range(3_000):
                rec.begin(f"{number} {n % 20}")
                rec.end()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rec.events_dropped == 0
    data = path.read_bytes()
    assert sum(names_of(data).values()) == 12_000
    assert set(names_of(data).values()) == {150}
    assert sum(p.HasField("clock_snapshot") for p in packets_of(data)) == rec.snapshots
    assert len(extensions_of(data)) == rec.snapshots


def test_a_forked_child_writes_nothing(path):
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        rec.instant("parents")
        child = os.fork()
        if child == 0:
            try:
                rec.instant("childs")
                rec.close()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert names_of(path.read_bytes()) == {"parents": 1}


@pytest.mark.parametrize("wrong", [{"interval": "100ms"}, {"flush_interval": "1s"}])
def test_seconds_are_numbers(path, wrong):
    with pytest.raises(UsageError, match=r"use 0\.001 to 86400 seconds"):
        tt.record(path, sampler=Live(), **wrong)
    assert not path.exists()


def test_a_forked_child_neither_samples_nor_closes(path):
    """As it may have forked while a thread sampled: that thread's lock is never given back."""
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        sampled = sampler.samples
        with rec._calls._snapshots:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                try:
                    with pytest.raises(UsageError, match="another process's"):
                        rec.snapshot()
                    rec.close()
                    assert sampler.samples == sampled
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    assert split(path.read_bytes())


def test_a_forked_child_waits_for_no_lock_of_the_parents(path):
    """Those that other threads hold while one forks are never given back in the child."""
    with tt.record(path, interval=None, sampler=Live(), flush_bytes=1) as rec:
        track = rec.track("parents")
        with rec._writer._lock, rec._writer._tracking, rec._writer._flushing:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                try:
                    rec.instant("childs", track="childs")
                    rec.counter("childs", 1)
                    rec.flush()
                    for _ in range(1_000):
                        rec.instant("childs", track=track)
                    assert rec._writer.waiting == 0
                    rec.close()
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        rec.instant("parents", track=track)
    assert names_of(path.read_bytes()) == {"parents": 1}


def test_after_the_end_nothing_is_sampled(path):
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        pass
    sampled = sampler.samples
    for readings in (None, {"MONOTONIC": 1, "com.example.gpu": 2}):
        with pytest.raises(UsageError, match="closed"):
            rec.snapshot(readings)
    assert sampler.samples == sampled


@pytest.mark.parametrize("given", ["interval=60", "interval=None, flush_bytes=1"])
def test_a_signals_handler_may_record(path, given):
    """Whatever it interrupts: it waited for ever for what this thread itself was holding."""
    code = f"""
import signal, time
import tracetime as tt
rec = tt.record({str(path)!r}, clocks=["MONOTONIC"], {given})
came = 0
def handler(*_):
    global came
    came += 1
    rec.instant("signal", track="signals")
    rec.counter(f"count {{came % 50}}", came)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 1
while time.monotonic() < end:
    rec.instant("e", track="usual")
    rec.track(f"one more {{time.monotonic_ns()}}")
signal.setitimer(signal.ITIMER_REAL, 0)
rec.close()
print(came)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=20, check=True, capture_output=True, text=True
    )
    assert names_of(path.read_bytes())["signal"] == int(done.stdout) > 10
    tracks = [p.track_descriptor.uuid for p in packets_of(path.read_bytes())]
    assert len(set(tracks)) == sum(map(bool, tracks)) + 1


def test_a_recording_that_nobody_closes_is_whole(path):
    code = f"""
import tracetime as tt
rec = tt.record({str(path)!r}, clocks=["MONOTONIC"], interval=60, flush_interval=60)
rec.instant("e")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert names_of(path.read_bytes()) == {"e": 1}
    with open_trace(path) as trace:
        assert sum(series.snapshots for series in trace.clocks.series()) == 2


def test_an_error_in_the_block_stays_the_error(path):
    with (
        pytest.raises(ValueError, match="mine"),
        tt.record(path, interval=None, sampler=Live()) as rec,
    ):
        rec.instant("e")
        raise ValueError("mine")
    assert names_of(path.read_bytes()) == {"e": 1}
    assert split(path.read_bytes())


@pytest.mark.filterwarnings("ignore:recording")
def test_a_file_never_exceeds_its_max_size(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine, max_size=40_000) as rec:
        for n in range(500):
            rec.snapshot()
            rec.snapshot({64: n, "BOOTTIME": 5})
            rec.instant("e", timestamp=machine.now_ns, clock=5)
            machine.now_ns += S
        assert rec.events_dropped > 100
    assert 35_000 < path.stat().st_size <= 40_000
    assert [p.what for p in rec.problems] == ["the file"]
    with open_trace(path) as trace:
        # The last one is there.
        last = max(info.last_ns for info in trace.clocks.clocks() if info.clock == ClockId(5))
        assert machine.now_ns - last < 10_000


@pytest.mark.filterwarnings("ignore:recording")
def test_tracks_and_long_snapshots_count_towards_max_size(path):
    machine = Machine(usual_clocks())
    readings = {f"com.example.{n}." + 100 * "x": n for n in range(100)}
    for fill in (
        lambda rec: [rec.track(f"track {n}") for n in range(3_000)],
        lambda rec: rec.snapshot({"MONOTONIC": 5, **readings}),
    ):
        with tt.record(path, interval=None, sampler=machine, max_size=16_384) as rec:
            fill(rec)
            taken = rec.snapshots
            rec.instant("e", timestamp=machine.now_ns, clock=5, track="one more")
            assert rec.events_dropped == 1
        assert path.stat().st_size <= 16_384
        packets = packets_of(path.read_bytes())
        assert sum(p.HasField("clock_snapshot") for p in packets) == taken + 1 == rec.snapshots
        assert packets[-1].HasField("clock_snapshot")


def test_a_domain_is_called_by_the_name_that_it_was_given_by(tmp_path):
    assert ClockDomain("com.example.gpu@machine1").name == "com.example.gpu"
    assert ClockDomain("com.example.gpu", "GPU").name == "GPU"
    assert [ClockDomain(clock).name for clock in ("TSC", "64@seq7", 0x8A01B2C3)] == [None] * 3
    path = tmp_path / "named.pftrace"
    with tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec:
        rec.declare(ClockDomain("com.example.gpu", ns_per_tick=Fraction(125, 3), valid_bits=36))
        rec.snapshot({"com.example.gpu": 24_000_000, "MONOTONIC": 10**12})
    with open_trace(path) as trace:
        assert "com.example.gpu" in trace.clocks.names.values()


def test_a_thread_that_is_named_later_has_that_name(tmp_path):
    with tt.record(tmp_path / "t.pftrace", ["MONOTONIC"], interval=None) as rec:
        nameless = rec.thread_track(77)
        rec.instant("before", track=nameless)
        named = rec.thread_track(77, "render")
        rec.instant("after", track=named)
        assert (named.uuid, named.name) == (nameless.uuid, "render")
        assert rec.thread_track(77).name == rec.thread_track(77, "other").name == "render"
        assert rec.process_track(7).uuid == rec.process_track(7, "game").uuid
    with open_trace(rec.path) as trace:
        rows = trace.read_all(names=True).select(["name", "thread_name"]).to_pylist()
    assert rows == [{"name": name, "thread_name": "render"} for name in ("before", "after")]


def test_nothing_is_declared_once_it_is_closed(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        pass
    with pytest.raises(UsageError, match="closed"):
        rec.declare(ClockDomain("com.example.late"))


@pytest.mark.parametrize("interval", [None, 1])
def test_a_buffer_smaller_than_the_first_snapshot_is_flushed(path, interval):
    with tt.record(path, ["MONOTONIC"], interval=interval, flush_bytes=1) as rec:
        rec.instant("e")
    assert names_of(path.read_bytes()) == {"e": 1}


def test_a_track_that_fills_the_buffer_leaves_the_flush_to_the_next_event(path):
    sampler = Live()
    options = {"buffer_bytes": 1 << 16, "flush_bytes": 1 << 12, "sampler": sampler}
    with tt.record(path, interval=None, **options) as rec:
        for _ in range(100):
            rec.instant("e")
        rec.track("long " * 1000)
        for _ in range(10_000):
            rec.instant("e")
        assert rec.events_dropped == 0


@pytest.mark.parametrize("target", [float("nan"), float("inf"), 0])
def test_a_target_that_is_no_time_is_refused(path, target):
    with pytest.raises(UsageError, match="target_error_ns"):
        tt.record(path, ["MONOTONIC"], target_error_ns=target)


@WITH_BOOTTIME
def test_devices_are_opened_only_when_they_are_asked_for(tmp_path, monkeypatch):
    opened = []

    def driver(self):
        opened.append("a driver, which takes memory and time")
        raise SourceError("no driver here")

    monkeypatch.setattr("tracetime.sources.vulkan.VulkanInstance.__init__", driver)
    with tt.record(tmp_path / "host.pftrace", interval=None) as rec:
        assert {"MONOTONIC", "BOOTTIME", "REALTIME"} <= set(rec.clocks)
    with tt.record(
        tmp_path / "named.pftrace", ["host", "TAI", "MONOTONIC"], interval=None
    ) as named:
        assert named.clocks.keys() == rec.clocks.keys()
    assert not opened
    with pytest.raises(SourceError, match="no driver here"):
        tt.record(tmp_path / "gpu.pftrace", ["host", "vulkan"])
