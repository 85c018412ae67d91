"""Ties: the evidence that bounds the clocks of one file against those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from tracetime.clocks.json_facts import as_json

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count


TieKind = Literal["clocks", "sync", "wall_clocks", "messages", "together"]


@as_json("one other kind ties said")
class Tie(NamedTuple):
    """The evidence of one kind that ties two files.

    Attributes:
        one: the number of a file, from 0.
        other: the number of the other.
        kind: what it is: one boot, a known offset, wall clocks, messages or collectives.
        ties: how many there are.
        said: what it is, in words.
        orders: the numbers in the graph of those that it consists of.
        snapshots: the numbers in the graph of those that it consists of.
        apart_ns: of a known offset: between the end of a file and the begin of the other, ns; 0
            where both last at one time.
    """

    one: Count
    other: Count
    kind: TieKind
    ties: Count
    said: str
    orders: range = range(0)
    snapshots: range = range(0)
    apart_ns: int = 0
