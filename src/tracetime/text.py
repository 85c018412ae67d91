"""Texts for people: spans of time and counts in words; what no terminal, page or JSON acts on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from itertools import islice
from typing import Any, Final

from tracetime.errors import TraceError

_UNITS: Final = ((1e3, 1, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms"), (6e10, 1e9, "s"))
"""(limit, unit, name) in ns: spans below the limit are in that unit."""


def duration(ns: float, *, decimals: bool = False) -> str:
    """A span of time in words: 350 ns, 1.2 ms, 3 h 25 min.

    Args:
        ns: the span; below 0 it has a sign.
        decimals: three decimals below a minute, for columns of a table, instead of three
            significant digits.
    """
    size = abs(ns)
    sign = "-" if ns < 0 else ""
    for limit, unit, name in _UNITS:
        places = ".3g" if not decimals else ".0f" if unit == 1 else ".3f"
        number = format(size / unit, places)
        # A number that rounds up to 1000 is in the next unit: 1 ms, not 1e+03 us.
        if size < limit and float(number) < 1000:
            return f"{sign}{number} {name}"
    minutes, seconds = divmod(round(size / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days} d {hours} h"
    return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {seconds} s"


def half_width(ns: float) -> str:
    """A bar's half-width in words; NaN: one side of it is open."""
    return f"± {duration(ns)}" if ns == ns else "open to one side"


def short_names(names: Iterable[str], most: int) -> dict[str, str]:
    """Names of so many characters at most, cut in the middle; no two of them look alike."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(_cut(name, most, most // 2), []).append(name)
    short: dict[str, str] = {}
    for text, alike in groups.items():
        short |= {alike[0]: text} if len(alike) == 1 else _apart(alike, most)
    return short


def _cut(name: str, most: int, head: int) -> str:
    """A name without its middle: `head` characters before it, the rest after."""
    if len(name) <= most:
        return name
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def _apart(alike: list[str], most: int) -> dict[str, str]:
    """Names that differ in their middles, cut elsewhere; numbered where no cut tells them apart."""
    for head in range(most - 1, -1, -1):
        cut = [_cut(name, most, head) for name in alike]
        if len(set(cut)) == len(cut):
            return dict(zip(alike, cut, strict=True))
    room = most - len(str(len(alike))) - 1
    return {name: f"{_cut(name, room, room // 2)} {number}" for number, name in enumerate(alike, 1)}


def signed_duration(ns: float) -> str:
    """A change of time in words, with its sign: +3.2 s, −5 us."""
    return ("+" if ns > 0 else "") + duration(ns).replace("-", "−")


def count(n: int, what: str) -> str:
    """1 event, 1,234 events."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], attributes: str = "") -> str:
    """An HTML table; every cell is escaped. A column named `>...` is aligned right."""
    right = [column.startswith(">") for column in columns]

    def line(tag: str, cells: Sequence[object]) -> str:
        styles = (' style="text-align:right"' if r else ' style="text-align:left"' for r in right)
        return "".join(
            f"<{tag}{style}>{html_text(str(cell))}</{tag}>"
            for style, cell in zip(styles, cells, strict=True)
        )

    head = line("th", [column.removeprefix(">") for column in columns])
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table{attributes}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@contextmanager
def of_file(path: str) -> Iterator[None]:
    """A context in which errors name the trace that they are about."""
    try:
        yield
    except TraceError as error:
        raise error.of(printable(path)) from None


def printable(
    value: str,
    most: int | None = None,
    *,
    lines: bool = False,
    instead: Callable[[str], str] | None = None,
) -> str:
    """Return a text on one line, safe for a terminal: other characters become escapes.

    Every text of a file passes here on its way to people, since control characters can move the
    cursor, and those that turn or hide text make a name look like another one. What is replaced is
    what `str.isprintable` denies: controls (C0, DEL, C1), formats (bidi overrides and isolates,
    zero-width characters, U+FEFF), separators of lines and paragraphs, spaces that are not U+0020,
    lone surrogates, and code points that are private or not assigned.

    Args:
        value: the text.
        most: how many characters to keep; an ellipsis replaces the rest. None keeps all.
        lines: whether line ends and tabs stay.
        instead: gives what stands for a character; an escape of Python without it.
    """
    kept = "\n\t" if lines else ""
    whole = most is None or len(value) <= most
    if whole and all(line.isprintable() for line in (value.split("\n") if lines else (value,))):
        return value
    put = instead or _escaped
    text = "".join(c if c.isprintable() or c in kept else put(c) for c in islice(value, most))
    return text if whole else text + "…"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def visible(value: str, *, lines: bool = False) -> str:
    """Return a text as a page shows it: as `printable`, with Unicode's pictures of controls."""
    return printable(value, lines=lines, instead=_picture)


def _picture(character: str) -> str:
    """The picture of a C0 control, such as ␛; the others have none, and get their escapes."""
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else _escaped(character)


def html_text(value: str) -> str:
    """Return a text as HTML, also for an attribute in quotes."""
    # Here, since html loads a table of 2,231 entities, which the command line does not need.
    from html import escape

    return escape(visible(value))


def json_text(facts: Any, *, indent: int | None = None) -> str:
    """Return JSON in which whatever is not printable ASCII is an escape, DEL too."""
    import json

    # Not json.dumps, which keeps each token as a string until the end.
    text = StringIO()
    text.writelines(json.JSONEncoder(indent=indent).iterencode(facts))
    return text.getvalue().replace("\x7f", "\\u007f")


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """Return ``: did you mean ...?`` with what is most like `text`; empty if nothing is."""
    from difflib import get_close_matches

    by_folded = {one.casefold(): one for one in known}
    near = [by_folded[one] for one in get_close_matches(text.casefold(), by_folded, n=2)]
    return f": did you mean {' or '.join(near)}?" if near else ""
