"""What got worse from one data set to another: bars, rates, jumps, findings, lost models."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from tracetime.fleet.figures import Comparison, DataSetSummary, PairFigures, Spread, Worse

WORSE: Final = Fraction(3, 2)
"""A measure that grew by this factor is worse: less is the scatter of readings."""

LEAST_NS: Final = 1_000
"""Bars that grew by less than this are no worse: so much is the scatter of readings."""

LEAST_PPM: Final = 1.0
"""Rates that grew by less than this are no worse: temperature alone changes them by so much."""

LEAST_SHARE: Final = Fraction(1, 10)
"""What more traces have is no worse where it is less than this share of them: that is chance."""


def compare(here: DataSetSummary, there: DataSetSummary) -> Comparison:
    """Return what is worse `here` than `there`, of the models that are there."""
    shared = {one.model for one in here.models} & {one.model for one in there.models}
    only_here = [one.model for one in here.models if one.model not in shared]
    worse = [*_gone(there, shared), *_findings(here, there), *_pairs(here, there)]
    return Comparison(there.dataset, worse, len(shared), only_here)


def _gone(there: DataSetSummary, shared: set[str]) -> Iterator[Worse]:
    """The models without a trace."""
    for one in there.models:
        if one.model not in shared:
            yield Worse(one.model, "traces", None, None, None, float(one.traces), 0.0, None)


def _findings(here: DataSetSummary, there: DataSetSummary) -> Iterator[Worse]:
    """Errors and warnings that none of the other traces of a model have, or fewer of them."""
    before = {one.model: one.traces for one in there.models}
    after = {one.model: one.traces for one in here.models}
    known = {(one.model, one.code, one.severity): one.traces for one in there.findings}
    for one in here.findings:
        if one.severity == "info" or one.model not in before:
            continue
        was = known.get((one.model, one.code, one.severity), 0)
        if one.severity == "warning":
            # What was an error and is a warning is no worse.
            was = max(was, known.get((one.model, one.code, "error"), 0))
        if not was or _more(was, before[one.model], one.traces, after[one.model]):
            yield Worse(
                one.model, "finding", None, None, one.code, float(was), float(one.traces), one.trace
            )


def _pairs(here: DataSetSummary, there: DataSetSummary) -> Iterator[Worse]:
    known = {one.key: one for one in there.pairs}
    for one in here.pairs:
        before = known.get(one.key)
        if before is not None:
            yield from _measures(one, before)
            yield from _shares(one, before)


def _measures(pair: PairFigures, before: PairFigures) -> Iterator[Worse]:
    """Bars and rates of a pair that grew."""
    model, reference, clock = pair.key
    for measure, was, now, least, trace in (
        ("worst_bar_ns", _bar(before), _bar(pair), LEAST_NS, pair.worst_trace),
        ("drift_ppm", _drift(before.drift_ppm), _drift(pair.drift_ppm), LEAST_PPM, None),
        ("wander_ppm", before.wander_ppm.high, pair.wander_ppm.high, LEAST_PPM, None),
    ):
        if was is not None and now is not None and now - was >= least and now >= WORSE * was:
            yield Worse(model, measure, reference, clock, None, was, now, trace)


def _shares(pair: PairFigures, before: PairFigures) -> Iterator[Worse]:
    """Open bars of a pair, and traces with jumps, that are more of all."""
    model, reference, clock = pair.key
    for measure, was, now, is_new in (
        ("open_bars", before.open_bars, pair.open_bars, before.open_bars == 0 < pair.open_bars),
        ("jumping", before.jumping, pair.jumping, False),
    ):
        if is_new or _more(was, before.traces, now, pair.traces):
            yield Worse(model, measure, reference, clock, None, float(was), float(now), None)


def _more(was: int, of_was: int, now: int, of_now: int) -> bool:
    """Whether a share grew."""
    before, after = Fraction(was, of_was), Fraction(now, of_now)
    return after - before >= LEAST_SHARE and after >= WORSE * before


def _bar(pair: PairFigures) -> float | None:
    return None if pair.worst_bar_ns is None else pair.worst_bar_ns.most


def _drift(drift: Spread | None) -> float | None:
    """How far from 0 the rates of nearly all traces are, at most."""
    return None if drift is None else max(abs(drift.low), abs(drift.high))
