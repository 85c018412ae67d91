"""The pictures of docs/trust.md: where bars are wide, which was first, and how long it took."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import tracetime as tt
from tools.svg_pictures import Panel, Picture

GPU = "com.example.gpu"
US = 1_000
S = 1_000_000_000
SUBMIT = 40 * S + S // 10  # a tenth of a second after a snapshot


def _clocks() -> tt.ClockGraph:
    """BOOTTIME and a GPU's clock that is 20 ppm fast, read together every 10 s, to 2 us."""
    boot = np.arange(8) * 10 * S
    graph = tt.ClockGraph(
        domains=[
            tt.ClockDomain("BOOTTIME", max_drift_ppm=10),
            tt.ClockDomain(GPU, max_drift_ppm=50),
        ]
    )
    graph.add_snapshot(
        tt.Snapshot(
            {"BOOTTIME": boot, GPU: _gpu(boot)},
            reference="BOOTTIME",
            half_width_ns={GPU: 2 * US},
        )
    )
    return graph


def _gpu(boot: np.ndarray) -> np.ndarray:
    return boot + boot // 50_000 + 7 * S


def width() -> Picture:
    """Half the bar over time: between snapshots, and after the last one."""
    graph = _clocks()
    picture = Picture(
        "Where a bar is wide",
        "Half of the bar of a GPU's event, on a logarithmic scale. At a snapshot both kinds are "
        "2 us. Between two snapshots the guaranteed bar grows to 200 us, the estimated one to "
        "12 us. After the last snapshot both grow with the distance.",
        380,
    )
    panel = Panel(picture, 130, 50, 790, 270, (30, 130), (3, 7))
    panel.ticks(
        [3, 4, 5, 6, 7],
        lambda power: ("1 us", "10 us", "100 us", "1 ms", "10 ms")[round(power) - 3],
    )
    panel.below([30, 50, 70, 90, 110, 130], lambda value: f"{value:g} s")
    picture.text(130, 32, "half the bar", "small")
    boot = np.union1d(np.arange(30 * S, 130 * S + 1, S // 4), np.arange(30, 80, 10) * S)
    for bars, kind in (("guaranteed", "one"), ("estimated", "two")):
        found = graph.convert(_gpu(boot), GPU, "BOOTTIME", policy="tube", bounds=True, bars=bars)
        half = [math.log10(max(wide / 2, 1)) for wide in (found.latest - found.earliest).tolist()]
        picture.line(panel.points((boot / S).tolist(), half), kind)
    for at in range(30, 80, 10):
        picture.dot(*panel.at(at, math.log10(2_000)))
    picture.text(*panel.at(45, 5.65), "guaranteed", "name one middle")
    picture.text(*panel.at(45, 4.2), "estimated", "name two middle")
    picture.text(*panel.at(50, 3.1), "dots: snapshots, read to 2 us", "small middle")
    picture.text(*panel.at(100, 3.1), "no snapshot any more", "small middle")
    return picture


def first() -> Picture:
    """Three events of a GPU beside one of the CPU: two orders are certain, one is open."""
    graph = _clocks()
    submit = SUBMIT
    picture = Picture(
        "Which was first",
        "An instant of the CPU, and three events of a GPU with their bars. Where the bar is apart "
        "from the instant, the order is certain; where it contains the instant, the order is open.",
        270,
    )
    panel = Panel(picture, 230, 40, 690, 180, (-8, 16), (0, 3))
    panel.below([-5, 0, 5, 10, 15], lambda value: f"{value:+g} us" if value else "0: submit")
    picture.line([panel.at(0, 0), panel.at(0, 3)], "clock")
    words = {-1: "after", 0: "open", 1: "before"}
    for row, begins in enumerate((-5 * US, 1 * US, 9 * US)):
        reading = int(_gpu(np.array(submit + begins)))
        bar = graph.convert(reading, GPU, "BOOTTIME", policy="tube", bounds=True)
        low, best, high = ((at - submit) / US for at in (bar.earliest, bar.estimate, bar.latest))
        y = 2.5 - row
        picture.line([panel.at(low, y), panel.at(high, y)], "two")
        for x in (low, high):
            picture.line([panel.at(x, y - 0.15), panel.at(x, y + 0.15)], "two")
        picture.dot(*panel.at(best, y), "dot two", 5)
        says = words[int(graph.order((submit, "BOOTTIME"), (reading, GPU)))]
        picture.text(218, panel.at(0, y)[1] + 5, f"GPU event {row + 1}: {says}", "name end")
    return picture


def lasted() -> Picture:
    """A kernel's length is exact, wherever its bar puts it; a wait between two clocks is not."""
    graph = _clocks()
    submit = SUBMIT
    begin, end = _gpu(submit + np.array([6, 18]) * US).tolist()
    bars = graph.convert([begin, end], GPU, "BOOTTIME", policy="tube", bounds=True)
    lows, highs = (((at - submit) / US).tolist() for at in (bars.earliest, bars.latest))
    length = (end - begin) / US
    wait = graph.order((submit, "BOOTTIME"), (begin, GPU), margin=True)
    picture = Picture(
        "How long it took",
        "A kernel can lie anywhere within its bar, and is as long wherever it lies. The time from "
        "the submit on the CPU to its begin on the GPU has the bar of both clocks.",
        260,
    )
    panel = Panel(picture, 230, 40, 690, 160, (-2, 24), (0, 3))
    panel.below([0, 5, 10, 15, 20], lambda value: f"{value:g} us" if value else "0: submit")
    picture.line([panel.at(0, 0), panel.at(0, 3)], "clock")
    for y, starts, name in (
        (2.5, lows[0], "the kernel at its earliest"),
        (1.5, highs[0], "the kernel at its latest"),
    ):
        left, right = starts, starts + length
        corners = [panel.at(x, y + 0.3) for x in (left, right)]
        picture.area_of(corners, [panel.at(x, y - 0.3) for x in (left, right)], "band")
        picture.text(218, panel.at(0, y)[1] + 5, name, "name end")
        middle = panel.at((left + right) / 2, y)
        picture.text(middle[0], middle[1] + 5, f"lasts {length:.3f} us", "small middle")
    least, most = wait.least_ns / US, wait.most_ns / US
    picture.line([panel.at(0, 0.5), panel.at(least, 0.5)], "two")
    picture.line([panel.at(least, 0.5), panel.at(most, 0.5)], "tie")
    for x in (0, least, most):
        picture.line([panel.at(x, 0.35), panel.at(x, 0.65)], "two")
    picture.text(218, panel.at(0, 0.5)[1] + 5, "submit to begin", "name end")
    x, y = panel.at(most, 0.5)
    picture.text(x + 12, y + 5, f"{least:.1f} to {most:.1f} us", "small")
    return picture


def launch() -> Picture:
    """The first kernel of demo/rank0.json.gz: where the file has it, and where it belongs."""
    path = Path(__file__).parent.parent / "demo" / "rank0.json.gz"
    with tt.open_trace(str(path)) as trace:
        drawn = trace.slices().read_all().to_pylist()
        placed = trace.slices("tube").read_all().to_pylist()
    call = next(row for row in placed if row["name"] == "cudaLaunchKernel")
    file, tube = (next(r for r in rows if r["category"] == "kernel") for rows in (drawn, placed))
    picture = Picture(
        "A GPU's kernel that begins before its launch",
        "A PyTorch profile draws a kernel 10 us before the call that launched it. tracetime puts "
        "it after the call, with the bar of its begin.",
        250,
    )
    panel = Panel(picture, 250, 30, 670, 170, (-22, 112), (0, 3))
    panel.below([-20, 0, 20, 40, 60, 80, 100], lambda value: f"{value:g} us")
    begin, early, best, low, high = (
        (at - call["ts"]) / US
        for at in (call["ts"], file["ts"], tube["ts"], tube["earliest"], tube["latest"])
    )
    picture.line([panel.at(begin, 0), panel.at(begin, 3)], "tie")
    for y, left, right, kind, name in (
        (2.5, begin, begin + call["dur"] / US, "band", "CPU: cudaLaunchKernel"),
        (1.5, early, 112, "wide", "GPU, as the file has it"),
        (0.5, best, 112, "band", "GPU, by the tube"),
    ):
        corners = [panel.at(x, y + 0.32) for x in (left, right)]
        picture.area_of(corners, [panel.at(x, y - 0.32) for x in (left, right)], kind)
        picture.text(238, panel.at(0, y)[1] + 5, name, "name end")
    picture.line([panel.at(early, 1.18), panel.at(early, 1.82)], "one")
    picture.text(*panel.at(12, 1.43), f"begins {begin - early:.0f} us before its launch", "one")
    picture.line([panel.at(low, 0.5), panel.at(high, 0.5)], "two")
    for x in (low, high):
        picture.line([panel.at(x, 0.35), panel.at(x, 0.65)], "two")
    picture.dot(*panel.at(best, 0.5), "dot two", 5)
    picture.text(*panel.at(12, 0.24), f"began {low:.0f} to +{high:.0f} us from the launch", "two")
    return picture
