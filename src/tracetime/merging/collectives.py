"""Collectives: calls that no rank leaves before all have entered them, such as an all-reduce.

Each start lies before every end. Which of one file is which of another is found by a key that none
has twice, or by the order in which the files have them (alignment.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracetime.clocks.ids import ClockId
from tracetime.errors import UsageError
from tracetime.graph.adding import add_order
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values
from tracetime.merging.alignment import LEAST, MOST, Alignment, Meetings, align
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile
from tracetime.merging.message_ties import parts_of, rows_of, times_of, with_keys
from tracetime.merging.ties import Tie
from tracetime.text import count, duration, of_file, printable

_KINETO: Final = (
    "Process Group Name",
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "dtype",
    "Group size",
)
"""What PyTorch says of a collective, in the arguments of its kernel on the GPU."""

_WAITS: Final = "^_?(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier)[a-z_]*$"
"""Collectives that no rank leaves before all have entered."""


class TogetherRule(NamedTuple):
    """A rule by which slices are collectives.

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


_MOST_REPRESENTATIVES: Final = 16
"""So many files of a group that have a kind are compared with each other, and with the rest."""

_MOST_KNOWN: Final = 256
"""So many files of a kind are that, of all groups."""

_MOST_COMPARED: Final = 32
"""Of those a file is compared with so many, one of each group before two of any."""

_ENOUGH: Final = 2
"""One of the rest that is tied to so many clocks is compared only with what ties more files to it.

What two of the rest say of each other follows over these, but for the time that a collective itself
takes.
"""

_MOST_IN_VAIN: Final = 1000
"""After so many pairs in a row, the most alike first, that are not tied, no more are compared."""

_ALIKE: Final = 0.95
"""Two files of which so many collectives are the same ones are alike."""

_MOST_ALIKE_IN_VAIN: Final = 4
"""After so many pairs that are not tied, no files are compared that are alike to those.

Two jobs of many ranks have very many such pairs.
"""


class _Collectives:
    """The collectives of one file, in order: their earliest start, latest end, and kind.

    Attributes:
        first_ends: their earliest ends.
        own: the kinds, each once, ascending.
        meetings: for the search which are those of another file.
    """

    def __init__(self, starts: Values, first_ends: Values, ends: Values, kinds: Values) -> None:
        self.starts, self.first_ends, self.ends, self.kinds = starts, first_ends, ends, kinds
        self.own = np.unique(kinds)
        self.meetings = Meetings(ends, kinds)
        self._shared: dict[bytes, _Collectives] = {}

    def shared_with(self, other: _Collectives) -> _Collectives:
        """The collectives of kinds that the other file has: the rest is of other groups."""
        shared = np.intersect1d(self.own, other.own, assume_unique=True)
        if len(shared) == len(self.own):
            return self
        key = shared.tobytes()
        if key not in self._shared:
            chosen = np.isin(self.kinds, shared)
            every = (self.starts, self.first_ends, self.ends, self.kinds)
            columns = (column[chosen] for column in every)
            self._shared[key] = _Collectives(*columns)
        return self._shared[key]


class Together(NamedTuple):
    """The collectives of a rule in all files, and the ties that they make.

    Attributes:
        ties: between files.
        collectives: by number of a file, its collectives.
    """

    ties: list[Tie]
    collectives: list[_Collectives]


def add_collectives(
    graph: Graph,
    files: Sequence[MergedFile],
    boots: Boots,
    rule: TogetherRule,
    ends_within_ns: int | None = None,
    first: int = 0,
) -> Together:
    """Add the collectives that a rule names, as orders.

    Args:
        ends_within_ns: within which time one ends in all files; None where nobody says so.
        first: the number of the file that is compared with all.

    Raises:
        UsageError: as `Trace.sql`.
        TraceError: a file is damaged.
    """
    ties: list[Tie] = []
    found = _read_collectives(files, rule)
    clocks = [boots.clock(file.number, file.home) for file in files]

    def tie(one: int, other: int) -> int:
        here, there = found[one].shared_with(found[other]), found[other].shared_with(found[one])
        ours, theirs = _align_files(here, there, rule)
        n = len(ours)
        if not n:
            return 0
        added = len(graph.state.orders)
        add_order(
            graph,
            before=(here.starts[ours], clocks[one]),
            after=(there.ends[theirs], clocks[other]),
        )
        add_order(
            graph,
            before=(there.starts[theirs], clocks[other]),
            after=(here.ends[ours], clocks[one]),
        )
        said = f"{count(n, 'collective')} {printable(rule.name) if rule.name else 'of PyTorch'}"
        if ends_within_ns is not None:
            said += f", assumed to end everywhere within {duration(ends_within_ns)}"
            sides = ((here, ours, clocks[one]), (there, theirs, clocks[other]))
            for (early, rows, clock), (late, others, after) in (sides, sides[::-1]):
                # So long before it ends in one file, it has not ended in the other.
                before = early.first_ends[rows] - ends_within_ns - 1
                add_order(graph, before=(before, clock), after=(late.ends[others], after))
        orders = range(added, len(graph.state.orders))
        ties.append(Tie(one, other, "together", n, said, orders))
        return n

    _compare(found, clocks, first, tie)
    return Together(sorted(ties, key=lambda tie: (tie.one, tie.other)), found)


class _Pairs:
    """The pairs of files that were compared.

    Attributes:
        group: by number of a file, that of the files it is tied to, at once or over others.
    """

    def __init__(
        self,
        found: Sequence[_Collectives],
        clocks: Sequence[ClockId],
        tie: Callable[[int, int], int],
    ) -> None:
        self._found, self._clocks, self._tie = found, clocks, tie
        self._compared = set[tuple[int, int]]()
        self._in_vain = Counter[tuple[int, int]]()
        self._alike = list(range(len(clocks)))
        self.group = np.arange(len(clocks))

    def are_tied(self, one: int, other: int) -> bool:
        """Whether two files are tied, at once or over others."""
        return bool(self.group[one] == self.group[other])

    def compare(self, one: int, other: int) -> bool:
        """Compare two files unless they were; whether ties of two clocks are added now."""
        one, other = min(one, other), max(one, other)
        alike = self._alike[one], self._alike[other]
        if (one, other) in self._compared or self._in_vain[alike] == _MOST_ALIKE_IN_VAIN:
            return False
        self._compared.add((one, other))
        added = self._clocks[one] != self._clocks[other]
        if added:
            n = self._tie(one, other)
            if not n:
                self._in_vain[alike] += not self.are_tied(one, other)
                return False
            if alike == (one, other) and n >= _ALIKE * max(
                len(self._found[number].kinds) for number in alike
            ):
                self._alike[other] = one
        self.group[self.group == self.group[other]] = self.group[one]
        return added

    def in_turn(self, numbers: Sequence[int]) -> list[int]:
        """Files in this order, but one of each group before two of any."""
        turns = Counter[int]()
        ordered = []
        for number, group in zip(numbers, self.group[numbers].tolist(), strict=True):
            ordered.append((turns[group], number))
            turns[group] += 1
        return [number for _, number in sorted(ordered, key=lambda turn: turn[0])]


def _compare(
    found: Sequence[_Collectives],
    clocks: Sequence[ClockId],
    first: int,
    tie: Callable[[int, int], int],
) -> None:
    """Compare files that have a kind in common, until all are tied or very many pairs are not.

    Args:
        found: the collectives of each file.
        clocks: of each file; those of one clock need no tie.
        first: the file that is compared with all.
        tie: compares two files, the lower number first; how many collectives are the same.
    """
    has_kind, pairs = _kind_rows(found), _Pairs(found, clocks, tie)
    few = has_kind.sum(axis=1) <= _MOST_REPRESENTATIVES
    representatives: list[list[int]] = [[] for _ in has_kind]
    for one in sorted(range(len(found)), key=lambda number: number != first):
        tied_to = {row: set[ClockId]() for row in np.flatnonzero(has_kind[:, one]).tolist()}
        for row, tied in tied_to.items():
            known = representatives[row]
            for representative in pairs.in_turn(known)[: None if few[row] else _MOST_COMPARED]:
                enough = (
                    pairs.are_tied(one, representative)
                    and len(tied - {clocks[representative]}) >= _ENOUGH
                )
                if (few[row] or not enough) and pairs.compare(one, representative):
                    for both in (
                        tied_to.keys() & np.flatnonzero(has_kind[:, representative]).tolist()
                    ):
                        tied_to[both].add(clocks[representative])
            of_group = np.count_nonzero(pairs.group[known] == pairs.group[one])
            if of_group < _MOST_REPRESENTATIVES and len(known) < _MOST_KNOWN:
                # Files with the most collectives span the longest time.
                known[1:] = sorted([*known[1:], one], key=lambda number: -len(found[number].kinds))
    in_vain = 0
    for one, other in _loose_pairs(found, has_kind, pairs):
        if in_vain == _MOST_IN_VAIN:
            break
        if not pairs.are_tied(one, other):
            in_vain = 0 if pairs.compare(one, other) else in_vain + 1


def _loose_pairs(
    found: Sequence[_Collectives], has_kind: npt.NDArray[np.bool_], pairs: _Pairs
) -> Iterator[tuple[int, int]]:
    """Yield files that are not tied but have a kind in common: first those most alike.

    These have the most kinds in common, and of such, overlap the longest by their own clocks.
    """
    which = np.flatnonzero(has_kind.any(axis=0))
    group = pairs.group[which]
    if len(np.unique(group)) <= 1:
        return
    has = has_kind[:, which].astype(np.float32)
    common = has.T @ has
    ends = np.array([found[number].ends[[0, -1]] for number in which.tolist()])
    one, other = np.nonzero(np.triu(common) * (group != group[:, None]))
    overlap = np.minimum(ends[one, 1], ends[other, 1]) - np.maximum(ends[one, 0], ends[other, 0])
    order = np.lexsort([-overlap, -common[one, other]])
    yield from zip(which[one[order]].tolist(), which[other[order]].tolist(), strict=True)


def _kind_rows(found: Sequence[_Collectives]) -> npt.NDArray[np.bool_]:
    """A row for each kind, or kinds of the same files: a mask of the files that have it.

    Files of too few collectives have none.
    """
    most = max(int(side.own.max(initial=-1)) for side in found)
    bits = np.zeros((most + 1, len(found) // 8 + 1), dtype=np.uint8)
    for number, side in enumerate(found):
        if len(side.kinds) >= LEAST:
            bits[side.own, number // 8] |= 1 << number % 8
    rows = np.unpackbits(np.unique(bits, axis=0), axis=1, bitorder="little")
    return rows[:, : len(found)].astype(bool)


def why_not_together(
    one: MergedFile, other: MergedFile, rule: TogetherRule, found: Together
) -> str:
    """The reason why the collectives of a rule do not tie two files, in words."""
    what = f"slices {printable(rule.name)}" if rule.name else "kernels of PyTorch that name one"
    here, there = (found.collectives[file.number] for file in (one, other))
    counts = [len(side.starts) for side in (here, there)]
    shares = len(here.shared_with(there).starts), len(there.shared_with(here).starts)
    shared = min(shares)
    counts_text = ", ".join(
        f"{n} in {printable(file.name)}" for n, file in zip(counts, (one, other), strict=True)
    )
    if min(counts) >= LEAST > shared:
        return f"{what}: {counts_text}, but only {shared} of a group and size that both have"
    if shared < LEAST:
        return f"{what}: {counts_text}; it takes {LEAST} in each"
    if sum(shares) > MOST:
        return f"{what}: {counts_text}; which are which is searched among up to {MOST:,} of both"
    return f"{what}: {counts_text}, but it is not clear which of one are which of the other"


def _read_collectives(files: Sequence[MergedFile], rule: TogetherRule) -> list[_Collectives]:
    """The collectives of each file; equal keys are one kind in all of them."""
    which = [
        file.number for file in files if rule.name is not None or "collectives" in file.trace.shares
    ]
    codes: dict[tuple[str | None, ...], int] = {}
    none = np.empty(0, dtype=np.int64)
    found = [_Collectives(none, none, none, none)] * len(files)
    for number, table in zip(which, _rows(files, which, rule) if which else (), strict=True):
        _, starts, first_ends, ends = map(times_of, table.columns[:4])
        columns = (column.to_pylist() for column in table.columns[4:])
        keys = zip(*columns, strict=True) if rule.keys else [()] * len(starts)
        kinds = [codes.setdefault(key, len(codes)) for key in keys]
        found[number] = _Collectives(starts, first_ends, ends, np.array(kinds, dtype=np.int64))
    return found


def _rows(
    files: Sequence[MergedFile], which: Sequence[int], rule: TogetherRule
) -> Iterator[pa.Table]:
    """The starts, ends and keys of the collectives of these files, a table each."""
    whole = pc.field("earliest").is_valid()
    whole &= pc.field("end_earliest").is_valid() & pc.field("end_latest").is_valid()
    whole &= pc.field("dur") >= 0
    column, text = ("category", "kernel") if rule.name is None else ("name", rule.name)
    if rule.name is None:
        whole &= pc.match_substring(pc.field("args"), "Collective name")
    columns = ["ts", "earliest", "end_earliest", "end_latest", "args"]

    def read() -> Iterator[pa.Table]:
        for number in which:
            with of_file(files[number].name):
                slices = files[number].trace.slices("tube", args=bool(rule.keys))
                rows = rows_of(slices, [*columns, "dur", column], pc.field(column) == text, whole)
            yield rows.select(columns).sort_by("ts")

    for table in with_keys(read(), rule.keys):
        if rule.name is None:
            table = table.filter(pc.match_substring_regex(table["key1"], _WAITS, ignore_case=True))
        yield table


def _align_files(one: _Collectives, other: _Collectives, rule: TogetherRule) -> Alignment:
    """The alignment of the collectives of two files."""
    n = len(one.own)
    # A key of the caller's that no file has twice says which is which.
    if rule.keys and rule.name is not None and n == len(one.kinds) == len(other.kinds) >= LEAST:
        order = np.argsort(other.kinds)
        return Alignment(np.arange(n), order[np.searchsorted(other.kinds[order], one.kinds)])
    return align(one.meetings, other.meetings)
