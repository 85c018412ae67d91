"""Draw the pictures of docs/: examples, as computed.

Usage: python -m tools.draw_pictures [-o docs/pictures]

The output is the same bytes every time; a test compares them with the files in docs/pictures. Needs
tracetime and the trace of the demo.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tracetime as tt
from tools import trust_pictures
from tools.svg_pictures import Panel, Picture
from tracetime.sources.fake import FakeClock, FakeSource, FakeTime

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "demo" / "demo.pftrace"
GPU = "com.example.gpu"
RAW = "MONOTONIC_RAW"
US = 1_000
S = 1_000_000_000


def offsets() -> Picture:
    """What three clocks of the demo did against BOOTTIME."""
    picture = Picture(
        "Three clocks of the demo against BOOTTIME",
        "Over 1.4 seconds MONOTONIC keeps its distance from BOOTTIME, the GPU's clock gains 53 "
        "microseconds, and REALTIME falls back by 1.2 seconds.",
        430,
    )
    with tt.open_trace(str(DEMO)) as trace:
        graph = trace.clocks
        readings = {}
        for read in graph.readings():
            readings.setdefault(read.clock, []).append(read)
    by_snapshot = {
        int(number): int(value)
        for read in readings[tt.ClockId.parse("BOOTTIME")]
        for number, value in zip(read.snapshots, read.values_ns, strict=True)
    }
    start = min(by_snapshot.values())
    # name, what the clock does, ns per unit, unit, y axis
    rows: list[tuple[str, str, float, str, tuple[float, float]]] = [
        ("MONOTONIC", "keeps its distance", 1e3, "us", (-30.0, 30.0)),
        (GPU, "gains 38 us in a second", 1e3, "us", (-10.0, 60.0)),
        ("REALTIME", "is set back by 1.2 s", 1e9, "s", (-1.4, 0.2)),
    ]
    for row, (name, does, unit_ns, unit, scale) in enumerate(rows):
        top = 30 + 125 * row
        picture.text(24, top + 40, name, "name")
        picture.text(24, top + 60, does, "small")
        panel = Panel(picture, 270, top, 660, 100, (-0.03, 1.45), scale)
        values = {"MONOTONIC": [0], GPU: [0, 50], "REALTIME": [0, -1.2]}[name]
        panel.ticks(values, lambda value, unit=unit: f"{value:+g} {unit}" if value else f"0 {unit}")
        points = [
            (int(number), int(value))
            for read in readings[tt.ClockId.parse(name)]
            for number, value in zip(read.snapshots, read.values_ns, strict=True)
            if int(number) in by_snapshot
        ]
        ahead = [value - by_snapshot[number] for number, value in points]
        xs = [(by_snapshot[number] - start) / S for number, _ in points]
        ys = [(value - ahead[0]) / unit_ns for value in ahead]
        placed = panel.points(xs, ys)
        picture.line(placed, "two" if name != "REALTIME" else "one")
        for x, y in placed:
            picture.dot(x, y, "dot two" if name != "REALTIME" else "dot one")
        if row == len(rows) - 1:
            panel.below([0, 0.5, 1.0, 1.4], lambda value: f"{value:g} s")
    return picture


class _RecordedClock(FakeClock):
    """A clock that records when it was read."""

    def read(self, time: FakeTime) -> int:
        value = super().read(time)
        self.__dict__.setdefault("read_at", []).append(time.now_ns)
        return value


def bracket() -> Picture:
    """One clock read between two readings of another, and the half-width that results."""
    waits: list[int] = []

    def delays() -> Iterator[int]:
        while True:
            yield waits.pop(0) if waits else 25

    time = FakeTime(0, delays())
    reference, clock = _RecordedClock("MONOTONIC_RAW"), _RecordedClock("REALTIME", 1_000_000)
    with tt.Sampler(tries=1, sources=[FakeSource(time, [reference, clock])]) as sampler:
        for one in (reference, clock):
            one.__dict__["read_at"] = []
        waits[:] = [25, 40, 60]
        start = time.now_ns
        snapshot, _ = sampler.sample_group()
    first, last = (when - start for when in _around(reference, clock))
    read = clock.__dict__["read_at"][0] - start
    half = int(snapshot.half_width_ns[clock.clock][0])
    centre = first + int(snapshot.centre_ns[clock.clock][0])
    picture = Picture(
        "How a clock is read",
        f"The reference is read {last - first} ns apart, and the clock in between: it was read "
        f"within {half} ns of the middle.",
        230,
    )

    def x(ns: float) -> float:
        return 250 + (ns - first + 15) * 5.2

    picture.text(24, 75, "MONOTONIC_RAW", "name")
    picture.text(24, 93, "the reference", "small")
    picture.text(24, 155, "REALTIME", "name")
    picture.line([(x(first - 14), 75), (x(last + 14), 75)], "clock")
    picture.line([(x(first - 14), 150), (x(last + 14), 150)], "clock")
    for when in (first, last):
        picture.dot(x(when), 75)
        picture.line([(x(when), 75), (x(when), 190)], "tie")
        picture.text(x(when), 57, f"read at {when - first} ns", "small middle")
    left, right = x(centre - half), x(centre + half)
    picture.area([(left, 138), (right, 138)], [(left, 162), (right, 162)])
    picture.dot(x(read), 150, "dot one", 6)
    picture.text(x(read), 128, "read here, but who knows that?", "small middle one")
    picture.line([(x(centre), 138), (x(centre), 162)], "two")
    known = f"what is known: centre {centre - first} ns, half-width {half} ns"
    picture.text(x(centre), 210, known, "small middle two")
    return picture


def _around(reference: _RecordedClock, clock: _RecordedClock) -> tuple[int, int]:
    """When the reference was last read before the clock, and first read after it."""
    at = clock.__dict__["read_at"][0]
    reads = reference.__dict__["read_at"]
    return max(when for when in reads if when < at), min(when for when in reads if when > at)


def graph() -> Picture:
    """The clocks of the demo and the snapshots that connect them."""
    with tt.open_trace(str(DEMO)) as trace:
        clocks = trace.clocks
        known = {info.clock: info for info in clocks.clocks()}
        pairs = {}
        for series in clocks.series():
            ordered = sorted(series.clocks)
            for k, one in enumerate(ordered):
                for other in ordered[k + 1 :]:
                    pairs[one, other] = pairs.get((one, other), 0) + series.snapshots
        path = clocks.path("64@seq3", "BOOTTIME")
    places = {
        "64@seq3": (40, 60, "the render thread, deltas in us"),
        "MONOTONIC": (380, 60, "the UI thread"),
        "BOOTTIME": (720, 60, "trace time; the scheduler"),
        "REALTIME": (380, 205, "the log; ran backwards"),
        GPU: (720, 205, "the GPU's queue"),
        "777": (40, 205, "the camera: in no snapshot"),
    }
    names = ", ".join(str(clock) for clock in path)
    picture = Picture(
        "The clock graph of the demo",
        f"Clocks are boxes, and what snapshots tie is joined by a line. The path of 64@seq3 is "
        f"{names}. Nothing leads from clock 777.",
        305,
    )
    centres = {tt.ClockId.parse(name): (x + 100, y + 22) for name, (x, y, _) in places.items()}
    hops = set(pairwise(path))
    for (one, other), snapshots in pairs.items():
        on_path = {(one, other), (other, one)} & hops
        (x1, y1), (x2, y2) = centres[one], centres[other]
        if y1 == y2:
            inset = 100 if x1 < x2 else -100
            ends = [(x1 + inset, y1), (x2 - inset, y2)]
        elif x1 == x2:
            ends = [(x1, min(y1, y2) + 22 + 24), (x1, max(y1, y2) - 22)]
        else:
            ends = [(x1 + (100 if x1 < x2 else -100), y1), (x2 + (100 if x2 < x1 else -100), y2)]
        picture.line(ends, "two" if on_path else "tie")
        (xa, ya), (xb, yb) = ends
        picture.text((xa + xb) / 2 + 8, (ya + yb) / 2 - 8, f"{snapshots}", "small")
    for name, (x, y, what) in places.items():
        clock = tt.ClockId.parse(name)
        lost = clock not in known
        picture.box(x, y, 200, "box lost" if lost else "box")
        picture.text(x + 100, y + 27, name, "name middle")
        picture.text(x + 100, y + 62, what, "small middle")
    picture.text(40, 288, "On a line: how many snapshots have both clocks.", "small")
    return picture


# The worked example of Perfetto's documentation.
MONO = [1000, 1100, 1200, 1900, 2000, 2100]
BOOT = [2000, 2100, 2200, 2900, 3500, 3600]


def floor() -> Picture:
    """MONOTONIC to BOOTTIME by floor, in the worked example."""
    clocks = tt.ClockGraph()
    clocks.add_snapshot(tt.Snapshot({"MONOTONIC": np.array(MONO), "BOOTTIME": np.array(BOOT)}))
    picture = Picture(
        "The floor rule",
        "BOOTTIME over MONOTONIC: from each snapshot on its offset is used until the next. At 1999 "
        "that of 1900 still is; at 2000 BOOTTIME jumps by 500.",
        430,
    )
    panel = Panel(picture, 120, 30, 800, 340, (960, 2180), (1900, 3800))
    panel.ticks([2000, 2500, 3000, 3500], lambda value: f"{value:g}")
    panel.below([1000, 1200, 1400, 1600, 1800, 2000], lambda value: f"{value:g}")
    picture.text(900, 412, "MONOTONIC", "name end")
    picture.text(24, 24, "BOOTTIME", "name")
    for begin, end in zip(MONO, [*MONO[1:], 2160], strict=True):
        values = [begin, end - 1]
        picture.line(
            panel.points(values, clocks.convert(values, "MONOTONIC", "BOOTTIME").tolist()), "two"
        )
    for mono, boot in zip(MONO, BOOT, strict=True):
        picture.dot(*panel.at(mono, boot), "dot", 5)
    for value, dx, dy in ((1104, 14, 26), (1999, -14, -14), (2000, -14, 5)):
        result = int(clocks.convert(value, "MONOTONIC", "BOOTTIME"))
        x, y = panel.at(value, result)
        picture.dot(x, y, "dot one", 5)
        side = "end" if dx < 0 else ""
        picture.text(x + dx, y + dy, f"{value} becomes {result}", f"one {side}")
    x, y = panel.at(2000, 3200)
    picture.text(x - 14, y, "the device slept in between", "small end")
    picture.text(*panel.at(1250, 3400), "dots: snapshots", "small")
    return picture


def _device() -> tuple[tt.ClockGraph, Callable[[np.ndarray], np.ndarray], list[int]]:
    """A device 20 ppm fast, read every 10 s to 50 ns: its graph, its reading by reference reading,
    and the error of each reading. Device and reference are good crystals.
    """

    def truth(raw: np.ndarray) -> np.ndarray:
        return raw + raw // 50_000 + 7 * S

    raw = np.arange(12) * 10 * S
    # The error of each reading, within its half-width; a fixed sequence that looks random.
    noise = [(k * 37 % 91) - 45 for k in range(len(raw))]
    clocks = tt.ClockGraph(
        domains=[
            tt.ClockDomain(RAW, max_drift_ppm=10, wander_ppm=0.001),
            tt.ClockDomain(GPU, max_drift_ppm=30, wander_ppm=0.001),
        ]
    )
    clocks.add_snapshot(
        tt.Snapshot(
            {RAW: raw, GPU: truth(raw) + noise},
            reference=RAW,
            half_width_ns={GPU: 50},
        )
    )
    return clocks, truth, noise


def tube() -> Picture:
    """The errors of floor and of the tube, between snapshots 10 s apart."""
    clocks, truth, noise = _device()
    picture = Picture(
        "What floor is off by, and what the tube knows",
        "Above, in microseconds: between snapshots floor is off by up to 200, and the guaranteed "
        "bar is as wide as the declared drift allows. Below, a thousand times magnified: the "
        "estimated bar holds the truth to some tens of nanoseconds.",
        520,
    )
    first, last = 40, 80
    snapshots = np.arange(first, last + 1, 10) * S
    raw = np.union1d(
        np.arange(2 * first, 2 * last + 1) * (S // 2), [*(snapshots - US), *(snapshots + US)]
    )
    raw = raw[(raw >= snapshots[0]) & (raw <= snapshots[-1])]
    device = truth(raw)
    xs = (raw / S).tolist()

    def off(values: np.ndarray, unit: float) -> list[float]:
        return ((values - raw) / unit).tolist()

    upper = Panel(picture, 130, 50, 790, 180, (first, last), (-330, 330))
    upper.ticks([-200, 0, 200], lambda value: f"{value:+g} us" if value else "0")
    picture.text(130, 32, "off the truth by", "small")
    sure = clocks.convert(device, GPU, RAW, policy="tube", bounds=True, bars="guaranteed")
    picture.wide_area(
        upper.points(xs, off(sure.latest, 1e3)), upper.points(xs, off(sure.earliest, 1e3))
    )
    picture.line(upper.points(xs, off(clocks.convert(device, GPU, RAW), 1e3)), "one")
    picture.text(*upper.at(56, 245), "floor", "name one")
    picture.text(*upper.at(43, -260), "guaranteed bar", "two")

    lower = Panel(picture, 130, 290, 790, 180, (first, last), (-110, 110))
    lower.ticks([-50, 0, 50], lambda value: f"{value:+g} ns" if value else "0")
    lower.below([40, 50, 60, 70, 80], lambda value: f"{value:g} s")
    bar = clocks.convert(device, GPU, RAW, policy="tube", bounds=True)
    picture.area(lower.points(xs, off(bar.latest, 1)), lower.points(xs, off(bar.earliest, 1)))
    picture.line(lower.points(xs, off(bar.estimate, 1)), "two")
    for k in range(first // 10, last // 10 + 1):
        x = 10 * k
        picture.line(lower.points([x, x], [noise[k] - 50, noise[k] + 50]), "clock")
        picture.dot(*lower.at(x, noise[k]))
    picture.text(*lower.at(41, 88), "the tube: estimate and estimated bar", "name two")
    picture.text(*lower.at(62, 88), "dots: snapshots, with half-widths of 50 ns", "small")
    return picture


def step() -> Picture:
    """The bar around the time at which a clock was set."""
    boot = np.arange(12) * S
    wall = 1_768_469_400 * S + boot + np.where(boot >= 6 * S, 80_000_000, 0)
    clocks = tt.ClockGraph()
    clocks.add_snapshot(
        tt.Snapshot(
            {"BOOTTIME": boot, "REALTIME": wall},
            reference="BOOTTIME",
            half_width_ns={"REALTIME": 100},
        )
    )
    (found,) = clocks.discontinuities()
    picture = Picture(
        "A step between two snapshots",
        f"REALTIME is set forward by 80 ms between two snapshots. In that zone the bar holds both "
        f"sides; graph.discontinuities() calls it a {found.kind}.",
        300,
    )
    panel = Panel(picture, 130, 40, 790, 200, (1, 10), (-30, 110))
    panel.ticks([0, 80], lambda value: f"{value:+g} ms" if value else "0")
    panel.below([2, 4, 6, 8], lambda value: f"{value:g} s")
    picture.text(130, 26, "REALTIME less BOOTTIME, less what that was at first", "small")
    at = np.arange(20, 201) * (S // 20)
    bar = clocks.convert(at, "BOOTTIME", "REALTIME", policy="tube", bounds=True)

    def ahead(values: np.ndarray) -> list[float]:
        return ((values - at - int(wall[0])) / 1e6).tolist()

    xs = (at / S).tolist()
    picture.area(panel.points(xs, ahead(bar.latest)), panel.points(xs, ahead(bar.earliest)))
    picture.line(panel.points(xs, ahead(bar.estimate)), "two")
    for x, offset in zip(boot / S, (wall - boot - wall[0]) / 1e6, strict=True):
        if 1 <= x <= 10:
            picture.dot(*panel.at(float(x), float(offset)))
    picture.text(*panel.at(5.5, -18), f"{found.kind}: somewhere in here", "small middle")
    picture.text(*panel.at(2, 12), "estimate", "two name")
    return picture


def _gpu_work() -> list[dict[str, int]]:
    """A copy by BOOTTIME and three kernels by a GPU's clock: their slices, with bars, in us.

    The clocks are read 1 s apart, and drift in between.
    """
    time = FakeTime(1_000 * S, usual_ns=150)
    fakes = [FakeClock("BOOTTIME"), FakeClock(GPU, 5 * S, rate_ppb=20_000)]
    with (
        TemporaryDirectory() as folder,
        tt.Sampler(tries=1, sources=[FakeSource(time, fakes)]) as sampler,
    ):
        path = Path(folder) / "gpu.pftrace"
        with tt.record(path, interval=None, sampler=sampler) as recorder:
            time.pass_ns(S // 2)
            start, gpu_start = (fake.read(time) for fake in fakes)
            recorder.complete("copy", start, 20 * US, clock="BOOTTIME")
            for begin, length in ((4_000, 9_000), (19_600, 7_000), (30_000, 5_000)):
                recorder.complete("kernel", gpu_start + begin, length, clock=GPU)
            time.pass_ns(S // 2)
            recorder.snapshot()
        with tt.open_trace(path) as trace:
            rows = trace.slices("tube").read_all().to_pylist()
    ends = ("earliest", "latest", "end_earliest", "end_latest")
    return [{name: (row[name] - start) / US for name in ends} for row in rows]


def overlap() -> Picture:
    """Slices of two clocks: by their bars one pair overlaps, one may, one does not."""
    copy, *kernels = _gpu_work()
    picture = Picture(
        "Slices of two clocks under their error bars",
        "A copy, timed by BOOTTIME, and three kernels, timed by a GPU. By their bars the first "
        "kernel runs during the copy, the last one after it. Of the second one nobody can say: "
        "the bar of its begin contains the end of the copy.",
        250,
    )
    panel = Panel(picture, 130, 40, 790, 160, (-2, 38), (0, 2))
    panel.below([0, 10, 20, 30], lambda value: f"{value:g} us" if value else "0")
    for y, name in ((1.5, "copy"), (0.5, "kernels")):
        picture.text(118, panel.at(0, y)[1] + 5, name, "name end")
    for y, row in ((1.5, copy), *((0.5, kernel) for kernel in kernels)):
        for kind, low, high in (
            ("wide", row["earliest"], row["end_latest"]),
            ("band", row["latest"], row["end_earliest"]),
        ):
            corners = [panel.at(x, y + 0.22) for x in (low, high)]
            picture.area_of(corners, [panel.at(x, y - 0.22) for x in (low, high)], kind)
        for low, high in (
            (row["earliest"], row["latest"]),
            (row["end_earliest"], row["end_latest"]),
        ):
            picture.line([panel.at(low, y), panel.at(high, y)], "two")
            for x in (low, high):
                picture.line([panel.at(x, y - 0.12), panel.at(x, y + 0.12)], "two")
    for kernel, verdict in zip(kernels, ("overlaps", "may overlap", "is apart"), strict=True):
        middle = (kernel["earliest"] + kernel["end_latest"]) / 2
        picture.text(*panel.at(middle, 0.04), verdict, "small middle")
    _, undecided, _ = kernels
    picture.hatch(panel.at(undecided["earliest"], 2), panel.at(copy["end_latest"], 0.2))
    return picture


def _messages() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Messages of two clocks in 4 s, there and back: sent, got, sent, got, ns.

    B is 9 ppm slow. The way takes 20 us and a little, and often a queue.
    """

    def offset(t: np.ndarray) -> np.ndarray:
        return 60 * US - t // 111_111

    sides = []
    for first, step in ((7, 1), (11, -1)):
        # Fixed sequences that look random.
        k = np.arange(90)
        t = (k * 44 + (k * 37 + first) % 40) * (S // 1_000)
        queue = np.where((k * 7 + first) % 10 < 6, ((k * 53 + first) % 97) ** 2 * 14, 0)
        delay = 20 * US + (k * 29 + first) % 31 * 60 + queue
        if step > 0:
            sides += [t, t + delay + offset(t + delay)]
        else:
            sides += [t + offset(t), t + delay]
    return sides[0], sides[1], sides[2], sides[3]


def hull() -> Picture:
    """Messages both ways, the tube between them, and its estimate."""
    sent, got, replied, returned = _messages()
    one, other = "com.example.a", "com.example.b"
    clocks = tt.ClockGraph(
        domains=[tt.ClockDomain(name, max_drift_ppm=100, oscillator=name) for name in (one, other)]
    )
    clocks.add_order(before=(sent, one), after=(got, other))
    clocks.add_order(before=(replied, other), after=(returned, one))
    picture = Picture(
        "Messages of two machines, and what they say of their clocks",
        "Messages from A to B are points above the offset of the clocks, messages back are points "
        "below it. The fastest of each direction leave a strip that the offset must lie in; the "
        "tube is that strip, and the estimate follows the fastest messages of both.",
        430,
    )
    panel = Panel(picture, 130, 50, 790, 330, (0, 4), (-110, 190))
    panel.ticks([-50, 0, 50, 100, 150], lambda value: f"{value:+g} us" if value else "0")
    panel.below([0, 1, 2, 3, 4], lambda value: f"{value:g} s")
    picture.text(130, 32, "B less A", "small")
    at = np.arange(0, 161) * (S // 40)
    bar = clocks.convert(at, one, other, policy="tube", bounds=True)
    xs = (at / S).tolist()

    def ahead(values: np.ndarray) -> list[float]:
        return ((values - at) / US).tolist()

    picture.area(panel.points(xs, ahead(bar.latest)), panel.points(xs, ahead(bar.earliest)))
    picture.line(panel.points(xs, ahead(bar.estimate)), "two")
    for x, y, kind in (
        (sent, got - sent, "dot one"),
        (returned, replied - returned, "dot"),
    ):
        for along, up in zip((x / S).tolist(), (y / US).tolist(), strict=True):
            if -95 <= up <= 172:
                picture.dot(*panel.at(along, up), kind, 3)
    picture.text(*panel.at(0.06, 180), "messages from A to B: received less sent", "name one")
    picture.text(*panel.at(4, 180), "the tube, and its estimate", "name two end")
    picture.text(*panel.at(0.06, -106), "messages back: sent less received", "name")
    return picture


PICTURES: dict[str, Callable[[], Picture]] = {
    "offsets": offsets,
    "bracket": bracket,
    "graph": graph,
    "floor": floor,
    "tube": tube,
    "step": step,
    "overlap": overlap,
    "hull": hull,
    "width": trust_pictures.width,
    "first": trust_pictures.first,
    "lasted": trust_pictures.lasted,
    "launch": trust_pictures.launch,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "docs" / "pictures")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (out / f"{name}.svg").write_text(str(draw()))


if __name__ == "__main__":
    main()
