"""Collectives: what no rank leaves before all have entered it, such as an all-reduce.

Each start lies before every end. Which of one file is which of another is found by a key that none
has twice, or by the order in which the files have them (alignment.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.errors import UsageError
from tracetime.formats.chrome_json.reader import ChromeJsonTrace
from tracetime.graph.graph import ClockGraph
from tracetime.merging.alignment import LEAST, Alignment, Meetings, align
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile
from tracetime.merging.rules import argument_columns, parts_of, quoted
from tracetime.merging.ties import Tie
from tracetime.text import count, printable

_KINETO: Final = (
    "Process Group Name",
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "dtype",
    "Group size",
)
"""What PyTorch says of a collective, in the arguments of its kernel on the GPU."""

_WAITS: Final = re.compile(
    r"_?(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier)[a-z_]*", re.IGNORECASE
)
"""Collectives that no rank leaves before all have entered."""

Values = npt.NDArray[np.int64]


class TogetherRule(NamedTuple):
    """Which slices are collectives.

    Attributes:
        name: their name; None for PyTorch's.
        keys: the arguments that are the same in all files.
    """

    name: str | None
    keys: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> TogetherRule:
        """Read `name=NAME key=ARG,ARG`; key may be left out.

        Raises:
            UsageError: it is not of this form.
        """
        parts = parts_of(text)
        if parts is None or not {"name"} <= set(parts) <= {"name", "key"}:
            raise UsageError(f"{text!r} is no rule: write name=SLICE key=ARGUMENT,ARGUMENT")
        return cls(parts["name"], tuple(key for key in parts.get("key", "").split(",") if key))


PYTORCH: Final = TogetherRule(None, _KINETO)
"""Looked for without an option."""


_MOST_HUBS: Final = 16
"""Of the files that have a key, so many are compared with all others: pairs grow with the files.

The orders of a pair that is not compared follow from those over these, but for the time that a
collective itself takes.
"""


class _Collectives(NamedTuple):
    """The collectives of one file, in order: their earliest start, latest end, and key."""

    starts: Values
    ends: Values
    keys: list[tuple[str | None, ...]]


class Together(NamedTuple):
    """What was found of the collectives of a rule.

    Attributes:
        ties: between files.
        found: by number of a file, its collectives.
    """

    ties: list[Tie]
    found: list[_Collectives]

    @property
    def counts(self) -> list[int]:
        """By number of a file, how many collectives it has."""
        return [len(side.starts) for side in self.found]


_NO_COLLECTIVES: Final = _Collectives(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])


def add_collectives(
    graph: ClockGraph, files: Sequence[MergedFile], boots: Boots, rule: TogetherRule
) -> Together:
    """Add the collectives that a rule names, as orders.

    Raises:
        UsageError: as `Trace.sql`.
        TraceError: a file is damaged.
    """
    ties: list[Tie] = []
    found = [_collectives(file, rule) for file in files]
    for one, other in _pairs(found):
        clocks = [boots.clock(n, files[n].home) for n in (one, other)]
        if clocks[0] == clocks[1]:
            continue
        here, there = _of_both(found[one], found[other])
        ours, theirs = _same(here, there, rule)
        if not len(ours):
            continue
        first = graph._parts.state.version[1]
        graph.add_order(
            before=(here.starts[ours], clocks[0]), after=(there.ends[theirs], clocks[1])
        )
        graph.add_order(
            before=(there.starts[theirs], clocks[1]), after=(here.ends[ours], clocks[0])
        )
        n = len(ours)
        what = printable(rule.name) if rule.name else "of PyTorch"
        orders = range(first, graph._parts.state.version[1])
        said = f"{count(n, 'collective')} {what}"
        ties.append(Tie(one, other, "together", n, said, orders))
    return Together(ties, found)


def _pairs(found: Sequence[_Collectives]) -> list[tuple[int, int]]:
    """The numbers of files to compare: both have a key, one of them among its first files."""
    having: dict[tuple[str | None, ...], list[int]] = {}
    for number, side in enumerate(found):
        for key in set(side.keys):
            having.setdefault(key, []).append(number)
    return sorted(
        {
            (one, other)
            for numbers in having.values()
            for place, one in enumerate(numbers[:_MOST_HUBS], 1)
            for other in numbers[place:]
        }
    )


def why_not_together(
    one: MergedFile, other: MergedFile, rule: TogetherRule, found: Together
) -> str:
    """Why the collectives of a rule do not tie two files, in words."""
    what = f"slices {printable(rule.name)}" if rule.name else "kernels of PyTorch that name one"
    counts = [found.counts[file.number] for file in (one, other)]
    both = _of_both(found.found[one.number], found.found[other.number])
    shared = min(len(side.starts) for side in both)
    said = ", ".join(
        f"{n} in {printable(file.name)}" for n, file in zip(counts, (one, other), strict=True)
    )
    if min(counts) >= LEAST > shared:
        return f"{what}: {said}, but only {shared} of a group and size that both have"
    if shared < LEAST:
        return f"{what}: {said}; it takes {LEAST} in each"
    return f"{what}: {said}, but it is not clear which of one are which of the other"


def _collectives(file: MergedFile, rule: TogetherRule) -> _Collectives:
    if rule.name is None and not isinstance(file.trace, ChromeJsonTrace):
        return _NO_COLLECTIVES
    keys = argument_columns(rule.keys)
    which = (
        "category = 'kernel' and args like '%Collective name%'"
        if rule.name is None
        else f"name = '{quoted(rule.name)}'"
    )
    table = file.trace.sql(
        f"select earliest, end_latest{', ' if keys else ''}{keys} from slices where {which} "
        "and earliest is not null and end_latest is not null and dur >= 0 order by ts",
        policy="tube",
    )
    starts, ends, *columns = (column.combine_chunks() for column in table.columns)
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    found = _Collectives(
        starts.to_numpy(zero_copy_only=False).astype(np.int64),
        ends.to_numpy(zero_copy_only=False).astype(np.int64),
        rows or [()] * len(starts),
    )
    if rule.name is not None:
        return found
    return _only(found, [bool(_WAITS.fullmatch(key[1] or "")) for key in found.keys])


def _only(found: _Collectives, chosen: Sequence[bool]) -> _Collectives:
    mask = np.array(chosen, dtype=bool)
    keys = [key for key, wanted in zip(found.keys, chosen, strict=True) if wanted]
    return _Collectives(found.starts[mask], found.ends[mask], keys)


def _of_both(one: _Collectives, other: _Collectives) -> tuple[_Collectives, _Collectives]:
    """Those whose key occurs in both files: others are of groups that one is not in."""
    shared = set(one.keys) & set(other.keys)
    here, there = (_only(side, [key in shared for key in side.keys]) for side in (one, other))
    return here, there


def _same(one: _Collectives, other: _Collectives, rule: TogetherRule) -> Alignment:
    """Which collectives of two files are the same."""
    codes = {key: code for code, key in enumerate(dict.fromkeys(one.keys + other.keys))}
    ours, theirs = (
        np.array([codes[key] for key in side.keys], dtype=np.int64) for side in (one, other)
    )
    # A key of the caller's that no file has twice says which is which.
    if rule.keys and rule.name is not None and len(codes) == len(ours) == len(theirs) >= LEAST:
        order = np.argsort(theirs)
        return Alignment(np.arange(len(ours)), order[np.searchsorted(theirs[order], ours)])
    return align(Meetings(one.ends, ours), Meetings(other.ends, theirs))
