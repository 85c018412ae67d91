"""The cheapest choice that has something of every set: which breaks and wrong rows explain all.

Sets that share nothing are solved apart. Greedy first, then by exchange: every choice of the set
with the fewest members is tried, as long as it may be cheaper than the best so far, up to a number
of tries. What is found is the cheapest up to there; ties go to the lower number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

MOST_WORK: Final = 1_000_000
"""Members looked at while choices are exchanged: three breaks take some thousand."""

Choice = frozenset[int]


def cheapest(sets: Iterable[Choice], prices: Sequence[int]) -> Choice | None:
    """The cheapest choice of members, one of each set at least; None where a set is empty."""
    every = set(sets)
    if not all(every):
        return None
    found: set[int] = set()
    for part in apart(every):
        found |= _cheapest_of(part, prices)
    return frozenset(found)


def price(choice: Iterable[int], prices: Sequence[int]) -> int:
    """What a choice costs."""
    return sum(prices[member] for member in choice)


def apart(sets: Iterable[Choice]) -> list[list[Choice]]:
    """Sets by part: those of two parts share no member."""
    above: dict[int, int] = {}

    def root(member: int) -> int:
        while (higher := above.setdefault(member, member)) != member:
            above[member] = member = above[higher]
        return member

    ordered = sorted(sets, key=sorted)
    for members in ordered:
        first = min(members)
        for member in members:
            above[root(member)] = root(first)
    parts: dict[int, list[Choice]] = {}
    for members in ordered:
        parts.setdefault(root(min(members)), []).append(members)
    return list(parts.values())


def _cheapest_of(sets: list[Choice], prices: Sequence[int]) -> Choice:
    best = _greedy(sets, prices)
    # (sets left, chosen, cost)
    todo: list[tuple[list[Choice], Choice, int]] = [(_least(sets), frozenset(), 0)]
    least = price(best, prices)
    work = MOST_WORK
    while todo and work > 0:
        left, chosen, cost = todo.pop()
        if not left:
            if cost < least:
                best, least = chosen, cost
            continue
        smallest: Choice = min(left, key=_size)
        members = sorted(smallest, key=lambda m: (prices[m], m))
        work -= len(members) * sum(map(len, left))
        for member in reversed(members):
            higher = cost + prices[member]
            rest = [s for s in left if member not in s]
            if higher + _at_least(rest, prices) < least:
                todo.append((rest, chosen | {member}, higher))
    return best


def _at_least(sets: list[Choice], prices: Sequence[int]) -> int:
    """What sets cost at least: those that share nothing each cost their cheapest member."""
    cost, seen = 0, set[int]()
    for members in sets:
        if seen.isdisjoint(members):
            seen |= members
            cost += min(prices[member] for member in members)
    return cost


def _size(members: Choice) -> tuple[int, list[int]]:
    return len(members), sorted(members)


def _least(sets: list[Choice]) -> list[Choice]:
    """Sets without those that hold another one whole; the others have what they need."""
    by_size = sorted(sets, key=_size)
    kept: list[Choice] = []
    for members in by_size[:256]:
        if not any(other <= members for other in kept):
            kept.append(members)
    return kept + by_size[256:]


def _greedy(sets: list[Choice], prices: Sequence[int]) -> Choice:
    """The members that cover the most for their price; then without those that are in vain."""
    having: dict[int, set[int]] = {}
    for k, members in enumerate(sets):
        for member in members:
            having.setdefault(member, set()).add(k)
    left, chosen = set(range(len(sets))), list[int]()
    while left:
        member = min(having, key=lambda m: (-len(having[m]) / prices[m], m))
        chosen.append(member)
        for k in having[member] & left:
            for other in sets[k]:
                if other != member:
                    having[other].discard(k)
        left -= having.pop(member)
    for member in sorted(chosen, key=lambda m: (-prices[m], m)):
        others = set(chosen) - {member}
        if all(not others.isdisjoint(members) for members in sets):
            chosen.remove(member)
    return frozenset(chosen)
