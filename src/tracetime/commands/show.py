"""Text, tables and JSON on a terminal."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tracetime.clocks.json_facts import facts_of
from tracetime.commands.terminal import echo, page
from tracetime.graph import clock_names
from tracetime.text import count, duration, half_width, json_text, printable

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, OverflowMethod
    from rich.table import Table

    from tracetime.analysis.event_bars import ClockBars, EventBars
    from tracetime.clocks.ids import ClockId
    from tracetime.errors import TraceError
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.info import ClockInfo
    from tracetime.sql.session import Result
    from tracetime.trace.facts import TraceWarning

# Results of SQL on a terminal: a table in which texts are cut, and columns in the middle left out.
#
# Not by `table_of`, which folds cells to the width of the terminal: here a row is one line, and
# what is not printed on a terminal is as wide as its values.

NULL: Final = "NULL"

_WIDEST: Final = 200
"""Characters of a cell that are printed; files have them all."""


def print_result(result: Result, limit: int, width: int | None) -> None:
    """Print the first rows of a result.

    Args:
        limit: how many rows.
        width: of the terminal; a wider table is fitted to it. None for no limit.
    """
    import pyarrow as pa

    if not result.schema.names:
        return
    rows: list[list[str]] = []
    more = False
    for batch in result.batches:
        room = limit - len(rows)
        rows += _cells(batch.slice(0, room))
        if batch.num_rows > room:
            more = True
            break
    if hasattr(result.batches, "close"):
        result.batches.close()
    names = [printable(name, _WIDEST) for name in result.schema.names]
    right = [
        pa.types.is_integer(c.type) or pa.types.is_floating(c.type) or pa.types.is_decimal(c.type)
        for c in result.schema
    ]
    every = len(names)
    if width is not None:
        names, right, rows = _fitted(names, right, rows, width)
    lines = _table(names, right, rows)
    if _CUT in names:
        lines.append(f"({len(names) - 1} of {every} columns are printed; name those that you want)")
    if more:
        more_rows = "rows are printed, and there are more: give --rows, or -o FILE for all"
        lines.append(f"({limit:,} {more_rows})")
    elif len(rows) != 1:
        lines.append(f"({len(rows):,} rows)")
    page("\n".join(lines))


def _cells(batch: pa.RecordBatch) -> list[list[str]]:
    from tracetime.sql.results import text

    columns = [
        [NULL if value is None else printable(text(value), _WIDEST) for value in column.to_pylist()]
        for column in batch.columns
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _width(cell: str) -> int:
    from rich.cells import cell_len

    return cell_len(cell)


def _table(names: Sequence[str], right: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    columns: list[Any] = list(zip(names, *rows, strict=True)) if rows else [(n,) for n in names]
    widths = [max(map(_width, column)) for column in columns]
    return [
        _row(names, widths, right),
        "  ".join("-" * width for width in widths),
        *(_row(row, widths, right) for row in rows),
    ]


def _row(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, is_right in zip(cells, widths, right, strict=True):
        space = " " * (width - _width(cell))
        padded.append(space + cell if is_right else cell + space)
    return "  ".join(padded).rstrip()


_CUT: Final = "\u2026"
_NARROWEST_TEXT: Final = 12
"""Characters of a text that is cut so that a table fits."""

_Table = tuple[list[str], list[bool], list[list[str]]]


def _fitted(names: list[str], right: list[bool], rows: list[list[str]], width: int) -> _Table:
    """The table with its texts cut, and with columns left out, so that it fits.

    Those without a value are left out first, then those in the middle, and names last. Numbers stay
    whole: a part of one is another one.
    """
    widths = [max(map(_width, column)) for column in zip(names, *rows, strict=True)]
    least = [w if r else min(w, _NARROWEST_TEXT) for w, r in zip(widths, right, strict=True)]
    kept = list(range(len(names)))
    while len(kept) > 1 and _sum(least, kept, len(names)) > width:
        empty = [k for k in kept if rows and all(row[k] == NULL for row in rows)]
        least_telling = empty or [k for k in kept if names[k] != "name"] or kept
        kept.remove(least_telling[len(least_telling) // 2])
    room = width - _sum(
        [0 if not r else w for w, r in zip(widths, right, strict=True)], kept, len(names)
    )
    most = _share(sorted(widths[k] for k in kept if not right[k]), room)

    def fit(cells: Sequence[str]) -> list[str]:
        shown = [cells[k] if right[k] else _shortened(cells[k], most) for k in kept]
        return shown if len(kept) == len(names) else [*shown[:gap], _CUT, *shown[gap:]]

    gap = next((n for n, k in enumerate(kept) if n != k), len(kept))
    sides = [right[k] for k in kept]
    if len(kept) < len(names):
        sides.insert(gap, False)
    return fit(names), sides, [fit(row) for row in rows]


def _sum(widths: Sequence[int], kept: Sequence[int], every: int) -> int:
    """The width of a table of some columns, with one that stands for those left out."""
    columns = [widths[k] for k in kept] + ([1] if len(kept) < every else [])
    return sum(columns) + 2 * (len(columns) - 1)


def _share(widths: Sequence[int], room: int) -> int:
    """The width to which texts are cut that have some room together; widths: ascending."""
    for n, width in enumerate(widths):
        left = len(widths) - n
        if width * left > room:
            return max(room // left, 1)
        room -= width
    return max(widths, default=1)


def _shortened(cell: str, most: int) -> str:
    if _width(cell) <= most:
        return cell
    while cell and _width(cell) >= most:
        cell = cell[:-1]
    return cell + _CUT


MOST_WARNINGS: Final = 5
"""Messages of warnings that are printed: the summary stays on one screen."""

MOST_ROWS: Final = 500
"""Rows of a table that are printed: each takes part of a millisecond, and nobody reads more."""


def print_json(facts: Any, indent: int | None = 2) -> None:
    """Print `facts` as JSON on stdout; without `indent` on one line."""
    echo(json_text(facts_of(facts), indent=indent))


def in_no_slice(unresolved: int, how: str, policy: PolicyName) -> str:
    """The text on events without a trace time where slices are shown.

    how: what says why they have none.
    """
    by, more = "", ""
    if policy == "tube":
        by, more = " by floor or the tube", ", by each; bake writes what the tube places"
    return (
        f"{count(unresolved, 'event')} without a trace time{by}, in no slice: {how} says why{more}"
    )


NARROWEST: Final = 72
"""Width that tables need; on a narrower terminal their lines wrap, and nothing is cut."""

_PIPED: Final = 1 << 16
"""Width of tables that no terminal shows."""

_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=(?:ns|us|ms|s|ppm|ticks)\b)")


def console() -> Console:
    """Return the console on stdout; it prints plain text if that is not a terminal."""
    from rich.console import Console

    return _console(None if Console().width >= NARROWEST else NARROWEST)


def _console(width: int | None) -> Console:
    from rich.console import Console

    return Console(highlight=False, width=width)


def print_text(screen: Console, text: str, indent: str = "", hanging: str = "") -> None:
    """Print `text` wrapped to the screen's width, its further lines indented by `hanging`."""
    echo(wrap(screen, text, indent, hanging))


def wrap(screen: Console, text: str, indent: str = "", hanging: str = "") -> str:
    """Return the text that `print_text` prints. A number stays on the line of its unit."""
    wrap = textwrap.TextWrapper(
        screen.width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
    joined = _BEFORE_UNIT.sub("\u00a0", printable(text, lines=True))
    return wrap.fill(joined).replace("\u00a0", " ")


def print_table(
    screen: Console,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Any],
    cells: Callable[[Any], Sequence[str]] = tuple,
    most: int | None = None,
) -> None:
    """Print a table (as `table_of`), below an empty line if it has a title.

    After `most` rows (MOST_ROWS) it says how many more there are, which are in --json. `cells`
    makes the cells of a row that is printed.
    """
    from rich.text import Text

    waiting = iter(rows)
    table = table_of("", columns, map(cells, islice(waiting, MOST_ROWS if most is None else most)))
    if not screen.is_terminal:
        # What reads a pipe looks for whole names: there, no line is too long.
        screen = _console(_PIPED)
    # Through a string, because rich fills every line up with spaces.
    with screen.capture() as capture:
        # The title of a table of rich is no wider than the table.
        if title:
            screen.print(Text(printable(title), style="bold"))
        screen.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    echo("\n".join(["", *lines] if title else lines), styled=True)
    more = sum(1 for _ in waiting)
    if more:
        echo(f"and {count(more, 'more line')} (--json has all)")


def table_of(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    overflow: OverflowMethod = "fold",
) -> Table:
    """Return a table for rich; a column whose name starts with `>` is aligned right.

    Args:
        overflow: what happens to cells that are too wide: with `fold` left-aligned columns wrap,
            else each row is one line.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(printable(title)) if title else None,
        box=None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for column in columns:
        right = column.startswith(">")
        table.add_column(
            column.removeprefix(">"),
            justify="right" if right else "left",
            header_style="dim",
            no_wrap=right or overflow != "fold",
            overflow=overflow,
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def print_widest(
    screen: Console, where: str, bars: EventBars, lines: Iterable[tuple[str, list[ClockInfo]]]
) -> None:
    """Print the widest bar of each line's clocks on the trace clock, and where it is.

    where: the name of the trace clock, and which part of the time the bars are of.
    """
    from tracetime.analysis.event_bars import MOST_MEASURED

    rows = []
    for name, infos in lines:
        found = bars.of(info.clock for info in infos)
        if found is not None and found.at_most_ns != 0:
            widest, *_ = bar_cells(found, all(bars.has(info.clock) for info in infos))
            rows.append((name, widest, f"{found.at_ns // infos[0].unit_ns}"))
    if rows:
        columns = ("clock", ">at most", ">where it reads")
        print_table(screen, f"Error bars on {where}", columns, rows)
    left_out = bars.beyond_tubes + bars.beyond_most
    if left_out:
        why = ["--max-tubes allows more"] if bars.beyond_tubes else []
        why += [f"at most {MOST_MEASURED} are measured"] if bars.beyond_most else []
        text = f"{count(left_out, 'more clock')} without a bar: {'; '.join(why)}"
        print_text(screen, text, hanging="  ")


def bar_cells(bars: ClockBars | None, is_whole: bool) -> tuple[str, str, str]:
    """Return the cells of the error bars of a line's clocks: at most, median, drawn late by.

    is_whole: whether those of all its clocks are known; else one may be wider.
    """
    if bars is None:
        return "-", "-", ""
    widest = _half_width(bars.at_most_ns)
    return (
        widest if is_whole or bars.at_most_ns is None else f"≥ {duration(bars.at_most_ns)}",
        "-" if bars.median_ns is None else _half_width(bars.median_ns),
        "" if bars.late_ns is None else shift_cell(*bars.late_ns),
    )


def _half_width(ns: int | None) -> str:
    return half_width(math.nan if ns is None else ns)


def shift_cell(least: int, greatest: int) -> str:
    """Return by how much later events are drawn than the estimate; empty where they never are."""
    if not (least or greatest):
        return ""
    first, last = duration(least), duration(greatest)
    return first if first == last else f"{first} to {last}"


def size(n: int) -> str:
    """Return a number of bytes as text: ``3.6 MB``."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= scale:
            return f"{n / scale:.1f} {unit}"
    return f"{n} bytes"


def fold(
    clocks: Iterable[ClockId], every: bool = False, labels: Mapping[ClockId, str] | None = None
) -> dict[ClockId, str]:
    """Return the name of each clock for output: one number on many sequences shares one name.

    Args:
        clocks: the clocks; the result keeps their order.
        every: give each clock its own name.
        labels: names given to clocks, which are used where there are any.
    """
    given = labels or {}
    if every:
        return {clock: given.get(clock) or str(clock) for clock in clocks}
    return clock_names.fold(clocks, lambda clock: given.get(clock) or str(clock))


def print_warnings(
    screen: Console,
    warnings: Sequence[TraceWarning],
    total: int,
    truncated: TraceError | None,
    dropped: int,
) -> None:
    """Print how many events were dropped, where a trace was cut off, and each warning once."""
    if dropped:
        print_text(screen, f"warning: the recorder dropped {count(dropped, 'event')}", hanging="  ")
    if truncated is not None:
        print_text(screen, f"warning: reading stopped early: {truncated}", hanging="  ")
    by_message: dict[str, list[TraceWarning]] = {}
    for warning in warnings:
        by_message.setdefault(warning.message, []).append(warning)
    for message, found in list(by_message.items())[:MOST_WARNINGS]:
        place = f"byte {found[0].offset}, packet {found[0].packet}"
        often = f"; the first of {len(found):,}" if len(found) > 1 else ""
        print_text(screen, f"warning: {message} ({place}{often})", hanging="  ")
    if len(by_message) > MOST_WARNINGS:
        echo(f"warning: {len(by_message) - MOST_WARNINGS:,} other kinds; see --json")
    if total > len(warnings):
        echo(f"warning: {total:,} warnings in all; only the first {len(warnings):,} are kept")
