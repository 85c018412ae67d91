"""The report as one HTML file: header, findings and footer, and the order of the sections."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tracetime._version import __version__
from tracetime.doctor import Finding
from tracetime.doctor.finding import faults
from tracetime.reporting.embedding import Figures
from tracetime.reporting.facts import MOST_FINDINGS, Facts
from tracetime.reporting.markup import Html, empty, foldable, join, more_of, prose, tag
from tracetime.reporting.models import bokeh_js
from tracetime.reporting.pairs import pair_sections, snapshots_section
from tracetime.reporting.sections import (
    allan_section,
    bars_section,
    clocks_section,
    events_section,
    pair_links,
)
from tracetime.reporting.spans import spans_section
from tracetime.reporting.strip import strip
from tracetime.text import count, duration, printable

_MOST_OPEN: Final = 20
"""Findings that are open; the others show their titles only."""

_MOST_CONSEQUENCES: Final = 20
"""Consequences of a finding that are listed."""

_IN_FULL: Final = "`tracetime doctor --json` lists all"


def page(facts: Facts) -> str:
    """Write the report of a trace."""
    figures = Figures()
    # Several files as one trace have a path of all.
    name = printable(", ".join(Path(one).name for one in facts.trace.path.split(", ")))
    links = pair_links(facts)
    sections = [
        strip(facts, links),
        _findings(facts, links),
        pair_sections(facts, figures),
        clocks_section(facts, links),
        events_section(facts, figures),
        spans_section(facts),
        bars_section(facts, figures),
        allan_section(facts, figures),
        snapshots_section(facts),
    ]
    body = join(
        tag("a", "Skip to the findings", href="#findings", class_="skip"),
        _header(facts, name),
        tag("main", sections),
        _footer(),
    )
    return document(f"Clocks of {name}", body, figures.blocks())


def _header(facts: Facts, name: str) -> Html:
    survey, trace = facts.survey, facts.trace
    sentence = facts.verdict
    lost = sum(survey.lost.values())
    summary = [
        ("trace clock", survey.graph.name(survey.trace_clock)),
        ("length", duration(facts.end_ns - facts.start_ns) if facts.has_length else "-"),
        ("events", f"{facts.events:,}" + (f", {lost:,} without trace time" if lost else "")),
        ("clocks", f"{len(survey.infos):,}"),
        ("snapshots", f"{len(survey.snapshot_packets):,}"),
        *(
            ("wall clock", f"within {duration(bounds.within_ns)} of UTC ({bounds.source})")
            for bounds in trace.wall_clock_bounds[:1]
        ),
        ("file", f"{trace.size:,} bytes" if trace.size else "-"),
    ]
    return tag(
        "header",
        tag("p", "tracetime report", class_="kicker"),
        tag("h1", name),
        tag("p", f"{sentence[0].upper()}{sentence[1:]}.", class_=f"verdict {_kind(facts)}"),
        tag("dl", (tag("div", tag("dt", a), tag("dd", b)) for a, b in summary), class_="facts"),
        tag(
            "noscript", tag("p", "The pictures need JavaScript. The tables have the same numbers.")
        ),
    )


def _kind(facts: Facts) -> str:
    if not facts.is_checked:
        return "unknown"
    if any(finding.severity == "error" for finding in facts.findings):
        return "bad"
    return "good" if facts.is_healthy and not faults(facts.findings) else "fair"


def _findings(facts: Facts, links: dict[Any, str]) -> Html:
    """Return the section of findings; it is folded where all of them are only information."""
    findings = facts.findings
    if not findings:
        return empty("Findings", "There are none.", id="findings")
    inner = [
        *(
            _finding(facts, finding, links, n)
            for n, finding in enumerate(findings[:MOST_FINDINGS], 1)
        ),
        more_of(len(findings) - MOST_FINDINGS, "finding", _IN_FULL),
    ]
    if not facts.is_healthy:
        return tag("section", tag("h2", "Findings"), inner, id="findings")
    line = f"for information: {findings[0].title}"
    more = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
    return foldable("Findings", line + more, inner, is_open=False, id="findings")


def _finding(
    facts: Facts,
    finding: Finding,
    links: dict[Any, str],
    number: int | None = None,
    most: int = _MOST_CONSEQUENCES,
) -> Html:
    name = facts.survey.graph.name
    advice = [("fix", prose(finding.fix)), ("why", prose(finding.why))]
    where = []
    if finding.events:
        where.append(f"{count(finding.events, 'event')} affected")
    if finding.worst_ns is not None:
        where.append(f"by up to {duration(finding.worst_ns)}")
    if finding.packets:
        more = ", …" if len(finding.packets) > 9 else ""
        numbers = ", ".join(f"{packet:,}" for packet in finding.packets)
        where.append(f"packet{'' if len(finding.packets) == 1 else 's'} {numbers}{more}")
    clocks = [
        tag("a", name(clock), href=links[clock]) if clock in links else tag("span", name(clock))
        for clock in finding.clocks[:12]
    ]
    return tag(
        "details",
        tag(
            "summary",
            tag("span", finding.severity, class_="badge"),
            f" {number}. " if number is not None else " ",
            tag("strong", finding.title),
            " ",
            tag("code", finding.code),
        ),
        tag("p", "; ".join(where), class_="where") if where else None,
        tag(
            "p",
            "Clocks: ",
            [join(c, " ") for c in clocks],
            f"and {len(finding.clocks) - 12:,} more" if len(finding.clocks) > 12 else None,
            class_="where",
        )
        if clocks
        else None,
        tag("dl", (tag("div", tag("dt", a), tag("dd", b)) for a, b in advice)),
        [
            tag("p", "This leads to:"),
            [_finding(facts, c, links, most=most // 4) for c in finding.consequences[:most]],
            more_of(len(finding.consequences) - most, "consequence", _IN_FULL),
        ]
        if finding.consequences
        else None,
        class_=f"finding {finding.severity}",
        id=None if number is None else f"finding-{number}",
        open=finding.severity != "info" and (number or 0) <= _MOST_OPEN,
    )


def _footer() -> Html:
    return tag(
        "footer",
        tag("p", f"Made by tracetime {__version__}. This file is complete: it loads nothing."),
    )


def document(title: str, body: Html, blocks: list[Html]) -> str:
    """Return the file. Only scripts with these hashes run, and nothing may be fetched.

    blocks: of figures; without any it does without Bokeh.
    """
    here = resources.files("tracetime.reporting")
    style = here.joinpath("page.css").read_text(encoding="utf-8")
    # HTML ends the element at this text, also inside a string of JavaScript.
    bokeh = bokeh_js().replace("</script", "<\\/script") if blocks else ""
    script = "".join(here.joinpath(f"{name}.js").read_text("utf-8") for name in ("readout", "page"))
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in (bokeh, script))
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    head = join(
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"tracetime {__version__}"),
        tag("title", title),
        tag("style", Html(style)),
        tag("noscript", tag("style", Html(".frame, .tools, .key, .show { display: none }"))),
    )
    return join(
        Html('<!DOCTYPE html>\n<html lang="en">\n'),
        tag("head", head),
        Html("\n<body>\n"),
        body,
        blocks,
        # page.js runs it when the first picture is drawn: a page with none opens at once.
        tag("script", Html(bokeh), type="text/plain", id="bokeh") if blocks else None,
        tag("script", Html(script)),
        Html("\n</body>\n</html>\n"),
    )


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
