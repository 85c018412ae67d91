"""What is odd about the spans of a file: times that cannot be right, what says less of clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.formats.spans.batch import ENDED
from tracetime.formats.spans.parents import Parents
from tracetime.text import count, duration
from tracetime.trace.notes import Note

Values = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

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
    """Return what is odd about spans, worst first, each with how many and the first.

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
    return [_told(one, columns["offset"]) for one in found if len(one.rows)]


_HOSTLESS: Final = "without an id of a host: those of one service are taken for one host"
_LONG_AGO: Final = "that begin before 1973: their times are not in ns, or their clock was not set"
_REPEATED: Final = "with the id of another one: what they are parents of says nothing of clocks"


def _told(odd: _Odd, offset: Values) -> Note:
    first = int(odd.rows.min())
    worst = 0 if odd.by_ns is None else int(odd.by_ns.max())
    what = f"{count(len(odd.rows), 'span')} {odd.what}"
    if worst:
        what += f", by up to {duration(worst)}"
    at, n = int(offset[first]), len(odd.rows)
    return Note("odd-spans", odd.kind, (first,), at, n, worst or None, values={"what": what})
