"""One DuckDB database in memory over traces: statements in, batches of rows out.

Statements run in their own thread, so that a signal reaches the caller at once and interrupts them.
A statement may use the tables, and nothing else unless files are allowed.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from tracetime.columns.arrow_tables import exact_in_pandas
from tracetime.errors import TracetimeError, UsageError
from tracetime.graph.tube.results import check_bars
from tracetime.sql.events import EXTRAS, NAMES, Extras, extras_in, unqualified_extras_in
from tracetime.sql.files import Files
from tracetime.sql.functions import BEFORE, FUNCTIONS, Before, Convert, TraceTime, cast
from tracetime.sql.streams import Faults, View
from tracetime.sql.tables import Tables
from tracetime.text import did_you_mean

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

T = TypeVar("T")

Parameters = Sequence[object] | Mapping[str, object] | None
"""The values of a statement's parameters, in order or by name."""

MEMORY: Final = 2 << 30
"""Bytes of memory that DuckDB may use; above this it uses temporary files."""

_BATCH_ROWS: Final = 1 << 16
_RETRY_S: Final = 0.05
"""Time from one interrupt of a statement to the next, until it stops."""

_CREATE: Final = re.compile(r"\s*create\b.*?\bas\b", re.DOTALL | re.IGNORECASE)
"""What is before the query in a statement that creates a table or view of its result."""

_NO_COLUMN: Final = re.compile(r'column (?:named )?"([^"]+)"')
_CANDIDATES: Final = re.compile(r"\n*Candidate bindings: .*")
"""How DuckDB says which column there is not, and which of those that it knows are alike."""


class Result(NamedTuple):
    """The result of a statement: batches of `schema`, computed while they are read, once.

    The next statement of the session ends it.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


class Session:
    """A database over traces. Use it in a `with`: it has a thread and a temporary directory.

    Args:
        traces: open traces with different paths.
        view: how statements see them.
        allow_files: let statements read and write files, and change DuckDB's settings.
        memory: bytes of memory that DuckDB may use. Reading a trace needs a few windows besides.
        keep: keep what has been read for the next statements: each table that takes less than a
            quarter of `memory`.

    Raises:
        UsageError: no trace, one trace twice, or what `tables` refuses.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        view: View | None = None,
        *,
        allow_files: bool = False,
        memory: int = MEMORY,
        keep: bool = False,
    ) -> None:
        view = view or View()
        self._always: Extras = frozenset((NAMES,)) if view.names else frozenset()
        self._extras = self._always
        by_path = {trace.path: trace for trace in traces}
        if not traces or len(by_path) < len(traces):
            raise UsageError("give one trace or more, each once")
        self._faults = Faults()
        self._traces = tuple(traces)
        self._reader: pa.RecordBatchReader | None = None
        self._planned = ""
        self._tables = Tables(traces, view, self._faults, memory // 4 if keep else 0)
        for trace in traces:
            trace.on_read.append(self._faults.check)
        self._directory = tempfile.mkdtemp(prefix="tracetime-")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tracetime sql")
        try:
            self._con = duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": f"{memory} bytes",
                    "temp_directory": self._directory,
                    # No variables of this program, and nothing from a network.
                    "python_enable_replacements": False,
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            self._fill(by_path, view)
            self._files = Files(self._con, allowed=allow_files)
        except BaseException:
            self._release()
            raise

    def _fill(self, by_path: Mapping[str, Trace], view: View) -> None:
        for name in self._tables.names:
            self._con.register(name, self._tables.stream(name, self._extras))
        for name in FUNCTIONS:
            function = Convert(name, by_path, view, self._faults)
            self._add(name, function, "BIGINT", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR")
            self._con.execute(
                f"CREATE MACRO {name}(ts, src, dst) AS "
                f"_{name}(ts, src::VARCHAR, dst::VARCHAR, NULL), "
                f"(ts, src, dst, trace) AS _{name}(ts, src::VARCHAR, dst::VARCHAR, trace)"
            )

        before = Before(by_path, view, self._faults)
        clocks = ("BIGINT", "VARCHAR") * 2
        self._add("came_before", before, BEFORE, *clocks, "VARCHAR")
        self._con.execute(
            "CREATE MACRO came_before(a, b, c, d) AS "
            "_came_before(a, b::VARCHAR, c, d::VARCHAR, NULL), "
            "(a, b, c, d, trace) AS _came_before(a, b::VARCHAR, c, d::VARCHAR, trace)"
        )
        instant = TraceTime(by_path, view, self._faults)
        self._add("trace_time", instant, "BIGINT", "VARCHAR", "VARCHAR")
        self._con.execute(
            "CREATE MACRO trace_time(instant) AS _trace_time(instant, NULL), "
            "(instant, trace) AS _trace_time(instant, trace)"
        )

    def _add(self, name: str, function: Callable[..., Any], made: str, *arguments: str) -> None:
        self._con.create_function(
            f"_{name}",
            function,
            list(arguments),
            made,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the running statement, and remove the temporary directory."""
        self._con.interrupt()
        try:
            self._end()
            self._files.close()
            self._con.close()
        finally:
            self._release()

    def _release(self) -> None:
        for trace in self._traces:
            trace.on_read.remove(self._faults.check)
        self._thread.shutdown()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def tables(self) -> dict[str, pa.Schema]:
        """The schema of each table, with all columns that it can have."""
        every = frozenset(EXTRAS)
        return {name: self._tables.stream(name, every).schema for name in self._tables.names}

    @property
    def in_no_slice(self) -> dict[str, int]:
        """The numbers of events without a trace time, by path, of traces whose slices were read."""
        return self._tables.slices.unresolved

    def statements(self, text: str) -> list[str]:
        """Split a text into its statements.

        Raises:
            UsageError: it is not SQL.
        """
        found = self._do(lambda: self._con.extract_statements(text))
        return [statement.query for statement in found]

    def run(
        self, statement: str, *, parameters: Parameters = None, times_as_text: bool = False
    ) -> Result:
        """Run one statement; its rows are computed while they are read.

        Args:
            statement: one of `statements`.
            parameters: the values of its `?`, or by name of its `$name`.
            times_as_text: return dates and times as text, as DuckDB writes them. Columns of a type
                that Arrow lacks are always text.

        All errors may also be raised while batches are read.

        Raises:
            UsageError: DuckDB refuses it (with its message), or it names an unknown clock or trace.
            TraceError: the trace of a table in it cannot be read.
            KeyboardInterrupt: Ctrl-C; the statement has stopped.
        """
        self._end()

        def start() -> pa.RecordBatchReader | None:
            relation = self._relation(statement, parameters)
            if relation is None:
                return None
            return cast(relation, times_as_text=times_as_text).to_arrow_reader(_BATCH_ROWS)

        reader = self._reader = self._do(start)
        if reader is None:
            return Result(pa.schema([]), iter(()))
        schema = exact_in_pandas(_with_unique_names(reader.schema))
        return Result(schema, self._batches(reader, schema))

    def run_all(
        self, text: str, *, parameters: Parameters = None, times_as_text: bool = False
    ) -> Result:
        """Run the statements of a text, and return the result of the last one; see `run`.

        The parameters are of the last one.

        Raises:
            UsageError: there is no statement; and what `run` raises.
        """
        statements = self.statements(text)
        if not statements:
            raise UsageError("there is no statement in the query")
        for statement in statements[:-1]:
            for _ in self.run(statement).batches:
                pass
        return self.run(statements[-1], parameters=parameters, times_as_text=times_as_text)

    def _relation(self, statement: str, parameters: Parameters) -> duckdb.DuckDBPyRelation | None:
        """Plan a statement, with the columns that it uses, and run it if it is no query.

        What is refused while it is planned has changed nothing, and can be planned again.
        """
        extras = self._always
        self._planned = statement
        while True:
            self._give(self._meant(statement, extras, parameters))
            try:
                with self._files.through(statement) as changed:
                    return self._con.sql(changed, params=parameters)
            except duckdb.BinderException as error:
                # The error names a column that a view uses, which is not in the statement.
                more = extras | extras_in(statement, str(error))
                if more == extras:
                    raise
                extras = more

    def _meant(self, statement: str, extras: Extras, parameters: Parameters) -> Extras:
        """Return the groups that a statement is run with: those of all columns that it names.

        A name in a subquery on `events`, here or in a view, would else be that of a column around
        the subquery, and a name in WHERE that of a result. Not where the groups change what the
        statement returns, as with `*`, or where a name would not be clear with them, as in a join
        with `clocks`.
        """
        views = self._con.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
        more = extras | unqualified_extras_in(statement, *(view for (view,) in views))
        if more == extras or len(self._con.extract_statements(statement)) != 1:
            return extras
        plan = f"DESCRIBE {_CREATE.sub('', statement, count=1)}"
        try:
            self._give(extras)
            narrow = self._con.execute(plan, parameters).fetchall()
            self._give(more)
            return more if self._con.execute(plan, parameters).fetchall() == narrow else extras
        except duckdb.Error:
            return extras

    def _give(self, extras: Extras) -> None:
        """Register the tables that have other columns with these groups than now."""
        changed = extras ^ self._extras
        for name in self._tables.names:
            if changed & self._tables.extras(name):
                self._con.register(name, self._tables.stream(name, extras))
        self._extras = extras

    def _end(self) -> None:
        """End the previous result: a query that was not read to its end keeps its tables open."""
        reader, self._reader = self._reader, None
        if reader is not None:
            self._do(reader.close)
        self._faults.take()

    def _batches(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        def following() -> pa.RecordBatch | None:
            return next(iter(reader), None)

        try:
            # Another statement may have ended this result.
            while self._reader is reader and (batch := self._do(following)) is not None:
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        finally:
            if self._reader is reader:
                self._end()

    def _do(self, call: Callable[[], T]) -> T:
        """Call in the thread of statements; what interrupts the caller interrupts the statement."""
        future = self._thread.submit(call)
        try:
            return future.result()
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError, MemoryError) as error:
            raise self._own_error(error) from None
        except BaseException:
            self._stop(future)
            raise

    def _stop(self, future: Future[Any]) -> None:
        # Repeated: DuckDB ignores an interrupt that comes before a statement has begun.
        self._faults.stopping = True
        try:
            while not future.done():
                self._con.interrupt()
                wait([future], _RETRY_S)
        finally:
            self._faults.stopping = False

    def _own_error(self, error: Exception) -> BaseException:
        """Return an error of DuckDB as one of ours: that of a trace or clock, or UsageError."""
        fault = self._faults.take()
        if isinstance(fault, TracetimeError):
            return fault
        if fault is not None and not isinstance(fault, Exception):
            return fault
        hint, text = "", str(error).strip()
        if isinstance(error, duckdb.BinderException):
            text = self._with_near_columns(text)
        if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
            hint = "\nGive more memory (`tracetime sql --memory-limit`), or select fewer columns."
        elif isinstance(error, duckdb.PermissionException):
            hint = "\nStatements cannot use files unless `tracetime sql --allow-files` runs them."
        elif isinstance(error, duckdb.ProgrammingError):
            hint = f"\nThe tables are {', '.join(self._tables.names)}."
        return UsageError(f"{text}{hint}")

    def _with_near_columns(self, text: str) -> str:
        """Name the columns most like one that there is not, those for statements that use them too.

        They are the columns of the tables that the statement names, and the candidates of DuckDB.
        """
        missing, candidates = _NO_COLUMN.search(text), _CANDIDATES.search(text)
        words = set(re.findall(r"\w+", self._planned.lower()))
        columns = [
            column
            for name, schema in self.tables.items()
            if name in words
            for column in schema.names
        ]
        columns += re.findall(r'"([^"]+)"', candidates[0]) if candidates else []
        near = "" if missing is None else did_you_mean(missing[1], columns)
        if not near:
            return text
        return f"{_CANDIDATES.sub('', text)}\nD{near.removeprefix(': d')}"


def _with_unique_names(schema: pa.Schema) -> pa.Schema:
    """Return the schema with a number behind repeated names: files and JSON need unique ones."""
    seen: set[str] = set()
    named = []
    for column in schema:
        name, number = column.name, 1
        while name in seen:
            name, number = f"{column.name}_{number}", number + 1
        seen.add(name)
        named.append(column.with_name(name))
    return pa.schema(named)


# One query to one trace, as a table of Arrow: `Trace.sql`.


def query(
    trace: Trace, text: str, parameters: Parameters, policy: PolicyName, bars: Bars
) -> pa.Table:
    """Run statements on a trace, and return the result of the last one; see `Trace.sql`."""
    check_bars(bars)
    trace.check_open()
    with Session([trace], View(policy, bars)) as session:
        result = session.run_all(text, parameters=parameters)
        return pa.Table.from_batches(result.batches, result.schema)
