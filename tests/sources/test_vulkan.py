"""Vulkan for real: what its devices say, promise and stamp. On lavapipe, or a GPU that is there."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
import threading

import pytest
from places import ROOT
from promised import check_promises
from vulkan import environment, instance, settings_folder, validation  # noqa: F401 - fixtures

from tracetime import ClockGraph, Sampler, SourceError, UsageError, open_trace, record
from tracetime.clocks.ids import ClockId, clock_id
from tracetime.sources import vulkan_api as api
from tracetime.sources import vulkan_queue
from tracetime.sources.local import LocalClocks
from tracetime.sources.posix import PosixSource
from tracetime.sources.vulkan import FORMS, VulkanDevice, VulkanInstance, _list_of

EXAMPLE = ROOT / "examples" / "vulkan_gpu_work.py"
pytestmark = pytest.mark.usefixtures("instance")


def test_layouts_are_those_of_the_header():
    assert ctypes.sizeof(api.PhysicalDeviceProperties) == 824
    assert api.PhysicalDeviceProperties.limits.offset == 296
    assert api.Limits.timestamps_everywhere.offset == 420
    assert api.Limits.period.offset == 424
    assert ctypes.sizeof(api.Limits) == 504
    assert ctypes.sizeof(api.CalibratedTimestampInfo) == 24
    assert ctypes.sizeof(api.QueueFamilyProperties) == 24
    assert ctypes.sizeof(api.ExtensionProperties) == 260


def test_devices_are_named_by_their_uuid(instance):  # noqa: F811
    names = [device.name for device in instance.devices]
    assert len(set(names)) == len(names)
    for device in instance.devices:
        assert device.name.startswith("dev.tracetime.vulkan.")
        assert len(device.name.split(".")[3]) == 32
        assert device.clock == ClockId(clock_id(device.name))
        assert device.label
        assert device.has_device_domain
        assert device.host_clocks
        assert 36 <= device.valid_bits <= 64
        assert device.ns_per_tick > 0
        domain = device.domain(device.clock)
        assert domain.tick_ns >= device.ns_per_tick
        assert domain.valid_bits == device.valid_bits
        assert device.extension.startswith("VK_")


def test_further_devices_of_one_uuid_are_numbered(instance):  # noqa: F811
    first = instance.devices[0]
    seen = {first.name.split(".")[3]: 2}
    again = VulkanDevice(instance, first._physical, seen)
    assert again.name == f"{'.'.join(first.name.split('.')[:4])}.2"
    assert again.clock != first.clock
    again.close()


def test_raw_ticks_are_kept(instance):  # noqa: F811
    device = instance.devices[0]
    read = device.read_together(device.clock, device.host_clocks[0])
    later = device.read_together(device.clock, device.host_clocks[0])
    assert (later.device_ticks - read.device_ticks) % 2**device.valid_bits > 0
    assert later.host > read.host
    assert read.max_deviation_ns >= 0


def test_clocks_that_it_does_not_calibrate_are_refused(instance):  # noqa: F811
    device = instance.devices[0]
    with pytest.raises(SourceError, match="does not calibrate REALTIME"):
        device.read_together(device.clock, ClockId(1))
    with pytest.raises(SourceError, match="is not the clock of"):
        device.read_together(ClockId(3), ClockId(3))


def test_domains_that_nobody_knows_are_listed(instance, monkeypatch):  # noqa: F811
    from tracetime.sources import vulkan

    def with_new_ones(kind, what, ask):
        found = _list_of(kind, what, ask)
        return [*found, 1_000_208_000, 77] if "time domains" in what else found

    monkeypatch.setattr(vulkan, "_list_of", with_new_ones)
    device = VulkanDevice(instance, instance.devices[0]._physical, {})
    assert {1_000_208_000, 77} <= set(device.unknown_domains)
    assert {(1_000_208_000, None), (77, None)} <= set(device.time_domains)
    assert device.time_domains[0] == (0, "DEVICE")
    device.close()


@pytest.mark.parametrize("domains", [[1, 2], [0], [0, 1_000_208_000], []])
def test_its_own_domain_and_one_of_the_host_are_needed(instance, monkeypatch, domains):  # noqa: F811
    from tracetime.sources import vulkan

    monkeypatch.setattr(
        vulkan,
        "_list_of",
        lambda kind, what, ask: domains if "time domains" in what else _list_of(kind, what, ask),
    )
    made = VulkanInstance()
    assert not made.devices
    assert "its own clock (0) and one of the host" in made.unavailable[0].reason
    made.close()


def test_the_khr_form_comes_first(instance, monkeypatch):  # noqa: F811
    calls = []
    offered = {form[0] for form in FORMS}
    monkeypatch.setattr(VulkanDevice, "_extensions", lambda self: offered)
    monkeypatch.setattr(VulkanDevice, "_read_domains", lambda self, form: calls.append(form))
    monkeypatch.setattr(VulkanDevice, "_open", lambda self, extensions: calls.append(extensions[0]))
    with contextlib.suppress(SourceError):  # an older loader has no such function
        VulkanDevice(instance, instance.devices[0]._physical, {})
    assert calls == ["KHR", b"VK_KHR_calibrated_timestamps"]
    offered.discard(b"VK_KHR_calibrated_timestamps")
    VulkanDevice(instance, instance.devices[0]._physical, {})
    assert calls[2:] == ["EXT", b"VK_EXT_calibrated_timestamps"]
    offered.clear()
    with pytest.raises(SourceError, match="neither VK_KHR"):
        VulkanDevice(instance, instance.devices[0]._physical, {})


def test_a_device_that_is_closed_is_an_error_of_the_machine(instance):  # noqa: F811
    device = instance.devices[0]
    device.close()
    with pytest.raises(SourceError, match="closed"):
        device.read_together(device.clock, device.host_clocks[0])


def test_the_promises_are_kept(instance):  # noqa: F811
    hosts = PosixSource()
    for device in instance.devices:
        found = check_promises(device, hosts)
        # How long a batch takes is the machine's affair: it may be busy.
        kept = [finding for finding in found if finding.code != "slow_batch"]
        assert [finding for finding in kept if finding.severity == "error"] == []


def test_work_is_stamped_between_the_hosts_readings(instance):  # noqa: F811
    """vkCmdWriteTimestamp, converted by calibrated snapshots taken around the work."""
    hosts = PosixSource()
    with Sampler(["vulkan:0", "MONOTONIC"]) as sampler:
        clock = next(c for c, name in sampler.names.items() if name.startswith("dev.tracetime.v"))
        device = sampler.source(clock)
        graph = ClockGraph(domains=sampler.snapshot_domains)
        first = sampler.sample()
        graph.add_snapshot(first.snapshot)
        rounds = []
        for _ in range(20):
            before = hosts.read(ClockId(5))
            stamps = device.queue.stamp(3, work=1)
            rounds.append((before, stamps, hosts.read(ClockId(5))))
        graph.add_snapshot(sampler.sample().snapshot)
    for before, stamps, after in rounds:
        assert stamps == sorted(stamps)
        ns = [first.nominal_ns(clock, ticks) for ticks in stamps]
        bounds = graph.convert(ns, clock, ClockId(5), policy="tube", bounds=True)
        assert (bounds.latest >= before).all()
        assert (bounds.earliest <= after).all()
        # The estimates themselves lie there, give or take the bar.
        slack = int((bounds.latest - bounds.earliest).max())
        assert before - slack <= int(bounds.estimate.min())
        assert int(bounds.estimate.max()) <= after + slack


def test_recorded_work_lies_between_the_hosts_readings(instance, tmp_path):  # noqa: F811
    """vkCmdWriteTimestamp as track events in the device's clock, raw, and read back from the trace.

    By both policies. The floor's offset is that of the snapshot before: it may be off by the drift
    since, but not by how long it took to read the device.
    """
    path = tmp_path / "gpu.pftrace"
    hosts = PosixSource()
    rounds, ages_ns = 60, []
    with Sampler(["vulkan:0", "MONOTONIC", "BOOTTIME"]) as sampler:
        clock = next(c for c, name in sampler.names.items() if name.startswith("dev.tracetime.v"))
        device = sampler.source(clock)
        with record(path, interval=None, sampler=sampler) as rec:
            gpu = rec.track("GPU")
            for number in range(rounds):
                if number % 5 == 0:
                    taken_ns = rec.snapshot().readings[ClockId(6)].value
                before = hosts.read(ClockId(6))
                stamps = device.queue.stamp(3, work=1)
                after = hosts.read(ClockId(6))
                ages_ns.append(after - taken_ns)
                rec.instant("before", timestamp=before, clock="BOOTTIME", track="host")
                for stamp in stamps:
                    rec.instant("stamp", timestamp=stamp, clock=clock, track=gpu)
                rec.instant("after", timestamp=after, clock="BOOTTIME", track="host")
            snapshots = rec.snapshots
    with open_trace(path) as trace:
        assert trace.trace_clock == ClockId(6)
        assert trace.recorded_domains[clock].name == device.name
        floor, tube = trace.read_all(), trace.read_all("tube").to_pydict()
        assert trace.clocks.clocks()[0].snapshots == snapshots + 1
    assert set(floor["status"].to_pylist()) == set(tube["status"]) == {"resolved"}
    numbers = [6, clock.clock, clock.clock, clock.clock, 6]
    assert floor["clock"].to_pylist() == numbers * rounds
    times = floor["trace_time"].to_pylist()
    assert len(times) == 5 * rounds
    for at in range(0, len(times), 5):
        before, after = times[at], times[at + 4]
        bars = list(zip(tube["earliest"], tube["latest"], strict=True))[at + 1 : at + 4]
        assert all(earliest <= after and before <= latest for earliest, latest in bars)
        width = max(latest - earliest for earliest, latest in bars)
        drifted = width + ages_ns[at // 5] // 1_000
        for estimates, slack in ((tube["trace_time"], width), (times, drifted)):
            stamps = estimates[at + 1 : at + 4]
            assert stamps == sorted(stamps)
            assert before - slack <= stamps[0] and stamps[-1] <= after + slack


def test_what_is_predicted_of_a_device_comes_true(instance):  # noqa: F811
    with Sampler(["vulkan:0"]) as sampler:
        clock = next(c for c, name in sampler.names.items() if name.startswith("dev.tracetime.v"))
        hosts = PosixSource()
        sample = sampler.sample()
        before = hosts.read(ClockId(5))
        stamp = sampler.source(clock).queue.stamp(1)[0]
        after = hosts.read(ClockId(5))
        assert sample.predict(clock, before).earliest <= stamp
        assert stamp <= sample.predict(clock, after).latest


@pytest.mark.parametrize(("count", "work"), [(0, 0), (65, 0), (1, -1)])
def test_more_stamps_than_there_is_room_for_are_refused(instance, count, work):  # noqa: F811
    with pytest.raises(UsageError, match="count"):
        instance.devices[0].queue.stamp(count, work)


def test_threads_share_a_queue(instance):  # noqa: F811
    """One command buffer: what they wrote into it at once, the device ran into the void with."""
    device = instance.devices[0]
    begin = threading.Barrier(4)
    wrong = []

    def work() -> None:
        begin.wait()
        for _ in range(100):
            stamps = device.queue.stamp(3, work=1)
            if stamps != sorted(stamps) or len(stamps) != 3:
                wrong.append(stamps)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_work_that_took_too_long_leaves_the_queue_usable(instance, monkeypatch):  # noqa: F811
    queue = instance.devices[0].queue
    before = queue.stamp(1)[0]
    monkeypatch.setattr(vulkan_queue, "_WAIT_NS", 1)
    for _ in range(2):  # while it is under way there is no other
        with pytest.raises(SourceError, match="has not done its work in 10 s"):
            queue.stamp(2, work=2_000)
    monkeypatch.undo()
    for _ in range(3):
        after = queue.stamp(2, work=1)
        assert before <= after[0] <= after[1]
        before = after[1]


def test_a_handler_that_interrupts_work_does_not_wait_for_it(instance, monkeypatch):  # noqa: F811
    queue = instance.devices[0].queue
    results, refused = queue._results, []

    def interrupted(count):
        with pytest.raises(SourceError, match="interrupts work of"):
            queue.stamp(1)
        refused.append(count)
        return results(count)

    monkeypatch.setattr(queue, "_results", interrupted)
    assert len(queue.stamp(2)) == 2
    assert refused == [2]


def test_a_queue_that_was_closed_is_an_error_of_the_machine(instance):  # noqa: F811
    queue = instance.devices[0].queue
    instance.devices[0].close()
    with pytest.raises(SourceError, match="was closed"):
        queue.stamp(1)
    with pytest.raises(SourceError, match="was closed"):
        instance.devices[0].queue.stamp(1)


def test_the_validation_layer_watches(instance, validation, monkeypatch):  # noqa: F811
    """Fills of the same memory without barriers are reported; with barriers nothing is."""
    if not validation.installed:
        pytest.skip("no validation layer: Debian's package vulkan-validationlayers")
    queue = instance.devices[0].queue
    queue.stamp(3, work=3)
    assert validation.messages() == []
    call = queue._call
    monkeypatch.setattr(
        queue,
        "_call",
        lambda name, *types, **more: (
            (lambda *_: None) if name == "vkCmdPipelineBarrier" else call(name, *types, **more)
        ),
    )
    queue.stamp(3, work=3)
    assert "SYNC-HAZARD-WRITE-AFTER-WRITE" in "".join(validation.messages())


def test_vulkan_by_position_and_altogether(instance):  # noqa: F811
    local = LocalClocks()
    found = local.find("vulkan")
    assert [one.name for one in found] == [device.name for device in instance.devices]
    assert local.find(found[0].name)[0].clock == found[0].clock
    with pytest.raises(SourceError, match="no clock vulkan:99 here"):
        local.find("vulkan:99")
    local.close()


def test_events_name_a_device_as_the_recording_does(tmp_path, instance):  # noqa: F811
    path = tmp_path / "short.pftrace"
    name = instance.devices[0].name
    position = next(iter(instance.numbered))
    with record(path, [f"vulkan:{position}"], interval=None) as rec:
        assert rec.short_names[name] == f"vulkan:{position}"
        stamp = instance.devices[0].calibrate([instance.devices[0].clock])[0][0]
        rec.instant("work", timestamp=stamp, clock=f"vulkan:{position}")
        with pytest.raises(UsageError, match="vulkan:99"):
            rec.instant("work", timestamp=stamp, clock="vulkan:99")
    with open_trace(path) as trace:
        (row,) = trace.read_all().to_pylist()
    assert row["clock"] == clock_id(name)
    assert row["status"] == "resolved"


def test_the_position_of_a_device_among_others_is_kept(instance):  # noqa: F811
    local = LocalClocks()
    local.everything()
    device = instance.devices[0]
    opened = local._opened["vulkan"]
    opened.numbered = {3: device}  # as if three others had no calibrated timestamps
    assert local.short_name(device.name) == "vulkan:3"
    assert local.find("vulkan:3")[0].clock == device.clock
    local.close()


def test_without_a_loader_the_message_says_what_to_install():
    with pytest.raises(SourceError, match="apt-get install libvulkan1"):
        VulkanInstance("libvulkan-of-nowhere.so.1")


def test_a_driver_that_cannot_be_loaded_leaves_no_device(tmp_path, monkeypatch):
    for name in environment() or ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(name, str(tmp_path / "none.json"))
    local = LocalClocks()
    assert "vulkan" in {entry.name for entry in local.unavailable}
    local.close()


def test_the_example_runs(tmp_path):
    import os

    path = tmp_path / "gpu.pftrace"
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(path)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment()},
    )
    assert done.returncode == 0, done.stderr
    assert "10 of 10 inside" in done.stdout
    with open_trace(path) as trace:
        clocks = trace.read_all()["clock"].to_pylist()
    assert len(clocks) == 40 and len(set(clocks)) == 2
