"""The columns of orders: what was added, by pair of clocks, from either side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.orders import NO_MAX_DELAY, Orders

A, B, C = (ClockId(number) for number in (64, 65, 66))


def _ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_a_message_each_way() -> None:
    orders = Orders()
    orders.add(A, B, _ints(100, 200), _ints(1_150, 1_260), 5, _ints(70, 80))
    orders.add(B, A, _ints(1_300), _ints(340), 0)
    assert orders.pairs() == [(A, B)]
    assert len(orders) == 3
    found = orders.of(A, B)
    assert found is not None
    assert found.numbers.tolist() == [0, 1, 2]
    assert found.one_ts.tolist() == [100, 200, 340]
    assert found.other_ts.tolist() == [1_150, 1_260, 1_300]
    assert found.one_first.tolist() == [True, True, False]
    assert found.min_delay_ns.tolist() == [5, 5, 0]
    assert found.max_delay_ns.tolist() == [70, 80, NO_MAX_DELAY]


def test_mirrored_as_asked() -> None:
    orders = Orders()
    orders.add(A, B, _ints(100), _ints(1_150), 5)
    found = orders.of(B, A)
    assert found is not None
    assert (found.one_ts.item(), found.other_ts.item()) == (1_150, 100)
    assert not found.one_first.item()


def test_numbers_are_of_the_whole_graph() -> None:
    orders = Orders()
    orders.add(A, B, _ints(1), _ints(2), 0)
    orders.add(A, C, _ints(3), _ints(4), 0)
    orders.add(B, A, _ints(5), _ints(6), 0)
    assert orders.pairs() == [(A, B), (A, C)]
    one, other = orders.of(A, B), orders.of(C, A)
    assert one is not None
    assert other is not None
    assert one.numbers.tolist() == [0, 2]
    assert other.numbers.tolist() == [1]
    assert orders.counts().tolist() == [2, 1]


def test_none_where_there_are_none() -> None:
    orders = Orders()
    assert orders.of(A, B) is None
    orders.add(A, B, _ints(), _ints(), 0)
    assert (len(orders), orders.pairs(), orders.of(A, B)) == (0, [], None)
    orders.add(A, B, _ints(1), _ints(2), 0)
    assert orders.of(A, C) is None


@given(
    st.lists(
        st.tuples(
            st.permutations([A, B, C]),
            st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2, st.integers(0, 99))),
        )
    )
)
@pytest.mark.parametrize("asked_between", [False, True])
def test_each_order_comes_back_once(
    asked_between: bool, given_orders: list[tuple[list[ClockId], list[tuple[int, int, int]]]]
) -> None:
    orders, plain = Orders(), []
    for (before, after, _), rows in given_orders:
        columns = [_ints(*column) for column in zip(*rows, strict=True)] or [_ints()] * 3
        orders.add(before, after, *columns)
        plain += [(before, ts, after, later, d) for ts, later, d in rows]
        if asked_between:
            orders.of(before, after)
    back = {}
    for one, other in orders.pairs():
        found = orders.of(one, other)
        assert found is not None
        for number, ts, there, first, least, _ in zip(*(c.tolist() for c in found), strict=True):
            pair = (one, ts, other, there) if first else (other, there, one, ts)
            back[number] = (*pair, least)
    assert [back[number] for number in range(len(orders))] == plain
    again = Orders(orders.pairs(), orders.columns())
    assert len(again) == len(orders)
    for ours, theirs in zip(again.columns(), orders.columns(), strict=True):
        assert np.array_equal(ours, theirs)
