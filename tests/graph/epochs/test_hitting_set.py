"""The cheapest choice that has something of every set."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from tracetime.graph.epochs.hitting_set import apart, cheapest, price

sets = st.lists(st.frozensets(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=8)
prices = st.lists(st.sampled_from([20, 30, 60, 70]), min_size=8, max_size=8)


@given(sets, prices)
def test_no_choice_that_has_something_of_every_set_is_cheaper(
    given_sets: list[frozenset[int]], costs: list[int]
) -> None:
    found = cheapest(given_sets, costs)
    assert found is not None
    assert all(found & members for members in given_sets)
    every = chain.from_iterable(combinations(range(8), n) for n in range(9))
    least = min(price(c, costs) for c in every if all(members & set(c) for members in given_sets))
    assert price(found, costs) == least


@given(sets)
def test_sets_that_share_a_member_are_solved_together(given_sets: list[frozenset[int]]) -> None:
    parts = apart(given_sets)
    assert sorted(chain.from_iterable(parts), key=sorted) == sorted(given_sets, key=sorted)
    members = [frozenset().union(*part) for part in parts]
    assert all(one.isdisjoint(other) for one, other in combinations(members, 2))


def test_an_empty_set_has_no_choice() -> None:
    assert cheapest([frozenset()], []) is None
    assert cheapest([], []) == frozenset()
