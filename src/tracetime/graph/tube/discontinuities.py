"""Discontinuities as columns, from tubes to findings: noisy clocks have one at every snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.columns.ragged import Ragged
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.graph.values import Mask, Values

Kind = Literal["suspend", "step", "reset", "outlier", "wrong_order", "rate_change", "possible_step"]
Whole: TypeAlias = npt.NDArray[Any]
"""int64, or Python's integers where sums of two may be beyond that."""

KINDS: Final[tuple[Kind, ...]] = (
    "outlier",
    "possible_step",
    "rate_change",
    "reset",
    "step",
    "suspend",
    "wrong_order",
)
"""In the order in which those of one zone are told."""

_Row: TypeAlias = tuple[
    Kind, int, int, tuple[int, int] | None, tuple[float, float] | None, tuple[int, ...]
]
One = TypeVar("One")
_MOST_SUMMED: Final = 1 << 60


def code_of(kind: str) -> int:
    """The number of a kind."""
    return tuple[str, ...](KINDS).index(kind)


def whole(values: Whole | Sequence[int]) -> Whole:
    """Whole numbers, as int64 where sums of two, or of four, are within that."""
    try:
        column = np.asarray(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)
    beyond = (column > _MOST_SUMMED) | (column < -_MOST_SUMMED)
    return column.astype(object) if beyond.any() else column


@dataclass(frozen=True, slots=True)
class Discontinuity:
    """Something in the offset of b from a that no rate within the limits explains.

    Attributes:
        kind: suspend, step, reset: the offset jumped; outlier: one snapshot contradicts its
            neighbours, and was dropped; wrong_order: the same of a bound of one side;
            rate_change: one rate held before the zone and another after it; possible_step: the
            same, but the two lines do not meet in the zone; or the offset jumped, or bounds of
            one side are wrong, which nobody can tell for want of the other side, or because
            readings of the zone may be two instants.
        a_from, a_to: the zone, on the ordering clock, ns: it happened after the one and not after
            the other. An outlier's is its own reading.
        size_ns: how far the offset jumped, or how far off the outlier is: at least and at most.
            None for a rate_change, and where one side is open.
        rate_ppm: by how much the rate changed, at least and at most; for a rate_change only.
        snapshots: the snapshots on both sides, or the outlier; as numbered when given.
    """

    kind: Kind
    a_from: int
    a_to: int
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Columns(Sequence[One]):
    """The columns of `Discontinuity`, one row each.

    Attributes:
        kind: uint8, places in `KINDS`.
        low, high: the sides of size_ns; 0 where there is none.
        sized: which have a size.
        least_ppm, most_ppm: the sides of rate_ppm, float64; NaN where there is none.
    """

    kind: npt.NDArray[np.uint8]
    a_from: Values
    a_to: Values
    low: Whole
    high: Whole
    sized: Mask
    least_ppm: npt.NDArray[np.float64]
    most_ppm: npt.NDArray[np.float64]
    snapshots: Ragged

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, k: int) -> One: ...

    @overload
    def __getitem__(self, k: slice) -> Self: ...

    def __getitem__(self, k: int | slice) -> One | Self:
        rows = np.arange(len(self))[k]
        return self.take(rows) if isinstance(k, slice) else next(iter(self.take(rows[None])))

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Some of them, by number, or marked."""
        rows = np.arange(len(self))[rows]
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return replace(self, **{name: _taken(part, rows) for name, part in self._parts()})

    def in_order(self) -> Self:
        """The same, by zone and kind."""
        return self.take(np.lexsort((self.kind, self.a_to, self.a_from)))

    def _parts(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    def kind_is(self, *kinds: str) -> Mask:
        """Which of them are of some kinds."""
        return is_any_of(self.kind, list(map(code_of, kinds)))

    @property
    def mean_ns(self) -> Whole:
        """The absolute size, the mean of its bounds; 0 where it is unknown."""
        mean: Whole = np.abs(self.low + self.high) // 2
        return mean

    @property
    def least_ns(self) -> Whole:
        """The smallest absolute size that each can have; 0 where it is unknown."""
        least: Whole = np.maximum(np.maximum(self.low, -self.high), 0)
        return least

    @property
    def most_ns(self) -> Whole:
        """The largest absolute size that each can have; 0 where it is unknown."""
        most: Whole = np.maximum(np.abs(self.low), np.abs(self.high))
        return most

    def _rows(self) -> Iterator[_Row]:
        """kind, a_from, a_to, size_ns, rate_ppm and snapshots of each."""
        columns = (self.kind, self.a_from, self.a_to, self.sized, self.low, self.high)
        rates = zip(self.least_ppm.tolist(), self.most_ppm.tolist(), strict=True)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for (kind, a_from, a_to, sized, low, high), rate, on in zip(
            rows, rates, self.snapshots, strict=True
        ):
            size = (low, high) if sized else None
            # NaN, which no rate has, is not itself.
            yield KINDS[kind], a_from, a_to, size, rate if rate[0] == rate[0] else None, on


def _taken(part: Any, rows: npt.NDArray[Any]) -> Any:
    if isinstance(part, Ragged):
        return part.take(rows)
    return part[rows] if isinstance(part, np.ndarray) else part


def _end_to_end(parts: Sequence[_Columns[Any]], name: str) -> Any:
    columns = [getattr(part, name) for part in parts]
    return Ragged.joined(columns) if isinstance(columns[0], Ragged) else np.concatenate(columns)


@dataclass(frozen=True, eq=False, slots=True)
class Discontinuities(_Columns[Discontinuity]):
    """The discontinuities of a tube as columns; each is an object once it is asked for."""

    @classmethod
    def made(
        cls,
        kind: str | Values,
        zone: tuple[Any, Any],
        snapshots: Ragged,
        size: tuple[Any, Any] = ((), ()),
        *,
        sized: Mask | None = None,
        ppm: tuple[Any, Any] | None = None,
    ) -> Discontinuities:
        """Some, of one kind or of the numbers of kinds.

        size: columns; empty where no row has one. sized: which rows have one; None: all, then.
        """
        n = len(snapshots)
        if sized is None:
            sized = np.full(n, len(size[0]) > 0)
        low, high = (
            whole(np.where(sized, whole(side), 0)) if len(side) else np.zeros(n, dtype=np.int64)
            for side in size
        )
        least_ppm, most_ppm = (
            np.full(n, side, dtype=np.float64) for side in ppm or (np.nan, np.nan)
        )
        a_from, a_to = (np.asarray(side, dtype=np.int64) for side in zone)
        kinds = np.full(n, code_of(kind) if isinstance(kind, str) else kind, dtype=np.uint8)
        return cls(kinds, a_from, a_to, low, high, sized, least_ppm, most_ppm, snapshots)

    @classmethod
    def joined(cls, parts: Sequence[Discontinuities]) -> Discontinuities:
        """Those of one after those of another."""
        parts = [part for part in parts if part] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return cls(**{field.name: _end_to_end(parts, field.name) for field in fields(cls)})

    def __iter__(self) -> Iterator[Discontinuity]:
        return (Discontinuity(*row) for row in self._rows())


@dataclass(frozen=True, eq=False, slots=True)
class PairDiscontinuities(_Columns[PairDiscontinuity]):
    """Discontinuities of pairs of clocks as columns; each is an object once it is asked for.

    Attributes:
        src, dst: int64, places in `clocks`.
    """

    src: Values
    dst: Values
    orders: Ragged
    clocks: tuple[ClockId, ...]

    @classmethod
    def of(cls, found: Iterable[PairDiscontinuity]) -> PairDiscontinuities:
        """The columns of some objects."""
        every = list(found)
        places: dict[ClockId, int] = {}
        src, dst = (
            np.array([places.setdefault(clock, len(places)) for clock in clocks], dtype=np.int64)
            for clocks in ([d.src for d in every], [d.dst for d in every])
        )
        sizes = [d.size_ns or (0, 0) for d in every]
        rates = [d.rate_ppm or (np.nan, np.nan) for d in every]
        made = Discontinuities.made(
            np.array([code_of(d.kind) for d in every], dtype=np.int64),
            ([d.a_from for d in every], [d.a_to for d in every]),
            Ragged.of(d.snapshots for d in every),
            ([low for low, _ in sizes], [high for _, high in sizes]),
            sized=np.array([d.size_ns is not None for d in every], dtype=bool),
            ppm=([low for low, _ in rates], [high for _, high in rates]),
        )
        orders = Ragged.of(d.orders for d in every)
        return cls(**dict(made._parts()), src=src, dst=dst, orders=orders, clocks=tuple(places))

    @classmethod
    def between(
        cls, a: ClockId, b: ClockId, found: Discontinuities, orders: Ragged
    ) -> PairDiscontinuities:
        """Those of one pair, of which a is the steadier."""
        src = np.zeros(len(found), dtype=np.int64)
        return cls(**dict(found._parts()), src=src, dst=src + 1, orders=orders, clocks=(a, b))

    @classmethod
    def joined(cls, parts: Sequence[PairDiscontinuities]) -> PairDiscontinuities:
        """Those of one after those of another."""
        parts = [part for part in parts if part]
        if len(parts) < 2:
            return parts[0] if parts else NO_DISCONTINUITIES
        place: dict[ClockId, int] = {}
        # Parts of one whole share its clocks.
        given = {id(part.clocks): part.clocks for part in parts}
        numbers = {
            key: np.array([place.setdefault(clock, len(place)) for clock in clocks])
            for key, clocks in given.items()
        }
        columns = {
            field.name: _end_to_end(parts, field.name)
            for field in fields(cls)
            if field.name not in ("src", "dst", "clocks")
        }
        src, dst = (
            np.concatenate([numbers[id(part.clocks)][getattr(part, side)] for part in parts])
            for side in ("src", "dst")
        )
        return cls(**columns, src=src, dst=dst, clocks=tuple(place))

    def __iter__(self) -> Iterator[PairDiscontinuity]:
        src, dst = ([self.clocks[k] for k in side.tolist()] for side in (self.src, self.dst))
        for one, other, row, orders in zip(src, dst, self._rows(), self.orders, strict=True):
            yield PairDiscontinuity(one, other, *row, orders)

    def as_kind(self, which: Mask, kind: str) -> PairDiscontinuities:
        """The same, with some as another kind."""
        if not which.any():
            return self
        return replace(self, kind=np.where(which, np.uint8(code_of(kind)), self.kind))

    def reversed(self, which: Mask) -> PairDiscontinuities:
        """The same, some with src and dst exchanged."""
        if not which.any():
            return self
        return replace(
            self,
            src=np.where(which, self.dst, self.src),
            dst=np.where(which, self.src, self.dst),
            low=np.where(which, -self.high, self.low),
            high=np.where(which, -self.low, self.high),
        )

    def grouped(self, keys: Values) -> Iterator[PairDiscontinuities]:
        """Those of each key, by where the key comes first."""
        if not self:
            return
        if (keys == keys[0]).all():
            yield self
            return
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first[of], kind="stable")
        ends = np.flatnonzero(np.diff(first[of][order])) + 1
        yield from map(self.take, np.split(order, ends))

    def by_machine(self) -> dict[int, PairDiscontinuities]:
        """Those of each machine, that of src."""
        machines = np.array([clock.machine for clock in self.clocks], dtype=np.int64)
        return {part.clocks[part.src[0]].machine: part for part in self.grouped(machines[self.src])}

    def by_pair(self) -> dict[tuple[ClockId, ClockId], PairDiscontinuities]:
        """Those of each two clocks."""
        return {
            (part.clocks[part.src[0]], part.clocks[part.dst[0]]): part
            for part in self.grouped(self.src * len(self.clocks) + self.dst)
        }


NO_DISCONTINUITIES: Final = PairDiscontinuities.of(())
