"""The summary of a data set as one HTML file, with tables that sort and ranges as pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tracetime._version import __version__
from tracetime.atomic_file import file_target, whole_file
from tracetime.fleet.figures import DataSetSummary, FindingFigures, PairFigures, Spread
from tracetime.fleet.summary_text import (
    common_folder,
    measure_name,
    pair_name,
    spread,
    value_text,
    verdict,
    what_is_worse,
    worst_bar,
)
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
from tracetime.reporting.page import document
from tracetime.text import count, duration, printable

_MOST_ROWS: Final = 500
"""Of each table: nobody reads more, and a browser takes its time for thousands."""

_MOST_OPEN: Final = 3
"""Models whose pairs are not folded."""

_WIDE, _HIGH = 180, 14
_LEAST_PPM: Final = 0.1
_LEAST_NS: Final = 100.0
_IN_FULL: Final = "`tracetime fleet summary --json` has all"


def write_page(summary: DataSetSummary, path: str | os.PathLike[str]) -> int:
    """Write the page of a summary; return its size, bytes.

    Raises:
        UsageError: the file cannot be written.
    """
    content = page(summary).encode("utf-8", "backslashreplace")
    with whole_file(file_target(path)) as part:
        part.write_bytes(content)
    return len(content)


def page(summary: DataSetSummary) -> str:
    """Return the page of a summary."""
    name = printable(Path(summary.dataset.rstrip("/")).name or summary.dataset)
    folder = common_folder(summary)
    sections = [
        _worse(summary, folder),
        _outliers(summary, folder),
        _findings(summary, folder),
        _models(summary),
        _pairs(summary, folder),
    ]
    body = join(
        tag("a", "Skip to the findings", href="#findings", class_="skip"),
        _header(summary, name, folder),
        tag("main", sections),
        tag(
            "footer",
            tag("p", f"Made by tracetime {__version__}. This file is complete: it loads nothing."),
        ),
    )
    return document(f"Clocks of {name}", body, [])


def _header(summary: DataSetSummary, name: str, folder: str) -> Html:
    sentence = verdict(summary)
    kind = "bad" if summary.errors else "fair" if summary.warnings else "good"
    facts = [
        ("traces", f"{summary.traces:,}"),
        ("models of machines", f"{len(summary.models):,}"),
        ("with errors", f"{summary.errors:,}"),
        ("with warnings", f"{summary.warnings:,}"),
        ("rejected", f"{summary.rejected:,}"),
        *([("traces are below", printable(folder))] if folder else []),
    ]
    return tag(
        "header",
        tag("p", "tracetime fleet summary", class_="kicker"),
        tag("h1", name),
        tag("p", f"{sentence[0].upper()}{printable(sentence[1:])}.", class_=f"verdict {kind}"),
        tag("dl", (tag("div", tag("dt", a), tag("dd", b)) for a, b in facts), class_="facts"),
    )


def _section(title: str, caption: str, columns: list[str], rows: list[list[object]]) -> Html:
    place = title.partition(" ")[0].lower()
    return tag(
        "section",
        tag("h2", title),
        table(caption, columns, rows[:_MOST_ROWS]),
        more_of(len(rows) - _MOST_ROWS, "line", _IN_FULL),
        id=place,
    )


def _worse(summary: DataSetSummary, folder: str) -> Html | None:
    found = summary.comparison
    if found is None:
        return None
    title = f"Worse than in {printable(found.against)}"
    rows: list[list[object]] = [
        [
            printable(one.model),
            printable(what_is_worse(one)),
            Cell(_value_cell(one.measure, one.before), one.before),
            Cell(_value_cell(one.measure, one.after), one.after),
            _trace(one.trace, folder),
        ]
        for one in found.worse
    ]
    caption = "of the models that the other data set has"
    only = ", ".join(map(printable, found.only_here))
    return join(
        _section(title, caption, ["model", "what", ">there", ">here", "trace"], rows)
        if rows
        else empty(title, f"Nothing, of {count(found.models, 'model')} that both have."),
        tag("p", f"Not compared, since only this data set has them: {only}.", class_="hint")
        if only
        else None,
    )


def _value_cell(measure: str, value: float) -> str:
    return value_text(measure, value) if value or measure != "finding" else "-"


def _findings(summary: DataSetSummary, folder: str) -> Html:
    if not summary.findings:
        return empty("Findings", "There are none.", id="findings")
    traces = {one.model: one.traces for one in summary.models}
    ranks = {"error": 0.0, "warning": 1.0, "info": 2.0}

    def row(one: FindingFigures) -> list[object]:
        badge = tag("span", one.severity, class_=f"badge {one.severity}")
        of = traces[one.model]
        return [
            Cell(badge, ranks[one.severity]),
            tag("code", one.code),
            printable(one.model),
            Cell(f"{one.traces:,} of {of:,}", one.traces / of),
            number_cell(one.findings),
            Cell("-", -1.0)
            if one.worst_ns is None
            else Cell(duration(one.worst_ns), float(one.worst_ns)),
            _trace(one.trace, folder),
        ]

    in_order = sorted(summary.findings, key=lambda one: (ranks[one.severity], -one.traces))
    return _section(
        "Findings",
        "of the doctor, those that follow from others included",
        [
            "severity",
            "finding",
            "model",
            ">traces",
            ">findings",
            ">worst",
            "for example, the worst",
        ],
        [row(one) for one in in_order],
    )


def _pairs(summary: DataSetSummary, folder: str) -> Html:
    pairs = summary.pairs
    if not pairs:
        return empty("Pairs of clocks", "No trace has a snapshot of two clocks.", id="pairs")
    drifts = _LogScale([one.drift_ppm for one in pairs], _LEAST_PPM, signed=True)
    bars = _LogScale([one.worst_bar_ns for one in pairs], _LEAST_NS, signed=False)

    def row(one: PairFigures) -> list[object]:
        bar = one.worst_bar_ns
        return [
            printable(pair_name(one.clock, one.reference)),
            number_cell(one.traces),
            Cell(
                join(spread("drift_ppm", one.drift_ppm), drifts.picture(one.drift_ppm)),
                -math.inf if one.drift_ppm is None else one.drift_ppm.median,
            ),
            Cell(spread("wander_ppm", one.wander_ppm), one.wander_ppm.most),
            Cell(
                join(worst_bar(one), bars.picture(bar)),
                math.inf if one.open_bars else -1.0 if bar is None else bar.most,
            ),
            Cell(f"{one.jumps:,} in {one.jumping:,}" if one.jumps else "-", float(one.jumping)),
            _trace(one.worst_trace, folder),
        ]

    columns = ["pair", ">traces", "drift", "wander", "worst bar", ">jumps", "widest bar in"]
    by_model = {one.model: list[list[object]]() for one in summary.models}
    for one in pairs[:_MOST_ROWS]:
        by_model[one.model].append(row(one))
    listed = [(model, rows) for model, rows in by_model.items() if rows]
    parts = [
        foldable(
            printable(model),
            count(len(rows), "pair"),
            table(f"pairs of {printable(model)}", columns, rows),
            is_open=place < _MOST_OPEN,
        )
        for place, (model, rows) in enumerate(listed)
    ]
    hint = (
        "Median (5 % to 95 %) over the traces of a model. In the pictures the line goes from the "
        "least to the greatest, the box from 5 % to 95 %. Grey lines: drift of "
        f"{drifts.said(_as_ppm)}; bars of {bars.said(duration)}."
    )
    more = more_of(len(pairs) - _MOST_ROWS, "pair", _IN_FULL)
    heading = tag("h2", "Pairs of clocks"), tag("p", hint, class_="hint")
    return tag("section", heading, parts, more, id="pairs")


def _as_ppm(value: float) -> str:
    return f"{value:,g} ppm"


class _LogScale:
    """A logarithmic scale for the ranges of all pairs; one that is signed goes to both sides of 0.

    Args:
        spreads: of all pairs.
        least: what is below this is at its place.
        signed: whether there are values below 0.
    """

    def __init__(self, spreads: list[Spread | None], least: float, *, signed: bool) -> None:
        ends = [abs(end) for one in spreads if one is not None for end in (one.least, one.most)]
        self._least = least
        self._signed = signed
        self._decades = max(1, math.ceil(math.log10(max([least, *ends]) / least) - 1e-9))

    def _x(self, value: float) -> float:
        """The place of a value, px."""
        share = math.log10(max(abs(value), self._least) / self._least) / self._decades
        if not self._signed:
            return 2 + share * (_WIDE - 4)
        return _WIDE / 2 + math.copysign(share, value) * (_WIDE / 2 - 2)

    def picture(self, found: Spread | None) -> Html | None:
        """The range of a pair: a line, on it a box, and the median in it."""
        if found is None:
            return None
        least, low, middle, high, most = (self._x(value) for value in found)
        lines = [_line(self._x(value), 0, _HIGH, "grid") for value in self._grid()]
        half = _HIGH / 2
        whole = _shape("line", "range", x1=least, y1=half, x2=most, y2=half)
        box = _shape("rect", "most", x=low, y=half - 3, width=max(high - low, 1), height=6)
        middle_line = _line(middle, 1, _HIGH - 1, "middle")
        return tag(
            "svg",
            [*lines, whole, box, middle_line],
            class_="ranges",
            width=_WIDE,
            height=_HIGH,
            aria_hidden="true",
        )

    def _grid(self) -> list[float]:
        values = [self._least * 10**k for k in range(1, self._decades)]
        return [*(-value for value in values), 0.0, *values] if self._signed else values

    def said(self, in_words: Callable[[float], str]) -> str:
        """The meaning of the grey lines."""
        values = [in_words(value) for value in self._grid() if value > 0]
        if self._signed:
            return ", ".join(["0", *(f"± {value}" for value in values)])
        return ", ".join(values) or in_words(self._least)


def _line(x: float, top: float, bottom: float, kind: str) -> Html:
    return _shape("line", kind, x1=x, y1=top, x2=x, y2=bottom)


def _shape(name: str, kind: str, **places: float) -> Html:
    rounded: dict[str, object] = {key: f"{value:.4g}" for key, value in places.items()}
    return tag(name, class_=kind, **rounded)


def _outliers(summary: DataSetSummary, folder: str) -> Html:
    if not summary.outliers:
        return empty("Outliers", "No trace is far from the others of its model.", id="outliers")
    rows: list[list[object]] = [
        [
            _trace(one.trace, folder),
            printable(one.model),
            printable(pair_name(one.clock, one.reference)),
            measure_name(one.measure),
            Cell(value_text(one.measure, one.value), one.value),
            Cell(value_text(one.measure, one.usual), one.usual),
        ]
        for one in summary.outliers
    ]
    return join(
        _section(
            "Outliers",
            "traces in which a pair is far from what it is in most traces of the model",
            ["trace", "model", "pair", "measure", ">here", ">median"],
            rows,
        ),
        more_of(summary.outliers_left_out, "outlier"),
    )


def _models(summary: DataSetSummary) -> Html:
    rows: list[list[object]] = [
        [printable(one.model), *map(number_cell, (one.traces, one.errors, one.warnings))]
        for one in summary.models
    ]
    columns = ["model", ">traces", ">with errors", ">with warnings"]
    return _section("Models of machines", "as the traces tell them", columns, rows)


def _trace(name: str | None, folder: str) -> Html | str:
    """The name of a trace, without the folder that all have."""
    if name is None:
        return "-"
    return tag("span", printable(name.removeprefix(folder)), title=printable(name))
