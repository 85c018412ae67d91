"""What `tracetime fleet` prints: what came of a run, and the summary of a data set."""

from __future__ import annotations

from typing import Final

from tools.json_schemas.notation import (
    Schema,
    count,
    either,
    int64,
    listed,
    number,
    one_of,
    or_null,
    record,
    shared,
    text,
)
from tracetime.doctor import SEVERITIES
from tracetime.fleet.figures import MEASURES, Spread

_RUN: Final = record(
    "What came of a run.",
    {
        "out": text("The data set, as it was named."),
        "traces": count("How many traces were named."),
        "unchanged": count("How many of them had their part already."),
        "converted": count("How many parts were made."),
        "rejected": count("How many traces have none."),
        "rows": count("The rows of all their parts, those of earlier runs included."),
        "bytes_read": count("Bytes of the traces that were read."),
        "seconds": number("How long it took."),
        "errors": listed(
            "The first traces that were rejected.",
            record(
                "One of them.",
                {"trace": text("Its path or URL."), "message": text("Why, and what to do.")},
            ),
        ),
    },
)

_MODEL: Final = text("The model of the machine, as the traces tell it; or unknown.")
_PAIR: Final[dict[str, Schema]] = {
    "model": _MODEL,
    "reference": text("The clock that the other is measured against."),
    "clock": text("The other; clocks that each packet sequence has share a name."),
}
_SHARES: Final = {
    "least": "The least.",
    "low": "That of 5 %.",
    "median": "The median.",
    "high": "That of 95 %.",
    "most": "The greatest.",
}


def _spread(says: str) -> Schema:
    return record(says, {name: number(_SHARES[name]) for name in Spread._fields})


_TRACE: Final = text("The path or the URL of a trace.")

_SUMMARY: Final = record(
    "How the clocks of all traces of a data set run.",
    {
        "dataset": text("The data set, as it was named."),
        "traces": count("How many traces the doctor has examined."),
        "rejected": count("How many it could not read."),
        "models": listed(
            "The models of the machines, those with most traces first.",
            record(
                "A model.",
                {
                    "model": _MODEL,
                    "traces": count("How many traces are of it."),
                    "errors": count("How many of them have a finding that is an error."),
                    "warnings": count("How many of them have a finding that is a warning."),
                },
            ),
        ),
        "pairs": listed(
            "Pairs of clocks, by model.",
            record(
                "A pair in the traces of a model.",
                {
                    **_PAIR,
                    "traces": count("How many traces have the pair."),
                    "drift_ppm": or_null(
                        _spread("How much faster the clock runs, ppm; null where no trace tells.")
                    ),
                    "wander_ppm": _spread("How far its rate strays, ppm."),
                    "worst_bar_ns": or_null(
                        _spread(
                            "The widest bar of each trace, its half-width in ns; null where all "
                            "are open to one side."
                        )
                    ),
                    "worst_trace": or_null(
                        text("The trace with the widest bar; null where none is known.")
                    ),
                    "open_bars": count("How many rows have a bar that is open to one side."),
                    "jumps": count("How many jumps there are in all."),
                    "jumping": count("How many traces have any."),
                },
            ),
        ),
        "findings": listed(
            "Findings, by model and the worst first.",
            record(
                "The findings of one code and severity in the traces of a model.",
                {
                    "model": _MODEL,
                    "code": shared("finding_code", "Their kind."),
                    "severity": one_of("How bad they are.", SEVERITIES),
                    "traces": count("How many traces have any."),
                    "findings": count("How many there are."),
                    "worst_ns": or_null(
                        int64("By how much time at most, ns; null where there is no such figure.")
                    ),
                    "trace": text("The trace where that is."),
                },
            ),
        ),
        "outliers": listed(
            "Traces that are far from most traces of their model, the farthest first.",
            record(
                "A measure of a pair in a trace.",
                {
                    **_PAIR,
                    "measure": one_of("What is measured.", MEASURES),
                    "trace": _TRACE,
                    "value": number("The measure in this trace."),
                    "usual": number("Its median over the traces of the model."),
                },
            ),
        ),
        "outliers_left_out": count("How many more outliers there are."),
        "comparison": or_null(
            record(
                "What is worse than in another data set; null without --against.",
                {
                    "against": text("The other, as it was named."),
                    "worse": listed(
                        "What is worse.",
                        record(
                            "A measure of a pair, a finding, or a model.",
                            {
                                "model": _MODEL,
                                "measure": one_of(
                                    "What is worse: worst_bar_ns, the widest bar of all traces; "
                                    "drift_ppm, the greater distance from 0 of its 5 and 95 %; "
                                    "wander_ppm, its 95 %; open_bars, how many are open to one "
                                    "side; jumping, the traces with jumps; finding, the traces "
                                    "that have it; traces, of a model that has none any more.",
                                    (
                                        "worst_bar_ns",
                                        "drift_ppm",
                                        "wander_ppm",
                                        "open_bars",
                                        "jumping",
                                        "finding",
                                        "traces",
                                    ),
                                ),
                                "reference": or_null(text("Of the pair; null of what has none.")),
                                "clock": or_null(text("Of the pair; null of what has none.")),
                                "code": or_null(
                                    shared("finding_code", "The kind of the finding; else null.")
                                ),
                                "before": number("The measure there."),
                                "after": number("The same here."),
                                "trace": or_null(
                                    text("A trace that shows it, of a bar or a finding; else null.")
                                ),
                            },
                        ),
                    ),
                    "models": count("How many models both have: others are not compared."),
                    "only_here": listed("Models that the other has not.", _MODEL),
                },
            )
        ),
        "report": or_null(text("The page of -o that was written; null without.")),
        "bytes": count("The size of the page; 0 without."),
    },
)

FLEET: Final = either(
    "What came of a run over many traces, or the summary of a data set.",
    **{"convert, slices and doctor": _RUN, "summary": _SUMMARY},
)
