"""Messages between files: events that one file sent and another received."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracetime.columns.matching import number_keys
from tracetime.errors import UsageError
from tracetime.graph.adding import add_order
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile
from tracetime.merging.ties import Tie
from tracetime.text import count, of_file, printable
from tracetime.trace.slices_table import Slices
from tracetime.trace.trace import Events

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The parts that rules of messages and of collectives share: their text, and their rows.

_PART: Final = re.compile(r"(\w+)=(\S+)")
_ROWS_AT_ONCE: Final = 1 << 16
"""The rows of a query, but for those of the last file: a query of few rows takes as long."""


def parts_of(text: str) -> dict[str, str] | None:
    """The parts of `NAME=VALUE NAME=VALUE`; None where there is anything else."""
    return None if _PART.sub("", text).strip() else dict(_PART.findall(text))


def rows_of(reading: Events | Slices, columns: Sequence[str], *wanted: pc.Expression) -> pa.Table:
    """A table of the rows of a file that all conditions leave, with some columns."""
    found = [reading.schema.empty_table().select(columns)]
    for batch in reading:
        table = pa.Table.from_batches([batch.select(columns)])
        for condition in wanted:
            table = table.filter(condition)
        found.append(table)
    return pa.concat_tables(found)


def with_keys(tables: Iterable[pa.Table], keys: Iterable[str]) -> Iterator[pa.Table]:
    """Yield tables with the arguments of these names, each as text, in place of `args`."""
    import duckdb  # it takes a while to load

    texts = (key.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''") for key in keys)
    named = (f"""json_extract_string(args, '$."{key}"') as key{n}""" for n, key in enumerate(texts))
    columns = ", ".join(["* exclude (args)", *named])
    with duckdb.connect() as connection:
        waiting: list[pa.Table] = []
        rows = 0
        for table in tables:
            waiting.append(table)
            rows += len(table)
            if rows > _ROWS_AT_ONCE:
                yield from _projected(connection, waiting, columns)
                waiting, rows = [], 0
        if waiting:
            yield from _projected(connection, waiting, columns)


def _projected(
    connection: DuckDBPyConnection, tables: Sequence[pa.Table], columns: str
) -> Iterator[pa.Table]:
    """Yield the columns of tables, by one query: it takes a while to begin."""
    found = connection.from_arrow(pa.concat_tables(tables)).project(columns).to_arrow_table()
    first = 0
    for table in tables:
        yield found.slice(first, len(table))
        first += len(table)


def times_of(column: pa.ChunkedArray) -> Values:
    """The values of a column of times that has no nulls."""
    times: Values = column.to_numpy().astype(np.int64, copy=False)
    return times


TCP: Final = "send=inet_sock_local_out recv=inet_sock_local_in key=seq,ack_seq,flags"
"""LTTng's events of TCP packets: matched without an option."""


class MessageRule(NamedTuple):
    """A rule that names the events at the two ends of a message.

    Attributes:
        send, receive: their names.
        keys: the arguments that tell messages apart.
    """

    send: str
    receive: str
    keys: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> MessageRule:
        """Read `send=NAME recv=NAME key=ARG,ARG`.

        Raises:
            UsageError: it is not of this form.
        """
        parts = parts_of(text)
        if parts is None or set(parts) != {"send", "recv", "key"}:
            raise UsageError(
                f"{text!r} is no rule: write send=EVENT recv=EVENT key=ARGUMENT,ARGUMENT"
            )
        return cls(parts["send"], parts["recv"], tuple(parts["key"].split(",")))


class Messages(NamedTuple):
    """The messages of a rule in all files, and the ties that they make.

    Attributes:
        ties: between files.
        counts: by number of a file, how many it has sent and received.
    """

    ties: list[Tie]
    counts: list[tuple[int, int]]


_MOST_EACH: Final = 16
_MOST_ANYWAY: Final = 1 << 12
"""A key may match so many messages of other files with each message, beyond so many in all."""


class _Ends(NamedTuple):
    """One end of the messages of all files, file by file.

    Attributes:
        of: numbers of the files.
        times: when they were at the earliest where they were sent, at the latest where received.
        keys: a column of texts for each argument.
    """

    of: Values
    times: Values
    keys: tuple[pa.ChunkedArray, ...]


class _Keys(NamedTuple):
    """The keys of one end of messages, each once for a file that has it.

    Attributes:
        key, file: numbers of both.
        n: how often the file has it.
        row: where the file has it last.
    """

    key: Values
    file: Values
    n: Values
    row: Values

    @classmethod
    def of(cls, keys: Values, files: Values, known: npt.NDArray[np.bool_]) -> _Keys:
        """The keys of the messages of some files; `known` excludes those without a key."""
        rows = np.flatnonzero(known)
        rows = rows[np.lexsort((files[rows], keys[rows]))]
        key, file = keys[rows], files[rows]
        last = np.flatnonzero((np.diff(key, append=-1) != 0) | (np.diff(file, append=-1) != 0))
        return cls(key[last], file[last], np.diff(last, prepend=-1), rows[last])

    @property
    def code(self) -> Values:
        """A number for each key that a file has once, and for each that a file has twice."""
        return 2 * self.key + (self.n > 1)


class _FileMessages(NamedTuple):
    """The messages from one file to another: their rows where sent and where received.

    left_out: how many have a key that occurs twice at one end.
    """

    one: int
    other: int
    sent: Values
    received: Values
    left_out: int


def add_messages(
    graph: Graph, files: Sequence[MergedFile], boots: Boots, rule: MessageRule
) -> Messages:
    """Add each message from one file to another as an order: it is received after it was sent.

    A key that occurs twice at an end is left out. Times are those of the trace clock, with their
    bars: what was sent after its earliest time was received before its latest.

    Raises:
        UsageError: a file cannot be asked for events; a key that too many files have at both ends.
        TraceError: a file is damaged.
    """
    sent, received = _ends(files, rule)
    clocks = [boots.clock(file.number, file.home) for file in files]
    ties = []
    for found in _match_files(sent, received, rule):
        if clocks[found.one] == clocks[found.other]:
            continue
        first = len(graph.state.orders)
        add_order(
            graph,
            before=(sent.times[found.sent], clocks[found.one]),
            after=(received.times[found.received], clocks[found.other]),
        )
        n = len(found.sent)
        text = f"{count(n, 'message')} {printable(rule.send)} to {printable(rule.receive)} by "
        text += ", ".join(rule.keys)
        if found.left_out:
            text += f"; {found.left_out} with a key that occurs twice left out"
        orders = range(first, len(graph.state.orders))
        ties.append(Tie(found.one, found.other, "messages", n, text, orders=orders))
    counts = (np.bincount(side.of, minlength=len(files)).tolist() for side in (sent, received))
    return Messages(ties, [*zip(*counts, strict=True)])


def _match_files(sent: _Ends, received: _Ends, rule: MessageRule) -> Iterator[_FileMessages]:
    """Yield the messages of each two files that have any, in the order in which they were sent.

    Raises:
        UsageError: too many files have the same keys at both ends.
    """
    n, _, codes, known = number_keys(sent.keys, received.keys)
    ours = _Keys.of(codes[:n], sent.of, known[:n])
    theirs = _Keys.of(codes[n:], received.of, known[n:])
    here, there = _match_keys(ours, theirs, rule)
    files = int(max(sent.of.max(initial=0), received.of.max(initial=0))) + 1
    pairs = ours.file[here] * files + theirs.file[there]
    order = np.lexsort((ours.row[here], pairs))
    here, there, pairs = here[order], there[order], pairs[order]
    once, also = ours.n[here] == 1, theirs.n[there] == 1
    # How many messages of a file have a key that it has twice itself.
    repeated, repeated_there = (
        np.bincount(side.file, np.where(side.n > 1, side.n, 0), files) for side in (ours, theirs)
    )
    for rows in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(pairs)) + 1):
        matched = rows[once[rows] & also[rows]]
        if len(matched):
            one, other = divmod(int(pairs[rows[0]]), files)
            left_out = repeated[one] + repeated_there[other] + (once[rows] != also[rows]).sum()
            yield _FileMessages(
                one, other, ours.row[here[matched]], theirs.row[there[matched]], int(left_out)
            )


def _match_keys(sent: _Keys, received: _Keys, rule: MessageRule) -> tuple[Values, Values]:
    """The rows of equal keys in both, unless both files have that key twice.

    Raises:
        UsageError: these are too many.
    """
    order = np.argsort(received.code, kind="stable")
    codes = received.code[order]
    first = np.searchsorted(codes, 2 * sent.key)
    each = np.searchsorted(codes, 2 * sent.key + (sent.n == 1), "right") - first
    n, most = int(each.sum()), _MOST_EACH * (len(sent.key) + len(received.key)) + _MOST_ANYWAY
    if n > most:
        keys = printable(", ".join(rule.keys))
        raise UsageError(
            f"--match: {n:,} matches by {keys}, more than {most:,}: many files have the same "
            f"{keys} at both ends; give a key that tells their messages apart"
        )
    here = np.repeat(np.arange(len(each)), each)
    return here, order[np.arange(n) - np.repeat(np.cumsum(each) - each - first, each)]


def ties_nothing(files: Sequence[MergedFile], rule: MessageRule, found: Messages) -> str:
    """The reason why the messages of a rule tie no files, in words."""
    counts = zip(*found.counts, strict=True)
    ends = [
        f"{sum(n)} {printable(name)}"
        for n, name in zip(counts, (rule.send, rule.receive), strict=True)
    ]
    return (
        f"{' and '.join(ends)} in all {len(files)} files; none has a partner in another machine's "
        f"by {printable(', '.join(rule.keys))}"
    )


def why_no_messages(
    one: MergedFile, other: MergedFile, rule: MessageRule, counts: Sequence[tuple[int, int]]
) -> str:
    """The reason why the messages of a rule do not tie two files; counts: of `Messages`."""
    found = [
        f"{n} {printable(name)} in {printable(file.name)}"
        for file in (one, other)
        for n, name in zip(counts[file.number], (rule.send, rule.receive), strict=True)
    ]
    return f"{', '.join(found)}; none has a partner by {printable(', '.join(rule.keys))}"


def _ends(files: Sequence[MergedFile], rule: MessageRule) -> tuple[_Ends, _Ends]:
    """The events at both ends of the messages of a rule, in all files."""
    names = pa.array([rule.send, rule.receive])
    columns = ["earliest", "latest", "args"]
    named = pc.field("name").isin(names)

    def read() -> Iterator[pa.Table]:
        for file in files:
            placed = pc.field("earliest").is_valid() & pc.field("latest").is_valid()
            placed &= pc.field("machine") == file.home.machine
            with of_file(file.name):
                events = file.trace.events("tube", names=True)
                table = rows_of(events, [*columns, "name", "machine"], named, placed)
            for name in names:
                yield table.filter(pc.equal(table["name"], name)).select(columns)

    tables = [*with_keys(read(), rule.keys)]
    of = [np.repeat(np.arange(len(files)), [*map(len, tables[end::2])]) for end in (0, 1)]
    sent, received = pa.concat_tables(tables[::2]), pa.concat_tables(tables[1::2])
    return (
        _Ends(of[0], times_of(sent["earliest"]), tuple(sent.columns[2:])),
        _Ends(of[1], times_of(received["latest"]), tuple(received.columns[2:])),
    )
