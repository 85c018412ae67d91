"""Clock offsets between hosts in XDF files, as pyxdf reads them.

LSL's collector pings the host of each stream and records the host's time and its offset from that
of the collector. How long a ping took is not in the file: h is assumed from the offsets.
"""

from __future__ import annotations

import inspect
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pyxdf
from pyxdf.pyxdf import _detect_clock_resets

from benchmarks.clocks import Values
from tracetime import ClockGraph, ClockId
from tracetime.clocks.domain import ClockDomain

COLLECTOR, HOST = ClockId(128), ClockId(129)
_THRESHOLDS = (
    "clock_reset_threshold_stds",
    "clock_reset_threshold_seconds",
    "clock_reset_threshold_offset_stds",
    "clock_reset_threshold_offset_seconds",
)


class Stream(NamedTuple):
    """The offsets of one stream, in the order recorded.

    Attributes:
        name: of the file, and the stream in it.
        collector_ns, host_ns: simultaneous readings of the two clocks, int64.
        resets: (k, k + 1), the offsets between which pyxdf finds that the host's clock was reset.
    """

    name: str
    collector_ns: Values
    host_ns: Values
    resets: list[tuple[int, int]]


def streams(folder: Path) -> list[Stream]:
    """All streams with offsets in the XDF files of a folder."""
    found = []
    for path in sorted(folder.glob("*.xdf")):
        loaded, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
        for stream in loaded:
            if not stream["clock_times"]:
                continue
            # The file has seconds as floats, which are no finer.
            times, values = (np.array(stream[key]) for key in ("clock_times", "clock_values"))
            found.append(
                Stream(
                    f"{path.stem}: {stream['info']['name'][0]}",
                    _nanoseconds(times + values),
                    _nanoseconds(times),
                    _resets(stream["clock_times"], stream["clock_values"]),
                )
            )
    return found


def _nanoseconds(seconds: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Values:
    return np.rint(seconds * 1e9).astype(np.int64)


def _resets(times: list[float], values: list[float]) -> list[tuple[int, int]]:
    """The resets that pyxdf finds, with the thresholds of load_xdf."""
    if len(times) < 2:
        return []
    defaults = inspect.signature(pyxdf.load_xdf).parameters
    ranges = _detect_clock_resets(
        SimpleNamespace(clock_times=times, clock_values=values),
        *(defaults[name].default for name in _THRESHOLDS),
    )
    return [(end, start) for (_, end), (start, _) in pairwise(ranges)]


def graph_of(stream: Stream, leave: int | None = None, h_ns: int | None = None) -> ClockGraph:
    """The clock graph of a stream's offsets, without one of them; h_ns: None to assume it."""
    kept = np.arange(len(stream.host_ns)) != (-1 if leave is None else leave)
    graph = ClockGraph(domains=[ClockDomain(HOST, assumed_half_width_ns=h_ns)])
    graph.add_snapshot({COLLECTOR: stream.collector_ns[kept], HOST: stream.host_ns[kept]})
    return graph


def half_width_ns(graph: ClockGraph, at_ns: int) -> int:
    """The half-width that is assumed for the offsets of a stream."""
    found = graph.explain(at_ns, COLLECTOR, HOST, policy="tube")
    return int(found.steps[0].half_width_ns)  # type: ignore[union-attr]


def resets_of(stream: Stream) -> list[tuple[int, int]]:
    """The resets that the tube finds: the snapshots before and after each."""
    found = graph_of(stream).discontinuities()
    return [d.snapshots for d in found if d.kind == "reset"]  # type: ignore[misc]


def left_out(stream: Stream, assume_anew: bool = False) -> int:
    """How many offsets, each left out in turn, are outside the bar of the others, widened by h.

    assume_anew: h is assumed from the others alone, not from all offsets of the stream.
    """
    h_ns = half_width_ns(graph_of(stream), int(stream.collector_ns[0]))
    out = 0
    for k, (at, truth) in enumerate(
        zip(stream.collector_ns.tolist(), stream.host_ns.tolist(), strict=True)
    ):
        graph = graph_of(stream, k, None if assume_anew else h_ns)
        h = half_width_ns(graph, at) if assume_anew else h_ns
        got = [
            graph.convert(at, COLLECTOR, HOST, policy="tube", bars=bars, bounds=True)
            for bars in ("estimated", "guaranteed")
        ]
        out += any(not bar.earliest - h <= truth <= bar.latest + h for bar in got)
    return out
