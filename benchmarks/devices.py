"""Clocks of devices, measured: python -m benchmarks.devices KIND [--seconds 60] [-o FILE]

`opencl`: the first OpenCL device. On pocl its clock is MONOTONIC_RAW, so the truth is known. `arm`:
the counter of 64-bit Arm, cross-built and run under qemu-user. `gpu`: the clocks of a GPU, each
against readings of the host around its stamps. `pytorch`: the times of PyTorch's profiler against
the GPU's timer; it needs PyTorch and a GPU of NVIDIA. All print JSON: benchmarks/results has runs.
The exit code is 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tracetime as tt
from tracetime._kernels import capture as sampling
from tracetime.capture.promise_checks import check
from tracetime.sources import opencl_api as api
from tracetime.sources.device import CalibratedDevice

Values = npt.NDArray[np.int64]

SPACING_S = 0.1
EVENTS_EACH = 4
SLEWED_PPM = 500
"""How far NTP slews REALTIME, which qemu's counter is."""

PROGRAM = Path(__file__).parents[1] / "tests" / "helpers" / "arm_counter_main.c"


def spread(values: Values) -> dict[str, int]:
    """Quantiles, ns."""
    at = {"min": 0.0, "median": 0.5, "p99": 0.99, "max": 1.0}
    return {name: int(np.quantile(values, part, method="lower")) for name, part in at.items()}


def machine() -> dict[str, object]:
    """What it was measured on."""
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    return {
        "processor": cpu[0].partition(":")[2].strip() if cpu else platform.machine(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "tracetime": tt.__version__,
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def drift_ppm(at_ns: Values, offset_ns: Values, half_ns: Values) -> tuple[float, float]:
    """The slope of an offset by least squares, of the narrower half; how far off that can be."""
    narrow = half_ns <= np.median(half_ns)
    x = (at_ns - at_ns[0])[narrow].astype(np.float64)
    x -= x.mean()
    y = (offset_ns - offset_ns[0])[narrow].astype(np.float64)
    squares = float((x * x).sum())
    most = float((np.abs(x) * half_ns[narrow]).sum())
    return float((x * y).sum()) / squares * 1e6, most / squares * 1e6


def measure_opencl(seconds: float) -> tuple[dict[str, Any], dict[str, bool]]:
    """The first OpenCL device: snapshots, and commands as events between them."""
    rows, stamps = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        tt.Sampler(["opencl:0", "MONOTONIC_RAW"]) as sampler,
    ):
        clock = next(one for one, name in sampler.short_names.items() if name == "opencl:0")
        device = sampler.source(clock)
        assert isinstance(device, CalibratedDevice)
        raw = tt.ClockId.parse("MONOTONIC_RAW")
        path = Path(folder) / "run.pftrace"
        with tt.record(path, interval=1.0, sampler=sampler):
            for _ in range(round(seconds / SPACING_S)):
                snapshot = sampler.sample().snapshot
                if clock in snapshot.readings:
                    values = [snapshot.readings[one].value for one in (raw, clock)]
                    beside = snapshot.centre_ns[clock][0], snapshot.half_width_ns[clock][0]
                    rows.append([*values, *beside])
                stamps += device.stamp(EVENTS_EACH)
                time.sleep(SPACING_S)
        with tt.open_trace(path) as trace:
            placed = trace.clocks.convert(
                stamps, clock, "MONOTONIC_RAW", policy="tube", bounds=True
            )
        note, domain = sampler.notes[clock], sampler.domains[clock]
    raw_ns, shown_ns, centre_ns, half_ns = np.array(rows, dtype=np.int64).T
    offset_ns = shown_ns - raw_ns - centre_ns
    events = np.array(stamps, dtype=np.int64)
    outside = (placed.earliest > events) | (placed.latest < events)
    (_, kept), _ = check(["opencl:0"])
    drift, most = drift_ppm(raw_ns, offset_ns, half_ns)
    found: dict[str, Any] = {
        "device": note,
        "platform": [api.text(one) for one in _platform_versions()],
        "tick_ns": domain.tick_ns,
        "snapshots": len(rows),
        "half_width_ns": spread(half_ns),
        "error_ns": spread(np.abs(offset_ns)),
        "snapshots_outside": int((np.abs(offset_ns) > half_ns).sum()),
        "drift_ppm": round(drift, 4),
        "drift_known_to_ppm": round(most, 4),
        "events": len(events),
        "events_outside": int(outside.sum()),
        "event_bar_ns": spread(placed.latest - placed.earliest),
        "promises": {one.promise: one.holds for one in kept.promises},
    }
    return found, {
        "the device's clock is MONOTONIC_RAW: the truth is known": "MONOTONIC_RAW" in note,
        "every snapshot holds the truth": found["snapshots_outside"] == 0,
        "every event's bar holds the truth": found["events_outside"] == 0,
        "the drift is 0 within the half-widths": abs(drift) <= most,
        "all promises hold": all(found["promises"].values()),
    }


def measure_gpu(seconds: float) -> tuple[dict[str, Any], dict[str, bool]]:
    """Each clock of a GPU, for a part of the time."""
    with tt.Sampler(["vulkan", "cuda", "opencl", "MONOTONIC_RAW"]) as sampler:
        names = [name for name in sampler.short_names.values() if name != "MONOTONIC_RAW"]
    found = {name: measure_stamps(name, seconds / len(names)) for name in names}
    return found, {
        "every bar of an event and the host's readings around it have a time in common": all(
            one["events_outside"] == 0 for one in found.values()
        ),
        "all promises hold": all(all(one["promises"].values()) for one in found.values()),
    }


def measure_stamps(name: str, seconds: float) -> dict[str, Any]:
    """Stamps of a device as events, each between two readings of MONOTONIC_RAW."""
    stamps, before_ns, after_ns = [], [], []
    end_s = time.monotonic() + seconds
    with (
        tempfile.TemporaryDirectory() as folder,
        tt.Sampler([name, "MONOTONIC_RAW"]) as sampler,
    ):
        clock = next(one for one, short in sampler.short_names.items() if short == name)
        device = sampler.source(clock)
        assert isinstance(device, CalibratedDevice)
        path = Path(folder) / "run.pftrace"
        with tt.record(path, interval=0.5, sampler=sampler):
            while time.monotonic() < end_s:
                before_ns.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
                stamps += device.stamp(1)
                after_ns.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
                time.sleep(0.002)
        with tt.open_trace(path) as trace:
            placed = trace.clocks.convert(
                stamps, clock, "MONOTONIC_RAW", policy="tube", bounds=True
            )
        note, domain = sampler.notes[clock], sampler.domains[clock]
    before, after = np.array(before_ns), np.array(after_ns)
    (_, kept), _ = check([name])
    return {
        "device": note,
        "tick_ns": domain.tick_ns,
        "events": len(stamps),
        "events_outside": int(((placed.latest < before) | (placed.earliest > after)).sum()),
        "estimates_outside": int(((placed.estimate < before) | (placed.estimate > after)).sum()),
        "event_bar_ns": spread(placed.latest - placed.earliest),
        "host_readings_apart_ns": spread(after - before),
        "promises": {one.promise: one.holds for one in kept.promises},
    }


def measure_pytorch(seconds: float) -> tuple[dict[str, Any], dict[str, bool]]:
    """What PyTorch's profiler says of kernels that store the timer, and of ranges of the host.

    A kernel that stores 4,096 readings takes long enough to be told from those of snapshots.
    """
    from torch import profiler  # the one measure that needs it

    rounds, first, last = [], [], []
    kinds = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
    with (
        tempfile.TemporaryDirectory() as folder,
        tt.Sampler(["cuda:0", "MONOTONIC_RAW", "REALTIME"]) as sampler,
    ):
        clock = next(one for one, name in sampler.short_names.items() if name == "cuda:0")
        device = sampler.source(clock)
        assert isinstance(device, CalibratedDevice)
        path, profile_path = Path(folder) / "run.pftrace", Path(folder) / "profile.json"
        with tt.record(path, interval=0.25, sampler=sampler):
            with profiler.profile(activities=kinds) as profile:
                # The first profiler of a machine takes seconds to begin.
                end_s = time.monotonic() + seconds
                while time.monotonic() < end_s:
                    before_ns = time.time_ns()
                    with profiler.record_function("round"):
                        stamps = device.stamp(device.most_stamps)
                    rounds.append((before_ns, time.time_ns()))
                    first.append(stamps[0])
                    last.append(stamps[-1])
                    time.sleep(0.02)
            profile.export_chrome_trace(str(profile_path))
        with tt.open_trace(path) as trace:
            begins, ends = (
                trace.clocks.convert(at, clock, "REALTIME", policy="tube", bounds=True)
                for at in (first, last)
            )
        with tt.open_trace(profile_path) as trace:
            kernels = _wall_times(trace, "name = 'stamp' and dur >= 20000")
            ranges = _wall_times(trace, "name = 'round'")
        note = sampler.notes[clock]
    assert len(kernels) == len(ranges) == len(rounds), "the profiler lost some"
    rounds_ns = np.array(rounds)
    found: dict[str, Any] = {
        "device": note,
        "kernels": len(kernels),
        "bar_ns": spread(begins.latest - begins.earliest),
        "kernel_begins_after_its_first_reading_ns": spread(kernels[:, 0] - begins.estimate),
        "kernel_ends_after_its_last_reading_ns": spread(kernels[:, 1] - ends.estimate),
        "range_begins_after_the_host_read_ns": spread(ranges[:, 0] - rounds_ns[:, 0]),
        "range_ends_after_the_host_read_ns": spread(ranges[:, 1] - rounds_ns[:, 1]),
    }
    return found, {}


def _wall_times(trace: tt.Trace, condition: str) -> Values:
    """When slices began and ended, of REALTIME, a row each."""
    query = (
        "select epoch_ns(wall_time), epoch_ns(wall_time) + dur from slices "
        f"where category in ('kernel', 'user_annotation') and {condition} order by 1"
    )
    return np.array([column.to_numpy() for column in trace.sql(query).columns], dtype=np.int64).T


def _platform_versions() -> list[bytes]:
    cl = api.OpenCl()
    return [cl.platform_info(one, api.PLATFORM_VERSION) for one in cl.platforms()]


def measure_arm(seconds: float) -> tuple[dict[str, Any], dict[str, bool]]:
    """The counter of 64-bit Arm against MONOTONIC_RAW, under qemu-user."""
    compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"
    missing = [name for name in (compiler, emulator) if shutil.which(name) is None]
    if missing:
        sys.exit(f"{' and '.join(missing)} is not installed: see tools/system-packages")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        include = f"-I{Path(sampling.__file__).parent / 'capture'}"
        command = [compiler, "-O2", "-static", include, "-o", str(program), str(PROGRAM)]
        subprocess.run(command, check=True)
        lines = str(round(seconds / 0.02))
        out = subprocess.run(
            [emulator, str(program), lines], check=True, capture_output=True, text=True
        )
    (is_there, hz), *reads = [
        [int(word) for word in line.split()] for line in out.stdout.split("\n")[:-1]
    ]
    before, ticks, after = np.array(reads, dtype=np.int64).T
    ns_per_tick = Fraction(10**9, hz)
    # Differences fit, and products of them: a counter of 1 GHz for a minute is 2^36.
    shown_ns = (ticks - ticks[0]) * ns_per_tick.numerator // ns_per_tick.denominator
    middle_ns = (before + after) // 2
    half_ns = (after - before + 1) // 2
    drift, most = drift_ppm(middle_ns, shown_ns - middle_ns, half_ns)
    passed_ns = [int(after[-1] - before[0]), int(before[-1] - after[0])]
    tolerance = Fraction(SLEWED_PPM + 100, 10**6)
    tick_ns = int(-(-ns_per_tick // 1))
    found: dict[str, Any] = {
        "emulator": _version(emulator),
        "compiler": _version(compiler),
        "hz": hz,
        "readings": len(reads),
        "half_width_ns": spread(half_ns),
        "drift_ppm": round(drift, 4),
        "drift_known_to_ppm": round(most, 4),
    }
    return found, {
        "the counter and its rate are there": is_there == 1 and hz >= 1_000_000,
        "it never goes back": bool((np.diff(ticks) >= 0).all()),
        "it counts what it says, within 600 ppm and the brackets": bool(
            (1 - tolerance) * passed_ns[1] - tick_ns
            <= int(shown_ns[-1])
            <= (1 + tolerance) * passed_ns[0] + tick_ns
        ),
    }


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    measures = {
        "opencl": measure_opencl,
        "arm": measure_arm,
        "gpu": measure_gpu,
        "pytorch": measure_pytorch,
    }
    parser.add_argument("device", choices=measures)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to measure")
    parser.add_argument("-o", "--output", type=Path, help="write there, not to standard output")
    given = parser.parse_args()
    on = machine()
    found, bars = measures[given.device](given.seconds)
    words = ["python", "-m", "benchmarks.devices", given.device, "--seconds", f"{given.seconds:g}"]
    result = {"command": " ".join(words), "machine": on, "measured": found, "bars": bars}
    text = json.dumps(result, indent=2) + "\n"
    if given.output is None:
        print(text, end="")
    else:
        given.output.write_text(text)
    for bar, met in bars.items():
        print(f"{'ok  ' if met else 'MISS'} {bar}", file=sys.stderr)
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
