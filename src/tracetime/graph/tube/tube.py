"""The tube of one pair of clocks: all offsets that no snapshot contradicts.

Built over clock a, the pair's steadier one; the other direction is its inverse.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tracetime._kernels.evidence import assemble, guaranteed
from tracetime._kernels.graph import make_grid
from tracetime._kernels.tube import InverseTable, RowTable
from tracetime.errors import AMBIGUOUS_SOURCE, ONE_SIDED, OVERFLOW, RESOLVED, UsageError
from tracetime.graph.tube import findings
from tracetime.graph.tube.discontinuities import Discontinuities
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.findings import Around, at_jumps, unexplained
from tracetime.graph.tube.limits import ONE, Limits, slope_up
from tracetime.graph.tube.order_rows import (
    OffsetCurve,
    Rows,
    estimated_rows,
    guaranteed_rows,
    offset_curves,
    placed_curves,
    with_curves,
)
from tracetime.graph.tube.own_intervals import Hold, holding_intervals, holding_rows
from tracetime.graph.tube.results import Bars, Reached, check_bars
from tracetime.graph.tube.runs import Runs, find_runs
from tracetime.graph.tube.segments import Segments, find_segments
from tracetime.graph.tube.set_backs import Spans, possible_set_backs, united, untold
from tracetime.graph.tube.stretches import (
    AmbiguousValues,
    Held,
    Stretches,
    held_inverse,
    inverse_of,
    stretches_of_b,
)
from tracetime.graph.tube.suspends import NEVER_SLEPT, Slept
from tracetime.graph.values import Floats, Marks, Values

if TYPE_CHECKING:
    from tracetime.graph.tube.order_estimate import OrderCurve

_NOWHERE: Final = np.empty((2, 0), dtype=np.int64)


class Tube:
    """The offset b - a of clocks a and b at every value of a, with bars, from their snapshots.

    The guaranteed bars hold whenever the limits and the half-widths do. The estimated ones, no
    wider, also assume that a rate which held over a run of snapshots held between them.

    Made in O(n log n) of the number of snapshots, whose order does not matter.

    Args:
        messages: whether the snapshots are what messages bound, of which the fastest say most.
        twice: readings of clock a that are two instants, of which the evidence has none.
        may_fall: clock a may have been set back where nothing shows that.
        hold: what bars hold of single snapshots, whose half-widths are assumed: steps may
            hide in these (own_intervals.py). Not of bounds of one side.
        slept: where a machine slept; the evidence is on both sides of that.

    Attributes:
        evidence, limits: those it was made from.
        runs: the runs that it found, with their rates.
        slept: what suspends leave unknown.
    """

    def __init__(
        self,
        evidence: Evidence,
        limits: Limits,
        *,
        messages: bool = False,
        twice: Spans | None = None,
        may_fall: bool = False,
        hold: Hold | None = None,
        slept: Slept = NEVER_SLEPT,
    ) -> None:
        self.slept = slept
        self.evidence = evidence
        self._hold = hold if evidence.assumed and evidence.known is None else None
        self._twice = twice
        self.limits = limits
        self._drift = slope_up(limits.drift)
        self._segments: Segments = find_segments(
            evidence, limits, None if twice is None else twice.first, slept.cuts
        )
        self._curves: list[OrderCurve | None] = []
        if self._segments.evidence.known is not None:
            from tracetime.graph.tube.order_curves import segment_curves

            self._curves = segment_curves(evidence, self._segments, limits, self._segments.outliers)
        elif messages:
            self._curves = self._message_curves(self._segments.outliers)
        self.runs: Runs = find_runs(self._segments, limits, self._curves)
        self._unexplained = unexplained(self.runs, self._drift)
        if limits.may_jump and self._can_part and len(self._unexplained.runs):
            self._segments, self.runs = at_jumps(
                self._segments, self.runs, self._unexplained, self._drift
            )
            if messages:
                self._curves = self._message_curves(self._segments.outliers)
        a = self.runs.evidence.a
        self._near = (int(a[0]), int(a[-1]))
        self._bent: list[OffsetCurve] = []
        self._rows = rows = self._assemble(messages)
        self._tables: dict[Bars, _Table] = {"estimated": _Table(rows, self._near)}
        self._is_open = bool(np.logical_or(*self._segments.open_sides).any())
        self._hidden = possible_set_backs(self._segments, limits) if may_fall else None
        self._turned: Tube | None = None

    def or_turned(self, turned: Tube) -> Tube:
        """This tube, where one of its clocks was set back and nothing tells which.

        Its bars hold those of `turned` as well, and where the two say nothing in common a value
        has no estimate.

        Args:
            turned: of the same snapshots, along clock b.
        """
        either = copy(self)
        either._turned = turned
        return either

    @property
    def kept(self) -> Evidence:
        """Those of them that contradict no others; of bounds, those that bars rest on."""
        return self._segments.evidence

    @property
    def wander(self) -> Floats:
        """W of each segment, float64 ns per ns; it may exceed the limits' where undeclared."""
        return self.runs.wander / ONE

    @property
    def sure_wander(self) -> float:
        """How far the rate strays over a run at least, by the curves of orders, ns per ns."""
        runs, most = self.runs, 0.0
        for segment, first, last in zip(
            runs.segment.tolist(), runs.first.tolist(), runs.last.tolist(), strict=True
        ):
            curve = self._curves[segment] if self._curves else None
            if curve is not None:
                ends = runs.evidence.a[[first, last]].tolist()
                most = max(most, curve.sure_wander(*ends))
        return most

    def rate_unproven(self, a_ns: int | None = None) -> bool:
        """Whether estimated bars take a rate that two snapshots show, which prove none.

        Between the two, a clock may have jumped, or its rate changed: guaranteed bars hold that.

        Args:
            a_ns: a reading of clock a at which they do; any if not given.
        """
        if self._segments.is_constant:
            return False
        runs = self.runs
        unproven = runs.unproven(self._drift)
        if a_ns is not None:
            a = runs.evidence.a
            after = int(np.searchsorted(a[runs.first], a_ns, side="right"))
            beyond = after == 0 or a_ns > int(a[runs.last[after - 1]])
            unproven = unproven[max(after - 1, 0) : after + beyond]
        return bool(unproven.any())

    @property
    def gaps_apart(self) -> int:
        """How many gaps between snapshots contradict that the clocks tick alike.

        0 where clocks of their kind need not, and where so few do that these are jumps.
        """
        return self._segments.gaps_apart

    @property
    def nearly_hidden(self) -> float | None:
        """The change of rate that may be hidden; see `findings.nearly_hidden`."""
        return findings.nearly_hidden(self.runs, self.limits)

    @property
    def n_faults(self) -> int:
        """How often evidence contradicts other evidence: breaks, and what was left out."""
        breaks = len(self._segments.first) - 1 - self.n_slept - self.n_possible
        return breaks + len(self._segments.outliers)

    @property
    def n_possible(self) -> int:
        """How many of its breaks may be none: a rate within the limits explains them as well."""
        return int(self._segments.possible.sum())

    @property
    def n_slept(self) -> int:
        """How many of its breaks are there because a machine slept."""
        return int(self._segments.forced.sum())

    @property
    def live(self) -> tuple[Values, Marks]:
        """Which of the evidence the bars rest on, by place, and which sides of it, as `known`."""
        return self._segments.given, self._segments.evidence.sides

    @property
    def is_read_twice(self) -> bool:
        """Whether clock a fell, so that one reading of it may be two instants."""
        return self._twice is not None

    @property
    def may_have_fallen(self) -> bool:
        """Whether clock a may have fallen where nothing shows that."""
        return self._hidden is not None and len(self._hidden.first) > 0

    @property
    def has_set_back(self) -> bool:
        """Whether clock b fell, so that of two readings the less one may be the later."""
        return len(self._of_b.disordered.lows) > 0

    @property
    def is_either_way(self) -> bool:
        """Whether one of the two clocks fell, and nothing tells which."""
        return self._turned is not None

    def read_twice(self, *, inverse: bool) -> AmbiguousValues:
        """What clock a may have read out of order, or twice; with `inverse`, clock b."""
        if inverse:
            return self._of_b.disordered
        if self._turned is not None:
            return self._turned._of_b.disordered
        found = [] if self._twice is None else [(self._twice.first, self._twice.last)]
        if self._hidden is not None:
            found.append(self._hidden.there())
        return AmbiguousValues(*united(*np.concatenate([_NOWHERE, *found], axis=1)))

    @property
    def only_reset(self) -> bool:
        """Whether clock b fell, each time to near zero: then it was b that fell."""
        here, segments = self._segments.evidence, self._segments
        fell = findings.jumps(segments, self.limits).high < 0
        before, after = segments.last[:-1][fell], segments.first[1:][fell]
        read = here.a[before] + here.r[before], here.a[after] + here.r[after]
        near_zero = (read[1] >= 0) & (read[1] <= read[0] // findings.NEAR_ZERO)
        return bool(len(before) and near_zero.all())

    def convert(
        self,
        values: Values,
        *,
        bars: Bars = "estimated",
        inverse: bool = False,
        within: tuple[Values, Values] | None = None,
    ) -> Reached:
        """Convert values of clock a to clock b, or of b to a.

        Args:
            values: int64 ns, 1-d.
            bars: "estimated" or "guaranteed".
            inverse: the values are of clock b, the results of clock a.
            within: (earliest, latest), int64 ns of the values' length, if the values are known no
                better: the bars are then those of the whole interval.

        Raises:
            UsageError: no such bars, or arrays that do not fit together.
        """
        values = _int64(values)
        n = len(values)
        table = self._table(bars)
        estimate, earliest, latest = (np.empty(n, dtype=np.int64) for _ in range(3))
        out = Reached(estimate, earliest, latest, np.empty(n, dtype=np.uint8))
        lows = highs = None
        if within is not None:
            lows, highs = _int64(within[0]), _int64(within[1])
            if not n == len(lows) == len(highs) or np.any(lows > highs):
                raise UsageError("within: one earliest, not after one latest, for each value")
        ends = (values, values) if lows is None or highs is None else (lows, highs)
        if inverse:
            table.inverse(self._of_b.ambiguous).invert(values, lows, highs, *out)
            self._hold_one(table, values, ends, out)
            if lows is not None and highs is not None and self._is_open:
                self._estimate_alone(values, (lows == OPEN_LOW) | (highs == OPEN_HIGH), bars, out)
        else:
            table.rows.convert(values, *out)
            if lows is not None and highs is not None:
                table.rows.hop(lows, highs, out.earliest, out.latest)
                np.clip(out.estimate, out.earliest, out.latest, out=out.estimate)
        if inverse and self._hidden is not None:
            self._hidden.widen(*ends, out.earliest, out.latest)
        if self._twice is not None:
            self._hold_all(self._twice, values, ends, out, inverse=inverse)
        self.slept.open(*ends, out.earliest, out.latest, inverse=inverse)
        if self._is_open or self._twice is not None or self.slept.opens:
            unbounded = (out.earliest == OPEN_LOW) | (out.latest == OPEN_HIGH)
            unbounded &= out.status == RESOLVED
            # The estimate is the closed side: at an end of int64 that is beyond it.
            beyond = (out.estimate == OPEN_LOW) | (out.estimate == OPEN_HIGH)
            out.status[unbounded] = np.where(beyond[unbounded], OVERFLOW, ONE_SIDED)
        if self._turned is not None:
            there = self._turned.convert(values, bars=bars, inverse=not inverse, within=within)
            _hold_both(out, there)
        return out

    def _hold_one(
        self, table: _Table, values: Values, ends: tuple[Values, Values], out: Reached
    ) -> None:
        """Have bars hold one stretch where readings of clock b are of one."""
        held = self._of_b.held
        if held is None:
            return
        which = held.which(*ends)
        mine = np.flatnonzero(which >= 0)
        if not len(mine):
            return
        lows, highs = ends[0][mine], ends[1][mine]
        there = Reached(out[0][mine], out[1][mine], out[2][mine], out[3][mine])
        table.held(self._segments.evidence.a, held).invert(values[mine], lows, highs, *there)
        held.go_on(
            self._segments.evidence,
            self._drift / ONE,
            which[mine],
            (values[mine], lows, highs),
            there[:3],
        )
        out.estimate[mine], out.status[mine] = there.estimate, there.status
        out.earliest[mine], out.latest[mine] = there.earliest, there.latest

    @staticmethod
    def _hold_all(
        twice: Spans, values: Values, ends: tuple[Values, Values], out: Reached, *, inverse: bool
    ) -> None:
        """Have bars hold all instants of readings that clock a had twice."""
        if inverse:
            twice.widen_back(*ends, out.earliest, out.latest)
            return
        twice.widen(*ends, out.earliest, out.latest)
        two = twice.has(values) & (out.status == RESOLVED)
        out.status[two], out.estimate[two] = AMBIGUOUS_SOURCE, 0

    def _estimate_alone(self, values: Values, which: Marks, bars: Bars, out: Reached) -> None:
        """Estimate values of b whose interval has an open side: that side is no estimate."""
        rows = np.flatnonzero(which & (out.status == RESOLVED))
        if len(rows):
            alone = self.convert(values[rows], bars=bars, inverse=True)
            out.estimate[rows] = np.clip(alone.estimate, out.earliest[rows], out.latest[rows])

    @property
    def order_curves(self) -> list[OrderCurve]:
        """The curves behind the estimates of the segments with orders both ways, ascending."""
        return [curve for curve in self._curves if curve is not None]

    @property
    def breaks(self) -> Values:
        """The last reading of clock a in a segment and the first in the next, int64[m, 2].

        Readings between which nothing bounds the offset are such a break, too.
        """
        a, segments = self._segments.evidence.a, self._segments
        between = np.stack([a[segments.last[:-1]], a[segments.first[1:]]], axis=1)
        opens = [(one.a_first, one.a_last) for one in self.slept.opens]
        return np.append(between, np.array(opens, dtype=np.int64).reshape(-1, 2), axis=0)

    @property
    def left_out(self) -> Values:
        """The snapshots of the evidence that are outliers, or wrong orders, ascending."""
        return self._segments.outliers

    @cached_property
    def discontinuities(self) -> Discontinuities:
        """Everything that no rate within the limits explains, by zone."""
        segments, evidence = self._segments, self.evidence
        dropped = segments.outliers
        # The limits allow more than what clocks that tick alike do.
        around = self._around(dropped, "estimated" if segments.is_constant else "guaranteed")
        strays = segments.given[np.flatnonzero(self.runs.strays)]
        stray = findings.outliers(evidence, strays, self._around(strays, "estimated"))
        changes = findings.rate_changes(
            segments, self.runs, self._unexplained, evidence, self._drift
        )
        found = [
            findings.breaks(segments, evidence, self.limits),
            findings.outliers(evidence, dropped, around),
            stray.take(findings.are_off(stray)),
            *changes,
            findings.hidden_rate_changes(segments, self._curves, evidence, changes),
        ]
        if self._hold is not None and len(self._hold.doubtful_ns):
            found.append(
                findings.off_at_ends(
                    evidence, self._hold.doubtful_ns, self.limits, is_constant=segments.is_constant
                )
            )
        if self._twice is not None:
            known = Discontinuities.joined(found)
            found.append(untold(segments, evidence, self._twice, known))
        return Discontinuities.joined(found).in_order()

    @property
    def _can_part(self) -> bool:
        """Whether snapshots decide where the offset jumped.

        Bounds of one side do not; and bars that hold single snapshots hold both sides anyway.
        """
        holds = self._hold is not None and self._hold.is_needed(self.runs)
        return self._segments.evidence.known is None and not holds

    def _assemble(self, messages: bool) -> Rows:
        """The rows of the estimated bars."""
        here, runs = self.runs.evidence, self.runs
        if here.known is not None:
            rows = estimated_rows(runs, self._segments, self._drift)
            ticks_ns = self.limits.placed_ns
            self._bent = (
                offset_curves(rows, runs, self._segments, self._curves)
                if ticks_ns is None
                else placed_curves(self._segments, ticks_ns)
            )
            first, last = self._near
            self._near = (min(first, int(self._bent[0].x[0])), max(last, int(self._bent[-1].x[-1])))
            return with_curves(rows, runs, self._bent)
        columns = (here.a, here.r, here.low, here.high)
        knots = (self._segments.knots, runs.limits, runs.knots)
        smooth = runs.smoothed(self._drift)
        rows = Rows(*assemble(*columns, self._drift, *knots, smooth, runs.table()))
        if self._hold is not None and len(which := self._hold.rows(rows, runs)):
            rows = holding_intervals(rows, which, runs, self._segments, self._drift, self._hold)
        if not messages:
            return rows
        strays = self._segments.given[runs.strays != 0]
        if len(strays):
            wrong = np.append(self._segments.outliers, strays)
            self._curves = self._message_curves(wrong)
        curves = [None if curve is None else OffsetCurve.of(curve) for curve in self._curves]
        return with_curves(rows, runs, curves)

    def _message_curves(self, wrong: Values) -> list[OrderCurve | None]:
        from tracetime.graph.tube.order_curves import message_curves

        return message_curves(self.evidence, self._segments, self.limits, wrong)

    @cached_property
    def _of_b(self) -> Stretches:
        return stretches_of_b(self._segments, self.limits)

    def _around(self, which: Values, bars: Bars) -> Around:
        a = self.evidence.a[which]
        if not len(a):
            return Around(a, a)
        # What is told of a tube is told by its own snapshots, along its own clock.
        alone = copy(self)
        alone._turned = None
        if bars not in self._tables:
            # Most tubes never need guaranteed bars but for the few snapshots that are dropped.
            rows = self._guaranteed(self._rows.at(a))
            last = int(rows.starts[-1])
            alone._tables = {bars: _Table(rows, (last, last))}
        bar = alone.convert(a, bars=bars)
        return Around(
            np.where(bar.earliest == OPEN_LOW, OPEN_LOW, bar.earliest - a),
            np.where(bar.latest == OPEN_HIGH, OPEN_HIGH, bar.latest - a),
        )

    def _table(self, bars: Bars) -> _Table:
        if bars not in self._tables:
            check_bars(bars)
            self._tables[bars] = _Table(self._guaranteed(self._rows), self._near)
        return self._tables[bars]

    def _guaranteed(self, rows: Rows) -> Rows:
        """Some rows with guaranteed bars; all there are where those have rows of their own."""
        if self._bent:
            return guaranteed_rows(self._segments, self._drift, self._bent)
        knots = self._segments.knots
        made = guaranteed(self.runs.evidence.a, self._drift, knots, rows.bars, rows.cells)
        if self._hold is not None and len(which := self._hold.rows(rows, self.runs)):
            made = holding_rows(made, which, rows)
        return rows._replace(bars=made, limits=made[:0])


class _Table:
    """Rows as the kernel takes them; those of the other direction are made when needed."""

    def __init__(self, rows: Rows, near: tuple[int, int]) -> None:
        starts, bars, limits, curves, _ = rows
        self.starts, self.bars, self.limits = starts, bars, limits
        self.near = int(np.searchsorted(starts, near[0]))
        self.n_near = int(np.searchsorted(starts, near[1], side="right")) - self.near
        grid = make_grid(starts[self.near : self.near + self.n_near])
        self.rows = RowTable(starts, bars, limits, curves, self.near, self.n_near, grid)
        self._inverse: InverseTable | None = None
        self._held: InverseTable | None = None

    def inverse(self, values: AmbiguousValues) -> InverseTable:
        if self._inverse is None:
            self._inverse = inverse_of(self.rows, self.near, self.n_near, values)
        return self._inverse

    def held(self, a: Values, held: Held) -> InverseTable:
        """For readings that are of one stretch; a: of the snapshots."""
        if self._held is None:
            self._held = held_inverse(self.rows, self.starts, a, held)
        return self._held


def _hold_both(here: Reached, there: Reached) -> None:
    """Have bars hold those of others; without an estimate where a value may be two instants."""
    apart = (here.earliest > there.latest) | (there.earliest > here.latest)
    two = (apart | (there.status == AMBIGUOUS_SOURCE)) & (here.status == RESOLVED)
    np.minimum(here.earliest, there.earliest, out=here.earliest)
    np.maximum(here.latest, there.latest, out=here.latest)
    here.status[two], here.estimate[two] = AMBIGUOUS_SOURCE, 0


def _int64(values: Any) -> Values:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError("timestamps are a 1-d array of whole numbers (int64 ns)")
    return np.ascontiguousarray(array, dtype=np.int64)
