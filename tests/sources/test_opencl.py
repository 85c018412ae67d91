"""OpenCL: on a driver that answers byte by byte, and on pocl, whose devices are processors."""

import re
import time

import pytest
from fake_driver import FakeDriver, library, opened, reason
from hypothesis import given
from hypothesis import strategies as st
from opencl_device import opencl_device  # noqa: F401

import tracetime as tt
from tracetime.errors import SourceError
from tracetime.sources import bracketed, local
from tracetime.sources.bracketed import MONOTONIC_RAW
from tracetime.sources.local import LocalClocks
from tracetime.sources.opencl import OpenClDevices
from tracetime.sources.posix import PosixSource

NAME = "dev.tracetime.opencl.fake-tm-device"
INVALID_OPERATION = -59


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return library("opencl", tmp_path_factory.mktemp("opencl"))


@pytest.fixture
def driver(path):
    made = FakeDriver(path)
    made.set(devices=1, major=3, minor=0, resolution_ns=1, host_clock=time.CLOCK_MONOTONIC_RAW)
    return made


@pytest.mark.parametrize("method", ["timer", "command"])
@given(
    step_ns=st.sampled_from([1, 32, 1_000]),
    ppm=st.integers(-400, 400),
    ahead_ns=st.integers(0, 10**18),
    delays=st.tuples(*[st.integers(0, 20_000)] * 3),
)
def test_a_reading_is_within_its_deviation(driver, method, step_ns, ppm, ahead_ns, delays):
    driver.set(step_ns=step_ns, ppm=ppm, ahead_ns=ahead_ns, resolution_ns=step_ns)
    driver.set(minor=0, major=3 if method == "timer" else 1)
    with opened(OpenClDevices(driver.path)) as device:
        driver.set(**dict(zip(("before_ns", "work_ns", "after_ns"), delays, strict=True)))
        assert device.method == method
        for _ in range(3):
            read = device.read_together(device.clock, MONOTONIC_RAW)
            error_ns = driver.error_ns(read.device_ticks, read.host)
            assert error_ns <= read.max_deviation_ns + 1


@pytest.mark.parametrize(
    ("change", "method"),
    [
        ({}, "timer"),
        ({"minor": 1, "major": 2}, "timer"),
        ({"clGetDeviceAndHostTimer": INVALID_OPERATION}, "command"),
        # The timer is another clock than that of the commands: theirs is the one that counts.
        ({"timer_shift_ns": 10**9}, "command"),
        ({"timer_shift_ns": -(10**9)}, "command"),
    ],
)
def test_the_device_is_read_by_what_it_answers(driver, change, method):
    driver.set(ahead_ns=10**12, **change)
    with opened(OpenClDevices(driver.path)) as device:
        assert device.method == method
        called = driver.get("clEnqueueWriteBuffer#")
        device.read_together(device.clock, MONOTONIC_RAW)
        assert driver.get("clEnqueueWriteBuffer#") - called == (method == "command")


@pytest.mark.parametrize("version", [(1, 2), (2, 0), (0, 0)])
def test_older_drivers_are_not_asked_for_what_they_lack(driver, version):
    driver.set(major=version[0], minor=version[1])
    with opened(OpenClDevices(driver.path)) as device:
        assert device.method == "command"
        assert driver.get("clGetDeviceAndHostTimer#") == 0


@pytest.mark.parametrize(
    ("clock", "says"),
    [
        (time.CLOCK_REALTIME, r"its host timer is REALTIME$"),
        (time.CLOCK_MONOTONIC_RAW, r"its host timer is MONOTONIC_RAW$"),
        (time.CLOCK_MONOTONIC, r"its host timer is MONOTONIC( or BOOTTIME)?$"),
        (time.CLOCK_PROCESS_CPUTIME_ID, r"its host timer is none of the host's clocks$"),
    ],
)
def test_the_host_timer_is_named_by_what_it_reads(driver, clock, says):
    driver.set(host_clock=clock, ahead_ns=10**12)
    with opened(OpenClDevices(driver.path)) as device:
        note = device.note(device.clock)
        assert note.startswith("Fake (TM) Device, read by clGetDeviceAndHostTimer; ")
        assert re.search(says, note), note


def test_a_device_that_shows_a_clock_of_the_host_says_so(driver):
    driver.set(major=1)
    with opened(OpenClDevices(driver.path)) as device:
        assert device.note(device.clock) == (
            "Fake (TM) Device, read by the times of a command, which show the host's MONOTONIC_RAW"
        )


@pytest.mark.parametrize(
    "fault",
    [
        {"dark": 1},
        {"end_shift_ns": -(10**6)},
        {"end_shift_ns": 10**9},
        # A clock that does not count ns.
        {"work_ns": 100_000, "end_shift_ns": 10**8},
    ],
)
def test_times_that_are_none_are_refused(driver, fault):
    driver.set(major=1)
    with opened(OpenClDevices(driver.path)) as device:
        driver.set(**fault)
        with pytest.raises(SourceError, match="they are none; leave it out"):
            device.read_together(device.clock, MONOTONIC_RAW)


def test_the_step_is_what_is_seen_or_what_the_driver_says(driver):
    driver.set(step_ns=80)
    with opened(OpenClDevices(driver.path)) as device:
        domain = device.domain(device.clock)
        assert (domain.name, domain.tick_ns, domain.ns_per_tick) == (NAME, 80, 1)
        assert (domain.max_drift_ppm, domain.disciplined, domain.oscillator) == (500, False, NAME)
        assert device.domain(device.clock) is domain
    driver.set(resolution_ns=1_000)
    with opened(OpenClDevices(driver.path)) as device:
        assert device.domain(device.clock).tick_ns == 1_000


@pytest.mark.parametrize("major", [1, 3])
@pytest.mark.parametrize("step_ns", [3_000_000, 25_000_000])
def test_a_step_that_is_far_longer_than_a_call_is_waited_for(driver, major, step_ns):
    """The driver says 1 ns."""
    driver.set(major=major)
    with opened(OpenClDevices(driver.path)) as device:
        driver.set(step_ns=step_ns)
        assert device.domain(device.clock).tick_ns % step_ns == 0


@pytest.mark.parametrize("major", [1, 3])
def test_a_step_may_lie_within_a_call_that_is_nearly_as_long(driver, major):
    """The driver says 1 ns."""
    driver.set(major=major, step_ns=3_000_000, work_ns=2_500_000)
    with opened(OpenClDevices(driver.path)) as device:
        assert device.domain(device.clock).tick_ns % 3_000_000 == 0
        for _ in range(20):
            device.read_together(device.clock, MONOTONIC_RAW)


@pytest.mark.parametrize("major", [1, 3])
def test_a_clock_that_stands_still_is_refused(driver, major):
    driver.set(major=major, step_ns=10**15, ahead_ns=2 * 10**15)
    with opened(OpenClDevices(driver.path)) as device:
        with pytest.raises(SourceError, match=r"the clock of Fake \(TM\) Device stands still"):
            device.domain(device.clock)


def test_a_resolution_that_says_nothing_is_refused(driver):
    driver.set(resolution_ns=2 * 10**9)
    assert "good to 2000000000 ns: leave it out" in reason(OpenClDevices(driver.path))


@pytest.mark.parametrize(
    "function",
    [
        *("clCreateContext", "clCreateCommandQueue", "clCreateBuffer", "clEnqueueWriteBuffer"),
        *("clFlush", "clGetEventInfo", "clGetEventProfilingInfo"),
    ],
)
def test_a_device_that_cannot_be_opened_leaves_nothing_behind(driver, function):
    driver.fail(function, -5)
    why = reason(OpenClDevices(driver.path))
    assert "Fake (TM) Device failed: out of resources (-5)" in why
    assert driver.get("alive") == 0


def test_handles_that_are_none_are_refused(driver):
    driver.set(nothing=1)
    assert "the driver returned nothing" in reason(OpenClDevices(driver.path))


def test_a_command_that_fails_says_so(driver):
    driver.set(major=1)
    with opened(OpenClDevices(driver.path)) as device:
        driver.set(status=-5)
        with pytest.raises(SourceError, match=r"a command of Fake .* out of resources"):
            device.stamp()
        driver.set(status=0)
        assert device.stamp()
    assert driver.get("alive") == 0


def test_a_device_that_is_stuck_is_left_alone(driver, monkeypatch):
    with opened(OpenClDevices(driver.path)) as device:
        monkeypatch.setattr(bracketed, "_LONGEST_NS", 3_000_000)
        driver.set(after_ns=10**12)
        with pytest.raises(SourceError, match="is it stuck"):
            device.stamp(3)
        enqueued = driver.get("clEnqueueWriteBuffer#")
        with pytest.raises(SourceError, match="is it stuck"):
            device.read_together(device.clock, MONOTONIC_RAW)
        assert driver.get("clEnqueueWriteBuffer#") == enqueued


def test_stamps_are_in_order_and_released(driver):
    driver.set(ahead_ns=5)
    with opened(OpenClDevices(driver.path)) as device:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        stamps = device.stamp(64)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        assert stamps == sorted(stamps)
        assert before <= stamps[0] - 5 <= stamps[-1] - 5 <= after
        for count in (0, 65):
            with pytest.raises(tt.UsageError, match="use 1 to 64"):
                device.stamp(count)
    assert driver.get("alive") == 0
    with pytest.raises(SourceError, match="was closed"):
        device.stamp()


def test_only_its_own_clock_and_monotonic_raw(driver):
    with opened(OpenClDevices(driver.path)) as device:
        assert device.partners(device.clock) == (MONOTONIC_RAW,)
        with pytest.raises(SourceError, match="not the clock of"):
            device.domain(MONOTONIC_RAW)
        with pytest.raises(SourceError, match="together with MONOTONIC_RAW, not REALTIME"):
            device.read_together(device.clock, tt.ClockId.parse("REALTIME"))


@pytest.mark.parametrize(
    ("offers", "names"),
    [
        ({"uuid": 1, "pci": 1}, "abcd0100000000000000000000000000"),
        ({"pci": 1}, "pci-0000-65-00-1"),
        ({}, "fake-tm-device"),
        ({"long_answers": 1}, "an-opencl-device"),
    ],
)
def test_a_device_is_named_by_what_identifies_it(driver, offers, names):
    driver.set(devices=3, **offers)
    devices = OpenClDevices(driver.path)
    assert [
        device.name.removeprefix("dev.tracetime.opencl.") for device in devices.numbered.values()
    ] == [names, f"{names}.1", f"{names}.2"]
    devices.close()


def test_what_is_missing_is_named(driver):
    with pytest.raises(SourceError, match=r"apt-get install ocl-icd-libopencl1"):
        OpenClDevices("libOpenCL-of-nowhere.so.1")
    with pytest.raises(SourceError, match=r"cannot be loaded \(.*clGetPlatformIDs"):
        OpenClDevices("libc.so.6")
    driver.set(devices=0)
    assert reason(OpenClDevices(driver.path)) == "the installed drivers have no device"
    driver.fail("clGetDeviceIDs", -6)
    assert (
        reason(OpenClDevices(driver.path))
        == "listing OpenCL's devices failed: out of host memory (-6)"
    )
    driver.fail("clGetPlatformIDs", -1001)
    with pytest.raises(SourceError, match="no OpenCL driver is installed"):
        OpenClDevices(driver.path)


@pytest.fixture
def machine(driver, monkeypatch):
    monkeypatch.setattr(local, "OpenClDevices", lambda: OpenClDevices(driver.path))
    made = LocalClocks()
    yield made
    made.close()


@pytest.mark.parametrize("name", ["opencl", "opencl:0", "OpenCL:0", NAME])
def test_a_clock_is_found_by_its_names(machine, name):
    ((found, clock, _),) = machine.find(name)
    assert found == NAME
    assert machine.short_name(found) == "opencl:0"
    assert clock in {entry.clock for entry in machine.everything()}
    assert clock not in {entry.clock for entry in machine.find("host")}


def test_a_clock_that_is_not_there_is_named(machine, driver):
    with pytest.raises(SourceError, match=r"no clock opencl:3 here: there are .*opencl:0"):
        machine.find("opencl:3")
    with pytest.raises(tt.UsageError, match="'x' is no number of a device: the first is 0"):
        machine.find("opencl:x")
    driver.fail("clGetPlatformIDs", -1001)
    with pytest.raises(SourceError, match=r"no clock opencl:0 here: .*no OpenCL driver"):
        LocalClocks().find("opencl")


def test_a_device_that_is_lost_is_left_out_of_the_snapshots(driver):
    driver.set(major=1)
    with (
        opened(OpenClDevices(driver.path)) as device,
        tt.Sampler(sources=[PosixSource(), device], tries=1) as sampler,
    ):
        assert not sampler.sample().failed
        driver.set(status=-5)
        sample = sampler.sample()
        assert "out of resources" in sample.failed[device.clock]
        assert MONOTONIC_RAW in sample.snapshot.readings
        driver.set(status=0)
        assert not sampler.sample().failed


def test_a_clock_that_goes_back_is_told(driver):
    with (
        opened(OpenClDevices(driver.path)) as device,
        tt.Sampler(sources=[PosixSource(), device], tries=1) as sampler,
    ):
        assert not sampler.sample().findings
        driver.set(back_at=driver.get("reads") + 1, back_ns=10**9)
        (finding,) = sampler.sample().findings
        assert finding.clock == NAME
        assert "back" in finding.message


@pytest.mark.usefixtures("opencl_device")
class TestPocl:
    """Its times are MONOTONIC_RAW: the truth is known."""

    def test_readings_hold_the_truth(self):
        with tt.Sampler(["opencl:0", "MONOTONIC_RAW"]) as sampler:
            clock = next(one for one, name in sampler.short_names.items() if name == "opencl:0")
            assert "which show the host's MONOTONIC_RAW" in sampler.notes[clock]
            for _ in range(20):
                snapshot = sampler.sample().snapshot
                raw = snapshot.readings[MONOTONIC_RAW].value
                late = snapshot.readings[clock].value - raw - snapshot.centre_ns[clock]
                assert abs(late) <= max(snapshot.half_width_ns[clock])

    def test_events_are_recorded_in_its_clock(self, tmp_path):
        path = tmp_path / "pocl.pftrace"
        with tt.Sampler(["opencl:0", "BOOTTIME"]) as sampler:
            clock = next(one for one, name in sampler.short_names.items() if name == "opencl:0")
            with tt.record(path, interval=0.02, sampler=sampler) as rec:
                before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                (stamp,) = sampler.source(clock).stamp()
                after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                rec.instant("command", timestamp=stamp, clock="opencl:0")
        with tt.open_trace(path) as trace:
            (row,) = trace.read_all(policy="tube").to_pylist()
            assert row["earliest"] <= after
            assert row["latest"] >= before
            assert trace.clocks.clock("opencl:0") == clock
