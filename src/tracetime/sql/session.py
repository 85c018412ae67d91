"""One DuckDB database in memory, over some traces: statements in, batches of rows out.

Statements run in a thread of their own, so that a signal reaches the caller at once, and what runs
is interrupted. What a statement may touch is the tables and nothing else, unless files are allowed.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from tracetime.atomic_file import refuse_input
from tracetime.errors import TracetimeError, UsageError
from tracetime.events_table import NAMES_SCHEMA
from tracetime.pandas_metadata import exact_in_pandas
from tracetime.sql.casts import cast
from tracetime.sql.functions import FUNCTIONS, Convert
from tracetime.sql.streams import Faults
from tracetime.sql.tables import View, tables

if TYPE_CHECKING:
    from tracetime.trace import Trace

T = TypeVar("T")

MEMORY: Final = 2 << 30
"""Bytes that DuckDB may hold, beyond which it goes on in temporary files."""

_BATCH_ROWS: Final = 1 << 16
_ASK_AGAIN_S: Final = 0.05
_MISSING: Final = re.compile(r'column "(\w+)" not found')
"""How DuckDB says that there is no such column."""

_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"|\$(?:\w*)\$(.*?)\$\w*\$", re.DOTALL)
"""What a statement quotes: a file is named by one of these."""


class Result(NamedTuple):
    """What a statement gave: batches of `schema`, made as they are asked for, to be read once.

    The next statement of the session ends it.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


class Session:
    """A database over traces. Use it in a `with`: it has a thread and a temporary directory.

    Args:
        traces: open ones, each with a path of its own.
        view: how they are looked at.
        allow_files: let statements read and write files, and change DuckDB's settings.
        memory: bytes that DuckDB may hold. Reading a trace takes its own, a few windows of it.

    Raises:
        UsageError: no trace, the same twice, or what `tables` refuses.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        view: View | None = None,
        *,
        allow_files: bool = False,
        memory: int = MEMORY,
    ) -> None:
        view = view or View()
        self._names = view.names
        self._allow_files = allow_files
        by_path = {trace.path: trace for trace in traces}
        if not traces or len(by_path) < len(traces):
            raise UsageError("give one trace or more, each once")
        self._faults = Faults()
        self._reader: pa.RecordBatchReader | None = None
        self._tables = tables(traces, view, self._faults)
        self._directory = tempfile.mkdtemp(prefix="tracetime-")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tracetime sql")
        try:
            self._con = duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": f"{memory} bytes",
                    "temp_directory": self._directory,
                    # Neither the variables of this program nor anything from a network.
                    "python_enable_replacements": False,
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            self._fill(Convert(name, by_path, view, self._faults) for name in FUNCTIONS)
            if not allow_files:
                self._con.execute("SET enable_external_access = false")
                self._con.execute("SET lock_configuration = true")
        except BaseException:
            self._release()
            raise

    def _fill(self, functions: Iterator[Convert]) -> None:
        for name, table in self._tables.items():
            self._con.register(name, table)
        for name, function in zip(FUNCTIONS, functions, strict=True):
            self._con.create_function(
                f"_{name}",
                function,
                ["BIGINT", "VARCHAR", "VARCHAR", "VARCHAR"],
                "BIGINT",
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
            )
            self._con.execute(
                f"CREATE MACRO {name}(ts, src, dst) AS _{name}(ts, src, dst, NULL), "
                f"(ts, src, dst, trace) AS _{name}(ts, src, dst, trace)"
            )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs, and leave nothing behind."""
        self._con.interrupt()
        try:
            self._end()
            self._con.close()
        finally:
            self._release()

    def _release(self) -> None:
        self._thread.shutdown()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def tables(self) -> dict[str, pa.Schema]:
        """The tables and their columns."""
        return {name: stream.schema for name, stream in self._tables.items()}

    def statements(self, text: str) -> list[str]:
        """Take a text apart into its statements.

        Raises:
            UsageError: it is no SQL.
        """
        found = self._do(lambda: self._con.extract_statements(text))
        return [statement.query for statement in found]

    def run(self, statement: str, *, times_as_text: bool = False) -> Result:
        """Run one statement; its rows are made while they are read.

        Args:
            statement: one of `statements`.
            times_as_text: dates and times as DuckDB writes them; other columns whose type Arrow
                lacks are text in any case.

        Raises:
            UsageError: DuckDB refuses it (with its message), or a clock or trace in it is none.
            TraceError: a table that it asks for cannot be read from its trace.
            KeyboardInterrupt: as it comes, after the statement has stopped. All of these may also
                come while batches are read.
        """
        self._end()
        if self._allow_files:
            self._keep_inputs(statement)

        def start() -> pa.RecordBatchReader | None:
            relation = self._con.sql(statement)
            if relation is None:
                return None
            return cast(relation, times_as_text=times_as_text).to_arrow_reader(_BATCH_ROWS)

        reader = self._reader = self._do(start)
        if reader is None:
            return Result(pa.schema([]), iter(()))
        schema = exact_in_pandas(_named_apart(reader.schema))
        return Result(schema, self._batches(reader, schema))

    def _keep_inputs(self, statement: str) -> None:
        """Refuse a statement that may write over a trace: no query, and it names one."""
        found = self._do(lambda: self._con.extract_statements(statement))
        if all(one.type == duckdb.StatementType.SELECT for one in found):
            return
        for match in _QUOTED.finditer(statement):
            name = next(text for text in match.groups() if text is not None)
            refuse_input(name.replace("''", "'"))

    def _end(self) -> None:
        """End the result before: a query that was not read to its end holds on to its tables."""
        reader, self._reader = self._reader, None
        if reader is not None:
            self._do(reader.close)
        self._faults.take()

    def _batches(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        def following() -> pa.RecordBatch | None:
            return next(iter(reader), None)

        try:
            # Another statement may have ended this one.
            while self._reader is reader and (batch := self._do(following)) is not None:
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        finally:
            if self._reader is reader:
                self._end()

    def _do(self, call: Callable[[], T]) -> T:
        """Call in the thread of statements; whatever interrupts the waiting interrupts it too."""
        future = self._thread.submit(call)
        try:
            return future.result()
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
            raise self._told(error) from None
        except BaseException:
            self._stop(future)
            raise

    def _stop(self, future: Future[Any]) -> None:
        # Again and again: DuckDB forgets an interrupt that comes before a statement has begun.
        while not future.done():
            self._con.interrupt()
            wait([future], _ASK_AGAIN_S)

    def _told(self, error: Exception) -> BaseException:
        """The error as its own kind: that of a trace or a clock comes to here as DuckDB's."""
        fault = self._faults.take()
        if isinstance(fault, TracetimeError):
            return fault
        if fault is not None and not isinstance(fault, Exception):
            return fault
        hint = ""
        if isinstance(error, duckdb.OutOfMemoryException):
            hint = "\nMore memory may do, or fewer columns."
        elif isinstance(error, duckdb.PermissionException):
            hint = "\nStatements may not use files here unless they are allowed to (--allow-files)."
        elif isinstance(error, duckdb.ProgrammingError):
            hint = f"\nThe tables are {', '.join(self._tables)}."
            missing = _MISSING.search(str(error))
            if missing and missing[1] in NAMES_SCHEMA.names and not self._names:
                hint = f"\nThe events' {missing[1]} is a column with names (--with-names)."
        return UsageError(f"{str(error).strip()}{hint}")


def _named_apart(schema: pa.Schema) -> pa.Schema:
    """The schema with a number behind names that stand in it twice: files and JSON need that."""
    seen: set[str] = set()
    named = []
    for column in schema:
        name, number = column.name, 1
        while name in seen:
            name, number = f"{column.name}_{number}", number + 1
        seen.add(name)
        named.append(column.with_name(name))
    return pa.schema(named)
