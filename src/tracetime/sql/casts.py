"""Which values of DuckDB are returned as text, in its own format.

Arrow has no type for UHUGEINT, TIMETZ, BIGNUM, BIT, and INTERVAL in files, Python none for dates
before year 1, infinite dates, and times with ns. Everything else keeps its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import duckdb

_EXACT: Final = frozenset(
    (
        "boolean",
        "tinyint",
        "smallint",
        "integer",
        "bigint",
        "hugeint",
        "utinyint",
        "usmallint",
        "uinteger",
        "ubigint",
        "float",
        "double",
        "decimal",
        "varchar",
        "blob",
        "enum",
        "uuid",
        "null",
    )
)
"""Types, by DuckDB's name, that are the same in Arrow, in Python and in a file."""

_TIMES: Final = frozenset(
    (
        "date",
        "time",
        "time_ns",
        "timestamp",
        "timestamp_ms",
        "timestamp_ns",
        "timestamp with time zone",
        "timestamptz_ns",
    )
)
"""Types that are the same in Arrow and in a file."""

_TEXT: Final = "VARCHAR"


def cast(relation: duckdb.DuckDBPyRelation, *, times_as_text: bool) -> duckdb.DuckDBPyRelation:
    """Return the relation with columns cast to text whose type would change or lose values.

    Args:
        times_as_text: cast dates and times, too, for output without a type for all of them.
    """
    kept = _EXACT if times_as_text else _EXACT | _TIMES
    targets = [_target(kind, kept) for kind in relation.types]
    if all(target is None for target in targets):
        return relation
    return relation.project(
        ", ".join(
            f"#{i}" + ("" if target is None else f"::{target}") + f" AS {_quoted(name)}"
            for i, (name, target) in enumerate(zip(relation.columns, targets, strict=True), 1)
        )
    )


def _target(kind: Any, kept: frozenset[str]) -> str | None:
    """Return the type to cast a DuckDBPyType to; None if it can stay."""
    if kind.id in kept:
        return None
    if kind.id == "timestamp_s":
        # Parquet has no type with seconds.
        return "TIMESTAMP" if "timestamp" in kept else _TEXT
    if kind.id in ("list", "array"):
        # An array becomes a list: Arrow cannot write nulls among arrays to a file.
        (_, child), *_ = kind.children
        target = _target(child, kept)
        if target is None and kind.id == "list":
            return None
        return f"{target or child}[]"
    if kind.id == "struct" and kind.children:
        fields = [(name, child, _target(child, kept)) for name, child in kind.children]
        if all(target is None for *_, target in fields):
            return None
        columns = (f"{_quoted(name)} {target or child}" for name, child, target in fields)
        return f"STRUCT({', '.join(columns)})"
    if kind.id == "map":
        (_, key), (_, value) = kind.children
        targets = _target(key, kept), _target(value, kept)
        if targets == (None, None):
            return None
        return f"MAP({targets[0] or key}, {targets[1] or value})"
    return _TEXT


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
