"""Slices under error bars: pairs of different clocks that may overlap or not, hatched.

HTML and not Bokeh: bars take their colours from the page, and text stays as large as elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import count as count_from
from typing import Final

from tracetime.analysis.undecided_overlaps import BarredSlice, UndecidedOverlaps, UndecidedPair
from tracetime.reporting.facts import Facts
from tracetime.reporting.markup import (
    Cell,
    Html,
    empty,
    foldable,
    join,
    more_of,
    number_cell,
    table,
    tag,
)
from tracetime.text import count, duration

_MOST_CLOCKS: Final = 20
"""Rows of the table of clocks."""

_MOST_TICKS: Final = 5
"""Labels of a scale: as many as fit on a phone."""

_READING: Final = (
    "Solid: by its bars, the slice runs. Pale: it may. Hatched: both may run, and whether the two "
    "overlap cannot be said, because the error bars of an end and a begin meet. They count as "
    "independent of each other: where both share an error, more could be said."
)

_TITLE: Final = "Slices"


def spans_section(facts: Facts) -> Html | None:
    """Return the section of slices, None where there is nothing to compare."""
    if facts.spans is None:
        return None
    found = facts.spans.found
    if found is None:
        return empty(_TITLE, "They are on too many clocks to be compared.", id="slices")
    if not found.undecided:
        line = "their error bars decide which of them, on different clocks, overlap"
        if found.left_out:
            line += f"; {count(found.left_out, 'slice')} without an end or a bar not compared"
        return empty(_TITLE, line, id="slices")
    left_out = None
    if found.left_out:
        text = f"Without an end, or a bar, and so not compared: {count(found.left_out, 'slice')}."
        left_out = tag("p", text, class_="hint")
    return foldable(
        _TITLE,
        f"whether they overlap cannot be said of {count(found.undecided, 'pair')} "
        "on different clocks",
        tag("p", _READING, class_="hint"),
        tag("div", (_place(facts, facts.spans.names, p) for p in found.places), class_="overlaps"),
        _table(facts, found),
        left_out,
        is_open=False,
        id="slices",
    )


def _place(facts: Facts, names: dict[int, tuple[str, str]], place: UndecidedPair) -> Html:
    """The picture of two slices, a row each, around the time at which they may overlap."""
    low, high = place.window
    around = 2 * max(high - low, 1)
    sides = place.one, place.other
    first = max(min(side.begin.earliest for side in sides), low - around)
    last = min(max(side.end.latest for side in sides), high + around)
    margin = max((last - first) // 25, 1)
    scale = _TimeScale(first - margin, last + margin)
    on, sentence = facts.survey.graph.name(place.on), _sentence(place)
    return tag(
        "div",
        tag(
            "div",
            [
                [_who(facts, names[side.row], side), _track(scale, side, (low, high))]
                for side in sides
            ],
            tag("div", _ticks(scale, low), class_="ticks"),
            class_="spans",
            role="img",
            aria_label=" and ".join(names[side.row][0] for side in sides) + f": {sentence}",
        ),
        tag("p", f"{sentence} 0 is {on} {low:,} ns.", class_="where"),
        class_="overlap",
    )


def _who(facts: Facts, names: tuple[str, str], side: BarredSlice) -> Html:
    name, owner = names
    length = side.end.estimate - side.begin.estimate
    what = duration(length) if length else "an instant"
    rest = ", ".join(part for part in (facts.survey.graph.name(side.clock), what, owner) if part)
    return tag("div", tag("b", name), f" {rest}", class_="who", title=f"{name} {rest}")


def _track(scale: _TimeScale, side: BarredSlice, window: tuple[int, int]) -> Html:
    begin, end = side.begin, side.end
    return tag(
        "div",
        scale.bar("may", begin.earliest, end.latest),
        scale.bar("runs", begin.latest, end.earliest) if begin.latest < end.earliest else None,
        scale.bar("open", *window),
        [
            (
                scale.bar(f"bar {which}", at.earliest, at.latest),
                scale.bar(f"at {which}", at.estimate, at.estimate),
            )
            for which, at in (("begin", begin), ("end", end))
        ],
        class_="lasting",
    )


class _TimeScale:
    """The scale from instants to places on a track."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last

    def place(self, at: int) -> float:
        """The place of an instant on the track, percent."""
        within = min(max(at, self.first), self.last)
        return 100 * (within - self.first) / (self.last - self.first)

    def bar(self, kind: str, start: int, end: int) -> Html | None:
        """Return a bar from one instant to another; None if all of it is outside."""
        if end < self.first or start > self.last:
            return None
        left, right = self.place(start), self.place(end)
        return tag("i", class_=kind, style=f"left:{left:.3f}%;width:{right - left:.3f}%")


def _ticks(scale: _TimeScale, zero: int) -> Iterator[Html]:
    """Yield the labels of the scale: times since `zero`."""
    least = (scale.last - scale.first) / _MOST_TICKS
    step = next(
        size
        for exponent in count_from(0)
        for size in (10**exponent, 2 * 10**exponent, 5 * 10**exponent)
        if size >= least
    )
    for number in range(-((zero - scale.first) // step), (scale.last - zero) // step + 1):
        left = scale.place(zero + number * step)
        if 5 < left < 95:
            text = duration(number * step) if number else "0"
            yield tag("span", text, style=f"left:{left:.3f}%")


def _sentence(place: UndecidedPair) -> str:
    """The sentence on the possible overlap of two slices, and on that of the estimates."""
    most, _ = place.at_stake
    begins, ends = (
        [at.estimate for at in ats]
        for ats in ((place.one.begin, place.other.begin), (place.one.end, place.other.end))
    )
    overlap = min(ends) - max(begins)
    open_ = f"They overlap for up to {duration(most)}, or not at all"
    if not most:
        open_ = "The instant is within the slice, or not"
    if overlap > 0:
        return f"{open_}; the estimates overlap by {duration(overlap)}."
    return f"{open_}; the estimates are {duration(-overlap)} apart."


def _table(facts: Facts, found: UndecidedOverlaps) -> Html:
    """Return the table of clocks; one number on many sequences has one row."""
    folded = {(c.clock, c.sequence, c.machine): name for c, name in facts.names.items()}
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for clock, (slices, affected) in found.by_clock.items():
        key = clock.clock, clock.sequence, clock.machine
        line = sums[folded.get(key) or facts.survey.graph.name(clock)]
        line[0] += slices
        line[1] += affected
    lines = sorted(sums.items(), key=lambda line: (-line[1][1], line[0]))
    rows = [
        (name, number_cell(slices), number_cell(affected), Cell(f"{share:.1%}", share))
        for name, (slices, affected) in lines[:_MOST_CLOCKS]
        for share in [affected / slices]
    ]
    return join(
        table(
            "Slices by the clock of their begin",
            ("clock", ">slices", ">in an open pair", ">share"),
            rows,
        ),
        more_of(len(lines) - _MOST_CLOCKS, "clock"),
    )
