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
    from tracetime.clocks.domain import ClockDomain
    from tracetime.clocks.ids import ClockId, clock_id
    from tracetime.clocks.snapshot import Reading, Snapshot
    from tracetime.doctor import Finding, diagnose
    from tracetime.errors import (
        ConversionError,
        SourceError,
        TraceError,
        TracetimeError,
        UsageError,
    )
    from tracetime.formats import open_trace, register_format
    from tracetime.graph.graph import ClockGraph
    from tracetime.graph.tube.policy import Bounds
    from tracetime.reporting import report
    from tracetime.trace import Trace

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
    "register_format",
    "report",
]

_HOMES: Final = {
    "Bounds": "tracetime.graph.tube.policy",
    "Calibration": "tracetime.capture.calibrate",
    "ClockDomain": "tracetime.clocks.domain",
    "ClockGraph": "tracetime.graph.graph",
    "ClockId": "tracetime.clocks.ids",
    "ConversionError": "tracetime.errors",
    "Finding": "tracetime.doctor",
    "Reading": "tracetime.clocks.snapshot",
    "Sample": "tracetime.capture.sample",
    "Sampler": "tracetime.capture.sampling",
    "Recorder": "tracetime.capture.recorder",
    "Snapshot": "tracetime.clocks.snapshot",
    "SourceError": "tracetime.errors",
    "Trace": "tracetime.trace",
    "TraceError": "tracetime.errors",
    "TracetimeError": "tracetime.errors",
    "UsageError": "tracetime.errors",
    "calibrate": "tracetime.capture.calibrate",
    "clock_id": "tracetime.clocks.ids",
    "diagnose": "tracetime.doctor",
    "open_trace": "tracetime.formats",
    "record": "tracetime.capture.recorder",
    "register_format": "tracetime.formats",
    "report": "tracetime.reporting",
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
