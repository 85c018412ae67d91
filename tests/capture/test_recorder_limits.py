"""The options of a recording, from both sides of each limit, and how it keeps its problems."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest
from recorded import packets_of
from simulated import GPU, Machine, usual_clocks

import tracetime as tt
from tracetime import ClockDomain, ClockId, UsageError, open_trace
from tracetime.capture.sample import Finding

S = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


@pytest.mark.parametrize(
    "what", ["interval", "flush_interval", "shortest_interval", "longest_interval"]
)
def test_seconds_are_from_a_millisecond_to_a_day(path, what):
    options = {"interval": 1.0} | (
        {"longest_interval": 86_400} if what == "shortest_interval" else {}
    )
    if what == "longest_interval":
        options["shortest_interval"] = 0.001
    for seconds in (0.001, 86_400):
        tt.record(path, sampler=Machine(usual_clocks()), **options | {what: seconds}).close()
    for seconds in (0.000_999, 86_400.001, -1, "1"):
        with pytest.raises(UsageError) as raised:
            tt.record(path, sampler=Machine(usual_clocks()), **options | {what: seconds})
        assert str(raised.value) == f"{what} is {seconds!r}: use 0.001 to 86400 seconds"


@pytest.mark.parametrize(
    ("target_ns", "fine"), [(1, True), (2**63 - 1, True), (0, False), (2**63, False), ("1", False)]
)
def test_a_target_is_1_ns_or_more(path, target_ns, fine):
    if fine:
        tt.record(path, target_error_ns=target_ns, sampler=Machine(usual_clocks())).close()
    else:
        with pytest.raises(UsageError, match="use 1 or more, ns within int64$"):
            tt.record(path, target_error_ns=target_ns, sampler=Machine(usual_clocks()))


def test_what_does_not_go_together_is_refused(path):
    with pytest.raises(UsageError, match="a target for the error needs an interval to adapt"):
        tt.record(path, interval=None, target_error_ns=5, sampler=Machine(usual_clocks()))
    for given in ({"clocks": ["MONOTONIC"]}, {"reference": "MONOTONIC"}):
        with pytest.raises(UsageError, match="give either it, or clocks and reference"):
            tt.record(path, interval=None, sampler=Machine(usual_clocks()), **given)
    assert not path.exists()


def test_what_is_meant_where_nobody_says():
    defaults = {name: one.default for name, one in inspect.signature(tt.record).parameters.items()}
    assert defaults["interval"] == defaults["flush_interval"] == 1.0
    assert (defaults["shortest_interval"], defaults["longest_interval"]) == (0.01, 60.0)
    assert (defaults["overwrite"], defaults["sync"], defaults["max_size"]) == (True, False, None)


class Complaining(Machine):
    """Its clocks do in each sample what they should not."""

    complaints: tuple[Finding, ...] = ()

    def sample(self):
        taken = super().sample()
        taken.findings = self.complaints
        return taken


def test_a_hundred_kinds_of_problems_of_each_subject_are_kept_and_counted(path):
    """What goes wrong with one does not hide another."""
    machine = Complaining(usual_clocks())
    machine.complaints = tuple(
        Finding("went_back", f"clock {n % 3}", f"problem {n}") for n in range(306)
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with tt.record(path, interval=None, sampler=machine) as rec:
            rec.snapshot()
            rec.snapshot()
            found = rec.problems
    # The first of each clock is a warning.
    assert [str(one.message) for one in warned] == [
        f"recording {path}: clock {n}: problem {n}" for n in range(3)
    ]
    assert found == [(f"clock {n % 3}", f"problem {n}", 3) for n in range(300)]


@pytest.mark.filterwarnings("error")
def test_where_warnings_are_errors_the_recording_goes_on(path):
    machine = Complaining(usual_clocks())
    machine.complaints = (Finding("went_back", "GPU", "it went back"),)
    with tt.record(path, interval=None, sampler=machine) as rec:
        rec.snapshot()
        assert rec.problems == [("GPU", "it went back", 2)]


def test_what_a_recording_says_of_itself(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine) as rec:
        assert (rec.interval, rec.out_of_reach, rec.error) == (None, [], None)
        assert rec.path == str(path)
        assert rec.snapshots == 1
        assert rec.size == path.stat().st_size > 0
        assert rec.clocks[GPU] == ClockId(tt.clock_id(GPU))
        assert list(rec.clocks) == list(machine.names.values())
        assert rec.short_names == {name: name for name in rec.clocks}
        machine.now_ns += S
        assert rec.snapshot() is not None
        assert (rec.snapshots, machine.samples) == (2, 2)
    assert (rec.snapshots, machine.samples, machine.closed) == (3, 3, False)


def test_clocks_whose_ticks_alone_are_beyond_the_target_are_reported(path):
    """The GPU's tick is 52 ns: with its bracket that is never below 60."""
    with tt.record(path, target_error_ns=60, sampler=Machine(usual_clocks())) as rec:
        assert rec.out_of_reach == [GPU]


def test_a_requested_interval_is_reported(path):
    with tt.record(path, interval=2.5, sampler=Machine(usual_clocks())) as rec:
        assert rec.interval == 2.5


def test_a_clock_is_named_where_its_id_says_nothing(path):
    class Named(Machine):
        @property
        def names(self):
            return super().names | {ClockId(tt.clock_id("a.b")): "the clock"}

    clocks = [*usual_clocks()[:3], type(usual_clocks()[0])(ClockDomain(tt.clock_id("a.b")))]
    with tt.record(path, interval=None, sampler=Named(clocks)) as rec:
        assert "the clock" in rec.clocks
    with tt.open_trace(path) as trace:
        names = {str(clock): one.name for clock, one in trace.recorded_domains.items()}
    assert names["MONOTONIC"] is None
    assert "the clock" in names.values()


@pytest.mark.parametrize("track", [5, b"x", 1.5])
def test_a_track_is_a_name_or_a_track(path, track):
    with tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec:
        for act in (
            lambda: rec.instant("e", track=track),
            lambda: rec.begin("e", track=track),
            lambda: rec.end(track=track),
        ):
            with pytest.raises(UsageError, match=r"^a track is a name or what track\(\) gave, not"):
                act()
        with pytest.raises(
            UsageError, match=r"^a counter is a name or what counter_track\(\) gave"
        ):
            rec.counter(track, 5)


def test_an_error_of_the_caller_has_a_note_where_the_end_fails_too(path, monkeypatch):
    rec = tt.record(path, interval=None, sampler=Machine(usual_clocks()))
    close = rec.close

    def failing():
        close()
        raise UsageError("the disk is full")

    monkeypatch.setattr(rec, "close", failing)
    with pytest.raises(KeyError) as raised, rec:
        raise KeyError("own")
    assert raised.value.__notes__ == ["The recording did not end well either: the disk is full"]


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
