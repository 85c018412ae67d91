"""Where did the GPU's work lie on the host's clock? Calibrated snapshots around stamped work.

    python examples/vulkan_gpu_work.py

Needs a Vulkan driver with calibrated timestamps; lavapipe, in software, will do (Debian:
libvulkan1, mesa-vulkan-drivers). Where drivers of absent hardware spoil it, name one:
VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import tracetime as tt
from tracetime.sources.vulkan import VulkanDevice

HOST = "MONOTONIC"


class Work(NamedTuple):
    """One submit: the host's readings around it (ns), and the device's stamps in it (raw ticks)."""

    before_ns: int
    ticks: list[int]
    after_ns: int


def do_work(device: VulkanDevice, submits: int) -> list[Work]:
    """Let the device fill memory, and stamp when it begins and ends."""
    done = []
    for _ in range(submits):
        before_ns = time.monotonic_ns()
        ticks = device.queue.stamp(count=2, work=4)
        done.append(Work(before_ns, ticks, time.monotonic_ns()))
        time.sleep(0.01)
    return done


def main() -> int:
    try:
        sampler = tt.Sampler([HOST, "vulkan:0"])
    except tt.SourceError as error:
        print(error, file=sys.stderr)
        return 4
    with sampler:
        gpu = next(clock for clock, name in sampler.names.items() if "vulkan" in name)
        device = sampler.source(gpu)
        assert isinstance(device, VulkanDevice)
        print(f"{device.label}: a tick of {float(device.ns_per_tick):g} ns, "
              f"{device.valid_bits} valid bits, {device.extension}")  # fmt: skip

        # A snapshot before and one after: between them the graph corrects the drift.
        graph = tt.ClockGraph(domains=sampler.snapshot_domains)
        first = sampler.sample()
        graph.add_snapshot(first.snapshot)
        done = do_work(device, submits=10)
        graph.add_snapshot(sampler.sample().snapshot)

    half_ns = int(first.snapshot.half_width_ns[gpu][0])
    print(f"the device was read within {half_ns} ns of where {sampler.names[sampler.reference]} "
          "says\n\nsubmit     began after    took      host saw it end after    bar")  # fmt: skip
    inside = 0
    for number, work in enumerate(done):
        # Snapshots hold the device's clock in ns, without its wraps; so become raw ticks.
        ns = [first.nominal_ns(gpu, ticks) for ticks in work.ticks]
        told = graph.convert(ns, gpu, HOST, policy="tube", bounds=True)
        began, ended = (int(value) for value in told.estimate)
        bar = int((told.latest - told.earliest).max()) // 2
        inside += work.before_ns - bar <= began <= ended <= work.after_ns + bar
        print(f"{number:6} {began - work.before_ns:12,} ns {ended - began:9,} ns "
              f"{work.after_ns - ended:18,} ns {bar:9,} ns")  # fmt: skip
    print(f"\n{inside} of {len(done)} inside the host's readings around them")
    return 0 if inside == len(done) else 1


if __name__ == "__main__":
    sys.exit(main())
