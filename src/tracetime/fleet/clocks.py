"""The rates of the clocks of one trace against each other, as a part of a data set."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from tracetime.analysis.survey import MOST_ORDERED, Survey
from tracetime.clocks.families import steadiness
from tracetime.clocks.ids import ClockId
from tracetime.doctor import Finding
from tracetime.errors import ConversionError
from tracetime.graph.graph import Graph
from tracetime.reporting.measure import ClockPair, Measured, measure

SCHEMA: Final = pa.schema(
    [
        ("model", pa.string()),
        ("kernel", pa.string()),
        ("host", pa.string()),
        ("reference", pa.string()),
        ("clock", pa.string()),
        ("snapshots", pa.int64()),
        ("drift_ppm", pa.float64()),
        ("wander_ppm", pa.float64()),
        ("worst_bar_ns", pa.float64()),
        ("median_bar_ns", pa.float64()),
        ("jumps", pa.int64()),
        ("events", pa.int64()),
        ("lost", pa.int64()),
    ]
)
"""A row for each pair of clocks that is measured; of a trace without any, one row without clocks.

Clocks that each packet sequence has share a name, as 64@seq*. A bar that is open is null.
"""

_SEQUENCE: Final = re.compile(r"@seq[0-9]+")


def clocks_batch(survey: Survey, findings: list[Finding]) -> tuple[pa.RecordBatch, int]:
    """Return the rows of a trace by `SCHEMA`, and how many pairs are left out: they are too many.

    Args:
        findings: the doctor's, worst first: pairs that these name are measured first.
    """
    graph = survey.graph
    pairs = _pairs(graph)
    names = {clock: _name(clock, graph.name(clock)) for pair in pairs for clock in pair}
    measured = measure(survey, findings, names, pairs)
    facts = survey.trace.machine_facts()
    machine = {"model": facts.model, "kernel": facts.kernel, "host": facts.host}
    rows = [machine | row for row in _rows(survey, measured, names)]
    return pa.RecordBatch.from_pylist(rows or [machine], schema=SCHEMA), len(measured.beyond)


def _pairs(graph: Graph) -> list[ClockPair]:
    """The pairs that snapshots or messages tie.

    The same clock of a pair is the reference in every trace, whatever its trace clock is.
    """
    tied = [*graph.contents.compared(), *graph.state.orders.pairs()[:MOST_ORDERED]]
    steady = (sorted(pair, key=steadiness) for pair in tied)
    return list(dict.fromkeys((one, other) for one, other in steady))


def _name(clock: ClockId, name: str) -> str:
    return _SEQUENCE.sub("@seq*", name) if name == str(clock) else name


def _rows(
    survey: Survey, measured: Measured, names: dict[ClockId, str]
) -> Iterator[dict[str, Any]]:
    tubes = survey.graph.tubes
    for one in measured.pairs:
        tube = tubes.pair(one.reference, one.clock).tube
        yield {
            "reference": names[one.reference],
            "clock": one.name,
            "snapshots": one.snapshots,
            "drift_ppm": one.drift_ppm,
            # The tube rounds it up, to whole 2^-52.
            "wander_ppm": round(float(tube.wander.max()) * 1e6, 9),
            "worst_bar_ns": _worst_bar_ns(survey, one.reference, one.clock),
            "median_bar_ns": _known(one.bar_ns),
            "jumps": one.breaks,
            "events": one.events,
            "lost": one.lost,
        }


def _worst_bar_ns(survey: Survey, reference: ClockId, clock: ClockId) -> float | None:
    """The greatest half-width among the snapshots of two clocks."""
    try:
        return _known(survey.trace.clocks.curves(reference, clock).most_bar_ns)
    except ConversionError:
        return None


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
