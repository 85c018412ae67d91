"""CUDA: on a driver that answers byte by byte. No GPU is needed, and none was tried."""

import re
import threading
import time
from functools import partial

import numpy as np
import pytest
from fake_driver import FakeDriver, library, opened, reason
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from tracetime.errors import SourceError
from tracetime.sources import bracketed, cuda, local
from tracetime.sources.bracketed import MONOTONIC_RAW
from tracetime.sources.cuda import KERNEL, MOST_STAMPS, CudaDevices
from tracetime.sources.local import LocalClocks
from tracetime.sources.posix import PosixSource
from tracetime.sources.tick import resolution_of_runs

NAME = "dev.tracetime.cuda." + 16 * "a0"
LAUNCH_FAILED = 719


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(scope="module")
def path(folder):
    return library("cuda", folder)


@pytest.fixture
def driver(path):
    made = FakeDriver(path)
    made.set(devices=1, step_ns=32)
    return made


@given(
    step_ns=st.sampled_from([1, 32, 1_000, 1_024]),
    ppm=st.integers(-400, 400),
    ahead_ns=st.integers(0, 10**18),
    delays=st.tuples(*[st.integers(0, 20_000)] * 3),
)
def test_a_reading_is_within_its_deviation(driver, step_ns, ppm, ahead_ns, delays):
    driver.set(step_ns=step_ns, ppm=ppm, ahead_ns=ahead_ns, before_ns=0, work_ns=0, after_ns=0)
    with opened(CudaDevices(driver.path)) as device:
        driver.set(**dict(zip(("before_ns", "work_ns", "after_ns"), delays, strict=True)))
        for _ in range(3):
            read = device.read_together(device.clock, MONOTONIC_RAW)
            error_ns = driver.error_ns(read.device_ticks, read.host)
            assert error_ns <= read.max_deviation_ns + 1


@pytest.mark.parametrize("step_ns", [32, 1_000, 1_024])
def test_the_step_of_the_timer_is_measured(driver, step_ns):
    driver.set(step_ns=step_ns)
    with opened(CudaDevices(driver.path)) as device:
        domain = device.domain(device.clock)
        # What interrupts all of four kernels makes it longer.
        assert step_ns <= domain.tick_ns
        assert domain.tick_ns % step_ns == 0
        assert (domain.name, domain.ns_per_tick, domain.valid_bits) == (NAME, 1, 64)
        assert (domain.max_drift_ppm, domain.disciplined, domain.oscillator) == (500, False, NAME)
        assert device.domain(device.clock) is domain


@pytest.mark.parametrize(
    ("runs", "step_ns"),
    [
        # Each update is seen: a timer of 32 ns that is updated each us, or a little later.
        ([[0, 992, 0, 0, 1_024, 0, 1_024]], 1_024),
        # One of two runs was interrupted.
        ([[0, 32, 32, 0, 5_000], [0, 32, 0, 64]], 64),
        # Readings are farther apart than steps: the spacing of the differences.
        ([[96, 128, 160, 96, 64, 160]], 32),
        ([[0, 0], [0, 0]], None),
        ([[0, -5, 0]], None),
        ([[0, 0, 0], [0, 7, 0]], 7),
    ],
)
def test_the_longest_step_counts(runs, step_ns):
    assert resolution_of_runs([np.array(run) for run in runs]) == step_ns


def test_a_timer_that_stands_still_is_refused(driver):
    driver.set(step_ns=10**12)
    assert "the timer of Fake GPU 0 stands still" in reason(CudaDevices(driver.path))
    assert driver.get("alive") == 0


@pytest.mark.parametrize(
    "fault",
    [
        {"dark": 1},
        # The kernel does not run, and says nothing.
        {"idle": 1},
        {"end_shift_ns": -(10**6)},
        # A reading torn between its halves.
        {"end_shift_ns": 1 << 32},
    ],
)
def test_times_that_are_none_are_refused(driver, fault):
    with opened(CudaDevices(driver.path)) as device:
        device.read_together(device.clock, MONOTONIC_RAW)
        driver.set(**fault)
        with pytest.raises(SourceError, match="they are none; leave it out"):
            device.read_together(device.clock, MONOTONIC_RAW)


@pytest.mark.parametrize(
    "function",
    [
        *("cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamCreate"),
        *("cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuModuleLoadData"),
        *("cuModuleGetFunction", "cuLaunchKernel", "cuStreamQuery"),
    ],
)
def test_a_device_that_cannot_be_opened_leaves_nothing_behind(driver, function):
    driver.fail(function, LAUNCH_FAILED)
    if function == "cuCtxPushCurrent_v2":
        driver.fail(function, LAUNCH_FAILED, at=1)
    assert reason(CudaDevices(driver.path)).endswith("failed: an error (719)")
    if function != "cuCtxPushCurrent_v2":
        assert driver.get("alive") == 0


def test_a_device_that_is_closed_leaves_nothing_behind(driver):
    with opened(CudaDevices(driver.path)) as device:
        assert driver.get("alive") > 0
    assert driver.get("alive") == 0
    device.close()
    assert driver.get("alive") == 0
    with pytest.raises(SourceError, match="was closed"):
        device.stamp()


def test_a_device_that_was_lost_is_closed_like_the_others(driver):
    driver.set(devices=2)
    devices = CudaDevices(driver.path)
    driver.fail("cuCtxPushCurrent_v2", LAUNCH_FAILED)
    alive = driver.get("alive")
    devices.close()
    for device in devices.numbered.values():
        with pytest.raises(SourceError, match="was closed"):
            device.stamp()
    # The two contexts are released.
    assert driver.get("alive") == alive - 2


def test_a_device_that_is_stuck_is_left_alone(driver, monkeypatch):
    with opened(CudaDevices(driver.path)) as device:
        monkeypatch.setattr(bracketed, "_LONGEST_NS", 3_000_000)
        driver.set(after_ns=10**12)
        with pytest.raises(SourceError, match="is it stuck"):
            device.stamp(3)
        driver.set(after_ns=0)
        launched = driver.get("cuLaunchKernel#")
        with pytest.raises(SourceError, match="is it stuck"):
            device.read_together(device.clock, MONOTONIC_RAW)
        assert driver.get("cuLaunchKernel#") == launched
    # What it may still write is not freed.
    assert driver.get("alive") > 0


def test_stamps_are_in_order(driver):
    driver.set(ahead_ns=5, step_ns=1)
    with opened(CudaDevices(driver.path)) as device:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        stamps = device.stamp(MOST_STAMPS)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        assert stamps == sorted(stamps)
        assert before <= stamps[0] - 5 <= stamps[-1] - 5 <= after
        for count in (0, MOST_STAMPS + 1):
            with pytest.raises(tt.UsageError, match="use 1 to 4096"):
                device.stamp(count)


def test_threads_wait_for_each_other(driver):
    """Each has to make the device's context its own, and no one sees another's times."""
    failures = []

    def work(device):
        try:
            for _ in range(50):
                device.read_together(device.clock, MONOTONIC_RAW)
        except BaseException as error:
            failures.append(error)

    with opened(CudaDevices(driver.path)) as device:
        threads = [threading.Thread(target=work, args=(device,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_the_kernel_ends_as_a_text_of_c_does():
    """cuModuleLoadData takes PTX up to its end: ctypes adds a 0 to bytes."""
    assert b"\0" not in KERNEL
    assert KERNEL.startswith(b".version 6.0\n.target sm_50\n")


def test_what_is_missing_is_named(driver):
    with pytest.raises(SourceError, match=r"cannot be loaded .* comes with NVIDIA's driver"):
        CudaDevices("libcuda-of-nowhere.so.1")
    with pytest.raises(SourceError, match=r"cannot be loaded \(.*cuInit"):
        CudaDevices("libc.so.6")
    driver.set(devices=0)
    assert reason(CudaDevices(driver.path)) == "the driver has no device"
    driver.fail("cuInit", 100)
    with pytest.raises(SourceError, match=r"no CUDA-capable device is detected \(100\)"):
        CudaDevices(driver.path)


@pytest.fixture
def machine(driver, monkeypatch):
    driver.set(devices=2)
    monkeypatch.setattr(local, "CudaDevices", partial(CudaDevices, driver.path))
    made = LocalClocks()
    yield made
    made.close()


@pytest.mark.parametrize("name", ["cuda:0", "CUDA:0", NAME])
def test_a_clock_is_found_by_its_names(machine, name):
    ((found, clock, _),) = machine.find(name)
    assert found == NAME
    assert machine.short_name(found) == "cuda:0"
    assert clock in {entry.clock for entry in machine.everything()}
    assert clock not in {entry.clock for entry in machine.find("host")}


def test_all_devices_and_those_that_are_not_there(machine):
    assert [entry.name for entry in machine.find("cuda")] == [NAME, NAME.replace("a0", "a1")]
    with pytest.raises(SourceError, match=r"no clock cuda:3 here: there are .*cuda:1"):
        machine.find("cuda:3")


@pytest.mark.parametrize(
    ("clock", "says"),
    [
        (time.CLOCK_REALTIME, r"; CUPTI's timestamps are of REALTIME$"),
        (time.CLOCK_MONOTONIC_RAW, r"; CUPTI's timestamps are of MONOTONIC_RAW$"),
        (time.CLOCK_PROCESS_CPUTIME_ID, r"; CUPTI's timestamps are of none of the host's clocks$"),
    ],
)
def test_the_clock_of_cupti_is_named_by_what_it_reads(driver, folder, monkeypatch, clock, says):
    cupti = FakeDriver(library("cupti", folder))
    cupti.set(clock=clock)
    libraries = ("libcupti-of-nowhere.so", "libc.so.6", cupti.path)
    real = partial(cuda.cupti_timer, libraries)
    monkeypatch.setattr(cuda, "cupti_timer", real)
    with opened(CudaDevices(driver.path)) as device:
        assert re.search(says, device.note(device.clock))
        cupti.fail("cuptiGetTimestamp", 999)
        assert "CUPTI gives no timestamps: cuptiGetTimestamp failed (999)" in device.note(
            device.clock
        )


def test_without_cupti_nothing_is_said_of_it(driver, monkeypatch):
    monkeypatch.setattr(cuda, "cupti_timer", partial(cuda.cupti_timer, ()))
    with opened(CudaDevices(driver.path)) as device:
        assert device.note(device.clock) == "Fake GPU 0, read by a kernel that stores %globaltimer"


def test_a_device_that_is_lost_is_left_out_of_the_snapshots(driver):
    with (
        opened(CudaDevices(driver.path)) as device,
        tt.Sampler(sources=[PosixSource(), device], tries=1) as sampler,
    ):
        assert not sampler.sample().failed
        driver.fail("cuStreamQuery", LAUNCH_FAILED)
        sample = sampler.sample()
        assert "an error (719)" in sample.failed[device.clock]
        assert MONOTONIC_RAW in sample.snapshot.readings
        driver.fail("cuStreamQuery", 0)
        assert not sampler.sample().failed


def test_a_clock_that_goes_back_is_told(driver):
    with (
        opened(CudaDevices(driver.path)) as device,
        tt.Sampler(sources=[PosixSource(), device], tries=1) as sampler,
    ):
        assert not sampler.sample().findings
        driver.set(back_at=driver.get("reads") + 1, back_ns=10**9)
        (finding,) = sampler.sample().findings
        assert finding.clock == NAME
        assert "back" in finding.message


def test_a_recording_holds_when_the_device_worked(driver, tmp_path):
    driver.set(ahead_ns=10**15, ppm=50)
    path = tmp_path / "gpu.pftrace"
    with opened(CudaDevices(driver.path)) as device:
        with tt.Sampler(sources=[PosixSource(), device]) as sampler:
            with tt.record(path, interval=0.02, sampler=sampler) as rec:
                before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                (stamp,) = device.stamp()
                after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                rec.instant("kernel", timestamp=stamp, clock=NAME)
    with tt.open_trace(path) as trace:
        (row,) = trace.read_all(policy="tube").to_pylist()
        assert row["earliest"] <= after
        assert row["latest"] >= before
        assert trace.clocks.clock("cuda:0") == device.clock
