"""Clock offsets between hosts in XDF files, and what pyxdf makes of them.

LSL's collector pings the host of each stream and records the host's time and its offset from that
of the collector. How long a ping took is not in the file: h is assumed from the offsets.
"""

from __future__ import annotations

import inspect
import logging
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyxdf
from pyxdf.pyxdf import _detect_clock_resets

from benchmarks.clocks import Values
from tracetime import ClockGraph, ClockId, open_trace
from tracetime.clocks.domain import ClockDomain
from tracetime.formats.xdf.xdf_trace import XdfTrace

COLLECTOR, HOST = ClockId(128), ClockId(129)
_THRESHOLDS = (
    "clock_reset_threshold_stds",
    "clock_reset_threshold_seconds",
    "clock_reset_threshold_offset_stds",
    "clock_reset_threshold_offset_seconds",
)


class Stream(NamedTuple):
    """The offsets of one stream, by the collector's clock; repeated ones once.

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
        loaded = _loaded(path, synchronize_clocks=False)
        with open_trace(path) as trace:
            assert isinstance(trace, XdfTrace)
            known = trace.streams
        for stream in loaded:
            number = stream["info"]["stream_id"]
            pings = known.pings[number]
            if len(pings.packet):
                resets = _resets(stream["clock_times"], stream["clock_values"])
                # The ranges of pyxdf count the offsets that are repeated, too.
                firsts_s = [stream["clock_times"][after] for _, after in resets]
                found.append(
                    Stream(
                        f"{path.stem}: {known.headers[number].name}",
                        pings.recorder_ns,
                        pings.host_ns,
                        _among(pings.host_ns, firsts_s),
                    )
                )
    return found


def _loaded(path: Path, **options: Any) -> list[Any]:
    """The streams as pyxdf loads them, without what it says of them."""
    level = logging.getLogger("pyxdf").level
    logging.getLogger("pyxdf").setLevel(logging.CRITICAL)
    try:
        return pyxdf.load_xdf(path, **{"dejitter_timestamps": False} | options)[0]
    finally:
        logging.getLogger("pyxdf").setLevel(level)


def _among(host_ns: Values, firsts_s: list[float]) -> list[tuple[int, int]]:
    """The offsets around each reset, by the host's reading in the first after it, s."""
    after = [int(np.argmin(np.abs(host_ns - first * 1e9))) for first in firsts_s]
    return [(k - 1, k) for k in after]


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


class Beside(NamedTuple):
    """Samples of a stream whose timestamps pyxdf has synchronised, beside the tube's bars.

    Attributes:
        stream, clock: the name of the stream, and the clock of the samples.
        samples: how many.
        outside: how many of them pyxdf places outside the bar.
        off_us: from the tube's estimate to where pyxdf places them, least and greatest.
        beyond_us: how far outside the bar at most.
    """

    stream: str
    clock: str
    samples: int
    outside: int
    off_us: tuple[float, float]
    beyond_us: float


def beside_pyxdf(path: Path, *, dejitter: bool = False) -> list[Beside]:
    """What pyxdf's own synchronisation makes of the samples of a file."""
    with open_trace(path) as trace:
        table = trace.read_all("tube", names=True)
        names = {info.clock.clock: trace.clocks.name(info.clock) for info in trace.clocks.clocks()}
    columns = {name: table[name].to_numpy() for name in ("trace_time", "earliest", "latest")}
    track, clock = table["track"].to_numpy(), table["clock"].to_numpy()
    found = []
    for stream in _loaded(path, dejitter_timestamps=dejitter):
        rows = np.flatnonzero(track == stream["info"]["stream_id"])
        placed = np.rint(np.array(stream["time_stamps"]) * 1e9).astype(np.int64)
        for number in np.unique(clock[rows]):
            some = clock[rows] == number
            at, (estimate, earliest, latest) = (
                placed[some],
                (column[rows[some]] for column in columns.values()),
            )
            off, beyond = at - estimate, np.maximum(earliest - at, at - latest)
            found.append(
                Beside(
                    stream["info"]["name"][0],
                    names[int(number)],
                    len(at),
                    int((beyond > 0).sum()),
                    (float(off.min()) / 1e3, float(off.max()) / 1e3),
                    max(0.0, float(beyond.max()) / 1e3),
                )
            )
    return found
