"""Which span began before which: what parents and children on different hosts say of their clocks.

A parent begins before its children do. A client's call that the server answers also ends after the
server's span does: where both ended without an error, and neither lasted longer than that allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.formats.spans.batch import (
    AWAITED,
    CLIENT,
    ENDED,
    FAILED,
    FOLLOWS,
    SERVER,
    STREAMED,
    Spans,
)
from tracetime.formats.spans.parents import Parents, parents_of
from tracetime.text import count
from tracetime.trace import TraceWarning

Values = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

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


class Calls:
    """The spans of a file, for what they say of its hosts' clocks; each batch is added once."""

    def __init__(self) -> None:
        self._columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _NEEDED}

    def add(self, spans: Spans, hosts: npt.NDArray[np.int32]) -> None:
        """Add a batch.

        hosts: of each span, by number.
        """
        for name, parts in self._columns.items():
            parts.append(hosts if name == "host" else getattr(spans, name))

    def found(self, shared: list[int]) -> tuple[list[Order], list[TraceWarning]]:
        """What happened before what, by pairs of hosts; and what is odd about the spans.

        shared: numbers of hosts that may be several.
        """
        if not self._columns["begin"]:
            return [], []
        columns = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        host, begin, end = columns["host"], columns["begin"], columns["end"]
        parents = parents_of(columns["trace"], columns["id"], columns["parent"])
        child = np.flatnonzero((parents.row >= 0) & parents.is_sure)
        child = child[host[child] != host[parents.row[child]]]
        parent = parents.row[child]
        known = (begin[child] > 0) & (begin[parent] > 0) & (columns["marks"][child] & AWAITED == 0)
        answered = known & _are_answered(columns, parents, parent, child)
        one, other = (parent[known], child[known]), (child[answered], parent[answered])
        orders = [*_orders(host, begin, *one), *_orders(host, end, *other)]
        return orders, list(_oddities(columns, parents, shared if len(child) else []))


def _oddities(
    columns: dict[str, npt.NDArray[Any]], parents: Parents, shared: list[int]
) -> Iterator[TraceWarning]:
    """What is odd about spans, each with how many and the first."""
    ended = columns["marks"] & ENDED != 0
    reversed_ = ended & (columns["end"] < columns["begin"])
    for what, rows in (
        (
            "without an id of a host: those of one service are taken for one host",
            np.isin(columns["host"], shared),
        ),
        (
            "with the id of another one: what they are parents of says nothing of clocks",
            parents.is_repeated,
        ),
        ("whose parent is not in the file", parents.is_orphan),
        ("that end before they begin: their clock was set, or their times are wrong", reversed_),
        ("without an end", ~ended),
    ):
        found = np.flatnonzero(rows)
        if len(found):
            first = int(found[0])
            message = f"{count(len(found), 'span')} {what}"
            yield TraceWarning(message, int(columns["offset"][first]), first)


_NEEDED: Final = ("offset", "host", "trace", "id", "parent", "begin", "end", "kind", "marks")


def _are_answered(
    columns: dict[str, npt.NDArray[Any]], parents: Parents, parent: Rows, child: Rows
) -> Mask:
    """Which pairs are a client's call and the only server's span of it, over before the call is."""
    kind, marks = columns["kind"], columns["marks"]
    lasted = columns["end"] - columns["begin"]
    of_server = (kind == SERVER) & (parents.row >= 0)
    servers = np.bincount(parents.row[of_server], minlength=len(kind))
    sure: Mask = (kind[parent] == CLIENT) & (kind[child] == SERVER) & (servers[parent] == 1)
    for side in (parent, child):
        sure &= (marks[side] & (ENDED | _UNANSWERED) == ENDED) & (lasted[side] >= 0)
    longest = lasted[parent] + lasted[parent] // _RATE + _SLACK_NS
    sure &= lasted[child] <= longest
    return sure


def _orders(
    host: npt.NDArray[Any], ts: npt.NDArray[Any], before: Rows, after: Rows
) -> Iterator[Order]:
    """Times of spans that are before those of others, by pairs of their hosts."""
    hosts = int(host.max(initial=0)) + 1
    pair = host[before].astype(np.int64) * hosts + host[after]
    by_pair = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[by_pair], prepend=-1))
    for rows in np.split(by_pair, starts[1:]) if len(starts) else ():
        one, other = divmod(int(pair[rows[0]]), hosts)
        yield Order(one, ts[before[rows]], other, ts[after[rows]])
