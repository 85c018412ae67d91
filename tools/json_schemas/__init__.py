"""The schemas of what the commands print with --json: made of the classes that are printed.

`python -m tools.json_schemas` writes them into docs/schemas, and their page. Tests compare both
with the commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.json_schemas.notation import Schema, document, either, listed, one_of, text
from tools.json_schemas.types import Shapes
from tracetime import errors
from tracetime.analysis.summary import Summary
from tracetime.capture.calibrate import Calibration
from tracetime.capture.sample import Finding as Fault
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.commands import (
    ErrorDocument,
    at,
    calibrate,
    clocks,
    doctor,
    fleet_summary,
    merge,
    now,
    open,
    overview,
    record,
    report,
    watch,
)
from tracetime.doctor.catalogue import CATALOGUE
from tracetime.doctor.finding import Finding
from tracetime.fleet.figures import DataSetSummary
from tracetime.fleet.run import FleetSummary
from tracetime.graph.explanation import Explanation
from tracetime.graph.tube.explanation import TubeExplanation
from tracetime.hosts.ping import PingResult
from tracetime.merging.report import MergeReport
from tracetime.sources.source import Unavailable
from tracetime.tables.file_conversion import TableSummary
from tracetime.trace.facts import TraceWarning
from tracetime.verbs.bake import BakeSummary
from tracetime.verbs.convert import SlicesSummary
from tracetime.verbs.event_baking.reasons import REASONS
from tracetime.verbs.split import SplitSummary

_NUMBER: Final = rf"({'|'.join(BUILTIN_IDS)}|0x[0-9a-f]{{8}}|[0-9]+)"

_shapes: Final = Shapes(
    {
        ClockId: "clock",
        TraceWarning: "warning",
        errors.TraceError: "error",
        errors.TracetimeError: "error",
        errors.ErrorFacts: "error",
        Finding: "finding",
        Fault: "fault",
        Unavailable: "unavailable",
    }
)
_of = _shapes.of

SHARED: Final[Mapping[str, Schema]] = {
    "clock": text(
        "A clock: a builtin name, a number (in hex where it is the hash of a name), and where they "
        "are not 0 its packet sequence, the index of its machine and of its file.",
        pattern=rf"^{_NUMBER}(@seq[0-9]+)?(@machine[0-9]+)?(@file[0-9]+)?$",
        examples=["BOOTTIME", "64@seq7", "0x8a01b2c3@machine1"],
    ),
    "warning": _of(TraceWarning),
    "error": _of(errors.ErrorFacts),
    "finding": _of(Finding),
    "finding_code": one_of(
        "The kind of a finding: the name of its page under Findings.", sorted(CATALOGUE)
    ),
    "fault": _of(Fault),
    "unavailable": _of(Unavailable),
    "left_out_reason": one_of("Why something of another format is not in the output.", REASONS),
}
"""The shapes that several commands print."""

_SQL: Final = listed(
    "The rows of the result.",
    {
        "description": "A row: its values by the names of the columns, which the query decides. "
        "Timestamps, dates and intervals are strings, as are decimals that no number holds exactly "
        "and the hex digits of blobs; maps are lists of [key, value]; nan and infinity are null.",
        "type": "object",
    },
)

SHAPES: Final[Mapping[str, Schema]] = {
    "overview": either(
        "Files at a glance.",
        **{
            "FILE": _of(overview.Overview),
            "FILE FILE...": _of(overview.Together),
        },
    ),
    "convert": either(
        "What came of writing the file.",
        **{
            "convert": _of(Summary),
            "convert --slices": _of(SlicesSummary),
            "convert --map": _of(TableSummary),
        },
    ),
    "clocks": _of(clocks.Clocks),
    "at": either(
        "One conversion, and how it was made.",
        **{
            "at": _of(at.At, at.OfFloor, Explanation),
            "at --policy tube": _of(at.At, TubeExplanation),
        },
    ),
    "doctor": _of(doctor.Doctor),
    "report": _of(report.Report),
    "bake": _of(BakeSummary),
    "merge": _of(merge.Merge, MergeReport),
    "split": _of(SplitSummary),
    "sql": _SQL,
    "open": _of(open.Open),
    "fleet": either(
        "What came of a run over many traces, or the summary of a data set.",
        **{
            "convert, slices and doctor": _of(FleetSummary),
            "summary": _of(DataSetSummary, fleet_summary.Page),
        },
    ),
    "record": _of(record.Record),
    "calibrate": either(
        "How exactly the clocks of this machine can be read.",
        **{"calibrate": _of(Calibration), "calibrate --check": _of(calibrate.Check)},
    ),
    "watch": _of(watch.Watch),
    "now": _of(now.Now),
    "ping": _of(PingResult),
    "error": _of(ErrorDocument),
}
"""By command; `error` is what each of them prints when it fails."""


_TITLES: Final = {"error": "An error with --json", "overview": "tracetime FILE --json"}


def schemas() -> dict[str, Schema]:
    """The schemas by command, each complete."""
    return {
        name: document(
            _TITLES.get(name, f"tracetime {name} --json"),
            shape,
            SHARED,
        )
        for name, shape in SHAPES.items()
    }
