"""Events from many clocks on one timeline.

The public names, and nothing else. They load on first use, so that `tracetime --version` and shell
completion do not wait for NumPy and Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from tracetime._version import __version__

if TYPE_CHECKING:
    from tracetime.capture.calibrate import Calibration, calibrate
    from tracetime.capture.recorder import Recorder, record
    from tracetime.capture.sample import Sample
    from tracetime.capture.sampling import Sampler
    from tracetime.clocks import ClockId, clock_id
    from tracetime.doctor import Finding, diagnose
    from tracetime.domain import ClockDomain
    from tracetime.errors import (
        ConversionError,
        SourceError,
        TraceError,
        TracetimeError,
        UsageError,
    )
    from tracetime.graph.bounds import Bounds
    from tracetime.graph.graph import ClockGraph
    from tracetime.perfetto.reader import Trace, open_trace
    from tracetime.report import report
    from tracetime.snapshot import Reading, Snapshot

__all__ = [
    "Bounds",
    "Calibration",
    "ClockDomain",
    "ClockGraph",
    "ClockId",
    "ConversionError",
    "Finding",
    "Reading",
    "Recorder",
    "Sample",
    "Sampler",
    "Snapshot",
    "SourceError",
    "Trace",
    "TraceError",
    "TracetimeError",
    "UsageError",
    "__version__",
    "calibrate",
    "clock_id",
    "diagnose",
    "open_trace",
    "record",
    "report",
]

_HOMES: Final = {
    "Bounds": "tracetime.graph.bounds",
    "Calibration": "tracetime.capture.calibrate",
    "ClockDomain": "tracetime.domain",
    "ClockGraph": "tracetime.graph.graph",
    "ClockId": "tracetime.clocks",
    "ConversionError": "tracetime.errors",
    "Finding": "tracetime.doctor",
    "Reading": "tracetime.snapshot",
    "Sample": "tracetime.capture.sample",
    "Sampler": "tracetime.capture.sampling",
    "Recorder": "tracetime.capture.recorder",
    "Snapshot": "tracetime.snapshot",
    "SourceError": "tracetime.errors",
    "Trace": "tracetime.perfetto.reader",
    "TraceError": "tracetime.errors",
    "TracetimeError": "tracetime.errors",
    "UsageError": "tracetime.errors",
    "calibrate": "tracetime.capture.calibrate",
    "clock_id": "tracetime.clocks",
    "diagnose": "tracetime.doctor",
    "open_trace": "tracetime.perfetto.reader",
    "record": "tracetime.capture.recorder",
    "report": "tracetime.report",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
