"""Which clocks jumped where, and which rows are wrong: the cheapest that explains all rows.

Contradictions are searched, the cheapest explanation of all found so far is taken, and the search
goes on until no contradiction is left. A break counts more than a wrong row, as long as others of
the row's pair stand on both sides; a clock that says that it does not jump counts more than others.
Then each break grows to the zone in which it may be, and what explains as much as well for the
same price is another model: bars hold what any model allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.epochs.clashes import along, clash_ns, neighbours_clash
from tracetime.graph.epochs.hitting_set import Choice, cheapest, price
from tracetime.graph.epochs.instants import instants
from tracetime.graph.epochs.nodes import Contradiction, Nodes, System, Zone
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.values import Mask, Values

ROW: Final = 20
"""The price of a row that is wrong: a match mistaken, a read delayed. Two cost more than BREAK."""

BREAK: Final = 30
"""The price of a break of a clock that may jump, or of a suspend, whatever stood still in it."""

LONG_ROW: Final = 60
"""The price of a wrong row of two sides that is off by more than `LONG_NS`."""

STEADY: Final = 70
"""The price of a break of a clock that says that it does not jump: dearer than two others."""

LONG_NS: Final = 100_000_000
"""No interruption between two reads lasts as long."""

BESIDE: Final = 2
"""Rows of its pair on each side of one, all of which agree: with fewer it may be a break."""

MOST_ROUNDS: Final = 60
"""Searches for contradictions, each over all that is explained so far."""

MOST_NEW: Final = 400
"""Contradictions that one search keeps, about: the rest shows in the next."""

MOST_MODELS: Final = 16
"""Models whose bars are taken one by one; of more, one that has all their breaks."""

MOST_WRONG: Final = 100
"""Contradictions within one pair, none of which shares a reading, above which its half-widths are
not believed: a recording of healthy clocks has a few, and what is set as often has no offset. What
needs more breaks and wrong rows than that is not explained."""


@dataclass(frozen=True, slots=True)
class Model:
    """One explanation.

    Attributes:
        cuts: by clock, the zones that it jumped in.
        dropped: rows left out.
    """

    cuts: Mapping[int, frozenset[Zone]] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()


class Break(NamedTuple):
    """What may have happened: one of `clocks` jumped, or stood still, or a row is wrong.

    Attributes:
        clocks: by clock, the first and the last gap in which it may have jumped; empty for a row.
        row: the row left out, or None.
        by_ns: the least that must have been wrong.
    """

    clocks: Mapping[int, tuple[int, int]]
    row: int | None
    by_ns: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What explains all rows.

    Attributes:
        nodes: the nodes.
        breaks: each with its alternatives, the first the one taken.
        models: the models that are left; bars hold what any of them allows.
        slack_ns: int64, by how much each row is wider than it says.
        not_believed: by pair of clocks whose half-widths do not hold, how much wider they are.
        solved: whether nothing contradicts itself any more.
        price: what the breaks and wrong rows cost.
    """

    nodes: Nodes
    breaks: tuple[tuple[Break, ...], ...]
    models: tuple[Model, ...]
    slack_ns: Values
    not_believed: Mapping[tuple[int, int], int]
    solved: bool
    price: int

    def systems(self) -> list[System]:
        """The bounds of each model."""
        return [
            System(self.nodes, model.cuts, model.dropped, self.slack_ns) for model in self.models
        ]


class _Remedy(NamedTuple):
    """What one thing would explain: cuts of clocks by gap, or a row left out."""

    cuts: tuple[tuple[int, int], ...]
    row: int | None


_Explained = tuple["_Search", list[_Remedy], bool]
"""A search, the remedies that it took, and whether they explain all."""


def find_breaks(nodes: Nodes) -> Findings:
    """What the rows of some nodes say that their clocks did."""
    return _found(*_explained(nodes))


def explanations(clocks: Sequence[Clock], rows: Rows) -> list[Findings]:
    """What explains some rows at the least price: more than one where readings may be ordered so.

    Bars hold what any of them allows.
    """
    every: list[_Explained] = []
    least = OPEN
    for when in instants(clocks, rows):
        search, chosen, solved = one = _explained(Nodes(clocks, rows, when), least)
        least = min(least, search.price(chosen)) if solved else least
        every.append(one)
    return [_found(*one) for one in every if one[2] and one[0].price(one[1]) == least] or [
        _found(*every[0])
    ]


def _explained(nodes: Nodes, most: int = OPEN) -> _Explained:
    """What explains the rows of some nodes at the least price, up to `most`."""
    search = _Search(nodes, *_believable(nodes))
    return search, *search.explain(most)


def _found(search: _Search, chosen: list[_Remedy], solved: bool) -> Findings:
    breaks = []
    for remedy in chosen:
        others = [remedy, *search.instead(remedy, chosen)] if solved else [remedy]
        needed = [part for other in others for part in search.enough(other, remedy, chosen)]
        breaks.append([(part, search.zone(part, remedy, chosen)) for part in needed])
    models = _models([[zone for _, zone in tied] for tied in breaks])
    # Alternatives of two breaks may do alone and not together.
    possible = [model for model in models if not search.contradictions(model)]
    return Findings(
        search.nodes,
        tuple(tuple(search.told(*one) for one in tied) for tied in breaks),
        tuple(possible or models),
        search.slack,
        search.not_believed,
        solved,
        search.price(chosen),
    )


def _models(breaks: list[list[Model]]) -> list[Model]:
    """Every combination of alternatives; of too many one that has them all."""
    combined = list(islice(product(*breaks), MOST_MODELS + 1))
    if len(combined) > MOST_MODELS:
        combined = [tuple(model for tied in breaks for model in tied)]
    return [_union(models) for models in combined]


def _union(models: Iterable[Model]) -> Model:
    cuts: dict[int, frozenset[Zone]] = {}
    dropped: frozenset[int] = frozenset()
    for model in models:
        dropped |= model.dropped
        for clock, zones in model.cuts.items():
            cuts[clock] = cuts.get(clock, frozenset()) | zones
    return Model(cuts, dropped)


def _believable(nodes: Nodes) -> tuple[Values, dict[tuple[int, int], int]]:
    """By how much rows are widened: those of pairs that contradict themselves all over."""
    n = len(nodes.clocks)
    if not len(nodes.one):
        return nodes.one, {}
    pair = nodes.rows.pairs(n)
    slack = np.zeros(len(pair), dtype=np.int64)
    widened: dict[tuple[int, int], int] = {}

    def widen(key: int, by_ns: int) -> None:
        before = widened.get((key // n, key % n), 0)
        widened[key // n, key % n] = wider = max(2 * before, by_ns)
        slack[pair == key] = wider

    # Along a clock that was set back, neighbours contradict each other where readings interleave.
    both = (nodes.rows.least_ns != -OPEN) & (nodes.rows.most_ns != OPEN)
    neighbours = [
        neighbours_clash(nodes.clocks, nodes.rows, readings, both) for readings in along(nodes.rows)
    ]
    clashes = [np.bincount(pair[clash], minlength=n * n) for clash, _ in neighbours]
    for key in np.flatnonzero(np.minimum(*clashes) > MOST_WRONG).tolist():
        widen(key, max(int(by[pair[clash] == key].max()) for clash, by in neighbours))
    while True:
        found = System(nodes, None, (), slack).contradictions()
        if len(found) <= MOST_WRONG:
            return slack, widened
        steps = found.rows >= 0
        ring, of = found.ring[steps], pair[found.rows[steps]]
        starts = np.flatnonzero(np.append(True, np.diff(ring) != 0))
        own = np.minimum.reduceat(of, starts) == np.maximum.reduceat(of, starts)
        pairs, counts = np.unique(of[starts][own], return_counts=True)
        wrong = pairs[counts > MOST_WRONG]
        if not len(wrong):
            return slack, widened
        for key in wrong.tolist():
            widen(key, int(np.median(found.by_ns[ring[starts][own & (of[starts] == key)]])))


class _Search:
    """Contradictions found so far, and their explanations."""

    def __init__(
        self, nodes: Nodes, slack: Values, not_believed: Mapping[tuple[int, int], int]
    ) -> None:
        self.nodes = nodes
        self.slack, self.not_believed = slack, not_believed
        self._found: dict[Contradiction, None] = {}
        self._beside = _beside(nodes)

    def contradictions(self, model: Model) -> list[Contradiction]:
        """Some that a model leaves."""
        system = System(self.nodes, model.cuts, model.dropped, self.slack)
        falls = self.nodes.falls(model.cuts, model.dropped, self.slack)
        return [*system.contradictions().some(MOST_NEW), *falls[:MOST_NEW]]

    def may_be(self, model: Model) -> bool:
        """Whether a model leaves none, whatever is before a break and what is after it.

        A break may be at a gap and not at the one beside it, where a reading would be too late.
        """
        system = System(self.nodes, model.cuts, model.dropped, self.slack, in_order=False)
        return not len(system.contradictions())

    def explain(self, most: int) -> tuple[list[_Remedy], bool]:
        """The cheapest remedies of all contradictions, and whether none is left.

        The search ends where they cost more than `most`.
        """
        chosen: list[_Remedy] = []
        for _ in range(MOST_ROUNDS):
            model = self.model(chosen)
            if not (new := self.contradictions(model)):
                return chosen, True
            self._take(model, new)
            remedies, sets, prices = self._choices()
            best = cheapest(sets, prices)
            if best is None or len(best) > MOST_WRONG or price(best, prices) > most:
                return chosen, False
            chosen = [remedies[k] for k in sorted(best)]
        return chosen, False

    def _take(self, model: Model, new: list[Contradiction]) -> None:
        """Keep contradictions, and search for more where these are not."""
        known = len(self._found)
        for _ in range(6):
            self._found.update(dict.fromkeys(new))
            cuts = {clock: set(zones) for clock, zones in model.cuts.items()}
            dropped = set(model.dropped)
            for contradiction in new:
                # For the search alone, these can be as they are.
                for clock, a, b in contradiction.waits:
                    cuts.setdefault(clock, set()).update(((a, a), (b - 1, b - 1)))
                if not contradiction.waits:
                    dropped.add(contradiction.rows[0])
            model = Model({c: frozenset(g) for c, g in cuts.items()}, frozenset(dropped))
            if len(self._found) > known + MOST_NEW or not (new := self.contradictions(model)):
                return

    def model(self, chosen: Iterable[_Remedy]) -> Model:
        """What some remedies come to."""
        return _union(_alone(remedy) for remedy in chosen)

    def _choices(self) -> tuple[list[_Remedy], list[Choice], list[int]]:
        """The remedies of all contradictions: they, which each has, and their prices."""
        found = list(self._found)
        remedies = self._remedies(found)
        number = {remedy: k for k, remedy in enumerate(remedies)}
        sets: list[set[int]] = [set() for _ in found]
        by_row: dict[int, list[int]] = {}
        for k, contradiction in enumerate(found):
            for row in contradiction.rows:
                by_row.setdefault(row, []).append(k)
        cuts = _by_clock(remedies)
        for k, contradiction in enumerate(found):
            for clock, a, b in contradiction.waits:
                gaps, which = cuts.get(clock, ([], []))
                low, high = np.searchsorted(gaps, [a, b])
                those = [remedies[which[j]] for j in range(low, high)]
                # A suspend takes no clock back.
                sets[k].update(number[r] for r in those if not (contradiction.fell and r.cuts[1:]))
            sets[k].update(number[_Remedy((), row)] for row in contradiction.rows)
        long_rows = self._long_rows()
        prices = [self._price(remedy, long_rows) for remedy in remedies]
        return remedies, list(map(frozenset, sets)), prices

    def _long_rows(self) -> set[int]:
        """The rows that may be off by more than `LONG_NS`."""
        return {
            row
            for contradiction in self._found
            if contradiction.by_ns > 2 * LONG_NS
            for row in contradiction.rows
        }

    def _remedies(self, found: Sequence[Contradiction]) -> list[_Remedy]:
        """Cuts at the last gap of each wait, and where its clock fell, suspends there, and rows."""
        waits = {wait for c in found for wait in c.waits if wait[2] > wait[1]}
        gaps = sorted({(wait[0], gap) for wait in waits for gap in self.nodes.likely_gaps(*wait)})
        rows = sorted({row for c in found for row in c.rows})
        suspends = self._suspends(gaps, found)
        return [
            *(_Remedy((gap,), None) for gap in gaps),
            *suspends,
            *(_Remedy((), row) for row in rows),
        ]

    def _suspends(
        self, gaps: list[tuple[int, int]], found: Sequence[Contradiction]
    ) -> list[_Remedy]:
        """Cuts of several clocks of one machine, at one instant."""
        nodes, made = self.nodes, dict[_Remedy, None]()
        waits: dict[int | None, dict[int, list[tuple[int, int]]]] = {}
        for contradiction in found:
            for clock, a, b in contradiction.waits if not contradiction.fell else ():
                machine = nodes.clocks[clock].machine
                if machine is not None:
                    waits.setdefault(machine, {}).setdefault(clock, []).append((a, b))
        ends = {
            machine: {clock: np.array(own).T for clock, own in those.items()}
            for machine, those in waits.items()
        }
        for clock, gap in gaps:
            machine = nodes.clocks[clock].machine
            at = int(nodes.at[nodes.first[clock] + gap + 1])
            cuts = {clock: gap}
            for other, (first, last) in ends.get(machine, {}).items():
                place = nodes.place(other, at) if other != clock else -1
                if ((first <= place) & (place < last)).any():
                    cuts[other] = place
            if len(cuts) > 1:
                made[_Remedy(tuple(sorted(cuts.items())), None)] = None
        return list(made)

    def _price(self, remedy: _Remedy, long_rows: set[int]) -> int:
        if remedy.row is None:
            jumps = any(self.nodes.clocks[clock].jumps for clock, _ in remedy.cuts)
            return BREAK if jumps else STEADY
        rows = self.nodes.rows
        two_sided = rows.least_ns[remedy.row] != -OPEN and rows.most_ns[remedy.row] != OPEN
        if two_sided and remedy.row in long_rows:
            return LONG_ROW
        return ROW if self._beside[remedy.row] else BREAK

    def price(self, chosen: Iterable[_Remedy]) -> int:
        """What some remedies cost."""
        long_rows = self._long_rows()
        return sum(self._price(remedy, long_rows) for remedy in chosen)

    def instead(self, remedy: _Remedy, chosen: Sequence[_Remedy]) -> list[_Remedy]:
        """What would explain as much for no more, the other remedies held."""
        others = [other for other in chosen if other != remedy]
        clocks = {clock for clock, _ in remedy.cuts}
        kept, seen = list[_Remedy](), {_kind(remedy)}
        for _ in range(MOST_ROUNDS):
            remedies, sets, prices = self._choices()
            number = {each: k for k, each in enumerate(remedies)}
            held = {number[other] for other in others}
            alone = [s for s in sets if s.isdisjoint(held)]
            if not alone or remedy not in number:
                return kept
            most = prices[number[remedy]]
            common = frozenset.intersection(*alone)
            new = self._first_untried(remedies, sorted(common), clocks, seen, most, prices)
            if new is None:
                return kept
            model = self.model([*others, new])
            if left := self.contradictions(model):
                self._found.update(dict.fromkeys(left))
                continue
            kept.append(new)
            seen.add(_kind(new))
        return kept

    @staticmethod
    def _first_untried(
        remedies: list[_Remedy],
        numbers: list[int],
        clocks: set[int],
        seen: set[object],
        most: int,
        prices: list[int],
    ) -> _Remedy | None:
        for k in numbers:
            remedy = remedies[k]
            same = clocks and {clock for clock, _ in remedy.cuts} & clocks
            if prices[k] <= most and not same and _kind(remedy) not in seen:
                return remedy
        return None

    def enough(
        self, remedy: _Remedy, instead_of: _Remedy, chosen: Sequence[_Remedy]
    ) -> list[_Remedy]:
        """Those cuts of a remedy each of which does alone, the others held; or all that it needs.

        What cuts several clocks of a machine may cut one that need not have jumped.
        """
        others = [other for other in chosen if other != instead_of]

        def does(cuts: Iterable[tuple[int, int]]) -> bool:
            return not self.contradictions(self.model([*others, _Remedy(tuple(cuts), None)]))

        cuts = list(remedy.cuts)
        if len(cuts) < 2:
            return [remedy]
        if alone := [cut for cut in cuts if does([cut])]:
            return [_Remedy((cut,), None) for cut in alone]
        for cut in remedy.cuts:
            if does(left := [other for other in cuts if other != cut]):
                cuts = left
        return [_Remedy(tuple(cuts), None)]

    def zone(self, remedy: _Remedy, instead_of: _Remedy, chosen: Sequence[_Remedy]) -> Model:
        """A remedy with every gap at which each of its cuts would do as well, the others held."""
        others = self.model(other for other in chosen if other != instead_of)
        if remedy.row is not None:
            return _alone(remedy)
        cuts = {}
        for clock, gap in remedy.cuts:
            beside = _Remedy(tuple(cut for cut in remedy.cuts if cut[0] != clock), None)
            rest = _union([others, _alone(beside)])
            ends = [self._reach(rest, clock, gap, way) for way in (-1, 1)]
            cuts[clock] = frozenset([(ends[0], ends[1])])
        return Model(cuts)

    def _reach(self, rest: Model, clock: int, gap: int, way: int) -> int:
        """The farthest gap, one way, at which a cut would do: doubled steps, then halved ones."""
        taken = rest.cuts.get(clock, frozenset())
        last = self.nodes.size(clock) - 2

        def does(there: int) -> bool:
            if not 0 <= there <= last or any(a <= there <= b for a, b in taken):
                return False
            return self.may_be(_union([rest, Model({clock: frozenset([(there, there)])})]))

        step = 1
        while does(gap + way * step):
            gap += way * step
            step *= 2
        while step > 1:
            step //= 2
            if does(gap + way * step):
                gap += way * step
        return gap

    def told(self, remedy: _Remedy, zone: Model) -> Break:
        """A remedy in its zone, and by how much what it explains was wrong at least."""
        if remedy.row is not None:
            by = [c.by_ns for c in self._found if remedy.row in c.rows]
        else:
            cuts = dict(remedy.cuts)
            by = [
                c.by_ns
                for c in self._found
                if any(w in cuts and a <= cuts[w] < b for w, a, b in c.waits)
            ]
        zones = {clock: one for clock, own in zone.cuts.items() for one in own}
        return Break(zones, remedy.row, min(by, default=0))


def _kind(remedy: _Remedy) -> object:
    """What two remedies that are told as one have in common: the clocks, or the row."""
    return remedy.row if remedy.row is not None else frozenset(c for c, _ in remedy.cuts)


def _alone(remedy: _Remedy) -> Model:
    cuts = {clock: frozenset([(gap, gap)]) for clock, gap in remedy.cuts}
    return Model(cuts, frozenset() if remedy.row is None else frozenset([remedy.row]))


def _by_clock(remedies: Sequence[_Remedy]) -> dict[int, tuple[list[int], list[int]]]:
    """By clock the gaps that remedies cut, ascending, and which remedy each is of."""
    found: dict[int, list[tuple[int, int]]] = {}
    for k, remedy in enumerate(remedies):
        for clock, gap in remedy.cuts:
            found.setdefault(clock, []).append((gap, k))
    return {
        clock: ([gap for gap, _ in sorted(cuts)], [k for _, k in sorted(cuts)])
        for clock, cuts in found.items()
    }


def _beside(nodes: Nodes) -> Mask:
    """Which rows stand between others of their pair, `BESIDE` on each side, that agree."""
    rows, n = nodes.rows, len(nodes.one)
    pair = rows.pairs(len(nodes.clocks))
    at = nodes.at[np.where(rows.one <= rows.other, nodes.one, nodes.other)]
    order = np.lexsort((at, pair))
    between = np.zeros(n, dtype=bool)
    inner = order[BESIDE : n - BESIDE]
    agree = np.ones(len(inner), dtype=bool)
    for before, after in product(range(BESIDE), range(BESIDE + 1, 2 * BESIDE + 1)):
        here, there = (order[k : k + len(inner)] for k in (before, after))
        agree &= (pair[here] == pair[there]) & (clash_ns(nodes.clocks, rows, here, there) == 0)
    between[inner] = agree
    return between
