"""Whether tubes lead from clock to clock, and which pairs need none: asked before any is made."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, ConversionError
from tracetime.clocks.ids import ClockId
from tracetime.graph.comparison import eventful

S = 1_000_000_000
YEAR = 365 * 86_400 * S
CLOCKS = [ClockId(200 + k) for k in range(4)] + [ClockId(9), ClockId(3, machine=1)]
"""The TSC's rate is unknown until two snapshots give it; the last one is of another machine."""

ties = st.lists(
    st.tuples(
        st.permutations(range(len(CLOCKS))).map(lambda order: order[:2]),
        st.booleans(),
        st.sampled_from([S, 2 * S, 60 * YEAR]),
    ),
    max_size=8,
)


def tied(found) -> ClockGraph:
    """A graph in which clocks share snapshots or orders, some of them 60 years apart."""
    graph = ClockGraph()
    for (one, other), is_order, ts in found:
        here, there = CLOCKS[one], CLOCKS[other]
        if is_order:
            graph.add_order((S, here), (ts, there))
        else:
            graph.add_snapshot({here: S, there: ts})
    return graph


def has_path(graph: ClockGraph, source: ClockId, target: ClockId) -> bool:
    """Also where the tube refuses a pair whose clocks were set back too often for its orders."""
    try:
        return bool(graph.path(source, target, policy="tube"))
    except ConversionError as error:
        return error.reason == "ambiguous_source"


SET_BACK = [([0, 1], False, S), ([0, 1], False, 2 * S), ([0, 1], True, S), ([1, 0], False, 2 * S)]
"""No order is of one instant."""


@given(ties)
@example(SET_BACK)
def test_a_tube_leads_where_a_path_of_tubes_is_found(found):
    asked, searched = tied(found), tied(found)
    for source in CLOCKS[1:]:
        leads = asked._graph.tubes.paths.leads(source, CLOCKS[0])
        assert leads == has_path(searched, source, CLOCKS[0])
        assert asked._graph.tubes.are_linked(source, CLOCKS[0]) >= leads
    assert not asked._graph.tubes.pairs._made


offsets = st.integers(-3, 3)


@given(
    orders=st.lists(st.tuples(st.booleans(), offsets, st.integers(0, 2)), max_size=4),
    snapshots=st.lists(offsets, max_size=1),
    delays=st.sampled_from([(0, None), (1, None), (0, 2)]),
    ns_per_tick=st.sampled_from([1, 2]),
)
def test_a_pair_that_is_left_out_shows_no_event(orders, snapshots, delays, ns_per_tick):
    one, other = CLOCKS[:2]
    graph = ClockGraph(domains=[ClockDomain(other, ns_per_tick=ns_per_tick, max_drift_ppm=0)])
    for k, offset in enumerate(snapshots):
        graph.add_snapshot({one: k * S, other: k * S + offset * S})
    for forth, offset, at in orders:
        ends = ((at * S, one), ((at + offset) * S // ns_per_tick, other))
        before, after = ends if forth else ends[::-1]
        graph.add_order(before, after, min_delay_ns=delays[0], max_delay_ns=delays[1])
    if not eventful(graph._graph):
        assert not graph._graph.tubes.discontinuities([(one, other)])


def test_one_order_or_two_that_fit_together_need_no_tube():
    one, other = CLOCKS[:2]
    graph = ClockGraph()
    graph.add_order((5, one), (9, other))
    assert not eventful(graph._graph)
    graph.add_order((7, other), (8, one))
    assert not eventful(graph._graph)
    crossed = ClockGraph()
    crossed.add_order((5, one), (9, other))
    crossed.add_order((15, other), (8, one))
    assert eventful(crossed._graph) == [(one, other)]
    graph.add_order((7, other), (8, one))
    assert eventful(graph._graph) == [(one, other)]


def test_a_way_to_a_clock_of_many_neighbours_asks_about_none_of_them(monkeypatch):
    graph, home = ClockGraph(), ClockId(6)
    sources = [ClockId(64, sequence=k) for k in range(1, 41)]
    for clock in sources:
        for ts in (S, 2 * S):
            graph.add_snapshot({home: ts, clock: ts})
    tubes, asked = graph._graph.tubes, []
    hops = tubes.paths._reach.hops
    monkeypatch.setattr(tubes.paths._reach, "hops", lambda *both: asked.append(both) or hops(*both))
    assert all(tubes.paths.leads(clock, home) for clock in sources)
    assert len(asked) == len(sources)
    tubes.pair(sources[0], home)
    monkeypatch.setattr(tubes.pairs, "_gathered", None)
    assert tubes.pairs.have_evidence(sources[0], home)
