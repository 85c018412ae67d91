"""Calls between spans: the order of parents and children on different hosts, for their clocks.

A parent begins before its children do. A client's call that the server answers also ends after the
server's span begins. When the server's span ends says nothing: many servers end it once the answer
is on its way, and the client may have it by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.formats.spans.batch import (
    ANSWERED,
    AWAITED,
    CLIENT,
    ENDED,
    FAILED,
    FOLLOWS,
    SERVER,
    STREAMED,
    Spans,
)
from tracetime.formats.spans.collector import Parents, Rows, SpanResolutions, later, parents_of
from tracetime.graph.values import Mask, Values
from tracetime.text import count, duration
from tracetime.trace.notes import Note

_LONG_AGO_NS: Final = 10**17
"""Of March 1973: what is less is no time in ns, or its clock was not set."""
_COARSE_NS: Final = 1_000_000
"""Processes of one host may count in ticks of up to a millisecond, some of them."""


class _Odd(NamedTuple):
    """One kind of oddity; see `Note`.

    rows: of the spans. by_ns: by how much, of each; None where there is no such.
    """

    kind: str
    what: str
    rows: Rows
    by_ns: Values | None = None


def odd_events(
    columns: Mapping[str, npt.NDArray[Any]],
    parents: Parents,
    own: Rows,
    outlasting: Rows,
    shared: list[int],
) -> list[Note]:
    """Return notes on odd spans, worst first, each with a number and the first.

    Args:
        columns: all spans of a file; see `Spans`, and `host`, the number of each one's.
        parents: of the spans.
        own: rows of spans that cannot begin before their parent of the same host.
        outlasting: rows of servers' spans that last longer than the calls of them.
        shared: numbers of hosts that may be several.
    """
    begin, end = columns["begin"], columns["end"]
    ended = columns["marks"] & ENDED != 0
    early = own[begin[parents.row[own]] - begin[own] > _COARSE_NS]
    back = np.flatnonzero(ended & (end < begin) & (begin > 0))
    lasted = end - begin
    longer = lasted[outlasting] - lasted[parents.row[outlasting]]
    found = (
        _Odd("hostless", _HOSTLESS, np.flatnonzero(np.isin(columns["host"], shared))),
        _Odd("beginless", "without a begin: their time is 0, in 1970", np.flatnonzero(begin == 0)),
        _Odd("long_ago", _LONG_AGO, np.flatnonzero((begin > 0) & (begin < _LONG_AGO_NS))),
        _Odd(
            "early",
            "that begin before their parent",
            early,
            begin[parents.row[early]] - begin[early],
        ),
        _Odd("reversed", "that end before they begin", back, begin[back] - end[back]),
        _Odd("repeated", _REPEATED, np.flatnonzero(parents.is_repeated)),
        _Odd(
            "looped",
            "that are their own ancestors: they count as without a parent",
            np.flatnonzero(parents.is_looped),
        ),
        _Odd("orphaned", "whose parent is not in the file", np.flatnonzero(parents.is_orphan)),
        _Odd("outlasting", "of servers that outlast the calls of them", outlasting, longer),
        _Odd("endless", "without an end", np.flatnonzero(~ended)),
    )
    return [_note_of(one, columns["offset"]) for one in found if len(one.rows)]


_HOSTLESS: Final = "without an id of a host: those of one service are taken for one host"
_LONG_AGO: Final = "that begin before 1973: their times are not in ns, or their clock was not set"
_REPEATED: Final = "with the id of another one: what they are parents of says nothing of clocks"


def _note_of(odd: _Odd, offset: Values) -> Note:
    first = int(odd.rows.min())
    worst = 0 if odd.by_ns is None else int(odd.by_ns.max())
    what = f"{count(len(odd.rows), 'span')} {odd.what}"
    if worst:
        what += f", by up to {duration(worst)}"
    at, n = int(offset[first]), len(odd.rows)
    return Note("odd-spans", odd.kind, (first,), at, n, worst or None, values={"what": what})


_UNANSWERED: Final = FAILED | STREAMED | FOLLOWS
_RATE: Final = 1000
"""Clocks differ by less than a thousandth in rate."""
_SLACK_NS: Final = 10_000
"""By so much a span within another may seem to last longer: coarse ticks."""


class Order(NamedTuple):
    """Readings of one host's clock that happened before those of another's.

    Attributes:
        before, after: numbers of hosts.
        sent, received: int64 ns, of one length.
    """

    before: int
    sent: Values
    after: int
    received: Values


Columns = dict[str, npt.NDArray[Any]]
"""Of spans, by name: those of `_NEEDED`, and as `first` and `last` the earliest and the latest that
their begin can be, as `ended` the latest that their end can be."""


class SpanCalls:
    """The calls between the spans of a file; each batch is added once."""

    def __init__(self) -> None:
        self._columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _NEEDED}

    def add(self, spans: Spans, hosts: npt.NDArray[np.int32]) -> None:
        """Add a batch.

        hosts: of each span, by number.
        """
        for name, parts in self._columns.items():
            parts.append(hosts if name == "host" else getattr(spans, name))

    def columns(self, resolutions: SpanResolutions) -> Columns | None:
        """The columns of all spans; None without any. resolutions: of these."""
        if not self._columns["begin"]:
            return None
        columns = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        host, begin, end = (columns[name] for name in ("host", "begin", "end"))
        columns |= {"first": begin, "last": begin, "ended": end}
        if not resolutions.is_exact:
            early, late = resolutions.begins(host, begin)
            columns["first"], columns["last"] = begin - early, later(begin, late)
            columns["ended"] = later(end, resolutions.ends(host, begin, end)[1])
        return columns

    def found(
        self, shared: list[int], resolutions: SpanResolutions
    ) -> tuple[list[Order], list[Note]]:
        """The orders of spans by pairs of hosts, and notes on odd spans.

        Of coarse times the earliest that one can be of was before the latest that another can.

        Args:
            shared: numbers of hosts that may be several.
            resolutions: those of the same spans.
        """
        columns = self.columns(resolutions)
        if columns is None:
            return [], []
        parents, child = _with_parents(columns)
        apart = columns["host"][child] != columns["host"][parents.row[child]]
        own, child = child[~apart], child[apart]
        parent = parents.row[child]
        answered, outlasts = _match_answers(columns, parents, parent, child)
        begun, ended = _orders_of(columns, (parent, child), answered)
        odd = odd_events(columns, parents, own, child[outlasts], shared if len(child) else [])
        return begun + ended, odd


_NEEDED: Final = ("offset", "host", "trace", "id", "parent", "begin", "end", "kind", "marks")


def orders_between(files: Sequence[Columns]) -> tuple[list[Order], list[Order]]:
    """The orders of spans whose parent is in another file: of begins, and of ends of calls.

    files: of each its spans, where no two files have a host of one number.
    """
    if not files:
        return [], []
    columns = {name: np.concatenate([one[name] for one in files]) for name in files[0]}
    number = np.repeat(np.arange(len(files)), [len(one["host"]) for one in files])
    parents, child = _with_parents(columns)
    child = child[number[child] != number[parents.row[child]]]
    parent = parents.row[child]
    answered, _ = _match_answers(columns, parents, parent, child)
    return _orders_of(columns, (parent, child), answered)


def _with_parents(columns: Columns) -> tuple[Parents, Rows]:
    """The parents of spans, and a mask of spans that began after theirs."""
    begin = columns["begin"]
    parents = parents_of(columns["trace"], columns["id"], columns["parent"])
    child = np.flatnonzero((parents.row >= 0) & parents.is_sure)
    child = child[(begin[child] > 0) & (begin[parents.row[child]] > 0)]
    return parents, child[columns["marks"][child] & AWAITED == 0]


def _match_answers(
    columns: Columns, parents: Parents, parent: Rows, child: Rows
) -> tuple[Mask, Mask]:
    """A mask of the pairs of a client's call and its only server's span, begun before its end.

    Also which would be, if the server's did not last longer than the call.
    """
    kind, marks = columns["kind"], columns["marks"]
    lasted = columns["end"] - columns["begin"]
    of_server = (kind == SERVER) & (parents.row >= 0)
    servers = np.bincount(parents.row[of_server], minlength=len(kind))
    sure: Mask = (kind[parent] == CLIENT) & (kind[child] == SERVER) & (servers[parent] == 1)
    for side in (parent, child):
        sure &= (marks[side] & (ENDED | _UNANSWERED) == ENDED) & (lasted[side] >= 0)
    longest = lasted[parent] + lasted[parent] // _RATE + _SLACK_NS
    waited = (lasted[child] <= longest) | (marks[parent] & ANSWERED != 0)
    return sure & waited, sure & ~waited


def _orders_of(
    columns: Columns, pairs: tuple[Rows, Rows], answered: Mask
) -> tuple[list[Order], list[Order]]:
    """The orders by the begins of parents and children, and by the ends of answered parents."""
    host, parent, child = columns["host"], *pairs
    called, served = parent[answered], child[answered]
    begun = _orders(host, (columns["first"], parent), (columns["last"], child))
    ended = _orders(host, (columns["first"], served), (columns["ended"], called))
    return [*begun], [*ended]


def _orders(
    host: npt.NDArray[Any], before: tuple[Values, Rows], after: tuple[Values, Rows]
) -> Iterator[Order]:
    """Times of spans that are before those of others, by pairs of their hosts.

    before, after: times by row, and the rows.
    """
    (sent, one), (received, other) = before, after
    hosts = int(host.max(initial=0)) + 1
    pair = host[one].astype(np.int64) * hosts + host[other]
    by_pair = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[by_pair], prepend=-1))
    for rows in np.split(by_pair, starts[1:]) if len(starts) else ():
        here, there = divmod(int(pair[rows[0]]), hosts)
        yield Order(here, sent[one[rows]], there, received[other[rows]])
