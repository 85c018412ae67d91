"""The engine's shortest paths against a literal breadth-first search over ordered edges.

The Router keeps distances to its target while the graph grows, and repairs them when a clock runs
backwards. Whatever the order of snapshots and questions, it must give what Perfetto's search gives
(FindPath in src/trace_processor/util/clock_synchronizer.cc): the path, and the series of each hop.
"""

from __future__ import annotations

from collections import deque
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twin.graph import Key, series_hash

from tracetime._kernels import graph as kernel
from tracetime._kernels.graph import Engine, Router
from tracetime.errors import NO_PATH, NON_MONOTONIC_SOURCE, RESOLVED, UNKNOWN_SOURCE_CLOCK

MAX_HOPS = 4
Path = list[tuple[Key, Key, int]]


class Literal:
    """Edges in a set, as Perfetto has them; each path is a new search."""

    def __init__(self) -> None:
        self.edges: set[tuple[Key, Key, int]] = set()
        self.last: dict[tuple[Key, int], int] = {}
        self.backwards: set[Key] = set()
        self.known: set[Key] = set()

    def add(self, readings: dict[Key, int]) -> None:
        hashed = series_hash(readings)
        self.known.update(readings)
        for key, value in readings.items():
            if value < self.last.get((key, hashed), value):
                self.backwards.add(key)
                self.edges = {edge for edge in self.edges if edge[0] != key}
            self.last[key, hashed] = value
        for one in readings:
            for other in readings:
                if one != other and one not in self.backwards:
                    self.edges.add((one, other, hashed))

    def path(self, source: Key, target: Key) -> Path | None:
        """Breadth first, edges in the order (source, target, series hash)."""
        leaving: dict[Key, list[tuple[Key, Key, int]]] = {}
        for edge in sorted(self.edges):
            leaving.setdefault(edge[0], []).append(edge)
        queue: deque[Path] = deque([[]])
        # Perfetto goes through every path. A clock reached before was reached by a path that
        # stands earlier in the queue: what leads on from it is found from there.
        reached = {source}
        while queue:
            path = queue.popleft()
            if len(path) == MAX_HOPS:
                continue
            for edge in leaving.get(path[-1][1] if path else source, []):
                if edge[1] == target:
                    return [*path, edge]
                if edge[1] not in reached:
                    reached.add(edge[1])
                    queue.append([*path, edge])
        return None


class Both:
    """An engine and the literal search, fed alike."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.literal = Literal()
        self.routers: dict[Key, Router] = {}

    def add(self, readings: dict[Key, int]) -> None:
        n = len(readings)
        added = kernel.add_snapshots(
            self.engine,
            [tuple(key) for key in readings],
            np.array([list(readings.values())], dtype=np.int64),
            np.ones(n, dtype=np.int64),
            np.zeros(n, dtype=np.uint8),
        )
        assert added == (1, 0, 0)
        self.literal.add(readings)

    def keep_router(self, target: Key) -> None:
        """From here on, query a router at random times."""
        if target not in self.routers:
            router = kernel.make_router(self.engine, tuple(target))
            if router is not None:
                self.routers[target] = router

    def route(self, source: Key, router: Router) -> tuple[int, Path]:
        status, unit_ns, hops = kernel.route(self.engine, tuple(source), router)
        assert unit_ns == 1
        keys = kernel.keys(self.engine, 0)
        names = [[keys[n] for n in numbers] for numbers, _ in kernel.series(self.engine)]
        path = []
        for here, there, _, series in hops:
            hashed = series_hash(Key(*key) for key in names[series])
            assert here in names[series]
            assert there in names[series]
            path.append((Key(*here), Key(*there), hashed))
        return status, path

    def check(self, source: Key, target: Key) -> None:
        """Both routers, the one kept and a fresh one, against the search."""
        fresh = kernel.make_router(self.engine, tuple(target))
        routers = [router for router in (fresh, self.routers.get(target)) if router is not None]
        for router in routers:
            status, path = self.route(source, router)
            if source == target:
                continue
            expected = self.literal.path(source, target)
            if expected is not None:
                assert (status, path) == (RESOLVED, expected)
            elif source not in self.literal.known:
                assert (status, path) == (UNKNOWN_SOURCE_CLOCK, [])
            elif source in self.literal.backwards:
                assert (status, path) == (NON_MONOTONIC_SOURCE, [])
            else:
                assert (status, path) == (NO_PATH, [])

    def check_all(self) -> None:
        for source in self.literal.known:
            for target in self.literal.known:
                self.check(source, target)


def clocks(n: int) -> list[Key]:
    """n clocks of several scopes, in an order that is not their own."""
    scopes = [
        Key(6),
        Key(3),
        Key(64, 2),
        Key(64, 1),
        Key(6, 0, 0, 1),
        Key(6, 0, 1),
        Key(65, 1),
        Key(200),
    ]
    return (
        scopes[:n]
        if n <= len(scopes)
        else [*scopes, *(Key(1000 + i) for i in range(n - len(scopes)))]
    )


class History:
    """A random run of snapshots and questions.

    Snapshots draw from a few lists of clocks, so that clocks run backwards in them again and again;
    `sparse` ones tie clocks into long chains.
    """

    def __init__(self, rng: Random, n_clocks: int, sparse: bool) -> None:
        self.rng = rng
        self.clocks = clocks(n_clocks)
        self.most = 2 if sparse else 4
        self.lists: list[list[Key]] = []
        self.now = 0

    def readings(self, backwards: float) -> dict[Key, int]:
        rng = self.rng
        if not self.lists or rng.random() < 0.4:
            size = rng.randint(1 if rng.random() < 0.1 else 2, self.most)
            self.lists.append(rng.sample(self.clocks, min(size, len(self.clocks))))
        self.now += 1
        return {
            key: self.now - (5 if rng.random() < backwards else 0) for key in rng.choice(self.lists)
        }


@pytest.mark.parametrize("sparse", [True, False], ids=["chains", "meshes"])
@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(2, 14), st.sampled_from([0, 0.02, 0.15]))
def test_paths_are_those_of_the_search(sparse, rng, n_clocks, backwards):
    both = Both()
    history = History(rng, n_clocks, sparse)
    for _ in range(rng.randint(1, 40)):
        action = rng.random()
        if action < 0.6:
            both.add(history.readings(backwards))
        elif action < 0.7:
            both.keep_router(rng.choice(history.clocks))
        else:
            both.check(rng.choice(history.clocks), rng.choice(history.clocks))
    both.check_all()


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(3, 12))
def test_a_router_asked_after_every_snapshot(rng, n_clocks):
    """No batch of changes hides another: every single one is taken in on its own."""
    both = Both()
    history = History(rng, n_clocks, sparse=rng.random() < 0.5)
    for _ in range(15):
        both.add(history.readings(backwards=0.1))
        for target in history.clocks:
            both.keep_router(target)
        both.check_all()


def chain(*keys: Key) -> Both:
    """Each clock tied to the next by a snapshot of its own."""
    both = Both()
    for here, there in zip(keys, keys[1:], strict=False):
        both.add({here: 10, there: 10})
    return both


A, B, C, D, E, F = (Key(100 + i) for i in range(200, 206))


def path_of(both: Both, source: Key, target: Key) -> list[Key] | None:
    status, path = both.route(source, kernel.make_router(both.engine, tuple(target)))
    return [source, *(hop[1] for hop in path)] if status == RESOLVED else None


def test_four_hops_and_no_more():
    both = chain(A, B, C, D, E, F)
    assert path_of(both, A, E) == [A, B, C, D, E]
    assert path_of(both, A, F) is None
    both.check_all()


def test_of_two_shortest_paths_the_smaller_ids_win():
    both = Both()
    for middle in (C, B):
        both.add({A: 1, middle: 1})
        both.add({middle: 1, D: 1})
    assert path_of(both, A, D) == [A, B, D]
    both.check_all()


def test_of_two_series_the_smaller_hash_wins():
    both = Both()
    both.add({A: 1, B: 1})
    both.add({B: 1, A: 1})
    both.add({A: 1, B: 1, C: 1})
    lists = [(A, B), (B, A), (A, B, C)]
    status, path = both.route(A, kernel.make_router(both.engine, tuple(B)))
    assert status == RESOLVED
    assert path == [(A, B, min(series_hash(keys) for keys in lists))]
    both.check_all()


def test_the_first_hop_decides_before_the_last():
    """A shorter list of ids further on does not make up for a larger one nearer the source."""
    both = Both()
    for here, there in ((A, B), (B, F), (F, E), (A, C), (C, D), (D, E)):
        both.add({here: 1, there: 1})
    assert path_of(both, A, E) == [A, B, F, E]
    both.check_all()


def test_a_clock_that_runs_backwards_is_a_target_and_no_step_on_the_way():
    both = chain(A, B, C)
    both.keep_router(C)
    both.check(A, C)
    both.add({B: 9, C: 20})
    assert B in both.literal.backwards
    assert path_of(both, A, B) == [A, B]
    assert path_of(both, A, C) is None
    both.check_all()


def test_a_way_around_is_found_when_the_way_breaks():
    """The distance of a clock grows again: the case that keeping distances must get right."""
    both = chain(A, B, E)
    both.keep_router(E)
    for here, there in ((A, C), (C, D), (D, E)):
        both.add({here: 1, there: 1})
    both.check_all()
    assert path_of(both, A, E) == [A, B, E]
    both.add({A: 11, B: 9})
    assert path_of(both, A, E) == [A, C, D, E]
    both.check_all()


def test_a_target_that_runs_backwards_is_still_reached():
    both = chain(A, B)
    both.keep_router(B)
    both.add({A: 20, B: 5})
    assert path_of(both, A, B) == [A, B]
    assert path_of(both, B, A) is None
    both.check_all()


def test_a_clock_that_ran_backwards_before_any_question():
    both = Both()
    both.add({A: 10, B: 10})
    both.add({A: 9, B: 11})
    both.add({A: 20, C: 20})
    assert path_of(both, A, C) is None
    assert path_of(both, B, C) is None
    assert path_of(both, C, A) == [C, A]
    both.check_all()


def test_the_same_clock_of_other_scopes_is_another_clock():
    one, other = Key(64, 1), Key(64, 2)
    both = Both()
    both.add({one: 5, A: 6})
    both.add({other: 7, A: 8})
    both.add({Key(6): 1, Key(6, machine=1): 2, Key(6, file=1): 3})
    assert path_of(both, one, other) == [one, A, other]
    assert path_of(both, Key(6), Key(6, machine=1)) == [Key(6), Key(6, machine=1)]
    both.check_all()


def test_a_router_without_a_clock():
    assert kernel.make_router(Engine(), (6, 0, 0, 0)) is None


def test_columns_of_another_engine_are_refused():
    with pytest.raises(IndexError):
        kernel.hop_columns(Engine(), 0, 0)
