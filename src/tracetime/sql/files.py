"""The files that statements may read and write: none, or all but those that are inputs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from tracetime.atomic_file import file_target, refuse_input, whole_file
from tracetime.errors import UsageError
from tracetime.tables.duckdb_files import (
    OpenedFiles,
    copy_target,
    first_path,
    local_path,
    uses_files,
)

_KEPT_SETTINGS: Final = (
    "SELECT name FROM duckdb_settings() WHERE NOT regexp_matches(name, "
    "'log|profil|lock_config|allowed|external_access|_directory$')"
)
"""The settings that a statement may change: the others make DuckDB write files of its own."""

_ATTACH, _COPY = duckdb.StatementType.ATTACH, duckdb.StatementType.COPY
_EXPORT, _LOAD = duckdb.StatementType.EXPORT, duckdb.StatementType.LOAD


class Files:
    """The files of one database.

    Args:
        con: a connection to it, with all its settings.
        allowed: whether statements may use files, and change settings.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, *, allowed: bool) -> None:
        self._con = con
        self._opened: OpenedFiles | None = None
        if allowed:
            self._opened = OpenedFiles(con)
            kept = [name for (name,) in con.execute(_KEPT_SETTINGS).fetchall()]
            con.execute("SET allowed_configs = ?", [kept])
        else:
            con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Note what was opened: to be called before the database is closed."""
        if self._opened is not None:
            self._opened.close()

    @contextlib.contextmanager
    def through(self, statement: str) -> Iterator[str]:
        """Return the statement to run: one that writes a file makes another, which takes its name.

        Raises:
            duckdb.Error: files are not allowed.
            UsageError: it would write over what is read, or may: what it writes is computed.
        """
        kind = self._con.extract_statements(statement)[0].type
        reads, copies = uses_files(self._con, statement)
        if self._opened is None:
            # DuckDB itself allows its own temporary directory.
            if reads or copies or kind in (_ATTACH, _COPY, _EXPORT, _LOAD):
                raise duckdb.PermissionException("Permission Error: files are disabled")
            yield statement
            return
        self._opened.forget()
        if kind == _COPY:
            with self._copy(self._opened, statement) as changed:
                yield changed
            return
        if copies:
            raise UsageError("COPY ... TO must be a statement of its own: give it alone")
        if kind in (_ATTACH, _EXPORT):
            self._check_place(kind, statement)
        yield statement

    @contextlib.contextmanager
    def _copy(self, opened: OpenedFiles, statement: str) -> Iterator[str]:
        found = copy_target(self._con, statement)
        path = None if found is None else Path(local_path(found.path))
        if found is None or path is None or _is_elsewhere(path):
            yield statement
            return
        text = statement.encode()
        try:
            with whole_file(file_target(path), empty=False) as made:
                opened.writing = str(made)
                quoted = "'{}'".format(str(made).replace("'", "''")).encode()
                try:
                    yield (text[: found.begin] + quoted + text[found.end :]).decode()
                except duckdb.Error as error:
                    raise type(error)(str(error).replace(str(made), str(path))) from None
        finally:
            opened.writing = None

    def _check_place(self, kind: duckdb.StatementType, statement: str) -> None:
        """Refuse a database, or an export, that would be written over what is read."""
        path = Path(local_path(first_path(self._con, statement).path))
        if kind == _ATTACH and path.is_file() and path.stat().st_size:
            # DuckDB reads it as a database, or not at all.
            return
        refuse_input(path)
        if kind == _EXPORT and path.is_dir() and any(path.iterdir()):
            raise UsageError(f"cannot write {str(path)!r}: the directory is not empty")


def _is_elsewhere(path: Path) -> bool:
    """Whether a write there replaces no file: in a pipe, a device, or another machine."""
    if path.exists():
        return not (path.is_file() or path.is_dir())
    return ":/" in str(path) and not path.parent.exists()
