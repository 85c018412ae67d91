"""Findings about messages as evidence: orders that contradict, lack a direction, or are slow.

The orders are the flows between machines that the caller lets the tube use, and recorded rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.analysis.contradictions import loop_disagreements
from tracetime.analysis.survey import MOST_ORDERED, Survey
from tracetime.clocks.families import WALL
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import known_of
from tracetime.doctor.catalogue import finding
from tracetime.doctor.contradictions import against_snapshots
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.errors import TracetimeError
from tracetime.graph.tube.evidence import WIDEST
from tracetime.graph.tube.orders import PairOrders
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.graph.values import Mask, Values, difference
from tracetime.text import count, duration

_NAMED: Final = 3
"""So many messages are named in a title."""
_WIDER: Final = 4
"""Bars so many times as wide outside the messages as among them are worth a word."""
_MORE: Final = 1.01
"""Rounding makes a rate's changes no larger than this."""


class _Way(NamedTuple):
    """The messages from one clock to another.

    Attributes:
        numbers: of the orders, over the graph.
        sent, received: raw readings, int64.
    """

    before: ClockId
    after: ClockId
    numbers: Values
    sent: Values
    received: Values


def messages(survey: Survey) -> Iterator[Finding]:
    """Yield findings about the orders of a trace."""
    flows = survey.trace.flows
    if flows is not None and flows.undirected:
        yield finding(
            "undirected-flows",
            "info" if flows.orders else "warning",
            undirected=flows.undirected,
            flows=count(flows.flows, "flow"),
            are="is" if flows.undirected == 1 else "are",
        )
    orders = survey.graph.state.orders
    for one, other in orders.pairs()[:MOST_ORDERED]:
        if any(survey.graph.domain(clock).is_placed for clock in (one, other)):
            # Work that begins before its call has a finding of its own.
            continue
        found = orders.of(one, other)
        assert found is not None
        ways = [way for way in _ways(one, other, found) if len(way.numbers)]
        for way in ways:
            yield from _reversed(survey, way)
            yield from _disagreeing(survey, way)
        try:
            pair = survey.graph.tubes.pair(one, other)
        except TracetimeError:
            continue
        contradiction = survey.contradictions.get((pair.a, pair.b))
        if contradiction is not None:
            ends = _ends(survey, ways, contradiction.orders)
            yield against_snapshots(survey, pair, contradiction, ends)
            continue
        yield from _contradictory(survey, pair, ways)
        yield from _wander(pair)
        if pair.is_one_sided:
            if _is_open(survey, ways[0]):
                yield _one_sided(survey, ways[0])
        else:
            yield from _slow(survey, pair)
            yield from _uncovered(survey, pair)
    yield from _loops(survey)


def _ways(one: ClockId, other: ClockId, orders: PairOrders) -> Iterator[_Way]:
    for ours, there in ((orders.one_first, False), (~orders.one_first, True)):
        ends = [(one, orders.one_ts[ours]), (other, orders.other_ts[ours])]
        (before, sent), (after, received) = reversed(ends) if there else ends
        yield _Way(before, after, orders.numbers[ours], sent, received)


def _units(survey: Survey, clock: ClockId) -> int:
    return survey.infos[clock].unit_ns if clock in survey.infos else 1


def _selections(survey: Survey, way: _Way, rows: Values) -> tuple[EventSelection, ...]:
    """The events at both ends of some messages."""
    return tuple(
        EventSelection(clock, readings=ts[rows] * _units(survey, clock))
        for clock, ts in ((way.before, way.sent), (way.after, way.received))
    )


def _ends(survey: Survey, ways: list[_Way], orders: Values) -> Iterator[EventSelection]:
    """The events at both ends of some orders, by their numbers."""
    for way in ways:
        rows = np.flatnonzero(np.isin(way.numbers, orders))
        if len(rows):
            yield from _selections(survey, way, rows)


def _reversed(survey: Survey, way: _Way) -> Iterator[Finding]:
    """Yield a finding about the messages that floor places before they were sent.

    Rounds are no events: that floor's mean is off by less than they take misplaces none of them.
    """
    of_events = way.numbers >= survey.trace.round_orders
    way = way._replace(
        numbers=way.numbers[of_events], sent=way.sent[of_events], received=way.received[of_events]
    )
    try:
        (left, sent), (came, received) = (
            known_of(survey.trace.clocks.convert(ts, clock, survey.trace_clock, errors="mask"))
            for clock, ts in ((way.before, way.sent), (way.after, way.received))
        )
    except TracetimeError:
        return
    by = np.where(sent & received, difference(left, came), 0)
    rows = np.flatnonzero(by > 0)
    if not len(rows):
        return
    worst = int(np.argmax(by))
    allowed = _allowed(survey, way, rows)
    yield finding(
        "messages-reversed",
        "error" if by[worst] > survey.tolerance_ns else "warning",
        clocks=(way.before, way.after),
        events=2 * len(rows),
        worst_ns=min(int(by[worst]), INT64_MAX),
        selections=_selections(survey, way, rows),
        parts=(*_correction(allowed), _number(rows)),
        allowed="none" if allowed is None else f"{allowed.sum():,} of {len(rows):,}",
        wrong=f"{len(rows):,} of {count(len(by), 'message')}",
        clocks_to=f"{way.before} to {way.after}",
        before=way.before,
        after=way.after,
        sent=way.sent[worst],
        received=way.received[worst],
        trace_clock=survey.trace_clock,
    )


def _disagreeing(survey: Survey, way: _Way) -> Iterator[Finding]:
    """Yield a finding about messages that contradict two machines' wall clocks.

    Where machines may exchange readings, it is floor that takes them for one: see `_reversed`.
    """
    if not {way.before.clock, way.after.clock} <= WALL or survey.trace.has_remote_syncs:
        return
    by = difference(way.sent, way.received)
    rows = np.flatnonzero(by > 0)
    if len(rows):
        worst = int(np.argmax(by))
        yield finding(
            "hosts-disagree",
            "warning" if by[worst] > survey.tolerance_ns else "info",
            clocks=(way.before, way.after),
            events=2 * len(rows),
            worst_ns=min(int(by[worst]), INT64_MAX),
            selections=_selections(survey, way, rows),
            wrong=f"{len(rows):,} of {count(len(by), 'message')}",
            arrive="arrives" if len(rows) == 1 else "arrive",
            before=way.before,
            after=way.after,
            sent=way.sent[worst],
            received=way.received[worst],
        )


def _number(rows: Values) -> str:
    """The part of a text that is right for so many messages."""
    return "one" if len(rows) == 1 else "many"


def _allowed(survey: Survey, way: _Way, rows: Values) -> Mask | None:
    """Which messages error bars allow to be sent before they were received.

    None where the clocks have no bars.
    """
    try:
        bounds = survey.trace.clocks.convert(
            way.sent[rows],
            way.before,
            way.after,
            policy="tube",
            bounds=True,
            bars="guaranteed",
            errors="mask",
        )
    except TracetimeError:
        return None
    _, placed = known_of(bounds.estimate)
    earliest, closed = known_of(bounds.earliest)
    received = way.received[rows] * _units(survey, way.after)
    mask: Mask = np.where(closed, earliest <= received, placed)
    return mask


def _correction(allowed: Mask | None) -> tuple[str, ...]:
    """The part of a text that says of which messages error bars allow a correction."""
    if allowed is None:
        return ("no_bars",)
    if not allowed.any():
        return ("uncorrected",)
    if not allowed.all():
        return ("partly",)
    return ("corrected",) if len(allowed) == 1 else ("all_corrected",)


def _contradictory(survey: Survey, pair: Pair, ways: list[_Way]) -> Iterator[Finding]:
    """Yield findings about orders that the tube left out, and about steps."""
    found = survey.graph.tubes.discontinuities([(pair.a, pair.b)])
    wrong = {number: d for d in found if d.kind == "wrong_order" for number in d.orders}
    for way in ways:
        rows = np.flatnonzero(np.isin(way.numbers, list(wrong)))
        if len(rows):
            yield _wrong(survey, way, rows, wrong)
    yield from _steps(survey, pair, found)


def _wrong(
    survey: Survey, way: _Way, rows: Values, left_out: Mapping[int, PairDiscontinuity]
) -> Finding:
    """Messages of one reading are one piece of evidence: those that bars allow are not wrong."""
    told = _allowed(survey, way, rows)
    allowed = np.zeros(len(rows), dtype=bool) if told is None else told
    rows = rows if allowed.all() else rows[~allowed]
    found = [left_out[int(way.numbers[row])] for row in rows]
    # At least: the rest may be the time that the message took.
    sizes = [min(map(abs, d.size_ns)) if d.size_ns else 0 for d in found]
    worst = int(np.argmax(sizes))
    row = rows[worst]
    named = [f"#{way.numbers[row]:,}" for row in rows[:_NAMED]]
    more = [f"{len(rows) - _NAMED:,} more"] if len(rows) > _NAMED else []
    by = f"{duration(sizes[worst])} too early" if sizes[worst] else "too early"
    return finding(
        "wrong-order",
        "error" if 2 * len(rows) >= len(way.numbers) else "warning",
        clocks=(way.before, way.after),
        events=2 * len(rows),
        worst_ns=sizes[worst] or None,
        selections=_selections(survey, way, rows),
        parts=(
            *(["up_to"] if sizes[worst] else []),
            *(["not_allowed"] if not allowed.all() else []),
            _number(rows),
            *(["beside"] if len(rows) < len(allowed) else []),
        ),
        beside=count(len(allowed) - len(rows), "more message"),
        wrong=len(rows),
        messages=count(len(way.numbers), "message"),
        before=way.before,
        after=way.after,
        numbers=", ".join([*named, *more]),
        example=(
            f"message #{way.numbers[row]:,}, sent at {way.sent[row]} on {way.before}, is received "
            f"at {way.received[row]} on {way.after}, {by}."
        ),
    )


def _steps(survey: Survey, pair: Pair, found: Iterable[PairDiscontinuity]) -> Iterator[Finding]:
    # Those that snapshots show alone are told as jumps.
    steps = [d for d in found if d.orders and d.kind not in ("wrong_order", "rate_change")]
    if not steps:
        return
    sizes = [max(map(abs, d.size_ns)) if d.size_ns else 0 for d in steps]
    worst = int(np.argmax(sizes))
    used = sum(survey.used.get(clock, 0) for clock in (pair.a, pair.b))
    yield finding(
        "step-between-machines",
        "error" if used and sizes[worst] > survey.tolerance_ns else "warning",
        clocks=(pair.a, pair.b),
        worst_ns=sizes[worst] or None,
        parts=("by",) if sizes[worst] else (),
        at=steps[worst].a_from,
    )


def _is_open(survey: Survey, way: _Way) -> bool:
    """Whether no way over other clocks closes the bar."""
    middle = int(np.sort(way.sent)[len(way.sent) // 2])
    try:
        bar = survey.trace.clocks.convert(middle, way.before, way.after, policy="tube", bounds=True)
    except TracetimeError:
        return True
    return bar.earliest is None or bar.latest is None


def _one_sided(survey: Survey, way: _Way) -> Finding:
    used = any(survey.used.get(clock) for clock in (way.before, way.after))
    return finding(
        "one-sided",
        "warning" if used else "info",
        clocks=(way.before, way.after),
        before=way.before,
        after=way.after,
        all_go=f"all {len(way.numbers):,} messages go"
        if len(way.numbers) > 1
        else "one message goes",
    )


def _slow(survey: Survey, pair: Pair) -> Iterator[Finding]:
    """Yield how well messages tie two clocks, where no snapshot does."""
    if len(pair.snapshots):
        return
    narrowest = int(_widths(pair, pair.tube.runs.evidence.a).min())
    if narrowest > WIDEST:
        # No bar has two sides: each stretch between two steps has messages of one direction.
        return
    half = (narrowest + 1) // 2
    yield finding(
        "slow-messages",
        "warning" if half > survey.tolerance_ns else "info",
        clocks=(pair.a, pair.b),
        worst_ns=half,
        round_trip=duration(narrowest),
    )


def _uncovered(survey: Survey, pair: Pair) -> Iterator[Finding]:
    """Yield a finding where bars at an end of the trace are much wider than among messages."""
    groups = survey.groups_of(pair.a)
    a = pair.tube.runs.evidence.a
    if not groups or len(pair.snapshots):
        return
    ends = min(g.low_ns for g in groups), max(g.high_ns for g in groups)
    at_ends = _widths(pair, np.array(ends, dtype=np.int64))
    among = max(int(np.median(_widths(pair, a))), 1)
    k = int(np.argmax(at_ends))
    if at_ends[k] > WIDEST:
        return
    if at_ends[k] < _WIDER * among or (a[0] <= ends[0] and ends[1] <= a[-1]):
        return
    half = int(at_ends[k]) // 2
    yield finding(
        "uncovered",
        "warning" if half > survey.tolerance_ns else "info",
        clocks=(pair.a, pair.b),
        worst_ns=half,
        span=duration(int(a[-1]) - int(a[0])),
        whole=duration(ends[1] - ends[0]),
        side="end" if k else "start",
        times=f"{int(at_ends[k]) // among:,}",
    )


def _widths(pair: Pair, a: Values) -> npt.NDArray[np.float64]:
    """How wide bars are at some readings of the pair's steadier clock, ns."""
    bars = pair.tube.convert(a)
    return difference(bars.latest, bars.earliest)


def _wander(pair: Pair) -> Iterator[Finding]:
    """Yield a finding where the rate of two clocks changes more than was assumed or declared."""
    limits, sure = pair.tube.limits, pair.tube.sure_wander
    declared = limits.wander_declared
    parts = ("assumed", "assumed_why", "assumed_fix")
    if declared:
        parts = ("declared", "declared_why", "declared_fix")
    # Without a declared wander, bars are as wide as a doubtful rate asks: that alone is no news.
    if sure > _MORE * limits.wander:
        yield finding(
            "wander",
            "warning" if declared else "info",
            clocks=(pair.a, pair.b),
            parts=parts,
            limit=f"{limits.wander * 1e6:g}",
            found=f"{(sure if declared else float(pair.tube.wander.max())) * 1e6:.3g}",
        )


def _loops(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each mesh of clocks about its three clocks that disagree most."""
    for mesh in survey.graph.tubes.meshes():
        loops = loop_disagreements(mesh)
        if loops:
            (one, other, third), off_ns, _ = loops[0]
            off = abs(off_ns)
            yield finding(
                "loop",
                "warning" if off > survey.tolerance_ns else "info",
                clocks=(one, other, third),
                worst_ns=off,
                one=one,
                other=other,
                third=third,
                parts=("more",) if len(loops) > 1 else (),
                number=count(len(loops) - 1, "more loop"),
            )
