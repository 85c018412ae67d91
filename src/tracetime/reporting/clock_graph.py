"""The clock graph as SVG: the trace clock on the left, other clocks in columns by hops.

SVG and not Bokeh: it takes its colours from the page, prints sharp, and its boxes are links.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from tracetime.clocks.ids import ClockId
from tracetime.reporting.facts import Facts
from tracetime.reporting.markup import Html, join, tag
from tracetime.text import count, short_names

# Pixels.
_BOX_WIDTH: Final = 206
_BOX_HEIGHT: Final = 58
_COLUMN_GAP: Final = 52
_ROW_GAP: Final = 14
_MOST_WIDTH: Final = 1400
"""Of a graph that fits the page; a wider one scrolls, for text that shrinks cannot be read."""

_MOST_ROWS: Final = 14
"""Clocks of a column that are drawn: as many as a screen is high."""

_FARTHEST: Final = 7
"""Hops to the last column that is drawn."""

_LONGEST_NAME: Final = 22
"""Characters that fit into a box."""


@dataclass(slots=True, eq=False)
class _Node:
    """A node of the graph: clocks that share a name.

    Attributes:
        events: of all of them.
        neighbours: the clocks that snapshots tie them to.
        short: the name that is drawn, set when it is.
        column: hops from the trace clock; -1 where there is no path.
    """

    name: str
    short: str = ""
    clocks: list[ClockId] = field(default_factory=list)
    events: int = 0
    neighbours: list[_Node] = field(default_factory=list)
    column: int = -1
    row: int = 0


def clock_graph(facts: Facts, links: dict[str, str]) -> Html:
    """Draw the graph; `links` has the address that a clock's name leads to."""
    nodes, tied = _nodes(facts)
    far = sum(node.column > _FARTHEST for node in nodes)
    last = min(max(node.column for node in nodes), _FARTHEST + 1)
    untied_column = last + 1
    columns = _columns(nodes, untied_column)
    drawn, extra = _rows(columns, links)
    rows = max(
        (min(len(inside), _MOST_ROWS) + (extra[c] > 0) for c, inside in columns.items()), default=1
    )
    height = rows * (_BOX_HEIGHT + _ROW_GAP) + _ROW_GAP
    width = max(last, *columns) * (_BOX_WIDTH + _COLUMN_GAP) + _BOX_WIDTH + 2 * _ROW_GAP

    def corner(node: _Node) -> tuple[float, float]:
        inside = min(len(columns[node.column]), _MOST_ROWS) + (extra[node.column] > 0)
        top = (height - inside * (_BOX_HEIGHT + _ROW_GAP)) / 2
        return _ROW_GAP + node.column * (_BOX_WIDTH + _COLUMN_GAP), top + node.row * (
            _BOX_HEIGHT + _ROW_GAP
        ) + _ROW_GAP / 2

    parts = []
    edges = sorted(
        {(one.name, other.name) for one, other in tied if {one.name, other.name} <= drawn.keys()}
    )
    for one, other in edges:
        parts.append(_edge(corner(drawn[one]), corner(drawn[other])))
    short = short_names(drawn, _LONGEST_NAME)
    for node in drawn.values():
        node.short = short[node.name]
        parts.append(_box(facts, node, corner(node), links.get(node.name), untied_column))
    for column, more in extra.items():
        if more:
            x, y = corner(_Node("", column=column, row=_MOST_ROWS))
            parts.append(tag("text", f"and {more:,} more", x=x + 10, y=y + 30, class_="more"))
    if far:
        x, y = _ROW_GAP + last * (_BOX_WIDTH + _COLUMN_GAP), height / 2
        parts.append(tag("text", f"and {far:,} farther away", x=x + 10, y=y, class_="more"))
    ties = "; ".join(f"{other} tied to {one}" for one, other in edges[:30])
    return tag(
        "div",
        tag(
            "svg",
            parts,
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            class_="long" if width > _MOST_WIDTH else None,
            role="group",
            aria_label=f"Clock graph. {ties or 'No clock is tied to another.'}",
        ),
        class_="wide graph",
        tabindex="0",
        role="region",
        aria_label="Clock graph",
    )


def _columns(nodes: list[_Node], untied_column: int) -> dict[int, list[_Node]]:
    """Return the clocks of each column, those with most events first."""
    columns: dict[int, list[_Node]] = defaultdict(list)
    for node in sorted(nodes, key=lambda n: (-n.events, n.name)):
        if node.column < 0:
            node.column = untied_column
        elif node.column > _FARTHEST:
            continue
        columns[node.column].append(node)
    return columns


def _rows(
    columns: dict[int, list[_Node]], links: dict[str, str]
) -> tuple[dict[str, _Node], dict[int, int]]:
    """Return the clocks to draw, by name, and the number of the others in each column."""
    drawn: dict[str, _Node] = {}
    extra: dict[int, int] = {}
    for column, inside in sorted(columns.items()):
        extra[column] = max(0, len(inside) - _MOST_ROWS)
        if extra[column]:
            inside.sort(key=lambda node: node.name not in links)
        for row, node in enumerate(inside[:_MOST_ROWS]):
            node.row = row
            drawn[node.name] = node
    return drawn, extra


def _nodes(facts: Facts) -> tuple[list[_Node], list[tuple[_Node, _Node]]]:
    """Return all clocks, and the pairs that are tied."""
    survey = facts.survey
    nodes: dict[str, _Node] = {}
    node_of: dict[ClockId, _Node] = {}
    for clock in chain([survey.trace_clock], survey.infos, survey.used):
        # Clock 0 stands for events that name none; a broken snapshot may have it, too.
        if clock not in node_of and (clock.clock or clock in survey.infos):
            name = facts.names.get(clock) or survey.graph.name(clock)
            node = nodes.get(name)
            if node is None:
                node = nodes[name] = _Node(name)
            node_of[clock] = node
            node.clocks.append(clock)
            node.events += survey.used.get(clock, 0)
    tied = [(node_of[reference], node_of[clock]) for reference, clock in facts.compared]
    for one, other in tied:
        one.neighbours.append(other)
        other.neighbours.append(one)
    start = node_of[survey.trace_clock]
    start.column = 0
    reached = [start]
    for node in reached:
        for other in node.neighbours:
            if other.column < 0:
                other.column = node.column + 1
                reached.append(other)
    return list(nodes.values()), tied


def _edge(one: tuple[float, float], other: tuple[float, float]) -> Html:
    (x1, y1), (x2, y2) = sorted((one, other))
    if x1 == x2:
        # In one column: a curve on the right.
        x, top, bottom = x1 + _BOX_WIDTH, y1 + _BOX_HEIGHT / 2, y2 + _BOX_HEIGHT / 2
        d = f"M{x:g} {top:g}C{x + 50:g} {top:g} {x + 50:g} {bottom:g} {x:g} {bottom:g}"
    else:
        start, end, y1, y2 = x1 + _BOX_WIDTH, x2, y1 + _BOX_HEIGHT / 2, y2 + _BOX_HEIGHT / 2
        middle = (start + end) / 2
        d = f"M{start:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {end:g} {y2:g}"
    return tag("path", d=d, class_="edge")


def _box(
    facts: Facts, node: _Node, corner: tuple[float, float], link: str | None, untied_column: int
) -> Html:
    x, y = corner
    survey = facts.survey
    infos = [survey.infos[clock] for clock in node.clocks if clock in survey.infos]
    lost = sum(survey.lost.get(clock, 0) for clock in node.clocks)
    snapshots = sum(info.snapshots for info in infos)
    notes = count(snapshots, "snapshot") if infos else "no snapshot"
    if survey.trace_clock in node.clocks:
        notes = f"trace time · {notes}"
    elif any(not info.monotonic for info in infos):
        notes += " · ran backwards"
    second = count(node.events, "event") + (f", {lost:,} lost" if lost else "")
    classes = ["box"]
    if survey.trace_clock in node.clocks:
        classes.append("trace-clock")
    if lost:
        classes.append("lost")
    if node.column == untied_column:
        classes.append("untied")
    inner = join(
        tag("title", f"{node.name}: {notes}, {second}"),
        tag("rect", x=x, y=y, width=_BOX_WIDTH, height=_BOX_HEIGHT, rx=6, class_=" ".join(classes)),
        # An inner svg cuts the text where the box ends, however wide its letters are.
        tag(
            "svg",
            tag("text", node.short, x=10, y=18, class_="name"),
            tag("text", notes, x=10, y=35),
            tag("text", second, x=10, y=50, class_="lost" if lost else None),
            x=x,
            y=y,
            width=_BOX_WIDTH - 4,
            height=_BOX_HEIGHT,
        ),
    )
    return tag("a", inner, href=link) if link else tag("g", inner)
