"""`TimeService`: its bounds hold true time, whatever becomes of the clocks; and what it refuses."""

import multiprocessing
import os
import threading
import time

import pytest
from clockbound_bytes import memory
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_time import MS, Machine, S, World

import tracetime as tt
from tracetime._kernels.capture import LONGEST_NS, Anchor
from tracetime.clocks.kernel_clock import STA_UNSYNC, TIME_ERROR, KernelClock
from tracetime.errors import NoBoundError, UsageError
from tracetime.sources.time_service import process
from tracetime.sources.time_service.clockbound import ClockBound
from tracetime.sources.time_service.service import HOST_CLOCKS, ClockReaders, TimeService
from tracetime.sources.time_service.statement import PPB, DisruptedError, Kernel, Statement


class FakeSource:
    """States what a test puts into it."""

    poll_ns, retry_ns = S, 0

    def __init__(self, name="fake", **said):
        self.name, self.error, self.asked = name, None, 0
        self.said = {"growth_ppb": 0, "drift_ppb": 1_000, "mark": "1", "bound_ns": 5_000} | said

    def ask(self, monotonic_ns):
        self.asked += 1
        if self.error is not None:
            raise self.error
        return Statement(**{"as_of_ns": monotonic_ns()} | self.said)


class FakeTime:
    """Clocks that go on by 10 ns with each reading, and that a test sets."""

    reading_ns = 10

    def __init__(self):
        self.real, self.mono, self.raw, self.tai_s = 1_700_000_000 * S, 100 * S, 99 * S, 37
        self.clocks = ClockReaders(
            lambda: self.read("real"),
            lambda: self.read("mono"),
            lambda: self.read("raw"),
            lambda: self.read("real") + self.tai_s * S,
            lambda seconds: self.pass_ns(round(seconds * S)),
        )

    def read(self, name):
        self.pass_ns(self.reading_ns)
        return getattr(self, name)

    def pass_ns(self, ns):
        self.real, self.mono, self.raw = self.real + ns, self.mono + ns, self.raw + ns


@pytest.fixture
def time_():
    return FakeTime()


def service_of(time_, *sources):
    return TimeService(sources=sources, clocks=time_.clocks)


def check_two_machines(seed, upset):
    """How many calls are answered; the bounds hold true time at an instant within each."""
    world = World(seed)
    machines = [Machine(world, upset=upset) for _ in range(2)]
    latest_earliest = 0
    answers = 0
    for turn in range(30):
        # What was set before the first call nobody can notice.
        if turn >= len(machines):
            world.advance(world.random.choice([0, 1_000, MS, 300 * MS, 3 * S]))
        service = machines[turn % 2].service
        began = world.true_ns
        try:
            now = service.now()
        except NoBoundError:
            continue
        answers += 1
        assert now.earliest_ns <= world.true_ns
        assert now.latest_ns >= began
        assert latest_earliest <= now.latest_ns
        latest_earliest = max(latest_earliest, now.earliest_ns)
    return answers


@given(st.integers(0, 2**32), st.booleans())
def test_of_two_calls_the_earlier_does_not_begin_after_the_later_ends(seed, upset):
    """On any two machines."""
    check_two_machines(seed, upset)


def test_half_of_the_calls_are_answered():
    assert sum(check_two_machines(seed, upset=False) for seed in range(10)) > 100


def check_a_moment_ago(seed):
    """How many readings of a moment ago are bounded; the bounds hold true time."""
    world = World(seed)
    machine = Machine(world)
    answers = 0
    for turn in range(30):
        try:
            if not turn:
                machine.service.now()
            read_ns, raw_ns, real_ns = world.true_ns, machine.raw(), machine.real()
            world.advance(world.random.choice([0, 1_000, MS, 30 * MS]))
            bounds = machine.service.at(raw_ns, real_ns)
        except NoBoundError:
            world.advance(S)
            continue
        answers += 1
        assert bounds.earliest_ns <= read_ns <= bounds.latest_ns
        assert bounds.earliest_ns + bounds.latest_ns == 2 * bounds.estimate_ns
        world.advance(world.random.choice([0, 1_000, MS, 300 * MS, S]))
    return answers


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_what_clocks_read_a_moment_ago_is_bounded(seed):
    """Also where the machine was suspended since: then by nothing."""
    check_a_moment_ago(seed)


def test_what_clocks_read_a_moment_ago_is_mostly_bounded():
    assert sum(map(check_a_moment_ago, range(10))) > 50


@pytest.mark.parametrize("ago_ns", [0, 500, S // 2])
def test_what_was_read_before_the_statement_is_wider_by_the_drift(time_, ago_ns):
    read = time_.raw, time_.real
    time_.pass_ns(ago_ns)
    service = service_of(time_, FakeSource(drift_ppb=40_000))
    there, now = service.at(*read), service.now()
    assert there.estimate_ns == pytest.approx(read[1], abs=30)
    assert there.half_width_ns == pytest.approx(now.half_width_ns + ago_ns // 25_000, abs=3)
    assert (there.clock, there.source) == ("REALTIME", "fake")


@pytest.mark.parametrize("set_ns", [2 * MS, -2 * MS, S, -S])
def test_what_was_read_before_a_step_is_not_bounded(time_, set_ns):
    service = service_of(time_, FakeSource())
    read = time_.raw, time_.real + set_ns
    with pytest.raises(NoBoundError, match="since it was read"):
        service.at(*read)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_after_a_wait_the_time_is_past(seed):
    world = World(seed)
    (machine,) = [Machine(world, upset=False)]
    t_ns = world.true_ns + world.random.choice([-S, 0, MS, 2 * S])
    try:
        now = machine.service.wait_past(t_ns)
    except NoBoundError:
        return
    assert t_ns < now.earliest_ns <= world.true_ns


def test_an_answer_is_the_statement_grown_since(time_):
    source = FakeSource(bound_ns=5_000, growth_ppb=2_000, drift_ppb=1_000)
    source.said["as_of_ns"] = time_.mono - S
    service = service_of(time_, source)
    first = service.now()
    assert first.estimate_ns == pytest.approx(time_.real, abs=100)
    # A second at 2 ppm, and less than 200 ns for reading the clocks.
    assert 7_000 <= first.half_width_ns <= 7_200
    assert first.latest_ns - first.estimate_ns == first.estimate_ns - first.earliest_ns
    assert (first.clock, first.source) == ("REALTIME", "fake")
    assert first.age_ns == pytest.approx(S, abs=200)
    time_.pass_ns(S // 2)
    second = service.now()
    assert source.asked == 1
    assert second.half_width_ns - first.half_width_ns == pytest.approx(500, abs=2)
    assert second.age_ns - first.age_ns == pytest.approx(S // 2, abs=100)
    time_.pass_ns(S // 2)
    service.now()
    assert source.asked == 2


def test_steering_since_the_statement_changes_no_answer(time_):
    """REALTIME and MONOTONIC go wrong by 50 ms; MONOTONIC_RAW does not."""
    source = FakeSource()
    service = service_of(time_, source)
    service.now()
    time_.pass_ns(S // 2)
    true_ns = time_.real
    time_.real += 50 * MS
    time_.mono += 50 * MS
    now = service.now()
    assert source.asked == 1
    assert now.earliest_ns < true_ns < now.latest_ns


def test_steering_while_the_service_answers_is_held(time_):
    class Steering(FakeSource):
        def ask(self, monotonic_ns):
            said = super().ask(monotonic_ns)
            time_.real += MS
            time_.mono += MS
            return said

    now = service_of(time_, Steering()).now()
    assert now.half_width_ns >= MS + 5_000


def test_a_thread_that_waits_between_readings_has_wider_bounds(time_):
    time_.reading_ns = 3_000
    now = service_of(time_, FakeSource(bound_ns=1)).now()
    assert now.earliest_ns <= time_.real
    assert 9_000 < now.half_width_ns < 9_100


def test_a_service_that_has_said_nothing_since_is_looked_at_and_asked_after_4_ms():
    time_, looks, is_last = FakeTime(), [], True

    def look():
        looks.append(time_.raw)
        return is_last

    source = FakeSource(is_last=look)
    source.poll_ns = MS
    service = TimeService(sources=[source], clocks=time_.clocks)
    service.now()
    begun = time_.raw
    while time_.raw - begun < 39 * MS // 10:
        service.now()
        time_.pass_ns(MS // 10)
    assert source.asked == 1
    assert [round((at - begun) / MS) for at in looks] == [1, 2, 3]
    time_.pass_ns(MS // 5)
    service.now()
    assert (source.asked, len(looks)) == (2, 3)
    is_last = False
    time_.pass_ns(11 * MS // 10)
    service.now()
    assert (source.asked, len(looks)) == (3, 4)


def test_a_void_statement_is_not_used_because_it_is_the_last():
    time_ = FakeTime()
    source = FakeSource(is_last=lambda: True, void_after_ns=time_.mono + MS)
    source.poll_ns = MS // 10
    service = TimeService(sources=[source], clocks=time_.clocks)
    service.now()
    time_.pass_ns(MS // 4)
    service.now()
    assert source.asked == 1
    source.error = NoBoundError("void; start it")
    time_.pass_ns(MS // 3)
    with pytest.raises(NoBoundError, match="void"):
        service.now()


@pytest.mark.parametrize("step_ns", [-S, S, 3_600 * S, 20 * MS])
def test_a_step_voids_until_the_service_has_measured_again(time_, step_ns):
    source = FakeSource()
    service = service_of(time_, source)
    service.now()
    time_.real += step_ns
    time_.pass_ns(S)  # The next call asks, whatever it notices.
    for _ in range(2):
        with pytest.raises(NoBoundError, match="wait until it measures again"):
            service.now()
    source.said["mark"] = "2"
    assert service.now().estimate_ns == pytest.approx(time_.real, abs=100)


def test_a_step_is_noticed_before_the_next_poll(time_):
    source = FakeSource()
    service = service_of(time_, source)
    service.now()
    time_.real += S
    with pytest.raises(NoBoundError, match="measures again"):
        service.now()


@pytest.mark.parametrize("step_ns", [2 * MS, -2 * MS])
def test_a_small_step_long_after_the_statement_is_noticed(time_, step_ns):
    """Steering moves MONOTONIC as it moves REALTIME; a step does not."""
    service = service_of(time_, FakeSource())
    service.now()
    time_.pass_ns(S * 9 // 10)
    time_.real += 100 * MS
    time_.mono += 100 * MS
    service.now()
    time_.real += step_ns
    with pytest.raises(NoBoundError, match="measures again"):
        service.now()


def test_a_statement_is_used_for_8_s_at_most(time_):
    source = FakeSource()
    source.poll_ns = 3_600 * S
    service = service_of(time_, source)
    service.now()
    time_.pass_ns(8 * S)
    service.now()
    assert source.asked == 1
    time_.pass_ns(S)
    service.now()
    assert source.asked == 2


def test_a_step_while_the_service_answers_is_asked_about_again(time_):
    class Stepped(FakeSource):
        def ask(self, monotonic_ns):
            said = super().ask(monotonic_ns)
            if self.asked == 1:
                time_.real += 5 * MS
            return said

    source = Stepped()
    with pytest.raises(NoBoundError, match="measures again"):
        service_of(time_, source).now()
    assert source.asked == 2


def test_a_clock_that_is_set_all_the_time_bounds_nothing(time_):
    class Set(FakeSource):
        def ask(self, monotonic_ns):
            time_.real += MS
            return super().ask(monotonic_ns)

    with pytest.raises(NoBoundError, match="being set all the time"):
        service_of(time_, Set()).now()


def test_a_bound_ends_when_it_is_void(time_):
    source = FakeSource(void_after_ns=time_.mono + 100 * MS)
    service = service_of(time_, source)
    service.now()
    time_.pass_ns(100 * MS)
    source.error = NoBoundError("void; start it")
    with pytest.raises(NoBoundError, match="fake: void"):
        service.now()


def test_the_best_source_with_a_bound_is_used(time_):
    best, other = FakeSource("best"), FakeSource("other")
    best.error = NoBoundError("not synchronised; wait")
    service = service_of(time_, best, other)
    assert service.now().source == "other"
    assert service.refusals == {"best": "not synchronised; wait"}
    best.error = None
    time_.pass_ns(S)
    assert service.now().source == "best"
    assert service.refusals == {}


def test_a_source_that_refused_is_left_alone_for_a_while(time_):
    best, other = FakeSource("best"), FakeSource("other")
    best.error, best.retry_ns, other.poll_ns = NoBoundError("not there; start it"), 5 * S, 0
    service = service_of(time_, best, other)
    for _ in range(10):
        service.now()
        time_.pass_ns(S)
    assert best.asked == 2
    assert other.asked == 10


def test_a_disruption_is_not_asked_around(time_):
    best, other = FakeSource("best"), FakeSource("other")
    best.error = DisruptedError("the clock was disrupted; wait")
    with pytest.raises(NoBoundError, match="disrupted"):
        service_of(time_, best, other).now()
    assert other.asked == 0


def test_without_any_bound_each_source_says_why(time_):
    sources = [FakeSource(name) for name in ("one", "two")]
    for source in sources:
        source.error = NoBoundError(f"{source.name} is not there; start it")
    with pytest.raises(NoBoundError) as caught:
        service_of(time_, *sources).now()
    assert str(caught.value).split("\n") == [
        "nothing bounds how far this machine's clock is off",
        "one: one is not there; start it",
        "two: two is not there; start it",
    ]


def test_tai_is_ahead_of_utc(time_):
    service = service_of(time_, FakeSource())
    utc, tai = service.now(), service.now("TAI")
    assert tai.clock == "TAI"
    assert tai.estimate_ns - utc.estimate_ns == pytest.approx(37 * S, abs=100)
    assert tai.half_width_ns == pytest.approx(utc.half_width_ns, abs=2)


def test_tai_is_refused_where_the_kernel_does_not_know_it(time_):
    time_.tai_s = 0
    service = service_of(time_, FakeSource())
    with pytest.raises(NoBoundError, match="leapsectz right/UTC"):
        service.now("TAI")


def test_other_names_are_refused(time_):
    with pytest.raises(UsageError, match="use REALTIME or TAI"):
        service_of(time_, FakeSource()).now("MONOTONIC")
    with pytest.raises(UsageError, match="use clockbound, chrony, ptp4l, adjtimex"):
        TimeService("ptp")


def test_a_wait_ends_as_soon_as_the_time_is_past(time_):
    service = service_of(time_, FakeSource(bound_ns=MS))
    t_ns = time_.real + 5 * S
    now = service.wait_past(t_ns)
    assert t_ns < now.earliest_ns < t_ns + 10_000
    assert time_.real - t_ns == pytest.approx(MS, abs=20_000)
    assert service.wait_past(t_ns).earliest_ns < t_ns + 20_000


def test_a_wait_takes_no_longer_than_its_timeout(time_):
    service = service_of(time_, FakeSource(bound_ns=MS))
    begun_ns = time_.mono
    with pytest.raises(TimeoutError, match="is past in 3.* s at the earliest: wait longer"):
        service.wait_past(time_.real + 5 * S, timeout=2)
    assert time_.mono - begun_ns == pytest.approx(2 * S, abs=10_000)
    with pytest.raises(TimeoutError):
        service.wait_past(time_.real, timeout=0)
    assert service.wait_past(time_.real - S, timeout=0)


def test_a_wait_reads_the_bound_again(time_):
    source = FakeSource(bound_ns=MS)
    service = service_of(time_, source)
    t_ns = time_.real + 3 * S
    source.said["bound_ns"] = 2 * S
    assert service.wait_past(t_ns).estimate_ns > t_ns + 2 * S
    assert source.asked > 3


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((1.5,), "t_ns is 1.5"),
        (("now",), "t_ns is 'now'"),
        ((0, -1), "timeout is -1"),
        ((0, float("nan")), "timeout is nan"),
        ((0, "1"), "timeout is '1'"),
    ],
)
def test_a_wait_for_no_time_is_refused(time_, args, says):
    with pytest.raises(UsageError, match=says):
        service_of(time_, FakeSource()).wait_past(*args)


KEPT = KernelClock(0, 10_000, 0, 12_000, 300, 0, 0, 37)


def test_the_kernels_bound_holds_what_it_has_not_added_yet():
    said = Kernel(lambda: KEPT._replace(offset_ns=-700)).ask(lambda: 5)
    # 12 ms, 500 us for up to a second at 500 ppm, 1 us cut off, and what is left to slew.
    assert said.bound_ns == 12_501_700
    assert (said.as_of_ns, said.growth_ppb, said.drift_ppb) == (5, 500_000, 500_000)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "has no adjtimex"),
        (KEPT._replace(status=STA_UNSYNC), "STA_UNSYNC"),
        (KEPT._replace(state=TIME_ERROR), "STA_UNSYNC"),
        (KEPT._replace(maxerror_us=0), "systemd-timesyncd"),
        (KEPT._replace(esterror_us=0), "systemd-timesyncd"),
    ],
)
def test_a_kernel_that_was_told_no_bound_has_none(state, says):
    with pytest.raises(NoBoundError, match=says):
        Kernel(lambda: state).ask(lambda: 5)


def test_the_kernels_mark_changes_when_its_error_falls():
    errors = iter([1_000, 1_500, 2_000, 900, 1_400])
    kernel = Kernel(lambda: KEPT._replace(maxerror_us=next(errors)))
    marks = [kernel.ask(lambda: 5).mark for _ in range(5)]
    assert marks == ["0", "0", "0", "1", "1"]


@pytest.fixture
def bounded(tmp_path, monkeypatch):
    """This machine's own clocks, bounded by a ClockBound that a test plays."""
    path = tmp_path / "shm0"
    path.write_bytes(memory(bound_ns=20_000))
    service = TimeService(sources=[ClockBound(str(path))])
    monkeypatch.setattr(process, "_service", lambda: service)
    return service


def test_clocks_that_have_no_numbers_are_called(bounded, tmp_path):
    """As on Windows; and what they say is what the kernel reads by their numbers."""
    path = str(tmp_path / "shm0")
    called = TimeService(sources=[ClockBound(path)], clocks=HOST_CLOCKS._replace(codes=None))
    assert HOST_CLOCKS.codes is not None
    first, second, third = bounded.now(), called.now(), bounded.now()
    assert first.earliest_ns <= second.latest_ns
    assert second.earliest_ns <= third.latest_ns
    assert third.estimate_ns - first.estimate_ns < S


def test_an_anchor_for_too_long_is_refused():
    """What it computes with a longer age would not fit in int64."""
    reads = (lambda: 0,) * 3
    given = ("x", 0, 0, 0, 1, 0, PPB, 0)
    with pytest.raises(ValueError, match="LONGEST_NS at most"):
        Anchor(tt.TrueTime, reads, None, *given, 0, 0, LONGEST_NS + 1, 0, None, bool)
    most = 10**18 + 2 * 10**18
    anchor = Anchor(
        tt.TrueTime,
        (lambda: LONGEST_NS - 1, lambda: 0, lambda: 0),
        None,
        "x",
        0,
        2**61,
        0,
        most,
        0,
        PPB,
        0,
        0,
        0,
        LONGEST_NS,
        0,
        None,
        bool,
    )
    now = anchor.now("REALTIME", True)
    assert now.half_width_ns == most + LONGEST_NS
    assert now.estimate_ns == 2**61 + LONGEST_NS - 1


def test_this_machines_clock_is_within_a_bound_that_it_has(bounded):
    for _ in range(100):
        before = time.time_ns()
        now = tt.now()
        assert now.earliest_ns <= time.time_ns()
        assert now.latest_ns >= before
        assert now.half_width_ns < 10 * S
    t_ns = time.time_ns()
    assert tt.wait_past(t_ns, timeout=600).earliest_ns > t_ns
    assert time.time_ns() > t_ns


def _in_child(answers):
    answers.put(tt.now())


def test_threads_and_a_forked_child_share_a_service(bounded):
    failed = []

    def call():
        try:
            for _ in range(200):
                assert tt.now().half_width_ns >= 20_000
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    fork = multiprocessing.get_context("fork")
    with bounded._turns.turn():
        # The child must not wait for a lock that its parent's thread had.
        answers = fork.Queue()
        child = fork.Process(target=_in_child, args=(answers,))
        bounded._kept = None
        child.start()
    assert answers.get(timeout=600).source == "clockbound"
    child.join(600)
    for thread in threads:
        thread.join(600)
    assert not failed


def test_ctrl_c_ends_a_wait(bounded):
    import signal

    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        tt.wait_past(time.time_ns() + 3_600 * S)
