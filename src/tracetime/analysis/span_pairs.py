"""Pairs of spans, compared by the bars of their ends: how many are undecided, and which.

Counting takes sorted columns, however many pairs there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import count_crossing, count_others

Values = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

_MOST_PAIRS: Final = 200_000
"""Pairs that are looked at for those to show: their columns take some 20 MB."""

_MOST_OF_ONE: Final = 1000
"""So many of these may be of one span."""


_FARTHEST: Final = 1 << 61
"""73 years in ns."""


class Spans(NamedTuple):
    """Spans as columns: the bars of both ends, ns on one clock.

    earliest <= latest of either end; earliest and latest of the begin are not after the end's.

    Attributes:
        instant: whether each lasts no time; two such never overlap.
        group: from 0; those of one group are not compared.
    """

    begin_earliest: Values
    begin_latest: Values
    end_earliest: Values
    end_latest: Values
    instant: npt.NDArray[np.bool_]
    group: Values

    def of(self, rows: Rows | npt.NDArray[np.bool_]) -> Spans:
        """Some of them."""
        return Spans(
            self.begin_earliest[rows],
            self.begin_latest[rows],
            self.end_earliest[rows],
            self.end_latest[rows],
            self.instant[rows],
            self.group[rows],
        )


def count_undecided(spans: Spans) -> Values:
    """With how many spans of other groups each may overlap, or not.

    By their bars two spans overlap where each has begun before the other one can have ended; they
    are apart where one has ended before the other one can have begun. So it is undecided where
    one can begin within the bar of the other one's end.
    """
    begin, begun, end, ended = spans[:4]
    by_begin, by_begun, by_end, by_ended = (np.argsort(column) for column in spans[:4])
    group = spans.group
    # The other one may begin at the end of this one; this one at the end of the other one; both.
    counts = count_others(begin, by_begin, ended, by_ended, group, False)
    counts -= count_others(begun, by_begun, end, by_end, group, True)
    counts += count_others(end, by_end, begun, by_begun, group, False)
    counts -= count_others(ended, by_ended, begin, by_begin, group, True)
    if (end <= begun).any():
        counts -= count_crossing(begun, by_begun, end, by_end)
        for rows in _by_group(group):
            first, last = begun[rows], end[rows]
            counts[rows] += count_crossing(first, np.argsort(first), last, np.argsort(last))
        # One that may end before it begins is its own group here, too.
        counts += (np.bincount(group)[group] == 1) & (end <= begun)
    by_begin, by_ended = by_begin[spans.instant[by_begin]], by_ended[spans.instant[by_ended]]
    counts -= count_others(begin, by_begin, ended, by_ended, group, False)
    counts += count_others(ended, by_ended, begin, by_begin, group, True)
    return counts


def _by_group(group: Values) -> Iterator[Rows]:
    """The rows of each group of two and more."""
    members = np.bincount(group)
    shared = np.flatnonzero(members[group] > 1)
    numbers = np.cumsum(members > 1)[group[shared]] - 1
    # Few groups fit in 16 bits, where a stable sort is a radix sort.
    kind = np.uint16 if numbers.max(initial=0) < 1 << 16 else np.int64
    order = shared[np.argsort(numbers.astype(kind), kind="stable")]
    ends = np.cumsum(members[members > 1]).tolist()
    for first, last in pairwise([0, *ends]):
        yield order[first:last]


def pairs_to_show(spans: Spans, affected: Rows, clock: Values, most: int) -> list[tuple[int, int]]:
    """Pairs that are undecided: first those with most at stake of each two clocks, then others.

    At stake is the time that two spans may overlap, at most the length of the shorter one. Of very
    many pairs, those of the longest affected spans are looked at.

    Args:
        spans: all.
        affected: which of them are in such a pair.
        clock: of each.
        most: the largest number of pairs.
    """
    if not len(affected):
        return []
    # Beyond, differences would overflow.
    begin, begun, end, ended = (np.clip(column, -_FARTHEST, _FARTHEST) for column in spans[:4])
    spans = Spans(begin, begun, end, ended, spans.instant, spans.group)
    one, other = _candidates(spans, affected)
    window = np.minimum(spans.end_latest[one], spans.end_latest[other]) - np.maximum(
        spans.begin_earliest[one], spans.begin_earliest[other]
    )
    length = spans.end_earliest - spans.begin_earliest
    stake = np.minimum(np.minimum(length[one], length[other]), window)
    order = np.lexsort((-window, -stake))
    low, high = np.minimum(clock[one], clock[other]), np.maximum(clock[one], clock[other])
    key = (low * (int(clock.max()) + 1) + high)[order]
    leading = np.zeros(len(order), np.bool_)
    leading[np.unique(key, return_index=True)[1]] = True
    order = np.concatenate([order[leading], order[~leading]])[:most]
    return list(zip(one[order].tolist(), other[order].tolist(), strict=True))


def _candidates(spans: Spans, affected: Rows) -> tuple[Rows, Rows]:
    """Undecided pairs, each once; not all where there are very many."""
    by_begin = affected[np.argsort(spans.begin_earliest[affected], kind="stable")]
    own = spans.of(by_begin)
    begins = own.begin_earliest
    after = np.arange(1, len(begins) + 1)
    # What follows a span in this order and is undecided begins as it may end, or ends as it may
    # begin.
    widest = int((own.begin_latest - begins).max())
    first = np.maximum(np.searchsorted(begins, own.end_earliest - widest, "left"), after)
    last = np.maximum(np.searchsorted(begins, own.end_latest, "right"), first)
    early = np.clip(np.searchsorted(begins, own.begin_latest, "right"), after, first)
    counts = [np.minimum(x, _MOST_OF_ONE) for x in (early - after, last - first)]
    longest = np.argsort(begins - own.end_earliest, kind="stable")
    longest = longest[np.cumsum((counts[0] + counts[1])[longest]) <= _MOST_PAIRS]
    parts = [
        (np.repeat(longest, n[longest]), _ranges(start[longest], n[longest]))
        for start, n in zip((after, first), counts, strict=True)
    ]
    one, other = (np.concatenate(part) for part in zip(*parts, strict=True))
    open_ = (
        (own.group[one] != own.group[other])
        & ~(own.instant[one] & own.instant[other])
        & (own.begin_earliest[other] <= own.end_latest[one])
        & (own.begin_earliest[one] <= own.end_latest[other])
        & ~(
            (own.end_earliest[one] > own.begin_latest[other])
            & (own.end_earliest[other] > own.begin_latest[one])
        )
    )
    return by_begin[one[open_]], by_begin[other[open_]]


def _ranges(starts: Rows, counts: Values) -> Rows:
    """Numbers from each start, as many as its count."""
    before = np.cumsum(counts) - counts
    numbers: Rows = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return numbers
