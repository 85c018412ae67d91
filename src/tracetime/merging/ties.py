"""Ties: what bounds the clocks of one file against those of another."""

from __future__ import annotations

from typing import NamedTuple


class Tie(NamedTuple):
    """What of one kind ties two files.

    Attributes:
        one, other: numbers of the files.
        kind: "clocks" of one boot, "sync", "wall_clocks", "messages" or "together".
        ties: how many there are.
        said: in words, for the report.
        orders, snapshots: the numbers in the graph of those that it consists of.
    """

    one: int
    other: int
    kind: str
    ties: int
    said: str
    orders: range = range(0)
    snapshots: range = range(0)

    def to_dict(self) -> dict[str, object]:
        """Return it in the types of JSON, without the numbers, which are of the graph alone."""
        return {key: getattr(self, key) for key in ("one", "other", "kind", "ties", "said")}
