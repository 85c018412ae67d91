"""How results of SQL look on a terminal: as a table, or a row below the other where too wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.telling import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from tracetime.sql.session import Result

NULL: Final = "NULL"


def print_result(result: Result, limit: int, width: int | None) -> None:
    """Print the first rows of a result.

    Args:
        limit: how many rows.
        width: of the screen; a table that is wider is printed row below row. None for no limit.
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
    names = [printable(name) for name in result.schema.names]
    right = [
        pa.types.is_integer(c.type) or pa.types.is_floating(c.type) or pa.types.is_decimal(c.type)
        for c in result.schema
    ]
    lines = _table(names, right, rows)
    if width is not None and max(map(_width, lines)) > width:
        lines = _records(names, rows)
    click.echo("\n".join(lines))
    if more:
        click.echo(f"({limit:,} rows are shown, and there are more: --rows, or -o FILE for all)")
    elif len(rows) != 1:
        click.echo(f"({len(rows):,} rows)")


def _cells(batch: pa.RecordBatch) -> list[list[str]]:
    from tracetime.sql.results import text

    columns = [
        [NULL if value is None else printable(text(value)) for value in column.to_pylist()]
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
    """Each row as lines of name and value."""
    widest = max(map(_width, names))
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-- row {number}")
        for name, cell in zip(names, row, strict=True):
            lines.append(f"{name}{' ' * (widest - _width(name))}  {cell}")
    return lines or [", ".join(names)]
