"""Results of SQL on a terminal: a table, or one value a line where that is too wide.

Not by `show.table_of`, which folds cells to the width of the terminal: here a row is one line, and
what is not printed on a terminal is as wide as its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tracetime.commands.terminal import echo
from tracetime.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from tracetime.sql.session import Result

NULL: Final = "NULL"

_WIDEST: Final = 200
"""Characters of a cell that are printed; files have them all."""


def print_result(result: Result, limit: int, width: int | None) -> None:
    """Print the first rows of a result.

    Args:
        limit: how many rows.
        width: of the terminal; of a wider table each value is printed on a line of its own. None
            for no limit.
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
    lines = _table(names, right, rows)
    if width is not None and max(map(_width, lines)) > width:
        lines = _records(names, rows)
    echo("\n".join(lines))
    if more:
        echo(f"({limit:,} rows are printed, and there are more: give --rows, or -o FILE for all)")
    elif len(rows) != 1:
        echo(f"({len(rows):,} rows)")


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


def _records(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as lines of name and value."""
    widest = max(map(_width, names))
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-- row {number}")
        for name, cell in zip(names, row, strict=True):
            lines.append(f"{name}{' ' * (widest - _width(name))}  {cell}")
    return lines or [", ".join(names)]
