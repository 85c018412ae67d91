"""The files of DuckDB: those that it has opened, and those that a statement would use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb

from tracetime.atomic_file import note_opened, protect_opened
from tracetime.errors import UsageError

_OPENED: Final = (
    "SELECT DISTINCT path FROM duckdb_logs_parsed('FileSystem') "
    "WHERE op = 'OPEN' AND NOT (scope = 'DATABASE' AND contains(path, 'duckdb_temp_'))"
)

_LOCAL: Final = re.compile(r"file:(//(localhost)?)?(?=/)", re.IGNORECASE)

_HARMLESS: Final = re.compile(
    r"json_each|json_tree|unnest|repeat|query|query_table|(pragma|duckdb)_\w+", re.IGNORECASE
)
"""Table functions that take text, and open no file by it."""


def local_path(name: str) -> str:
    """Return the path that DuckDB means by a name of a file of this machine."""
    path = _LOCAL.sub("", name, count=1)
    return str(Path(path).expanduser()) if path.startswith("~") else path


class OpenedFiles:
    """The files that a database opens; they are inputs until it is closed.

    Args:
        con: a connection to the database. Its log of files is turned on.

    Attributes:
        writing: a path that is not read: what begins so is the output of a statement that runs.
        closed: whether it was closed.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self.writing: str | None = None
        self.closed = False
        con.execute("CALL enable_logging('FileSystem')")
        protect_opened(self, self._opened_paths)

    def forget(self) -> None:
        """Note what was opened so far, and empty the log of it. No statement may run."""
        note_opened()
        self._con.cursor().execute("CALL truncate_duckdb_logs()")

    def close(self) -> None:
        """Note what was opened: to be called before the database is closed."""
        note_opened()
        self.closed = True

    def _opened_paths(self) -> Iterator[str]:
        # Another cursor: on this one a result may be being read.
        for (name,) in self._con.cursor().execute(_OPENED).fetchall():
            if self.writing is None or not name.startswith(self.writing):
                yield local_path(name)


def uses_files(con: duckdb.DuckDBPyConnection, statement: str) -> tuple[bool, bool]:
    """Return whether a statement would read files, and whether it would write some by COPY.

    Of a statement that has no plan, such as SET, neither.
    """
    try:
        rows = con.execute(f"EXPLAIN (FORMAT JSON) {_inner_statement(con, statement)}").fetchall()
    except duckdb.Error:
        # The statement itself says why.
        return False, False
    nodes = [node for root in json.loads(rows[0][1]) for node in _nodes(root)]
    functions = {str(node["extra_info"].get("Function", "")) for node in nodes}
    return bool(functions & _readers(con)), any("COPY_TO" in node["name"] for node in nodes)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


def _readers(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The table functions that may open a file: those that take text."""
    found = con.execute(
        "SELECT DISTINCT upper(function_name) FROM duckdb_functions() WHERE function_type = 'table'"
        " AND list_has_any(parameter_types[:1], ['VARCHAR', 'ANY', 'VARIANT', 'ANY[]'])"
    ).fetchall()
    return {name for (name,) in found if not _HARMLESS.fullmatch(name)}


def _inner_statement(con: duckdb.DuckDBPyConnection, statement: str) -> str:
    """The statement inside an EXPLAIN; another statement as it is."""
    if con.extract_statements(statement)[0].type != duckdb.StatementType.EXPLAIN:
        return statement
    text = statement.encode()
    for at, _ in duckdb.tokenize(statement)[1:]:
        rest = text[at:].decode(errors="replace")
        try:
            if con.extract_statements(rest):
                return rest
        except duckdb.Error:
            continue
    return statement


class WrittenPath(NamedTuple):
    """A path in a statement: the bytes from `begin` to `end` say it."""

    begin: int
    end: int
    path: str


def copy_target(con: duckdb.DuckDBPyConnection, statement: str) -> WrittenPath | None:
    """Return the path in a COPY ... TO; None for COPY ... FROM, and for standard output.

    Raises:
        UsageError: the path is not written out.
    """
    words = _words(statement)
    depth = 0
    for number, (_, word, _) in enumerate(words):
        depth += (word == "(") - (word == ")")
        if not depth and word.lower() == "to":
            is_output = words[number + 1][1].lower() == "stdout"
            return None if is_output else _path_at(con, words, number + 1)
    return None


def first_path(con: duckdb.DuckDBPyConnection, statement: str) -> WrittenPath:
    """Return the path in an ATTACH or EXPORT DATABASE.

    Raises:
        UsageError: the path is not written out.
    """
    words = _words(statement)
    found = (n for n, (_, word, kind) in enumerate(words) if _is_path(word, kind) or word == "(")
    return _path_at(con, words, next(found, len(words)))


_Word = tuple[int, str, duckdb.token_type | None]


def _words(statement: str) -> list[_Word]:
    """The begin of each word, in bytes, and its kind; without comments."""
    text, found = statement.encode(), duckdb.tokenize(statement)
    ends = [at for at, _ in found[1:]] + [len(text)]
    return [
        (at, text[at:end].rstrip().decode(), kind)
        for (at, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]


def _is_path(word: str, kind: duckdb.token_type | None) -> bool:
    return kind == duckdb.token_type.string_const or word.startswith('"')


def _path_at(con: duckdb.DuckDBPyConnection, words: list[_Word], number: int) -> WrittenPath:
    at, word, kind = (*words, (0, "", None))[number]
    _, following, more = (*words, (0, "", None), (0, "", None))[number + 1]
    ends = not _is_path(following, more) and (
        more != duckdb.token_type.operator or following in ("(", ";")
    )
    if not (_is_path(word, kind) and ends):
        raise UsageError("what a statement writes must be named by its path, in quotes")
    if word.startswith('"'):
        path = word[1:-1].replace('""', '"')
    else:
        ((path,),) = con.execute(f"SELECT {word}").fetchall()
    return WrittenPath(at, at + len(word.encode()), str(path))
