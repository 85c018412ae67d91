"""Columns of discontinuities are what lists of the objects are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.discontinuities import KINDS, PairDiscontinuities
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.own_intervals import Hold
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.graph.tube.tube import Tube

S = 10**9
CLOCKS = st.sampled_from([ClockId(k, machine=m) for k in (1, 3, 6) for m in (0, 1)])
WHOLE = st.integers(-(1 << 64), 1 << 64) | st.integers(-9, 9)
READ = st.integers(-(1 << 63), (1 << 63) - 1)
FOUND = st.lists(
    st.builds(
        PairDiscontinuity,
        CLOCKS,
        CLOCKS,
        st.sampled_from(KINDS),
        READ,
        READ,
        st.none() | st.tuples(WHOLE, WHOLE).map(lambda size: (min(size), max(size))),
        st.none() | st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)),
        st.lists(st.integers(0, 99), min_size=1, max_size=3).map(tuple),
        st.lists(st.integers(0, 99), max_size=2).map(tuple),
    ),
    max_size=8,
)


@given(FOUND)
def test_objects_come_back_as_they_were(found):
    columns = PairDiscontinuities.of(found)
    assert list(columns) == found and len(columns) == len(found)
    assert [columns[k] for k in range(-len(found), len(found))] == found + found
    assert list(columns[1:3]) == found[1:3]
    assert [*map(int, columns.mean_ns)] == [abs(sum(d.size_ns or (0,))) // 2 for d in found]
    assert [*map(int, columns.least_ns)] == [
        max(low, -high, 0) for low, high in (d.size_ns or (0, 0) for d in found)
    ]
    assert [*map(int, columns.most_ns)] == [max(map(abs, d.size_ns or (0,))) for d in found]


@given(FOUND)
def test_rows_are_grouped_by_where_their_key_comes_first(found):
    columns = PairDiscontinuities.of(found)
    by_pair, by_machine = {}, {}
    for d in found:
        by_pair.setdefault((d.src, d.dst), []).append(d)
        by_machine.setdefault(d.src.machine, []).append(d)
    assert [(key, list(of)) for key, of in columns.by_pair().items()] == list(by_pair.items())
    assert [(key, list(of)) for key, of in columns.by_machine().items()] == list(by_machine.items())
    joined = PairDiscontinuities.joined(list(columns.by_pair().values()))
    assert list(joined) == [d for those in by_pair.values() for d in those]


@given(FOUND, st.data())
def test_some_are_turned_or_of_another_kind(found, data):
    marked = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    which = np.array(marked, dtype=bool)
    columns = PairDiscontinuities.of(found)
    assert list(columns.as_kind(which, "step")) == [
        d._replace(kind="step") if turn else d for d, turn in zip(found, marked, strict=True)
    ]
    assert list(columns.reversed(which)) == [
        d._replace(src=d.dst, dst=d.src, size_ns=d.size_ns and (-d.size_ns[1], -d.size_ns[0]))
        if turn
        else d
        for d, turn in zip(found, marked, strict=True)
    ]


@pytest.mark.parametrize("hold", [None, Hold.declared(1000), Hold.learnt(1000, 1500, np.array([]))])
def test_outliers_need_guaranteed_bars_about_themselves_alone(hold):
    a = np.arange(400, dtype=np.int64) * S
    r = np.zeros(400, dtype=np.int64)
    r[50::100] = 10**7
    evidence = Evidence.of(a, r, 1000, assumed=hold is not None)
    made = [Tube(evidence, Limits(1e-5, 1e-8), hold=hold) for _ in range(2)]
    tube, whole = made
    bars = whole.convert(a[50::100], bars="guaranteed")
    assert "guaranteed" in whole._tables
    assert [(d.kind, d.size_ns) for d in tube.discontinuities] == [
        ("outlier", (10**7 - 1000 - (high - at), 10**7 + 1000 - (low - at)))
        for at, low, high in zip(
            a[50::100].tolist(), bars.earliest.tolist(), bars.latest.tolist(), strict=True
        )
    ]
    assert "guaranteed" not in tube._tables
