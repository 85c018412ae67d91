"""The strip across the top of the page: a row for each clock, with its faults over time.

HTML and not Bokeh: it is there with the first paint, its marks are links, and a reader for the
blind finds a list of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.doctor import SEVERITIES, Finding
from tracetime.errors import ConversionError
from tracetime.graph.curves import since
from tracetime.graph.values import Values
from tracetime.reporting.facts import MOST_FINDINGS, Facts
from tracetime.reporting.markup import Html, tag
from tracetime.text import count, duration, html_text, short_names, signed_duration

# The faults of each clock on trace time: a row for each, with findings, jumps and lost events.
#
# `strip.py` draws them across the top of the page. Places are shares of the trace's length, 0 to 1.

_MOST_ROWS: Final = 10
"""Clocks with a row: as many as leave room on a screen for what follows."""

_MOST_IN_ORDER: Final = 8
"""Rows of a trace without errors and warnings: there is nothing to find on them."""

_MOST_ALIKE: Final = 64
"""Clocks of a row whose snapshots are looked at: they are alike."""

_BESIDE: Final = 0.02
"""Marks this close are one: a number takes so much of the width."""

_APART: Final = 3
"""Bins without a lost event that end a stretch of them."""


class Mark(NamedTuple):
    """The findings at one place: their numbers, the worst first."""

    at: float
    severity: str
    numbers: tuple[int, ...]


class Zone(NamedTuple):
    """A stretch of a row; `size_ns` is the size of a jump within it."""

    start: float
    end: float
    size_ns: int | None = None


@dataclass(slots=True)
class ClockRow:
    """The facts of one clock, or of clocks that share a name, over the trace's time.

    Attributes:
        clocks: none in the row of the trace itself.
        severity: of its worst finding; None without findings.
        covered: from the first to the last snapshot; None without snapshots.
        marks: the findings that have a place, by place.
        everywhere: numbers of the findings that have none.
        jumps, lost: zones of jumps, and stretches with events that have no trace time.
    """

    name: str
    clocks: list[ClockId]
    severity: str | None = None
    covered: Zone | None = None
    marks: list[Mark] = field(default_factory=list)
    everywhere: list[int] = field(default_factory=list)
    jumps: list[Zone] = field(default_factory=list)
    lost: list[Zone] = field(default_factory=list)


class ClockRows(NamedTuple):
    """The rows of a trace, the worst first; the number of the others, and of the wrong ones."""

    shown: list[ClockRow]
    others: int
    others_wrong: int


_NumberedFinding = tuple[int, Finding]


def clock_rows(facts: Facts) -> ClockRows:
    """Return the rows of a trace."""
    survey, names = facts.survey, facts.names
    clocks_of: dict[str, list[ClockId]] = defaultdict(list)
    for clock in dict.fromkeys((survey.trace_clock, *survey.infos, *survey.used)):
        if clock.clock and (clock in survey.infos or clock in survey.used):
            clocks_of[names.get(clock) or survey.graph.name(clock)].append(clock)
    name_of = {clock: name for name, clocks in clocks_of.items() for clock in clocks}
    found: dict[str, list[_NumberedFinding]] = defaultdict(list)
    sharing: dict[str, int] = {}
    for number, finding in enumerate(facts.findings[:MOST_FINDINGS], 1):
        for part in _with_consequences(finding):
            concerned = _row_names(part, survey.trace_clock, name_of)
            for name in concerned:
                found[name].append((number, part))
                if part.severity != "info":
                    sharing[name] = min(sharing.get(name, len(concerned)), len(concerned))
    # A finding of few clocks says more of a clock than one of all.
    every = [ClockRow("", []), *(ClockRow(name, clocks) for name, clocks in clocks_of.items())]
    jumps = _jumps(facts)
    for row in every:
        row.jumps = [zone for clock in row.clocks for zone in jumps.get(clock, ())]
        severities = [SEVERITIES.index(part.severity) for _, part in found[row.name]]
        row.severity = SEVERITIES[min(severities)] if severities else None
    every.sort(key=lambda row: (_severity(row), sharing.get(row.name, 0), *_rank(row, facts)))
    most = _MOST_IN_ORDER if facts.is_healthy else _MOST_ROWS
    shown = [row for row in every if row.clocks or found[row.name]][:most]
    _cover(facts, shown)
    losing: dict[tuple[int, int], set[ClockId]] = defaultdict(set)
    for clock in survey.lost:
        losing[clock.clock, clock.machine].add(clock)
    for row in shown:
        row.marks, row.everywhere = _marks(facts, found[row.name])
        row.lost = _lost(facts, row.clocks, losing)
    others = [row for row in every[len(shown) :] if row.clocks]
    return ClockRows(shown, len(others), sum(_is_wrong(row) for row in others))


def _is_wrong(row: ClockRow) -> bool:
    return row.severity in ("error", "warning")


def _severity(row: ClockRow) -> int:
    return SEVERITIES.index(row.severity) if _is_wrong(row) else len(SEVERITIES)


def _rank(row: ClockRow, facts: Facts) -> tuple[int, bool, bool, bool, int, str]:
    """Return the sort key of a row among those that are as wrong."""
    survey = facts.survey
    return (
        -sum(survey.lost.get(clock, 0) for clock in row.clocks),
        not row.jumps,
        not row.clocks,
        survey.trace_clock not in row.clocks,
        -sum(survey.used.get(clock, 0) for clock in row.clocks),
        row.name,
    )


def _with_consequences(finding: Finding) -> Iterator[Finding]:
    yield finding
    for consequence in finding.consequences:
        yield from _with_consequences(consequence)


def _row_names(finding: Finding, trace_clock: ClockId, name_of: dict[ClockId, str]) -> set[str]:
    """Return the names of a finding's rows; the trace clock's only where it names no other."""
    clocks = [clock for clock in finding.clocks if clock in name_of]
    return {name_of[c] for c in clocks if c != trace_clock or len(clocks) == 1} or {""}


def _at(facts: Facts, time_ns: float) -> float:
    """Return the place of a time after the start, ns; one outside is at the nearer end."""
    return min(max(time_ns / max(facts.end_ns - facts.start_ns, 1), 0.0), 1.0)


def _places(facts: Facts, packets: Iterable[int]) -> list[float]:
    numbers = np.fromiter(packets, dtype=np.int64)
    times = facts.places.times_ns(numbers, facts.start_ns)
    return [_at(facts, time) for time in since(times, facts.start_ns).tolist()]


def _cover(facts: Facts, shown: list[ClockRow]) -> None:
    """Set the span between the first and the last snapshot of the clocks of some rows."""
    survey, start_ns = facts.survey, facts.start_ns
    for row in shown:
        ends: list[int] = []
        for clock in survey.infos.keys() & row.clocks[:_MOST_ALIKE]:
            snapshots, readings = survey.graph.contents.readings_of(clock)
            if facts.trace.packets is None or facts.trace.as_written() is not facts.trace:
                ends += _on_trace_clock(facts, clock, readings)
                continue
            packets = survey.snapshot_packets[snapshots].astype(np.int64)
            times = facts.places.times_ns(packets, start_ns)
            ends += (int(times.min()), int(times.max())) if len(times) else ()
        info = survey.infos.get(survey.trace_clock)
        if survey.trace_clock in row.clocks and info is not None:
            ends += (ns for ns in (info.first_ns, info.last_ns) if ns is not None)
        if ends:
            limits = since(np.array([min(ends), max(ends)]), start_ns).tolist()
            row.covered = Zone(_at(facts, limits[0]), _at(facts, limits[1]))


def _on_trace_clock(facts: Facts, clock: ClockId, readings: Values) -> Iterator[int]:
    """The trace times between which a clock was read.

    Its snapshots are in no packets, or in those of the sources of the trace.
    """
    if not len(readings):
        return
    ends, graph = np.array([readings.min(), readings.max()]), facts.survey.graph
    try:
        reached, _ = graph.tubes.convert(ends, clock, facts.survey.trace_clock, "estimated")
    except ConversionError:
        return
    if (reached.earliest <= reached.latest).all():
        yield max(int(reached.earliest[0]), facts.start_ns)
        yield min(int(reached.latest[1]), facts.end_ns)


def _marks(facts: Facts, found: list[_NumberedFinding]) -> tuple[list[Mark], list[int]]:
    placed: list[tuple[float, str, int]] = []
    everywhere: list[int] = []
    for number, finding in found:
        if finding.packets:
            placed += ((at, finding.severity, number) for at in _places(facts, finding.packets))
        elif number not in everywhere:
            everywhere.append(number)
    placed.sort()
    marks: list[Mark] = []
    for at, severity, number in placed:
        if marks and at - marks[-1].at < _BESIDE:
            last = marks[-1]
            worst = min(last.severity, severity, key=SEVERITIES.index)
            marks[-1] = Mark(last.at, worst, tuple(sorted({*last.numbers, number})))
        else:
            marks.append(Mark(at, severity, (number,)))
    seen = {number for mark in marks for number in mark.numbers}
    return marks, [number for number in everywhere if number not in seen]


def _jumps(facts: Facts) -> dict[ClockId, list[Zone]]:
    """Return the jumps of the pictures against the trace clock: their zones are exact."""
    return {
        pair.clock: [
            Zone(_at(facts, b.start), _at(facts, b.end), sum(b.size_ns) // 2)
            for b in pair.curves.breaks
            if b.size_ns is not None
        ]
        for pair in facts.pictured
        if pair.curves is not None and pair.reference == facts.survey.trace_clock
    }


def _lost(
    facts: Facts, clocks: list[ClockId], losing: Mapping[tuple[int, int], set[ClockId]]
) -> list[Zone]:
    """Return the stretches with lost events, where those of the clock's number are all its own.

    losing: the clocks that have lost events, by number and machine.
    """
    edges, zones = facts.histogram.edges, []
    for row in facts.histogram.rows:
        ours = losing.get((row.clock.clock, row.clock.machine))
        if not ours or not ours <= set(clocks):
            continue
        bins = np.flatnonzero(row.unresolved)
        for part in np.split(bins, np.flatnonzero(np.diff(bins) > _APART) + 1) if len(bins) else ():
            start, end = since(edges[[part[0], part[-1] + 1]], facts.start_ns).tolist()
            zones.append(Zone(_at(facts, start), _at(facts, end)))
    return zones


_MOST_TICKS: Final = 6
_MINUTES: Final = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400)
"""Steps of a time axis that is longer than minutes."""

_WIDE: Final = 0.2
"""Share of a row that a jump takes to have its size within."""

_LETTER: Final = 0.0125
"""Share of a row that a letter of a size takes on a screen."""

_MOST_SIZES: Final = 20
"""Jumps of a row whose size is written where there is room."""

_MARK: Final = 0.026
"""Share of a row that the number of a finding takes."""

_LONGEST_NAME: Final = 28
"""Characters of a name that fit left of a row."""

_MOST_NUMBERS: Final = 3
"""Findings without a place that are named at the end of a row."""


def strip(facts: Facts, links: dict[ClockId, str]) -> Html:
    """Return the strip; `links` has the addresses of the clocks that have a picture."""
    found = clock_rows(facts)
    if not found.shown:
        return tag("section", tag("p", "There is no clock in this trace."), class_="strip")
    length_ns = facts.end_ns - facts.start_ns
    short = short_names([row.name for row in found.shown], _LONGEST_NAME)
    return tag(
        "section",
        tag("h2", _title(found), f" · {duration(length_ns)}" if facts.has_length else None),
        tag(
            "ol", (_row(facts, row, links, short[row.name]) for row in found.shown), class_="lanes"
        ),
        _axis(length_ns) if facts.has_length else None,
        tag("p", _others(found), " ", tag("a", "All clocks", href="#clocks"), class_="hint")
        if found.others
        else None,
        id="strip",
        class_="strip",
    )


def _title(found: ClockRows) -> str:
    wrong = any(row.severity in ("error", "warning") for row in found.shown)
    return "Where time is wrong" if wrong else "Time of every clock"


def _others(found: ClockRows) -> str:
    text = f"{count(found.others, 'more clock')}, "
    if not found.others_wrong:
        return text + ("in order." if found.others == 1 else "all in order.")
    return f"{text}{found.others_wrong:,} of them with errors or warnings."


def _row(facts: Facts, row: ClockRow, links: dict[ClockId, str], short: str) -> Html:
    link = next((links[clock] for clock in row.clocks if clock in links), "#clocks")
    name = tag("a", short, href=link, title=row.name, class_="name") if row.clocks else _trace()
    return tag(
        "li",
        name,
        tag("div", _track(facts, row), class_="track"),
        tag("span", _end(facts, row), class_="end"),
        class_=f"lane {row.severity or 'fine'}",
    )


def _trace() -> Html:
    return tag("span", "the trace", class_="name")


def _track(facts: Facts, row: ClockRow) -> Iterator[Html]:
    if row.covered is not None:
        yield _zone(row.covered, "covered", "from the first to the last snapshot")
    for zone in row.lost:
        yield _zone(zone, "lost", "events without a trace time")
    for zone in row.jumps:
        yield _zone(zone, "jump", f"a jump of {signed_duration(zone.size_ns or 0)}")
    yield from _sizes(row)
    linked: set[int] = set()
    for mark in row.marks:
        yield _mark(facts, mark, is_first=mark.numbers[0] not in linked)
        linked.update(mark.numbers)


def _sizes(row: ClockRow) -> Iterator[Html]:
    """Yield the sizes of jumps, the greatest first, each where there is room for it, if anywhere:
    in its zone, or to the right of it, or to the left."""
    taken = [(mark.at - _MARK / 2, mark.at + _MARK / 2) for mark in row.marks]
    greatest = sorted(row.jumps, key=lambda zone: -abs(zone.size_ns or 0))[:_MOST_SIZES]
    for zone in greatest:
        others = [(other.start, other.end) for other in row.jumps if other is not zone]
        size = signed_duration(zone.size_ns or 0)
        width = _MARK + _LETTER * len(size)
        is_wide = zone.end - zone.start > max(_WIDE, width)
        # Its own mark is on the zone, and the text keeps a distance.
        right, left = zone.end + _MARK / 2, zone.start - _MARK / 2
        places = [
            ("size", f"left:{_share(zone.start)}", zone.start, is_wide),
            ("size right", f"left:{_share(zone.end)}", right, right + width <= 1),
            ("size left", f"right:{_share(1 - zone.start)}", left - width, left >= width),
        ]
        for kind, style, start, fits in places:
            if fits and all(
                start + width <= low or start >= high for low, high in (*taken, *others)
            ):
                taken.append((start, start + width))
                yield tag("span", size, class_=kind, style=style)
                break


def _zone(zone: Zone, kind: str, title: str) -> Html:
    where = f"left:{_share(zone.start)};width:{_share(zone.end - zone.start)}"
    return tag("span", class_=kind, style=where, title=title)


def _share(part: float) -> str:
    return f"{part * 100:.2f}%"


def _mark(facts: Facts, mark: Mark, *, is_first: bool) -> Html:
    """Return a link to the worst finding at a place; the keyboard stops at each finding once."""
    at = duration(mark.at * (facts.end_ns - facts.start_ns))
    titles = [_title_of(facts, number) for number in mark.numbers]
    more = len(mark.numbers) - 1
    return tag(
        "a",
        str(mark.numbers[0]),
        tag("sup", f"+{more}") if more else None,
        href=f"#finding-{mark.numbers[0]}",
        class_=f"mark {mark.severity}",
        style=f"left:clamp(.7rem,{_share(mark.at)},100% - .7rem)",
        title=Html("\n".join(map(html_text, (*titles, f"at {at}")))),
        aria_label=f"{'; '.join(titles)}; at {at}",
        tabindex=None if is_first else "-1",
    )


def _title_of(facts: Facts, number: int) -> str:
    finding = facts.findings[number - 1]
    return f"{finding.severity} {number}: {finding.title}"


def _end(facts: Facts, row: ClockRow) -> Iterator[Html]:
    """Yield links to the findings that have no place, after the number of lost events."""
    lost = sum(facts.survey.lost.get(clock, 0) for clock in row.clocks)
    if lost:
        yield tag("span", f"{lost:,} lost ", title="events without a trace time")
    elif row.severity is None:
        # Without a snapshot nothing is known that could be wrong.
        is_checked = facts.is_checked and (row.covered is not None or not row.clocks)
        yield tag("span", "in order" if is_checked else "no snapshot")
    for number in row.everywhere[:_MOST_NUMBERS]:
        finding, title = facts.findings[number - 1], _title_of(facts, number)
        yield tag(
            "a",
            str(number),
            href=f"#finding-{number}",
            class_=f"mark {finding.severity}",
            title=title,
            aria_label=title,
        )
    if (more := len(row.everywhere) - _MOST_NUMBERS) > 0:
        yield tag("a", f"+{more}", href="#findings")


def _axis(length_ns: int) -> Html:
    step = _step(length_ns)
    ticks = (
        tag("span", _label(at), style=f"left:{_share(at / length_ns)}")
        for at in range(0, length_ns + 1, step)
    )
    return tag("div", tag("div", ticks), class_="axis", aria_hidden="true")


def _step(length_ns: int) -> int:
    """Return the distance of two ticks, ns: round in the unit that people use."""
    least = -(-length_ns // _MOST_TICKS)
    minute = 60_000_000_000
    if least > minute // 2:
        most = _MINUTES[-1] * minute
        return next((n * minute for n in _MINUTES if n * minute >= least), -(-least // most) * most)
    power: int = 10 ** (len(str(least)) - 1)
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)


def _label(at_ns: int) -> str:
    text = duration(at_ns) if at_ns else "0"
    for nothing in (" 0 s", " 0 min", " 0 h"):
        text = text.removesuffix(nothing)
    return text
