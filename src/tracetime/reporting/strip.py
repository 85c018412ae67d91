"""The strip across the top of the page: a lane for each clock, with what is wrong where.

HTML and not Bokeh: it is there with the first paint, its marks are links, and a reader for the
blind finds a list of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.clocks.ids import ClockId
from tracetime.reporting.facts import Facts
from tracetime.reporting.lanes import Lane, Lanes, Mark, Zone, lanes
from tracetime.reporting.markup import Html, tag
from tracetime.text import count, duration, html_text, signed_duration

_MOST_TICKS: Final = 6
_MINUTES: Final = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400)
"""Steps of a time axis that is longer than minutes."""

_WIDE: Final = 0.2
"""Share of a lane that a jump takes to have its size within."""

_LETTER: Final = 0.0125
"""Share of a lane that a letter of a size takes on a screen."""

_MOST_SIZES: Final = 20
"""Jumps of a lane whose size is written where there is room."""

_MARK: Final = 0.026
"""Share of a lane that the number of a finding takes."""

_MOST_NUMBERS: Final = 3
"""Findings without a place that are named at the end of a lane."""


def strip(facts: Facts, links: dict[ClockId, str]) -> Html:
    """Return the strip; `links` has the addresses of the clocks that have a picture."""
    found = lanes(facts)
    if not found.shown:
        return tag("section", tag("p", "There is no clock in this trace."), class_="strip")
    length_ns = facts.end_ns - facts.start_ns
    return tag(
        "section",
        tag("h2", _title(found), f" · {duration(length_ns)}" if facts.has_length else None),
        tag("ol", (_lane(facts, lane, links) for lane in found.shown), class_="lanes"),
        _axis(length_ns) if facts.has_length else None,
        tag("p", _others(found), " ", tag("a", "All clocks", href="#clocks"), class_="hint")
        if found.others
        else None,
        id="strip",
        class_="strip",
    )


def _title(found: Lanes) -> str:
    wrong = any(lane.severity in ("error", "warning") for lane in found.shown)
    return "Where time is wrong" if wrong else "Time of every clock"


def _others(found: Lanes) -> str:
    text = f"{count(found.others, 'more clock')}, "
    if not found.others_wrong:
        return text + ("in order." if found.others == 1 else "all in order.")
    return f"{text}{found.others_wrong:,} of them with errors or warnings."


def _lane(facts: Facts, lane: Lane, links: dict[ClockId, str]) -> Html:
    link = next((links[clock] for clock in lane.clocks if clock in links), "#clocks")
    name = tag("a", lane.name, href=link, class_="name") if lane.clocks else _trace()
    return tag(
        "li",
        name,
        tag("div", _track(facts, lane), class_="track"),
        tag("span", _end(facts, lane), class_="end"),
        class_=f"lane {lane.severity or 'fine'}",
    )


def _trace() -> Html:
    return tag("span", "the trace", class_="name")


def _track(facts: Facts, lane: Lane) -> Iterator[Html]:
    if lane.covered is not None:
        yield _zone(lane.covered, "covered", "from the first to the last snapshot")
    for zone in lane.lost:
        yield _zone(zone, "lost", "events without a trace time")
    for zone in lane.jumps:
        yield _zone(zone, "jump", f"a jump of {signed_duration(zone.size_ns or 0)}")
    yield from _sizes(lane)
    told: set[int] = set()
    for mark in lane.marks:
        yield _mark(facts, mark, is_first=mark.numbers[0] not in told)
        told.update(mark.numbers)


def _sizes(lane: Lane) -> Iterator[Html]:
    """Yield the sizes of jumps, the greatest first, each where there is room for it, if anywhere:
    in its zone, or to the right of it, or to the left."""
    taken = [(mark.at - _MARK / 2, mark.at + _MARK / 2) for mark in lane.marks]
    greatest = sorted(lane.jumps, key=lambda zone: -abs(zone.size_ns or 0))[:_MOST_SIZES]
    for zone in greatest:
        others = [(other.start, other.end) for other in lane.jumps if other is not zone]
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


def _end(facts: Facts, lane: Lane) -> Iterator[Html]:
    """Yield the findings that have no place; what else there is to say."""
    lost = sum(facts.survey.lost.get(clock, 0) for clock in lane.clocks)
    if lost:
        yield tag("span", f"{lost:,} lost ", title="events without a trace time")
    elif lane.severity is None:
        yield tag("span", "in order")
    for number in lane.everywhere[:_MOST_NUMBERS]:
        finding, title = facts.findings[number - 1], _title_of(facts, number)
        yield tag(
            "a",
            str(number),
            href=f"#finding-{number}",
            class_=f"mark {finding.severity}",
            title=title,
            aria_label=title,
        )
    if (more := len(lane.everywhere) - _MOST_NUMBERS) > 0:
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
