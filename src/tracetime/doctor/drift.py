"""Findings about rates: ticks taken for ns, drift, changes of rate, sparse snapshots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress, pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.analysis.rates import LEAST_OFF_NS, OTHER_UNIT, Rate
from tracetime.analysis.survey import Survey
from tracetime.clocks.families import ONE_RATE
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding, Severity, all_of, names
from tracetime.graph.values import Floats, Values, difference, gains
from tracetime.text import count, duration

Rows = npt.NDArray[np.intp]

_NO_ROWS: Final = np.empty(0, dtype=np.int64)
_TSC: Final = BUILTIN_IDS["TSC"]
# Clocks 7 and 8 (process and thread CPU time) have no rate: they stop when nothing runs.
_CPU_TIME: Final = (7, 8)
_NEIGHBOURS: Final = 5
"""Pairs of neighbours that say where a snapshot should lie: fewer than half may be off as well."""

_TO_SIGMA: Final = 1.4826
"""From the median of how far offsets are off to their standard deviation."""
_MOST_SIGMA: Final = 8
"""Two neighbours of some thousands that only scatter are no further apart."""

_TICKS: Final = 0.2
"""How far the TSC's rate has to be from nominal, to be measured with few snapshots."""

_FREQUENCIES: Final = ((1.0, "GHz"), (1e-3, "MHz"), (1e-6, "kHz"), (1e-9, "Hz"))
_EXPONENT: Final = 1e6
"""From here on six digits have an exponent."""

_HEALTHY_PPM: Final = {True: 500.0, False: 100.0}
"""By how much NTP may slew a disciplined clock, and by how much a crystal may be off."""


def rates(survey: Survey) -> Iterator[Finding]:
    """Yield findings about clocks of another rate than nominal, and about unhealthy drift."""
    by_reference: dict[ClockId, dict[ClockId, Rate]] = defaultdict(dict)
    for clock, info in survey.infos.items():
        if clock.clock in _CPU_TIME or info.incremental or clock == survey.trace_clock:
            continue
        found = survey.rates.get(clock)
        if found is None and survey.graph.state.ns_per_tick(clock) is None:
            found = _ticks_at_all(survey, clock)
        if found is None:
            continue
        nominal = _nominal(survey, clock, found.reference)
        off = found.rate if nominal == 1 else (1 + found.rate) / nominal - 1
        if abs(off) >= OTHER_UNIT:
            yield _other_unit(survey, clock, found, nominal)
        else:
            by_reference[found.reference][clock] = found._replace(rate=off)
    for reference, known in by_reference.items():
        drifting = {
            clock: found
            for clock, found in known.items()
            if abs(found.rate) * 1e6 > _healthy_ppm(survey, clock, reference)
        }
        ppm = [found.rate * 1e6 for found in drifting.values()]
        together = len(ppm) > 1 and max(ppm) - min(ppm) <= _HEALTHY_PPM[True]
        if together and 2 * len(ppm) > len(known):
            # Most drift in the same way: it is their reference clock that drifts.
            yield _drifts(survey, reference, list(drifting), drifting, -median(np.array(ppm)))
        else:
            for clock, found in drifting.items():
                yield _drifts(survey, clock, [reference], {clock: found}, found.rate * 1e6)


def _drifts(
    survey: Survey, clock: ClockId, others: list[ClockId], found: dict[ClockId, Rate], ppm: float
) -> Finding:
    """Return a finding about a clock that drifts; found: the rates that show it, by clock."""
    used = sum(survey.used.get(placed, 0) for placed in found)
    snapshots = {number for rate in found.values() for number in rate.snapshots.tolist()}
    return finding(
        "drift-beyond-healthy",
        "warning" if used else "info",
        clocks=(clock, *others),
        packets=survey.packets_of(sorted(snapshots)[:3]),
        events=used,
        selections=all_of(found),
        others=names(others),
        ppm=ppm,
        enough_ppm=abs(ppm) * 2,
    )


def _nominal(survey: Survey, clock: ClockId, reference: ClockId) -> float:
    """Return how many units a clock counts in one of another, as declared; 1 where that is open."""
    ours, theirs = (survey.graph.domain(one).ns_per_tick for one in (clock, reference))
    return float((theirs or 1) / (ours or 1))


def _other_unit(survey: Survey, clock: ClockId, found: Rate, nominal: float) -> Finding:
    used = survey.used.get(clock, 0)
    packets = survey.packets_of(found.snapshots[:3])
    if clock.clock == _TSC:
        return finding(
            "tsc-without-rate",
            "error" if used else "info",
            clocks=(clock,),
            packets=packets,
            events=used,
            selections=all_of([clock]),
            parts=("used",) if used else ("unused",),
            rate=1 + found.rate,
            frequency=_frequency(1 + found.rate),
        )
    worst = _misplaced_ns(survey, clock, found)
    severity: Severity = "error" if worst > survey.tolerance_ns else "warning"
    return finding(
        "clock-stands-still" if found.rate == -1 else "rate-not-nominal",
        severity if used else "info",
        clocks=(clock, found.reference),
        packets=packets,
        events=used,
        worst_ns=worst,
        selections=all_of([clock]),
        parts=("ticks",) if survey.graph.domain(clock).ns_per_tick is None else ("unit",),
        reference=found.reference,
        rate=1 + found.rate,
        frequency=_frequency(1 + found.rate),
        nominal=nominal,
    )


def _frequency(per_ns: float) -> str:
    """How often a clock ticks, as `--clock-rate` takes it: 19.2MHz."""
    per, unit = next((one for one in _FREQUENCIES if per_ns >= one[0]), _FREQUENCIES[-1])
    value = per_ns / per
    return f"{value:.6g}{unit}" if value < _EXPONENT else f"{value:.0f}{unit}"


def _misplaced_ns(survey: Survey, clock: ClockId, found: Rate) -> int:
    """Return how far a wrong unit misplaces events between snapshots, and beyond them."""
    _, readings, others = survey.together(clock, found.reference)
    gaps_ns = [int(np.diff(others).max())]
    for group in survey.groups_of(clock):
        beyond = max(int(readings[0]) - group.low_ns, group.high_ns - int(readings[-1]))
        # In units of the clock; one that stands still counts none.
        gaps_ns.append(int(beyond / (1 + found.rate)) if found.rate > -1 else beyond)
    return int(max(gaps_ns) * abs(found.rate))


def _ticks_at_all(survey: Survey, clock: ClockId) -> Rate | None:
    """Return the rate of a clock that counts ticks from its first and last snapshot.

    However few and close: a few snapshots of another clock do not show whether it jumped or has
    another unit. A TSC may count ns, too, unless a trace or a caller says that it counts ticks.
    """
    reference = survey.reference(clock)
    if reference is None:
        return None
    snapshots, readings, others = survey.together(clock, reference)
    if len(snapshots) < 2:
        return None
    is_known = clock in survey.declared
    gaps, gained = difference(others[1:], others[:-1]), gains(readings, others)
    if gaps.min() <= 0 or (not is_known and abs(gained.sum()) < LEAST_OFF_NS):
        return None
    rate = float(gained.sum() / gaps.sum())
    # A clock of ns that jumps has several rates, or one near 1.
    least = OTHER_UNIT if is_known else _TICKS
    if abs(rate) < least or np.abs(gained / gaps - rate).max() > 0.05 * (1 + rate):
        return None
    return Rate(reference, rate, snapshots)


def _healthy_ppm(survey: Survey, one: ClockId, other: ClockId) -> float:
    # The kernel slews its clocks together.
    together = one.machine == other.machine and {one.clock, other.clock} <= ONE_RATE
    total = -_HEALTHY_PPM[True] if together else 0.0
    for clock in (one, other):
        declared = survey.declared.get(clock)
        disciplined = clock.clock in ONE_RATE if declared is None else declared.disciplined
        total += _HEALTHY_PPM[bool(disciplined)]
        if declared is not None:
            total = max(total, declared.drift_ppm)
    return total


def rate_changes(survey: Survey) -> Iterator[Finding]:
    """Yield findings about rates that changed during the recording: NTP, temperature."""
    every = survey.discontinuities
    for (src, dst), found in every.take(every.kind_is("rate_change")).by_pair().items():
        hidden = survey.graph.tubes.pair(src, dst).tube.nearly_hidden
        most = float(np.abs(found.least_ppm + found.most_ppm).max()) / 2
        yield finding(
            "rate-changed",
            clocks=(src, dst),
            packets=survey.packets_of(found.snapshots.lasts),
            parts=() if hidden is None else ("hidden_why", "hidden_fix"),
            src=src,
            dst=dst,
            times=count(len(found), "time"),
            most_ppm=most,
            hidden_ppm=(hidden or 0) * 1e6,
        )


def apart(survey: Survey) -> Iterator[Finding]:
    """Yield findings about clocks that do not tick alike, although such clocks do."""
    for pair in survey.pairs:
        if pair.tube.gaps_apart:
            yield finding(
                "ticks-apart",
                clocks=(pair.b, pair.a),
                events=survey.used.get(pair.b, 0),
                selections=all_of([pair.b]),
                other=pair.a,
                apart=f"{pair.tube.gaps_apart:,}",
                gaps=count(len(pair.snapshots) - 1, "gap"),
            )


def unproven(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about the rates that two snapshots show: those prove none."""
    found = [pair for pair in survey.pairs if pair.tube.rate_unproven()]
    if found:
        clocks = tuple(sorted({pair.b for pair in found}, key=ClockId.order))
        yield finding(
            "rate-unproven",
            clocks=clocks,
            events=sum(survey.used.get(clock, 0) for clock in clocks),
            selections=all_of(clocks),
            rate="rate" if len(clocks) == 1 else "rates",
            drift_ppm=max(pair.tube.limits.drift for pair in found) * 1e6,
        )


def floor_cost(survey: Survey) -> Iterator[Finding]:
    """Yield findings about drift between snapshots, and about the events that floor reorders."""
    found = list(_sparse(survey))
    yield from found
    if any(finding.events for finding in found) and survey.reordered:
        clocks = {clock for finding in found for clock in finding.clocks}
        yield finding("events-reordered", clocks=tuple(sorted(clocks)), events=survey.reordered)


class _Gaps(NamedTuple):
    """Pairs of clocks from each snapshot that both have to the next, as columns, pair by pair.

    Attributes:
        first: where each pair begins, and where the last one ends.
        snapshots, ours, theirs: of each snapshot, its number and what the two clocks read, ns.
        gain: by how much one gained on the other up to the next snapshot, ns, float64; 0 after the
            last one of a pair.
        gap: how far the first clock went, likewise.
    """

    first: Rows
    snapshots: Values
    ours: Values
    theirs: Values
    gain: Floats
    gap: Floats

    @classmethod
    def of(cls, read: Iterable[tuple[Values, Values, Values]]) -> _Gaps:
        """The gaps of some pairs; read: as `Survey.together` returns it."""
        parts = list(zip(*read, strict=True)) or [(_NO_ROWS,)] * 3
        sizes = np.array([len(part) for part in parts[0]])
        first = np.append(0, np.cumsum(sizes))
        snapshots, ours, theirs = map(np.concatenate, parts)
        gain = np.append(np.abs(gains(theirs, ours)), 0.0)[: len(ours)]
        gap = np.append(difference(ours[1:], ours[:-1]), 0.0)[: len(ours)]
        last = first[1:][sizes > 0] - 1
        gain[last] = gap[last] = 0.0
        return cls(first, snapshots, ours, theirs, gain, gap)

    def pair(self, k: int) -> _Gaps:
        """The gaps of one pair alone."""
        rows = slice(*self.first[k : k + 2].tolist())
        _, snapshots, ours, theirs, gain, gap = self
        of_both = snapshots[rows], ours[rows], theirs[rows]
        return _Gaps(self.first[:0], *of_both, gain[rows], gap[rows])


def _sparse(survey: Survey) -> Iterator[Finding]:
    """Yield findings about clocks that drift too far between two snapshots."""
    slow: dict[tuple[ClockId, ClockId], list[ClockId]] = defaultdict(list)
    # A clock that drifts less over its whole path does so on each hop.
    moves = survey.ways.change_ns > survey.tolerance_ns
    for clock in compress(survey.infos, moves.tolist()):
        if clock == survey.trace_clock or clock.clock == _TSC or not survey.used.get(clock):
            continue
        for pair in pairwise(survey.path(clock) or ()):
            slow[pair].append(clock)
    pairs = [pair for pair in slow if not _counts_otherwise(survey, pair[0])]
    gaps = _Gaps.of(survey.together(*pair) for pair in pairs)
    far = _whole(survey, gaps.snapshots) & (gaps.gap > 0) & (gaps.gain > survey.tolerance_ns)
    rows = np.flatnonzero(far)
    which = np.searchsorted(gaps.first, rows, side="right") - 1
    # They ascend: no need of np.unique, which imports masked arrays.
    numbers = list(dict.fromkeys(which.tolist()))
    # A COARSE clock, or one with a long unit, gains or loses a tick between two readings: that is
    # not drift.
    ticks = np.zeros(len(pairs))
    for k in numbers:
        ticks[k] = sum(tick for clock in pairs[k] if (tick := survey.tick_ns(clock)) > 1)
    far[rows] = gaps.gain[rows] > survey.tolerance_ns + ticks[which]
    for k in numbers:
        here, there = pair = pairs[k]
        found, bad = gaps.pair(k), far[gaps.first[k] : gaps.first[k + 1]]
        noise = _noise_ns(survey, here, there, found.ours, found.theirs)
        if noise is not None:
            usual = _TO_SIGMA * median(np.abs(noise))
            # Single ones that stand out are no jitter.
            if usual > survey.tolerance_ns / 2 and 10 * np.count_nonzero(bad) > len(bad):
                usually = found.gain[:-1] <= _MOST_SIGMA * usual
                scattered = bad[:-1] & usually & (_drift_ns(found) <= survey.tolerance_ns)
                if scattered.any():
                    yield _scattering(survey, here, found, noise, scattered)
            else:
                alone = _alone(survey, noise)
                drift = np.abs(gains(found.theirs, found.ours) - np.diff(noise))
                scattered = bad[:-1] & (alone[:-1] | alone[1:]) & (drift <= survey.tolerance_ns)
                if scattered.any():
                    of_those = alone & _beside(scattered)
                    off_ns = np.where(of_those, noise, 0)
                    yield _slow_pings(survey, here, found.snapshots, found.ours, off_ns)
            bad[:-1] &= ~scattered
        if bad.any():
            yield _too_sparse(survey, pair, slow[pair], found, np.flatnonzero(bad))


def _beside(gaps: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The snapshots at either end of some gaps."""
    ends: npt.NDArray[np.bool_] = np.append(gaps, False) | np.append(False, gaps)
    return ends


def _drift_ns(found: _Gaps) -> Floats:
    """How far two clocks drift from each snapshot to the next by their rate over half of them."""
    offsets, half = found.theirs - found.ours, len(found.ours) // 2
    rates = difference(offsets[half:], offsets[:-half]) / difference(
        found.ours[half:], found.ours[:-half]
    )
    return abs(median(rates)) * found.gap[:-1]


def _scattering(
    survey: Survey, clock: ClockId, found: _Gaps, noise: Floats, scattered: npt.NDArray[np.bool_]
) -> Finding:
    """Return a finding about offsets that scatter; scattered: in which gaps."""
    off = _beside(scattered)
    used = survey.used.get(clock, 0)
    return finding(
        "offsets-scatter",
        "warning" if used else "info",
        clocks=(clock,),
        packets=survey.packets_of(found.snapshots[off]),
        events=used,
        worst_ns=int(np.abs(noise[off]).max()),
        selections=all_of([clock]),
        snapshots=f"{np.count_nonzero(off):,} of {len(off):,} offsets",
        drift=duration(_drift_ns(found).max()),
    )


def _counts_otherwise(survey: Survey, clock: ClockId) -> bool:
    """Whether a clock runs at a rate that has a finding of its own."""
    rate = survey.rates.get(clock)
    return rate is not None and abs(rate.rate) >= OTHER_UNIT


def _whole(survey: Survey, snapshots: Values) -> npt.NDArray[np.bool_]:
    """Return from which snapshots to the next no clock jumped, and neither is an outlier.

    Those have other findings.
    """
    jumped = survey.discontinuities
    jumped = jumped.take(~jumped.kind_is("rate_change"))
    cut, off = np.zeros((2, len(survey.snapshot_packets)), dtype=bool)
    cut[jumped.snapshots.flat] = True
    off[jumped.take(jumped.kind_is("outlier")).snapshots.firsts] = True
    here, there = snapshots, np.append(snapshots[1:], snapshots[-1:])
    whole: npt.NDArray[np.bool_] = ~((cut[here] & cut[there]) | off[here] | off[there])
    return whole


def _too_sparse(
    survey: Survey, pair: tuple[ClockId, ClockId], clocks: list[ClockId], gaps: _Gaps, bad: Rows
) -> Finding:
    """Return a finding about two clocks that drift far; bad: in which gaps of their snapshots."""
    here, there = pair
    worst = int(gaps.gain[bad].max())
    gap = float(gaps.gap[bad[int(np.argmax(gaps.gain[bad]))]])
    spans = np.array([gaps.ours[bad], gaps.ours[bad + 1]]).T
    events = survey.count_within({here: spans})[here] if here in clocks else 0
    selections = [EventSelection(here, spans=spans)]
    if not events:
        others = [clock for clock in clocks if clock != here]
        events = sum(survey.used[clock] for clock in others)
        selections = list(all_of(others))
    severity: Severity = "error" if events else "info"
    return finding(
        "snapshots-too-sparse",
        severity,
        clocks=tuple(sorted({*clocks, here, there}, key=ClockId.order)),
        packets=survey.packets_of(gaps.snapshots[bad + 1]),
        events=events,
        worst_ns=worst,
        selections=selections,
        here=here,
        there=there,
        ppm=worst / gap * 1e6,
        gap=duration(gap),
        enough=duration(gap * survey.tolerance_ns / worst),
    )


def _noise_ns(
    survey: Survey, here: ClockId, there: ClockId, ours: Values, theirs: Values
) -> Floats | None:
    """Return how far each snapshot of two clocks is off those about it.

    None where no half-width was declared by assumption: drift is told from noise by those measured.
    """
    widths = [survey.graph.domain(clock).assumed_half_width_ns for clock in (here, there)]
    if widths == [None, None] or (np.diff(ours) < 0).any():
        return None
    return -_off_line(ours, theirs - ours)


def _off_line(a_ns: Values, r_ns: Values) -> Floats:
    """How far each offset is below the line through two neighbours: the median of several pairs.

    a_ns: ascending.
    """
    n = len(a_ns)
    rows = np.arange(n)
    missed = np.full((_NEIGHBOURS, n), np.nan)
    for step in range(1, _NEIGHBOURS + 1):
        one, other = rows - step, rows + step
        # At the ends both neighbours are on one side.
        one, other = (
            np.where(one < 0, rows + 2 * step, one),
            np.where(other >= n, rows - 2 * step, other),
        )
        inside = (one >= 0) & (one < n) & (other >= 0) & (other < n)
        k, i, j = rows[inside], one[inside], other[inside]
        i = np.where(i == k, j, i)
        span = (a_ns[j] - a_ns[i]).astype(np.float64)
        apart = span != 0
        k, i, j, span = k[apart], i[apart], j[apart], span[apart]
        share = (a_ns[k] - a_ns[i]) / span
        missed[step - 1, k] = (r_ns[i] - r_ns[k]) + share * (r_ns[j] - r_ns[i])
    known = ~np.isnan(missed).all(axis=0)
    found = np.zeros(n)
    if known.any():
        found[known] = np.nanmedian(missed[:, known], axis=0)
    return found


def _alone(survey: Survey, noise: Floats) -> npt.NDArray[np.bool_]:
    """Return which snapshots are off, twice as far as both beside them.

    Beside a step or a change of rate, several are by about as much.
    """
    off = np.pad(np.abs(noise), 1)
    beside = np.maximum(off[:-2], off[2:])
    alone: npt.NDArray[np.bool_] = (off[1:-1] > survey.tolerance_ns / 2) & (off[1:-1] >= 2 * beside)
    return alone


def _slow_pings(
    survey: Survey, clock: ClockId, snapshots: Values, ours: Values, off_ns: Floats
) -> Finding:
    """Return a finding about snapshots that are off; off_ns: by how much, 0 for others.

    By floor, events are off as far as the snapshot before them.
    """
    off = np.flatnonzero(off_ns)
    ends = np.append(ours[1:], ours[-1:])
    spans = [(int(ours[k]), max(int(ours[k]), int(ends[k]) - 1)) for k in off.tolist()]
    events = survey.count_within({clock: spans})[clock]
    worst = int(np.abs(off_ns[off]).max())
    return finding(
        "snapshot-outlier",
        "error" if events else "info",
        clocks=(clock,),
        packets=survey.packets_of(snapshots[off]),
        events=events,
        worst_ns=worst,
        selections=[EventSelection(clock, spans=spans)],
        parts=["by", *(["up_to"] if len(off) > 1 else [])],
        size=duration(worst),
        snapshots=count(len(off), "snapshot"),
    )
