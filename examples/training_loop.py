"""Record a training loop and the GPU beside it, and ask how long kernels wait for the host.

    python examples/training_loop.py [--vulkan] [training.pftrace]

The host loads batches and submits kernels; the GPU says when each began and ended in ticks of its
own clock. The recording ties that clock to the host's, so both are on one timeline, and each wait
has the error that the two clocks leave. Without --vulkan the GPU is a thread with a counter of
19.2 MHz that runs 40 ppm fast, has 36 bits, and began at some other time; with it, the first
Vulkan device.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tracetime as tt
from tracetime.sources.vulkan import VulkanDevice

STEPS = 40
ROWS, COLUMNS = 512, 64

WAITS = """
    with submits as (select ts, (args ->> 'step')::int as step
                     from slices where name = 'submit'),
         kernels as (select name, ts, earliest, latest, (args ->> 'step')::int as step
                     from slices where name = 'forward')
    select count(*) as kernels,
           median(kernels.ts - submits.ts) as wait_ns,
           max(kernels.ts - submits.ts) as longest_wait_ns,
           max(kernels.latest - kernels.earliest) // 2 as error_ns,
           count(*) filter (kernels.latest < submits.ts) as before_their_submit
    from submits join kernels using (step)
"""

BUSY = """
    select name, count(*) as times, sum(dur) / 1e6 as total_ms, max(dur_error_ns) as error_ns
    from slices where track_name = 'GPU' group by all order by total_ms desc
"""

Stamps = tuple[int, int]
"""When a kernel began and ended, ticks of the GPU's clock."""


@dataclass
class Gpu:
    """A device: its clock's name in the recording, and how it runs a kernel."""

    clock: str
    run: Callable[[Callable[[], None]], Stamps]


def fake_gpu(rec: tt.Recorder) -> Gpu:
    """A thread as a GPU. Its clock is declared to the recording, which reads it with its own."""
    began_ns = time.monotonic_ns()

    def read() -> int:
        return ((time.monotonic_ns() - began_ns) * 192_007_680 // 10**10 + 5_000_000) % (1 << 36)

    def run(kernel: Callable[[], None]) -> Stamps:
        began = read()
        kernel()
        return began, read()

    clock = "com.example.gpu"
    rec.declare(tt.ClockDomain(clock, ns_per_tick=Fraction(625, 12), valid_bits=36), read)
    return Gpu(clock, run)


def vulkan_gpu(sampler: tt.Sampler) -> Gpu:
    """The first Vulkan device, which fills memory while the host computes what a kernel would."""
    clock = next(clock for clock, name in sampler.names.items() if "vulkan" in name)
    device = sampler.source(clock)
    assert isinstance(device, VulkanDevice)

    def run(kernel: Callable[[], None]) -> Stamps:
        kernel()
        began, ended = device.queue.stamp(count=2, work=4)
        return began, ended

    return Gpu("vulkan:0", run)


class Model:
    """Linear regression by gradient descent: enough for a loss that falls."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.truth = self.random.normal(size=COLUMNS)
        self.weights = np.zeros(COLUMNS)
        self.x: NDArray[np.float64] = np.empty((ROWS, COLUMNS))
        self.errors: NDArray[np.float64] = np.empty(ROWS)

    def load(self) -> None:
        self.x = self.random.normal(size=(ROWS, COLUMNS))

    def forward(self) -> None:
        self.errors = self.x @ self.weights - self.x @ self.truth

    def backward(self) -> None:
        self.weights -= 0.3 * self.x.T @ self.errors / ROWS

    @property
    def loss(self) -> float:
        return float(np.mean(self.errors**2))


def train(rec: tt.Recorder, gpu: Gpu) -> None:
    """Train; a span of the host for each part of a step, one of the GPU for each kernel."""
    model, on_gpu = Model(), rec.track("GPU")

    def run(name: str, kernel: Callable[[], None], step: int) -> None:
        began, ended = gpu.run(kernel)
        rec.complete(
            name, began, ended - began, clock=gpu.clock, track=on_gpu, flow=step + 1, step=step
        )

    with ThreadPoolExecutor(1) as queue:
        for step in range(STEPS):
            with rec.span("step", category="training", step=step):
                with rec.span("load", category="io", rows=ROWS):
                    model.load()
                with rec.span("submit", category="gpu", flow=step + 1, step=step):
                    kernels: list[Future[None]] = [
                        queue.submit(run, "forward", model.forward, step),
                        queue.submit(run, "backward", model.backward, step),
                    ]
                with rec.span("wait for the GPU", category="gpu"):
                    for kernel in kernels:
                        kernel.result()
                rec.counter("loss", model.loss)


def record(path: Path, with_vulkan: bool) -> None:
    if not with_vulkan:
        with tt.record(path, ["MONOTONIC", "BOOTTIME"], interval=0.05) as rec:
            train(rec, fake_gpu(rec))
        return
    with (
        tt.Sampler(["MONOTONIC", "BOOTTIME", "vulkan:0"]) as sampler,
        tt.record(path, interval=0.05, sampler=sampler) as rec,
    ):
        train(rec, vulkan_gpu(sampler))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, nargs="?", help="keep the recording here")
    parser.add_argument("--vulkan", action="store_true", help="use the first Vulkan device")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.path or Path(folder) / "training.pftrace"
        try:
            record(path, arguments.vulkan)
        except tt.SourceError as error:
            print(error, file=sys.stderr)
            return 4
        with tt.open_trace(path) as trace:
            print(trace.sql(BUSY, policy="tube").to_pandas().to_string(index=False))
            print()
            print(trace.sql(WAITS, policy="tube").to_pandas().to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
