"""PTP hardware clocks on a device that answers byte by byte: what bounds a reading, what fails."""

import os
import struct
import time
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ptp_device import EXTENDED, PLAIN, PRECISE, S, World, ptp_time

import tracetime as tt
from tracetime.errors import SourceError
from tracetime.sources import local, ptp
from tracetime.sources.local import LocalClocks
from tracetime.sources.posix import PosixSource
from tracetime.sources.ptp import MONOTONIC_RAW, HostOffset, PtpClock, PtpClocks
from tracetime.sources.ptp_ioctl import DeviceBracket, narrowest

METHODS = {"precise": PRECISE, "extended": EXTENDED, "plain": PLAIN}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files in place of devices; the calls on them are the world's."""
    made = tmp_path_factory.mktemp("dev")
    (made / "ptp0").touch()
    return made


def opened(folder, world):
    return PtpClock(0, folder=folder, names=folder, ioctl=world.ioctl, pair=world.pair)


def error_ns(world, read):
    """How far the host's time is from when the device was read."""
    rate = 1 + Fraction(world.device_ppm, 10**6)
    return abs((read.device_ticks - world.device_0) / rate - read.host)


@pytest.mark.parametrize("method", METHODS)
@given(
    delays=st.lists(st.integers(0, 5_000), min_size=1, max_size=7).filter(any),
    device_ppm=st.integers(-100, 100),
    real_ppm=st.integers(-500, 500),
)
def test_a_reading_is_within_its_deviation(folder, method, delays, device_ppm, real_ppm):
    world = World(delays, device_ppm=device_ppm, real_ppm=real_ppm, supported=[METHODS[method]])
    clock = opened(folder, world)
    assert clock.method == method
    read = clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()
    # Readings are whole ns.
    assert error_ns(world, read) <= read.max_deviation_ns + 1


@pytest.mark.parametrize(
    ("method", "half_ns"),
    # A bracket of two delays, and a pair's that has two; and slewing.
    [("extended", 40 + 41), ("plain", 40 + 41), ("precise", 1_000)],
)
def test_half_widths_are_those_of_the_call(folder, method, half_ns):
    world = World(supported=[METHODS[method]])
    clock = opened(folder, world)
    read = clock.read_together(clock.clock, MONOTONIC_RAW)
    assert half_ns <= read.max_deviation_ns <= half_ns + 6
    clock.close()


def test_the_narrowest_bracket_is_taken(folder):
    world = World([900, 900, 900, 900, 50], supported=[EXTENDED])
    clock = opened(folder, world)
    read = clock.read_together(clock.clock, MONOTONIC_RAW)
    assert read.max_deviation_ns < 475 + 2 * 901 + 30
    assert narrowest([DeviceBracket(5, 0, 3), DeviceBracket(1, 7, 9), DeviceBracket(2, 8, 8)]) == (
        2,
        8,
        8,
    )
    with pytest.raises(SourceError, match="went back in all"):
        narrowest([DeviceBracket(5, 0, 3)])
    clock.close()


@pytest.mark.parametrize("call", [EXTENDED, PLAIN])
@pytest.mark.parametrize("step_ns", [-1_000_000_000, -5_000, 5_000, 1_000_000_000])
@pytest.mark.parametrize("after", range(0, 90, 4))
def test_a_step_of_realtime_shifts_no_reading(folder, call, step_ns, after):
    world = World(supported=[call])
    clock = opened(folder, world)
    world.steps = [(world.turn + after, step_ns)]
    read = clock.read_together(clock.clock, MONOTONIC_RAW)
    assert error_ns(world, read) <= read.max_deviation_ns
    assert read.max_deviation_ns < 200
    clock.close()


@pytest.mark.parametrize("call", [EXTENDED, PLAIN])
@example([20, 20, 50, 50, 300, 1, 3000], 3000, 34)
@example([20, 20, 50, 50, 300, 1, 3000], -3000, 34)
@given(
    delays=st.lists(st.sampled_from((0, 1, 50, 300, 3_000)), min_size=1, max_size=9).filter(any),
    step_ns=st.integers(-3_000, 3_000),
    after=st.integers(0, 90),
)
def test_a_small_step_of_realtime_is_within_the_deviation(folder, call, delays, step_ns, after):
    """One that the pairs do not tell from their own half-widths."""
    world = World(delays, supported=[call])
    clock = opened(folder, world)
    world.steps = [(world.turn + after, step_ns)]
    read = clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()
    assert error_ns(world, read) <= read.max_deviation_ns + 1


def test_a_cross_timestamp_of_another_time_namespace_is_not_used(folder):
    """The kernel has MONOTONIC_RAW of the machine, and the process reads another one."""
    world = World()
    pair = world.pair

    def elsewhere():
        raw_ns, ahead_ns, half_ns = pair()
        return HostOffset(raw_ns + 3_600 * S, ahead_ns - 3_600 * S, half_ns)

    clock = PtpClock(0, folder=folder, names=folder, ioctl=world.ioctl, pair=elsewhere)
    assert clock.method == "extended"
    read = clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()
    assert abs(read.device_ticks - world.device_0 - read.host + 3_600 * S) <= read.max_deviation_ns


@pytest.mark.parametrize("late_ns", [-(10**6), 10**6, -1_000 * S])
def test_a_cross_timestamp_that_was_not_taken_in_the_call_is_refused(folder, late_ns):
    world = World(supported=[PRECISE])
    clock = opened(folder, world)

    def ioctl(fd, request, data):
        world.ioctl(fd, request, data)
        data[32:48] = ptp_time(world.now_ns + late_ns)

    clock._ioctl = ioctl
    with pytest.raises(SourceError, match=r"says that MONOTONIC_RAW was .* in a call from "):
        clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()
    with pytest.raises(SourceError, match="not supported"):
        PtpClock(0, folder=folder, names=folder, ioctl=ioctl, pair=world.pair)


def test_a_realtime_that_is_set_all_the_time_ends_the_tries(folder):
    world = World(supported=[EXTENDED])
    clock = opened(folder, world)
    world.steps = [(world.turn + at, 10_000) for at in range(0, 5_000, 20)]
    with pytest.raises(SourceError, match="set or slewed"):
        clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()


def test_calls_that_the_driver_lacks_are_tried_once(folder):
    world = World(supported=[PLAIN])
    clock = opened(folder, world)
    clock.read_together(clock.clock, MONOTONIC_RAW)
    assert world.calls == [PRECISE, EXTENDED, PLAIN, PLAIN]
    clock.close()
    with pytest.raises(SourceError, match=r"ptp0 cannot be read .*not supported.*leave it out"):
        opened(folder, World(supported=[]))


def test_no_descriptor_is_left_open(folder):
    def count():
        return sum(1 for _ in os.scandir("/proc/self/fd"))

    before = count()
    with pytest.raises(SourceError):
        opened(folder, World(supported=[]))
    clock = opened(folder, World())
    clock.close()
    clock.close()
    assert count() == before
    with pytest.raises(SourceError, match="was closed"):
        clock.read_together(clock.clock, MONOTONIC_RAW)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [struct.pack("=qI", -1, 0), struct.pack("=qI", 5, 10**9)])
def test_a_time_that_is_none_is_refused(folder, method, bad):
    world = World(supported=[METHODS[method]])
    clock = opened(folder, world)
    at = 0 if method == "precise" else 32

    def ioctl(fd, request, data):
        world.ioctl(fd, request, data)
        data[at : at + 12] = bad

    clock._ioctl = ioctl
    with pytest.raises(SourceError, match="which is none: set the clock"):
        clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()


def test_another_number_of_samples_is_refused(folder):
    world = World(supported=[EXTENDED])
    clock = opened(folder, world)

    def ioctl(fd, request, data):
        world.ioctl(fd, request, data)
        data[0] = 3

    clock._ioctl = ioctl
    with pytest.raises(SourceError, match="another number of samples"):
        clock.read_together(clock.clock, MONOTONIC_RAW)
    clock.close()


@pytest.mark.parametrize("method", METHODS)
def test_the_tick_is_that_of_the_readings(folder, method):
    world = World([40, 72, 88, 56, 48], supported=[METHODS[method]])
    clock = opened(folder, world)
    domain = clock.domain(clock.clock)
    assert (domain.name, domain.tick_ns, domain.disciplined) == ("dev.tracetime.ptp.0", 8, True)
    assert clock.domain(clock.clock) is domain
    clock.close()


def test_only_its_own_clock_and_monotonic_raw(folder):
    clock = opened(folder, World())
    assert clock.partners(clock.clock) == (MONOTONIC_RAW,)
    with pytest.raises(SourceError, match="not the clock of"):
        clock.domain(MONOTONIC_RAW)
    with pytest.raises(SourceError, match="together with MONOTONIC_RAW, not"):
        clock.read_together(clock.clock, tt.ClockId.parse("REALTIME"))
    clock.close()


def test_drivers_name_their_clocks(tmp_path):
    (tmp_path / "ptp0").touch()
    clock = opened(tmp_path, World())
    assert clock.note(clock.clock) == "a PTP hardware clock, read by PTP_SYS_OFFSET_PRECISE"
    (names := tmp_path / "names" / "ptp0").mkdir(parents=True)
    (names / "clock_name").write_text("ice-0000:18:00.0-clk\n")
    world = World(supported=[PLAIN])
    other = PtpClock(0, folder=tmp_path, names=names.parent, ioctl=world.ioctl, pair=world.pair)
    assert other.note(other.clock) == "ice-0000:18:00.0-clk, read by PTP_SYS_OFFSET"
    clock.close()
    other.close()


def test_all_clocks_of_a_machine_by_number(tmp_path):
    for name in ("ptp10", "ptp2", "ptpx", "ptp_kvm"):
        (tmp_path / name).touch()
    (tmp_path / "ptp7").symlink_to(tmp_path / "nothing")
    world = World()
    clocks = PtpClocks(tmp_path, tmp_path, world.ioctl, world.pair)
    assert list(clocks.numbered) == [2, 10]
    ((name, reason),) = clocks.unavailable
    assert name == "ptp:7"
    assert "let this user read it" in reason
    clocks.close()
    none = PtpClocks(tmp_path / "empty")
    assert none.numbered == {}
    assert [entry.name for entry in none.unavailable] == ["ptp"]


def test_linux_is_asked_by_ioctl(tmp_path):
    """A file is no PTP clock: the kernel says so."""
    (tmp_path / "ptp0").touch()
    with pytest.raises(SourceError, match="Inappropriate ioctl for device"):
        PtpClock(0, folder=tmp_path)


def test_pairs_of_the_host_hold_the_offset():
    pairs = [ptp.read_pair() for _ in range(20)]
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    real = time.time_ns()
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    for pair in pairs:
        slack = pair.half_ns + (after - pair.raw_ns) // 1_000 + 2
        assert real - after - slack <= pair.ahead_ns <= real - before + slack
        assert pair.half_ns > 0


class Live(World):
    """A device that is so far ahead of MONOTONIC_RAW, between readings of the real clocks."""

    def tick(self):
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def real(self, at_ns):
        return time.time_ns()


@pytest.mark.parametrize("method", METHODS)
def test_a_sampler_holds_the_offset(folder, method):
    world = Live(supported=[METHODS[method]])
    clock = PtpClock(0, folder=folder, names=folder, ioctl=world.ioctl, pair=ptp.read_pair)
    sampler = tt.Sampler(sources=[PosixSource(), clock])
    for _ in range(20):
        sample = sampler.sample()
        assert not sample.failed
        snapshot, readings = sample.snapshot, sample.snapshot.readings
        offset = readings[clock.clock].value - readings[MONOTONIC_RAW].value
        late = offset - world.device_0 - snapshot.centre_ns[clock.clock]
        assert abs(late) <= max(snapshot.half_width_ns[clock.clock])
    clock.close()


@pytest.fixture
def machine(folder, monkeypatch):
    world = World()
    monkeypatch.setattr(
        local, "PtpClocks", lambda: PtpClocks(folder, folder, world.ioctl, world.pair)
    )
    made = LocalClocks()
    yield made
    made.close()


@pytest.mark.parametrize("name", ["ptp", "ptp:0", "PTP:0", "dev.tracetime.ptp.0"])
def test_a_clock_is_found_by_its_names(machine, name):
    ((found, clock, _),) = machine.find(name)
    assert found == "dev.tracetime.ptp.0"
    assert machine.short_name(found) == "ptp:0"
    assert clock in {entry.clock for entry in machine.everything()}
    assert clock not in {entry.clock for entry in machine.find("host")}


def test_a_clock_that_is_not_there_is_named(machine, monkeypatch, tmp_path):
    with pytest.raises(SourceError, match=r"no clock ptp:3 here: there are .*ptp:0"):
        machine.find("ptp:3")
    monkeypatch.setattr(local, "PtpClocks", lambda: PtpClocks(tmp_path))
    with pytest.raises(SourceError, match=r"no clock ptp:0 here: ptp: no PTP hardware clock"):
        LocalClocks().find("ptp")
    with pytest.raises(tt.UsageError, match="of the given sources"):
        LocalClocks([PosixSource()]).find("ptp")
