"""What got worse from one data set to another: bars, drift, and findings that are new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.fleet.figures import Comparison, DataSetSummary, PairFigures, Spread, Worse

WORSE: Final = 1.5
"""A measure that grew by this factor is worse: less is the scatter of readings."""

LEAST_NS: Final = 1_000
"""Bars that grew by less than this are no worse: so much is the scatter of readings."""

LEAST_PPM: Final = 1.0
"""Drift that grew by less than this is no worse: temperature alone changes it by so much."""


def compare(here: DataSetSummary, there: DataSetSummary) -> Comparison:
    """Return what is worse `here` than `there`, of the models that both have."""
    shared = {one.model for one in here.models} & {one.model for one in there.models}
    only_here = [one.model for one in here.models if one.model not in shared]
    worse = [*_findings(here, there, shared), *_pairs(here, there)]
    return Comparison(there.dataset, worse, len(shared), only_here)


def _findings(here: DataSetSummary, there: DataSetSummary, shared: set[str]) -> Iterator[Worse]:
    """Errors and warnings of kinds that the other traces of a model do not have."""
    known = {(one.model, one.code, one.severity) for one in there.findings}
    # What was an error and is a warning is no worse.
    known |= {(model, code, "warning") for model, code, severity in known if severity == "error"}
    for one in here.findings:
        new = (one.model, one.code, one.severity) not in known
        if new and one.model in shared and one.severity != "info":
            yield Worse(
                one.model, "finding", None, None, one.code, 0.0, float(one.traces), one.trace
            )


def _pairs(here: DataSetSummary, there: DataSetSummary) -> Iterator[Worse]:
    known = {one.key: one for one in there.pairs}
    for one in here.pairs:
        before = known.get(one.key)
        if before is None:
            continue
        was, now = _bar(before), _bar(one)
        if was is not None and now is not None and _grew(was, now, LEAST_NS):
            yield Worse(*one.key[:1], "worst_bar_ns", *one.key[1:], None, was, now, one.worst_trace)
        was, now = _drift(before.drift_ppm), _drift(one.drift_ppm)
        if was is not None and now is not None and _grew(was, now, LEAST_PPM):
            yield Worse(*one.key[:1], "drift_ppm", *one.key[1:], None, was, now, None)


def _grew(was: float, now: float, least: float) -> bool:
    return now - was >= least and now >= WORSE * was


def _bar(pair: PairFigures) -> float | None:
    return None if pair.worst_bar_ns is None else pair.worst_bar_ns.most


def _drift(drift: Spread | None) -> float | None:
    """How far from 0 the rates of nearly all traces are, at most."""
    return None if drift is None else max(abs(drift.low), abs(drift.high))
