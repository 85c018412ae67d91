"""Record work of a GPU in the GPU's clock, and convert it to the host's clock.

    python examples/vulkan_gpu_work.py [gpu_work.pftrace]

Records a Perfetto trace: readings of the host's clock around each submit, and the timestamps that
the device writes during it (vkCmdWriteTimestamp), as raw ticks of its own clock. Calibrated
snapshots connect the two clocks. The trace is then read back: each timestamp of the device must be
between the host's readings. ui.perfetto.dev shows the same trace on one timeline.

Needs a Vulkan driver with calibrated timestamps, such as lavapipe, which is software (Debian:
libvulkan1, mesa-vulkan-drivers). Where drivers of absent hardware fail, name the one to use:
VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import tracetime as tt
from tracetime.sources.vulkan import VulkanDevice

HOST = "MONOTONIC"
SUBMITS = 10
EACH = 4
"""Events of a submit: a reading of the host, two of the device, and one of the host."""


def record_work(path: Path, sampler: tt.Sampler, gpu: tt.ClockId) -> None:
    """Let the device fill memory; record when that began and ended, in both clocks."""
    device = sampler.source(gpu)
    assert isinstance(device, VulkanDevice)
    print(
        f"{device.label}: a tick of {float(device.ns_per_tick):g} ns, "
        f"{device.valid_bits} valid bits, {device.extension}"
    )
    with tt.record(path, interval=0.05, sampler=sampler) as rec:
        on_host, on_device = rec.track("submits"), rec.track("GPU")
        for number in range(SUBMITS):
            before_ns = time.monotonic_ns()
            began, ended = device.queue.stamp(count=2, work=4)
            after_ns = time.monotonic_ns()
            rec.begin(f"submit {number}", timestamp=before_ns, clock=HOST, track=on_host)
            rec.begin("fill", timestamp=began, clock=gpu, track=on_device)
            rec.end(timestamp=ended, clock=gpu, track=on_device)
            rec.end(timestamp=after_ns, clock=HOST, track=on_host)
            time.sleep(0.02)


def show(path: Path) -> int:
    """Read the trace by both policies; return how many submits contain the device's timestamps."""
    with tt.open_trace(path) as trace:
        floor = trace.read_all("floor")["trace_time"].to_pylist()
        tube = trace.read_all("tube").to_pydict()
    print("\nsubmit    began after         took   host saw it end after       bar   floor off by")
    inside = 0
    for number in range(SUBMITS):
        at = slice(EACH * number, EACH * (number + 1))
        before, began, ended, after = tube["trace_time"][at]
        bounds = list(zip(tube["earliest"][at], tube["latest"][at], strict=True))
        bar = max(latest - earliest for earliest, latest in bounds) // 2
        # Floor ignores the drift since the snapshot before, and has no bars.
        off = max(abs(a - b) for a, b in zip(floor[at], tube["trace_time"][at], strict=True))
        inside += before - bar <= began <= ended <= after + bar
        print(
            f"{number:6} {began - before:11,} ns {ended - began:9,} ns {after - ended:20,} ns "
            f"{bar:6,} ns {off:11,} ns"
        )
    print(f"\n{inside} of {SUBMITS} inside the host's readings around them")
    return inside


def main() -> int:
    try:
        sampler = tt.Sampler([HOST, "BOOTTIME", "vulkan:0"])
    except tt.SourceError as error:
        print(error, file=sys.stderr)
        return 4
    with sampler, tempfile.TemporaryDirectory() as folder:
        gpu = next(clock for clock, name in sampler.names.items() if "vulkan" in name)
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "gpu_work.pftrace"
        record_work(path, sampler, gpu)
        return 0 if show(path) == SUBMITS else 1


if __name__ == "__main__":
    sys.exit(main())
