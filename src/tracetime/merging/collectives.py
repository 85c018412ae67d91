"""Collectives: what no rank leaves before all have entered it, such as an all-reduce.

Each start lies before every end. Which of one file is which of another is found by the order in
which a file has them: the shift between two files is searched, and must win clearly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.errors import UsageError
from tracetime.formats.chrome_json.reader import ChromeJsonTrace
from tracetime.graph.graph import ClockGraph
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

LEAST: Final = 12
"""So many collectives must agree at least."""

_CLEARLY: Final = 4.0
"""So many times as far off as the best shift is the second best."""

_MOST_SHIFTS: Final = 4096
_MOST_DRIFT: Final = 1e-3

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


class _Collectives(NamedTuple):
    """The collectives of one file, in order: their earliest start, latest end, and key."""

    starts: Values
    ends: Values
    keys: list[tuple[str | None, ...]]


_NO_COLLECTIVES: Final = _Collectives(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])


def add_collectives(
    graph: ClockGraph,
    files: Sequence[MergedFile],
    boots: Boots,
    rules: Sequence[TogetherRule],
) -> list[Tie]:
    """Add the collectives that rules name, as orders.

    Raises:
        UsageError: as `Trace.sql`.
        TraceError: a file is damaged.
    """
    ties: list[Tie] = []
    for rule in rules:
        found = [_collectives(file, rule) for file in files]
        for one, other in combinations(range(len(files)), 2):
            clocks = [boots.clock(n, files[n].home) for n in (one, other)]
            if clocks[0] == clocks[1]:
                continue
            here, there = _of_both(found[one], found[other])
            shift = _shift(here, there)
            if shift is None:
                continue
            ours, theirs = _overlap(len(here.starts), len(there.starts), shift)
            graph.add_order(
                before=(here.starts[ours], clocks[0]), after=(there.ends[theirs], clocks[1])
            )
            graph.add_order(
                before=(there.starts[theirs], clocks[1]), after=(here.ends[ours], clocks[0])
            )
            n = len(here.starts[ours])
            what = printable(rule.name) if rule.name else "of PyTorch"
            ties.append(
                Tie(one, other, "together", n, f"{count(n, 'collective')} {what}, shift {shift}")
            )
    return ties


def why_not_together(one: MergedFile, other: MergedFile, rule: TogetherRule) -> str:
    """Why the collectives of a rule do not tie two files, in words.

    Raises:
        UsageError, TraceError: as `add_collectives`.
    """
    found = [_collectives(file, rule) for file in (one, other)]
    what = f"slices {printable(rule.name)}" if rule.name else "kernels of PyTorch that name one"
    said = ", ".join(
        f"{len(side.starts)} in {printable(file.name)}"
        for side, file in zip(found, (one, other), strict=True)
    )
    shared = [len(side.starts) for side in _of_both(*found)]
    if min(len(side.starts) for side in found) >= LEAST > min(shared):
        return f"{what}: {said}, but only {min(shared)} of a group and size that both have"
    if min(shared) < LEAST:
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


def _overlap(n: int, m: int, shift: int) -> tuple[slice, slice]:
    """Which of n are which of m, where the first of n is number `shift` of m."""
    first = max(0, -shift)
    end = min(n, m - shift)
    return slice(first, end), slice(first + shift, end + shift)


def _shift(one: _Collectives, other: _Collectives) -> int | None:
    """By how much the collectives of two files are shifted; None where that is not clear.

    All end together: at the right shift the ends lie on a line, but for the time a message takes.
    At a wrong one they do not, unless the steps of the work are all alike; then it is refused.
    """
    n, m = len(one.starts), len(other.starts)
    if min(n, m) < LEAST or n + m > _MOST_SHIFTS * LEAST:
        return None
    codes = {key: code for code, key in enumerate(dict.fromkeys(one.keys + other.keys))}
    ours = np.array([codes[key] for key in one.keys])
    theirs = np.array([codes[key] for key in other.keys])
    scores: list[tuple[float, int]] = []
    for shift in range(LEAST - n, m - LEAST + 1):
        here, there = _overlap(n, m, shift)
        if len(ours[here]) < LEAST or not np.array_equal(ours[here], theirs[there]):
            continue
        scores.append((_spread(one, other, here, there), shift))
    scores.sort()
    if not scores or not np.isfinite(scores[0][0]):
        return None
    if len(scores) > 1 and scores[1][0] < _CLEARLY * max(scores[0][0], 1.0):
        return None
    return scores[0][1]


def _spread(one: _Collectives, other: _Collectives, here: slice, there: slice) -> float:
    """How far the ends of collectives stray from a line; infinite where orders contradict it."""
    x = (one.ends[here] - one.ends[here][0]).astype(np.float64)
    offsets = other.ends[there] - one.ends[here]
    y = (offsets - offsets[0]).astype(np.float64)
    slope = _slope(x, y)
    if abs(slope) > _MOST_DRIFT:
        return float("inf")
    rest = y - slope * x
    # One clock may be set while it runs: changes between neighbours, not distances to the line.
    return float(np.median(np.abs(np.diff(rest))))


def _slope(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    """The median slope between neighbours that lie far apart: steps do not move it."""
    far = len(x) // 4
    return float(np.median((y[far:] - y[:-far]) / np.maximum(x[far:] - x[:-far], 1.0)))
