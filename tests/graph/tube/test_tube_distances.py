"""What error bars of very many clocks take: known before any tube is made, and bounded by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, pairwise, permutations
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tracetime as tt
from fuzz.costly import (
    BOOTTIME,
    MONOTONIC,
    SECOND,
    START,
    chain,
    event,
    machines_synced,
    separate_sequences,
    snapshot,
    with_monotonic,
)
from tracetime.clocks.ids import ClockId
from tracetime.errors import REASONS
from tracetime.graph.routes import SearchBudget, least_error
from tracetime.graph.tube.graph_data import Neighbours
from tracetime.graph.tube.messages import Between
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.paths import Paths
from tracetime.graph.tube.tube import Tube

BOOT = ClockId(BOOTTIME)


@pytest.fixture
def tubes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by an entry for each tube that is made."""
    made: list[int] = []
    build = Tube.__init__

    def counted(self, evidence, limits, **options):
        made.append(len(evidence.a))
        build(self, evidence, limits, **options)

    monkeypatch.setattr(Tube, "__init__", counted)
    return made


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., tt.Trace]:
    """Opens a trace made of packets."""

    def of(parts: Iterable[bytes], **limits: int) -> tt.Trace:
        path = tmp_path / "t.pftrace"
        path.write_bytes(b"".join(parts))
        return tt.open_trace(path, **limits)

    return of


def test_a_long_chain_is_refused_before_any_tube_is_made(opened, tubes) -> None:
    with (
        opened(chain(200), max_tubes=100) as trace,
        pytest.raises(tt.TraceError, match=r"more than 100 pairs.*--max-tubes"),
    ):
        trace.read_all("tube")
    assert not tubes


def test_the_hops_of_all_paths_are_bounded_before_any_is_used(opened, tubes) -> None:
    # From each of 60 clocks there are from 1 to 60 hops, 1,830 in all.
    with (
        opened(chain(60), max_tubes=91) as trace,
        pytest.raises(tt.TraceError, match=r"more than 1,820 hops.*--max-tubes"),
    ):
        trace.read_all("tube")
    assert not tubes
    with opened(chain(60), max_tubes=92) as trace:
        table = trace.read_all("tube")
    assert table["status"].to_pylist() == [REASONS[0]] * 60
    # Beside these there is the one tube to the clock without events.
    assert len(tubes) <= 61


def test_hops_are_counted_once_however_many_batches_there_are(opened, tubes) -> None:
    events = (event(START + k, 204) for k in range(200_000))
    with opened([*chain(5, events=False), *events], max_tubes=6) as trace:
        assert trace.read_all("tube")["earliest"].null_count == 0


def test_a_path_longer_than_the_limit_on_tubes_is_refused_at_once(opened, tubes) -> None:
    with opened(chain(200), max_tubes=100) as trace:
        with pytest.raises(tt.TraceError, match="--max-tubes"):
            trace.clocks.path(350, "BOOTTIME", "tube")
        assert not tubes
        assert len(trace.clocks.path(245, "BOOTTIME", "tube")) == 47


def test_a_graph_without_limits_follows_any_chain() -> None:
    graph = tt.ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": 5, 200: 5})
    for i in range(200, 260):
        graph.add_snapshot({i: 5, i + 1: 5})
    assert len(graph.path(260, "BOOTTIME", "tube")) == 62


def test_clocks_that_nothing_leads_to_take_no_tube(opened, tubes) -> None:
    with opened(separate_sequences(50), max_tubes=2) as trace:
        table = trace.read_all("tube")
        assert table["status"].to_pylist() == ["no_path"] * 50
        with pytest.raises(tt.ConversionError, match="do not lead from 64@seq7 to BOOTTIME"):
            trace.clocks.path("64@seq7", "BOOTTIME", "tube")
    assert not tubes


def test_a_dead_end_takes_no_tube(opened, tubes) -> None:
    with opened(with_monotonic(50, 1)) as trace:
        trace.clocks.path(220, "BOOTTIME", "tube")
    assert len(tubes) == 2


def test_a_pocket_takes_no_tube(opened, tubes) -> None:
    """Two clocks on each of many sequences, and a path from one of them to another clock."""
    parts = [
        snapshot([(64, START + k), (65, START + k), (MONOTONIC, START + k)], k + 1)
        for k in range(30)
    ]
    with opened([*parts, snapshot([(MONOTONIC, START), (BOOTTIME, START)])]) as trace:
        trace.clocks.path("64@seq3", "BOOTTIME", "tube")
        # Out of the sequence, and on to BOOTTIME: no snapshot of 64 is without MONOTONIC.
        assert len(tubes) == 2
        trace.clocks.path("64@seq3", "65@seq9", "tube")
        assert len(tubes) <= 5


def test_a_way_into_a_pocket_takes_the_tube_of_the_way_out(opened, tubes) -> None:
    parts = [
        snapshot([(64, START + k), (65, START + k), (MONOTONIC, START + k)], k + 1)
        for k in range(30)
    ]
    with opened(parts) as trace:
        for k in range(1, 31):
            there = ["MONOTONIC", f"64@seq{k}"]
            assert list(map(str, trace.clocks.path(*there, "tube"))) == there
            trace.clocks.path(*there[::-1], "tube")
    assert len(tubes) == 30


OWN, OTHER = ClockId(64, 7), ClockId(65, 7)


@pytest.mark.parametrize("measured", [False, True])
def test_a_detour_in_a_pocket_is_taken_where_it_knows_more(measured: bool) -> None:
    """Of a clock that MONOTONIC was read with once, and its neighbour more often or better."""
    graph = tt.ClockGraph()
    many = [ClockId(30 + k) for k in range(5)]
    graph.add_snapshot({MONOTONIC: START, **dict.fromkeys(many, START)})
    for k in range(20):
        at = START + k * 1_000_000_000
        reads = {OWN: at, OTHER: at} if k and not measured else {OWN: at, OTHER: at, MONOTONIC: at}
        halves = {OTHER: 10, MONOTONIC: 10_000} if measured else None
        reference = OWN if measured else None
        graph.add_snapshot(tt.Snapshot(reads, reference=reference, half_width_ns=halves))
        if k:
            graph.add_snapshot({OTHER: at + 5, MONOTONIC: at + 5})
    path = graph.path(OWN, MONOTONIC, policy="tube")
    assert len(path) == 3


def test_a_tube_that_was_dropped_is_made_again_when_it_is_requested(opened, tubes) -> None:
    with opened(with_monotonic(3, 1)) as trace:
        graph, policy = trace.clocks, trace.clocks._graph.tubes
        before = graph.convert(START, 200, "BOOTTIME", policy="tube", bounds=True)
        made = len(tubes)
        policy.pairs.drop({ClockId(201)})
        assert graph.convert(START, 200, "BOOTTIME", policy="tube", bounds=True) == before
        assert len(tubes) == made
        policy.pairs.drop({ClockId(200)})
        assert graph.convert(START, 200, "BOOTTIME", policy="tube", bounds=True) == before
        assert len(tubes) == made + 1


def weighed(opened: Callable[..., tt.Trace], parts: Iterable[bytes]) -> int:
    """How many ways are weighed to place the events of a trace."""
    with opened(parts, max_tubes=10**6) as trace:
        trace.read_all("tube")
        steps = trace.clocks._graph.tubes._reach.steps
        assert steps.left is not None
        return 200 * 10**6 - steps.left


def triangles(n: int) -> Iterable[bytes]:
    """A clock on each of n sequences that is closer tied to MONOTONIC than to BOOTTIME."""
    for k in range(3):
        at = START + k * SECOND
        for i in range(n):
            yield snapshot([(64, at + i), (MONOTONIC, at + i)], i + 1)
            yield snapshot([(64, at + i), (BOOTTIME, at + i + 900 * k * (k - 1))], i + 1)
            yield event(at + i + SECOND // 2, 64, i + 1)


@pytest.mark.parametrize("parts", [triangles, lambda n: with_monotonic(n, 1)])
def test_the_search_for_paths_is_linear_in_the_neighbours_of_a_clock(opened, parts) -> None:
    assert weighed(opened, parts(120)) <= 4 * weighed(opened, parts(40))


def test_where_all_exchange_messages_a_path_takes_the_tubes_of_its_two_ends(tubes) -> None:
    """Ways over other clocks add up to more than the direct one."""
    ids = [ClockId(200 + k) for k in range(24)]
    graph = tt.ClockGraph(domains=[tt.ClockDomain(c, max_drift_ppm=50) for c in ids])
    sent = np.arange(10, dtype=np.int64) * SECOND
    for one, other in permutations(ids, 2):
        graph.add_order((sent, one), (sent + 20_000 + one.clock, other))
    assert graph.path(ids[3], ids[9], policy="tube") == [ids[3], ids[9]]
    assert 2 * 23 - 1 <= len(tubes) < 3 * 23


def test_a_search_that_takes_too_long_names_its_limit(opened) -> None:
    with opened(triangles(40), max_tubes=90) as trace:
        trace.clocks._graph.tubes._reach.steps.left = 50
        with pytest.raises(tt.TraceError, match=r"search for the paths.*--max-tubes"):
            trace.read_all("tube")


CLOCKS = [ClockId(number) for number in range(1, 7)]
EDGES = st.dictionaries(
    st.sampled_from(list(combinations(CLOCKS, 2))), st.integers(0, 3).map(float), max_size=15
)


def best(widths: dict[tuple[ClockId, ClockId], float], one: ClockId, other: ClockId):
    """The best of all ways, by trying each."""
    between = [clock for clock in CLOCKS if clock not in (one, other)]
    ways = [[one, *via, other] for n in range(len(between) + 1) for via in permutations(between, n)]
    weighed = [(sum(widths.get(hop, inf) for hop in pairwise(way)), len(way), way) for way in ways]
    least = min(weighed)
    return least[2] if least[0] < inf else None


@example(
    {(CLOCKS[0], CLOCKS[1]): 3.0, (CLOCKS[0], CLOCKS[2]): 2.0, (CLOCKS[1], CLOCKS[2]): 0.0},
    CLOCKS[1:],
    {CLOCKS[2]},
)
@given(EDGES, st.permutations(CLOCKS[1:]), st.sets(st.sampled_from(CLOCKS)))
def test_known_paths_change_no_result(edges, sources, weighed) -> None:
    """Dead ends left out, known ways taken over, hopeless ones left: the best way is the best."""
    widths = edges | {(b, a): width for (a, b), width in edges.items()}
    target = CLOCKS[0]
    neighbours_of = {clock: {b for a, b in widths if a == clock} for clock in CLOCKS}
    around = Neighbours(
        neighbours_of.__getitem__, lambda clock, n: len(neighbours_of[clock]) > n + 1
    )
    known: dict[ClockId, list[ClockId]] = {}

    def ahead(here: ClockId) -> float:
        return min(widths[last, target] for last in neighbours_of[target]) * (here in weighed)

    for source in sources:
        found = least_error(
            source,
            target,
            lambda here: around.onward(here, target),
            lambda one, other: widths[one, other],
            known.get,
            SearchBudget(None),
            ahead,
        )
        assert found == best(widths, source, target)
        if found is not None:
            known[source] = found


class Weighed:
    """Pairs of which only the widths are known."""

    def __init__(self, widths: dict[tuple[ClockId, ClockId], float]) -> None:
        self._widths = widths

    def pair(self, one: ClockId, other: ClockId) -> SimpleNamespace:
        return SimpleNamespace(a=min(one, other), b=max(one, other))

    def was_set_back(self, _: ClockId) -> bool:
        return False

    def only_stood_still(self, _: SimpleNamespace) -> bool:
        return False

    def has_all_of(self, _: ClockId, pair: SimpleNamespace) -> bool:
        return False

    def bar_from(self, _: ClockId, pair: SimpleNamespace) -> float:
        return self._widths[pair.a, pair.b]


HUBS = {(CLOCKS[h], ClockId(20 + 10 * h + k)): 1.0 for h in (0, 3) for k in range(5)}
"""What gives two clocks many neighbours: others can be pockets of them."""


@example({(CLOCKS[0], CLOCKS[1]): 3.0, (CLOCKS[0], CLOCKS[2]): 1.0, (CLOCKS[1], CLOCKS[2]): 1.0})
@example(
    {
        (CLOCKS[0], CLOCKS[1]): 3.0,
        (CLOCKS[0], CLOCKS[2]): 1.0,
        (CLOCKS[1], CLOCKS[2]): 1.0,
        (CLOCKS[0], CLOCKS[3]): 3.0,
    }
)
@given(EDGES)
def test_the_path_into_and_out_of_pockets_is_the_best(edges) -> None:
    edges = edges | HUBS
    widths = edges | {(b, a): width for (a, b), width in edges.items()}
    clocks = {clock for pair in widths for clock in pair}
    neighbours_of = {clock: {b for a, b in widths if a == clock} for clock in clocks}
    around = Neighbours(neighbours_of.__getitem__, lambda clock, n: len(neighbours_of[clock]) > n)
    reach: Any = SimpleNamespace(
        steps=SearchBudget(None),
        expect=lambda *_: None,
        hops=lambda *_: 1,
        check_length=lambda _: None,
        check_steps=lambda: None,
        found=lambda _: None,
    )
    tied: Any = SimpleNamespace(are_tied=lambda *_: True)
    paths = Paths(cast(Pairs, Weighed(widths)), around, tied, reach)
    for one, other in permutations([clock for clock in CLOCKS if clock in clocks], 2):
        known = best(widths, one, other)
        if known is None:
            with pytest.raises(tt.ConversionError, match="do not lead"):
                paths.path(one, other)
        else:
            assert paths.path(one, other) == known


@given(st.lists(st.lists(st.sampled_from(range(200, 208)), min_size=1, max_size=4, unique=True)))
def test_how_far_clocks_are_is_counted_in_fewest_hops(series) -> None:
    graph = tt.ClockGraph()
    for clocks in series:
        graph.add_snapshot(dict.fromkeys(clocks, 5))
    policy = graph._graph.tubes
    seen = [info.clock for info in graph.clocks()]
    for target in seen:
        hops, ends = {target: 0}, [target]
        for here in ends:
            for there in policy.neighbours[here]:
                if there not in hops:
                    hops[there] = hops[here] + 1
                    ends.append(there)
        assert {clock: policy._reach.hops(clock, target) for clock in seen} == {
            clock: hops.get(clock) for clock in seen
        }


def test_messages_are_hops_too(opened) -> None:
    with opened(machines_synced(3)) as trace:
        reach = trace.clocks._graph.tubes._reach
        assert [reach.hops(ClockId(BOOTTIME, machine=m), BOOT) for m in range(4)] == [0, 1, 1, 1]
        assert reach.hops(ClockId(BOOTTIME, machine=1), ClockId(BOOTTIME, machine=2)) == 2
        assert trace.read_all("tube").num_rows == 3


def test_machines_that_messages_tie_are_not_looked_at_one_by_one(opened, monkeypatch) -> None:
    looked: list[tuple[ClockId, ClockId]] = []
    shared = Pairs.shared

    def counted(self, one, other):
        looked.append((one, other))
        return shared(self, one, other)

    monkeypatch.setattr(Pairs, "shared", counted)
    with opened(machines_synced(20)) as trace:
        assert trace.clocks._graph.tubes.machines.are_tied(ClockId(BOOTTIME, machine=20), BOOT)
    assert not looked


@given(st.sets(st.integers(0, 30)), st.lists(st.integers(0, 31)))
def test_evidence_is_every_snapshot_that_was_not_worked_out(worked_out, snapshots) -> None:
    read = Between(worked_out=sorted(worked_out)).is_evidence(np.array(snapshots, dtype=np.int64))
    assert read.tolist() == [number not in worked_out for number in snapshots]
