"""Ties: what bounds the clocks of one file against those of another."""

from __future__ import annotations

from typing import NamedTuple


class Tie(NamedTuple):
    """What of one kind ties two files.

    Attributes:
        one, other: numbers of the files.
        kind: "clocks" of one boot, "sync", "messages" or "together".
        ties: how many there are.
        said: in words, for the report.
    """

    one: int
    other: int
    kind: str
    ties: int
    said: str
