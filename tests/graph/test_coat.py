"""`ClockGraph` is the coat in which callers have a graph; rooms above hand on the graph itself."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import tracetime as tt
from tracetime.graph.clock_graph import coat, inner
from tracetime.graph.graph import Graph
from tracetime.graph.state import GraphState

SOURCE = Path(tt.__file__).parent


def test_a_graph_comes_out_of_its_coat_as_it_went_in() -> None:
    graph = Graph(GraphState())
    assert inner(coat(graph)) is graph


def test_what_is_added_through_the_coat_is_in_the_graph() -> None:
    graph = Graph(GraphState())
    coat(graph).add_snapshot({"BOOTTIME": 1000, "MONOTONIC": 400})
    boottime, monotonic = map(tt.ClockId.parse, ("BOOTTIME", "MONOTONIC"))
    assert [info.clock for info in graph.clocks()] == [info.clock for info in coat(graph).clocks()]
    assert graph.path(monotonic, boottime) == [monotonic, boottime]
    assert coat(graph).convert(500, "MONOTONIC", "BOOTTIME") == 1100


def test_a_pickled_coat_has_the_graph() -> None:
    graph = Graph(GraphState())
    coat(graph).add_snapshot({"BOOTTIME": 1000, "MONOTONIC": 400})
    again = pickle.loads(pickle.dumps(coat(graph)))
    assert type(again) is tt.ClockGraph
    assert again.convert(500, "MONOTONIC", "BOOTTIME") == 1100


def test_rooms_above_the_graph_do_not_reach_under_the_coat() -> None:
    reached = [
        (path.relative_to(SOURCE).as_posix(), line.strip())
        for path in SOURCE.rglob("*.py")
        if not path.is_relative_to(SOURCE / "graph")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\._parts\b|\b(?:clocks|graph|_graph)\._graph\b", line)
    ]
    assert reached == []
