"""Where did the GPU's work lie on the host's clock? Recorded in the GPU's clock, and converted.

    python examples/vulkan_gpu_work.py [gpu_work.pftrace]

Records a Perfetto trace: the host's clock around each submit, and what the device stamped in it
(vkCmdWriteTimestamp), as raw ticks of the device's own clock. Calibrated snapshots, taken while it
is recorded, tie the two together. The trace is then read back, and each stamp looked for between
the host's readings; ui.perfetto.dev shows the same trace on one timeline.

Needs a Vulkan driver with calibrated timestamps; lavapipe, in software, will do (Debian:
libvulkan1, mesa-vulkan-drivers). Where drivers of absent hardware spoil it, name one:
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
"""Events of a submit, in this order: the host's reading before, two stamps, the reading after."""


def record_work(path: Path, sampler: tt.Sampler, gpu: tt.ClockId) -> None:
    """Let the device fill memory; record when it began and ended, and the host's view of it."""
    device = sampler.source(gpu)
    assert isinstance(device, VulkanDevice)
    print(f"{device.label}: a tick of {float(device.ns_per_tick):g} ns, "
          f"{device.valid_bits} valid bits, {device.extension}")  # fmt: skip
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
    """Read the trace back by both policies; how many submits hold the stamps made in them."""
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
        # Perfetto's own rule knows no bars, and nothing of the drift since the snapshot before.
        off = max(abs(a - b) for a, b in zip(floor[at], tube["trace_time"][at], strict=True))
        inside += before - bar <= began <= ended <= after + bar
        print(f"{number:6} {began - before:11,} ns {ended - began:9,} ns {after - ended:20,} ns "
              f"{bar:6,} ns {off:11,} ns")  # fmt: skip
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
