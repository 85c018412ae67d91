"""The evidence between two of the merged files: found in the graph of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.tube.binding import BindingOrder
from tracetime.graph.tube.explanation import TubeExplanation, TubeHop
from tracetime.graph.tube.pair import Pair
from tracetime.graph.tube.results import Inconsistency, PairDiscontinuity
from tracetime.graph.values import Values, difference
from tracetime.merging.files import MergedFile, file_named
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.pair_evidence import (
    EvidenceInstant,
    EvidenceStep,
    Link,
    PairEvidence,
    SideEvidence,
)
from tracetime.merging.steps import ClockJumps, Drift
from tracetime.merging.ties import Tie
from tracetime.text import duration

INSTANTS: Final = 257
"""Over a file: its first and last event, and between them, evenly."""


def instants_of(span: tuple[int, int]) -> Values:
    """`INSTANTS` times over a file, int64[n]."""
    low, high = span
    return np.array([low + (high - low) * k // (INSTANTS - 1) for k in range(INSTANTS)])


def evidence_between(
    traces: MergedTraces,
    names: tuple[str, str],
    jumps: ClockJumps,
    contradictions: Sequence[Inconsistency],
    wrong_orders: Sequence[PairDiscontinuity],
) -> PairEvidence:
    """Return what ties two files, named as options name them, and what their bar rests on.

    Raises:
        UsageError: no such file, or one file twice.
    """
    one, other = (file_named(traces.files, name) for name in names)
    if one is other:
        raise UsageError(f"{names[0]!r} and {names[1]!r} are one file: name two")
    return _Search(traces, one, other, jumps).evidence(contradictions, wrong_orders)


class _Search:
    def __init__(
        self, traces: MergedTraces, one: MergedFile, other: MergedFile, jumps: ClockJumps
    ) -> None:
        self._traces, self._jumps = traces, jumps
        self._one, self._other = one, other
        self._src, self._dst = traces.home(other.number), traces.home(one.number)
        self._live: dict[frozenset[ClockId], set[int]] = {}

    def evidence(
        self, contradictions: Sequence[Inconsistency], wrong_orders: Sequence[PairDiscontinuity]
    ) -> PairEvidence:
        traces, ends = self._traces, {self._one.number, self._other.number}
        over = _chain(traces.ties, self._one.number, self._other.number)
        why_not, drift = None, Drift(None, None)
        path: tuple[ClockId, ...] = ()
        instants: tuple[EvidenceInstant, ...] = ()
        try:
            path = tuple(traces.clocks.path(self._src, self._dst, policy="tube"))
            drift, instants = self._instants()
        except ConversionError as error:
            why_not = str(error)
        concerned = {self._src, self._dst, *path}
        return PairEvidence(
            one=self._one.name,
            other=self._other.name,
            links=tuple(map(self._link, (t for t in traces.ties if {t.one, t.other} == ends))),
            over=tuple(traces.files[number].name for number in over),
            over_links=tuple(
                self._link(tie)
                for pair in pairwise(over)
                for tie in traces.ties
                if {tie.one, tie.other} == set(pair)
            ),
            path=path,
            drift_ppm=drift.ppm,
            drift_half_ppm=drift.half_ppm,
            instants=instants,
            why_not=why_not,
            contradictions=tuple(self._contradictions(concerned, contradictions, wrong_orders)),
            names={clock: self._name(clock) for clock in self._text_clocks(concerned, instants)},
        )

    def _link(self, tie: Tie) -> Link:
        files = self._traces.files
        clocks = frozenset((self._traces.home(tie.one), self._traces.home(tie.other)))
        live = sum(number in tie.orders for number in self._live_of(clocks)) if tie.orders else 0
        names = files[tie.one].name, files[tie.other].name
        return Link(*names, tie.kind, tie.said, tie.ties, len(tie.orders), live)

    def _live_of(self, clocks: frozenset[ClockId]) -> set[int]:
        if clocks not in self._live:
            pair = self._pair(*clocks)
            self._live[clocks] = set() if pair is None else set(pair.live_orders().tolist())
        return self._live[clocks]

    def _pair(self, one: ClockId, other: ClockId) -> Pair | None:
        graph = self._traces.graph
        try:
            with graph.lock:
                return graph.tubes.pair(one, other)
        except ConversionError:
            return None

    def _instants(self) -> tuple[Drift, tuple[EvidenceInstant, ...]]:
        if self._other.span is None:
            raise ConversionError(f"{self._other.name} has no event on its trace clock", "no_path")
        times = instants_of(self._other.span)
        clocks = self._traces.clocks
        bounds = clocks.convert(times, self._src, self._dst, policy="tube", bounds=True)
        widths = difference(bounds.latest, bounds.earliest)
        is_open = (bounds.earliest == INT64_MIN) | (bounds.latest == INT64_MAX)
        widths[is_open] = np.inf
        chosen = {
            "start": 0,
            "middle": INSTANTS // 2,
            "end": INSTANTS - 1,
            "narrowest": int(np.argmin(widths)),
            "worst": int(np.argmax(widths)),
        }
        files = self._other.number, self._one.number
        drift = self._jumps.drift(times, bounds, self._dst, files)
        return drift, tuple(self._instant(where, int(times[k])) for where, k in chosen.items())

    def _instant(self, where: str, time_ns: int) -> EvidenceInstant:
        explanation = self._traces.clocks.explain(time_ns, self._src, self._dst, policy="tube")
        assert isinstance(explanation, TubeExplanation)
        least, most = (
            None if end is None else end - time_ns
            for end in (explanation.earliest, explanation.latest)
        )
        meshes = [
            mesh for mesh in explanation.meshes if max(map(len, (mesh.earliest, mesh.latest))) > 2
        ]
        return EvidenceInstant(
            where=where,
            time_ns=time_ns,
            offset_ns=explanation.result - time_ns,
            least_ns=least,
            most_ns=most,
            steps=tuple(map(self._step, explanation.steps)),
            over=tuple(path for mesh in meshes for path in (mesh.earliest, mesh.latest)),
        )

    def _step(self, hop: TubeHop) -> EvidenceStep:
        pair = self._pair(hop.src, hop.dst)
        assert pair is not None
        return EvidenceStep(
            src=hop.src,
            dst=hop.dst,
            snapshots=hop.snapshots,
            half_width_ns=hop.half_width_ns,
            assumed=hop.assumed,
            orders=hop.orders,
            live=len(self._live_of(frozenset((hop.src, hop.dst)))),
            sources=tuple(self._sources(pair)),
            earliest_by=self._side(hop.earliest_by),
            latest_by=self._side(hop.latest_by),
        )

    def _sources(self, pair: Pair) -> Iterator[str]:
        """The files and ties that the snapshots and orders of two clocks are of."""
        numbers = np.empty(0, np.int64) if pair.orders is None else pair.orders.orders.numbers
        for text, snapshots, orders in self._evidence_numbers():
            if _has_any(pair.snapshots, snapshots) or _has_any(numbers, orders):
                yield text

    def _evidence_numbers(self) -> Iterator[tuple[str, range, range]]:
        """Each tie and each file's own evidence: a text, and the numbers in the graph."""
        for file, own in zip(self._traces.files, self._traces.own, strict=True):
            yield f"{file.name} itself", own.snapshots, own.orders
        for tie in self._traces.ties:
            yield tie.said, tie.snapshots, tie.orders

    def _side(self, by: BindingOrder | None) -> SideEvidence | None:
        if by is None:
            return None
        text, orders = next(
            (text, orders) for text, _, orders in self._evidence_numbers() if by.number in orders
        )
        return SideEvidence(text, by.number - orders.start, len(orders), *by[1:])

    def _contradictions(
        self,
        clocks: set[ClockId],
        contradictions: Sequence[Inconsistency],
        wrong_orders: Sequence[PairDiscontinuity],
    ) -> Iterator[str]:
        for loop in contradictions:
            if {loop.src, loop.dst, *loop.via} & clocks:
                ends = f"{self._name(loop.src)} and {self._name(loop.dst)}"
                yield f"the paths between {ends} miss each other by {duration(loop.gap_ns)}"
        for wrong in wrong_orders:
            if {wrong.src, wrong.dst} <= clocks:
                ends = f"{self._name(wrong.src)} and {self._name(wrong.dst)}"
                off = wrong.size_ns and min(map(abs, wrong.size_ns))
                size = f"by {duration(off)} at least" if off is not None else "by an unknown time"
                yield f"an order between {ends} is reversed, {size}, at {wrong.a_from}"

    def _text_clocks(
        self, clocks: set[ClockId], instants: Sequence[EvidenceInstant]
    ) -> set[ClockId]:
        return clocks.union(clock for at in instants for path in at.over for clock in path)

    def _name(self, clock: ClockId) -> str:
        """The name of a clock, with the files that have it."""
        name = self._traces.graph.name(clock)
        numbers = self._traces.boots.files(clock)
        if numbers == [len(self._traces.files)]:
            return name  # UTC is of no file.
        files = [self._traces.files[number] for number in numbers]
        if name == str(clock) and all(len(file.machines) < 2 for file in files):
            name = str(replace(clock, machine=0, file=0))
        return f"{name} of {', '.join(file.name for file in files)}"


def _has_any(numbers: Values, chosen: range) -> bool:
    return bool(((numbers >= chosen.start) & (numbers < chosen.stop)).any())


def _chain(ties: Sequence[Tie], one: int, other: int) -> list[int]:
    """The numbers of the fewest files over which ties lead from one to another, but not at once."""
    found, reached = [[one]], {one}
    while found:
        longer = []
        for chain in found:
            for tie in ties:
                ends = {tie.one, tie.other}
                if chain[-1] not in ends or ends == {one, other}:
                    continue
                (last,) = ends - {chain[-1]}
                if last == other:
                    return [*chain, last]
                if last not in reached:
                    reached.add(last)
                    longer.append([*chain, last])
        found = longer
    return []
