"""Events from many clocks on one timeline.

The public names, and nothing else. They load on first use, so that `tracetime --version` and shell
completion do not wait for NumPy and Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from tracetime._version import __version__
from tracetime.graph import FUNCTIONS

if TYPE_CHECKING:
    from tracetime import fleet as fleet
    from tracetime._kernels.perfetto.writer import Span, Track
    from tracetime.capture.calibrate import Calibration, ClockCalibration, calibrate
    from tracetime.capture.parts import join_parts
    from tracetime.capture.problems import Problem
    from tracetime.capture.record import record
    from tracetime.capture.recorder import Recorder
    from tracetime.capture.sample import Count, Sample
    from tracetime.capture.sampling import Sampler
    from tracetime.clocks.domain import ClockDomain
    from tracetime.clocks.ids import ClockId, ClockLike, clock_id
    from tracetime.clocks.kernel_clock import KernelClock, WallBound
    from tracetime.clocks.snapshot import Reading, Snapshot
    from tracetime.columns.matching import MatchedMessages, match_messages
    from tracetime.doctor import Finding, diagnose
    from tracetime.errors import (
        ConversionError,
        NoBoundError,
        SourceError,
        TraceError,
        TracetimeError,
        UsageError,
    )
    from tracetime.formats import open_trace, register_format
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.curves import Curves
    from tracetime.graph.explanation import Explanation, Hop, Outside
    from tracetime.graph.info import ClockInfo, FlowCounts, OrdersInfo, Readings, SeriesInfo
    from tracetime.graph.tube.explanation import MeshHop, TubeExplanation, TubeHop
    from tracetime.graph.tube.results import Bounds, Inconsistency, Margin, PairDiscontinuity
    from tracetime.hosts.peer import Peer
    from tracetime.hosts.ping import PingResult, ping
    from tracetime.merging.boots import BootDecision
    from tracetime.merging.merge import merge
    from tracetime.merging.one_trace import open_traces
    from tracetime.merging.output_report import WrittenFile, WrittenTrace
    from tracetime.merging.pair_evidence import PairEvidence
    from tracetime.merging.report import FileReport, MergeReport, SharedPid
    from tracetime.merging.steps import ClockStep, Suspend
    from tracetime.merging.ties import Tie
    from tracetime.reporting import Report, report
    from tracetime.sources.source import ClockSource, Unavailable
    from tracetime.sources.time_service.process import now, wait_past
    from tracetime.sources.time_service.service import TimeService
    from tracetime.sources.time_service.statement import TrueTime
    from tracetime.tables.conversion import TableConverter, convert_table
    from tracetime.trace.facts import (
        EarlyKernels,
        LateSnapshots,
        OddEvents,
        OffsetShift,
        SnapshotFault,
        TraceClockMove,
        TraceWarning,
        UnusedBounds,
        WallClockBounds,
        WallClockContradiction,
        WrittenTimes,
    )
    from tracetime.trace.trace import Trace
    from tracetime.verbs.bake import BakeSummary, bake
    from tracetime.verbs.split import SplitPart, SplitSummary, split

__all__ = [
    "BakeSummary",
    "BootDecision",
    "Bounds",
    "Calibration",
    "ClockCalibration",
    "ClockDomain",
    "ClockGraph",
    "ClockId",
    "ClockInfo",
    "ClockLike",
    "ClockSource",
    "ClockStep",
    "ConversionError",
    "Count",
    "Curves",
    "EarlyKernels",
    "Explanation",
    "FileReport",
    "Finding",
    "FlowCounts",
    "Hop",
    "Inconsistency",
    "KernelClock",
    "LateSnapshots",
    "Margin",
    "MatchedMessages",
    "MergeReport",
    "MeshHop",
    "NoBoundError",
    "OddEvents",
    "OffsetShift",
    "OrdersInfo",
    "Outside",
    "PairDiscontinuity",
    "PairEvidence",
    "Peer",
    "PingResult",
    "Problem",
    "Reading",
    "Readings",
    "Recorder",
    "Report",
    "Sample",
    "Sampler",
    "SeriesInfo",
    "SharedPid",
    "Snapshot",
    "SnapshotFault",
    "SourceError",
    "Span",
    "SplitPart",
    "SplitSummary",
    "Suspend",
    "TableConverter",
    "Tie",
    "TimeService",
    "Trace",
    "TraceClockMove",
    "TraceError",
    "TraceWarning",
    "TracetimeError",
    "Track",
    "TrueTime",
    "TubeExplanation",
    "TubeHop",
    "Unavailable",
    "UnusedBounds",
    "UsageError",
    "WallBound",
    "WallClockBounds",
    "WallClockContradiction",
    "WrittenFile",
    "WrittenTimes",
    "WrittenTrace",
    "__version__",
    "bake",
    "calibrate",
    "clock_id",
    "convert_table",
    "diagnose",
    "join_parts",
    "match_messages",
    "merge",
    "now",
    "open_trace",
    "open_traces",
    "ping",
    "record",
    "register_format",
    "report",
    "split",
    "wait_past",
]

_HOMES: Final = {
    "BakeSummary": "tracetime.verbs.bake",
    "Bounds": "tracetime.graph.tube.results",
    "Calibration": "tracetime.capture.calibrate",
    "ClockCalibration": "tracetime.capture.calibrate",
    "ClockDomain": "tracetime.clocks.domain",
    "ClockGraph": "tracetime.graph.clock_graph",
    "ClockId": "tracetime.clocks.ids",
    "ClockInfo": "tracetime.graph.info",
    "ClockLike": "tracetime.clocks.ids",
    "ClockSource": "tracetime.sources.source",
    "ClockStep": "tracetime.merging.steps",
    "ConversionError": "tracetime.errors",
    "Count": "tracetime.capture.sample",
    "Curves": "tracetime.graph.curves",
    "Explanation": "tracetime.graph.explanation",
    "Finding": "tracetime.doctor",
    "FlowCounts": "tracetime.graph.info",
    "Hop": "tracetime.graph.explanation",
    "Inconsistency": "tracetime.graph.tube.results",
    "KernelClock": "tracetime.clocks.kernel_clock",
    "LateSnapshots": "tracetime.trace.facts",
    "Margin": "tracetime.graph.tube.results",
    "MatchedMessages": "tracetime.columns.matching",
    "NoBoundError": "tracetime.errors",
    "OrdersInfo": "tracetime.graph.info",
    "Outside": "tracetime.graph.explanation",
    "PairDiscontinuity": "tracetime.graph.tube.results",
    "Peer": "tracetime.hosts.peer",
    "PingResult": "tracetime.hosts.ping",
    "Problem": "tracetime.capture.problems",
    "Reading": "tracetime.clocks.snapshot",
    "Readings": "tracetime.graph.info",
    "Recorder": "tracetime.capture.recorder",
    "Report": "tracetime.reporting",
    "Sample": "tracetime.capture.sample",
    "Sampler": "tracetime.capture.sampling",
    "SeriesInfo": "tracetime.graph.info",
    "SharedPid": "tracetime.merging.report",
    "Snapshot": "tracetime.clocks.snapshot",
    "SnapshotFault": "tracetime.trace.facts",
    "EarlyKernels": "tracetime.trace.facts",
    "OffsetShift": "tracetime.trace.facts",
    "SourceError": "tracetime.errors",
    "Trace": "tracetime.trace.trace",
    "TraceClockMove": "tracetime.trace.facts",
    "TraceError": "tracetime.errors",
    "TraceWarning": "tracetime.trace.facts",
    "TracetimeError": "tracetime.errors",
    "Span": "tracetime._kernels.perfetto.writer",
    "Track": "tracetime._kernels.perfetto.writer",
    "TubeExplanation": "tracetime.graph.tube.explanation",
    "MeshHop": "tracetime.graph.tube.explanation",
    "TubeHop": "tracetime.graph.tube.explanation",
    "Unavailable": "tracetime.sources.source",
    "OddEvents": "tracetime.trace.facts",
    "UnusedBounds": "tracetime.trace.facts",
    "WallBound": "tracetime.clocks.kernel_clock",
    "WallClockBounds": "tracetime.trace.facts",
    "WallClockContradiction": "tracetime.trace.facts",
    "UsageError": "tracetime.errors",
    "WrittenTimes": "tracetime.trace.facts",
    "bake": "tracetime.verbs.bake",
    "calibrate": "tracetime.capture.calibrate",
    "clock_id": "tracetime.clocks.ids",
    "TableConverter": "tracetime.tables.conversion",
    "convert_table": "tracetime.tables.conversion",
    "diagnose": "tracetime.doctor",
    "join_parts": "tracetime.capture.parts",
    "match_messages": "tracetime.columns.matching",
    "open_trace": "tracetime.formats",
    "open_traces": "tracetime.merging.one_trace",
    "record": "tracetime.capture.record",
    "register_format": "tracetime.formats",
    "report": "tracetime.reporting",
    "BootDecision": "tracetime.merging.boots",
    "FileReport": "tracetime.merging.report",
    "MergeReport": "tracetime.merging.report",
    "PairEvidence": "tracetime.merging.pair_evidence",
    "Tie": "tracetime.merging.ties",
    "WrittenFile": "tracetime.merging.output_report",
    "WrittenTrace": "tracetime.merging.output_report",
    "merge": "tracetime.merging.merge",
    "SplitPart": "tracetime.verbs.split",
    "SplitSummary": "tracetime.verbs.split",
    "Suspend": "tracetime.merging.steps",
    "split": "tracetime.verbs.split",
    "TimeService": "tracetime.sources.time_service.service",
    "TrueTime": "tracetime.sources.time_service.statement",
    "now": "tracetime.sources.time_service.process",
    "ping": "tracetime.hosts.ping",
    "wait_past": "tracetime.sources.time_service.process",
}

FUNCTIONS["pair_figure"] = "tracetime.reporting.plot"
FUNCTIONS["query"] = "tracetime.sql.session"


def __getattr__(name: str) -> object:
    if name == "fleet":
        return import_module("tracetime.fleet")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


_MADE: Final = (
    "ClockDomain",
    "ClockGraph",
    "ClockId",
    "ClockSource",
    "Finding",
    "Peer",
    "Reading",
    "Recorder",
    "Sampler",
    "Snapshot",
    "TableConverter",
    "Trace",
)
"""The classes that people name; the others are of what functions return."""


def __dir__() -> list[str]:
    functions = (name for name in __all__ if name.islower() or name.endswith("Error"))
    return sorted({*functions, *_MADE, "fleet", "__all__", "__doc__"})
