"""HTML from its parts: text is escaped, HTML made here is not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracetime.text import count, html_text, json_text, visible

_VOID: Final = frozenset({"meta", "input", "br", "col"})


class Html(str):
    """Text that is HTML; made by `tag`, or written in this package."""


def join(*parts: Any) -> Html:
    """Join parts: Html as it is, all other text escaped, None left out."""
    out: list[str] = []
    for part in parts:
        if part is None:
            continue
        if isinstance(part, Html):
            out.append(part)
        elif isinstance(part, str):
            out.append(html_text(part))
        elif isinstance(part, Iterable):
            out.append(join(*part))
        else:
            out.append(html_text(str(part)))
    return Html("".join(out))


def tag(name: str, /, *parts: Any, **attributes: Any) -> Html:
    """Return an element. `class_` is class, `data_start` data-start; None and False omit one."""
    given = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        text = value if isinstance(value, Html) else html_text(str(value))
        given.append(f" {attribute}" if value is True else f' {attribute}="{text}"')
    opened = f"<{name}{''.join(given)}>"
    return Html(opened if name in _VOID else f"{opened}{join(*parts)}</{name}>")


def prose(text: str) -> Html:
    """Return a sentence in which `...` is code."""
    return join(
        tag("code", part) if number % 2 else part for number, part in enumerate(text.split("`"))
    )


def more_of(n: int, what: str, where: str | None = None) -> Html | None:
    """Return a note that the page omits n more, and where they are; None if n is 0."""
    if n <= 0:
        return None
    text = f"{count(n, f'more {what}')} {'is' if n == 1 else 'are'} not shown"
    return tag("p", prose(text + (f": {where}." if where else ".")), class_="hint")


def foldable(title: str, line: Any, *parts: Any, is_open: bool, **attributes: Any) -> Html:
    """Return a section that folds to its title and a line of text."""
    return tag(
        "details",
        tag("summary", tag("h2", title), " ", tag("span", line, class_="line")),
        *parts,
        class_="section",
        open=is_open,
        **attributes,
    )


def empty(title: str, line: str, **attributes: Any) -> Html:
    """Return a section of which there is only its line of text."""
    heading = tag("h2", title), " ", tag("span", line, class_="line")
    return tag("section", heading, class_="section empty", **attributes)


class Cell(NamedTuple):
    """A cell that sorts by `value`, a number or another text."""

    text: Any
    value: float | str


def number_cell(n: int) -> Cell:
    """Return a cell with a whole number, such as 1,234."""
    return Cell(f"{n:,}", float(n))


def table(
    caption: Any, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, sortable: bool = True
) -> Html:
    """Return a table in a box that scrolls. A column named `>...` holds numbers."""
    right = [column.startswith(">") for column in columns]
    body = []
    for row in rows:
        cells = []
        for cell, number in zip(row, right, strict=True):
            value = cell.value if isinstance(cell, Cell) else None
            text = cell.text if isinstance(cell, Cell) else cell
            kind = "n" if number else None
            cells.append(
                tag("td", text, class_=kind, data_v=None if value is None else _sorted_by(value))
            )
        body.append(tag("tr", cells))
    heads = []
    for column in columns:
        name = column.removeprefix(">")
        heads.append(
            tag(
                "th",
                tag("button", name, type="button") if sortable and name and len(body) > 1 else name,
                scope="col",
                class_="n" if column.startswith(">") else None,
            )
        )
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", heads)),
            tag("tbody", body),
            class_="sortable" if sortable else None,
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=caption if isinstance(caption, str) and not isinstance(caption, Html) else None,
    )


def _sorted_by(value: float | str) -> str:
    """Return a value as page.js reads it: JavaScript writes infinity out."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)


def data(value: Any, **attributes: Any) -> Html:
    """Return a JSON data block; nothing in it can end the element, or begin another."""
    text = json_text(_visible(value))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return tag("script", Html(text), type="application/json", **attributes)


def _visible(value: Any) -> Any:
    """Return a value of JSON with its texts as a page shows them."""
    if isinstance(value, str):
        return visible(value, lines=True)
    if isinstance(value, dict):
        return {key: _visible(one) for key, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, (list, tuple)) else value
